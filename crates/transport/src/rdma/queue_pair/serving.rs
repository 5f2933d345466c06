//! Handles events at a queue pair other than those of its own messages: READ requests, receivers that are not ready or
//! do not respond, and a NIC with limits.

use super::{ENDLESS, Message, NONE, QueuePair, labelled};
use crate::endpoint::Segment;
use crate::rdma::control::{PathFacts, RdmaControl, RdmaLoss};
use crate::rdma::nic::SharedNic;
use crate::rdma::psn::{self, Word};
use frame::{FrameKind, RdmaHeader};
use units::Time;

impl QueuePair {
    /// Returns a NAK for the requester: a later request has arrived before a missing one.
    pub(super) fn nak_of_request(&self) -> Segment {
        let word = Word { number: self.end as u32, flags: [true, false, false], pair: self.number };
        let header = RdmaHeader { word: word.bits(), pair: self.number, ..RdmaHeader::default() };
        let (word, header) = labelled(header);
        let bytes = self.spec.ack_bytes();
        Segment { header, ..Segment::new(FrameKind::Ack, word, bytes) }
    }

    /// Ends an unlimited message, if there is one, with the next packet, because a packet flagged as the last has to be
    /// sent.
    pub fn close(&mut self, now: Time) {
        let Some(last) = self.messages.back_mut().filter(|last| last.bytes >= ENDLESS / 2) else { return };
        let packets = (self.highest + 1).saturating_sub(last.first);
        let bytes = packets * u64::from(self.spec.mtu);
        (last.packets, last.bytes) = (packets, bytes);
        let (end, before, operation) = (last.end(), last.before, last.operation);
        (self.end, self.end_bytes) = (end, before + bytes + operation.extended_of(packets, packets));
        self.complete(now);
        self.settle(now);
    }

    /// Adapts to another link rate of the host; `facts` are those at the new rate.
    pub fn on_link_rate(&mut self, facts: &PathFacts, now: Time) {
        self.window = self.spec.most_in_flight(facts);
        self.clocks.own.on_link_rate(facts.rate);
        self.spec.control.on_link_rate(&mut self.control, facts, now);
        self.pace(now);
        self.work_out();
        self.set_timer(now);
    }

    /// Handles the `nth` READ request of this queue pair. Returns true if the request is new.
    pub fn on_request(&mut self, now: Time, header: &RdmaHeader, nth: u32) -> bool {
        let word = Word::of(header.word);
        let from = psn::nearest(word.number, self.unacknowledged);
        if from > self.end {
            // A NAK is sent once until the missing request has arrived.
            self.request_missing |= self.reported_missing != self.end;
            self.reported_missing = self.end;
            self.discarded += 1;
            return false;
        }
        if from == self.end {
            self.reported_missing = NONE;
            self.post(nth, now, header.requested.into(), false);
            // The number of outstanding READs is limited, so earlier ones are complete.
            while self.messages.len() > self.spec.max_reads as usize
                && let Some(until) = self.messages.front().map(Message::end)
            {
                self.has_arrived(until, now);
            }
            self.work_out();
            return true;
        }
        if word.flags[2] && from >= self.unacknowledged {
            self.counts.naks += 1;
            self.has_arrived(from, now);
            if self.recovery.on_nak(from, self.highest, None, 0) {
                self.control.on_loss(now, RdmaLoss::Nak);
            } else if self.recovery.is_selective() {
                self.recovery.on_timeout(from, self.highest);
            }
            self.pace(now);
            self.settle(now);
        }
        false
    }

    /// Records that the requester has received everything before a packet.
    fn has_arrived(&mut self, until: u64, now: Time) {
        let until = until.min(self.highest);
        if until > self.unacknowledged {
            self.unacknowledged = until;
            if self.timed.0 < until {
                self.timed.0 = NONE;
            }
            self.recovery.on_progress(until);
            self.complete(now);
        }
    }

    /// Returns true if the NIC is ready for the next packet. If it is not, the queue pair waits.
    pub fn is_admitted(&mut self, nic: &SharedNic, number: u64, now: Time) -> bool {
        let Some(next) = self.next().filter(|&next| self.admitted != next) else { return true };
        let begins = next == self.highest
            && self.messages.get(self.find(next)).is_some_and(|message| message.first == next);
        let Ok(mut nic) = nic.lock() else { return true };
        let (at, fetches) = nic.admit(number, begins, now);
        self.counts.fetches += u64::from(fetches);
        self.admitted = next;
        if at > now {
            self.waits = self.waits.max(at);
            self.pace(now);
            self.note_time(now);
        }
        at <= now
    }

    /// Handles a NAK of a receiver that is not ready: waits for the RNR timer, or enters the error state after too many
    /// retries.
    pub(super) fn wait_for_receiver(&mut self, now: Time) {
        self.counts.not_ready += 1;
        self.not_ready += 1;
        self.timed.0 = NONE;
        if self.spec.rnr_retries.is_some_and(|most| self.not_ready > most) {
            (self.failed, self.deadline) = (now, Time::NEVER);
            return;
        }
        self.recovery.on_nak(self.unacknowledged, self.highest, None, 0);
        self.take_back_requests();
        self.waits = now.saturating_add(self.spec.rnr_timer);
        // No packet in flight will be acknowledged.
        self.deadline = Time::NEVER;
    }

    /// Handles the expiry of the retransmission timer.
    pub(super) fn expire(&mut self, now: Time) {
        self.waited_in_vain();
        self.counts.timeouts += 1;
        self.retry += 1;
        self.timed.0 = NONE;
        if let Some(front) = self.messages.front_mut() {
            front.timeouts += 1;
        }
        if self.retry > self.spec.retries {
            (self.failed, self.deadline) = (now, Time::NEVER);
            return;
        }
        self.recovery.on_timeout(self.unacknowledged, self.highest);
        if let Some(paths) = &mut self.paths {
            paths.on_timeout(now, self.unacknowledged);
        }
        self.take_back_requests();
        self.control.on_loss(now, RdmaLoss::Timeout);
        // The timer restarts when the retransmission has been sent.
        self.deadline = Time::NEVER;
        self.pace(now);
    }
}
