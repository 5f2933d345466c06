//! Timers that can be moved without searching the event queue.

use recurrence::Recurs;
use units::Time;

/// One pending wake-up. Moving it leaves the old event in the queue; when that event runs, it does not
/// match the armed time and is ignored. So a timer costs one word, and re-arming costs one event.
#[derive(Clone, Copy, Debug, Recurs)]
pub struct Timer {
    at: Time,
}

impl Timer {
    /// Not armed.
    pub const IDLE: Timer = Timer { at: Time::NEVER };

    /// Arms for `at`. The caller schedules the event if this returns true; it is false if an event for
    /// exactly that time is already pending.
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
    /// Disarms: the pending event will be ignored.
    #[inline]
    pub fn cancel(&mut self) {
        self.at = Time::NEVER;
    }
    /// Called with an event of this timer: whether it is the one that counts. Disarms.
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
