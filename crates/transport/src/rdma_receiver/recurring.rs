//! The contribution of a receiver to a digest of a run's state. Packets are counted from the next expected one.

use super::{RdmaReceiver, ReceivePair};
use frame::Telemetry;
use recurrence::{Numbered, Walk};

impl RdmaReceiver {
    /// Returns the next packet that a queue pair expects.
    pub fn expected(&self, pair: usize) -> u64 {
        self.pairs.get(pair).map_or(0, |own| own.expected)
    }
}

impl ReceivePair {
    pub(super) fn walk_named(&self, walk: &mut Walk) {
        // A packet before the expected one is never named again.
        self.named.filter(|&named| named >= self.expected).walk_from(self.expected, walk);
    }

    pub(super) fn walk_telemetry(&self, walk: &mut Walk) {
        if self.telemetry != Telemetry::None {
            walk.unknown("in-band telemetry");
        }
    }

    pub(super) fn walk_taken(&self, walk: &mut Walk) {
        walk.word(self.taken.len() as u64);
        self.taken.iter().for_each(|&done| walk.past(done));
    }

    pub(super) fn walk_awaited(&self, walk: &mut Walk) {
        walk.word(self.awaited.len() as u64);
        for (packet, message) in &self.awaited {
            packet.walk_from(self.expected, walk);
            walk.word((*message).into());
        }
    }
}
