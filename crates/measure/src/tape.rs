//! Bins of skipped periods.
//!
//! Where the same frames pass period after period, one period is recorded with a resolution that suits the bins of all
//! following ones: at the edges of these bins, each relative to the start of its period. The bits in a bin are then the
//! difference of two sums, and its maximum level is the maximum of a range. The work is proportional to the number of
//! bins, not of frames, and the width of the bins need not divide the period.

use crate::passage::Passage;
use std::collections::BTreeMap;
use units::Time;

/// Recording of a period. Positions are relative to one period before its start, because a frame may have started to
/// pass before.
#[derive(Clone, Debug)]
pub(crate) struct Tape {
    begin: u64,
    pub(crate) period: u64,
    /// Maximum number of periods that may be skipped.
    pub(crate) most: u64,
    /// Sorted positions of the edges of bins.
    edges: Vec<u64>,
    /// By column: the bits between each edge and the previous one, and those after the last edge.
    bits: BTreeMap<u32, Vec<u64>>,
    levels: BTreeMap<u32, LevelTape>,
    /// False if a frame took longer than a period to pass.
    pub(crate) is_complete: bool,
}

/// Maximum levels between edges.
#[derive(Clone, Debug)]
struct LevelTape {
    /// Number of edges that have been passed.
    passed: usize,
    level: [u64; 2],
    max: [u64; 2],
    between: [Vec<u64>; 2],
}

/// Edges of the bins of skipped periods: number of the bin that ends there, and time since the start of the first
/// period.
pub(crate) struct Edges {
    /// Bin that ends at each edge. The last bin ends with the last period.
    bins: Vec<(u32, i128)>,
    periods: i128,
}

/// Part of a period: indices of the edges at its start and its end; `None` for the start or the end of the period.
type Part = (Option<usize>, Option<usize>);

impl Edges {
    /// Returns the edges of bins of a width, from one period before `first` (the start of the first period) to the end
    /// of `periods` periods.
    pub fn new(width: u64, first: u64, period: u64, periods: u64) -> Edges {
        let (width, first, end) =
            (i128::from(width), i128::from(first), i128::from(period) * i128::from(periods));
        let from = (first - i128::from(period)).max(0);
        let inner = (from / width..).map(|bin| (bin as u32, (bin + 1) * width - first));
        let mut bins: Vec<_> = inner.take_while(|(_, at)| *at < end).collect();
        bins.push((((first + end - 1) / width) as u32, end));
        Edges { bins, periods: periods.into() }
    }

    /// Returns the number of the period that contains a time, from 0, and the time since its start.
    fn split(at: i128, period: u64) -> (i128, u64) {
        (at.div_euclid(period.into()), at.rem_euclid(period.into()) as u64)
    }
}

impl Tape {
    /// Starts recording a period, for the bins of the periods that follow it.
    pub fn new(begin: u64, period: u64, edges: &Edges) -> Tape {
        let most = edges.periods as u64;
        let inner = edges.bins.iter().map(|&(_, at)| Edges::split(at, period).1);
        let mut edges: Vec<u64> = inner.flat_map(|from| [from, from + period]).collect();
        edges.sort_unstable();
        edges.dedup();
        let (bits, levels) = Default::default();
        Tape { begin, period, most, edges, bits, levels, is_complete: true }
    }

    fn position(&self, time: u64) -> u64 {
        (time + self.period).saturating_sub(self.begin)
    }

    /// Records a frame that ends within the period.
    pub fn pass(&mut self, column: u32, frame: Passage) {
        let end = frame.end.ps();
        let start = end.saturating_sub(frame.took.ps().max(1));
        self.is_complete &= start + self.period >= self.begin;
        let (from, to) = (self.position(start), self.position(end));
        let between = self.bits.entry(column).or_insert_with(|| vec![0; self.edges.len() + 1]);
        let (mut nth, mut before) = (self.edges.partition_point(|&edge| edge <= from), 0);
        while let Some(&edge) = self.edges.get(nth).filter(|&&edge| edge < to) {
            let passed = frame.passed(Time::from_ps((edge + self.begin).saturating_sub(self.period)));
            between[nth] += passed - before;
            (before, nth) = (passed, nth + 1);
        }
        between[nth] += frame.bits - before;
    }

