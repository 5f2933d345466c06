//! Frames on links: those of pending arrivals, and those that link-level retry has to retransmit.

use crate::run::fabric::Fabric;
use crate::simulation::Simulation;
use engine::Shard;

impl Simulation {
    /// Number of frames, and their bytes, on the link towards each port.
    pub(crate) fn in_flight(&mut self) -> Vec<(u64, u64)> {
        // Events between two threads are delivered first, so that each is counted once, at its destination.
        if let Some(workers) = &mut self.workers {
            workers.deliver(&mut self.shards);
        }
        let mut in_flight = vec![(0u64, 0u64); self.ports()];
        for Shard { world, runner } in &mut self.shards {
            for event in runner.windows().pending() {
                if event.has_frame() {
                    let (frames, bytes) =
                        &mut in_flight[world.numbering.port(event.port(world.whole())) as usize];
                    *frames += 1;
                    *bytes += u64::from(event.frame().bytes);
                }
            }
        }
        // Frames sent ahead that are still queued are not on a link.
        for port in 0..self.ports() as u32 {
            let towards = self.peer(port) as usize;
            for waiting in self.committed(port) {
                let (frames, bytes) = &mut in_flight[towards];
                // Before a run has come to rest, some of them are counted at their destination.
                *frames = frames.saturating_sub(1);
                *bytes = bytes.saturating_sub(waiting.frame.bytes.into());
            }
            // Frames that link-level retry has to retransmit have left as well.
            for frame in self.cold(port).retry.iter().flat_map(|retry| retry.held()) {
                let (frames, bytes) = &mut in_flight[towards];
                *frames += 1;
                *bytes += u64::from(frame.bytes);
            }
        }
        in_flight
    }

    /// Number of frames that have left and not arrived. Negative if more arrivals than departures have been counted
    /// ahead of their time.
    pub(super) fn frames_on_links(&mut self) -> i64 {
        let pending = self.shards.iter_mut().flat_map(|shard| shard.runner.windows().pending());
        let pending = pending.filter(|event| event.has_frame()).count() as i64;
        let held =
            self.cold_ports().filter_map(|(_, cold)| cold.retry.as_ref()).map(|retry| retry.held().count());
        let held: usize = held.sum();
        pending + held as i64 - self.parts().map(Fabric::frames_committed).sum::<u64>() as i64
    }
}
