//! Reordering-tolerant recovery: the receiver places packets that arrive out of order, and reports a packet as lost
//! only when its gap is too long and too old for reordering.
//!
//! The receiver keeps a bitmap of `window` packets, starting at the next expected one. A packet within the window is
//! placed immediately, messages complete in order, and reordering alone causes no NAK. A gap opens when a packet
//! beyond it arrives. A missing packet is considered lost if a packet at least `distance` sequence numbers after it
//! has arrived and its gap has been open for `time`; a timer checks this when no more packets arrive. With `distance =
//! 1` only the time decides, with `time = "0 s"` only the distance. A NAK carries the expected PSN and, in a bitmap of
//! 64, the lost packets. It is repeated for packets that are still missing after twice `time`, or two round trips if
//! that is longer, unless the expected PSN has advanced.
//!
//! The sender retransmits only the reported packets, and never has more than `window` packets outstanding, so that the
//! bitmap of the receiver covers all arriving packets. After a timeout it retransmits the oldest packet. Whenever a
//! subsequent acknowledgement stops at another packet sent before the timeout, it retransmits that packet. A
//! retransmission requests an acknowledgement. While a gap is open the receiver sends no acknowledgement. The
//! acknowledgement that follows the closing of the gap carries the round-trip time and marks of the packet that closed
//! it.
//!
//! With `nak = false` only the timeout recovers losses (preset "cx-ar"). The table `queue_pairs` reports the cost of
//! reordering: packets out of order, the maximum distance, the maximum number of placed packets, and duplicates.
//!
//! Source: R. Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018, section 4 (bitmaps of a receiver);
//! Open Compute Project, NET-Falcon revision 0.9 (windows, and loss by distance and time); Y. Cheng et al., RFC 8985
//! (the reordering window of a quarter of a round trip). NVIDIA does not publish the window and the NAK rule of its
//! NICs with adaptive routing; the combination, the default window and the default time are our choice.
//!
//! Not modelled: NICs that place only WRITEs and READ responses out of order (ConnectX-5 to 7; all operations are
//! placed here, as by ConnectX-8); out-of-order completion (SRD); increasing timeouts (adaptive retransmission).

use super::psn;
use super::reordering_keys::ReorderingKeys;
use crate::room::Append;
use recurrence::MaybeEmpty;
use std::collections::VecDeque;
use units::Time;

/// Number of packets in the bitmap of a NAK.
const MAP_BITS: u64 = 64;

/// The rule by which a receiver distinguishes losses from reordering, with the times of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossRule {
    /// Number of packets, from the expected one on, that the receiver places; above 0.
    pub window: u64,
    /// Distance in packets by which a later packet must be ahead of a missing one; above 0.
    pub distance: u64,
    /// Minimum time that a gap must have been open.
    pub time: Time,
    /// Time after which a NAK is repeated, above 0.
    pub repeat: Time,
    /// True if losses are reported at all.
    pub nak: bool,
}

impl LossRule {
    /// Creates the rule of these keys on a path with this round-trip time without queueing.
    pub fn new(keys: &ReorderingKeys, base_rtt: Time) -> LossRule {
        let quarter = Time::from_ps(base_rtt.ps() / 4);
        let time = keys.time.value().unwrap_or(quarter.max(ReorderingKeys::DEEPEST_QUEUE));
        let longer = time.max(base_rtt).max(Time::from_us(1));
        let repeat = longer.saturating_add(longer);
        LossRule { window: keys.window, distance: keys.distance, time, repeat, nak: keys.nak }
    }
    /// Returns the number after the last packet of a gap that is far enough behind the highest packet that has arrived;
    /// `top` is the number after the latter.
    fn far(&self, top: u64, end: u64) -> u64 {
        end.min(top.saturating_sub(self.distance))
    }
}

/// A gap: missing packets that one arriving packet has overtaken.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// Packet after the last missing one, which has arrived.
    end: u64,
    /// Time at which that packet arrived.
    opened: Time,
    /// Number before which all missing packets have been named in a NAK.
    named: u64,
    /// Time at which packets that are still missing may be named again; [`Time::NEVER`] if none has been named.
    again: Time,
    /// Expected packet at the time of the last naming.
    seen: u64,
}

