//! Runs that end before their time.
//!
//! Some steps are done ahead of their time, where no state is read before the end of the run window: arrivals at hosts that
//! only count them, departures from NICs with one source and from ports without stages to consult. A run that is cut short
//! goes on until all of these times have passed, and does no further steps ahead: then its state is that of one time, and
//! equal on any number of threads.

use crate::run::state::outcome::SimulationError;
use crate::simulation::Simulation;
use engine::RunStatus;
use units::Time;

impl Simulation {
    /// Ends a run before its time, on request: to be called before the tables of a simulation are read that is
    /// [`State::Running`](crate::State::Running). It goes on for some frames, to the end of the warm-up or of the run at
    /// most.
    ///
    /// # Errors
    /// As [`Simulation::advance`].
    pub fn cut_short(&mut self) -> Result<(), SimulationError> {
        // One that has not begun, or is over, has no steps ahead.
        if self.events() == 0 || self.ended_by_deadlock() {
            return Ok(());
        }
        self.come_to_rest(self.now(), self.next_stop())
    }

    /// Goes on until the steps done ahead before `from`, and in the look-ahead after it, have taken place, or to `limit`. No
    /// thread has come further than that. Broken guarantees meanwhile are recorded.
    ///
    /// # Errors
    /// If a guarantee was broken: the first failure.
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
