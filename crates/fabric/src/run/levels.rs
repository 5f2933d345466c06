//! What a queue or counter holds over time.

use frame::Occupancy;
use measure::BinnedMax;
use units::Time;

/// The most bytes and frames in each bin. A level that changes within a bin is only noted, unless each change has to be
/// told: then no bin is ever quiet.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    pub bytes: BinnedMax,
    pub frames: BinnedMax,
    quiet_until: Time,
}

impl Levels {
    /// Empty bins, if there is a width for them.
    pub fn new(width: Option<Time>, duration: Time) -> Levels {
        let bins = width.map_or(BinnedMax::OFF, |width| BinnedMax::new(width, duration));
        Levels { quiet_until: bins.end(), bytes: bins.clone(), frames: bins }
    }

    /// From now on each change has to be told.
    pub fn tell(&mut self) {
        self.quiet_until = Time::ZERO;
    }

    /// Whether a new level is only to be noted.
    #[inline(always)]
    pub fn is_quiet(&self, now: Time) -> bool {
        now < self.quiet_until
    }

    /// A new level, while it is quiet.
    #[inline(always)]
    pub fn note(&mut self, level: Occupancy) {
        self.bytes.note(level.bytes);
        self.frames.note(level.frames);
    }

    /// A new level, when it is not. What it was.
    pub fn turn(&mut self, now: Time, level: Occupancy) -> Occupancy {
        let before = Occupancy { bytes: self.bytes.level(), frames: self.frames.level() };
        self.bytes.set(now, level.bytes);
        self.frames.set(now, level.frames);
        if self.quiet_until != Time::ZERO {
            self.quiet_until = self.bytes.end();
        }
        before
    }

    /// Whether the level was ever above zero.
    pub fn is_used(&self) -> bool {
        self.bytes.is_used()
    }

    /// Bytes and frames.
    pub fn series(&self) -> [&BinnedMax; 2] {
        [&self.bytes, &self.frames]
    }
}
