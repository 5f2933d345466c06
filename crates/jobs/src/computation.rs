//! Computation times of a rank.

use std::sync::Arc;
use units::Time;

/// Number of fractional bits of a factor.
const POINT: u32 = 16;

/// Computation times of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computation {
    /// Times before iterations, which take turns; at least one.
    before: Arc<[Time]>,
    /// Factors of computations, which take turns, in units of 2⁻¹⁶; empty if all are 1.
    factors: Arc<[u32]>,
}

impl Computation {
    /// Returns the number of times before iterations and the number of factors after which each of them repeats.
    pub(crate) fn turns(&self) -> [usize; 2] {
        [self.before.len(), self.factors.len()]
    }
    /// Creates the computations of a rank from times before iterations and factors of computations, both of which take
    /// turns. Without factors, no computation is scaled.
    pub fn new(before: Arc<[Time]>, factors: impl IntoIterator<Item = f64>) -> Computation {
        let fixed = |factor: f64| (factor * f64::from(1 << POINT)).round() as u32;
        let factors: Vec<u32> = factors.into_iter().map(fixed).collect();
        let is_one = factors.iter().all(|&factor| factor == 1 << POINT);
        Computation { before, factors: if is_one { [].into() } else { factors.into() } }
    }
    /// Creates computations of the same time before each iteration.
    pub fn each(time: Time) -> Computation {
        Computation::new([time].into(), [])
    }
    /// Returns the time before an iteration, without a factor.
    pub fn before(&self, iteration: usize) -> Time {
        self.before.get(iteration % self.before.len().max(1)).copied().unwrap_or_default()
    }
    /// Returns the time of the `nth` computation of the rank, multiplied by its factor.
    pub fn scaled(&self, time: Time, nth: u64) -> Time {
        if self.factors.is_empty() {
            return time;
        }
        let factor = self.factors[(nth % self.factors.len() as u64) as usize];
        let scaled = (u128::from(time.ps()) * u128::from(factor)) >> POINT;
        Time::from_ps(u64::try_from(scaled).unwrap_or(u64::MAX / 2))
    }
    /// Returns true if no iteration starts with a computation.
    pub fn is_none(&self) -> bool {
        self.before.iter().all(|&time| time == Time::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_factors_come_in_turn() {
        let us = Time::from_us;
        let own = Computation::new([us(2), us(3)].into(), [1.0, 1.5, 3.0]);
        assert_eq!([0, 1, 2, 3].map(|iteration| own.before(iteration)), [2, 3, 2, 3].map(us));
        assert_eq!([0, 1, 2, 3].map(|nth| own.scaled(us(10), nth)), [10, 15, 30, 10].map(us));
        assert_eq!(Computation::new([us(2)].into(), [1.0; 9]), Computation::each(us(2)));
        assert!(Computation::each(Time::ZERO).is_none() && !own.is_none());
    }
}
