//! Growth of counters during a period, which is added to them once for each skipped period.

use std::any::Any;
use std::collections::BTreeMap;
use units::Time;

/// Records the counters of a state at the beginning of a period, and then their growth during the period.
///
/// The state is visited twice in the same order: at the beginning of a period and, after [`Growth::repeat`], at its
/// end. The second visit advances each counter by its growth, once for each skipped period.
///
/// ```
/// use recurrence::{Counts, Growth};
/// use units::Time;
///
/// let mut frames = 40u64;
/// let mut growth = Growth::new(Time::from_us(1));
/// frames.advance(&mut growth);
/// frames += 7;
/// growth.repeat(Time::from_us(2), (3, Time::from_us(3)));
/// frames.advance(&mut growth);
/// assert_eq!(frames, 47 + 3 * 7);
/// ```
#[derive(Debug)]
pub struct Growth {
    now: Time,
    /// Number of skipped periods, and their total duration; `None` at the beginning of the period.
    periods: Option<(u64, Time)>,
    before: Vec<u128>,
    visited: usize,
    lasts: Vec<Time>,
    visited_lasts: usize,
    kept: Vec<Box<dyn Any + Send + Sync>>,
    visited_kept: usize,
}

impl Growth {
    /// Starts a period.
    pub fn new(now: Time) -> Growth {
        Growth {
            now,
            periods: None,
            before: Vec::new(),
            visited: 0,
            lasts: Vec::new(),
            visited_lasts: 0,
            kept: Vec::new(),
            visited_kept: 0,
        }
    }

    /// Ends the period. The given number of equal periods, with this total duration, is skipped. The state must then be
    /// visited again from the beginning.
    pub fn repeat(&mut self, now: Time, periods: (u64, Time)) {
        (self.now, self.periods) = (now, Some(periods));
        (self.visited, self.visited_lasts, self.visited_kept) = (0, 0, 0);
    }

    /// Returns the duration of a period; zero at its beginning.
    pub fn period(&self) -> Time {
        self.periods.map_or(Time::ZERO, |(periods, takes)| Time::from_ps(takes.ps() / periods))
    }

    /// Visits a list of events. Those of the period are added again for each skipped period; `later` shifts an event by
    /// a time.
    pub fn rows<T>(&mut self, rows: &mut Vec<T>, later: impl Fn(&T, Time) -> T) {
        let (len, period) = (rows.len(), self.period());
        let Some((before, periods)) = self.kept(&len) else { return };
        for nth in 1..=periods {
            for row in before..len {
                rows.push(later(&rows[row], period * nth));
            }
        }
    }

    /// Returns true if every counter has grown equally from the first to the second and from the second to the third of
    /// these visits. Times of last events are not compared, because they may not have recurred before the first visit.
    pub fn is_even([first, second, third]: [&Growth; 3]) -> bool {
        let all = [first, second, third].map(|own| &own.before);
        let is_even =
            |nth: usize| all[1][nth].wrapping_sub(all[0][nth]) == all[2][nth].wrapping_sub(all[1][nth]);
        all.iter().all(|own| own.len() == first.before.len()) && (0..first.before.len()).all(is_even)
    }

    /// Returns the time of the visit.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the growth of a counter with this value during the skipped periods; 0 at the beginning of the period.
    pub fn of(&mut self, value: u128) -> u128 {
        let Some((periods, _)) = self.periods else {
            self.before.push(value);
            return 0;
        };
        let before = self.before[self.visited];
        self.visited += 1;
        debug_assert!(value >= before, "a counter has decreased");
        (value - before) * u128::from(periods)
    }

    /// Visits the time of the last event of a kind, in picoseconds. The clock does not advance by skipped periods; the
    /// caller adds their duration at the end, modulo 2^64. If the event occurs in every period, its last time is
    /// shifted by that duration, otherwise it is unchanged.
    pub fn last(&mut self, at: &mut Time) {
        let Some((_, takes)) = self.periods else {
            self.lasts.push(*at);
            return;
        };
        if self.lasts[self.visited_lasts] == *at {
            *at = Time::from_ps(at.ps().wrapping_sub(takes.ps()));
        }
        self.visited_lasts += 1;
    }

    /// Stores a copy of a value whose size may change, and returns it at the end of the period with the number of
    /// skipped periods.
    pub fn kept<T: Clone + Send + Sync + 'static>(&mut self, value: &T) -> Option<(T, u64)> {
        let Some((periods, _)) = self.periods else {
            self.kept.push(Box::new(value.clone()));
            return None;
        };
        let before = self.kept[self.visited_kept].downcast_ref::<T>().cloned();
        self.visited_kept += 1;
        debug_assert!(before.is_some(), "the visits differ in their order");
        before.map(|before| (before, periods))
    }
}

