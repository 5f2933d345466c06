//! Time of a TCP sender by the cause that holds it back.
//!
//! At any time the cause is one of four. The application has nothing to send, or only waits for acknowledgements of all it had. The receive
//! window or the send buffer is full, whatever the congestion window is. The congestion control allows nothing (its window, its pacing, a
//! handshake, a recovery). Or nothing in the endpoint holds it: a segment is ready, and waits for its NIC. A period that ends with a
//! timeout was spent waiting for it, whatever the window was, and is charged to the congestion control.
//!
//! Source: the counters busy, rwnd_limited and sndbuf_limited of Linux (`tcp_info`), with the remaining time
//! divided further.

use units::Time;

/// The causes that limit a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedBy {
    /// The application has no data to send.
    Application,
    /// The receive window, or the send buffer.
    ReceiveWindow,
    /// The congestion window, pacing, the handshake, or loss recovery.
    CongestionControl,
    /// No limit: a segment is ready.
    Nothing,
}

/// Time spent limited by each cause, from the start of the sender until all data is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitedTimes {
    /// Times, indexed by [`LimitedBy`].
    pub times: [Time; 4],
}

/// Measures [`LimitedTimes`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitedClock {
    held: LimitedTimes,
    /// Current cause, and its start time; `None` before the sender begins and after all its data is acknowledged.
    now: Option<(LimitedBy, Time)>,
}

impl LimitedClock {
    pub const IDLE: LimitedClock = LimitedClock { held: LimitedTimes { times: [Time::ZERO; 4] }, now: None };

    /// Sets the current cause.
    pub fn change(&mut self, holder: Option<LimitedBy>, now: Time) {
        if self.now.map(|(before, _)| before) == holder {
            return;
        }
        if let Some((before, since)) = self.now {
            self.held.times[before as usize] += now.saturating_sub(since);
        }
        self.now = holder.map(|holder| (holder, now));
    }

    /// Replaces the current cause, with effect from its start time.
    pub fn correct(&mut self, holder: LimitedBy) {
        if let Some((before, _)) = &mut self.now {
            *before = holder;
        }
    }

    /// Returns the times up to `now`.
    pub fn until(&self, now: Time) -> LimitedTimes {
        let mut held = self.held;
        if let Some((holder, since)) = self.now {
            held.times[holder as usize] += now.saturating_sub(since);
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_from_the_begin() {
        let us = Time::from_us;
        let mut holding = LimitedClock::IDLE;
        assert_eq!(holding.until(us(5)), LimitedTimes::default());
        for (holder, at) in [
            (LimitedBy::Nothing, 10),
            (LimitedBy::CongestionControl, 12),
            (LimitedBy::CongestionControl, 14),
            (LimitedBy::ReceiveWindow, 17),
            (LimitedBy::Application, 20),
            (LimitedBy::Nothing, 29),
        ] {
            holding.change(Some(holder), us(at));
        }
        assert_eq!(holding.until(us(30)).times, [9, 3, 5, 3].map(us));
        assert_eq!(holding.until(us(40)).times, [9, 3, 5, 13].map(us));
        // The microsecond since 29 us was spent waiting for a timeout.
        let mut waited = holding;
        waited.correct(LimitedBy::CongestionControl);
        assert_eq!(waited.until(us(30)).times, [9, 3, 6, 2].map(us));
        // A sender that has finished accumulates no time until it begins again.
        holding.change(None, us(32));
        assert_eq!(holding.until(us(40)).times, [9, 3, 5, 5].map(us));
        holding.change(Some(LimitedBy::Nothing), us(50));
        assert_eq!(holding.until(us(51)).times, [9, 3, 5, 6].map(us));
    }
}
