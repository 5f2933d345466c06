//! Renewal of pauses: time at which a pause frame is repeated, and the minimum effective pause time.
//!
//! A pause takes effect one response time after the end of the reception of its frame, but its pause time starts at
//! that end. It therefore stops the link for its pause time less the response time, and has no effect if it is no
//! longer than the response time. A pause that must continue is renewed. The renewal is in time if it takes effect
//! before the pause ends:
//!
//! > renewed after ≤ pause time - response time - longest frame - pause frame
//!
//! because the renewal may have to wait for a maximum-length frame whose transmission has just begun, and for a pause
//! frame of other priorities. Longer pauses are renewed earlier: two round trips and a microsecond before the limit,
//! but not before half of the pause time has passed. Renewals are at least two pause frames apart, so that the link
//! has capacity for data. This determines the minimum effective pause time.
//!
//! Source: IEEE 802.3 clauses 31B.2 (pause time), 31B.3.7 (response), and 802.1Q clause 36, which leave renewals to
//! the implementer; the condition is ours.
//!
//! Not modelled: clocks that run at different rates at the two ends of a link.

use crate::headroom::response_time;
use crate::pause::{QUANTUM_BITS, pause_time};
use frame::CONTROL_FRAME_BYTES;
use units::{BitRate, Time, WireClock};

/// The parameters that determine when a pause over a link must be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// Rate of the direction of the pause frames in b/s; above 0, no default.
    pub rate: BitRate,
    /// Lowest rate over time in the direction in which pause frames travel, and highest rate in the paused direction,
    /// whose bit times quanta count. Default: `rate` for both.
    pub rates: (BitRate, BitRate),
    /// One-way delay of the link; no default.
    pub delay: Time,
    /// Longest frame on the link in bytes, DA to FCS. Default: 1522 B.
    pub max_frame: u16,
    /// Bytes around each frame on the wire. Default: 20 B.
    pub overhead: u16,
    /// Time from the end of a pause frame to its effect at the paused station. Default: [`response_time`].
    pub response: Time,
}

impl Renewal {
    /// Returns the defaults for a link.
    pub fn of_link(rate: BitRate, delay: Time) -> Renewal {
        Renewal {
            rate,
            rates: (rate, rate),
            delay,
            max_frame: frame::MAX_TAGGED_FRAME_BYTES,
            overhead: frame::LINE_OVERHEAD_BYTES as u16,
            response: response_time(rate),
        }
    }

    /// Returns the time from the decision to send a pause of `quanta` to the decision to renew it.
    pub fn renew_after(&self, quanta: u16) -> Time {
        let lasts = pause_time(quanta, self.rates.1);
        let early = self.delay * 4 + self.frame_floor(self.rates.0) + self.response + Time::from_us(1);
        let half = Time::from_ps(lasts.ps() / 2);
        let shortest = self.shortest_interval();
        let usual = lasts.saturating_sub(early).max(half).max(shortest);
        let latest = lasts.saturating_sub(self.lead());
        // If the pause is too short, no renewal arrives in time; renewals must still not fill the link.
        if latest < shortest { usual } else { usual.min(latest) }
    }

    /// Returns the time from the decision to send a pause of `quanta` to the last moment at which the decision to renew
    /// it is in time.
    pub fn renew_late(&self, quanta: u16) -> Time {
        let lasts = pause_time(quanta, self.rates.1);
        lasts.saturating_sub(self.lead()).max(self.shortest_interval())
    }

    /// Returns the time from a pause's last check to its end, plus the time of a longest frame: a frame whose
    /// transmission has just begun does not count towards the drained bytes.
    pub(crate) fn latest_lead(&self) -> Time {
        self.lead() + self.wire(self.max_frame)
    }

    /// Returns the shortest pause that works, in quanta; more than 65535 if none does. If `renewed` is true the pause
    /// must continue without a gap when renewed; otherwise it only has to take effect.
    pub fn least_quanta(&self, renewed: bool) -> u64 {
        let least = if renewed { self.lead() + self.shortest_interval() } else { self.response };
        // The duration of a quantum is rounded down to whole picoseconds.
        self.rates.1.bits_in_ceil(least + Time::from_ps(1)).div_ceil(QUANTUM_BITS).max(1)
    }

