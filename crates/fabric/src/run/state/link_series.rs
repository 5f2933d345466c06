//! Series of bits that pass a place, with the current bin.

use measure::{Grid, Passage, RunningBits, RunningLevels};
use units::Time;

/// Grid number of a series that is not recorded.
const OFF: u16 = u16::MAX;

/// Bits at one place over time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitSeries {
    running: RunningBits,
    grid: u16,
}

/// Bits that a port sends over its link, and the part that its peer receives. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct LinkSeries {
    sent: RunningBits,
    received: RunningBits,
    /// Delay of the link.
    delay: Time,
    grids: [u16; 2],
}

/// Two levels at one place over time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LevelSeries {
    running: RunningLevels,
    grid: u16,
}

/// Returns the index of the grid with this bin width, which is added if there is none.
pub(crate) fn grid_of(grids: &mut Vec<Grid>, width: Time, stop: Time) -> u16 {
    let at = grids.iter().position(|grid| grid.width() == width).unwrap_or_else(|| {
        grids.push(Grid::new(width, stop));
        grids.len() - 1
    });
    assert!(at < usize::from(OFF), "a scenario lists each bin width and has fewer than this");
    at as u16
}

impl BitSeries {
    /// Creates an empty series; without a grid it is not recorded.
    pub fn new(grid: Option<u16>) -> BitSeries {
        BitSeries { running: RunningBits::default(), grid: grid.unwrap_or(OFF) }
    }

    /// Records a frame that passes.
    #[inline(always)]
    pub fn pass(&mut self, frame: Passage, grids: &mut [Grid]) {
        if let Some(grid) = grids.get_mut(usize::from(self.grid)) {
            self.running.pass(frame, grid);
        }
    }

    /// Bin width, if recorded.
    pub fn width(&self, grids: &[Grid]) -> Option<Time> {
        grids.get(usize::from(self.grid)).map(Grid::width)
    }

    /// See [`RunningBits::invalidate`].
    pub fn invalidate(&mut self) {
        self.running.invalidate();
    }

    /// Returns the bin width and the bits of each bin that begins before `end`, if recorded.
    pub fn bins(&self, grids: &[Grid], end: Time) -> Option<(Time, Vec<u64>)> {
        let grid = grids.get(usize::from(self.grid))?;
        Some((grid.width(), self.running.bins(grid, end)))
    }
}

impl LevelSeries {
    /// Creates levels of zero; without a grid they are not recorded.
    pub fn new(grids: &[Grid], grid: Option<u16>) -> LevelSeries {
        let running = RunningLevels::new(grid.map(|grid| &grids[usize::from(grid)]));
        LevelSeries { running, grid: grid.unwrap_or(OFF) }
    }

    /// Sets the levels from `now` on.
    pub fn set(&mut self, now: Time, levels: [u64; 2], grids: &mut [Grid]) {
        if let Some(grid) = grids.get_mut(usize::from(self.grid)) {
            self.running.set(now, levels, grid);
        }
    }

    /// Bin width, if recorded.
    pub fn width(&self, grids: &[Grid]) -> Option<Time> {
        grids.get(usize::from(self.grid)).map(Grid::width)
    }

    /// Returns the levels and their grid, if they are recorded.
    pub fn running<'a>(&mut self, grids: &'a mut [Grid]) -> Option<(&mut RunningLevels, &'a mut Grid)> {
        Some((&mut self.running, grids.get_mut(usize::from(self.grid))?))
    }

    /// Current levels.
    pub fn level(&self) -> [u64; 2] {
        self.running.level()
    }

    /// Returns the bin width, and the maximum of the first (0) or second (1) level in each bin that begins before
    /// `end`, if recorded and ever above zero.
    pub fn bins(&self, nth: usize, grids: &[Grid], end: Time) -> Option<(Time, Vec<u64>)> {
        let grid = grids.get(usize::from(self.grid))?;
        let bins = self.running.bins(nth, grid, end);
        bins.iter().any(|&level| level > 0).then(|| (grid.width(), bins))
    }
}

impl LinkSeries {
    /// Creates empty series for the two ends of a link with this delay, in these grids.
    pub fn new(ends: [Option<u16>; 2], delay: Time) -> LinkSeries {
        let [sent, received] = [RunningBits::default(); 2];
        LinkSeries { sent, received, delay, grids: ends.map(|grid| grid.unwrap_or(OFF)) }
    }

    /// Records a frame that is sent, and arrives or is lost on the link.
    #[inline(always)]
    pub fn carry(&mut self, frame: Passage, arrives: bool, grids: &mut [Grid]) {
        let [first, last] = self.grids.map(usize::from);
        if let Some(grid) = grids.get_mut(first) {
            self.sent.pass(frame, grid);
        }
        if arrives && let Some(grid) = grids.get_mut(last) {
            self.received.pass(Passage { end: frame.end + self.delay, ..frame }, grid);
        }
    }

    /// See [`RunningBits::invalidate`].
    pub fn invalidate(&mut self) {
        self.sent.invalidate();
        self.received.invalidate();
    }

    /// Returns the series of sent bits alone.
    pub fn sent(&self) -> BitSeries {
        BitSeries { running: self.sent, grid: self.grids[0] }
    }

    /// Returns the series of received bits.
    pub fn received(&self) -> BitSeries {
        BitSeries { running: self.received, grid: self.grids[1] }
    }
}