/// Lost packets to name in a NAK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The first lost packet.
    pub first: u64,
    /// Lost packets as bits: bit n for the n-th packet after `first`, bit 0 for `first` itself.
    pub map: u64,
}

/// The gaps of a receiving queue pair, in order of packet numbers, which is also the order in which they opened.
#[derive(Clone, Debug, Default)]
pub struct Gaps {
    gaps: VecDeque<Gap>,
    /// Number after the highest packet that has arrived.
    top: u64,
    /// Lower bound of the time at which the next packet counts as lost; [`Time::NEVER`] if only another arrival can
    /// change that.
    due: Time,
    /// NAKs queued for transmission.
    named: VecDeque<Lost>,
    /// Packets that arrived trimmed and have been named, in order of packet numbers, each with the time until which the
    /// NAKs for its gap do not name it.
    trimmed: VecDeque<(u64, Time)>,
}

impl MaybeEmpty for Gaps {
    fn holds_nothing(&self) -> bool {
        self.gaps.is_empty() && self.named.is_empty() && self.trimmed.is_empty()
    }
}

impl Gaps {
    /// Records that a packet beyond the expected one has arrived for the first time.
    pub fn on_ahead(&mut self, packet: u64, expected: u64, now: Time, rule: &LossRule) {
        if self.gaps.is_empty() {
            self.due = Time::NEVER;
        }
        let top = self.top.max(expected);
        if packet > top {
            self.gaps.append_one(Gap { end: packet, opened: now, named: top, again: Time::NEVER, seen: 0 });
        }
        // More packets may now be far enough behind.
        if packet >= top {
            self.top = packet + 1;
            self.due = self.due.min(self.next_due(rule));
        }
    }

    /// Records that everything before `expected` has arrived.
    pub fn on_progress(&mut self, expected: u64) {
        while self.gaps.front().is_some_and(|gap| gap.end <= expected) {
            self.gaps.pop_front();
        }
        if self.gaps.is_empty() {
            self.due = Time::NEVER;
        }
        while self.trimmed.front().is_some_and(|&(packet, _)| packet < expected) {
            self.trimmed.pop_front();
        }
    }

    /// Records that a packet has arrived without its payload. Queues a NAK for it alone. Before `until`, no NAK for its
    /// gap names it.
    pub fn on_trimmed(&mut self, packet: u64, expected: u64, until: Time) {
        self.named.append_one(Lost { first: packet, map: 1 });
        let place = self.trimmed.partition_point(|&(other, _)| other < packet);
        match self.trimmed.get_mut(place) {
            Some(known) if known.0 == packet => known.1 = until,
            _ if packet >= expected => self.trimmed.insert(place, (packet, until)),
            _ => {}
        }
    }

    /// Returns the latest time at which to call [`Gaps::find_lost`]; [`Time::NEVER`] if no call is needed.
    pub fn due(&self) -> Time {
        self.due
    }

    /// Queues NAKs for the packets that now count as lost. Returns the first packet of each NAK. `arrived` is true if a
    /// packet has arrived.
    pub fn find_lost(
        &mut self,
        expected: u64,
        now: Time,
        rule: &LossRule,
        arrived: impl Fn(u64) -> bool,
    ) -> Vec<u64> {
        let mut found: Vec<Lost> = Vec::new();
        if self.due > now || !rule.nak {
            return Vec::new();
        }
        let (mut from, mut open) = (expected, None::<Lost>);
        for gap in &mut self.gaps {
            let far = rule.far(self.top, gap.end);
            if gap.opened.saturating_add(rule.time) > now {
                break;
            }
            let (repeats, fresh) = (gap.again <= now, gap.named < far);
            // While the sender fills a long gap, none of its packets needs to be named again.
            let first = if repeats && expected <= gap.seen { from } else { gap.named.max(from) };
            if repeats || fresh {
                (gap.again, gap.seen, gap.named) =
                    (now.saturating_add(rule.repeat), expected, far.max(gap.named));
            }
            let trimmed = &self.trimmed;
            let known = |packet: u64| {
                let place = trimmed.partition_point(|&(other, _)| other < packet);
                trimmed.get(place).is_some_and(|&(other, until)| other == packet && until > now)
            };
            for packet in (first..far).filter(|&packet| !arrived(packet) && !known(packet)) {
                match &mut open {
                    Some(lost) if packet - lost.first < MAP_BITS => lost.map |= 1 << (packet - lost.first),
                    _ => found.extend(open.replace(Lost { first: packet, map: 1 })),
                }
            }
            if far < gap.end {
                break;
            }
            from = gap.end;
        }
        found.extend(open);
        self.named.extend(&found);
        self.due = self.next_due(rule);
        found.into_iter().map(|lost| lost.first).collect()
    }

