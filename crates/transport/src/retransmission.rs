//! A retransmission timer that expires a fixed time after the last progress.

use units::Time;

/// A retransmission timer, which runs while data is in flight.
#[derive(Clone, Copy, Debug)]
pub struct RetransmissionTimer {
    timeout: Option<Time>,
    deadline: Option<Time>,
}

impl RetransmissionTimer {
    /// Creates a timer that expires `timeout` after the last progress; with `None` it never expires.
    pub fn new(timeout: Option<Time>) -> RetransmissionTimer {
        RetransmissionTimer { timeout, deadline: None }
    }

    /// Returns the time at which the timer expires.
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Records that a segment is sent: starts the timer unless it runs (RFC 6298, section 5.1).
    pub fn on_send(&mut self, now: Time) {
        self.deadline = self.deadline.or_else(|| self.after(now));
    }

    /// Records that new data was acknowledged: restarts the timer, or stops it (RFC 6298, sections 5.2 and 5.3).
    pub fn on_ack(&mut self, now: Time, in_flight: bool) {
        self.deadline = if in_flight { self.after(now) } else { None };
    }

    /// Returns true if the timer has expired, and stops it.
    pub fn expire(&mut self, now: Time) -> bool {
        let expired = self.deadline.is_some_and(|deadline| deadline <= now);
        if expired {
            self.deadline = None;
        }
        expired
    }

    fn after(&self, now: Time) -> Option<Time> {
        self.timeout.map(|timeout| now.saturating_add(timeout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_from_the_last_progress_while_something_is_in_flight() {
        let us = Time::from_us;
        let mut timer = RetransmissionTimer::new(Some(us(10)));
        assert!(!timer.expire(us(100)));
        timer.on_send(us(1));
        timer.on_send(us(5));
        assert_eq!(timer.deadline(), Some(us(11)));
        timer.on_ack(us(8), true);
        assert_eq!(timer.deadline(), Some(us(18)));
        assert!(!timer.expire(us(17)));
        assert!(timer.expire(us(18)));
        assert!(!timer.expire(us(18)));
        timer.on_send(us(20));
        timer.on_ack(us(21), false);
        assert_eq!(timer.deadline(), None);
        let mut never = RetransmissionTimer::new(None);
        never.on_send(us(1));
        assert_eq!(never.deadline(), None);
    }
}
