//! Pacing: when the next segment may leave, exact in the long run.

use units::{BitRate, Time};

const PS_PER_S_TIMES_8: u64 = 8_000_000_000_000;

/// Keeps segments apart.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    /// Until then nothing leaves; [`Time::NEVER`]: the next segment may.
    closed_until: Time,
    /// When the segment after the last was due, if it is sent back to back.
    due: Time,
    /// What `due` cut off, in units of 1/rate ps, and the rate that it belongs to.
    remainder: u64,
    rate: Option<BitRate>,
}

impl Default for Pacer {
    fn default() -> Pacer {
        Pacer { closed_until: Time::NEVER, due: Time::ZERO, remainder: 0, rate: None }
    }
}

impl Pacer {
    /// Whether a segment may leave.
    pub fn is_open(&self) -> bool {
        self.closed_until == Time::NEVER
    }

    /// When it opens; `None` if it is open.
    pub fn opens_at(&self) -> Option<Time> {
        Some(self.closed_until).filter(|&at| at < Time::NEVER)
    }
    /// When it opens; [`Time::NEVER`] if it is open.
    pub fn calls_at(&self) -> Time {
        self.closed_until
    }

    /// The time goes on.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.closed_until <= now {
            self.closed_until = Time::NEVER;
        }
    }

    /// A segment leaves now, and the next has to keep the distance of `rate`.
    #[inline(always)]
    pub fn on_send(&mut self, now: Time, bytes: u16, rate: Option<BitRate>) {
        let Some(rate) = rate else { return };
        if now > self.due || self.rate != Some(rate) {
            (self.due, self.remainder, self.rate) = (now, 0, Some(rate));
        }
        // Below 2^16 * 8e12 + 2^44: no overflow.
        let exact = u64::from(bytes) * PS_PER_S_TIMES_8 + self.remainder;
        self.due += Time::from_ps(exact / rate.bps());
        self.remainder = exact % rate.bps();
        self.closed_until = if self.due > now { self.due } else { Time::NEVER };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_exact_in_the_long_run() {
        for bps in [3, 3_333_333_333, 10_000_000_000, 16_000_000_000_000] {
            let (mut pacer, mut now) = (Pacer::default(), Time::ZERO);
            for n in 1..=1_000u128 {
                pacer.on_send(now, 1_001, Some(BitRate::from_bps(bps)));
                assert!(!pacer.is_open());
                now = pacer.opens_at().unwrap();
                assert_eq!(u128::from(now.ps()), n * 1_001 * 8_000_000_000_000 / u128::from(bps));
                pacer.handle_timeout(now - Time::from_ps(1));
                assert!(!pacer.is_open());
                pacer.handle_timeout(now);
                assert!(pacer.is_open());
            }
        }
    }

    #[test]
    fn who_was_held_up_does_not_catch_up() {
        let rate = Some(BitRate::from_gbps(8));
        let mut pacer = Pacer::default();
        pacer.on_send(Time::ZERO, 1_000, rate);
        pacer.handle_timeout(Time::from_us(1));
        pacer.on_send(Time::from_us(5), 1_000, rate);
        assert_eq!(pacer.opens_at(), Some(Time::from_us(6)));
        // A new rate holds from the next segment on.
        pacer.handle_timeout(Time::from_us(6));
        pacer.on_send(Time::from_us(6), 1_000, Some(BitRate::from_gbps(4)));
        assert_eq!(pacer.opens_at(), Some(Time::from_us(8)));
        // None: no pacing at all.
        pacer.handle_timeout(Time::from_us(8));
        pacer.on_send(Time::from_us(8), 1_000, None);
        assert!(pacer.is_open());
    }
}
