//! Counts of a run: its events and frames.

use crate::run::fabric::Fabric;
use crate::simulation::Simulation;
use engine::Workers;
use units::Time;

impl Simulation {
    /// Number of parts of the fabric, each of which can have a thread.
    pub fn threads(&self) -> usize {
        self.shards.len()
    }
    /// Number of events so far.
    pub fn events(&self) -> u64 {
        self.shards.iter().map(|shard| shard.runner.events()).sum()
    }
    /// Number of rounds so far, and number of those in which each part had a thread.
    pub fn rounds(&self) -> (u64, u64) {
        let together = self.workers.as_ref().map_or(0, Workers::rounds_together);
        (self.shards[0].runner.rounds(), together)
    }
    /// Number of frames that have crossed a link completely so far.
    pub fn frame_hops(&self) -> u64 {
        let sent = |part: &Fabric| {
            part.links.ports.keys(part.whole()).map(|port| part.links.sent_of(port, u32::MAX).1).sum::<u64>()
        };
        let sent: u64 = self.parts().map(sent).sum();
        let broken: u64 = self.cold_ports().map(|(_, cold)| cold.counts.broken.0).sum();
        // Frames on links are computed as a balance: searching the pending events for them takes a hundred times as
        // long.
        let entered: u64 = self.parts().map(|part| part.ledger.made + part.ledger.copied).sum();
        let gone: u64 = self.parts().map(|part| part.ledger.delivered + part.ledger.lost).sum();
        let kept: u64 = self.parts().map(Fabric::frames_kept).sum();
        self.hops_before + sent + gone + kept - broken - entered
    }
    /// The look-ahead of the run: the minimum time after which one node can affect another.
    pub fn look_ahead(&mut self) -> Time {
        self.shards[0].runner.windows().look_ahead()
    }
    /// Time series that are omitted because there are too many, one sentence for each kind.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }
}
