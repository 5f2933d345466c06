//! Time series of many places, in bins of a common width.
//!
//! The current bin is stored with the place itself. A bin that has ended is moved to a [`Grid`], which has a row for
//! each time, and a column for each place with traffic. Places whose bins end at the same time thus write to adjacent
//! memory. A grid with a row per place takes twice as long at 1,024 hosts.

use crate::passage::Passage;
use crate::tape::{Edges, Tape};
use std::collections::BTreeMap;
use units::Time;

/// No column.
const NONE: u32 = u32::MAX;
/// Number of columns by which a row grows.
const COLUMNS: usize = 64;

/// Bins that have ended.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Width in picoseconds, above zero.
    width: u64,
    /// Earliest time at which the run may end, in picoseconds. Passages that end later are kept in `late`, since they
    /// may not be complete by then.
    stop: u64,
    columns: u32,
    rows: Vec<Vec<u64>>,
    /// Passages that end after `stop`, by column.
    late: BTreeMap<u32, Vec<Passage>>,
    /// Total duration of the skipped periods in picoseconds. Bins are counted from this long before time zero.
    left_out: u64,
    /// Recording of a period that may be repeated.
    tape: Option<Box<Tape>>,
}

/// Number of bits that have passed a place in the current bin.
#[derive(Clone, Copy, Debug)]
pub struct RunningBits {
    /// End of the bin in picoseconds; 0 if every frame takes the slow path.
    end: u64,
    bits: u64,
    bin: u32,
    column: u32,
}

/// Maxima of two levels in the current bin.
#[derive(Clone, Copy, Debug)]
pub struct RunningLevels {
    end: Time,
    level: [u64; 2],
    max: [u64; 2],
    bin: u32,
    column: u32,
}

impl Grid {
    /// Creates a grid without bins. `width` must be above zero. `stop` is the earliest time at which the run may end.
    pub fn new(width: Time, stop: Time) -> Grid {
        let (width, stop) = (width.ps(), stop.ps());
        Grid { width, stop, columns: 0, rows: Vec::new(), late: BTreeMap::new(), left_out: 0, tape: None }
    }

    /// Returns the width of the bins.
    pub fn width(&self) -> Time {
        Time::from_ps(self.width)
    }

