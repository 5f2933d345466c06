//! Exact serialisation times.
//!
//! At 3.2 Tb/s a byte lasts 2.5 ps, so a frame of an odd number of bytes does not end on a picosecond. The clock rounds
//! the end of a frame down, and carries the remainder to the next back-to-back frame. Even after a billion frames, the
//! time is exact to the picosecond.

use crate::{BitRate, ClockOffset, Time};

/// Maximum length of a frame including its line overhead, so that products fit 64 bits.
const MOST_BYTES: u64 = 1 << 17;

/// Converts bytes to time at one rate, carrying remainders between back-to-back frames.
#[derive(Clone, Copy, Debug)]
pub struct WireClock {
    /// Picoseconds per byte as a reduced fraction.
    ps_num: u64,
    ps_den: u32,
    /// Remainder of the last time, in units of 1/`ps_den` ps.
    remainder: u32,
}

impl WireClock {
    /// Creates a clock for `rate`, which must not be zero.
    ///
    /// # Panics
    /// If the denominator of `rate`'s picoseconds per byte does not fit 32 bits (a prime number of b/s above 4 Gb/s);
    /// check with [`WireClock::supports`] beforehand.
    pub fn new(rate: BitRate) -> WireClock {
        let (num, den) = rate.ps_per_byte();
        WireClock { ps_num: num, ps_den: u32::try_from(den).expect("rate not supported"), remainder: 0 }
    }

    /// Creates a clock for `rate`, which must not be zero, at a station whose oscillator deviates by `offset`. Exact
    /// for an offset of zero, like [`WireClock::new`]; see [`ClockOffset::ps_per_byte`] for others.
    ///
    /// # Panics
    /// If the offset is zero, and [`WireClock::new`] panics.
    pub fn with_offset(rate: BitRate, offset: ClockOffset) -> WireClock {
        if offset == ClockOffset::NOMINAL {
            return WireClock::new(rate);
        }
        let (ps_num, ps_den) = offset.ps_per_byte(rate, u64::MAX / MOST_BYTES);
        WireClock { ps_num, ps_den, remainder: 0 }
    }

    /// Returns true if [`WireClock::new`] accepts this rate.
    pub fn supports(rate: BitRate) -> bool {
        let (num, den) = rate.ps_per_byte();
        den > 0 && u32::try_from(den).is_ok() && num < u64::MAX / MOST_BYTES
    }

    /// Returns the time from the end of the previous frame to the end of `bytes` more, back to back.
    #[inline(always)]
    pub fn advance(&mut self, bytes: u64) -> Time {
        if self.ps_den == 1 { Time::from_ps(bytes * self.ps_num) } else { self.advance_with_remainder(bytes) }
    }

    #[inline(never)]
    fn advance_with_remainder(&mut self, bytes: u64) -> Time {
        let exact = bytes * self.ps_num + u64::from(self.remainder);
        self.remainder = (exact % u64::from(self.ps_den)) as u32;
        Time::from_ps(exact / u64::from(self.ps_den))
    }

    /// Returns the remainder of the last time, in fractions of a picosecond that depend on the rate.
    pub fn remainder(&self) -> u32 {
        self.remainder
    }

    /// Returns true if bytes take the same time at the other clock.
    #[inline(always)]
    pub fn is_as_fast_as(&self, other: &WireClock) -> bool {
        (self.ps_num, self.ps_den) == (other.ps_num, other.ps_den)
    }

    /// Returns true if every byte takes a whole number of picoseconds, so that there is never a remainder.
    pub fn is_whole(&self) -> bool {
        self.ps_den == 1
    }

    /// Returns the time that `bytes` take in isolation, rounded down.
    #[inline]
    pub fn span_floor(&self, bytes: u64) -> Time {
        let exact = bytes * self.ps_num;
        Time::from_ps(if self.ps_den == 1 { exact } else { exact / u64::from(self.ps_den) })
    }

    /// Returns the time that `bytes` take in isolation, rounded up.
    #[inline]
    pub fn span_ceil(&self, bytes: u64) -> Time {
        Time::from_ps((bytes * self.ps_num).div_ceil(u64::from(self.ps_den)))
    }

    /// Returns the maximum number of bits that end within a time, wherever it starts.
    pub fn most_bits(&self, time: Time) -> u64 {
        let bits = u128::from(time.ps()) * 8 * u128::from(self.ps_den);
        bits.div_ceil(u128::from(self.ps_num)).min(u64::MAX.into()) as u64
    }

    /// Clears the remainder: the next frame starts on a whole picosecond, after a gap.
    #[inline]
    pub fn restart(&mut self) {
        self.remainder = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_times_of_the_golden_vector() {
        // Golden vector 1: without line overhead, the time is bits over rate; with 20 B of overhead, it is that of
        // Hagen §6.1.
        let mut at_10g = WireClock::new(BitRate::from_gbps(10));
        for (bytes, ps) in [(64, 67_200), (68, 70_400), (1000, 816_000), (1518, 1_230_400), (1522, 1_233_600)]
        {
            assert_eq!(at_10g.advance(bytes + 20).ps(), ps);
        }
    }

    #[test]
    fn a_billion_frames_at_3_2_tbps_end_on_the_exact_picosecond() {
        // 1,000,000,000 frames of 1523 + 20 B at 2.5 ps per byte: each odd size leaves half a picosecond. The clock
        // depends only on the remainder, with a period of two frames, so that a billion frames are half a billion equal
        // pairs. The loop runs one period; the rest is arithmetic.
        let mut clock = WireClock::new(BitRate::from_bps(3_200_000_000_000));
        let pair = clock.advance(1543) + clock.advance(1543);
        assert_eq!(clock.remainder, 0);
        assert_eq!(pair.ps() * 500_000_000, 1_000_000_000 * 1543 * 5 / 2);
    }

    #[test]
    fn odd_rates_do_not_drift() {
        // 1.1875 Gb/s: 128000/19 ps per byte.
        let mut clock = WireClock::new(BitRate::from_bps(1_187_500_000));
        let total: u64 = (0..19_000).map(|_| clock.advance(1520).ps()).sum();
        assert_eq!(total, 19_000 * 1520 * 128_000 / 19);
    }

    #[test]
    fn a_station_that_is_50_ppm_fast_sends_50_ppm_faster() {
        let rate = BitRate::from_gbps(10);
        let sent = |ppb| {
            let mut clock = WireClock::with_offset(rate, ClockOffset::from_ppb(ppb));
            (0..1_000_050).map(|_| clock.advance(1250).ps()).sum::<u64>()
        };
        // 1,000,050 frames in the nominal time of a million: one second.
        assert_eq!(sent(50_000), 1_000_000_000_000);
        assert_eq!(sent(0), 1_000_050_000_000);
        assert!(sent(-50_000) > 1_000_100_000_000);
    }

    proptest::proptest! {
        #[test]
        fn sum_of_spans_is_the_span_of_the_sum(
            rate in proptest::sample::select(vec![10_000_000u64, 1_000_000_000, 1_187_500_000, 2_500_000_000,
                10_000_000_000, 25_000_000_000, 40_000_000_000, 103_125_000_000, 800_000_000_000, 1_600_000_000_000]),
            frames in proptest::collection::vec(1u64..10_000, 1..200),
        ) {
            let mut clock = WireClock::new(BitRate::from_bps(rate));
            let total: u64 = frames.iter().map(|&bytes| clock.advance(bytes).ps()).sum();
            let bytes: u64 = frames.iter().sum();
            proptest::prop_assert_eq!(total, (u128::from(bytes) * 8_000_000_000_000 / u128::from(rate)) as u64);
        }
    }
}
