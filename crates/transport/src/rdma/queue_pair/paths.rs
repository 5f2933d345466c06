//! The paths of a queue pair: the entropy values of outstanding packets, and the feedback on these values.

use super::QueuePair;
use crate::endpoint::Received;
use crate::path_selection::{PathFeedback, PathSelection, PathSelector, PathSignal, PathsFacts};
use crate::rdma::PathFacts;
use crate::rdma::psn;
use frame::{FrameKind, RdmaHeader, Trim};
use std::collections::VecDeque;
use units::Time;

impl QueuePair {
    /// Enables the path selection of the keys, with random numbers from this seed.
    #[must_use]
    pub fn choosing_paths(mut self, facts: &PathFacts, seed: u64) -> QueuePair {
        let facts = PathsFacts { base_rtt: facts.base_rtt, seed, planes: 1, trimming: false };
        self.paths = self.spec.paths.start(&facts).map(|selector| Box::new(Paths::new(*selector)));
        self
    }
}

/// A path selection, and the entropy values of the outstanding packets.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    selector: PathSelector,
    /// Entropy values of the packets from `first` on. For a retransmitted packet, the value of the last transmission.
    sent: VecDeque<u16>,
    first: u64,
}

impl Paths {
    pub(super) fn new(selector: PathSelector) -> Paths {
        Paths { selector, sent: VecDeque::new(), first: 0 }
    }

    /// Chooses and returns the entropy value of a packet that is sent now. The value of a packet that has been
    /// acknowledged is not recorded.
    pub(super) fn send(&mut self, now: Time, packet: u64) -> u16 {
        let entropy = self.selector.next(now);
        if self.sent.is_empty() {
            self.first = self.first.max(packet);
        }
        let Some(at) = packet.checked_sub(self.first) else { return entropy };
        let at = at as usize;
        if self.sent.len() <= at {
            self.sent.resize(at + 1, entropy);
        }
        self.sent[at] = entropy;
        entropy
    }

    /// Records that everything before this packet has arrived.
    pub(super) fn on_progress(&mut self, unacknowledged: u64) {
        let gone = unacknowledged.saturating_sub(self.first).min(self.sent.len() as u64);
        self.sent.drain(..gone as usize);
        self.first = self.first.max(unacknowledged);
    }

    /// Processes an acknowledgement or a NAK.
    pub(super) fn on_answer(
        &mut self,
        now: Time,
        received: &Received,
        nak: bool,
        header: &RdmaHeader,
        unacknowledged: u64,
    ) {
        let signal = match (nak, header.trim()) {
            (false, _) if received.kind == FrameKind::MarkedAck => PathSignal::Marked,
            (false, _) => PathSignal::Acknowledged,
            (true, Trim::Trimmed) => PathSignal::Trimmed,
            (true, Trim::AtLastHop) => PathSignal::TrimmedAtLastHop,
            (true, Trim::Whole) => return self.on_lost(now, header, unacknowledged),
        };
        self.selector.on_feedback(now, PathFeedback { entropy: received.entropy, signal });
    }

    /// Processes a NAK that names packets that were lost without being trimmed.
    fn on_lost(&mut self, now: Time, header: &RdmaHeader, unacknowledged: u64) {
        let Some(named) = header.arrived.filter(|_| header.lost != 0) else { return };
        let first = psn::nearest(named, unacknowledged);
        for bit in (0..u64::BITS).filter(|bit| header.lost >> bit & 1 != 0) {
            self.blame(now, first + u64::from(bit), PathSignal::Lost);
        }
    }

    /// Processes a timeout: the first outstanding packet counts as lost.
    pub(super) fn on_timeout(&mut self, now: Time, unacknowledged: u64) {
        self.blame(now, unacknowledged, PathSignal::TimedOut);
    }

    fn blame(&mut self, now: Time, packet: u64, signal: PathSignal) {
        let at = packet.checked_sub(self.first).map(|at| at as usize);
        if let Some(&entropy) = at.and_then(|at| self.sent.get(at)) {
            self.selector.on_feedback(now, PathFeedback { entropy, signal });
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Paths>() + self.selector.memory_bytes() + self.sent.capacity() * size_of::<u16>()
    }
}
