//! Recurrence of the state of a run with repeating jobs: detects iterations whose state equals that of an earlier one,
//! apart from a shift in time.
//!
//! If the whole dynamic state at one boundary equals that at an earlier one, the following events are equal too,
//! shifted in time. A boundary is the start of an iteration of a job at its last rank; the state is taken a fixed time
//! later, when the run returns. A state with an unsupported part equals no other state, and the result names that part.
//!
//! A recurrence counts once another period has confirmed it: an equal digest after an equal time. A digest is taken
//! only if its cost is small compared with that of the frames since the last one, so that not all short iterations have
//! one. Both rules depend on simulated quantities alone: the result is equal on any number of threads.

mod growth;
mod history;
mod phases;
mod state;

use crate::run::state::outcome::SimulationError;
use crate::run::state::ranks::RankState;
use crate::simulation::Simulation;
use crate::spec::{JobSpec, Skip};
pub use history::Recurrence;
use history::{JobHistory, Mark};
use phases::PhaseWatch;

use state::State;
use units::Time;

/// Minimum number of frame-hops for each word of a digest, unless iterations are to be skipped. Digests then take less
/// than a hundredth of the time.
const HOPS_A_WORD: u64 = 32;
/// Number of digests taken at consecutive boundaries, to find short periods.
const BURST: u64 = 8;
/// Number of states with an unsupported part after which no more digests are taken.
const UNKNOWN: usize = 3;
/// With skipping: number of digests without a match after which only every second boundary has a digest; after as many
/// more only every fourth, and so on.
const MISSES: usize = 16;
/// Minimum fraction of the boundaries that have a digest, as a power of one half.
const RAREST: usize = 6;

/// State of the search for recurrences.
#[derive(Debug)]
pub(crate) struct RecurrenceWatch {
    /// Time of the next digest; [`Time::NEVER`] if none is due.
    pub next: Time,
    /// Time from a boundary to its digest.
    offset: Time,
    jobs: Vec<JobHistory>,
    phases: PhaseWatch,
    /// End of the latest recorded period of iterations.
    recorded_until: Time,
    /// Total time that was skipped. `skipped_hops` is the number of frame-hops in it.
    skipped: Time,
    skipped_hops: u64,
    /// Number of remaining digests of a burst. `digests` and `words` are the number and the work of all digests so far.
    burst: u64,
    digests: u64,
    words: u64,
    /// The states of the last two digests.
    states: [State; 2],
}

impl RecurrenceWatch {
    /// Creates the search for this many jobs. `offset`: time from a boundary to its digest.
    pub fn new(jobs: usize, offset: Time) -> RecurrenceWatch {
        RecurrenceWatch {
            next: Time::NEVER,
            offset,
            jobs: (0..jobs).map(|_| JobHistory::default()).collect(),
            phases: PhaseWatch::default(),
            recorded_until: Time::ZERO,
            skipped: Time::ZERO,
            skipped_hops: 0,
            burst: 0,
            digests: 0,
            words: 0,
            states: Default::default(),
        }
    }

    fn schedule(&mut self) {
        let due = self.jobs.iter().filter_map(|job| job.due).map(|(_, at)| at);
        self.next = due.min().unwrap_or(Time::NEVER).min(self.phases.next());
    }
}

