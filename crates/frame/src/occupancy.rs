//! How full a piece of memory is, in bytes and in frames at once.

use units::Amount;

/// Frames that wait somewhere, counted both ways: limits and watermarks come in either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Bytes, DA to FCS.
    pub bytes: u64,
    /// Frames.
    pub frames: u64,
}

impl Occupancy {
    /// Bytes and frames.
    #[inline]
    pub fn both(self) -> [u64; 2] {
        [self.bytes, self.frames]
    }
    /// One frame more.
    #[inline]
    pub fn add(&mut self, bytes: u16) {
        self.bytes += u64::from(bytes);
        self.frames += 1;
    }
    /// One frame less. It must have been added.
    #[inline]
    pub fn remove(&mut self, bytes: u16) {
        self.bytes -= u64::from(bytes);
        self.frames -= 1;
    }
    /// The count that `mark` speaks of.
    #[inline]
    pub fn count(&self, mark: Amount) -> u64 {
        match mark {
            Amount::Bytes(_) => self.bytes,
            Amount::Frames(_) => self.frames,
        }
    }
    /// At or above `mark`.
    #[inline]
    pub fn reaches(&self, mark: Amount) -> bool {
        match mark {
            Amount::Bytes(bytes) => self.bytes >= bytes,
            Amount::Frames(frames) => self.frames >= frames,
        }
    }
    /// At or below `mark`.
    #[inline]
    pub fn within(&self, mark: Amount) -> bool {
        match mark {
            Amount::Bytes(bytes) => self.bytes <= bytes,
            Amount::Frames(frames) => self.frames <= frames,
        }
    }
    /// Whether a frame of `bytes` more stays within `limit`.
    #[inline]
    pub fn has_room(&self, limit: Amount, bytes: u16) -> bool {
        match limit {
            Amount::Bytes(limit) => self.bytes + u64::from(bytes) <= limit,
            Amount::Frames(limit) => self.frames < limit,
        }
    }
}
