//! Time series in bins of equal width.

use std::collections::VecDeque;
use units::Time;

/// Bits that pass in each bin.
#[derive(Clone, Debug)]
pub struct BinnedBits {
    width: Time,
    /// Empty before the first frame: a series without any takes no memory.
    bins: Vec<u64>,
    expected: usize,
    /// The bin that was last added to, and where it ends.
    at: usize,
    end: Time,
}

/// A frame that passes a place bit by bit, at an even rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// When its last bit has passed.
    pub end: Time,
    /// How long all of them take; zero: they pass at once.
    pub took: Time,
    /// How many there are.
    pub bits: u64,
}

/// What a link carries, frame after frame. No frame begins before the one before has passed.
#[derive(Clone, Debug)]
pub struct Carried {
    bits: BinnedBits,
    /// The frame carried last, which may be taken back.
    last: Passage,
    /// Those before it that had not passed when the next one came.
    coming: VecDeque<Passage>,
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

impl Passage {
    /// No frame.
    const NONE: Passage = Passage { end: Time::ZERO, took: Time::ZERO, bits: 0 };

    /// When its first bit began; at zero, if a clock that runs slow puts it before.
    pub fn start(&self) -> Time {
        self.end.saturating_sub(self.took)
    }

    /// Bits that have passed as a whole by `time`.
    fn passed(&self, time: Time) -> u64 {
        let left = self.end.saturating_sub(time);
        if left == Time::ZERO {
            return self.bits;
        }
        if left >= self.took {
            return 0;
        }
        let (bits, left, took) = (u128::from(self.bits), u128::from(left.ps()), u128::from(self.took.ps()));
        self.bits - (bits * left).div_ceil(took) as u64
    }
}

impl BinnedBits {
    /// Nothing is recorded.
    pub const OFF: BinnedBits =
        BinnedBits { width: Time::ZERO, bins: Vec::new(), expected: 0, at: 0, end: Time::ZERO };

    /// Width of the bins, unless nothing is recorded.
    pub fn width(&self) -> Option<Time> {
        (self.width > Time::ZERO).then_some(self.width)
    }
    /// Empty bins of `width` (above zero) from time zero.
    pub fn new(width: Time, duration: Time) -> BinnedBits {
        let expected = duration.ps().div_ceil(width.ps()) as usize + 1;
        BinnedBits { width, bins: Vec::new(), expected, at: 0, end: width }
    }
    /// Bytes of the bins and the value itself.
    pub fn memory_bytes(&self) -> usize {
        size_of::<BinnedBits>() + self.bins.capacity() * size_of::<u64>()
    }

    /// Adds a frame: a bit counts in the bin in which the last of it passes, at its very end at the latest.
    #[inline]
    pub fn add(&mut self, frame: Passage) {
        // Mostly, all of it is in the bin of the frame before.
        if frame.end <= self.end && frame.start() + self.width >= self.end && !self.bins.is_empty() {
            self.bins[self.at] += frame.bits;
        } else {
            self.add_until(frame, frame.end);
        }
    }

    /// The same for the bits that have passed by `until` alone.
    pub fn add_until(&mut self, frame: Passage, until: Time) {
        if self.width == Time::ZERO {
            return;
        }
        if self.bins.is_empty() {
            self.bins.resize(self.expected, 0);
        }
        let start = frame.start();
        // What takes no time at an edge is of the bin that ends there.
        let first = if frame.took == Time::ZERO { start.ps().saturating_sub(1) } else { start.ps() };
        let mut at = (first / self.width.ps()) as usize;
        let mut before = 0;
        let last = frame.end.min(until);
        loop {
            let edge = self.width * (at as u64 + 1);
            let passed = frame.passed(edge.min(last));
            if self.bins.len() <= at {
                self.bins.resize(at + 1, 0);
            }
            self.bins[at] += passed - before;
            (self.at, self.end, before) = (at, edge, passed);
            if edge >= last {
                return;
            }
            at += 1;
        }
    }

    /// All bins that begin before `end`.
    pub fn finish(mut self, end: Time) -> Vec<u64> {
        self.bins.resize((end.ps().div_ceil(self.width.ps()) as usize).max(1), 0);
        self.bins
    }
}

impl Carried {
    /// Nothing is recorded.
    pub const OFF: Carried = Carried { bits: BinnedBits::OFF, last: Passage::NONE, coming: VecDeque::new() };

    /// Width of the bins, unless nothing is recorded.
    pub fn width(&self) -> Option<Time> {
        self.bits.width()
    }
    /// Nothing so far, in bins of `width`.
    pub fn new(width: Time, duration: Time) -> Carried {
        Carried { bits: BinnedBits::new(width, duration), last: Passage::NONE, coming: VecDeque::new() }
    }
    /// Bytes of the bins, of what is on the link and of the value itself.
    pub fn memory_bytes(&self) -> usize {
        self.bits.memory_bytes() + self.coming.capacity() * size_of::<Passage>()
    }