    /// Records that the levels of a column and of the next one change at a time within the period.
    pub fn set(&mut self, column: u32, now: u64, before: [u64; 2], after: [u64; 2]) {
        let position = self.position(now);
        let edges = &self.edges;
        let own = self.levels.entry(column).or_insert_with(|| LevelTape {
            passed: edges.partition_point(|&edge| edge <= self.period),
            level: before,
            max: before,
            between: [0, 1].map(|_| vec![0; edges.len() + 1]),
        });
        while edges.get(own.passed).is_some_and(|&edge| edge <= position) {
            own.end_bin();
            own.passed += 1;
        }
        own.note(after);
    }

    /// Adds the bits of each bin and column in the skipped periods. Called at the end of the period.
    pub fn bits(&self, edges: &Edges, mut add: impl FnMut(u32, u32, u64)) {
        // Number of complete periods before each edge, and the edges up to which partial periods extend.
        let at = |from: u64| self.edges.binary_search(&from).ok();
        let places = edges.bins.iter().map(|&(bin, time)| {
            let (period, from) = Edges::split(time, self.period);
            let within = |nth: i128| (0..edges.periods).contains(&nth);
            let parts = [(period, from + self.period), (period + 1, from)];
            (bin, period.max(0) as u64, parts.map(|(nth, from)| at(from).filter(|_| within(nth))))
        });
        let places = places.collect::<Vec<_>>();
        for (&column, between) in &self.bits {
            let sums: Vec<u64> = between
                .iter()
                .scan(0, |sum, bits| {
                    *sum += bits;
                    Some(*sum)
                })
                .collect();
            let total = sums.last().copied().unwrap_or(0);
            let mut before = 0;
            for &(bin, periods, parts) in &places {
                let passed = periods * total + parts.iter().flatten().map(|&nth| sums[nth]).sum::<u64>();
                if passed > before {
                    add(bin, column, passed - before);
                }
                before = passed;
            }
        }
    }

    /// Raises each bin and column to the maximum level in the skipped periods. Called at the end of the period.
    pub fn levels(&mut self, edges: &Edges, mut raise: impl FnMut(u32, u32, u64)) {
        let parts = self.parts_of_bins(edges);
        let first = self.edges.partition_point(|&edge| edge <= self.period);
        for (&column, own) in &mut self.levels {
            own.end_bin();
            for (column, between) in (column..).zip(&own.between) {
                let maxima = Maxima::new(between[first..].to_vec());
                for (bin, parts) in &parts {
                    let part = |&(from, to): &Part| {
                        maxima.of(
                            from.map_or(0, |nth| nth + 1 - first),
                            to.map_or(between.len() - first, |nth| nth + 1 - first),
                        )
                    };
                    let max = parts.iter().map(part).max().unwrap_or(0);
                    if max > 0 {
                        raise(*bin, column, max);
                    }
                }
            }
        }
    }

    /// Returns the parts of periods in each bin: a part of one period; or the end of one period and the start of the
    /// next; or a whole period, which covers all other parts.
    fn parts_of_bins(&self, edges: &Edges) -> Vec<(u32, Vec<Part>)> {
        let mut all = Vec::new();
        let mut before = (0, None);
        for &(bin, time) in edges.bins.iter().filter(|(_, time)| *time > 0) {
            let (period, from) = Edges::split(time, self.period);
            let at = if from == 0 { None } else { self.edges.binary_search(&(from + self.period)).ok() };
            let parts = match period - before.0 {
                _ if (period, at) == before => Vec::new(),
                0 => vec![(before.1, at)],
                1 if at.is_none() => vec![(before.1, None)],
                1 => vec![(before.1, None), (None, at)],
                _ => vec![(None, None)],
            };
            all.push((bin, parts));
            before = (period, at);
        }
        all
    }
}

impl LevelTape {
    fn end_bin(&mut self) {
        for (between, max) in self.between.iter_mut().zip(self.max) {
            between[self.passed] = max;
        }
        self.max = self.level;
    }

    fn note(&mut self, level: [u64; 2]) {
        self.level = level;
        self.max = [self.max[0].max(level[0]), self.max[1].max(level[1])];
    }
}

/// Maxima of ranges: row k has the maxima of 2^k consecutive values each.
struct Maxima(Vec<Vec<u64>>);

impl Maxima {
    fn new(values: Vec<u64>) -> Maxima {
        let mut rows = vec![values];
        while let Some(last) = rows.last().filter(|row| row.len() > 1 << (rows.len() - 1)) {
            let half = 1 << (rows.len() - 1);
            let next = last.iter().zip(&last[half..]).map(|(&one, &other)| one.max(other)).collect();
            rows.push(next);
        }
        Maxima(rows)
    }

