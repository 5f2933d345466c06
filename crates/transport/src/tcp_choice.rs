//! Selects the data that a TCP sender may send next, and determines the cause that limits it.

use crate::controller::CongestionControl;
use crate::endpoint::Protocol;
use crate::limited::LimitedBy;
use crate::loss_recovery::{Chosen, LossRecovery};
use crate::tcp_sender::{State, TcpSender};
use crate::time_spent::Spent;
use units::Time;

impl TcpSender {
    /// Selects the next data on the fast path: new bytes, as many as both windows admit. RFC 9293 section 3.8.6.2.1:
    /// the end of a window does not produce a small segment.
    #[inline(always)]
    pub(crate) fn choose_new(&self) -> Option<(u64, u64)> {
        let to = self.transfers.end().min(self.next + u64::from(self.spec.segment));
        let most = self.controller.window().min(self.spec.window);
        (to > self.next && to - self.unacknowledged <= most).then_some((self.next, to))
    }

    /// Variant of `choose_new` during handshake, loss recovery and go-back.
    #[inline(never)]
    fn choose_otherwise(&self) -> Option<(u64, u64)> {
        let segment = u64::from(self.spec.segment);
        match self.state {
            State::Closed | State::SynSent { .. } => return None,
            State::SynDue { .. } => return Some((self.unacknowledged, self.unacknowledged)),
            State::Established => {}
        }
        if self.resends {
            return Some((self.unacknowledged, self.highest.min(self.unacknowledged + segment)));
        }
        let (sendable, window) = (self.sendable(), self.controller.window());
        let goes_again = self.next < self.highest;
        match self.recovery.choose(&self.flight(), sendable, window) {
            Chosen::Nothing => return None,
            Chosen::Bytes(from, to) => return Some((from, to)),
            Chosen::BySender => {}
        }
        let end = if goes_again { self.highest } else { sendable };
        let to = end.min(self.next + segment);
        let known = if goes_again { self.recovery.arrived_before(self.next) } else { 0 };
        let in_flight = to - self.unacknowledged.min(to) - known;
        (to > self.next && in_flight <= self.allowance(window)).then_some((self.next, to))
    }

    /// Returns the end of the new bytes that the application and the receiver allow to be sent.
    fn sendable(&self) -> u64 {
        let (segment, end) = (u64::from(self.spec.segment), self.transfers.end());
        let allowed = self.unacknowledged.saturating_add(self.spec.window);
        if end <= allowed {
            return end;
        }
        // RFC 9293 section 3.8.6.2.1: the end of the window does not produce a small segment.
        let room = allowed.saturating_sub(self.highest);
        if room < segment { self.highest } else { self.highest + room / segment * segment }
    }

    /// Returns the bytes that may be in flight.
    fn allowance(&self, window: u64) -> u64 {
        let (duplicates, segment) = (self.recovery.duplicates(), u64::from(self.spec.segment));
        // RFC 3042 section 2: a new segment for each of the first two duplicates. This does not apply to
        // retransmissions: a sender that goes back begins with one segment, into a queue that has just overflowed.
        let new = self.next == self.highest;
        let limited = if self.spec.limited_transmit && new && !self.recovery.is_recovering() {
            u64::from(duplicates.min(self.spec.duplicates - 1)) * segment
        } else {
            0
        };
        window.saturating_add_signed(self.recovery.inflation()).saturating_add(limited)
    }

    /// Updates the data to send next. Data released by an event may be held for a random time.
    #[inline(always)]
    pub(crate) fn look(&mut self, now: Time, waits: bool) {
        let new = self.is_open() && !self.resends && self.next == self.highest;
        self.fast_path = new && self.recovery.is_quiet();
        let chosen = if self.fast_path { self.choose_new() } else { self.choose_otherwise() };
        let had = std::mem::replace(&mut self.chosen, chosen).is_some();
        if self.rng.is_some() && !had && waits && self.chosen.is_some() && self.held_until == Time::NEVER {
            self.hold(now);
        }
        self.note_holder(now);
    }

    /// Records the cause that limits the sender from now on.
    #[inline(always)]
    pub(crate) fn note_holder(&mut self, now: Time) {
        self.holding.change(self.holder(), now);
    }

    /// Out-of-line variant of `look`, for rare cases.
    #[inline(never)]
    pub(crate) fn look_apart(&mut self, now: Time, waits: bool) {
        self.look(now, waits);
    }

    /// Holds released data for a random time.
    #[inline(never)]
    fn hold(&mut self, now: Time) {
        if let Some(rng) = self.rng.as_mut().filter(|_| self.spec.jitter > Time::ZERO) {
            let wait = workload::below(rng, self.spec.jitter.ps());
            self.held_until = if wait > 0 { now + Time::from_ps(wait) } else { Time::NEVER };
        }
    }

    /// Returns the cause that limits the sender; `None` before it begins and after it is done.
    #[inline(always)]
    fn holder(&self) -> Option<LimitedBy> {
        let segment = u64::from(self.spec.segment);
        if matches!(self.state, State::Closed) || self.transfers.is_over() {
            return None;
        }
        Some(if self.has_work() {
            LimitedBy::Nothing
        } else if self.chosen.is_some() || !self.fast_path && (!self.is_open() || self.next < self.highest) {
            LimitedBy::CongestionControl
        } else if self.highest == self.transfers.end() {
            LimitedBy::Application
        } else if self.highest - self.unacknowledged + segment > self.spec.window {
            LimitedBy::ReceiveWindow
        } else {
            LimitedBy::CongestionControl
        })
    }

    /// Returns the activity of a connection that carries a message.
    pub(crate) fn activity(&self) -> Spent {
        let segment = u64::from(self.spec.segment);
        if let Some((from, _)) = self.chosen {
            return if from < self.highest || self.state == (State::SynDue { again: true }) {
                Spent::Again
            } else if self.pacer.is_open() {
                Spent::Host
            } else {
                Spent::Rate
            };
        }
        if self.next < self.highest || self.recovery.is_recovering() {
            Spent::Again
        } else if !self.is_open() {
            Spent::Window
        } else if self.highest == self.transfers.end() {
            Spent::UnderWay
        } else if self.highest - self.unacknowledged + segment > self.spec.window {
            Spent::Receiver
        } else {
            Spent::Window
        }
    }
}
