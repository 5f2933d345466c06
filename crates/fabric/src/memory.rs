//! How much memory a simulation holds: what is published as bytes a flow, a queue and a port.

use crate::port::{Line, Port, Queue, Sent};
use crate::sources::SourceState;
use crate::world::{Fabric, Receiver};
use measure::{BinnedMax, BinnedSum};

impl Fabric {
    /// Bytes of all tables, series included; small allocations behind them (names, watermarks) are not.
    pub fn memory_bytes(&self) -> usize {
        let of = |count: usize, bytes: usize| count * bytes;
        let recorded = &self.recorded;
        let sums = recorded.delivered.iter().chain(&recorded.received).chain(&recorded.sent);
        let levels =
            recorded.queues.iter().chain(&recorded.meters).flat_map(|(bytes, frames)| [bytes, frames]);
        of(self.node_of.capacity(), size_of::<u32>())
            + of(self.nodes.capacity(), size_of::<crate::world::Node>())
            + of(self.ports.capacity(), size_of::<Port>() + size_of::<Sent>() + size_of::<Line>())
            + of(self.queues.capacity(), size_of::<Queue>())
            + self.queues.iter().map(|queue| queue.waits.memory_bytes()).sum::<usize>()
            + of(self.lanes.capacity(), size_of::<crate::pool::List>())
            + self.pool.memory_bytes()
            + of(
                self.hops.capacity() + self.path_start.capacity() + self.path_source.capacity(),
                size_of::<u32>(),
            )
            + of(self.sources.capacity(), size_of::<SourceState>())
            + of(self.receivers.capacity(), size_of::<Receiver>())
            + self.receivers.iter().map(|receiver| receiver.latency.memory_bytes()).sum::<usize>()
            + sums.map(BinnedSum::memory_bytes).sum::<usize>()
            + levels.map(BinnedMax::memory_bytes).sum::<usize>()
    }
}
