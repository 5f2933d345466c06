//! Selects the next packet of a queue pair and the time at which it may be sent. The recovery names the packet; the
//! window must admit it, and the control's rate determines the time.

use super::{Message, NONE, QueuePair};
use crate::rdma::control::RdmaControl;
use units::Time;

impl QueuePair {
    /// Returns the index of the message that contains a packet.
    #[inline(always)]
    pub(super) fn find(&self, packet: u64) -> usize {
        if self.is_in(self.at, packet) { self.at } else { self.find_in_others(packet) }
    }

    /// Returns true if the message with this index contains the packet.
    #[inline(always)]
    fn is_in(&self, at: usize, packet: u64) -> bool {
        let holds = |message: &Message| message.first <= packet && packet < message.end();
        self.messages.get(at).is_some_and(holds)
    }

    fn find_in_others(&self, packet: u64) -> usize {
        if self.is_in(self.at + 1, packet) {
            return self.at + 1;
        }
        self.messages.partition_point(|message| message.end() <= packet)
    }

    /// Returns the bytes of frames before a packet.
    pub(super) fn bytes_before(&self, packet: u64) -> u64 {
        let data = match self.messages.get(self.find(packet)) {
            Some(message) => {
                let sent = packet - message.first.min(packet);
                let within = sent * u64::from(self.spec.mtu);
                message.before
                    + within.min(message.bytes)
                    + message.operation.extended_of(sent, message.packets)
            }
            None => self.end_bytes,
        };
        data + packet * u64::from(self.spec.headers)
    }

    pub(super) fn in_flight(&self, next: u64) -> u64 {
        self.bytes_before(next).saturating_sub(self.bytes_before(self.unacknowledged))
    }

    /// Returns the next packet to send, if there is one and the window admits it.
    pub(super) fn next(&self) -> Option<u64> {
        debug_assert_eq!(self.ready, self.find_next(), "the cached next packet is out of date");
        (self.ready != NONE).then_some(self.ready)
    }

    pub(super) fn find_next(&self) -> u64 {
        let next = self.recovery.next(self.unacknowledged, self.highest);
        if next >= self.end || next - self.unacknowledged >= self.spec.max_outstanding() {
            return NONE;
        }
        let fits = next == self.unacknowledged || next < self.highest && self.recovery.is_selective() || {
            let window = self.window();
            window == u64::MAX || self.in_flight(next + 1) <= window
        };
        if fits { next } else { NONE }
    }

    pub(super) fn work_out(&mut self) {
        self.ready = self.find_next();
    }

    /// Updates the next packet, the timer and the current activity after an event.
    pub(super) fn settle(&mut self, now: Time) {
        self.work_out();
        self.set_timer(now);
        self.note_time(now);
    }

    /// Updates the time at which the next packet may leave, after an event at the control.
    pub(super) fn pace(&mut self, now: Time) {
        let (since, bytes) = self.last;
        if bytes > 0 || self.waits > now {
            let paced = if bytes > 0 { self.control.due(since, bytes) } else { Time::ZERO };
            self.due = paced.max(self.waits);
            self.closed = self.due > now;
        }
    }
}
