//! Latencies: exact mean, deviation and extremes, and percentiles from a histogram.
//!
//! The histogram is log-linear (`bins`): 32 bins per octave, so that the error of a percentile is at most 1/32 of its
//! value (linear interpolation within the bin is usually ten times better). It stores only the octaves that occurred. A
//! bin has two bytes; larger counts are rare, and their excess is stored separately. A histogram thus takes about 150
//! bytes per flow, whereas a general-purpose one of equal precision takes tens of kilobytes.

use crate::bins::{SUBS, edges, place};
use recurrence::{Counts, Growth};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::LazyLock;
use units::Time;

/// A collection of durations.
#[derive(Clone, Debug)]
pub struct Latency {
    count: u64,
    sum: Sum,
    /// Sum of squares in ps². 10^9 durations of 0.1 s stay below 2^123.
    squares: Sum,
    min: u64,
    max: u64,
    /// Octave of `bins[0..SUBS]`.
    base: u32,
    bins: Box<[u16]>,
    /// Excess of counts that overflow their bins.
    carried: Option<Box<Carries>>,
}

/// A sum without alignment padding, because there may be a histogram for each of a million flows.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, packed(8))]
struct Sum(u128);

impl Sum {
    #[inline(always)]
    fn add(&mut self, value: u128) {
        *self = Sum(self.get() + value);
    }
    #[inline(always)]
    fn get(self) -> u128 {
        self.0
    }
}

/// Number of overflows of a bin, by octave and bin within it. Each is 2^16 durations. Most histograms have none, hence
/// the indirection.
#[derive(Clone, Debug, Default)]
struct Carries(BTreeMap<(u32, usize), u64>);

/// Statistics of durations, in nanoseconds; all zero if there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencySummary {
    /// Number of durations.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Shortest.
    pub min: f64,
    /// Longest.
    pub max: f64,
    /// Standard deviation: jitter.
    pub stddev: f64,
}

/// Approximate memory of an entry in bytes.
const CARRY_BYTES: usize = size_of::<((u32, usize), u64)>() * 2;

impl Default for Latency {
    fn default() -> Latency {
        Latency {
            count: 0,
            sum: Sum(0),
            squares: Sum(0),
            min: u64::MAX,
            max: 0,
            base: 0,
            bins: Box::default(),
            carried: None,
        }
    }
}

impl Latency {
    /// Adds a duration.
    #[inline(always)]
    pub fn record(&mut self, duration: Time) {
        let ps = duration.ps();
        self.count += 1;
        self.sum.add(ps.into());
        self.squares.add(u128::from(ps) * u128::from(ps));
        if ps < self.min {
            self.min = ps;
        }
        if ps > self.max {
            self.max = ps;
        }
        let at = place(ps);
        // Below the first octave, the subtraction wraps to an index far beyond the last one.
        match self.bins.get_mut(at.wrapping_sub(self.base as usize * SUBS)) {
            Some(bin) => {
                *bin = bin.wrapping_add(1);
                if *bin == 0 {
                    self.carry((at / SUBS) as u32, at % SUBS);
                }
            }
            None => self.record_outside((at / SUBS) as u32, at % SUBS),
        }
    }

    /// Prefetches the bin of a duration that will be recorded soon.
    #[inline(always)]
    pub fn fetch(&self, duration: Time) {
        memory::fetch_at(&self.bins, place(duration.ps()).wrapping_sub(self.base as usize * SUBS));
    }

    /// Prefetches the bin of the minimum: most durations are in that bin, or in a neighbouring one.
    #[inline(always)]
    pub fn fetch_min(&self) {
        self.fetch(Time::from_ps(self.min));
    }

    #[cold]
    fn carry(&mut self, octave: u32, sub: usize) {
        *self.carried.get_or_insert_default().0.entry((octave, sub)).or_default() += 1;
    }

    #[cold]
    fn record_outside(&mut self, octave: u32, sub: usize) {
        self.make_room(octave);
        self.add_to(octave, sub, 1);
    }

    /// Adds durations to an existing bin.
    fn add_to(&mut self, octave: u32, sub: usize, count: u64) {
        let bin = &mut self.bins[(octave - self.base) as usize * SUBS + sub];
        let sum = u64::from(*bin) + count;
        *bin = sum as u16;
        if sum >> 16 > 0 {
            *self.carried.get_or_insert_default().0.entry((octave, sub)).or_default() += sum >> 16;
        }
    }