impl Simulation {
    /// Records boundaries that have passed since the last check, and schedules their digests.
    pub(super) fn look_for_boundaries(&mut self) {
        self.look_for_phases();
        self.recurrence.schedule();
        let goes_on = self.is_to_skip() || self.spec.guards.skip == Skip::Check;
        let is_open = self.recurrence.jobs.iter().any(|own| own.is_open(goes_on));
        let is_short = |job: &JobSpec| job.iterations < Skip::FEWEST_ITERATIONS;
        if self.driven || !is_open || self.spec.jobs.iter().all(is_short) {
            return;
        }
        let (now, begun) = (self.now(), self.iterations_begun());
        let has_budget = self.spec.guards.skip == Skip::Off;
        let takes = |own: &JobHistory, iteration| own.is_open(goes_on) && own.takes(iteration, has_budget);
        let is_requested = |own: (&JobHistory, &(usize, Time))| {
            takes(own.0, own.1.0) && own.1.1 + self.recurrence.offset > now
        };
        let is_requested = self.recurrence.jobs.iter().zip(&begun).any(is_requested);
        if !is_requested || has_budget && !self.can_afford() {
            return;
        }
        let watch = &mut self.recurrence;
        for ((history, (iteration, at)), spec) in watch.jobs.iter_mut().zip(begun).zip(&self.spec.jobs) {
            let due = at + watch.offset;
            // A boundary that was noticed too late would have its digest too late.
            let is_between = iteration > 0 && iteration < spec.iterations as usize;
            if due > now && is_between && takes(history, iteration) {
                history.due = Some((iteration, due));
            }
        }
        watch.schedule();
    }

    /// Returns true if iterations are to be skipped, and none has been skipped so far.
    fn is_to_skip(&self) -> bool {
        self.spec.guards.skip.leaves_out()
            && self.spec.guards.until.is_none()
            && !self.records_frames()
            && self.ranks().iter().all(|own| own.machine.skipped().is_none())
    }

    /// Returns true if frames are logged: skipped iterations would have no rows.
    fn records_frames(&self) -> bool {
        self.parts().any(|part| part.probes.frames.is_some())
    }

    /// Returns true if a digest may be taken: within a burst, or if enough frame-hops have passed since the last one.
    fn can_afford(&mut self) -> bool {
        if self.recurrence.burst > 0 {
            return true;
        }
        let endpoints: usize = self.parts().map(|part| part.hosts.endpoints.len()).sum();
        // Estimate of the work before the first digest.
        let guess = (3 * self.ports() + endpoints) as u64 * 64;
        let each = self.recurrence.words.checked_div(self.recurrence.digests).unwrap_or(guess);
        if self.frame_hops() < (self.recurrence.words + each * BURST) * HOPS_A_WORD {
            return false;
        }
        self.recurrence.burst = BURST;
        true
    }

    /// By job, the last iteration that has started at all of its ranks, skipped ones included, and its start time.
    fn iterations_begun(&self) -> Vec<(usize, Time)> {
        let ranks = self.ranks();
        let of_job = |ranks: &[&RankState]| {
            let last = ranks.iter().map(|own| own.machine.times().len()).min()?.checked_sub(1)?;
            let began = ranks.iter().filter_map(|own| own.machine.began(last)).max()?;
            let skipped = ranks.first().and_then(|own| own.machine.skipped());
            Some((last + skipped.filter(|own| last >= own.at).map_or(0, |own| own.len()), began))
        };
        ranks
            .chunk_by(|one, next| one.job == next.job)
            .map(|ranks| of_job(ranks).unwrap_or((0, Time::ZERO)))
            .collect()
    }

    /// Takes the digests that are due now.
    pub(super) fn take_digests(&mut self) {
        self.watch_phases();
        let now = self.now();
        if self.recurrence.jobs.iter().any(|own| own.due.is_some_and(|due| due.1 <= now)) {
            self.take_digest_of_iterations(now);
        }
        self.recurrence.schedule();
    }

    fn take_digest_of_iterations(&mut self, now: Time) {
        let state = self.state(0);
        let begun: Vec<usize> = self.iterations_begun().into_iter().map(|own| own.0).collect();
        let watch = &mut self.recurrence;
        watch.burst = watch.burst.saturating_sub(1);
        watch.digests += 1;
        watch.words += state.words;
        let digest = state.digest();
        for history in &mut watch.jobs {
            history.current = None;
            let Some((iteration, _)) = history.due.take_if(|due| due.1 <= now) else { continue };
            if state.unknown.is_some() {
                history.unknown += 1;
                continue;
            }
            let at = now + watch.skipped;
            let (begun, counters, snapshot) = (begun.clone(), None, None);
            let mark = Mark { iteration, at, digest, begun, counters, snapshot };
            let is_consistent = history.add(mark);
            debug_assert!(is_consistent, "equal states are followed by equal periods");
            history.contradicted |= !is_consistent;
        }
        watch.states.swap(0, 1);
        watch.states[0] = state;
        if self.spec.guards.skip == Skip::Check && self.warmed_up {
            self.compare_counters();
        }
        if self.is_to_skip() && !self.skip_iterations() {
            self.note_counters();
        }
    }