/// Counters that grow by the same amount in each period of a recurring state.
pub trait Counts {
    /// Visits the counters. At the end of the period, advances them.
    fn advance(&mut self, growth: &mut Growth);
}

macro_rules! counters {
    ($($number:ty),*) => {$(
        impl Counts for $number {
            #[inline]
            fn advance(&mut self, growth: &mut Growth) {
                *self += growth.of((*self).into()) as $number;
            }
        }
    )*};
}

counters!(u32, u64, u128);

impl Counts for Time {
    fn advance(&mut self, growth: &mut Growth) {
        *self += Time::from_ps(growth.of(self.ps().into()) as u64);
    }
}

impl<A: Counts, B: Counts> Counts for (A, B) {
    fn advance(&mut self, growth: &mut Growth) {
        self.0.advance(growth);
        self.1.advance(growth);
    }
}

impl<T: Counts, const N: usize> Counts for [T; N] {
    fn advance(&mut self, growth: &mut Growth) {
        self.iter_mut().for_each(|own| own.advance(growth));
    }
}

impl<T: Counts + ?Sized> Counts for Box<T> {
    fn advance(&mut self, growth: &mut Growth) {
        (**self).advance(growth);
    }
}

/// The option must not become or cease to be `Some` during a run.
impl<T: Counts> Counts for Option<T> {
    fn advance(&mut self, growth: &mut Growth) {
        self.iter_mut().for_each(|own| own.advance(growth));
    }
}

/// Advances the counters of a map, to which entries may have been added since the copy `before`.
pub fn grow_map<K: Ord, V: Copy + Counts + Default>(
    map: &mut BTreeMap<K, V>,
    before: &BTreeMap<K, V>,
    periods: u64,
) {
    for (key, value) in map {
        let mut growth = Growth::new(Time::ZERO);
        before.get(key).copied().unwrap_or_default().advance(&mut growth);
        growth.repeat(Time::ZERO, (periods, Time::ZERO));
        value.advance(&mut growth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_grow_by_what_a_period_added() {
        let mut map = BTreeMap::from([(1, (5u64, 50u64))]);
        let mut counts = ([3u32, 4], Some(Box::new(Time::from_ns(10))));
        let mut growth = Growth::new(Time::ZERO);
        let nothing = growth.kept(&map);
        counts.advance(&mut growth);
        assert!(nothing.is_none());
        assert_eq!(counts, ([3, 4], Some(Box::new(Time::from_ns(10)))));

        map = BTreeMap::from([(0, (1, 9)), (1, (7, 70))]);
        counts = ([3, 6], Some(Box::new(Time::from_ns(11))));
        growth.repeat(Time::from_ns(1), (10, Time::ZERO));
        let (before, periods) = growth.kept(&map).unwrap();
        grow_map(&mut map, &before, periods);
        counts.advance(&mut growth);
        assert_eq!(map, BTreeMap::from([(0, (11, 99)), (1, (27, 270))]));
        assert_eq!(counts, ([3, 26], Some(Box::new(Time::from_ns(21)))));
    }

    #[test]
    fn growth_is_compared_counter_by_counter() {
        let visit = |values: [u64; 2]| {
            let mut growth = Growth::new(Time::ZERO);
            values.into_iter().for_each(|mut value| value.advance(&mut growth));
            growth
        };
        let [first, second, third, fourth] = [[1, 9], [3, 9], [5, 9], [7, 10]].map(visit);
        assert!(Growth::is_even([&first, &second, &third]));
        assert!(!Growth::is_even([&second, &third, &fourth]));
        assert!(!Growth::is_even([&first, &second, &fourth]));
    }

    /// One of two events recurs in each period of 5 ns, the other does not.
    #[test]
    fn the_last_event_moves_with_the_periods_if_they_have_it() {
        let [mut once, mut always] = [Time::from_ns(3), Time::from_ns(9)];
        let mut growth = Growth::new(Time::from_ns(10));
        growth.last(&mut once);
        growth.last(&mut always);
        always = Time::from_ns(14);
        let left_out = Time::from_ns(20);
        growth.repeat(Time::from_ns(15), (4, left_out));
        growth.last(&mut once);
        growth.last(&mut always);
        let in_the_end = [once, always].map(|at| at.ps().wrapping_add(left_out.ps()) / 1_000);
        assert_eq!(in_the_end, [3, 34]);
    }
}