    /// Returns octave, bin within it, and count of all bins, in order.
    fn counts(&self) -> impl Iterator<Item = (u32, usize, u64)> {
        self.bins.iter().enumerate().map(|(place, &shown)| {
            let (octave, sub) = (self.base + (place / SUBS) as u32, place % SUBS);
            let carried = self.carried.as_ref().and_then(|carried| carried.0.get(&(octave, sub)));
            (octave, sub, u64::from(shown) + (carried.copied().unwrap_or(0) << 16))
        })
    }

    /// Returns the bins that are not empty, in ascending order: lower edge (inclusive), upper edge (exclusive), and
    /// number of durations.
    pub fn histogram(&self) -> impl Iterator<Item = (Time, Time, u64)> {
        self.counts().filter(|&(.., count)| count > 0).map(|(octave, sub, count)| {
            let (from, to) = edges(octave as usize * SUBS + sub);
            (Time::from_ps(from), Time::from_ps(to), count)
        })
    }

    fn make_room(&mut self, octave: u32) {
        if self.bins.is_empty() {
            self.base = octave;
        }
        let base = self.base.min(octave);
        let missing = (self.base - base) as usize * SUBS;
        let needed = ((octave - base) as usize + 1) * SUBS;
        if missing == 0 && needed <= self.bins.len() {
            return;
        }
        // Reserves the exact size instead of doubling, because there may be a histogram for each of a million flows.
        let mut bins = vec![0; needed.max(missing + self.bins.len())];
        bins[missing..missing + self.bins.len()].copy_from_slice(&self.bins);
        (self.base, self.bins) = (base, bins.into());
    }

    /// Adds the durations that were recorded since the copy `before`, this many times.
    fn repeat(&mut self, before: &Latency, times: u64) {
        let earlier: BTreeMap<_, _> =
            before.counts().map(|(octave, sub, count)| ((octave, sub), count)).collect();
        let now: Vec<_> = self.counts().collect();
        for (octave, sub, count) in now {
            let added = count - earlier.get(&(octave, sub)).copied().unwrap_or_default();
            if added > 0 {
                self.add_to(octave, sub, added * times);
            }
        }
        self.count += (self.count - before.count) * times;
        self.sum.add((self.sum.get() - before.sum.get()) * u128::from(times));
        self.squares.add((self.squares.get() - before.squares.get()) * u128::from(times));
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        let carries = self.carried.as_ref().map_or(0, |all| size_of::<Carries>() + all.0.len() * CARRY_BYTES);
        size_of_val(&*self.bins) + carries
    }

    /// Returns the number of durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Removes all durations, but keeps the memory.
    pub fn clear(&mut self) {
        let mut bins = std::mem::take(&mut self.bins);
        bins.fill(0);
        *self = Latency { bins, base: self.base, ..Latency::default() };
    }

    /// Adds another collection.
    pub fn merge(&mut self, other: &Latency) {
        self.count += other.count;
        self.sum.add(other.sum.get());
        self.squares.add(other.squares.get());
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        for (octave, sub, count) in other.counts().filter(|&(.., count)| count > 0) {
            self.make_room(octave);
            self.add_to(octave, sub, count);
        }
    }

    /// Returns the duration in picoseconds that a fraction `q` of all durations does not exceed. `zeros` is the number
    /// of durations of zero that were counted but not recorded.
    fn quantile(&self, q: f64, zeros: u64) -> f64 {
        let rank = q * (self.count + zeros) as f64 - zeros as f64;
        if rank <= 0.0 || self.count == 0 {
            return if zeros > 0 || self.count == 0 { 0.0 } else { self.min as f64 };
        }
        let mut below = 0.0;
        for (octave, sub, count) in self.counts() {
            let count = count as f64;
            if count > 0.0 && below + count >= rank {
                let (from, to) = edges(octave as usize * SUBS + sub);
                let value = from as f64 + (to - from) as f64 * (rank - below) / count;
                return value.clamp(self.min as f64, self.max as f64);
            }
            below += count;
        }
        self.max as f64
    }

    /// Returns the statistics.
    pub fn summary(&self) -> LatencySummary {
        self.summary_with_zeros(0)
    }

