//! The number of threads of a run, and the decision whether several are faster.

use crate::run::fabric::Fabric;
use crate::run::state::outcome::SimulationError;
use crate::simulation::{Simulation, State};
use engine::{Runner, Way, Workers};
use std::time::{Duration, Instant};
use units::Time;

/// Number of threads of a run. The result does not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// This many threads from start to end, 1 to 255 and at most one per node: for tests and measurements. May be many
    /// times slower than one thread.
    Always(usize),
    /// One thread at first, up to this many once the start of the run shows that they are faster, and one again while
    /// they are not.
    UpTo(usize),
}

impl From<usize> for Threads {
    fn from(threads: usize) -> Threads {
        Threads::Always(threads)
    }
}

/// Measurements of the start of a run on one thread, on which the decision is based.
pub(crate) struct Pilot {
    /// Maximum number of threads.
    most: usize,
    /// Time for building the fabric, and for the run so far.
    built: Duration,
    pub ran: Duration,
    /// Run time after which the next decision is made.
    judged_at: Duration,
    /// State at the previous decision: only the progress since then counts, as a run may start with less load.
    before: Judged,
    /// Number of trials in which several threads were not faster.
    lost: u32,
}

/// Progress of a run at a decision.
#[derive(Clone, Copy, Debug, Default)]
struct Judged {
    events: u64,
    rounds: u64,
    now: Time,
    ran: Duration,
}

/// Decision based on the start of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// Stay on one thread: too little of the run is left.
    Stay,
    /// Decide again later: too few events per look-ahead so far.
    Later,
    /// Try this many threads. They may take at most this fraction of one thread's time per event.
    Try(usize, f64),
}

impl Pilot {
    /// Minimum run time before a decision: this, or one part in `OF_BUILDING` of the time for building, if that is
    /// longer.
    pub const LONG_ENOUGH: Duration = Duration::from_millis(5);
    const OF_BUILDING: u32 = 16;
    /// Time after which the start of a trial is conclusive, so that a long trial is cut off.
    const SEEN: Duration = Duration::from_millis(20);
    /// Events between two readings of the clock.
    pub const BUDGET: u64 = 1 << 16;
    /// Number of events per look-ahead that justify a thread. With `SURE`, threads are almost certain to be
    /// faster.
    const EVENTS_A_THREAD: u64 = 100;
    const SURE: u64 = 3 * Pilot::EVENTS_A_THREAD;
    /// Building the parts and repeating the start may take one part in `WORTH` of the remaining run: this time is lost
    /// if threads turn out not to be faster. `WORTH_IF_SURE` applies if they are almost certain to be.
    const WORTH: u32 = 20;
    const WORTH_IF_SURE: u32 = 5;
    /// Limit after a lost trial; the next one follows after `PATIENCE` times the run time.
    const WORTH_AGAIN: u32 = 33;
    const PATIENCE: u32 = 4;

    /// Maximum ratio of the threads' time to that of one thread. If threads are almost certain to be faster, the trial,
    /// which is short, need not show it.
    const FASTER: f64 = 0.9;

    /// Creates the measurements of a new run, after building.
    pub fn new(most: usize, built: Duration) -> Pilot {
        let judged_at = Pilot::LONG_ENOUGH.max(built / Pilot::OF_BUILDING);
        Pilot { most, built, ran: Duration::ZERO, judged_at, before: Judged::default(), lost: 0 }
    }

    /// Returns true if the run has taken long enough for a decision.
    pub fn is_over(&self) -> bool {
        self.ran >= self.judged_at
    }

    /// Returns the decision for the rest of the run, assumed to resemble the progress since the last decision.
    pub fn verdict(&self, runner: &Runner<Fabric>, duration: Time) -> Verdict {
        let rounds = runner.rounds().saturating_sub(self.before.rounds);
        let a_round = runner.events().saturating_sub(self.before.events) / rounds.max(1);
        self.judge(a_round, runner.now(), duration)
    }

    fn judge(&self, events_a_round: u64, now: Time, duration: Time) -> Verdict {
        let since = now.saturating_sub(self.before.now);
        if since == Time::ZERO {
            return Verdict::Later;
        }
        let left = duration.saturating_sub(now).as_secs_f64() / since.as_secs_f64();
        let threads = self.most.min((events_a_round / Pilot::EVENTS_A_THREAD) as usize);
        let sure = events_a_round >= Pilot::SURE * threads as u64;
        let worth = match (self.lost, sure) {
            (0, true) => Pilot::WORTH_IF_SURE,
            (0, false) => Pilot::WORTH,
            _ => Pilot::WORTH_AGAIN,
        };
        let ran = self.ran.saturating_sub(self.before.ran);
        if ran.as_secs_f64() * left < ((self.built + self.ran) * worth).as_secs_f64() {
            Verdict::Stay
        } else if threads < 2 {
            Verdict::Later
        } else {
            Verdict::Try(threads, if sure { 1.0 } else { Pilot::FASTER })
        }
    }

