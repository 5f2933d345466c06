//! Selective repeat (IRN): only the missing packets are retransmitted.
//!
//! The receiver keeps packets that arrive out of order, and answers each of them with a NACK that carries the expected
//! PSN and the PSN of the packet that arrived. The sender records which packets have arrived. The first NACK starts
//! loss recovery. The sender retransmits the first outstanding packet, then once each packet that is missing below the
//! highest one that has arrived, and then sends new packets. Recovery ends when all packets sent before its start are
//! acknowledged. A timeout starts recovery as well. If no packet has arrived since the last progress, the timeout
//! declares lost all outstanding packets whose arrival has not been reported, because no later packet would reveal the
//! loss of the last packets of a message; otherwise they may still be in flight. Outstanding bytes should be limited
//! to the bandwidth-delay product (`window = "bdp"`). There are two timeouts: `low_timeout` with few packets in
//! flight, for which a spurious retransmission costs little, and otherwise `timeout`.
//!
//! A NACK for a packet trimmed by a switch names that packet. The sender retransmits it immediately, even outside of
//! recovery. Until a timeout it then counts as in flight, so that the NACKs of later packets do not cause another
//! retransmission.
//!
//! Source: R. Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018, sections 3 and 4 (100 us with at
//! most 3 packets in flight, 320 us). A second, independent implementation has the same values and the same rule for
//! missing packets after a timeout.
//!
//! Not modelled: detection of a lost retransmission other than by the timeout; the receiver state for READ.

use recurrence::{Numbered, Recurs, Walk};
use std::collections::VecDeque;

/// The state of selective repeat, for the packets from the first outstanding one on.
#[derive(Clone, Debug, Default)]
pub struct SelectiveRepeat {
    /// For each packet from `first` on: true if it has arrived.
    arrived: VecDeque<bool>,
    /// Number of the first packet in `arrived`.
    first: u64,
    /// Number before which all packets have been examined in this recovery.
    next: u64,
    /// Packet up to which everything must be acknowledged before recovery ends.
    until: Option<u64>,
    /// True if the first outstanding packet is to be retransmitted even if no later packet has arrived.
    head: bool,
    /// True if a later packet has been reported since this packet became the first outstanding one, or since a timeout.
    reported: bool,
    /// Trimmed packets, in order of their reports.
    trimmed: VecDeque<u64>,
    /// Trimmed packets that have been retransmitted since the last timeout.
    resent: VecDeque<u64>,
}

impl SelectiveRepeat {
    /// Visits the state; packets are counted from `base`.
    pub(super) fn walk_from(&self, base: u64, walk: &mut Walk) {
        let SelectiveRepeat { arrived, first, next, until, head, reported, trimmed, resent } = self;
        arrived.walk(walk);
        first.walk_from(base, walk);
        next.walk_from(base, walk);
        until.walk_from(base, walk);
        (*head, *reported).walk(walk);
        trimmed.walk_from(base, walk);
        resent.walk_from(base, walk);
    }