    /// Memory of the bins, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.rows.iter().map(|row| size_of::<Vec<u64>>() + row.capacity() * size_of::<u64>()).sum()
    }

    /// Sets the earliest time at which the run may end.
    pub fn stop_at(&mut self, stop: Time) {
        self.stop = stop.ps();
        let ended = |passages: &mut Vec<Passage>| passages.extract_if(.., |one| one.end <= stop).collect();
        let late: Vec<(u32, Vec<Passage>)> =
            self.late.iter_mut().map(|(&column, passages)| (column, ended(passages))).collect();
        for (column, passages) in late {
            for one in passages {
                let mut running = RunningBits { column, ..RunningBits::default() };
                running.pass_edge(one, self);
                running.flush(self);
            }
        }
    }

    /// Starts recording a period from `now` on, of which at most `periods` repetitions will be skipped. The caller must
    /// invalidate all bits of the grid ([`RunningBits::invalidate`]).
    pub fn record_period(&mut self, now: Time, period: Time, periods: u64) {
        let edges = self.edges_after(now + period, period, periods);
        self.tape = Some(Box::new(Tape::new(now.ps(), period.ps(), &edges)));
    }

    /// Returns the edges of the bins of periods that are skipped from `now` on.
    fn edges_after(&self, now: Time, period: Time, periods: u64) -> Edges {
        Edges::new(self.width, now.ps() + self.left_out, period.ps(), periods)
    }

    /// Returns the number of periods of this duration that may be skipped after the recorded one; 0 if a period of
    /// another duration, or an incomplete one, was recorded.
    pub fn recorded_periods(&self, period: Time) -> u64 {
        let is_it = |tape: &&Tape| tape.period == period.ps() && tape.is_complete;
        self.tape.as_deref().filter(is_it).map_or(0, |tape| tape.most)
    }

    /// Returns true if a period is being recorded.
    pub fn records_period(&self) -> bool {
        self.tape.is_some()
    }

    /// Discards the recording of a period.
    pub fn forget_period(&mut self) {
        self.tape = None;
    }

    /// Fills the bins of this number of repetitions of the recorded period, which ends now. Later times are shifted by
    /// their duration. Before the call, the caller must set all levels to their current values
    /// ([`RunningLevels::set`]); after it, all series must be resumed ([`RunningBits::invalidate`],
    /// [`RunningLevels::resume`]).
    pub fn leave_out(&mut self, now: Time, period: Time, periods: u64) {
        let Some(mut tape) = self.tape.take() else { return };
        let edges = self.edges_after(now, period, periods);
        tape.bits(&edges, |bin, column, bits| *self.cell(bin, column) += bits);
        tape.levels(&edges, |bin, column, level| self.raise(bin, column, level));
        self.left_out += period.ps() * periods;
    }

    #[inline]
    fn add(&mut self, bin: u32, column: u32, value: u64) {
        *self.cell(bin, column) += value;
    }

    fn raise(&mut self, bin: u32, column: u32, value: u64) {
        let cell = self.cell(bin, column);
        *cell = value.max(*cell);
    }

    #[inline]
    fn cell(&mut self, bin: u32, column: u32) -> &mut u64 {
        let (row, at) = (bin as usize, column as usize);
        if self.rows.get(row).is_none_or(|row| row.len() <= at) {
            self.new_cell(bin, column);
        }
        &mut self.rows[row][at]
    }

    #[cold]
    #[inline(never)]
    fn new_cell(&mut self, bin: u32, column: u32) {
        let (bin, column) = (bin as usize, column as usize);
        if bin >= self.rows.len() {
            self.rows.resize_with(bin + 1, Vec::new);
        }
        let columns = (self.columns as usize).max(column + 1).next_multiple_of(COLUMNS);
        let row = &mut self.rows[bin];
        row.reserve_exact(columns - row.len());
        row.resize(columns, 0);
    }

    fn new_columns(&mut self, number: u32) -> u32 {
        self.columns += number;
        self.columns - number
    }

    fn get(&self, bin: usize, column: u32) -> u64 {
        self.rows.get(bin).and_then(|row| row.get(column as usize)).copied().unwrap_or(0)
    }

    /// Returns the number of bins that start before `end`; at least one.
    fn bins(&self, end: Time) -> usize {
        (end.ps().div_ceil(self.width) as usize).max(1)
    }
}

impl Default for RunningBits {
    /// Returns no bits.
    fn default() -> RunningBits {
        RunningBits { end: 0, bits: 0, bin: 0, column: NONE }
    }
}

impl RunningBits {
    /// Records a frame. Each bit counts in the bin in which its end passes.
    #[inline(always)]
    pub fn pass(&mut self, frame: Passage, grid: &mut Grid) {
        let end = frame.end.ps();
        // In nearly all cases, the whole frame is in the current bin.
        if end <= self.end && end <= grid.stop && end.saturating_sub(frame.took.ps()) + grid.width > self.end
        {
            self.bits += frame.bits;
        } else {
            self.pass_edge(frame, grid);
        }
    }

    /// Slow path of `pass`, for a frame that is not entirely in the current bin.
    #[inline(never)]
    fn pass_edge(&mut self, frame: Passage, grid: &mut Grid) {
        let width = grid.width;
        let end = frame.end.ps();
        if end > grid.stop {
            if self.column == NONE {
                self.column = grid.new_columns(1);
            }
            grid.late.entry(self.column).or_default().push(frame);
            return;
        }
        if let Some(tape) = &mut grid.tape {
            if self.column == NONE {
                self.column = grid.columns;
                grid.columns += 1;
            }
            tape.pass(self.column, frame);
        }
        // Bits that pass instantaneously at an edge count in the bin that ends there.
        let start = end.saturating_sub(frame.took.ps().max(1));
        let bin = ((start + grid.left_out) / width) as u32;
        if bin != self.bin {
            self.flush(grid);
            self.bin = bin;
        }
        let mut before = 0;
        loop {
            let edge = (u64::from(self.bin) + 1) * width - grid.left_out;
            if end <= edge {
                self.bits += frame.bits - before;
                self.end = if grid.tape.is_some() { 0 } else { edge };
                return;
            }
            let passed = frame.passed(Time::from_ps(edge));
            self.bits += passed - before;
            before = passed;
            self.flush(grid);
            self.bin += 1;
        }
    }

