//! Iterations of a rank that repeat earlier ones exactly: what it contributes to a digest of the state of a run, and the times of
//! iterations that were not simulated.

use super::{IterationTimes, Rank, Then};
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
            return self.times[iteration];
        };
        let behind = iteration - skipped.at;
        if behind >= skipped.len() {
            return later(self.times[iteration - skipped.len()], skipped.takes());
        }
        let base = self.times[skipped.at - skipped.period + behind % skipped.period];
        later(base, skipped.takes * (behind / skipped.period + 1) as u64)
    }

    /// Iterations that are over or were left out.
    pub fn passed(&self) -> usize {
        self.finished() + self.skipped.map_or(0, |own| own.len())
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
