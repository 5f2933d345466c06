//! The mean and the maximum over time of something that steps, like a queue.

use units::Time;

/// Integrates levels that change together, like bytes and frames of a queue, over time; exact.
#[derive(Clone, Copy, Debug)]
pub struct LevelIntegral<const N: usize> {
    areas: [u128; N],
    since: Time,
    max: [u64; N],
}

impl<const N: usize> Default for LevelIntegral<N> {
    fn default() -> LevelIntegral<N> {
        LevelIntegral { areas: [0; N], since: Time::ZERO, max: [0; N] }
    }
}

impl<const N: usize> LevelIntegral<N> {
    /// The levels were `levels` until now and are about to change to `next`.
    #[inline]
    pub fn step(&mut self, now: Time, levels: [u64; N], next: [u64; N]) {
        let lasted = u128::from((now - self.since).ps());
        self.since = now;
        for at in 0..N {
            self.areas[at] += u128::from(levels[at]) * lasted;
            self.max[at] = self.max[at].max(next[at]);
        }
    }
    /// Begins anew at `now` with these levels.
    pub fn restart(&mut self, now: Time, levels: [u64; N]) {
        *self = LevelIntegral { areas: [0; N], since: now, max: levels };
    }
    /// Mean levels from `start` to `end`, which have been `levels` since the last step.
    pub fn mean(&self, start: Time, end: Time, levels: [u64; N]) -> [f64; N] {
        let rest = u128::from(end.saturating_sub(self.since).ps());
        std::array::from_fn(|at| {
            let area = self.areas[at] + u128::from(levels[at]) * rest;
            if end <= start { 0.0 } else { area as f64 / (end - start).ps() as f64 }
        })
    }
    /// Highest levels.
    pub fn max(&self) -> [u64; N] {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_max_of_steps() {
        let mut queue = LevelIntegral::default();
        queue.step(Time::from_ns(10), [0, 0], [4, 40]);
        queue.step(Time::from_ns(20), [4, 40], [1, 10]);
        let mean = (4.0 * 10.0 + 1.0 * 20.0) / 40.0;
        assert_eq!(queue.mean(Time::ZERO, Time::from_ns(40), [1, 10]), [mean, 10.0 * mean]);
        assert_eq!(queue.max(), [4, 40]);
    }
}
