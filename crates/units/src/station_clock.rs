//! Clocks of stations, whose frequencies differ slightly.
//!
//! Every station sends at the rate of its own oscillator. IEEE 802.3 allows each a deviation of 100 parts per million,
//! so that two links of the same nominal rate may differ by up to 200 ppm. A [`ClockTolerance`] is the maximum
//! deviation of clocks, a [`ClockOffset`] the deviation of one clock.

use crate::BitRate;
use crate::bit_rate::gcd;

/// Parts per billion in the whole.
const WHOLE: i64 = 1_000_000_000;
/// Picoseconds per second, times bits per byte.
const PS_PER_S_TIMES_8: u128 = 8_000_000_000_000;

/// Maximum deviation of clocks from their nominal frequency, in either direction, in parts per billion.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ClockTolerance(u32);

impl ClockTolerance {
    /// All clocks are exact.
    pub const EXACT: ClockTolerance = ClockTolerance(0);

    /// Creates a tolerance of `ppb` parts per billion, limited to a thousandth.
    pub const fn from_ppb(ppb: u32) -> ClockTolerance {
        ClockTolerance(ppb)
    }
    /// Creates a tolerance of `ppm` parts per million.
    pub const fn from_ppm(ppm: u32) -> ClockTolerance {
        ClockTolerance(ppm * 1000)
    }
    /// Returns the tolerance in parts per billion.
    pub const fn ppb(self) -> u32 {
        self.0
    }
    /// Returns the maximum rate of a station with the nominal rate `rate`, rounded up.
    pub const fn fastest(self, rate: BitRate) -> BitRate {
        if self.0 == 0 {
            return rate;
        }
        let (bits, seconds) = rate.fraction();
        let faster = bits as u128 * (WHOLE as u128 + self.0 as u128);
        BitRate::from_bps(faster.div_ceil(WHOLE as u128 * seconds as u128) as u64)
    }
    /// Maps a number from 0 to `2 * ppb` to an offset; the middle of the range is the nominal frequency.
    pub const fn offset(self, drawn: u64) -> ClockOffset {
        ClockOffset(drawn as i32 - self.0 as i32)
    }
}

/// Deviation of a clock from its nominal frequency, in parts per billion. Positive if the clock is fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ClockOffset(i32);

impl ClockOffset {
    /// An exact clock.
    pub const NOMINAL: ClockOffset = ClockOffset(0);

    /// Creates an offset of `ppb` parts per billion.
    pub const fn from_ppb(ppb: i32) -> ClockOffset {
        ClockOffset(ppb)
    }
    /// Returns the offset in parts per billion.
    pub const fn ppb(self) -> i32 {
        self.0
    }
    /// Returns the frequency as a multiple of the nominal one.
    pub fn factor(self) -> f64 {
        (WHOLE + i64::from(self.0)) as f64 / WHOLE as f64
    }

    /// Returns the picoseconds per byte, as numerator and denominator, of the rate `rate` (above 0) at this clock.
    /// Exact if the reduced fraction has a numerator up to `most` and a denominator of 32 bits, as for an exact clock
    /// at all rates of Ethernet. Otherwise both are halved until they fit: the error is below 10 parts per billion from
    /// 10 Mb/s on, and below 100 at 1 Mb/s.
    pub fn ps_per_byte(self, rate: BitRate, most: u64) -> (u64, u32) {
        let (bits, seconds) = rate.fraction();
        let (mut num, mut den) = (
            PS_PER_S_TIMES_8 * u128::from(seconds) * WHOLE as u128,
            u128::from(bits) * (WHOLE + i64::from(self.0)) as u128,
        );
        let divisor = gcd(num, den);
        (num, den) = (num / divisor, den / divisor);
        while den > u128::from(u32::MAX) || num > u128::from(most) {
            (num, den) = (num / 2, (den / 2).max(1));
        }
        (num as u64, den as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LineCode;

    #[test]
    fn fractions_are_exact_where_they_can_be() {
        let at = |gbps, ppb| ClockOffset::from_ppb(ppb).ps_per_byte(BitRate::from_gbps(gbps), u64::MAX);
        assert_eq!(at(10, 0), (800, 1));
        assert_eq!(at(10, 50_000), (16_000_000, 20_001));
        assert_eq!(at(100, -100_000), (800_000, 9_999));
        // The fractions of odd rates and offsets do not fit, and are approximated.
        let fraction = LineCode::OneTwentyEightOneThirty.data_rate(BitRate::from_gbps(8));
        let whole = [1_000_000, 10_000_000, 3_333_333_333, 103_125_000_000, 1_600_000_000_000u64];
        for rate in whole.map(BitRate::from_bps).into_iter().chain([fraction]) {
            let most = if rate.bps() < 10_000_000 { 1e-7 } else { 1e-8 };
            for ppb in [-99_999, 1, 31_337, 1_000_000] {
                let (num, den) = ClockOffset::from_ppb(ppb).ps_per_byte(rate, u64::MAX >> 17);
                let exact = 8e12 / (rate.bps_f64() * (1.0 + f64::from(ppb) * 1e-9));
                let off = num as f64 / f64::from(den) / exact - 1.0;
                assert!(off.abs() < most && num <= u64::MAX >> 17, "{rate}, {ppb} ppb: {off}");
            }
        }
    }

    #[test]
    fn tolerances() {
        let tolerance = ClockTolerance::from_ppm(100);
        assert_eq!(tolerance.fastest(BitRate::from_gbps(10)).bps(), 10_001_000_000);
        let fraction = LineCode::OneTwentyEightOneThirty.data_rate(BitRate::from_gbps(8));
        assert_eq!(ClockTolerance::EXACT.fastest(fraction), fraction);
        // 7,876,923,076.92 and 787,692.31 b/s.
        assert_eq!(tolerance.fastest(fraction).bps(), 7_877_710_770);
        assert_eq!(ClockTolerance::EXACT.fastest(BitRate::from_gbps(10)), BitRate::from_gbps(10));
        assert_eq!([0, 100_000, 200_000].map(|drawn| tolerance.offset(drawn).ppb()), [-100_000, 0, 100_000]);
        assert_eq!("100 ppm".parse(), Ok(tolerance));
        assert_eq!(tolerance.to_string(), "100 ppm");
        assert_eq!("0.5 ppm".parse(), Ok(ClockTolerance::from_ppb(500)));
        let why = "100".parse::<ClockTolerance>().unwrap_err().to_string();
        assert!(why.contains("did you mean \"100 ppm\""), "{why}");
    }
}