    /// Makes the next frame take the slow path. Called when a period is recorded or skipped.
    pub fn invalidate(&mut self) {
        self.end = 0;
    }

    #[inline]
    fn flush(&mut self, grid: &mut Grid) {
        if self.bits > 0 {
            if self.column == NONE {
                self.column = grid.new_columns(1);
            }
            grid.add(self.bin, self.column, self.bits);
            self.bits = 0;
        }
    }

    /// Returns the bits of all bins that start before `end`, as far as they have passed by then.
    pub fn bins(&self, grid: &Grid, end: Time) -> Vec<u64> {
        let mut all: Vec<u64> = (0..grid.bins(end)).map(|bin| grid.get(bin, self.column)).collect();
        if let Some(running) = all.get_mut(self.bin as usize) {
            *running += self.bits;
        }
        for frame in grid.late.get(&self.column).into_iter().flatten() {
            let frame = Passage { end: frame.end + Time::from_ps(grid.left_out), ..*frame };
            frame.add_to(&mut all, grid.width(), end);
        }
        all
    }
}

impl RunningLevels {
    /// Creates levels of zero, in a bin of the grid. Without a grid, nothing is recorded.
    pub fn new(grid: Option<&Grid>) -> RunningLevels {
        let bin = grid.map_or(0, |grid| grid.left_out / grid.width);
        let end = grid.map_or(Time::NEVER, |grid| Time::from_ps((bin + 1) * grid.width - grid.left_out));
        RunningLevels { end, level: [0; 2], max: [0; 2], bin: bin as u32, column: NONE }
    }

    /// Returns the end of the current bin.
    pub fn end(&self) -> Time {
        self.end
    }

    /// Returns the levels.
    pub fn level(&self) -> [u64; 2] {
        self.level
    }

    /// Sets the levels at a time within the current bin.
    #[inline(always)]
    pub fn note(&mut self, level: [u64; 2]) {
        self.level = level;
        self.max = [self.max[0].max(level[0]), self.max[1].max(level[1])];
    }

    /// Sets the levels at `now`.
    pub fn set(&mut self, now: Time, level: [u64; 2], grid: &mut Grid) {
        if grid.tape.is_some() && (self.is_used() || level != [0; 2]) {
            self.set_on_tape(now, level, grid);
        }
        while now >= self.end {
            if self.max == [0; 2] {
                // Empty bins are not written, regardless of their number.
                let bins = (now - self.end).ps() / grid.width + 1;
                self.bin += bins as u32;
                self.end += grid.width() * bins;
                break;
            }
            self.flush(grid);
            self.max = self.level;
            self.bin += 1;
            self.end += grid.width();
        }
        self.note(level);
    }

    fn flush(&mut self, grid: &mut Grid) {
        if self.column == NONE {
            self.column = grid.new_columns(2);
        }
        for (column, &max) in (self.column..).zip(&self.max) {
            grid.raise(self.bin, column, max);
        }
    }

    #[cold]
    #[inline(never)]
    fn set_on_tape(&mut self, now: Time, level: [u64; 2], grid: &mut Grid) {
        if self.column == NONE {
            self.column = grid.new_columns(2);
        }
        if let Some(tape) = &mut grid.tape {
            tape.set(self.column, now.ps(), self.level, level);
        }
    }

    /// Continues in the bin of `now` after periods were skipped ([`Grid::leave_out`]).
    pub fn resume(&mut self, now: Time, grid: &mut Grid) {
        if self.max != [0; 2] {
            self.flush(grid);
        }
        self.bin = ((now.ps() + grid.left_out) / grid.width) as u32;
        self.end = Time::from_ps((u64::from(self.bin) + 1) * grid.width - grid.left_out);
        self.max = self.level;
    }

    /// Returns true if a level was ever above zero.
    pub fn is_used(&self) -> bool {
        self.column != NONE || self.max != [0; 2]
    }

