//! States of a run at the boundaries of a job, and their recurrence.

use super::growth::Snapshot;
use super::{MISSES, RAREST, UNKNOWN};
use recurrence::{Digest, Growth};
use units::Time;

/// A state of a job at a boundary.
#[derive(Debug)]
pub(super) struct Mark {
    pub iteration: usize,
    pub at: Time,
    pub digest: Digest,
    /// Iterations that have started at all ranks, by job.
    pub begun: Vec<usize>,
    /// Counters at the boundary, if the state recurs and iterations are to be skipped.
    pub counters: Option<Growth>,
    /// Counters and fingerprints at the boundary, if repetitions are to be checked.
    pub snapshot: Option<Snapshot>,
}

#[derive(Debug, Default)]
pub(super) struct JobHistory {
    pub marks: Vec<Mark>,
    /// The boundary whose digest is due.
    pub due: Option<(usize, Time)>,
    /// The first recurrence that was confirmed.
    pub found: Option<Recurrence>,
    /// The recurrence confirmed by the state of the last digest, and the mark at which its last period began.
    pub current: Option<(Recurrence, usize)>,
    /// True if equal states were followed by different times.
    pub contradicted: bool,
    /// The first iteration before which the growth of counters differed from that in the previous period.
    pub uneven: Option<usize>,
    /// Number of states with an unsupported part.
    pub unknown: usize,
}

/// A recurrence of the state at the boundaries of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurrence {
    /// The first iteration whose initial state recurred.
    pub first: usize,
    /// Number of iterations of the job in a period.
    pub period: usize,
    /// Duration of a period.
    pub takes: Time,
    /// Number of iterations in a period, by job.
    pub of_jobs: Vec<usize>,
    /// Number of iterations that had started at all ranks when the recurrence was confirmed. `at` is the time of
    /// confirmation.
    pub confirmed: usize,
    pub at: Time,
}

impl JobHistory {
    /// Returns true if digests are still taken: until a recurrence is found, or, with `goes_on`, beyond that for
    /// skipping or checking.
    pub fn is_open(&self, goes_on: bool) -> bool {
        (goes_on || self.found.is_none()) && !self.contradicted && self.unknown < UNKNOWN
    }

    /// Returns true if, by the states so far, a digest is taken at the start of this iteration.
    pub fn takes(&self, iteration: usize, has_budget: bool) -> bool {
        let last = self.marks.last().map_or(0, |mark| mark.iteration);
        // Once two states are equal, the next period confirms or refutes the recurrence.
        let matched = self.matched().is_some();
        // Without a budget, the distance grows with the number of digests without a match.
        let step = if has_budget { 1 } else { 1 << (self.marks.len() / MISSES).min(RAREST) };
        self.due.is_none() && iteration >= last + if matched { 1 } else { step }
    }

    /// Returns how many marks ago the state was equal to that of the last mark; `None` if it never was.
    pub fn matched(&self) -> Option<usize> {
        let (last, earlier) = self.marks.split_last()?;
        earlier.iter().rev().position(|one| one.digest == last.digest).map(|between| between + 1)
    }

    /// Duration of the period that ends with the last mark and spans this many marks, and its iterations by job.
    pub fn last_period(&self, marks: usize) -> (Time, Vec<usize>) {
        let [from, to] = [&self.marks[self.marks.len() - 1 - marks], &self.marks[self.marks.len() - 1]];
        (to.at - from.at, from.begun.iter().zip(&to.begun).map(|(from, to)| to - from).collect())
    }

    /// Records the counters at the last mark, whose state equals that of `period` marks before, and discards the
    /// counters before the period.
    pub fn note(&mut self, counters: Growth, period: usize) {
        let last = self.marks.len() - 1;
        self.marks[last].counters = Some(counters);
        self.marks[..last.saturating_sub(period)].iter_mut().for_each(|mark| mark.counters = None);
    }

    /// Takes the recurrence that the last mark has confirmed, with the counters at the start of its period.
    pub fn take_confirmed(&mut self) -> Option<(Recurrence, Growth)> {
        let (recurrence, begin) = self.current.clone()?;
        Some((recurrence, self.marks[begin].counters.take()?))
    }

    /// Adds a snapshot to the last mark, compares the last two periods, and discards older snapshots.
    pub fn compare(&mut self, snapshot: Snapshot) {
        let Some(last) = self.marks.len().checked_sub(1) else { return };
        let Mark { digest, iteration, at, .. } = self.marks[last];
        self.marks[last].snapshot = Some(snapshot);
        let alike = (0..last).rev().filter(|&nth| self.marks[nth].digest == digest).take(2);
        if let [second, first] = alike.collect::<Vec<_>>()[..] {
            let three = [first, second, last].map(|nth| &self.marks[nth]);
            if let [Some(first), Some(second), Some(third)] = three.map(|mark| mark.snapshot.as_ref())
                && at - three[1].at == three[1].at - three[0].at
                && !Snapshot::repeats([first, second, third], at - three[1].at)
            {
                self.uneven.get_or_insert(iteration);
            }
            self.marks[..second].iter_mut().for_each(|mark| mark.snapshot = None);
        }
    }

    /// Adds a mark. Returns false if it contradicts an earlier recurrence.
    pub fn add(&mut self, mark: Mark) -> bool {
        let same = |other: &(usize, &Mark)| other.1.digest == mark.digest;
        let mut alike = self.marks.iter().enumerate().rev().filter(same);
        let (last, before) = (alike.next(), alike.next());
        let mut consistent = true;
        self.current = None;
        if let (Some((nth, last)), Some((_, before))) = (last, before) {
            let [first, second] = [(before, last), (last, &mark)]
                .map(|(from, to)| (to.iteration - from.iteration, to.at - from.at));
            let rate = |own: (usize, Time), other: usize| u128::from(own.1.ps()) * other as u128;
            consistent = rate(first, second.0) == rate(second, first.0);
            if consistent {
                let over = |from: &Mark, to: &Mark| Recurrence {
                    first: before.iteration,
                    period: to.iteration - from.iteration,
                    takes: to.at - from.at,
                    of_jobs: from.begun.iter().zip(&to.begun).map(|(from, to)| to - from).collect(),
                    confirmed: mark.iteration,
                    at: mark.at,
                };
                self.current = Some((over(last, &mark), nth));
                if self.found.is_none() {
                    self.found =
                        Some(if first.0 <= second.0 { over(before, last) } else { over(last, &mark) });
                }
            }
        }
        self.marks.push(mark);
        consistent
    }
}
