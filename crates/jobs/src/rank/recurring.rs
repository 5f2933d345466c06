//! Iterations of a rank, and phases of its collective, that repeat earlier ones exactly: what the rank contributes to a digest of the
//! state of a run, and the times of those that were not simulated.

use super::{IterationTimes, Rank, Then};
use crate::workload::{ACTIONS_OF_PHASE, Workload};
use recurrence::{Recurs, Walk};
use std::cmp::Reverse;
use units::Time;

/// Iterations that a rank has not run, as they repeat earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedIterations {
    /// The first of them; the iteration that was open comes after them.
    pub at: usize,
    /// Iterations after which they repeat.
    pub period: usize,
    /// Number of periods.
    pub periods: usize,
    /// Time of a period.
    pub takes: Time,
}

impl SkippedIterations {
    /// Number of iterations.
    pub fn len(&self) -> usize {
        self.period * self.periods
    }
    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Time that they take.
    pub fn takes(&self) -> Time {
        self.takes * self.periods as u64
    }
}

/// Phases of the collective of a rank: its steps, of which all send as many bytes to the same peers.
#[derive(Clone, Debug, Recurs)]
pub(super) struct Phases {
    /// Number of actions of each lane in the open iteration.
    pub end: u32,
    /// When lane 0 took the first action of its last phase, and of the one before.
    #[recurs(scratch)]
    began: [Time; 2],
    /// Iterations with phases that were left out.
    #[recurs(recorded)]
    skipped: Vec<SkippedPhases>,
}

/// Phases of an iteration that a rank has not run, as they repeat earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SkippedPhases {
    iteration: usize,
    /// Number of phases left out, those of earlier iterations included.
    phases: u64,
    /// Time that these take.
    takes: Time,
}

impl Default for Phases {
    fn default() -> Phases {
        Phases { end: u32::MAX, began: [Time::ZERO; 2], skipped: Vec::new() }
    }
}

impl Phases {
    /// An iteration begins.
    pub fn begin(&mut self) {
        self.end = u32::MAX;
    }

    /// Lane 0 takes an action.
    pub fn reach(&mut self, action: u32, now: Time) {
        if action.is_multiple_of(ACTIONS_OF_PHASE) {
            self.began = [now, self.began[0]];
        }
    }

    /// Time of the phases that were left out before an iteration of this number.
    fn before(&self, iteration: usize) -> Time {
        let behind = self.skipped.partition_point(|own| own.iteration < iteration);
        behind.checked_sub(1).map_or(Time::ZERO, |last| self.skipped[last].takes)
    }
}

/// Progress of a rank in the phases of its collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseProgress {
    /// The last phase that its first lane has begun, from 0.
    pub phase: u32,
    /// When it did, and when it began the phase before, if there is one.
    pub began: [Time; 2],
}

fn later(own: IterationTimes, by: Time) -> IterationTimes {
    let later = |time: Time| if time == Time::NEVER { time } else { time + by };
    let IterationTimes { began, computed, ended, computing } = own;
    IterationTimes { began: later(began), computed: later(computed), ended: later(ended), computing }
}

impl Rank {
    /// Leaves out this many periods of iterations before the one that is open. What follows runs as it would after them, earlier by
    /// their time. No further steps are recorded. Call it once, with at least one period before the open iteration.
    pub fn skip(&mut self, period: usize, periods: usize, takes: Time) {
        let skipped = SkippedIterations { at: self.times.len() - 1, period, periods, takes };
        self.iterations -= skipped.len() as u32;
        self.skipped = Some(skipped);
        self.log.stop();
    }

    /// Iterations that were left out; `None`: there are none.
    pub fn skipped(&self) -> Option<SkippedIterations> {
        self.skipped
    }

    /// Times of an iteration that has begun or was left out, by its number among all.
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

    /// Times of an iteration that was simulated, by its number among those, with the phases that were left out.
    fn simulated_time(&self, iteration: usize) -> IterationTimes {
        let IterationTimes { began, computed, ended, computing } = self.times[iteration];
        let [before, within] = [iteration, iteration + 1].map(|behind| self.phases.before(behind));
        let ended = if ended == Time::NEVER { ended } else { ended + within };
        IterationTimes { began: began + before, computed: computed + before, ended, computing }
    }

