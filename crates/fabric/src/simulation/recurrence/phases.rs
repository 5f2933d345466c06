//! Recurrence of the state of a run at the phases of a ring: its steps, each of which repeats the previous one shifted
//! in time.
//!
//! A phase starts when the first lane of rank 0 sends its message. The state is taken an eighth of a phase later, at
//! consecutive phases, with labels and positions relative to the phase. Once a second period has confirmed that the
//! state recurs, all ranks skip as many periods as remain before the last phase of the foremost lane. Each iteration is
//! examined independently.
//!
//! This applies to runs with a single job, whose blocks are equal.

use super::state::State;
use super::{JobHistory, MISSES, Mark};
use crate::simulation::Simulation;
use crate::spec::Skip;
use jobs::PhaseProgress;
use recurrence::Growth;
use units::Time;

/// Number of iterations without a recurrence after which no more are examined.
const VAIN: u32 = 3;
/// Minimum time between two digests: of shorter phases, not all have one.
const LEAST: Time = Time::from_us(1);
/// Number of consecutive checks without the start of a phase, after which an iteration is given up.
const IDLE_LOOKS: u32 = 32;
/// Minimum number of phases of an iteration, for any to be skipped.
const FEWEST: u32 = 6;

/// State of the search for recurrences at phases of the only job.
#[derive(Debug, Default)]
pub(super) struct PhaseWatch {
    open: Option<Looking>,
    /// The iteration examined last. `vain` is the number of iterations so far without a recurrence.
    last: Option<usize>,
    vain: u32,
    /// Reason why none was found in the last iteration.
    why: String,
}

/// Examination of an iteration.
#[derive(Debug)]
struct Looking {
    iteration: usize,
    /// Duration of a phase. The digest follows its start by `offset`.
    takes: Time,
    offset: Time,
    /// Time of the next check or digest.
    next: Time,
    /// The phase whose digest is due at `next`.
    due: Option<u32>,
    /// Number of consecutive checks at which no phase had started.
    idle: u32,
    history: JobHistory,
    /// The state of the last digest.
    state: State,
    /// End of the latest recorded period of phases.
    recorded_until: Time,
}

impl PhaseWatch {
    /// Time of the next check or digest.
    pub fn next(&self) -> Time {
        self.open.as_ref().map_or(Time::NEVER, |own| own.next)
    }

    /// Ends the examination of an iteration.
    pub fn stop(&mut self) {
        self.open = None;
    }

    fn close(&mut self, why: impl Into<String>) {
        (self.open, self.why) = (None, why.into());
        self.vain = if self.why.is_empty() { 0 } else { self.vain + 1 };
    }
}

impl Looking {
    /// Schedules the next step of the examination, given the progress of the first rank at `now`.
    fn schedule(&mut self, progress: PhaseProgress, now: Time) {
        let last = self.history.marks.last().map_or(0, |mark| mark.iteration);
        let at = progress.began[0] + self.offset;
        let is_new = progress.phase as usize > last && at > now;
        self.due = is_new.then_some(progress.phase);
        self.next = if is_new { at } else { now + self.offset };
        self.idle = if is_new { 0 } else { self.idle + 1 };
    }

    /// Schedules the check for the phase after the one whose digest has just been taken.
    fn schedule_next(&mut self, now: Time) {
        let phases = LEAST.ps().div_ceil(self.takes.ps());
        self.due = None;
        self.next = now - self.offset + self.takes * phases + Time::from_ps(self.offset.ps() / 2);
    }
}

impl Simulation {
    /// Starts to examine the phases of an iteration of the only job, if it has started its second phase.
    pub(super) fn look_for_phases(&mut self) {
        let watch = &self.recurrence.phases;
        let looks = self.spec.guards.skip == Skip::Phases && self.spec.guards.until.is_none();
        if !looks
            || self.records_frames()
            || self.driven
            || !self.warmed_up
            || self.spec.jobs.len() != 1
            || watch.vain >= VAIN
        {
            return;
        }
        let ranks = self.ranks();
        let Some(first) = ranks.first().map(|own| &own.machine) else { return };
        let iteration = first.times().len();
        let is_recorded = self.records_period() && self.now() < self.recurrence.recorded_until;
        if watch.open.is_some() || watch.last == Some(iteration) || is_recorded {
            return;
        }
        let Some(all) = first.phases().filter(|all| *all >= FEWEST) else { return };
        let Some(progress) = first.phase().filter(|own| own.phase > 0 && own.phase + FEWEST <= all) else {
            return;
        };
        let takes = progress.began[0] - progress.began[1];
        let offset = Time::from_ps(takes.ps() / 8);
        if offset == Time::ZERO {
            return;
        }
        let mut looking = Looking {
            iteration,
            takes,
            offset,
            next: Time::NEVER,
            due: None,
            idle: 0,
            history: JobHistory::default(),
            state: State::default(),
            recorded_until: Time::ZERO,
        };
        looking.schedule(progress, self.now());
        self.recurrence.phases.last = Some(iteration);
        self.recurrence.phases.open = Some(looking);
    }

