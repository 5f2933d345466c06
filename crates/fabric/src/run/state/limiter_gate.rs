//! State of a rate limiter that passing frames touch: one cache line, and another one if the limiter has a rate. A
//! fabric has thousands of limiters, most of which are in no cache.

use queueing::{DeferredUpdates, Quiet};
use transport::Pacer;
use units::Time;

/// Time from which frames pass a limiter immediately, and counts of those that have passed.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Gate {
    /// Time from which an arriving frame passes immediately, if its NIC accepts it: the limiter is empty, the control
    /// schedules no path probe, and the rate allows the frame. [`Time::NEVER`] if the full check is needed.
    opens: Time,
    /// Frames that have left since the control's last call and that it need not observe.
    pub deferred: DeferredUpdates,
    /// End of the last idle period.
    pub busy_since: Time,
    /// Length of the longest frame that has passed immediately: the maximum that the limiter has held so far.
    longest: u16,
    pub pacer: Pacer,
}

impl Gate {
    /// Creates a gate that nothing has passed.
    pub fn new(quiet: Quiet) -> Gate {
        Gate {
            opens: Time::NEVER,
            deferred: DeferredUpdates::new(quiet),
            busy_since: Time::ZERO,
            longest: 0,
            pacer: Pacer::default(),
        }
    }

    /// Returns true if a frame that arrives now passes, provided that its NIC accepts it.
    #[inline(always)]
    pub fn is_open(&self, now: Time) -> bool {
        self.opens <= now
    }

    /// Closes the gate: frames take the slow path until it opens.
    #[inline(always)]
    pub fn close(&mut self) {
        self.opens = Time::NEVER;
    }

    /// Opens the gate from this time on, or later if the rate requires it.
    #[inline(always)]
    pub fn open(&mut self, from: Time) {
        self.opens = self.pacer.opens_at().unwrap_or(Time::ZERO).max(from);
    }

    /// Passes a frame through the open gate, if the control need not observe the frame and it is no longer than all
    /// previous ones. Otherwise returns false, without side effects.
    #[inline(always)]
    pub fn passes(&mut self, bytes: u16, overhead: u16, now: Time) -> bool {
        let passes = bytes <= self.longest && self.deferred.counts(now, bytes);
        if passes {
            self.busy_since = now;
            self.pacer.has_opened();
            if self.pacer.paces() {
                self.leaves(bytes, overhead, now);
                self.opens = self.pacer.due();
            }
        }
        passes
    }

    /// Updates the state for a frame that arrives at the empty limiter and leaves immediately.
    #[inline(always)]
    pub fn enters_empty(&mut self, now: Time) {
        self.busy_since = now;
        self.pacer.handle_timeout(now);
    }

    /// Counts a frame that leaves, with `overhead` bytes around it on the link.
    #[inline(always)]
    pub fn leaves(&mut self, bytes: u16, overhead: u16, now: Time) {
        self.pacer.on_send(now, u32::from(bytes) + u32::from(overhead));
    }

    /// Records the length of a frame that has passed immediately.
    pub fn note_length(&mut self, bytes: u16) {
        self.longest = self.longest.max(bytes);
    }

    /// Restarts measurement of the maximum length.
    pub fn forget_lengths(&mut self) {
        self.longest = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::BitRate;

    #[test]
    fn without_a_rate_all_that_frames_touch_lies_in_one_cache_line() {
        // The pacer begins with its due time and its enable flag, which are on the first cache line.
        assert_eq!(std::mem::offset_of!(Gate, pacer), 48);
    }

    #[test]
    fn a_frame_passes_once_the_one_before_has_taken_its_time() {
        let mut gate = Gate::new(Quiet { until: Time::from_us(10), bytes: 5_000 });
        let us = Time::from_us;
        assert!(!gate.is_open(us(9)), "the gate has not been opened");
        gate.open(us(1));
        assert!(!gate.is_open(us(0)) && gate.is_open(us(1)));
        assert!(!gate.passes(1_000, 0, us(1)), "longer than all earlier frames");
        gate.note_length(1_000);
        gate.pacer.set_rate(Some(BitRate::from_gbps(8)));
        assert!(gate.passes(1_000, 1_000, us(1)));
        assert!(!gate.is_open(us(2)) && gate.is_open(us(3)));
        assert!(gate.passes(1_000, 0, us(3)));
        assert_eq!((gate.busy_since, gate.deferred.passed()), (us(3), (2, 2_000)));
        assert!(!gate.passes(1_000, 0, us(10)), "the control observes it");
        gate.pacer.set_rate(None);
        assert!(gate.passes(1_000, 0, us(9)) && gate.is_open(us(9)));
        gate.close();
        assert!(!gate.is_open(us(10_000)));
    }
}