    /// One more frame; it is `now`.
    #[inline]
    pub fn carry(&mut self, frame: Passage, now: Time) {
        if self.bits.width == Time::ZERO {
            return;
        }
        // Mostly, the frame before has passed, and nothing else is on its way.
        if self.last.end <= now && self.coming.is_empty() {
            if self.last.bits > 0 {
                self.bits.add(self.last);
            }
        } else {
            self.keep_last(now);
        }
        self.last = frame;
    }

    /// The frame carried last is not the last any more, and has not passed.
    #[inline(never)]
    fn keep_last(&mut self, now: Time) {
        while let Some(&first) = self.coming.front()
            && first.end <= now
        {
            self.bits.add(first);
            self.coming.pop_front();
        }
        if self.last.bits > 0 {
            self.coming.push_back(self.last);
        }
    }

    /// The frame carried last does not get there.
    pub fn take_back(&mut self) {
        self.last = Passage::NONE;
    }

    /// Bits in all bins that begin before `end`, as far as they have passed by then.
    pub fn finish(&self, end: Time) -> Vec<u64> {
        let mut bits = self.bits.clone();
        let on_the_way = self.coming.iter().chain([&self.last]);
        for &frame in on_the_way.filter(|frame| frame.bits > 0 && frame.start() < end) {
            bits.add_until(frame, end);
        }
        bits.finish(end)
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
    /// Empty bins, as [`BinnedBits::new`].
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
        self.note(level);
    }
    /// The same before [`BinnedMax::end`].
    #[inline]
    pub fn note(&mut self, level: u64) {
        self.level = level;
        self.max = self.max.max(level);
    }
    /// When the present bin ends.
    pub fn end(&self) -> Time {
        self.end
    }
    /// The level.
    pub fn level(&self) -> u64 {
        self.level
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
    use proptest::prelude::*;

    fn ns(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    #[test]
    fn a_frame_is_spread_over_the_time_it_takes() {
        let mut series = BinnedBits::new(ns(10), ns(40));
        // 30 bits from 5 to 35 ns, one a nanosecond; a bit that ends with a bin is of that bin.
        series.add(Passage { end: ns(35), took: ns(30), bits: 30 });
        assert_eq!(series.clone().finish(ns(40)), [5, 10, 10, 5]);
        // All at once, on an edge and behind it.
        series.add(Passage { end: ns(10), took: Time::ZERO, bits: 100 });
        series.add(Passage { end: Time::from_ps(10_001), took: Time::ZERO, bits: 1000 });
        assert_eq!(series.finish(ns(31)), [105, 1010, 10, 5]);
    }

    #[test]
    fn what_is_on_the_link_counts_as_far_as_it_has_come() {
        let mut link = Carried::new(ns(10), ns(40));
        link.carry(Passage { end: ns(12), took: ns(8), bits: 8 }, ns(4));
        link.carry(Passage { end: ns(24), took: ns(12), bits: 24 }, ns(12));
        assert_eq!(link.finish(ns(12)), [6, 2]);
        assert_eq!(link.finish(ns(15)), [6, 2 + 6]);
        assert_eq!(link.finish(ns(21)), [6, 2 + 16, 2]);
        link.take_back();
        assert_eq!(link.finish(ns(40)), [6, 2, 0, 0]);
    }

    proptest! {
        /// Frames back to back, with remainders of picoseconds: no bin holds more than the link can carry, and all bits
        /// are somewhere, whatever the bins.
        #[test]
        fn no_bin_is_fuller_than_the_link(
            frames in proptest::collection::vec((64u64..2000, 0u64..3), 1..60),
            (bits_per_us, width_ns) in (1u64..400, 1u64..5000),
        ) {
            // 20 B around each frame, as on Ethernet.
            let ps = |bytes: u64| (bytes * 8 * 1_000_000).div_ceil(bits_per_us);
            let width = Time::from_ns(width_ns);
            let (mut now, mut sent) = (0, 0);
            let mut link = Carried::new(width, Time::from_us(10));
            for (bytes, gap) in frames {
                let start = now + gap * 1000;
                let end = start + ps(bytes + 20) - u64::from(bytes % 2 == 0 && bits_per_us % 2 == 1);
                let frame = Passage { end: Time::from_ps(end), took: Time::from_ps(ps(bytes)), bits: bytes * 8 };
                link.carry(frame, Time::from_ps(start));
                (now, sent) = (end, sent + bytes * 8);
            }
            let bins = link.finish(Time::from_ps(now));
            prop_assert_eq!(bins.iter().sum::<u64>(), sent);
            let most = (width_ns * bits_per_us).div_ceil(1000);
            prop_assert!(bins.iter().all(|&bits| bits <= most), "{:?} > {}", bins, most);
        }
    }

    #[test]
    fn a_level_stays_until_it_changes() {
        let mut series = BinnedMax::new(Time::from_ns(10), Time::from_ns(50));
        series.set(Time::from_ns(5), 7);
        series.set(Time::from_ns(25), 2);
        assert_eq!(series.finish(Time::from_ns(50)), [7, 7, 7, 2, 2]);
    }
}
