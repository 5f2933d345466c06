//! Timers that can be moved without searching the event queue.

use recurrence::Recurs;
use units::Time;

/// One pending wake-up. Re-arming leaves the old event in the queue. When that event runs, its time does not match the
/// armed time, and it is ignored. A timer therefore takes one word of memory, and each re-arming costs one event.
#[derive(Clone, Copy, Debug, Recurs)]
pub struct Timer {
    at: Time,
}

impl Timer {
    /// Not armed.
    pub const IDLE: Timer = Timer { at: Time::NEVER };

    /// Arms the timer for `at`. Returns true if the caller has to schedule an event for that time, false if one is
    /// already pending.
    #[inline]
    #[must_use]
    pub fn arm(&mut self, at: Time) -> bool {
        let fresh = self.at != at;
        self.at = at;
        fresh
    }
    /// Due time; [`Time::NEVER`] if not armed.
    #[inline]
    pub fn due(&self) -> Time {
        self.at
    }
    /// Disarms the timer. The pending event will be ignored.
    #[inline]
    pub fn cancel(&mut self) {
        self.at = Time::NEVER;
    }
    /// Returns true, and disarms the timer, if it is armed for this time. Called with each event of the timer.
    #[inline]
    pub fn fires(&mut self, now: Time) -> bool {
        let due = self.at == now;
        if due {
            self.at = Time::NEVER;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_arming_fires() {
        let mut timer = Timer::IDLE;
        assert!(timer.arm(Time::from_ns(5)));
        assert!(!timer.arm(Time::from_ns(5)));
        assert!(timer.arm(Time::from_ns(9)));
        assert!(!timer.fires(Time::from_ns(5)));
        assert!(timer.fires(Time::from_ns(9)));
        assert!(!timer.fires(Time::from_ns(9)));
    }
}
