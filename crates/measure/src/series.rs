//! Time series in bins of equal width, of places that do not share a grid.

use crate::passage::Passage;
use units::Time;

/// Bits that pass in each bin.
#[derive(Clone, Debug)]
pub struct BinnedBits {
    width: Time,
    /// Empty before the first frame: a series without any takes no memory.
    bins: Vec<u64>,
    expected: usize,
}

/// The largest value in each bin.
#[derive(Clone, Debug)]
pub struct BinnedMax {
    width: Time,
    end: Time,
    level: u64,
    max: u64,
    bins: Bins,
}

/// Finished bins. Memory for all of them is allocated with the first: a series that stays empty takes none.
#[derive(Clone, Debug)]
struct Bins {
    finished: Vec<u64>,
    expected: usize,
}

impl Bins {
    fn new(width: Time, duration: Time) -> Bins {
        Bins { finished: Vec::new(), expected: duration.ps().div_ceil(width.ps()) as usize + 1 }
    }
    #[inline]
    fn push(&mut self, value: u64) {
        if self.finished.capacity() == 0 {
            self.finished.reserve_exact(self.expected);
        }
        self.finished.push(value);
    }
    fn memory_bytes(&self) -> usize {
        self.finished.capacity() * size_of::<u64>()
    }
}

impl BinnedBits {
    /// Nothing is recorded.
    pub const OFF: BinnedBits = BinnedBits { width: Time::ZERO, bins: Vec::new(), expected: 0 };

    /// Width of the bins, unless nothing is recorded.
    pub fn width(&self) -> Option<Time> {
        (self.width > Time::ZERO).then_some(self.width)
    }
    /// Empty bins of `width` (above zero) from time zero.
    pub fn new(width: Time, duration: Time) -> BinnedBits {
        let expected = duration.ps().div_ceil(width.ps()) as usize + 1;
        BinnedBits { width, bins: Vec::new(), expected }
    }
    /// Bytes of the bins and the value itself.
    pub fn memory_bytes(&self) -> usize {
        size_of::<BinnedBits>() + self.bins.capacity() * size_of::<u64>()
    }

    /// Adds a frame: each bit counts in the bin in which its last part passes; one at the very end counts in the last bin.
    pub fn add(&mut self, frame: Passage) {
        if self.width == Time::ZERO {
            return;
        }
        if self.bins.is_empty() {
            self.bins.resize(self.expected, 0);
        }
        frame.add_to(&mut self.bins, self.width, frame.end);
    }

    /// All bins that begin before `end`.
    pub fn finish(mut self, end: Time) -> Vec<u64> {
        self.bins.resize((end.ps().div_ceil(self.width.ps()) as usize).max(1), 0);
        self.bins
    }
}

impl BinnedMax {
    /// Nothing is recorded.
    pub const OFF: BinnedMax = BinnedMax {
        width: Time::ZERO,
        end: Time::NEVER,
        level: 0,
        max: 0,
        bins: Bins { finished: Vec::new(), expected: 0 },
    };

    /// Width of the bins, unless nothing is recorded.
    pub fn width(&self) -> Option<Time> {
        (self.width > Time::ZERO).then_some(self.width)
    }
    /// Empty bins; the arguments are those of [`BinnedBits::new`].
    pub fn new(width: Time, duration: Time) -> BinnedMax {
        BinnedMax { width, end: width, level: 0, max: 0, bins: Bins::new(width, duration) }
    }
    /// Bytes of the bins and the value itself.
    pub fn memory_bytes(&self) -> usize {
        size_of::<BinnedMax>() + self.bins.memory_bytes()
    }
    /// Sets the level.
    #[inline]
    pub fn set(&mut self, now: Time, level: u64) {
        while now >= self.end {
            self.bins.push(self.max);
            self.max = self.level;
            self.end += self.width;
        }
        self.note(level);
    }
    /// Sets the level, before [`BinnedMax::end`].
    #[inline]
    pub fn note(&mut self, level: u64) {
        self.level = level;
        self.max = self.max.max(level);
    }
    /// End of the present bin.
    pub fn end(&self) -> Time {
        self.end
    }
    /// The level.
    pub fn level(&self) -> u64 {
        self.level
    }
    /// Returns true if the level was ever above zero.
    pub fn is_used(&self) -> bool {
        self.max > 0 || self.bins.finished.iter().any(|&max| max > 0)
    }
    /// All bins that begin before `end`.
    pub fn finish(mut self, end: Time) -> Vec<u64> {
        self.set(Time::from_ps(end.ps().saturating_sub(1)), self.level);
        self.bins.push(self.max);
        self.bins.finished
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_stays_until_it_changes() {
        let mut series = BinnedMax::new(Time::from_ns(10), Time::from_ns(50));
        series.set(Time::from_ns(5), 7);
        series.set(Time::from_ns(25), 2);
        assert_eq!(series.finish(Time::from_ns(50)), [7, 7, 7, 2, 2]);
    }
}