    /// Schedules the next decision after twice the time, or four times after a lost trial: the load may grow later.
    fn later(mut self, events: u64, rounds: u64, now: Time, lost: bool) -> Pilot {
        self.lost += u32::from(lost);
        self.judged_at = self.ran * if lost { Pilot::PATIENCE } else { 2 };
        self.before = Judged { events, rounds, now, ran: self.ran };
        self
    }
}

impl Simulation {
    /// If the start has been long enough and threads may be faster, repeats it on several threads. If they are faster,
    /// they continue the run; otherwise the single thread does.
    pub(super) fn decide_threads(&mut self) -> Result<State, SimulationError> {
        let Some(pilot) = self.pilot.take_if(|pilot| pilot.is_over()) else {
            return Ok(State::Running);
        };
        let (threads, faster) = match pilot.verdict(&self.shards[0].runner, self.spec.duration) {
            Verdict::Try(threads, faster) => (threads, faster),
            Verdict::Later | Verdict::Stay => {
                self.judge_later(pilot, false);
                return Ok(State::Running);
            }
        };
        let again = Simulation::in_parts(&self.spec, threads, Some(Way::Together));
        let mut again = again.map_err(|error| SimulationError { message: error.to_string() })?;
        let begun = Instant::now();
        let mut state = State::Running;
        while state == State::Running {
            state = again.advance(Pilot::BUDGET)?;
            // Several threads run to the end of a round, which may be behind the position of the single one, so the
            // time per event is compared.
            let took = begun.elapsed();
            let one = pilot.ran.mul_f64(again.events() as f64 / self.events().max(1) as f64);
            let is_slower = took > one.mul_f64(faster);
            let is_over = again.now() >= self.now();
            if is_slower && (is_over || took >= Pilot::SEEN) {
                self.judge_later(pilot, true);
                return Ok(State::Running);
            }
            if is_over {
                break;
            }
        }
        again.workers.iter_mut().for_each(Workers::choose);
        *self = again;
        Ok(state)
    }

    fn judge_later(&mut self, pilot: Pilot, lost: bool) {
        let runner = &self.shards[0].runner;
        self.pilot = Some(pilot.later(runner.events(), runner.rounds(), runner.now(), lost));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pilot(built: u64, ran: u64) -> Pilot {
        let [built, ran] = [built, ran].map(Duration::from_millis);
        Pilot { ran, ..Pilot::new(2, built) }
    }

    #[test]
    fn what_took_long_to_build_is_judged_later() {
        let is_over = |built, ran| pilot(built, ran).is_over();
        assert!(!is_over(0, 4) && is_over(0, 5) && is_over(80, 5));
        assert!(!is_over(1_600, 99) && is_over(1_600, 100));
        let again = pilot(0, 7).later(1, 1, Time::from_us(1), false);
        assert!(!again.is_over() && Pilot { ran: Duration::from_millis(14), ..again }.is_over());
        let lost = |ran| Pilot {
            ran: Duration::from_millis(ran),
            ..pilot(0, 7).later(1, 1, Time::from_us(1), true)
        };
        assert!(!lost(27).is_over() && lost(28).is_over());
    }

    #[test]
    fn threads_are_tried_where_enough_is_left_for_what_happens_at_a_time() {
        // A simulated millisecond took 5 ms, and building as long: 20 and 5 times both are 200 and 50 ms.
        let verdict = |events, ms| pilot(5, 5).judge(events, Time::from_ms(1), Time::from_ms(ms));
        assert_eq!([verdict(300, 40), verdict(300, 41)], [Verdict::Stay, Verdict::Try(2, 0.9)]);
        assert_eq!([verdict(800, 10), verdict(800, 11)], [Verdict::Stay, Verdict::Try(2, 1.0)]);
        assert_eq!([verdict(199, 41), verdict(0, 41)], [Verdict::Later; 2]);
        assert_eq!(pilot(5, 5).judge(65_536, Time::ZERO, Time::from_ms(1)), Verdict::Later);
    }

    #[test]
    fn a_run_that_begins_with_less_load_is_judged_by_what_came_since() {
        // The first 10 of 100 simulated ms took 5 ms: too little is left. The eleventh took 5 ms: 445 ms are left.
        let (now, duration) = (Time::from_ms(11), Time::from_ms(100));
        assert_eq!(pilot(5, 5).judge(800, Time::from_ms(10), duration), Verdict::Stay);
        let again =
            Pilot { ran: Duration::from_millis(10), ..pilot(5, 5).later(0, 0, Time::from_ms(10), false) };
        assert_eq!(again.judge(800, now, duration), Verdict::Try(2, 1.0));
        // A second trial requires a larger gain: 33 times 15 ms.
        let lost =
            Pilot { ran: Duration::from_millis(10), ..pilot(5, 5).later(0, 0, Time::from_ms(10), true) };
        assert_eq!(lost.judge(800, now, duration), Verdict::Stay);
    }
}
