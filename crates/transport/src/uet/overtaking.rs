//! Loss of packets that were overtaken: a packet counts as lost when one that left later was acknowledged, and time for reordering has
//! passed since then.
//!
//! Source: the rule of Multipath Reliable Connection as far as it is public; Y. Cheng et al., RFC 8985 (RACK), section 6.2, for order by time
//! of sending in place of sequence numbers, so that retransmissions count as well.

use crate::room::Append;
use std::collections::VecDeque;
use units::Time;

/// The acknowledgements of packets that have overtaken others.
#[derive(Clone, Debug)]
pub(crate) struct Overtaking {
    /// Maximum time of reordering.
    time: Time,
    /// Arrival time of an acknowledgement, and transmission time of the latest packet acknowledged by then. Both
    /// increase along the queue.
    marks: VecDeque<(Time, Time)>,
}

impl Overtaking {
    /// Creates the state for this maximum time of reordering.
    pub fn new(time: Time) -> Overtaking {
        Overtaking { time, marks: VecDeque::new() }
    }

    /// Processes the acknowledgement of a packet sent at `sent`; `oldest` is the transmission time of the oldest packet
    /// in flight.
    pub fn on_acknowledged(&mut self, now: Time, sent: Time, oldest: Option<Time>) {
        let Some(oldest) = oldest else { return self.marks.clear() };
        while self.marks.front().is_some_and(|&(_, until)| until <= oldest) {
            self.marks.pop_front();
        }
        if sent > oldest && self.marks.back().is_none_or(|&(_, until)| until < sent) {
            self.marks.append_one((now, sent));
        }
    }

    /// Returns the next time at which packets count as lost, or [`Time::NEVER`].
    pub fn due(&self) -> Time {
        self.marks.front().map_or(Time::NEVER, |&(at, _)| at.saturating_add(self.time))
    }

    /// Returns the time before which packets must have been sent to count as lost now, if they are still in flight.
    pub fn expire(&mut self, now: Time) -> Option<Time> {
        let mut before = None;
        while self.due() <= now {
            before = self.marks.pop_front().map(|(_, until)| until);
        }
        before
    }

    /// Returns the heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.marks.capacity() * size_of::<(Time, Time)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_lost_a_while_after_the_first_one_behind_it_was_acknowledged() {
        let us = Time::from_us;
        let mut it = Overtaking::new(us(10));
        it.on_acknowledged(us(20), us(5), Some(us(3)));
        it.on_acknowledged(us(22), us(7), Some(us(3)));
        assert_eq!((it.due(), it.expire(us(29))), (us(30), None));
        // Packets sent before 5 us count as lost now, and those sent before 7 us two microseconds later.
        assert_eq!((it.expire(us(30)), it.due(), it.expire(us(32))), (Some(us(5)), us(32), Some(us(7))));
        // The packet was in order: it has overtaken none.
        it.on_acknowledged(us(40), us(30), Some(us(31)));
        assert_eq!(it.due(), Time::NEVER);
        // The missing packets have arrived.
        it.on_acknowledged(us(41), us(35), Some(us(31)));
        it.on_acknowledged(us(42), us(35), Some(us(36)));
        assert_eq!(it.due(), Time::NEVER);
        it.on_acknowledged(us(43), us(40), Some(us(36)));
        it.on_acknowledged(us(44), us(40), None);
        assert_eq!(it.due(), Time::NEVER);
    }
}