    /// Returns the time by which the decision to renew must precede the end of the pause, if the first pause frame was
    /// sent at once: the response time, and the frames for which the renewal may have to wait. Two picoseconds account
    /// for rounding, and for a port that becomes free at the instant of the decision and sends another frame first.
    fn lead(&self) -> Time {
        self.response + self.wire(self.max_frame) + self.wire(CONTROL_FRAME_BYTES) + Time::from_ps(2)
    }

    /// Returns the maximum time that a frame of `bytes` takes on the link.
    fn wire(&self, bytes: u16) -> Time {
        let bits = (u64::from(bytes) + u64::from(self.overhead)) * 8;
        self.rates.0.time_for_bits_ceil(bits)
    }

    /// Returns the minimum interval between renewals. Consecutive pause frames would leave no room for data,
    /// and two neighbours that pause each other would never empty their queues.
    fn shortest_interval(&self) -> Time {
        let bytes = u64::from(CONTROL_FRAME_BYTES) + u64::from(self.overhead);
        (WireClock::new(self.rate).span_floor(bytes) * 2).max(Time::from_ps(1))
    }

    fn frame_floor(&self, rate: BitRate) -> Time {
        WireClock::new(rate).span_floor(u64::from(self.max_frame) + u64::from(self.overhead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at_100g() -> Renewal {
        Renewal::of_link(BitRate::from_gbps(100), Time::from_ns(500))
    }

    #[test]
    fn the_shortest_pause_at_100g() {
        // 394 quanta of response time; 1542 B, 84 B and twice 84 B are 14352 bits or 28.03 quanta.
        assert_eq!(at_100g().least_quanta(true), 394 + 29);
        assert_eq!(at_100g().least_quanta(false), 395);
    }

    #[test]
    fn short_pauses_are_renewed_before_they_end() {
        // 700 quanta are 3584 ns. A renewal after half of them is too late: 2017.28 ns of response time, 123.36 ns and
        // 6.72 ns.
        let after = at_100g().renew_after(700);
        assert_eq!(after, Time::from_ps(3_584_000 - 2_017_280 - 123_360 - 6_720 - 2));
        assert!(after < Time::from_ns(1_792));
        // 65535 quanta are renewed two round trips, a frame, the response time and a microsecond before their end.
        let early = 4 * 500_000 + 123_360 + 2_017_280 + 1_000_000;
        assert_eq!(at_100g().renew_after(u16::MAX), Time::from_ps(335_539_200 - early));
    }

    proptest! {
        #[test]
        fn the_renewal_acts_before_the_pause_ends(
            rate in prop::sample::select(vec![10_000_000u64, 1_000_000_000, 10_000_000_000, 25_000_000_000, 56_000_000_000,
                400_000_000_000, 1_600_000_000_000]),
            delay in 0u64..10_000_000, max_frame in 64u16..9217, overhead in 0u16..40, response in 0u64..5_000_000,
            more in 0u64..3_000,
        ) {
            let rate = BitRate::from_bps(rate);
            let renewal = Renewal {
                max_frame, overhead, response: Time::from_ps(response), ..Renewal::of_link(rate, Time::from_ps(delay))
            };
            let least = renewal.least_quanta(true);
            prop_assert!(least > renewal.least_quanta(false) || rate.bps() < 1_000_000_000);
            let Ok(quanta) = u16::try_from(least + more) else { return Ok(()) };
            let wire = |bytes: u16| rate.time_for_bits_ceil((u64::from(bytes) + u64::from(overhead)) * 8);
            let after = renewal.renew_after(quanta);
            let acts = after + wire(max_frame) + wire(64) + renewal.response;
            prop_assert!(acts < pause_time(quanta, rate), "{} and {}", acts, pause_time(quanta, rate));
            prop_assert!(after >= renewal.shortest_interval());
            // One quantum less is too short.
            let short = pause_time(u16::try_from(least - 1).unwrap(), rate).saturating_sub(renewal.lead());
            prop_assert!(short < renewal.shortest_interval() + Time::from_ps(1));
        }
    }
}
