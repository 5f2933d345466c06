//! Iterations of a rank, and phases of its collective, that repeat earlier ones exactly: the contribution of a rank to
//! the digest of a run's state, and the times of iterations and phases that were skipped.

use super::{IterationTimes, Rank, Then};
use crate::workload::{ACTIONS_OF_PHASE, Workload};
use recurrence::{Recurs, Walk};
use std::cmp::Reverse;
use units::Time;

/// Iterations that a rank skips because they repeat earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedIterations {
    /// Number of the first skipped iteration. The iteration that was open comes after the skipped ones.
    pub at: usize,
    /// Number of iterations in a period.
    pub period: usize,
    /// Number of skipped periods.
    pub periods: usize,
    /// Duration of a period.
    pub takes: Time,
}

impl SkippedIterations {
    /// Number of skipped iterations.
    pub fn len(&self) -> usize {
        self.period * self.periods
    }
    /// Returns true if no iteration is skipped.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Total duration of the skipped iterations.
    pub fn takes(&self) -> Time {
        self.takes * self.periods as u64
    }
}

/// Phases of the collective of a rank: its steps, if all of them send the same number of bytes to the same peers.
#[derive(Clone, Debug, Recurs)]
pub(super) struct Phases {
    /// Number of actions of each lane in the open iteration.
    pub end: u32,
    /// Times at which lane 0 took the first action of its last phase, and of the phase before.
    #[recurs(scratch)]
    began: [Time; 2],
    /// Iterations with skipped phases.
    #[recurs(recorded)]
    skipped: Vec<SkippedPhases>,
}

/// Phases of an iteration that a rank skips because they repeat earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SkippedPhases {
    iteration: usize,
    /// Number of skipped phases, including those of earlier iterations.
    phases: u64,
    /// Total duration of these phases.
    takes: Time,
}

impl Default for Phases {
    fn default() -> Phases {
        Phases { end: u32::MAX, began: [Time::ZERO; 2], skipped: Vec::new() }
    }
}

impl Phases {
    /// Starts an iteration.
    pub fn begin(&mut self) {
        self.end = u32::MAX;
    }

    /// Records that lane 0 takes an action.
    pub fn reach(&mut self, action: u32, now: Time) {
        if action.is_multiple_of(ACTIONS_OF_PHASE) {
            self.began = [now, self.began[0]];
        }
    }

    /// Duration of the phases that were skipped in earlier iterations.
    fn before(&self, iteration: usize) -> Time {
        let behind = self.skipped.partition_point(|own| own.iteration < iteration);
        behind.checked_sub(1).map_or(Time::ZERO, |last| self.skipped[last].takes)
    }
}

/// Progress of a rank in the phases of its collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseProgress {
    /// Number of the last phase that the first lane has started, from 0.
    pub phase: u32,
    /// Start times of that phase and of the one before it, if there is one.
    pub began: [Time; 2],
}

fn later(own: IterationTimes, by: Time) -> IterationTimes {
    let later = |time: Time| if time == Time::NEVER { time } else { time + by };
    let IterationTimes { began, computed, ended, computing } = own;
    IterationTimes { began: later(began), computed: later(computed), ended: later(ended), computing }
}

impl Rank {
    /// Skips this many periods of iterations before the open one. The rank continues as it would after them, but
    /// earlier by their duration. No further steps are recorded. Must be called at most once, after at least one period
    /// has ended.
    pub fn skip(&mut self, period: usize, periods: usize, takes: Time) {
        let skipped = SkippedIterations { at: self.times.len() - 1, period, periods, takes };
        self.iterations -= skipped.len() as u32;
        self.skipped = Some(skipped);
        self.log.stop();
    }

    /// Returns the skipped iterations; `None` if there are none.
    pub fn skipped(&self) -> Option<SkippedIterations> {
        self.skipped
    }

    /// Returns the times of an iteration that has started or was skipped, by its number among all iterations.
    pub fn time_of(&self, iteration: usize) -> IterationTimes {
        let Some(skipped) = self.skipped.filter(|own| iteration >= own.at) else {
            return self.simulated_time(iteration);
        };
        let behind = iteration - skipped.at;
        if behind >= skipped.len() {
            return later(self.simulated_time(iteration - skipped.len()), skipped.takes());
        }
        let base = self.simulated_time(skipped.at - skipped.period + behind % skipped.period);
        later(base, skipped.takes * (behind / skipped.period + 1) as u64)
    }

    /// Returns the times of a simulated iteration, by its number among those, including the skipped phases.
    fn simulated_time(&self, iteration: usize) -> IterationTimes {
        let IterationTimes { began, computed, ended, computing } = self.times[iteration];
        let [before, within] = [iteration, iteration + 1].map(|behind| self.phases.before(behind));
        let ended = if ended == Time::NEVER { ended } else { ended + within };
        IterationTimes { began: began + before, computed: computed + before, ended, computing }
    }