    /// Returns the statistics with `zeros` additional durations of zero: frames that did not wait are only counted.
    pub fn summary_with_zeros(&self, zeros: u64) -> LatencySummary {
        let count = self.count + zeros;
        if count == 0 {
            return LatencySummary::default();
        }
        let mean = self.sum.get() as f64 / count as f64;
        let variance = (self.squares.get() as f64 / count as f64 - mean * mean).max(0.0);
        let ps_a_ns = 1e3;
        LatencySummary {
            count,
            mean: mean / ps_a_ns,
            p50: self.quantile(0.50, zeros) / ps_a_ns,
            p90: self.quantile(0.90, zeros) / ps_a_ns,
            p99: self.quantile(0.99, zeros) / ps_a_ns,
            p999: self.quantile(0.999, zeros) / ps_a_ns,
            min: if zeros > 0 { 0.0 } else { self.min as f64 / ps_a_ns },
            max: self.max as f64 / ps_a_ns,
            stddev: variance.sqrt() / ps_a_ns,
        }
    }
}

/// A [`Latency`] that is often empty. It allocates memory for the first duration.
#[derive(Clone, Debug, Default)]
pub struct RareLatency(Option<Box<Latency>>);

impl RareLatency {
    /// Adds a duration.
    #[inline(always)]
    pub fn record(&mut self, duration: Time) {
        self.0.get_or_insert_default().record(duration);
    }
    /// Removes all durations, but keeps the memory.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(|latency| latency.clear());
    }
    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.0.iter().map(|latency| size_of::<Latency>() + latency.memory_bytes()).sum()
    }
}

impl Counts for Latency {
    fn advance(&mut self, growth: &mut Growth) {
        if let Some((before, periods)) = growth.kept(self) {
            self.repeat(&before, periods);
        }
    }
}

impl Counts for RareLatency {
    fn advance(&mut self, growth: &mut Growth) {
        if let Some((before, periods)) = growth.kept(&self.0)
            && let Some(own) = &mut self.0
        {
            own.repeat(&before.unwrap_or_default(), periods);
        }
    }
}

impl Deref for RareLatency {
    type Target = Latency;
    fn deref(&self) -> &Latency {
        static NONE: LazyLock<Latency> = LazyLock::new(Latency::default);
        self.0.as_deref().unwrap_or(&NONE)
    }
}

/// Collects durations in batches before they are added to their histogram. The bins of a batch are fetched
/// concurrently, whereas recording each duration alone would wait for memory each time.
#[derive(Clone, Debug, Default)]
pub struct LatencyByBatches {
    /// Durations that are not in the histogram yet, and their number.
    last: [Time; BATCH],
    waiting: usize,
    others: Latency,
}

/// Number of durations in a batch.
const BATCH: usize = 8;

impl LatencyByBatches {
    /// Adds a duration.
    #[inline(always)]
    pub fn record(&mut self, duration: Time) {
        self.last[self.waiting % BATCH] = duration;
        self.waiting += 1;
        if self.waiting == BATCH {
            self.put_in();
        }
    }

    #[inline(never)]
    fn put_in(&mut self) {
        self.last[..self.waiting].iter().for_each(|&one| self.others.record(one));
        self.waiting = 0;
    }

    /// Returns the histogram with all durations.
    pub fn all(&self) -> Latency {
        let mut all = self.clone();
        all.put_in();
        all.others
    }

