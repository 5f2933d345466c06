//! The contribution of a queue pair to a digest of a run's state. Packets are counted from the first unacknowledged
//! one.

use super::{Message, QueuePair};
use crate::rdma::RdmaController;
use crate::rdma::recovery::Recovery;
use recurrence::{Numbered, Recurs, Walk};

impl QueuePair {
    /// Returns the first unacknowledged packet, from which packets and packet numbers in frames are counted.
    pub fn first_unacknowledged(&self) -> u64 {
        self.unacknowledged
    }

    pub(super) fn walk_control(&self, walk: &mut Walk) {
        match &self.control {
            RdmaController::None(it) => it.walk(walk),
            RdmaController::Dcqcn(it) => it.walk(walk),
            RdmaController::Dctcp(it) => it.walk_from(self.unacknowledged, walk),
            RdmaController::Swift(it) => it.walk(walk),
            RdmaController::Timely(it) => it.walk_from(self.unacknowledged, walk),
            // The state of the other controls cannot be digested yet.
            _ => walk.unknown(self.spec.control.name()),
        }
    }

    pub(super) fn walk_recovery(&self, walk: &mut Walk) {
        match &self.recovery {
            Recovery::GoBackN(it) => walk.word(it.next(self.unacknowledged) - self.unacknowledged),
            Recovery::Selective(it) => it.walk_from(self.unacknowledged, walk),
            Recovery::Reordering(_) => walk.unknown("receivers that tolerate reordering"),
        }
    }

    pub(super) fn walk_messages(&self, walk: &mut Walk) {
        walk.word(self.messages.len() as u64);
        for message in &self.messages {
            let Message { transfer, again: _, timeouts: _, awaited, operation, .. } = message;
            let Message { start, first, packets, before, bytes, .. } = message;
            walk.label(*transfer);
            (*awaited, *operation).walk(walk);
            walk.instant(*start);
            first.walk_from(self.unacknowledged, walk);
            before.walk_from(self.end_bytes, walk);
            (*packets, *bytes).walk(walk);
        }
    }

    pub(super) fn walk_request(&self, walk: &mut Walk) {
        walk.word(self.requested.0.saturating_sub(self.unacknowledged));
        walk.instant(self.requested.1);
    }

    pub(super) fn walk_timed(&self, walk: &mut Walk) {
        let (packet, left) = self.timed;
        packet.walk_from(self.unacknowledged, walk);
        if packet != super::NONE {
            walk.instant(left);
        }
    }
}
