//! The mean and the maximum over time of something that steps, like a queue.

use units::Time;

/// Integrates a level over time; exact.
#[derive(Clone, Copy, Debug, Default)]
pub struct LevelIntegral {
    area: u128,
    since: Time,
    max: u64,
}

impl LevelIntegral {
    /// The level was `level` until now and is about to change to `next`.
    #[inline]
    pub fn step(&mut self, now: Time, level: u64, next: u64) {
        self.area += u128::from(level) * u128::from((now - self.since).ps());
        self.since = now;
        self.max = self.max.max(next);
    }
    /// Begins anew at `now` with this level.
    pub fn restart(&mut self, now: Time, level: u64) {
        *self = LevelIntegral { area: 0, since: now, max: level };
    }
    /// Mean level from `start` to `end`, the level having been `level` since the last step.
    pub fn mean(&self, start: Time, end: Time, level: u64) -> f64 {
        if end <= start {
            return 0.0;
        }
        let area = self.area + u128::from(level) * u128::from(end.saturating_sub(self.since).ps());
        area as f64 / (end - start).ps() as f64
    }
    /// Highest level.
    pub fn max(&self) -> u64 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_max_of_steps() {
        let mut queue = LevelIntegral::default();
        queue.step(Time::from_ns(10), 0, 4);
        queue.step(Time::from_ns(20), 4, 1);
        assert_eq!(queue.mean(Time::ZERO, Time::from_ns(40), 1), (4.0 * 10.0 + 1.0 * 20.0) / 40.0);
        assert_eq!(queue.max(), 4);
    }
}
