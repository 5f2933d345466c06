//! The counters of a receiver, by queue pair.

use super::RdmaReceiver;

/// The counters of a queue pair at the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairReceived {
    /// Messages completed.
    pub messages: u64,
    /// Packets delivered, in order.
    pub packets: u64,
    /// Packets that arrived marked.
    pub marked: u64,
    /// CNPs sent.
    pub cnps: u64,
    /// NAKs sent, including repeated READ requests.
    pub naks: u64,
    /// NAKs sent because the receiver was not ready.
    pub not_ready: u64,
    /// Packets that arrived beyond the expected one for the first time.
    pub out_of_order: u64,
    /// Maximum distance of a packet ahead of the expected one, in packet numbers.
    pub reorder_distance: u64,
    /// Maximum number of packets held at the same time because an earlier one was missing.
    pub reorder_buffer: u64,
    /// Packets that had arrived before.
    pub duplicates: u64,
    /// Packets that arrived without their payload.
    pub trimmed: u64,
}

impl RdmaReceiver {
    /// Returns the counters of a queue pair.
    pub fn received(&self, pair: u32) -> PairReceived {
        // A READ request may be repeated before any packet has arrived.
        let again = self.read_counts(pair).map_or(0, |counts| counts.again);
        let nothing = PairReceived { naks: again, ..PairReceived::default() };
        let Some(pair) = self.pairs.get(pair as usize) else { return nothing };
        let disorder = pair.disorder.as_deref();
        PairReceived {
            messages: pair.messages,
            packets: pair.expected + pair.left_out,
            marked: pair.came_marked,
            cnps: pair.cnps,
            naks: u64::from(pair.naks) + again,
            not_ready: pair.not_ready.into(),
            out_of_order: disorder.map_or(0, |it| it.out_of_order),
            reorder_distance: disorder.map_or(0, |it| it.distance),
            reorder_buffer: disorder.map_or(0, |it| it.most_held),
            duplicates: disorder.map_or(0, |it| it.duplicates),
            trimmed: pair.trims,
        }
    }
    /// Returns the sums of all queue pairs' counters.
    pub fn received_by_all(&self) -> PairReceived {
        let all = (0..self.pairs.len() as u32).map(|pair| self.received(pair));
        all.fold(PairReceived::default(), |sum, own| PairReceived {
            messages: sum.messages + own.messages,
            packets: sum.packets + own.packets,
            marked: sum.marked + own.marked,
            cnps: sum.cnps + own.cnps,
            naks: sum.naks + own.naks,
            not_ready: sum.not_ready + own.not_ready,
            out_of_order: sum.out_of_order + own.out_of_order,
            reorder_distance: sum.reorder_distance.max(own.reorder_distance),
            reorder_buffer: sum.reorder_buffer.max(own.reorder_buffer),
            duplicates: sum.duplicates + own.duplicates,
            trimmed: sum.trimmed + own.trimmed,
        })
    }
}