    /// Returns the maximum of a range; 0 if it is empty.
    fn of(&self, from: usize, to: usize) -> u64 {
        let Some(row) = (to - from).checked_ilog2() else { return 0 };
        let own = &self.0[row as usize];
        own[from].max(own[to - (1 << row)])
    }
}

#[cfg(test)]
mod tests {
    use crate::{Grid, Passage, RunningBits, RunningLevels};
    use proptest::prelude::*;
    use units::Time;

    fn ps(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    /// Two places whose frames and levels are the same in each period.
    #[derive(Debug)]
    struct Run<'a> {
        period: u64,
        /// Place, end, duration and bits of each frame.
        frames: &'a [(usize, u64, u64, u64)],
        levels: &'a [(usize, u64, u64)],
        grid: Grid,
        bits: [RunningBits; 2],
        queues: [RunningLevels; 2],
        now: u64,
    }

    impl Run<'_> {
        /// Plays one more period.
        fn play(&mut self) {
            self.grid.stop_at(ps(self.now + self.period));
            for &(place, end, took, bits) in self.frames {
                let frame = Passage { end: ps(self.now + end), took: ps(took), bits };
                self.bits[place].pass(frame, &mut self.grid);
            }
            for &(place, at, level) in self.levels {
                self.queues[place].set(ps(self.now + at), [level, level / 2], &mut self.grid);
            }
            self.now += self.period;
        }

        fn invalidate(&mut self) {
            self.bits.iter_mut().for_each(RunningBits::invalidate);
        }

        fn leave_out(&mut self, periods: u64) {
            let now = ps(self.now);
            for queue in &mut self.queues {
                queue.set(now, queue.level(), &mut self.grid);
            }
            assert!(self.grid.recorded_periods(ps(self.period)) >= periods);
            self.grid.leave_out(now, ps(self.period), periods);
            self.invalidate();
            self.queues.iter_mut().for_each(|queue| queue.resume(now, &mut self.grid));
        }

        fn series(&self, end: u64) -> Vec<Vec<u64>> {
            let bits = self.bits.iter().map(|own| own.bins(&self.grid, ps(end)));
            let queues =
                self.queues.iter().flat_map(|own| [0, 1].map(|nth| own.bins(nth, &self.grid, ps(end))));
            bits.chain(queues).collect()
        }
    }

    proptest! {
        /// For any width, the bins of skipped periods equal those of a complete run.
        #[test]
        fn bins_are_those_of_the_whole_run(
            (width, period) in (1u64..3000, 10u64..2000),
            frames in proptest::collection::vec((0usize..2, any::<u64>(), any::<u64>(), 1u64..900), 0..12),
            levels in proptest::collection::vec((0usize..2, any::<u64>(), 0u64..5), 0..12),
            (before, most, left_out, after) in (1u64..3, 0u64..9, 0u64..40, 0u64..4),
            again in any::<bool>(),
        ) {
            let frames: Vec<_> = frames.into_iter().map(|(place, end, took, bits)| {
                let end = 1 + end % (2 * period - 1);
                (place, end, took % (period.min(end) + 1), bits)
            }).collect();
            let mut levels: Vec<_> =
                levels.into_iter().map(|(place, at, level)| (place, at % period, level)).collect();
            levels.sort_by_key(|own| own.1);
            let run = || {
                let grid = Grid::new(ps(width), Time::ZERO);
                let bits = [RunningBits::default(); 2];
                let queues = [RunningLevels::new(Some(&grid)); 2];
                Run { period, frames: &frames, levels: &levels, grid, bits, queues, now: 0 }
            };
            let (mut whole, mut short) = (run(), run());
            let skips = if again { 2 } else { 1 };
            for _ in 0..skips * (before + 1 + left_out) + after {
                whole.play();
            }
            for _ in 0..skips {
                (0..before).for_each(|_| short.play());
                short.grid.record_period(ps(short.now), ps(period), left_out + most);
                short.invalidate();
                short.play();
                short.leave_out(left_out);
            }
            (0..after).for_each(|_| short.play());
            prop_assert_eq!(short.now + skips * left_out * period, whole.now);
            prop_assert_eq!(short.series(whole.now), whole.series(whole.now));
        }
    }
}
