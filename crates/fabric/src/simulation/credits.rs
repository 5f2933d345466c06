//! Credits of the whole fabric: the invariants before and after a run.

use crate::build::BuildError;
use crate::run::state::credits::CreditState;
use crate::run::state::outcome::{CreditFault, Failure};
use crate::simulation::Simulation;
use crate::spec::{OnDeadlock, Subject};
use engine::Shard;
use flow_control::credit::COUNTS;
use keys::Remark;

impl Simulation {
    fn credits_of(&self, port: u32) -> Option<&CreditState> {
        self.cold(port).control.credits()
    }

    /// Returns an error if channels may wait for each other in a cycle, which deadlocks sooner or later; unless
    /// deadlocks are counted.
    pub(crate) fn refuse_circle_of_credits(&self) -> Result<(), BuildError> {
        let counted = self.spec.guards.on_deadlock == OnDeadlock::Count;
        if counted || !self.spec.nodes.iter().any(|node| node.credits().is_some()) {
            return Ok(());
        }
        self.dependency_cycle().map_or(Ok(()), |cycle| {
            let help = "set on_deadlock = \"count\" to run it regardless";
            Err(BuildError::new(Subject::Scenario, Remark::about("flow_control", circle(&cycle), help)))
        })
    }

    /// Checks that every credit that a sender lacks is with a frame on the link, in the buffer at its other end, or
    /// being returned. Returns the first violation.
    pub(crate) fn credits_missing(&mut self) -> Option<Failure> {
        if (0..self.ports() as u32).all(|port| self.credits_of(port).is_none()) {
            return None;
        }
        let on_link = self.credits_on_links();
        (0..self.ports() as u32).find_map(|port| {
            let peer = self.peer(port);
            let (near, far) = (self.credits_of(port)?, self.credits_of(peer)?);
            (0..COUNTS).find_map(|channel| {
                let out = u64::from(near.sender.outstanding(channel));
                let found = far.receiver.holds(channel, &near.sender) + on_link[peer as usize][channel];
                let missing = out as i64 - found as i64;
                let what = CreditFault::Unaccounted { missing };
                (missing != 0).then(|| Failure::Credits {
                    at: self.now(),
                    port,
                    channel: channel as u8,
                    what,
                })
            })
        })
    }

    /// Credits of the frames on the link towards each port, by credit counter.
    fn credits_on_links(&mut self) -> Vec<[u64; COUNTS]> {
        // Events between two threads are delivered first, so that each is counted once, at its destination.
        if let Some(workers) = &mut self.workers {
            workers.deliver(&mut self.shards);
        }
        let mut on_link = vec![[0; COUNTS]; self.ports()];
        for Shard { world, runner } in &mut self.shards {
            for event in runner.windows().pending() {
                if !event.has_frame() {
                    continue;
                }
                if let Some(credits) = world.links.cold[event.port(world.whole())].control.credits() {
                    let frame = event.frame();
                    let (channel, need) = credits.need(&frame);
                    on_link[world.numbering.port(event.port(world.whole())) as usize][channel] +=
                        u64::from(need);
                }
            }
        }
        for port in 0..self.ports() as u32 {
            let peer = self.peer(port);
            let Some(credits) = self.credits_of(peer) else { continue };
            for frame in self.cold(port).retry.iter().flat_map(|retry| retry.held()) {
                let (channel, need) = credits.need(frame);
                on_link[peer as usize][channel] += u64::from(need);
            }
        }
        on_link
    }
}

/// Describes a cycle of queues.
pub fn circle(cycle: &[String]) -> String {
    let around =
        cycle.iter().chain(cycle.first()).map(String::as_str).collect::<Vec<_>>().join(" waits for ");
    format!("these routes can deadlock: {around}")
}
