//! Occupancy of a buffer, in bytes and in frames.

use recurrence::Recurs;
use units::Amount;

/// Queued frames, counted in bytes and in frames, since limits and watermarks may be in either unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Recurs)]
pub struct Occupancy {
    /// Number of bytes, DA to FCS.
    pub bytes: u64,
    /// Number of frames.
    pub frames: u64,
}

impl Occupancy {
    /// Returns the bytes and the frames.
    #[inline]
    pub fn both(self) -> [u64; 2] {
        [self.bytes, self.frames]
    }
    /// Adds a frame.
    #[inline]
    pub fn add(&mut self, bytes: u16) {
        self.bytes += u64::from(bytes);
        self.frames += 1;
    }
    /// Adds another occupancy.
    pub fn join(&mut self, other: Occupancy) {
        self.bytes += other.bytes;
        self.frames += other.frames;
    }
    /// Removes a frame.
    ///
    /// # Panics
    /// If the frame was never added: the counts and everything derived from them would be wrong.
    #[inline(always)]
    pub fn remove(&mut self, bytes: u16) {
        match (self.bytes.checked_sub(u64::from(bytes)), self.frames.checked_sub(1)) {
            (Some(bytes), Some(frames)) => *self = Occupancy { bytes, frames },
            _ => self.underflow(bytes),
        }
    }
    #[cold]
    #[inline(never)]
    fn underflow(&self, bytes: u16) -> ! {
        panic!(
            "an occupancy of {} B in {} frames was to lose a frame of {bytes} B: this is a bug in the simulator, please \
             report it with the scenario",
            self.bytes, self.frames
        )
    }
    /// Returns the count in the unit of `mark`.
    #[inline]
    pub fn count(&self, mark: Amount) -> u64 {
        match mark {
            Amount::Bytes(_) => self.bytes,
            Amount::Frames(_) => self.frames,
        }
    }
    /// Returns true at or above `mark`.
    #[inline]
    pub fn reaches(&self, mark: Amount) -> bool {
        match mark {
            Amount::Bytes(bytes) => self.bytes >= bytes,
            Amount::Frames(frames) => self.frames >= frames,
        }
    }
    /// Returns true at or below `mark`.
    #[inline]
    pub fn within(&self, mark: Amount) -> bool {
        match mark {
            Amount::Bytes(bytes) => self.bytes <= bytes,
            Amount::Frames(frames) => self.frames <= frames,
        }
    }
    /// Returns true if one more frame of `bytes` stays within `limit`.
    #[inline]
    pub fn has_room(&self, limit: Amount, bytes: u16) -> bool {
        match limit {
            Amount::Bytes(limit) => self.bytes + u64::from(bytes) <= limit,
            Amount::Frames(limit) => self.frames < limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "bug in the simulator")]
    fn what_was_never_added_cannot_leave() {
        let mut occupancy = Occupancy::default();
        occupancy.add(64);
        occupancy.remove(65);
    }
}
