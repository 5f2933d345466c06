//! Time during which at least one processor of a rank computes.

use recurrence::{Recurs, Walk};
use units::Time;

/// Length of a union of intervals. Each is added at its start or before.
#[derive(Clone, Debug, Default)]
pub(super) struct Occupied {
    /// Intervals with which later ones may overlap: disjoint, ascending.
    pending: Vec<(Time, Time)>,
    /// Total length of the intervals that have ended.
    over: Time,
}

/// No later interval overlaps with one that has ended, so that only the total length of those counts.
impl Recurs for Occupied {
    fn walk(&self, walk: &mut Walk) {
        let over = self.pending.partition_point(|own| own.1 < walk.now());
        let sum = self.pending[..over].iter().fold(self.over, |sum, own| sum.saturating_add(own.1 - own.0));
        walk.word(sum.ps());
        self.pending[over..].walk(walk);
    }
}

impl Occupied {
    /// Adds an interval, which must not start before `now`, the time of the call.
    pub fn add(&mut self, mut begin: Time, mut end: Time, now: Time) {
        let over = self.pending.partition_point(|own| own.1 < now);
        self.over = self.pending.drain(..over).fold(self.over, |sum, own| sum.saturating_add(own.1 - own.0));
        let first = self.pending.partition_point(|own| own.1 < begin);
        let behind = self.pending.partition_point(|own| own.0 <= end);
        if let Some(met) = self.pending.get(first..behind).filter(|met| !met.is_empty()) {
            (begin, end) = (begin.min(met[0].0), end.max(met[met.len() - 1].1));
        }
        self.pending.splice(first..behind.max(first), [(begin, end)]);
    }

    /// Returns the length of the union, and resets it.
    pub fn take(&mut self) -> Time {
        let pending = self.pending.drain(..).fold(Time::ZERO, |sum, own| sum.saturating_add(own.1 - own.0));
        std::mem::take(&mut self.over).saturating_add(pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_number_of_instants_that_are_covered(
            mut intervals in prop::collection::vec((0u64..60, 0u64..20, 0u64..20), 0..30),
        ) {
            intervals.sort_unstable();
            let mut own = Occupied::default();
            let mut covered = [false; 100];
            for &(now, later, long) in &intervals {
                own.add(Time::from_ps(now + later), Time::from_ps(now + later + long), Time::from_ps(now));
                covered[(now + later) as usize..(now + later + long) as usize].fill(true);
            }
            let expected = covered.iter().filter(|it| **it).count() as u64;
            prop_assert_eq!([own.take(), own.take()], [Time::from_ps(expected), Time::ZERO]);
        }
    }
}
