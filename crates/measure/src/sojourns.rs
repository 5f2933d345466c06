//! Mean and maximum of a queue's length over time.

use recurrence::{Counts, Growth};
use units::Time;

/// Exact mean and maximum of the bytes and frames in a queue. The integral of a queue's length is the sum of the
/// sojourn times of its frames, so that each frame is accounted once, when it leaves (the sample-path form of Little's
/// law).
#[derive(Clone, Copy, Debug, Default)]
pub struct Sojourns {
    /// Byte-picoseconds and frame-picoseconds of the frames that have left. Negative after [`Sojourns::restart`].
    areas: [i128; 2],
    max: [u64; 2],
}

impl Sojourns {
    /// Records that a frame has entered. `levels` are the current bytes and frames.
    #[inline]
    pub fn enter(&mut self, levels: [u64; 2]) {
        for (max, level) in self.max.iter_mut().zip(levels) {
            // Rarely true, so that the memory is rarely written.
            if level > *max {
                *max = level;
            }
        }
    }
    /// Records that a frame of `bytes` has left after `stayed`.
    #[inline]
    pub fn leave(&mut self, bytes: u16, stayed: Time) {
        let stayed = i128::from(stayed.ps());
        self.areas[0] += i128::from(bytes) * stayed;
        self.areas[1] += stayed;
    }
    /// Restarts at `start`. `inside` has arrival time and bytes of the frames in the queue, and `levels` are their
    /// totals. Their time in the queue before `start` is not counted.
    pub fn restart(&mut self, start: Time, levels: [u64; 2], inside: impl Iterator<Item = (Time, u16)>) {
        *self = Sojourns { areas: [0; 2], max: levels };
        for (since, bytes) in inside {
            let before = i128::from((start - since).ps());
            self.areas[0] -= i128::from(bytes) * before;
            self.areas[1] -= before;
        }
    }
    /// Returns the mean levels over a duration of `took` that ends at `end`. `inside` has arrival time and bytes of the
    /// frames that are still in the queue.
    pub fn mean(&self, took: Time, end: Time, inside: impl Iterator<Item = (Time, u16)>) -> [f64; 2] {
        let mut whole = *self;
        for (since, bytes) in inside {
            whole.leave(bytes, end.saturating_sub(since));
        }
        whole.areas.map(|area| if took == Time::ZERO { 0.0 } else { area as f64 / took.ps() as f64 })
    }
    /// Returns the maximum levels.
    pub fn max(&self) -> [u64; 2] {
        self.max
    }
}

/// The areas, which are negative after a restart, grow equally in each period; the maxima do not change.
impl Counts for Sojourns {
    fn advance(&mut self, growth: &mut Growth) {
        if let Some((before, periods)) = growth.kept(self) {
            let added = self.areas.iter_mut().zip(before.areas);
            added.for_each(|(area, before)| *area += (*area - before) * i128::from(periods));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn mean_and_max_of_two_sojourns() {
        let mut queue = Sojourns::default();
        queue.enter([100, 1]);
        queue.enter([500, 2]);
        queue.leave(100, Time::from_ns(10));
        let mean = queue.mean(Time::from_ns(40), Time::from_ns(40), [(Time::from_ns(20), 400)].into_iter());
        assert_eq!(mean, [(100.0 * 10.0 + 400.0 * 20.0) / 40.0, 30.0 / 40.0]);
        assert_eq!(queue.max(), [500, 2]);
    }

    proptest! {
        /// Compares with the integral of the level as a step function.
        #[test]
        fn sojourns_add_up_to_the_area_under_the_queue(
            stays in proptest::collection::vec((0u64..1000, 0u64..500, 1u16..1600), 0..40),
            start in 0u64..1000,
            after in 1u64..1000,
        ) {
            let end = start + after;
            let level = |at: u64| -> u64 {
                let there = stays.iter().filter(|&&(from, stayed, _)| (from..from + stayed).contains(&at));
                there.map(|&(.., bytes)| u64::from(bytes)).sum()
            };
            let area: u64 = (start..end).map(level).sum();
            let mut queue = Sojourns::default();
            let inside = |at: u64| {
                let there = move |&&(from, stayed, _): &&(u64, u64, u16)| (from..from + stayed).contains(&at);
                stays.iter().filter(there).map(|&(from, _, bytes)| (Time::from_ps(from), bytes))
            };
            queue.restart(Time::from_ps(start), [0, 0], inside(start));
            for &(from, stayed, bytes) in &stays {
                if (start + 1..=end).contains(&(from + stayed)) && stayed > 0 {
                    queue.leave(bytes, Time::from_ps(stayed));
                }
            }
            let mean = queue.mean(Time::from_ps(after), Time::from_ps(end), inside(end));
            prop_assert!((mean[0] - area as f64 / after as f64).abs() < 1e-9 * (1.0 + mean[0]));
        }
    }
}
