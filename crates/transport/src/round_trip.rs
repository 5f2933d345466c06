//! The round-trip estimate of a TCP sender, and its retransmission timeout (RFC 6298).

use units::Time;

/// Clock granularity and bounds of the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerSpec {
    /// Length of the clock ticks in which times are measured; zero if times are exact.
    pub tick: Time,
    /// Minimum timeout, above zero.
    pub min: Time,
    /// Timeout before the first measurement.
    pub initial: Time,
    /// Maximum timeout.
    pub max: Time,
}

/// The smoothed round-trip time, its variation, and the resulting timeout.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    /// SRTT and RTTVAR; `None` before the first measurement.
    known: Option<(Time, Time)>,
    /// Phase of this host's ticks; less than a tick.
    phase: Time,
    /// Number of times the timeout was doubled since the last measurement.
    doubled: u8,
    /// Timeout in whole ticks; zero if it has to be computed.
    waits: Time,
}

impl RoundTrip {
    /// Creates an estimate without measurements. Ticks occur at `phase`, which is less than a tick, and at every tick
    /// after it.
    pub fn new(phase: Time) -> RoundTrip {
        RoundTrip { known: None, phase, doubled: 0, waits: Time::ZERO }
    }

    /// Returns the estimate of a new connection on the same clock, without measurements.
    #[must_use]
    pub fn forget(self) -> RoundTrip {
        RoundTrip::new(self.phase)
    }

    /// Returns SRTT.
    pub fn smoothed(&self) -> Option<Time> {
        self.known.map(|known| known.0)
    }

    /// Adds a measurement from `start` to `now`, in ticks. Ends the doubling (section 5.7's note).
    pub fn measure(&mut self, spec: &TimerSpec, start: Time, now: Time) {
        let took = if spec.tick == Time::ZERO {
            now - start
        } else {
            // A duration below a tick counts as one.
            spec.tick * (self.tick_of(spec, now) - self.tick_of(spec, start)).max(1)
        };
        (self.doubled, self.waits) = (0, Time::ZERO);
        self.known = Some(match self.known {
            // Section 2.2.
            None => (took, Time::from_ps(took.ps() / 2)),
            // Section 2.3: beta = 1/4 and alpha = 1/8, the variation first.
            Some((smoothed, variation)) => {
                let off = smoothed.ps().abs_diff(took.ps());
                let weigh = |old: Time, new: u64, shift: u32| {
                    let (old, new) = (u128::from(old.ps()), u128::from(new));
                    Time::from_ps(((old * ((1 << shift) - 1) + new) >> shift) as u64)
                };
                (weigh(smoothed, took.ps(), 3), weigh(variation, off, 2))
            }
        });
    }

    /// Returns RTO.
    pub fn timeout(&self, spec: &TimerSpec) -> Time {
        let first = match self.known {
            None => spec.initial,
            // Sections 2.2 and 2.3: SRTT + max(G, 4 RTTVAR); 2.4: not below the minimum.
            Some((smoothed, variation)) => {
                let margin = variation.ps().saturating_mul(4).max(spec.tick.ps());
                smoothed.saturating_add(Time::from_ps(margin)).max(spec.min)
            }
        };
        // Sections 5.5 and 2.5.
        let doubled = u128::from(first.ps()) << self.doubled;
        Time::from_ps(doubled.min(u128::from(spec.max.ps())) as u64)
    }

    /// Doubles the next timeout after an expiry (section 5.5).
    pub fn double(&mut self) {
        (self.doubled, self.waits) = ((self.doubled + 1).min(60), Time::ZERO);
    }

    /// Returns the expiry of a timer that starts now. It is at a tick, if the clock has ticks.
    #[inline(always)]
    pub fn deadline(&mut self, spec: &TimerSpec, now: Time) -> Time {
        // Called for each acknowledgement; few change the timeout.
        if self.waits == Time::ZERO {
            self.waits = self.whole_ticks(spec);
        }
        if spec.tick == Time::ZERO {
            return now.saturating_add(self.waits);
        }
        let at = self.tick_of(spec, now).saturating_mul(spec.tick.ps()).saturating_add(self.waits.ps());
        Time::from_ps(at.saturating_sub(spec.tick.ps() - self.phase.ps()))
    }

    /// Returns RTO as a whole number of ticks, if the clock has ticks.
    #[inline(never)]
    fn whole_ticks(&self, spec: &TimerSpec) -> Time {
        let timeout = self.timeout(spec);
        if spec.tick == Time::ZERO {
            return timeout;
        }
        Time::from_ps(timeout.ps().div_ceil(spec.tick.ps()).saturating_mul(spec.tick.ps()))
    }

    /// Returns the number of the last tick.
    fn tick_of(&self, spec: &TimerSpec, time: Time) -> u64 {
        (time.ps() + spec.tick.ps() - self.phase.ps()) / spec.tick.ps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: TimerSpec = TimerSpec {
        tick: Time::ZERO,
        min: Time::from_ps(1),
        initial: Time::from_ms(1_000),
        max: Time::from_ms(60_000),
    };
    fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    #[test]
    fn the_timeout_follows_section_2() {
        let mut it = RoundTrip::new(Time::ZERO);
        assert_eq!(it.timeout(&EXACT), Time::from_ms(1_000));
        it.measure(&EXACT, us(5), us(805));
        // R = 800: RTO = R + 4 R / 2.
        assert_eq!((it.smoothed(), it.timeout(&EXACT)), (Some(us(800)), us(2_400)));
        it.measure(&EXACT, us(0), us(1_600));
        // RTTVAR = 3/4 * 400 + 1/4 * 800 = 500, SRTT = 7/8 * 800 + 1/8 * 1600 = 900.
        assert_eq!((it.smoothed(), it.timeout(&EXACT)), (Some(us(900)), us(2_900)));
        assert_eq!(it.timeout(&TimerSpec { min: us(3_000), ..EXACT }), us(3_000));
    }

    #[test]
    fn it_doubles_up_to_the_greatest_and_a_measurement_ends_that() {
        let mut it = RoundTrip::new(Time::ZERO);
        let timeouts: Vec<u64> = (0..9)
            .map(|_| {
                let ms = it.timeout(&EXACT).ps() / 1_000_000_000;
                it.double();
                ms
            })
            .collect();
        assert_eq!(timeouts, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
        it.measure(&EXACT, us(0), us(10));
        assert_eq!(it.timeout(&EXACT), us(30));
    }

    #[test]
    fn coarse_clocks_count_ticks() {
        let ms = Time::from_ms;
        let coarse = TimerSpec { tick: ms(500), min: ms(1_000), ..EXACT };
        let mut it = RoundTrip::new(ms(200));
        // Ticks are at 200, 700, 1200, ... ms. A timer of two ticks expires at the second tick from now on.
        assert_eq!(it.deadline(&coarse, ms(0)), ms(700));
        assert_eq!(it.deadline(&coarse, ms(199)), ms(700));
        assert_eq!(it.deadline(&coarse, ms(200)), ms(1_200));
        assert_eq!(it.deadline(&coarse, ms(699)), ms(1_200));
        // A duration of 10 us counts as one tick, whether or not a tick occurs in it: SRTT 500, RTTVAR 250, RTO 1500
        // ms, which is three ticks.
        it.measure(&coarse, us(0), us(10));
        assert_eq!((it.smoothed(), it.deadline(&coarse, ms(0))), (Some(ms(500)), ms(1_200)));
        let mut it = RoundTrip::new(ms(200));
        it.measure(&coarse, ms(190), ms(1_210));
        assert_eq!(it.smoothed(), Some(ms(1_500)));
    }
}