    /// Compares the growth of counters and fingerprints in the period that ends with a mark of this time with that of
    /// the previous period.
    fn compare_counters(&mut self) {
        let now = self.now();
        for job in 0..self.recurrence.jobs.len() {
            if self.recurrence.jobs[job].marks.last().is_none_or(|mark| mark.at != now) {
                continue;
            }
            let snapshot = self.snapshot();
            self.recurrence.jobs[job].compare(snapshot);
        }
    }

    /// Records the counters at marks of this time whose states recur: a period that may be skipped begins.
    fn note_counters(&mut self) {
        // Counters restart after the warm-up, and only one period is recorded at a time.
        if !self.warmed_up || self.now() < self.recurrence.recorded_until {
            return;
        }
        let at = self.now() + self.recurrence.skipped;
        let is_new = |history: &JobHistory| history.marks.last().is_some_and(|mark| mark.at == at);
        let mut jobs = self.recurrence.jobs.iter().enumerate().filter(|(_, history)| is_new(history));
        let found = jobs.find_map(|(job, history)| {
            let marks = history.matched()?;
            let (takes, of_jobs) = history.last_period(marks);
            Some((job, marks, takes, self.periods_left(&of_jobs, takes, false)?))
        });
        let Some((job, marks, takes, periods)) = found else { return self.forget_period() };
        self.recurrence.recorded_until = self.now() + takes;
        let counters = self.period_begins(takes, periods as u64);
        self.recurrence.jobs[job].note(counters, marks);
        if self.records_period() {
            self.recurrence.phases.stop();
        }
    }

    /// Number of periods of this length that all jobs have left before their last iterations; `None` if there are none,
    /// or if they exceed the duration of the run. `known`: counts only jobs that have finished a period.
    fn periods_left(&self, of_jobs: &[usize], takes: Time, known: bool) -> Option<usize> {
        let (mut periods, mut rest) = (None, Time::ZERO);
        for own in self.ranks() {
            let period = of_jobs[own.job as usize];
            if period == 0 || own.machine.is_done() {
                continue;
            }
            let left = (own.machine.iterations() as usize - own.machine.times().len()) / period;
            let is_known = !known || own.machine.finished() >= period;
            periods = Some(periods.unwrap_or(left).min(if is_known { left } else { 0 }));
            rest = rest.max(takes * (left + 2) as u64);
        }
        let fits = self.now().saturating_add(rest) <= self.end();
        periods.filter(|&periods| periods > 0 && fits)
    }

    /// Skips the periods that all jobs have left before their last iterations, if the present state is confirmed to
    /// recur. An earlier recurrence does not suffice, because another job may have ended since. Returns true if any
    /// were skipped.
    fn skip_iterations(&mut self) -> bool {
        let job = self.recurrence.jobs.iter().position(|job| job.current.is_some());
        let Some(job) = job.filter(|_| self.warmed_up) else { return false };
        let Some((Recurrence { takes, of_jobs, .. }, _)) = self.recurrence.jobs[job].current.clone() else {
            return false;
        };
        if self.recurrence.recorded_until != self.now() {
            return false;
        }
        let recorded = usize::try_from(self.recorded_periods(takes)).unwrap_or(usize::MAX);
        let periods = self.periods_left(&of_jobs, takes, true).map(|periods| periods.min(recorded));
        let Some(periods) = periods.filter(|&periods| periods > 0) else { return false };
        let Some((_, counters)) = self.recurrence.jobs[job].take_confirmed() else { return false };
        for shard in &mut self.shards {
            let whole = shard.world.whole();
            for own in shard.world.hosts.ranks.ranks.all_mut(whole) {
                let period = of_jobs[own.job as usize];
                if period > 0 && !own.machine.is_done() {
                    own.machine.skip(period, periods, takes);
                }
            }
        }
        // Boundaries that have passed and whose digests are due are shifted too.
        for (history, period) in self.recurrence.jobs.iter_mut().zip(&of_jobs) {
            history.due.iter_mut().for_each(|due| due.0 += period * periods);
        }
        self.leave_out(counters, periods as u64, takes * periods as u64);
        true
    }

