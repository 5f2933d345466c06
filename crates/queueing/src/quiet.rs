//! When a machine need not hear of frames one by one.
//!
//! A congestion point samples a frame every so many bytes, or looks at its queue every so often; a reaction point tags a
//! frame every so often, or counts bytes of a cycle. What passes in between is only counted: it costs a comparison, and no
//! call.

use units::Time;

/// How long a machine is content with the count of what passes: until a time, and for so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quiet {
    /// What happens from then on it wants to hear of.
    pub until: Time,
    /// A frame that goes beyond them it wants to hear of.
    pub bytes: u64,
}

impl Quiet {
    /// It wants to hear of all.
    pub const NEVER: Quiet = Quiet { until: Time::ZERO, bytes: 0 };
    /// It wants to hear of nothing, and does after a long time all the same, so that what is counted stays small.
    pub const ALWAYS: Quiet = Quiet { until: Time::NEVER, bytes: 1 << 28 };

    /// It wants to hear of all that comes, and of nothing that leaves.
    pub const OF_DEPARTURES: Quiet = Quiet { bytes: 0, ..Quiet::ALWAYS };

    /// It wants to hear of the frame that goes beyond so many bytes, and of some before it if they are very many.
    #[must_use]
    pub fn for_bytes(bytes: u64) -> Quiet {
        Quiet { bytes: bytes.min(Quiet::ALWAYS.bytes), ..Quiet::ALWAYS }
    }
}

/// What a machine has not heard of since it was quiet last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotHeard {
    /// How many frames came.
    pub frames: u64,
    /// Of the bytes that might come, those that have not.
    pub left: u64,
}

/// Counts what passes while a machine is quiet.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Unheard {
    until: Time,
    /// The bytes that may pass, and those of them that have not; [`Quiet::ALWAYS`] has the most.
    bytes: u32,
    left: u32,
    frames: u32,
}

impl Unheard {
    /// Nothing has passed yet.
    #[must_use]
    pub fn new(quiet: Quiet) -> Unheard {
        let bytes = quiet.bytes.min(Quiet::ALWAYS.bytes) as u32;
        Unheard { until: quiet.until, bytes, left: bytes, frames: 0 }
    }

    /// Counts a frame, if the machine need not hear of it.
    #[inline(always)]
    pub fn counts(&mut self, now: Time, bytes: u16) -> bool {
        match self.left.checked_sub(bytes.into()) {
            Some(left) if now < self.until => {
                self.left = left;
                self.frames += 1;
                true
            }
            _ => false,
        }
    }

    /// Frames and bytes that have passed.
    #[must_use]
    pub fn passed(&self) -> (u64, u64) {
        (self.frames.into(), (self.bytes - self.left).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_until_one_is_too_late_or_too_many() {
        let mut unheard = Unheard::new(Quiet { until: Time::from_ns(10), bytes: 3_000 });
        assert!(unheard.counts(Time::ZERO, 1_500) && unheard.counts(Time::from_ns(9), 1_400));
        assert_eq!(unheard.passed(), (2, 2_900));
        assert!(!unheard.counts(Time::from_ns(9), 101), "beyond the bytes");
        assert!(!unheard.counts(Time::from_ns(10), 64), "at the time");
        assert!(unheard.counts(Time::from_ns(9), 100), "what is heard is not counted");
        assert_eq!(unheard.passed(), (3, 3_000));
        assert!(!Unheard::new(Quiet::NEVER).counts(Time::ZERO, 1));
        assert!(Unheard::new(Quiet::ALWAYS).counts(Time::from_ns(u64::MAX / 1_001), 9_000));
    }
}
