//! The retransmission timer of a queue pair, and the packets that request an acknowledgement because of the timer.

use super::{NONE, QueuePair, RdmaVerb};
use units::Time;

impl QueuePair {
    /// Returns the retransmission timeout, which is shorter while few packets are outstanding.
    pub(super) fn timeout(&self) -> Time {
        let timeouts = &self.spec.timeouts;
        if self.outstanding() <= timeouts.few { timeouts.low } else { timeouts.high }
    }

    /// Returns true if the retransmission timer runs. For a READ, the timer is at the requester.
    pub(super) fn is_timed(&self, now: Time) -> bool {
        let outstanding = self.unacknowledged < self.highest && self.spec.verb != RdmaVerb::Read;
        // The first outstanding packet has been sent, and so has a packet that requests an acknowledgement (or no such
        // packet can be sent).
        outstanding
            && self.failed == Time::NEVER
            && self.recovery.next(self.unacknowledged, self.highest) != self.unacknowledged
            && (self.requested.0 > self.unacknowledged || self.ready == NONE)
            && !(self.not_ready > 0 && self.waits > now)
    }

    /// Starts or stops the retransmission timer, after a change of its conditions.
    pub(super) fn set_timer(&mut self, now: Time) {
        if !self.is_timed(now) {
            self.deadline = Time::NEVER;
        } else if self.deadline == Time::NEVER {
            self.deadline = now.saturating_add(self.timeout());
        }
    }

    /// Returns true if a packet requests an acknowledgement because of earlier unacknowledged packets. This applies to
    /// the first missing packet when it is sent `again`, and to a packet before which nothing was acknowledged or
    /// requested for the time in which a queue pair enters the error state. A dead path is thus detected, and a slow
    /// receiver that acknowledges every n-th packet is not mistaken for one.
    pub(super) fn is_overdue(&mut self, packet: u64, again: bool, now: Time) -> bool {
        if packet == self.unacknowledged && self.requested.0 <= packet {
            self.requested.1 = now;
            return again;
        }
        let since = now.saturating_sub(self.requested.1);
        // This is the shortest time that it can take.
        if since < self.spec.timeouts.low.min(self.spec.timeouts.high) {
            return false;
        }
        let longest = self.timeout().ps().saturating_mul(u64::from(self.spec.retries) + 1);
        since.ps() >= longest
    }

    /// Cancels the requests of packets that are to be retransmitted.
    pub(super) fn take_back_requests(&mut self) {
        if !self.recovery.is_selective() {
            self.requested.0 = self.unacknowledged;
        }
    }
}
