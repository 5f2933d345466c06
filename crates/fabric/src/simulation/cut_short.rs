//! Runs that end before their time.
//!
//! Some things are done ahead of their time, where nobody can look before the time at which the run comes back: arrivals
//! at hosts that only count them, departures from NICs of lone sources and from ports that ask nobody. A run that is cut
//! short goes on until all of that has come to pass, and nothing more is done ahead: then its state is that of one time,
//! and the same on any number of threads.

use crate::run::state::outcome::SimulationError;
use crate::simulation::Simulation;
use engine::RunStatus;
use units::Time;

impl Simulation {
    /// Ends a run before its time, on request: to be called before somebody looks at a simulation that is
    /// [`State::Running`](crate::State::Running). It goes on for some frames, to the end of the warm-up or of the run at most.
    ///
    /// # Errors
    /// As [`Simulation::advance`].
    pub fn cut_short(&mut self) -> Result<(), SimulationError> {
        // One that has not begun, or is over, has nothing to come to.
        if self.events() == 0 || self.ended_by_deadlock() {
            return Ok(());
        }
        self.come_to_rest(self.now(), self.next_stop())
    }

    /// Goes on until what was done ahead before `from`, and in the look-ahead after it, has come to pass, or to `limit`. No
    /// thread has come further than that. Promises that break meanwhile are noted.
    ///
    /// # Errors
    /// If a promise has broken: the first.
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