    /// Number of phases of an iteration, if each of them sends as many bytes to the same peers as any other.
    pub fn phases(&self) -> Option<u32> {
        match &*self.workload {
            Workload::Generated(own) => own.phases(),
            Workload::Program(..) | Workload::Messages(_) => None,
        }
    }

    /// Progress in the phases of the open iteration; `None`: its collective has not begun.
    pub fn phase(&self) -> Option<PhaseProgress> {
        self.times.last().filter(|own| own.ended == Time::NEVER && !self.computing)?;
        let last = self.at.first()?.checked_sub(1)?;
        Some(PhaseProgress { phase: last / ACTIONS_OF_PHASE, began: self.phases.began })
    }

    /// Phases that its foremost lane has begun.
    pub fn phases_begun(&self) -> u32 {
        self.at.iter().max().map_or(0, |at| at.div_ceil(ACTIONS_OF_PHASE))
    }

    /// Leaves out this many phases of the open iteration, which take `takes` together. What follows runs as it would after them,
    /// earlier by that time. No further steps are recorded.
    pub fn skip_phases(&mut self, phases: u32, takes: Time) {
        let end = self.phases.end.min(self.phases().unwrap_or_default() * ACTIONS_OF_PHASE);
        debug_assert!((self.phases_begun() + phases) * ACTIONS_OF_PHASE <= end, "the last phase is run");
        self.phases.end = end - phases * ACTIONS_OF_PHASE;
        let last = self.phases.skipped.last().map_or((0, Time::ZERO), |own| (own.phases, own.takes));
        let iteration = self.times.len() - 1;
        let (phases, takes) = (last.0 + u64::from(phases), last.1 + takes);
        self.phases.skipped.push(SkippedPhases { iteration, phases, takes });
        self.log.stop();
    }

    /// Number of phases that were left out in all iterations that were simulated.
    pub fn phases_skipped(&self) -> u64 {
        self.phases.skipped.last().map_or(0, |own| own.phases)
    }

    /// Number of phases that were left out in the open iteration, by which labels of its messages are too low.
    pub fn open_phases_skipped(&self) -> u32 {
        let of = |open: &SkippedPhases| open.iteration + 1 == self.times.len();
        let all = &self.phases.skipped;
        let earlier = all.iter().rev().find(|own| !of(own)).map_or(0, |own| own.phases);
        all.last().filter(|own| of(own)).map_or(0, |own| (own.phases - earlier) as u32)
    }

    /// Number of iterations before the first one of which a part was left out.
    pub fn whole_iterations(&self) -> usize {
        let phases = self.phases.skipped.first().map_or(usize::MAX, |own| own.iteration);
        self.skipped.map_or(usize::MAX, |own| own.at).min(phases)
    }

    /// Iterations that are over or were left out.
    pub fn passed(&self) -> usize {
        self.finished() + self.skipped.map_or(0, |own| own.len())
    }

    /// Visits the next action of each lane, which counts from the phase of the walk.
    pub(super) fn walk_positions(&self, walk: &mut Walk) {
        let first = walk.phase() * ACTIONS_OF_PHASE;
        walk.word(self.at.len() as u64);
        self.at.iter().for_each(|at| walk.word(at.wrapping_sub(first).into()));
    }

    /// Visits the position of the rank in its computations, which come in turn.
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

    /// Visits the times until which processors are occupied.
    pub(super) fn walk_processors(&self, walk: &mut Walk) {
        walk.word(self.busy_until.len() as u64);
        self.busy_until.iter().for_each(|&until| walk.past(until));
    }

    /// Visits what processors are occupied with, in the order of its ends.
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

    /// Returns when the iteration of this number began; `None`: it has not.
    pub fn began(&self, iteration: usize) -> Option<Time> {
        self.times.get(iteration).map(|own| own.began)
    }
}
