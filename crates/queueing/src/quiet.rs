//! Periods in which a state machine needs no call per frame.
//!
//! A congestion point samples a frame after a number of bytes, or checks its queue at intervals. A reaction point tags
//! a frame at intervals, or counts the bytes of a cycle. Frames in between are only counted, which costs a comparison
//! and no call.

use units::Time;

/// A period in which a state machine needs only a count of passing frames: it ends at a time or after a number of
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quiet {
    /// Time from which each frame needs a call.
    pub until: Time,
    /// Bytes that may pass without a call; the frame that exceeds them needs one.
    pub bytes: u64,
}

impl Quiet {
    /// Every frame needs a call.
    pub const NEVER: Quiet = Quiet { until: Time::ZERO, bytes: 0 };
    /// No frame needs a call. One call is made at the end of each long interval regardless, so that the counters stay
    /// small.
    pub const ALWAYS: Quiet = Quiet { until: Time::NEVER, bytes: 1 << 28 };

    /// Every arrival needs a call; departures do not.
    pub const OF_DEPARTURES: Quiet = Quiet { bytes: 0, ..Quiet::ALWAYS };

    /// Returns the period that the frame exceeding this number of bytes ends. Large numbers are limited, so that some
    /// earlier frames cause a call, too.
    #[must_use]
    pub fn for_bytes(bytes: u64) -> Quiet {
        Quiet { bytes: bytes.min(Quiet::ALWAYS.bytes), ..Quiet::ALWAYS }
    }
}

/// The frames counted since a quiet period began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deferred {
    /// Number of frames that arrived.
    pub frames: u64,
    /// Bytes that could still have passed without a call.
    pub left: u64,
}

/// Counts the frames that pass in a quiet period.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DeferredUpdates {
    until: Time,
    /// Bytes that may pass, and the number of them that remain. The maximum is that of [`Quiet::ALWAYS`].
    bytes: u32,
    left: u32,
    frames: u32,
}

impl DeferredUpdates {
    /// Starts a quiet period in which no frame has been counted.
    #[must_use]
    pub fn new(quiet: Quiet) -> DeferredUpdates {
        let bytes = quiet.bytes.min(Quiet::ALWAYS.bytes) as u32;
        DeferredUpdates { until: quiet.until, bytes, left: bytes, frames: 0 }
    }

    /// Counts a frame if it needs no call. Returns true if it was counted.
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

    /// Returns the number of frames and bytes counted.
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
        let mut deferred = DeferredUpdates::new(Quiet { until: Time::from_ns(10), bytes: 3_000 });
        assert!(deferred.counts(Time::ZERO, 1_500) && deferred.counts(Time::from_ns(9), 1_400));
        assert_eq!(deferred.passed(), (2, 2_900));
        assert!(!deferred.counts(Time::from_ns(9), 101), "a frame that exceeds the bytes needs a call");
        assert!(!deferred.counts(Time::from_ns(10), 64), "at the time");
        assert!(deferred.counts(Time::from_ns(9), 100), "an observed frame does not use up the count");
        assert_eq!(deferred.passed(), (3, 3_000));
        assert!(!DeferredUpdates::new(Quiet::NEVER).counts(Time::ZERO, 1));
        assert!(DeferredUpdates::new(Quiet::ALWAYS).counts(Time::from_ns(u64::MAX / 1_001), 9_000));
    }
}
