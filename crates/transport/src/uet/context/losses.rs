//! Detects the losses of a packet delivery context: by NACKs, by inference, and by the retransmission timer. Also
//! handles the context's timers.

use super::{DeliveryContext, MAX_DOUBLINGS, State};
use crate::path_selection::{PathFeedback, PathSignal};
use crate::rdma::psn::{nearest, on_wire};
use crate::uet::UetMode;
use crate::uet::control::{UetControl, UetLoss, UetLossCause};
use crate::uet::probing::Probing;
use frame::UetHeader;
use units::Time;

impl DeliveryContext {
    pub(super) fn restart_probing(&mut self, now: Time) {
        let is_idle = self.next == self.end;
        let in_flight = self.flying > 0;
        if let Some(probing) = &mut self.probing {
            probing.restart(now, in_flight, is_idle);
        }
    }

    /// Infers losses from an acknowledgement. If many packets are out of order, packets before one that has arrived are
    /// lost; if a probe was answered, packets sent before the probe are lost.
    pub(super) fn infer_losses(&mut self, now: Time, header: &UetHeader, is_probe: bool) {
        let Some(probing) = self.probing.as_deref_mut() else {
            return;
        };
        if is_probe && probing.sent < Time::NEVER && header.answers == self.counts.probes as u32 & 0xFFFF {
            let sent = probing.sent;
            let round_trip = now.saturating_sub(sent).saturating_sub(header.service);
            let long_before = probing.lost_before(now);
            if probing.answered(round_trip) {
                self.lose_all(now, self.next, (sent.min(long_before), true));
            }
        } else if !is_probe && self.control.window() < u64::MAX {
            // Without a window, the length of queues and hence reordering is unlimited. (Credits limit only the queue
            // of the last link.)
            let limit = Probing::out_of_order_limit(self.control.window(), &self.facts);
            if self.oldest >= probing.recovers_until && u64::from(header.out_of_order) >= limit {
                probing.recovers_until = self.next;
            }
            if self.oldest < probing.recovers_until {
                let psn = nearest(header.answers, self.oldest).min(self.next);
                let sent = psn.checked_sub(self.oldest).and_then(|place| self.packets.get(place as usize));
                if let Some(sent) = sent.map(|packet| packet.sent) {
                    self.lose_all(now, psn, (sent, false));
                }
            }
        }
        self.restart_probing(now);
    }

    /// Marks packets before `until` as lost if they are in flight, were sent before the time `before`, and were
    /// overtaken on their link.
    pub(super) fn lose_all(&mut self, now: Time, until: u64, (before, by_probe): (Time, bool)) {
        for psn in self.oldest..until.min(self.next) {
            let packet = self.packets[(psn - self.oldest) as usize];
            let is_overtaken = |it: &Probing| it.is_overtaken(packet.entropy, packet.sent, by_probe);
            let is_overtaken = self.probing.as_deref().is_some_and(is_overtaken);
            if packet.state == State::InFlight && packet.sent < before && is_overtaken {
                self.counts.inferred += u64::from(self.lose(now, psn, UetLossCause::Inferred));
            }
        }
    }

    /// Marks a packet as lost. Returns false if it is not in flight.
    pub(super) fn lose(&mut self, now: Time, psn: u64, cause: UetLossCause) -> bool {
        let place = psn.checked_sub(self.oldest).map(|place| place as usize);
        let Some(packet) = place.and_then(|place| self.packets.get_mut(place)) else {
            return false;
        };
        if packet.state != State::InFlight {
            return false;
        }
        packet.state = State::Lost;
        self.flying -= 1;
        let (bytes, entropy, sent) = (packet.bytes, packet.entropy, packet.sent);
        self.in_flight -= i64::from(bytes);
        self.lost_packets += 1;
        self.lost.push_back(psn);
        let in_flight = self.bytes_in_flight();
        if let Some(paths) = self.paths.as_mut().filter(|_| cause == UetLossCause::Inferred) {
            let signal = if self.deadline <= now { PathSignal::TimedOut } else { PathSignal::Lost };
            paths.on_lost(now, PathFeedback { entropy, signal }, sent);
        }
        self.control.on_loss(now, &UetLoss { bytes: bytes.into(), in_flight, cause });
        true
    }

    /// Returns the oldest transmission that is still in flight.
    pub(super) fn oldest_in_flight(&mut self) -> Option<(Time, u64)> {
        while let Some(&(sent, psn)) = self.transmissions.front() {
            let packet = psn.checked_sub(self.oldest).map(|place| self.packets[place as usize]);
            if packet.is_some_and(|packet| packet.state == State::InFlight && packet.sent == sent) {
                return Some((sent, psn));
            }
            self.transmissions.pop_front();
        }
        None
    }
    pub(super) fn current_timeout(&self) -> Time {
        let doubled = self.retry.saturating_sub(self.spec.linear_retries).min(MAX_DOUBLINGS);
        Time::from_ps(self.timeout.ps().saturating_mul(1 << doubled))
    }
    pub(super) fn set_timer(&mut self, now: Time) {
        let timeout = self.current_timeout();
        // Progress resets a doubled timeout, which may therefore have expired already.
        let expires = |(sent, _): (Time, u64)| sent.saturating_add(timeout).max(now);
        self.deadline = self.oldest_in_flight().map_or(Time::NEVER, expires);
    }
    /// Returns the time at which to call [`DeliveryContext::handle_timeout`], or [`Time::NEVER`].
    pub fn deadline(&self) -> Time {
        if self.failed < Time::NEVER {
            return Time::NEVER;
        }
        let probes = self.probing.as_ref().map_or(Time::NEVER, |probing| probing.at);
        let overtaken = self.overtaking.as_ref().map_or(Time::NEVER, |overtaking| overtaking.due());
        self.deadline
            .min(probes)
            .min(self.credit_request_at)
            .min(self.ack_at)
            .min(overtaken)
            .min(self.path_probe_at())
    }