    /// Returns the next packet to send.
    pub fn next(&self, unacknowledged: u64, highest: u64) -> u64 {
        if let Some(&first) = self.trimmed.front() {
            return first;
        }
        if self.until.is_none() {
            return highest;
        }
        let from = self.next.max(unacknowledged);
        if self.head && from < highest {
            return unacknowledged;
        }
        let rest = self.arrived.iter().enumerate().skip((from - self.first) as usize);
        let mut missing = rest.filter(|(_, arrived)| !**arrived).map(|(at, _)| self.first + at as u64);
        missing.find(|packet| !self.resent.contains(packet)).unwrap_or(highest)
    }
    /// Records that a packet was sent, `again` or for the first time.
    pub fn on_sent(&mut self, packet: u64, again: bool) {
        if self.trimmed.front() == Some(&packet) {
            self.trimmed.pop_front();
            self.resent.push_back(packet);
            self.head = self.head && packet != self.first;
        } else if again {
            (self.next, self.head) = (self.next.max(packet + 1), false);
        }
    }
    /// Records that everything before this packet has arrived.
    pub fn on_progress(&mut self, unacknowledged: u64) {
        let gone = (unacknowledged - self.first).min(self.arrived.len() as u64);
        self.arrived.drain(..gone as usize);
        (self.first, self.head, self.reported) = (unacknowledged, false, false);
        self.trimmed.retain(|&packet| packet >= unacknowledged);
        self.resent.retain(|&packet| packet >= unacknowledged);
        if self.until.is_some_and(|until| unacknowledged >= until) {
            self.until = None;
        }
    }
    /// Processes a NAK: the first outstanding packet is missing, and a later one has arrived. Returns true if recovery
    /// begins.
    pub fn on_nak(&mut self, unacknowledged: u64, highest: u64, arrived: Option<u64>) -> bool {
        if let Some(arrived) = arrived.filter(|&arrived| arrived >= self.first) {
            self.note_arrived(arrived);
            self.reported = true;
        }
        let begins = self.until.is_none() && unacknowledged < highest;
        if begins {
            self.enter(unacknowledged, highest);
            // The packet may already have been retransmitted because it was trimmed.
            self.head = !self.resent.contains(&unacknowledged);
        }
        begins
    }
    /// Records that a packet was trimmed on its way. Returns true if its loss was not known before.
    pub fn on_trimmed(&mut self, highest: u64, packet: Option<u64>) -> bool {
        let packet =
            packet.filter(|packet| (self.first..highest).contains(packet) && !self.trimmed.contains(packet));
        self.resent.retain(|&other| Some(other) != packet);
        self.trimmed.extend(packet);
        packet.is_some()
    }
    fn note_arrived(&mut self, packet: u64) {
        let at = packet.saturating_sub(self.first) as usize;
        if self.arrived.len() <= at {
            self.arrived.resize(at + 1, false);
        }
        self.arrived[at] = true;
    }
    /// Handles a timeout: missing packets are retransmitted. If there was no feedback either, all packets that have not
    /// arrived are retransmitted.
    pub fn on_timeout(&mut self, unacknowledged: u64, highest: u64) {
        self.enter(unacknowledged, highest);
        self.resent.clear();
        let outstanding = highest.saturating_sub(self.first) as usize;
        if !std::mem::take(&mut self.reported) && self.arrived.len() < outstanding {
            self.arrived.resize(outstanding, false);
        }
    }
    fn enter(&mut self, unacknowledged: u64, highest: u64) {
        (self.until, self.next, self.head) = (Some(highest), unacknowledged, true);
    }
    /// Returns the heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.arrived.capacity() + (self.trimmed.capacity() + self.resent.capacity()) * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_holes_are_sent_again_once_then_new_ones() {
        let mut it = SelectiveRepeat::default();
        assert_eq!(it.next(0, 10), 10);
        it.on_progress(2);
        // 2, 5 and 6 are lost; 3, 4 and 7 arrive.
        assert!(it.on_nak(2, 10, Some(3)));
        assert_eq!(it.next(2, 10), 2);
        it.on_sent(2, true);
        assert_eq!(it.next(2, 10), 10);
        assert!(!it.on_nak(2, 10, Some(4)));
        assert!(!it.on_nak(2, 10, Some(7)));
        for hole in [5, 6] {
            assert_eq!(it.next(2, 10), hole);
            it.on_sent(hole, true);
        }
        assert_eq!(it.next(2, 10), 10);
        it.on_sent(10, false);
        it.on_progress(8);
        // Recovery continues until 10, without a known hole. 8 is the first outstanding packet, and has been examined.
        assert_eq!(it.next(8, 11), 11);
        it.on_progress(10);
        assert!(it.on_nak(10, 12, Some(11)));
        assert_eq!(it.next(10, 12), 10);
    }

    #[test]
    fn a_timeout_sends_what_is_missing_once_more() {
        let mut it = SelectiveRepeat::default();
        it.on_nak(0, 5, Some(3));
        for hole in [0, 1, 2] {
            assert_eq!(it.next(0, 5), hole);
            it.on_sent(hole, true);
        }
        assert_eq!(it.next(0, 5), 5);
        it.on_timeout(0, 5);
        assert_eq!(it.next(0, 5), 0);
        it.on_sent(0, true);
        it.on_progress(4);
        // The last packet may be in flight, because 3 was reported. Another timeout shows that it is not.
        assert_eq!(it.next(4, 5), 5);
        it.on_timeout(4, 5);
        assert_eq!(it.next(4, 5), 4);
        it.on_sent(4, true);
        assert_eq!(it.next(4, 5), 5);
    }

    #[test]
    fn the_end_of_a_message_takes_one_timeout_however_much_of_it_is_lost() {
        let mut it = SelectiveRepeat::default();
        it.on_timeout(0, 100);
        for packet in 0..100 {
            assert_eq!(it.next(packet, 100), packet);
            it.on_sent(packet, true);
            it.on_progress(packet + 1);
        }
        assert_eq!(it.next(100, 100), 100);
        // Packets sent after the timeout do not count as missing.
        it.on_timeout(100, 102);
        it.on_sent(100, true);
        it.on_sent(101, true);
        assert_eq!(it.next(100, 103), 103);
    }
}
