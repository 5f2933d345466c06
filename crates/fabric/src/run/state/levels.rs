//! Bytes and frames of a queue or an ingress counter over time.

use frame::Occupancy;
use measure::{Grid, RunningLevels};
use units::Time;

/// The maximum of bytes and frames in the current bin; finished bins are in a grid. Unless every change has to be
/// tallied, a change within a bin takes a fast path. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Levels {
    quiet_until: Time,
    running: RunningLevels,
    grid: u16,
    tallied: bool,
}

fn numbers(level: Occupancy) -> [u64; 2] {
    [level.bytes, level.frames]
}

impl Levels {
    /// Creates a level of zero, recorded in this grid; without a grid, the level is only kept.
    pub fn new(grids: &[Grid], grid: Option<u16>) -> Levels {
        let running = RunningLevels::new(grid.map(|grid| &grids[usize::from(grid)]));
        Levels { quiet_until: running.end(), running, grid: grid.unwrap_or(u16::MAX), tallied: false }
    }

    /// Makes every later change take the slow path.
    pub fn tally(&mut self) {
        self.tallied = true;
        self.invalidate();
    }

    /// Makes the next change take the slow path, because a period is recorded or was skipped.
    pub fn invalidate(&mut self) {
        self.quiet_until = Time::ZERO;
    }

    /// Returns the levels and their grid, if they are recorded.
    pub fn running<'a>(&mut self, grids: &'a mut [Grid]) -> Option<(&mut RunningLevels, &'a mut Grid)> {
        Some((&mut self.running, grids.get_mut(usize::from(self.grid))?))
    }

    /// Returns true if a new level takes the fast path, [`Levels::note`].
    #[inline(always)]
    pub fn is_quiet(&self, now: Time) -> bool {
        now < self.quiet_until
    }

    /// Sets the level within a bin, without a tally.
    #[inline(always)]
    pub fn note(&mut self, level: Occupancy) {
        self.running.note(numbers(level));
    }

    /// Sets the level and closes the bin if it has ended. Returns the previous level.
    pub fn set(&mut self, now: Time, level: Occupancy, grids: &mut [Grid]) -> Occupancy {
        let [bytes, frames] = self.running.level();
        let mut is_loud = self.tallied;
        match grids.get_mut(usize::from(self.grid)) {
            Some(grid) => {
                self.running.set(now, numbers(level), grid);
                is_loud |= grid.records_period();
            }
            None => self.running.note(numbers(level)),
        }
        self.quiet_until = if is_loud { Time::ZERO } else { self.running.end() };
        Occupancy { bytes, frames }
    }

    /// Returns true if the level was ever above zero.
    pub fn is_used(&self) -> bool {
        self.running.is_used()
    }

    /// Returns the bin width, and the maximum of bytes (0) or frames (1) in each bin that begins before `end`.
    pub fn bins(&self, nth: usize, grids: &[Grid], end: Time) -> Option<(Time, Vec<u64>)> {
        let grid = grids.get(usize::from(self.grid))?;
        Some((grid.width(), self.running.bins(nth, grid, end)))
    }
}
