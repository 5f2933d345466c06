//! Runs that end early.
//!
//! Some steps are performed ahead of their time, if no state is read before the end of the run window: arrivals at
//! hosts that only count them, departures from NICs with a single source and from ports without stages to consult. A
//! run that is cut short continues until all of these times have passed, and performs no further steps ahead. Its state
//! is then that of one point in time, and equal on any number of threads.

use crate::run::state::outcome::SimulationError;
use crate::simulation::Simulation;
use engine::RunStatus;
use units::Time;

impl Simulation {
    /// Ends a run early, on request. To be called before reading the tables of a simulation that is
    /// [`State::Running`](crate::State::Running). The run continues for some frames, at most to the end of the warm-up
    /// or of the run.
    ///
    /// # Errors
    /// As for [`Simulation::advance`].
    pub fn cut_short(&mut self) -> Result<(), SimulationError> {
        // A run that has not started, or has ended, has no steps ahead.
        if self.events() == 0 || self.ended_by_deadlock() {
            return Ok(());
        }
        self.come_to_rest(self.now(), self.next_stop())
    }

    /// Continues until the steps performed ahead before `from`, and in the look-ahead after it, have taken place, or
    /// until `limit`. No thread is further ahead than that. Violated guarantees are recorded.
    ///
    /// # Errors
    /// If a guarantee was violated: the first failure.
    pub(crate) fn come_to_rest(&mut self, from: Time, limit: Time) -> Result<(), SimulationError> {
        let until = from.saturating_add(self.reach).min(limit);
        self.series_stop_at(until);
        let mut failures = Vec::new();
        loop {
            failures.extend(self.shards.iter_mut().filter_map(|shard| shard.world.ledger.failure.take()));
            if self.run_until(until, u64::MAX)? == RunStatus::Done {
                break;
            }
        }
        let ledger = &mut self.shards[0].world.ledger;
        failures.into_iter().for_each(|failure| ledger.fail(failure));
        self.settle();
        let failure = self.ledger().failure;
        failure.map_or(Ok(()), |failure| Err(self.describe(&failure)))
    }
}