    /// Returns the maximum of the first (0) or second (1) level in all bins that start before `end`.
    pub fn bins(&self, nth: usize, grid: &Grid, end: Time) -> Vec<u64> {
        let column = self.column.saturating_add(nth as u32);
        let value = |bin: usize| match bin.cmp(&(self.bin as usize)) {
            std::cmp::Ordering::Less => grid.get(bin, column),
            std::cmp::Ordering::Equal => self.max[nth].max(grid.get(bin, column)),
            std::cmp::Ordering::Greater => self.level[nth],
        };
        (0..grid.bins(end)).map(value).collect()
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
        let mut grid = Grid::new(ns(10), ns(40));
        let mut running = RunningBits::default();
        // 30 bits from 5 to 35 ns, one per nanosecond; a bit that ends with a bin belongs to that bin.
        running.pass(Passage { end: ns(35), took: ns(30), bits: 30 }, &mut grid);
        assert_eq!(running.bins(&grid, ns(40)), [5, 10, 10, 5]);
        // Bits that pass instantaneously, at an edge and after it.
        running.pass(Passage { end: ns(10), took: Time::ZERO, bits: 100 }, &mut grid);
        running.pass(Passage { end: Time::from_ps(10_001), took: Time::ZERO, bits: 1000 }, &mut grid);
        assert_eq!(running.bins(&grid, ns(31)), [105, 1010, 10, 5]);
        assert_eq!(running.bins(&grid, ns(40)), [105, 1010, 10, 5]);
    }

    #[test]
    fn a_frame_counts_as_far_as_it_has_passed_when_the_run_ends() {
        let mut grid = Grid::new(ns(10), ns(25));
        let mut running = RunningBits::default();
        running.pass(Passage { end: ns(12), took: ns(8), bits: 8 }, &mut grid);
        // 2 bits per nanosecond from 22 to 34 ns.
        running.pass(Passage { end: ns(34), took: ns(12), bits: 24 }, &mut grid);
        assert_eq!(running.bins(&grid, ns(25)), [6, 2, 6]);
        // The run continues, and the frame has passed completely.
        grid.stop_at(ns(60));
        running.pass(Passage { end: ns(36), took: ns(2), bits: 2 }, &mut grid);
        assert_eq!(running.bins(&grid, ns(60)), [6, 2, 16, 10, 0, 0]);
    }

    #[test]
    fn a_level_stays_until_it_changes() {
        let mut grid = Grid::new(ns(10), ns(50));
        let mut levels = RunningLevels::new(Some(&grid));
        assert!(!levels.is_used());
        levels.set(ns(25), [7, 1], &mut grid);
        levels.set(ns(45), [2, 0], &mut grid);
        assert_eq!(levels.bins(0, &grid, ns(70)), [0, 0, 7, 7, 7, 2, 2]);
        assert_eq!(levels.bins(1, &grid, ns(70)), [0, 0, 1, 1, 1, 0, 0]);
        assert!(levels.is_used());
    }

    proptest! {
        /// For any bins and any end of the run, each series is the sum of the bits of its frames that have passed, even
        /// if frames of several links arrive at one place at the same time.
        #[test]
        fn bins_are_the_sums_of_frames(
            frames in proptest::collection::vec((0usize..3, 64u64..2000, 0u64..3000, 0u64..30_000), 1..80),
            overlap in any::<bool>(),
            (width, stops) in (1u64..6000, proptest::collection::vec(1u64..400_000, 1..4)),
        ) {
            let width = Time::from_ps(width);
            let mut stops: Vec<Time> = stops.into_iter().map(Time::from_ps).collect();
            stops.sort();
            let mut grid = Grid::new(width, stops[0]);
            let mut running = [RunningBits::default(); 3];
            let (mut now, mut all, mut next) = ([0u64; 3], vec![], 1);
            for (place, bits, took, gap) in frames {
                let end = now[place] + gap + took;
                now[place] = if overlap { now[place] + gap } else { end };
                let frame = Passage { end: Time::from_ps(end), took: Time::from_ps(took), bits };
                running[place].pass(frame, &mut grid);
                all.push((place, frame));
                if next < stops.len() && end > stops[next - 1].ps() && took % 2 == 0 {
                    grid.stop_at(stops[next]);
                    next += 1;
                }
            }
            let end = stops[next - 1];
            let bins = end.ps().div_ceil(width.ps()).max(1) as usize;
            for (place, one) in running.iter().enumerate() {
                let mut expected = vec![0; bins];
                for (_, frame) in all.iter().filter(|(of, _)| *of == place) {
                    frame.add_to(&mut expected, width, end);
                }
                prop_assert_eq!(one.bins(&grid, end), expected);
            }
        }
    }
}
