//! Distribution of a level over time: a time-weighted histogram.

use crate::bins::{edges, place};
use recurrence::{Counts, Growth};
use units::Time;

/// A level, and the time that it spent in each log-linear bin (see `bins`). Times are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelTimes {
    level: u64,
    since: Time,
    times: Vec<Time>,
}

impl LevelTimes {
    /// Sets the level.
    pub fn set(&mut self, now: Time, level: u64) {
        self.book(now);
        self.level = level;
    }

    /// Returns the level.
    pub fn level(&self) -> u64 {
        self.level
    }

    /// Changes the level by the difference of two other levels.
    pub fn shift(&mut self, now: Time, before: u64, after: u64) {
        self.set(now, self.level + after - before);
    }

    /// Discards the time before `now`, but keeps the level.
    pub fn restart(&mut self, now: Time) {
        self.times.clear();
        self.since = now;
    }

    /// Returns the bins that are not empty, in ascending order: lower edge (inclusive), upper edge (exclusive), and
    /// time in the bin until `end`.
    pub fn histogram(&self, end: Time) -> Vec<(u64, u64, Time)> {
        let mut whole = self.clone();
        whole.book(end);
        let bins = whole.times.into_iter().enumerate().filter(|&(_, time)| time > Time::ZERO);
        bins.map(|(bin, time)| (edges(bin).0, edges(bin).1, time)).collect()
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.times.capacity() * size_of::<Time>()
    }

    fn book(&mut self, now: Time) {
        let bin = place(self.level);
        if self.times.len() <= bin {
            self.times.resize(bin + 1, Time::ZERO);
        }
        self.times[bin] += now.saturating_sub(self.since);
        self.since = now;
    }
}

impl Counts for LevelTimes {
    fn advance(&mut self, growth: &mut Growth) {
        self.book(growth.now());
        if let Some((before, periods)) = growth.kept(&self.times) {
            for (bin, time) in self.times.iter_mut().enumerate() {
                *time += (*time - before.get(bin).copied().unwrap_or_default()) * periods;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_level_has_its_time() {
        let ns = Time::from_ns;
        let mut level = LevelTimes::default();
        level.set(ns(10), 3);
        level.shift(ns(30), 5, 2);
        assert_eq!(level.histogram(ns(40)), [(0, 1, ns(20)), (3, 4, ns(20))]);
        level.set(ns(50), 1000);
        level.restart(ns(60));
        assert_eq!(level.histogram(ns(61)), [(992, 1008, ns(1))]);
    }

    proptest! {
        /// Compares with a walk over every picosecond.
        #[test]
        fn times_add_up(steps in proptest::collection::vec((0u64..50, 0u64..200), 0..40), after in 0u64..50) {
            let mut level = LevelTimes::default();
            let (mut now, mut current) = (0, 0);
            let mut walk = std::collections::BTreeMap::new();
            let mut pass = |now: u64, ps: u64, current: u64| {
                (now..now + ps).for_each(|_| *walk.entry(edges(place(current))).or_insert(0) += 1);
                now + ps
            };
            for &(wait, next) in &steps {
                now = pass(now, wait, current);
                level.set(Time::from_ps(now), next);
                current = next;
            }
            now = pass(now, after, current);
            let found = level.histogram(Time::from_ps(now));
            let expected: Vec<_> =
                walk.into_iter().map(|((from, to), ps)| (from, to, Time::from_ps(ps))).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