    /// Takes the digest of a phase, or checks whether the next phase has started, if due.
    pub(super) fn watch_phases(&mut self) {
        let now = self.now();
        let Some(mut looking) = self.recurrence.phases.open.take_if(|own| own.next <= now) else { return };
        let progress = self.ranks().first().map(|own| (own.machine.times().len(), own.machine.phase()));
        let Some((_, Some(progress))) = progress.filter(|own| own.0 == looking.iteration) else {
            return self.close_phases("they ended before two of them were confirmed to be equal");
        };
        let Some(phase) = looking.due else {
            looking.schedule(progress, now);
            if looking.idle > IDLE_LOOKS {
                return self.close_phases("they take unequal times");
            }
            self.recurrence.phases.open = Some(looking);
            return;
        };
        let state = self.state(phase);
        if let Some(unknown) = state.unknown {
            self.recurrence.phases.vain = VAIN;
            return self.close_phases(unknown);
        }
        let (iteration, digest, begun) = (phase as usize, state.digest(), vec![phase as usize]);
        let mark = Mark { iteration, at: now, digest, begun, counters: None, snapshot: None };
        let is_consistent = looking.history.add(mark);
        debug_assert!(is_consistent, "equal states are followed by equal periods");
        if !is_consistent {
            self.recurrence.phases.vain = VAIN;
            return self.close_phases("equal states were followed by different times");
        }
        if let Some((found, counters)) = looking.history.take_confirmed()
            && looking.recorded_until == now
        {
            let (period, takes) = (found.period as u32, found.takes);
            self.skip_phases(period, takes, counters);
            return self.close_phases("");
        }
        if let Some(period) = looking.history.matched().filter(|_| looking.recorded_until <= now) {
            let (takes, of_jobs) = looking.history.last_period(period);
            let (periods, _) = self.phases_left(of_jobs[0] as u32, takes);
            looking.recorded_until = now + takes;
            looking.history.note(self.period_begins(takes, periods), period);
        }
        if looking.history.marks.len() >= MISSES {
            let differs = state.names_of_different(&looking.state);
            return self.close_phases(format!("{differs} differed at the last of {MISSES} states"));
        }
        looking.state = state;
        looking.schedule_next(now);
        self.recurrence.phases.open = Some(looking);
    }

    /// Ends the examination of an iteration, for this reason.
    fn close_phases(&mut self, why: impl Into<String>) {
        self.recurrence.phases.close(why);
        if self.now() >= self.recurrence.recorded_until {
            self.forget_period();
        }
    }

    /// Number of periods that the foremost lane of the open iteration has not started yet and that fit into the run;
    /// the flag is false while two iterations are open.
    fn phases_left(&self, period: u32, takes: Time) -> (u64, bool) {
        let ranks = self.ranks();
        let iterations = ranks.iter().map(|own| own.machine.times().len());
        let is_one = iterations.clone().min() == iterations.max();
        let begun = ranks.iter().map(|own| own.machine.phases_begun()).max().unwrap_or_default();
        let all = ranks.first().and_then(|own| own.machine.phases()).unwrap_or_default();
        let left = all.saturating_sub(begun) / period;
        let time = (self.end() - self.now()).ps() / takes.ps();
        (u64::from(left).min(time), is_one)
    }

    /// Skips the remaining periods of the open iteration.
    fn skip_phases(&mut self, period: u32, takes: Time, counters: Growth) {
        let recorded = self.recorded_periods(takes);
        let (periods, is_one) = self.phases_left(period, takes);
        let periods = periods.min(recorded);
        if !is_one || periods == 0 {
            return;
        }
        let takes = takes * periods;
        for shard in &mut self.shards {
            let whole = shard.world.whole();
            for own in shard.world.hosts.ranks.ranks.all_mut(whole) {
                own.machine.skip_phases(period * periods as u32, takes);
            }
        }
        self.leave_out(counters, periods, takes);
    }

    /// Reason why no phase was skipped in the last iteration that was examined; empty if some were, or if no iteration
    /// was examined.
    pub(super) fn phases_not_skipped(&self) -> &str {
        &self.recurrence.phases.why
    }
}