    /// Handles the timers that have expired. `is_queued` returns true if a packet still waits in the NIC.
    pub fn handle_timeout(&mut self, now: Time, is_queued: &dyn Fn(u32, Option<u32>) -> bool) {
        if let Some(probing) = self.probing.as_deref_mut().filter(|probing| probing.at <= now) {
            (probing.at, probing.is_due) = (Time::NEVER, true);
        }
        if self.credit_request_at <= now {
            self.request_credit(now);
        }
        if self.ack_at <= now {
            (self.ack_at, self.probes) = (Time::NEVER, true);
        }
        self.now = now;
        if self.lose_overtaken(now) {
            self.set_timer(now);
        }
        self.note_path_probe(now);
        if self.deadline > now || self.failed < Time::NEVER {
            return self.request_ack(now);
        }
        let timeout = self.current_timeout();
        let (mut expired, mut again) = (false, false);
        while let Some((sent, psn)) =
            self.oldest_in_flight().filter(|(sent, _)| sent.saturating_add(timeout) <= now)
        {
            if is_queued(0, Some(on_wire(psn))) {
                self.deadline = now.saturating_add(timeout);
                return;
            }
            self.expire(now, psn);
            expired = true;
            again |= sent >= self.expired;
        }
        if expired {
            self.waited_in_vain();
            self.counts.timeouts += 1;
            if again && self.retry >= self.spec.retries {
                (self.failed, self.deadline) = (now, Time::NEVER);
                return;
            }
            if again {
                (self.retry, self.expired) = (self.retry + 1, now);
            }
            if let Some(credits) = &mut self.credits {
                credits.on_timeout();
            }
            // There may be nothing in flight that would bring credit for retransmissions.
            self.request_credit(now);
            self.count_at_nic();
        }
        self.request_ack(now);
        self.set_timer(now);
    }

    /// Schedules a probe that requests an acknowledgement if nothing else would cause one: packets are in flight, but
    /// too few for the receiver to acknowledge them without a request; the last of them was sent without a request
    /// because another packet could have followed; and no other can follow now, because credit was withdrawn or the
    /// window has shrunk. The probe is sent a base round trip and a delay target later, as in loss inference, whose
    /// probes replace this one.
    pub(super) fn request_ack(&mut self, now: Time) {
        let many = self.bytes_in_flight() > self.spec.most_unanswered();
        let is_stuck = self.unrequested && self.flying > 0 && !many && !self.has_data();
        if !is_stuck || self.probing.is_some() || self.failed < Time::NEVER {
            (self.ack_at, self.probes) = (Time::NEVER, false);
        } else if self.ack_at == Time::NEVER && !self.probes {
            let wait = self.facts.base_rtt + self.facts.delay_target();
            self.ack_at = now.saturating_add(wait.min(Time::from_ps(self.timeout.ps() / 2)));
        }
    }

    /// Returns the time without credit after which credit is requested: a timeout, or twice the time of the last grant.
    pub(super) fn request_wait(&self) -> Time {
        let longest = Time::from_ps(self.timeout.ps().saturating_mul(1 << MAX_DOUBLINGS));
        self.granted_after.saturating_add(self.granted_after).clamp(self.timeout, longest)
    }

    /// Requests credit if there is none and there is data to send. Fails after too many requests without an answer.
    pub(super) fn request_credit(&mut self, now: Time) {
        let Some(credits) = self.credits.as_ref().filter(|_| self.backlog() > 0) else {
            (self.credit_request_at, self.requests_credit) = (Time::NEVER, false);
            return;
        };
        // Packets that expire one after the other cause a single request. The wait doubles as that of the
        // retransmission timer does. Once the receiver has responded, the context waits for its turn there, and a
        // request only replaces a lost grant.
        let wait = |credit_requests: u32| {
            self.timeout.ps().saturating_mul(1 << (credit_requests - 1).min(MAX_DOUBLINGS))
        };
        let again = match self.credit_requests {
            0 => now,
            credit_requests => self.credit_requested_at.saturating_add(Time::from_ps(wait(credit_requests))),
        };
        if credits.allows() || now < again {
            self.credit_request_at = if credits.allows() { now.saturating_add(self.timeout) } else { again };
            return;
        }
        (self.requests_credit, self.credit_request_at, self.credit_requested_at) = (true, Time::NEVER, now);
        (self.credit_requests, self.unanswered) =
            (self.credit_requests.saturating_add(1), self.unanswered + 1);
        if self.unanswered > self.spec.retries {
            (self.failed, self.deadline, self.requests_credit) = (now, Time::NEVER, false);
        }
    }

    /// Handles the timeout of a packet. In ordered delivery, all packets after it are retransmitted as well.
    pub(super) fn expire(&mut self, now: Time, psn: u64) {
        self.lose(now, psn, UetLossCause::Inferred);
        let number = self.message_of(psn);
        self.messages[number].timeouts += 1;
        if self.spec.mode == UetMode::Rod {
            self.rewind(psn + 1);
        }
    }

    /// Retransmits all packets in flight from one on, in order, because the receiver keeps none behind a gap.
    pub(super) fn rewind(&mut self, from: u64) {
        let first = (from.max(self.oldest) - self.oldest) as usize;
        for (place, packet) in self.packets.iter_mut().enumerate().skip(first) {
            if packet.state == State::InFlight {
                packet.state = State::Lost;
                self.flying -= 1;
                self.in_flight -= i64::from(packet.bytes);
                self.lost_packets += 1;
                self.lost.push_back(self.oldest + place as u64);
            }
        }
        self.lost.make_contiguous().sort_unstable();
    }
}
