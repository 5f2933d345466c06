//! Time series in bins of equal width.

use crate::passage::{Passage, Train};
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

/// What a link carries, frame after frame, as its sender sends it and as its receiver gets it. No frame begins before the
/// one before has been sent.
#[derive(Clone, Debug)]
pub struct Carried {
    sent: BinnedBits,
    received: BinnedBits,
    /// From one end to the other.
    delay: Time,
    /// The frames sent last.
    last: Train,
    /// The very last of them does not get there.
    broken: bool,
    /// At the receiver, those before them that had not passed when the next one was sent.
    coming: VecDeque<Train>,
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
        if self.is_in_last(frame.start(), frame.end) {
            self.bins[self.at] += frame.bits;
        } else {
            self.add_until(&Train::of(frame), frame.end);
        }
    }

    /// Adds frames.
    #[inline]
    fn add_train(&mut self, frames: &Train) {
        if self.is_in_last(frames.start(), frames.end()) {
            self.bins[self.at] += frames.bits();
        } else {
            self.add_until(frames, frames.end());
        }
    }

    /// Whether all that passes between two times does so in the bin that was last added to.
    #[inline(always)]
    fn is_in_last(&self, start: Time, end: Time) -> bool {
        end <= self.end && start + self.width >= self.end && !self.bins.is_empty()
    }

    /// Adds the bits of frames that have passed by `until`.
    pub fn add_until(&mut self, frames: &Train, until: Time) {
        if self.width == Time::ZERO {
            return;
        }
        if self.bins.is_empty() {
            self.bins.resize(self.expected, 0);
        }
        let start = frames.start().ps();
        // What takes no time at an edge is of the bin that ends there.
        let first = if frames.takes_no_time() { start.saturating_sub(1) } else { start };
        let mut at = (first / self.width.ps()) as usize;
        let mut before = 0;
        let last = frames.end().min(until);
        loop {
            let edge = self.width * (at as u64 + 1);
            let passed = frames.passed(edge.min(last));
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
    pub const OFF: Carried = Carried::new(BinnedBits::OFF, BinnedBits::OFF, Time::ZERO);

    /// Nothing so far, at the two ends of a link with a delay.
    pub const fn new(sent: BinnedBits, received: BinnedBits, delay: Time) -> Carried {
        Carried { sent, received, delay, last: Train::NONE, broken: false, coming: VecDeque::new() }
    }
    /// Width of the bins at the sender and at the receiver, unless nothing is recorded there.
    pub fn widths(&self) -> [Option<Time>; 2] {
        [self.sent.width(), self.received.width()]
    }
    /// Bytes of the bins, of what is on the link and of the value itself.
    pub fn memory_bytes(&self) -> usize {
        let bins = self.sent.bins.capacity() + self.received.bins.capacity();
        size_of::<Carried>() + bins * size_of::<u64>() + self.coming.capacity() * size_of::<Train>()
    }

    /// One more frame; it is `now`.
    #[inline(always)]
    pub fn carry(&mut self, frame: Passage, now: Time) {
        // Mostly, a link is busy with equal frames.
        if self.broken || !self.last.couple(&frame) {
            self.begin(frame, now);
        }
    }

    /// A frame unlike those before, or at another distance.
    #[inline(never)]
    fn begin(&mut self, frame: Passage, now: Time) {
        if self.widths() == [None; 2] {
            return;
        }
        while let Some(first) = self.coming.front()
            && first.end() <= now
        {
            self.received.add_train(first);
            self.coming.pop_front();
        }
        let arriving = self.last_at_receiver();
        if !self.last.is_empty() {
            self.sent.add_train(&self.last);
        }
        (self.last, self.broken) = (Train::of(frame), false);
        if arriving.is_empty() || self.received.width == Time::ZERO {
            return;
        }
        if arriving.end() <= now && self.coming.is_empty() {
            self.received.add_train(&arriving);
        } else {
            self.coming.push_back(arriving);
        }
    }

    /// The frames sent last as they pass at the receiver.
    fn last_at_receiver(&self) -> Train {
        let mut last = self.last.delayed(self.delay);
        if self.broken {
            last.uncouple();
        }
        last
    }

    /// The frame sent last does not get there.
    pub fn lose_last(&mut self) {
        self.broken = true;
    }

    /// Bits sent in all bins that begin before `end`, as far as they have passed by then.
    pub fn sent(&self, end: Time) -> Vec<u64> {
        finish(&self.sent, [&self.last].into_iter(), end)
    }

    /// Bits received in all bins that begin before `end`.
    pub fn received(&self, end: Time) -> Vec<u64> {
        finish(&self.received, self.coming.iter().chain([&self.last_at_receiver()]), end)
    }
}

/// Bins with what is on its way, as far as it has passed by `end`.
fn finish<'a>(bits: &BinnedBits, on_the_way: impl Iterator<Item = &'a Train>, end: Time) -> Vec<u64> {
    let mut bits = bits.clone();
    for frames in on_the_way.filter(|frames| !frames.is_empty() && frames.start() < end) {
        bits.add_until(frames, end);
    }
    bits.finish(end)
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
    /// As `set`, before [`BinnedMax::end`].
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
        let series = BinnedBits::new(ns(10), ns(60));
        let mut link = Carried::new(series.clone(), series, ns(15));
        link.carry(Passage { end: ns(12), took: ns(8), bits: 8 }, ns(4));
        link.carry(Passage { end: ns(24), took: ns(12), bits: 24 }, ns(12));
        assert_eq!(link.sent(ns(12)), [6, 2]);
        assert_eq!(link.sent(ns(15)), [6, 2 + 6]);
        assert_eq!(link.sent(ns(21)), [6, 2 + 16, 2]);
        assert_eq!(link.received(ns(21)), [0, 1, 1]);
        assert_eq!(link.received(ns(30)), [0, 1, 7 + 6]);
        link.lose_last();
        assert_eq!(link.sent(ns(30)), [6, 2 + 16, 8]);
        assert_eq!(link.received(ns(60)), [0, 1, 7, 0, 0, 0]);
        link.carry(Passage { end: ns(40), took: ns(12), bits: 24 }, ns(30));
        assert_eq!(link.sent(ns(60)), [6, 2 + 16, 8 + 4, 20, 0, 0]);
        assert_eq!(link.received(ns(60)), [0, 1, 7, 0, 14, 10]);
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
            let series = BinnedBits::new(width, Time::from_us(10));
            let mut link = Carried::new(series.clone(), series, Time::from_ns(700));
            for (bytes, gap) in frames {
                let start = now + gap * 1000;
                let end = start + ps(bytes + 20) - u64::from(bytes % 2 == 0 && bits_per_us % 2 == 1);
                let frame = Passage { end: Time::from_ps(end), took: Time::from_ps(ps(bytes)), bits: bytes * 8 };
                link.carry(frame, Time::from_ps(start));
                (now, sent) = (end, sent + bytes * 8);
            }
            let most = (width_ns * bits_per_us).div_ceil(1000);
            let end = Time::from_ps(now);
            for bins in [link.sent(end), link.received(end + Time::from_ns(700))] {
                prop_assert_eq!(bins.iter().sum::<u64>(), sent);
                prop_assert!(bins.iter().all(|&bits| bits <= most), "{:?} > {}", bins, most);
            }
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