    /// Returns the next NAK to send, if it names this packet (number as on the wire) first.
    pub fn take_named(&mut self, packet: u32) -> Option<Lost> {
        let is_next = self.named.front().is_some_and(|lost| psn::on_wire(lost.first) == packet);
        if is_next { self.named.pop_front() } else { None }
    }

    /// Returns the earliest time at which a gap may be reported, as far as the packet numbers allow it.
    fn next_due(&self, rule: &LossRule) -> Time {
        let mut first = Time::NEVER;
        for gap in self.gaps.iter().filter(|_| rule.nak) {
            let far = rule.far(self.top, gap.end);
            if gap.named < far {
                return first.min(gap.opened.saturating_add(rule.time));
            }
            first = first.min(gap.again);
            if far < gap.end {
                break;
            }
        }
        first
    }

    /// Returns the heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.gaps.capacity() * size_of::<Gap>()
            + self.named.capacity() * size_of::<Lost>()
            + self.trimmed.capacity() * size_of::<(u64, Time)>()
    }
}

/// The packets that a sender has to retransmit.
#[derive(Clone, Debug, Default)]
pub struct Reordering {
    /// Requested packets that are outstanding, in order.
    requested: VecDeque<u64>,
    /// After a timeout: number before which all packets had been sent at the time of the timeout.
    until: u64,
    /// Number after the last packet retransmitted since the timeout.
    repeated: u64,
}

impl Reordering {
    /// Returns the next packet to send.
    pub fn next(&self, highest: u64) -> u64 {
        self.requested.front().copied().unwrap_or(highest)
    }
    /// Records that a packet was sent, `again` or for the first time.
    pub fn on_sent(&mut self, packet: u64, again: bool) {
        if again && self.requested.front() == Some(&packet) {
            self.requested.pop_front();
            self.repeated = self.repeated.max(packet + 1);
        }
    }
    /// Records that everything before `unacknowledged` has arrived.
    pub fn on_progress(&mut self, unacknowledged: u64) {
        while self.requested.front().is_some_and(|&packet| packet < unacknowledged) {
            self.requested.pop_front();
        }
        if unacknowledged < self.until && self.repeated <= unacknowledged {
            self.request(unacknowledged);
        }
    }
    /// Processes a NAK of these lost packets; `None` stands for the first outstanding one. Returns true if the loss of
    /// any of them was not known before.
    pub fn on_nak(&mut self, unacknowledged: u64, highest: u64, lost: Option<Lost>) -> bool {
        let Some(Lost { first, map }) = lost else {
            return unacknowledged < highest && self.request(unacknowledged);
        };
        let named = (0..MAP_BITS).filter(|bit| map >> bit & 1 == 1).map(|bit| first + bit);
        let outstanding = named.filter(|packet| (unacknowledged..highest).contains(packet));
        // All of them are requested, including those that are already known.
        outstanding.filter(|&packet| self.request(packet)).count() > 0
    }
    /// Handles a timeout without progress: retransmits the first outstanding packet.
    pub fn on_timeout(&mut self, unacknowledged: u64, highest: u64) {
        (self.until, self.repeated) = (highest, unacknowledged);
        if unacknowledged < highest {
            self.request(unacknowledged);
        }
    }
    fn request(&mut self, packet: u64) -> bool {
        let place = self.requested.partition_point(|&other| other < packet);
        let news = self.requested.get(place) != Some(&packet);
        if news {
            self.requested.insert(place, packet);
        }
        news
    }
    /// Returns the heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.requested.capacity() * size_of::<u64>()
    }
}