    /// Total time of the iterations and phases that were skipped.
    pub fn skipped_time(&self) -> Time {
        self.recurrence.skipped
    }

    /// Converts the time of the last event of a kind (see [`Growth::last`]) to that of a run that skips nothing.
    pub(crate) fn whole_time(&self, last: Time) -> Time {
        Time::from_ps(last.ps().wrapping_add(self.recurrence.skipped.ps()))
    }

    /// Frame-hops of the iterations and phases that were skipped, which [`Simulation::frame_hops`] includes.
    pub fn skipped_hops(&self) -> u64 {
        self.recurrence.skipped_hops
    }

    /// End of the run, earlier by the skipped time once the warm-up is over.
    pub(super) fn end(&self) -> Time {
        self.spec.duration - self.recurrence.skipped
    }

    /// Compares iterations with those that they repeat, once a recurrence is confirmed.
    pub(super) fn check_recurrence(&self) -> Result<(), SimulationError> {
        let ranks = self.ranks();
        for (number, history) in (0..).zip(&self.recurrence.jobs) {
            let Some(found) = &history.found else { continue };
            let spec = &self.spec.jobs[number as usize];
            if let Some(nth) = history.uneven {
                let message = format!(
                    "the counters or the fingerprint before iteration {nth} of job {} do not repeat those of the period before, although \
                     the state recurred: this is a bug in the simulator, please report it with the scenario",
                    spec.name
                );
                return Err(SimulationError { message });
            }
            // A rank that has ended sends no more frames, so the following periods need not be equal.
            let ended = |own: &&RankState| {
                own.machine.times().last().filter(|_| own.machine.is_done()).map(|it| it.ended)
            };
            let first_end = ranks.iter().filter_map(ended).filter(|&end| end > found.at).min();
            for own in ranks.iter().filter(|own| own.job == number) {
                let times = own.machine.times();
                for nth in found.confirmed..own.machine.finished() {
                    let (before, now) = (times[nth - found.period], times[nth]);
                    if first_end.is_some_and(|end| now.ended > end) {
                        break;
                    }
                    if now.began != before.began + found.takes || now.ended != before.ended + found.takes {
                        let message = format!(
                            "iteration {nth} of rank {} of job {} does not repeat iteration {}, although the state recurred: this is a \
                             bug in the simulator, please report it with the scenario",
                            own.number,
                            spec.name,
                            nth - found.period
                        );
                        return Err(SimulationError { message });
                    }
                }
            }
        }
        Ok(())
    }

    /// The confirmed recurrence at the boundaries of a job, if any.
    pub fn recurrence_of(&self, job: usize) -> Option<&Recurrence> {
        self.recurrence.jobs.get(job)?.found.as_ref()
    }

    /// Describes why the state of a run has not recurred at the boundaries of a job, as the end of a sentence; empty if
    /// it has, or if fewer than two states were compared.
    pub fn not_recurred(&self, job: usize) -> String {
        let watch = &self.recurrence;
        let Some(history) = watch.jobs.get(job).filter(|own| own.found.is_none()) else {
            return String::new();
        };
        if let Some(unknown) = watch.states[0].unknown {
            return format!("no class yet: {unknown}");
        }
        if history.contradicted {
            return "equal states were followed by different times".into();
        }
        if history.marks.len() < 2 {
            let why = self.phases_not_skipped();
            return if why.is_empty() { String::new() } else { format!("steps of the ring: {why}") };
        }
        let differs = watch.states[0].names_of_different(&watch.states[1]);
        format!("{differs} differed at the last of {} states", history.marks.len())
    }
}
