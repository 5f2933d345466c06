//! Packets that arrive beyond the expected one. Depending on the recovery they are kept, answered with a NAK, or
//! dropped.

use super::{Kept, RdmaReceiver, ReceivePair};
use crate::rdma::psn;
use crate::rdma::{Gaps, RdmaVerb};
use recurrence::Recurs;
use units::Time;

/// Maximum number of packets kept ahead of a missing one.
const MOST_KEPT: u64 = 1 << 16;

/// Packets of a queue pair that arrived out of order or twice.
#[derive(Clone, Debug, Default, Recurs)]
pub(super) struct Disorder {
    #[recurs(unless_empty = "receivers that tolerate reordering")]
    pub(super) gaps: Gaps,
    /// Number of packets kept at present, and the maximum so far.
    held: u64,
    #[recurs(recorded)]
    pub most_held: u64,
    #[recurs(measured)]
    pub out_of_order: u64,
    #[recurs(recorded)]
    pub distance: u64,
    #[recurs(measured)]
    pub duplicates: u64,
}

impl Disorder {
    pub fn memory_bytes(&self) -> usize {
        self.gaps.memory_bytes()
    }
}

impl ReceivePair {
    pub(super) fn disorder(&mut self) -> &mut Disorder {
        self.disorder.get_or_insert_default()
    }

    /// Keeps a packet. Returns false if it had arrived before.
    fn keep(&mut self, ahead: u64, kept: Kept) -> bool {
        let at = ahead as usize;
        if self.kept.len() <= at {
            self.kept.resize(at + 1, None);
        }
        let news = self.kept[at].replace(kept).is_none();
        let disorder = self.disorder();
        if news {
            disorder.held += 1;
            disorder.most_held = disorder.most_held.max(disorder.held);
        } else {
            disorder.duplicates += 1;
        }
        news
    }

    /// Delivers the kept packets that are now in order. Returns true if there are any, in which case a gap has closed.
    pub(super) fn deliver_kept(&mut self, now: Time, keeps: bool) -> bool {
        let before = self.expected;
        while let Some(kept) = self.kept.front().copied().flatten() {
            self.deliver(kept.last, now, keeps);
        }
        let (expected, closed) = (self.expected, self.expected > before);
        if closed {
            let disorder = self.disorder();
            disorder.held -= expected - before;
            disorder.gaps.on_progress(expected);
        }
        closed
    }

    /// Returns the bitmap of the next NAK if it names this packet (number as on the wire); 0 if the packet has arrived.
    pub(super) fn take_named(&mut self, named: u32) -> u64 {
        let lost = self.disorder.as_mut().and_then(|disorder| disorder.gaps.take_named(named));
        lost.map_or(0, |lost| lost.map)
    }

    /// Returns true if a packet at or beyond the expected one has arrived.
    pub(super) fn has(&self, packet: u64) -> bool {
        let ahead = packet.checked_sub(self.expected);
        ahead.is_none_or(|ahead| self.kept.get(ahead as usize).is_some_and(Option::is_some))
    }
}

impl RdmaReceiver {
    /// Handles a packet that has arrived ahead of the expected one.
    pub(super) fn take_ahead(
        &mut self,
        number: u32,
        (low, ahead): (u32, u64),
        [last, ack_request]: [bool; 2],
        bytes: u16,
        now: Time,
    ) {
        let (keeps, rule) = (self.spec.recovery.keeps(), self.rule);
        let Some(pair) = self.pairs.get_mut(number as usize) else { return };
        let window = rule.map_or(MOST_KEPT, |rule| rule.window);
        if !keeps || ahead >= window {
            return self.refuse(number, ahead, bytes, now);
        }
        let news = pair.keep(ahead, Kept { bytes, last });
        let disorder = pair.disorder();
        if news {
            disorder.out_of_order += 1;
            disorder.distance = disorder.distance.max(ahead);
        } else {
            self.discard(bytes);
        }
        let Some(rule) = rule else {
            self.pairs[number as usize].naks += 1;
            return self.reply(number, Some(low));
        };
        if news {
            let pair = &mut self.pairs[number as usize];
            let expected = pair.expected;
            pair.disorder().gaps.on_ahead(expected + ahead, expected, now, &rule);
            let reports = ack_request && pair.unanswered > 0;
            self.find_lost(number, now);
            if reports && self.spec.acknowledges() {
                self.reply(number, None);
            }
        } else if self.spec.acknowledges() {
            self.reply(number, None);
        }
    }

    /// Drops a packet beyond the expected one. Sends a NAK if it is the first packet after a gap, or if `nak_gap` has
    /// passed since the last NAK.
    fn refuse(&mut self, number: u32, ahead: u64, bytes: u16, now: Time) {
        let Some(pair) = self.pairs.get_mut(number as usize) else { return };
        let disorder = pair.disorder();
        disorder.out_of_order += 1;
        disorder.distance = disorder.distance.max(ahead);
        self.report_expected(number, now);
        self.discard(bytes);
    }

    /// Sends a NAK for the expected packet, unless one was sent recently.
    pub(super) fn report_expected(&mut self, number: u32, now: Time) {
        let (gap, reads) = (self.spec.nak_gap, self.spec.verb == RdmaVerb::Read);
        let Some(pair) = self.pairs.get_mut(number as usize) else { return };
        let due = self.rule.is_none() && (pair.named != Some(pair.expected) || pair.nak_at <= now);
        if due {
            (pair.named, pair.nak_at, pair.nak) = (Some(pair.expected), now.saturating_add(gap), !reads);
            pair.naks += u32::from(!reads);
            match &mut self.reader {
                // The reader repeats its request instead.
                Some(reader) => reader.ask_again(number),
                None => self.reply(number, None),
            }
        }
    }

    /// Queues NAKs for the packets of a queue pair that now count as lost.
    fn find_lost(&mut self, number: u32, now: Time) {
        let Some(rule) = self.rule else { return };
        let Some(ReceivePair { disorder: Some(disorder), kept, expected, naks, .. }) =
            self.pairs.get_mut(number as usize)
        else {
            return;
        };
        let arrived = |packet: u64| {
            let at = packet.checked_sub(*expected).map(|ahead| ahead as usize);
            at.is_none_or(|at| kept.get(at).is_some_and(Option::is_some))
        };
        let lost = disorder.gaps.find_lost(*expected, now, &rule, arrived);
        *naks += lost.len() as u32;
        self.lost_at = self.lost_at.min(disorder.gaps.due());
        for first in lost {
            self.reply(number, Some(psn::on_wire(first)));
        }
    }

    /// Queues NAKs for the packets of all queue pairs that now count as lost.
    pub(super) fn find_all_lost(&mut self, now: Time) {
        self.lost_at = Time::NEVER;
        for number in 0..self.pairs.len() as u32 {
            self.find_lost(number, now);
        }
    }
}
