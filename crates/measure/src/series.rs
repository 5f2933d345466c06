//! Time series in bins of equal width.

use units::Time;

/// Sums what happens in each bin.
#[derive(Clone, Debug)]
pub struct BinnedSum {
    width: Time,
    end: Time,
    sum: u64,
    bins: Bins,
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

/// Finished bins. Memory for all of them is taken at once, with the first: a series that stays empty takes none.
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

impl BinnedSum {
    /// Empty bins of `width` (above zero) from time zero.
    pub fn new(width: Time, duration: Time) -> BinnedSum {
        BinnedSum { width, end: width, sum: 0, bins: Bins::new(width, duration) }
    }
    /// Bytes of the bins and the value itself.
    pub fn memory_bytes(&self) -> usize {
        size_of::<BinnedSum>() + self.bins.memory_bytes()
    }
    /// Adds to the bin of `now`. Time does not run backward.
    #[inline]
    pub fn add(&mut self, now: Time, value: u64) {
        while now >= self.end {
            self.bins.push(std::mem::take(&mut self.sum));
            self.end += self.width;
        }
        self.sum += value;
    }
    /// All bins that begin before `end`.
    pub fn finish(mut self, end: Time) -> Vec<u64> {
        self.add(Time::from_ps(end.ps().saturating_sub(1)), 0);
        self.bins.push(self.sum);
        self.bins.finished
    }
}

impl BinnedMax {
    /// Empty bins, as [`BinnedSum::new`].
    pub fn new(width: Time, duration: Time) -> BinnedMax {
        BinnedMax { width, end: width, level: 0, max: 0, bins: Bins::new(width, duration) }
    }
    /// Bytes of the bins and the value itself.
    pub fn memory_bytes(&self) -> usize {
        size_of::<BinnedMax>() + self.bins.memory_bytes()
    }
    /// The level becomes `level`.
    #[inline]
    pub fn set(&mut self, now: Time, level: u64) {
        while now >= self.end {
            self.bins.push(self.max);
            self.max = self.level;
            self.end += self.width;
        }
        self.level = level;
        self.max = self.max.max(level);
    }
    /// Whether the level was ever above zero.
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
    fn sums_by_bin() {
        let mut series = BinnedSum::new(Time::from_ns(10), Time::from_ns(40));
        series.add(Time::from_ns(9), 1);
        series.add(Time::from_ns(10), 2);
        series.add(Time::from_ns(31), 3);
        assert_eq!(series.finish(Time::from_ns(40)), [1, 2, 0, 3]);
    }

    #[test]
    fn a_level_stays_until_it_changes() {
        let mut series = BinnedMax::new(Time::from_ns(10), Time::from_ns(50));
        series.set(Time::from_ns(5), 7);
        series.set(Time::from_ns(25), 2);
        assert_eq!(series.finish(Time::from_ns(50)), [7, 7, 7, 2, 2]);
    }
}
