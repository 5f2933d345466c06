//! Processing of acknowledgements by a TCP sender.

use crate::controller::{Ack, CongestionControl, LossKind, is_used};
use crate::endpoint::{Received, Record, RecordKind};
use crate::loss_recovery::{LossRecovery, OnDuplicate, OnProgress};
use crate::scoreboard::Blocks;
use crate::serial::nearest;
use crate::tcp::EcnMode;
use crate::tcp_sender::{State, TcpSender};
use frame::{Header, TcpHeader};
use units::Time;

impl TcpSender {
    /// Processes an acknowledgement, which may echo a mark (`ece`).
    #[inline(always)]
    pub(crate) fn acknowledge(&mut self, now: Time, received: &Received, ece: bool) {
        let number = nearest(received.word, self.unacknowledged);
        let new = number > self.unacknowledged && number <= self.highest;
        // On the fast path, an acknowledgement without additional fields needs no update of loss recovery.
        if self.fast_path && new && !ece && received.header.is_none() {
            self.progress(now, number, false, None, true);
        } else {
            self.acknowledge_otherwise(now, received, ece);
        }
    }

    /// Variant of `acknowledge` for acknowledgements with additional fields, or without new data.
    #[inline(never)]
    fn acknowledge_otherwise(&mut self, now: Time, received: &Received, ece: bool) {
        let header = received.header.as_ref().and_then(Header::tcp);
        let word = header.map_or(received.word, |tcp| tcp.number);
        let number = nearest(word, self.unacknowledged);
        if header.is_some_and(|tcp| tcp.syn) {
            return self.welcome(now, number);
        }
        if !self.is_open() || number < self.unacknowledged || number > self.highest {
            self.discarded += 1;
            return;
        }
        let quiet = header.is_none() && self.recovery.is_quiet();
        if !quiet {
            let blocks = header.map_or(Blocks::default(), |tcp| {
                tcp.sacks.map(|(from, to)| (nearest(from, number), nearest(to, number)))
            });
            self.recovery.on_blocks(&self.flight(), &blocks);
        }
        if number > self.unacknowledged {
            self.progress_apart(now, number, ece, header, quiet);
        } else if self.unacknowledged < self.highest {
            // RFC 5681 section 2: data is outstanding, the segment has no data, and the window is unchanged.
            self.duplicate(now);
        } else {
            self.discarded += 1;
        }
        if ece && self.spec.ecn != EcnMode::Off {
            self.marks += 1;
            if self.unacknowledged > self.reduced_until {
                self.controller.on_mark(now);
                self.reduced_until = self.highest;
                self.owes_cwr |= self.spec.ecn == EcnMode::Rfc3168;
            }
        }
    }

    fn welcome(&mut self, now: Time, number: u64) {
        let State::SynSent { first } = self.state else {
            self.discarded += 1;
            return;
        };
        if number != self.unacknowledged {
            self.discarded += 1;
            return;
        }
        (self.state, self.deadline) = (State::Established, Time::NEVER);
        if let Some(sent) = first {
            self.measure(now, sent, 0);
        }
    }

    #[inline(never)]
    fn measure(&mut self, now: Time, sent: Time, bytes: u64) {
        let sent = sent.min(now);
        self.round_trip.measure(&self.spec.timer, sent, now);
        self.records.push_back(Record { kind: RecordKind::RoundTrip, start: sent, end: now, bytes });
    }

    /// Returns the send time of the segment whose round trip this acknowledgement ends.
    fn timed_by(&mut self, header: Option<&TcpHeader>) -> Option<Time> {
        if self.spec.timestamps {
            return header?.ts_ecr;
        }
        self.timed.take_if(|timed| timed.0 <= self.unacknowledged).map(|timed| timed.1)
    }

    /// Processes an acknowledgement of new data. `quiet` is true if loss recovery was inactive.
    #[inline(always)]
    fn progress(&mut self, now: Time, number: u64, ece: bool, header: Option<&TcpHeader>, quiet: bool) {
        let bytes = number - self.unacknowledged;
        let window_used = is_used(self.controller.window(), self.in_flight());
        self.unacknowledged = number;
        self.next = self.next.max(number);
        (self.limited, self.timed_out, self.resends) = (0, false, false);
        let outcome = if quiet { OnProgress::Open } else { self.recovery.on_progress(&self.flight(), bytes) };
        let sent = self.timed_by(header);
        if let Some(sent) = sent {
            self.measure(now, sent, u64::from(self.spec.segment));
        }
        // RFC 6298 sections 5.2 and 5.3; RFC 6582 section 4.
        match outcome {
            OnProgress::PartialAck { restarts_timer: false } => {}
            _ if number < self.highest => self.start_timer(now),
            _ => self.deadline = Time::NEVER,
        }
        self.resends = matches!(outcome, OnProgress::PartialAck { .. });
        let recovering = outcome != OnProgress::Open;
        let (in_flight, round_trip) = (self.in_flight(), sent.map(|sent| now.saturating_sub(sent)));
        self.controller.on_ack(now, &Ack { bytes, in_flight, ece, round_trip, recovering, window_used });
        if outcome == (OnProgress::Recovered { gently: true }) {
            self.controller.on_recovered(now, in_flight);
        }
        if !quiet {
            self.recovery.on_acknowledged(&self.flight(), bytes, self.controller.window());
        }
        if self.next < self.highest {
            self.next = self.recovery.skip(self.next).min(self.highest);
        }
        if number == self.transfers.end() {
            self.complete(now);
        }
    }

    /// Out-of-line variant of `progress`, for rare cases.
    #[inline(never)]
    fn progress_apart(&mut self, now: Time, number: u64, ece: bool, header: Option<&TcpHeader>, quiet: bool) {
        self.progress(now, number, ece, header, quiet);
    }

    /// Processes a duplicate acknowledgement.
    fn duplicate(&mut self, now: Time) {
        let flight = self.flight();
        match self.recovery.on_duplicate(&flight) {
            OnDuplicate::Nothing => {}
            OnDuplicate::FastRetransmit => {
                self.lose(now, LossKind::FastRecovery);
                self.resends = true;
                self.start_timer(now);
            }
            OnDuplicate::GoBack => {
                self.lose(now, LossKind::Timeout);
                self.go_back();
                self.start_timer(now);
            }
        }
        self.recovery.on_acknowledged(&flight, 0, self.controller.window());
    }

    #[inline(never)]
    pub(crate) fn complete(&mut self, now: Time) {
        let rng = self.rng.as_deref_mut();
        let done = self.transfers.complete(&self.spec.transfers, self.unacknowledged, now, rng);
        if let Some((start, bytes)) = done {
            self.records.push_back(Record { kind: RecordKind::Transfer, start, end: now, bytes });
            if self.transfers.next().is_none() {
                self.stop = Time::NEVER;
            }
        }
    }
}