    /// Returns the number of phases of an iteration if all of them send the same number of bytes to the same peers;
    /// otherwise `None`.
    pub fn phases(&self) -> Option<u32> {
        match &*self.workload {
            Workload::Generated(own) => own.phases(),
            Workload::Program(..) | Workload::Messages(_) => None,
        }
    }

    /// Returns the progress in the phases of the open iteration; `None` if its collective has not started.
    pub fn phase(&self) -> Option<PhaseProgress> {
        self.times.last().filter(|own| own.ended == Time::NEVER && !self.computing)?;
        let last = self.at.first()?.checked_sub(1)?;
        Some(PhaseProgress { phase: last / ACTIONS_OF_PHASE, began: self.phases.began })
    }

    /// Number of phases that the foremost lane has started.
    pub fn phases_begun(&self) -> u32 {
        self.at.iter().max().map_or(0, |at| at.div_ceil(ACTIONS_OF_PHASE))
    }

    /// Skips this many phases of the open iteration, with a total duration of `takes`. The rank continues as it would
    /// after them, but earlier by that duration. No further steps are recorded.
    pub fn skip_phases(&mut self, phases: u32, takes: Time) {
        let end = self.phases.end.min(self.phases().unwrap_or_default() * ACTIONS_OF_PHASE);
        debug_assert!(
            (self.phases_begun() + phases) * ACTIONS_OF_PHASE <= end,
            "the last phase must not be skipped"
        );
        self.phases.end = end - phases * ACTIONS_OF_PHASE;
        let last = self.phases.skipped.last().map_or((0, Time::ZERO), |own| (own.phases, own.takes));
        let iteration = self.times.len() - 1;
        let (phases, takes) = (last.0 + u64::from(phases), last.1 + takes);
        self.phases.skipped.push(SkippedPhases { iteration, phases, takes });
        self.log.stop();
    }

    /// Number of phases that were skipped in all simulated iterations.
    pub fn phases_skipped(&self) -> u64 {
        self.phases.skipped.last().map_or(0, |own| own.phases)
    }

    /// Number of phases that were skipped in the open iteration. The labels of its messages are too low by this number.
    pub fn open_phases_skipped(&self) -> u32 {
        let of = |open: &SkippedPhases| open.iteration + 1 == self.times.len();
        let all = &self.phases.skipped;
        let earlier = all.iter().rev().find(|own| !of(own)).map_or(0, |own| own.phases);
        all.last().filter(|own| of(own)).map_or(0, |own| (own.phases - earlier) as u32)
    }

    /// Number of iterations before the first one with a skipped part.
    pub fn whole_iterations(&self) -> usize {
        let phases = self.phases.skipped.first().map_or(usize::MAX, |own| own.iteration);
        self.skipped.map_or(usize::MAX, |own| own.at).min(phases)
    }

    /// Number of iterations that have ended or were skipped.
    pub fn passed(&self) -> usize {
        self.finished() + self.skipped.map_or(0, |own| own.len())
    }

    /// Visits the next action of each lane, relative to the phase of the walk.
    pub(super) fn walk_positions(&self, walk: &mut Walk) {
        let first = walk.phase() * ACTIONS_OF_PHASE;
        walk.word(self.at.len() as u64);
        self.at.iter().for_each(|at| walk.word(at.wrapping_sub(first).into()));
    }

    /// Visits the position of the rank among its computation times and factors, which take turns.
    pub(super) fn walk_computation(&self, walk: &mut Walk) {
        let [before, factors] = self.computation.turns();
        walk.word((self.times.len() % before.max(1)) as u64);
        walk.word(self.computations % factors.max(1) as u64);
        walk.word(self.times.is_empty().into());
        if self.times.is_empty() {
            walk.instant(self.start);
        }
        walk.word(self.is_done().into());
    }

    /// Visits the times until which processors are busy.
    pub(super) fn walk_processors(&self, walk: &mut Walk) {
        walk.word(self.busy_until.len() as u64);
        self.busy_until.iter().for_each(|&until| walk.past(until));
    }

    /// Visits the work of the processors, in order of its end times.
    pub(super) fn walk_work(&self, walk: &mut Walk) {
        let mut all: Vec<_> = self.working.iter().map(|Reverse(work)| *work).collect();
        all.sort_unstable();
        walk.word(all.len() as u64);
        for (done, number, lane, _, then) in all {
            walk.instant(done);
            walk.word(self.requests - number);
            walk.word(lane.into());
            match then {
                Then::BeginLanes => walk.word(1),
                Then::Post(post) => post.walk(walk),
                Then::Go => walk.word(2),
                Then::Start(_) | Then::Taken { .. } => walk.unknown("lists of messages and sessions"),
            }
        }
    }

    /// Returns the start time of an iteration; `None` if it has not started.
    pub fn began(&self, iteration: usize) -> Option<Time> {
        self.times.get(iteration).map(|own| own.began)
    }
}