    /// Removes all durations, but keeps the memory.
    pub fn clear(&mut self) {
        self.waiting = 0;
        self.others.clear();
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.others.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn uniform_percentiles() {
        let mut latency = Latency::default();
        (1..=100_000).for_each(|i| latency.record(Time::from_ps(i * 10)));
        let s = latency.summary();
        assert_eq!((s.count, s.min, s.max), (100_000, 0.01, 1000.0));
        assert!((s.mean - 500.005).abs() < 1e-9);
        for (got, exact) in [(s.p50, 500.0), (s.p90, 900.0), (s.p99, 990.0), (s.p999, 999.0)] {
            assert!((got / exact - 1.0).abs() < 2e-3, "{got} for {exact}");
        }
        assert!((s.stddev / (1000.0 / 12f64.sqrt()) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn a_histogram_has_each_duration_in_its_bin() {
        let mut latency = Latency::default();
        let durations = [3, 3, 40, 41, 1_000_000, 1_000_001];
        durations.iter().for_each(|&ps| latency.record(Time::from_ps(ps)));
        let bins: Vec<(u64, u64, u64)> =
            latency.histogram().map(|(from, to, count)| (from.ps(), to.ps(), count)).collect();
        // 2^19 to 2^20 in 32 bins of width 16384.
        assert_eq!(bins, [(3, 4, 2), (40, 41, 1), (41, 42, 1), (999_424, 1_015_808, 2)]);
    }

    #[test]
    fn zeros_count() {
        let mut latency = Latency::default();
        latency.record(Time::from_ns(10));
        let s = latency.summary_with_zeros(9);
        assert_eq!((s.count, s.mean, s.p50, s.p90, s.min, s.max), (10, 1.0, 0.0, 0.0, 0.0, 10.0));
        assert!(s.p99 > 9.0);
        assert_eq!(Latency::default().summary(), LatencySummary::default());
    }

    #[test]
    fn a_bin_holds_more_than_two_bytes() {
        let mut many = Latency::default();
        let more = 200_000;
        (0..more).for_each(|_| many.record(Time::from_ns(1)));
        many.record(Time::from_ns(100));
        let all = |latency: &Latency| latency.counts().map(|(.., count)| count).sum::<u64>();
        assert_eq!((all(&many), many.count()), (more + 1, more + 1));
        assert_eq!(many.histogram().map(|(.., count)| count).collect::<Vec<_>>(), [more, 1]);
        let mut twice = many.clone();
        twice.merge(&many);
        assert_eq!((all(&twice), twice.count()), (2 * more + 2, 2 * more + 2));
        assert_eq!(twice.histogram().map(|(.., count)| count).collect::<Vec<_>>(), [2 * more, 2]);
        twice.clear();
        assert_eq!((all(&twice), twice.memory_bytes()), (0, size_of_val(&*many.bins)));
        let at = many.summary().p999;
        assert!((0.9..=1.1).contains(&at), "{at}");
    }

    proptest! {
        /// The durations of a period, added for each skipped period, give the same result as recording all of them.
        #[test]
        fn a_period_that_is_repeated_counts_as_if_it_was_recorded(
            before in proptest::collection::vec(1u64..1_000_000, 0..50),
            period in proptest::collection::vec(1u64..10_000_000, 0..50),
            times in 0u64..3_000,
        ) {
            let mut latency = Latency::default();
            before.iter().for_each(|&ps| latency.record(Time::from_ps(ps)));
            let mut growth = Growth::new(Time::ZERO);
            latency.advance(&mut growth);
            period.iter().for_each(|&ps| latency.record(Time::from_ps(ps)));
            let mut whole = latency.clone();
            for _ in 0..times {
                period.iter().for_each(|&ps| whole.record(Time::from_ps(ps)));
            }
            growth.repeat(Time::ZERO, (times, Time::ZERO));
            latency.advance(&mut growth);
            prop_assert_eq!(latency.summary(), whole.summary());
            prop_assert!(latency.histogram().eq(whole.histogram()));
        }
    }

    proptest! {
        #[test]
        fn percentiles_are_right_to_a_bin(mut values in proptest::collection::vec(0u64..1 << 50, 1..400)) {
            let mut latency = Latency::default();
            values.iter().for_each(|&v| latency.record(Time::from_ps(v)));
            values.sort_unstable();
            for (q, got) in [(0.5, latency.quantile(0.5, 0)), (0.9, latency.quantile(0.9, 0)), (0.99, latency.quantile(0.99, 0))] {
                let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
                let exact = values[rank - 1] as f64;
                prop_assert!((got - exact).abs() <= exact / 32.0 + 1.0, "{} for {} at {}", got, exact, q);
            }
            let half = values.len() / 2;
            let (mut a, mut b) = (Latency::default(), Latency::default());
            values[..half].iter().for_each(|&v| a.record(Time::from_ps(v)));
            values[half..].iter().for_each(|&v| b.record(Time::from_ps(v)));
            a.merge(&b);
            prop_assert_eq!(a.summary(), latency.summary());
        }

        #[test]
        fn batches_hold_what_came_one_by_one(values in proptest::collection::vec(0u64..1 << 40, 0..40), cut in 0usize..40) {
            let (mut batches, mut alone) = (LatencyByBatches::default(), Latency::default());
            for (nth, &value) in values.iter().enumerate() {
                if nth == cut {
                    batches.clear();
                    alone.clear();
                }
                batches.record(Time::from_ps(value));
                alone.record(Time::from_ps(value));
            }
            let all = batches.all();
            prop_assert_eq!((all.summary(), all.count()), (alone.summary(), alone.count()));
        }
    }
}
