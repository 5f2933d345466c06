//! How much memory a simulation holds: what is published as bytes a flow, a queue and a port.

use crate::port::{Line, Port, Queue, Sent};
use crate::receive::Receiving;
use crate::sources::SourceState;
use crate::station::{PauseTiming, Station};
use crate::world::{Fabric, PauseRecord, Receiver};
use engine::Timer;
use flow_control::pfc::{IngressMeter, Levels};
use flow_control::tpfc::EgressMeter;
use measure::{BinnedMax, BinnedSum};

impl Fabric {
    /// Gives back what tables that have their final length took while they grew.
    pub fn shrink(&mut self) {
        self.queues.shrink_to_fit();
        self.lanes.shrink_to_fit();
        self.hops.shrink_to_fit();
        self.path_start.shrink_to_fit();
        self.path_source.shrink_to_fit();
        self.sources.shrink_to_fit();
        self.receivers.shrink_to_fit();
        self.node_of.shrink_to_fit();
    }

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
            + of(recorded.pauses.as_ref().map_or(0, Vec::capacity), size_of::<PauseRecord>())
            + self.nodes.iter().flat_map(|node| &node.station).map(|s| station_bytes(s)).sum::<usize>()
            + of(self.receiving.iter().flatten().count(), size_of::<Receiving>())
            + of(self.receiving.capacity(), size_of::<Option<Box<Receiving>>>())
            + self.faults.memory_bytes()
            + self.spreading.as_ref().map_or(0, |spreading| spreading.memory_bytes())
    }
}

fn station_bytes(station: &Station) -> usize {
    let egress = station.egress.iter().map(|meter| size_of::<EgressMeter>() + meter.memory_bytes());
    size_of::<Station>()
        + station.levels.len() * (size_of::<Levels>() + size_of::<PauseTiming>() + size_of::<Timer>())
        + station.ingress.len() * size_of::<IngressMeter>()
        + egress.sum::<usize>()
        + (station.holders.len() + station.ports.capacity()) * size_of::<u32>()
}
