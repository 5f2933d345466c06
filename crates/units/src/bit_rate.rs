//! Rates: whole bits per second, or the exact fraction that a line code leaves of them.

use crate::{Time, write_scaled};
use std::cmp::Ordering;
use std::fmt;

const PS_PER_S: u64 = 1_000_000_000_000;

/// A rate in bits per second. Range of a link: 1 Mb/s to 1.6 Tb/s.
///
/// Rates in scenarios are whole numbers. The data rate of a link with a line code may be a fraction: 8 Gb/s with
/// 128b/130b leave 7,876,923,076 12/13 b/s. It is stored exactly, as a fraction.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct BitRate {
    /// Numerator of the rate in lowest terms, in bits.
    bits: u64,
    /// Denominator of the rate, in seconds.
    seconds: u8,
}

impl BitRate {
    /// Creates a rate of `bps` bits per second.
    pub const fn from_bps(bps: u64) -> BitRate {
        BitRate { bits: bps, seconds: 1 }
    }
    /// Creates a rate of `gbps` gigabits per second.
    pub const fn from_gbps(gbps: u64) -> BitRate {
        BitRate::from_bps(gbps * 1_000_000_000)
    }
    /// Returns the total rate of this number of links, saturating at the end of the range.
    #[must_use]
    pub const fn times(self, links: u16) -> BitRate {
        BitRate { bits: self.bits.saturating_mul(links as u64), seconds: self.seconds }
    }
    /// Returns the part `part / whole` of a whole rate, saturating at the end of the range.
    pub(crate) fn part(self, part: u8, whole: u8) -> BitRate {
        let (bits, seconds) =
            (u128::from(self.bits) * u128::from(part), u128::from(self.seconds) * u128::from(whole));
        let divisor = gcd(bits, seconds);
        BitRate {
            bits: u64::try_from(bits / divisor).unwrap_or(u64::MAX),
            seconds: u8::try_from(seconds / divisor).unwrap_or(u8::MAX),
        }
    }
    /// Returns the rate in whole bits per second, rounded down.
    pub const fn bps(self) -> u64 {
        self.bits / self.seconds as u64
    }
    /// Returns the rate in whole bits per second, rounded up.
    pub const fn bps_ceil(self) -> u64 {
        self.bits.div_ceil(self.seconds as u64)
    }
    /// Returns the rate in bits per second as the nearest float, for reports and shares.
    pub fn bps_f64(self) -> f64 {
        self.bits as f64 / f64::from(self.seconds)
    }
    /// Returns the rate as a fraction in lowest terms: bits, and seconds.
    pub const fn fraction(self) -> (u64, u64) {
        (self.bits, self.seconds as u64)
    }
    /// Returns the picoseconds per byte as numerator and denominator in lowest terms; the denominator is 0 if the rate
    /// is 0.
    pub fn ps_per_byte(self) -> (u64, u64) {
        let (num, den) = (8 * PS_PER_S * u64::from(self.seconds), self.bits);
        let divisor = gcd(num.into(), den.into()) as u64;
        (num / divisor, den / divisor)
    }
    /// Returns the time that `bits` take, rounded down to a picosecond.
    pub const fn time_for_bits_floor(self, bits: u64) -> Time {
        Time::from_ps((bits as u128 * self.ps_times_seconds() / self.bits as u128) as u64)
    }
    /// Returns the time that `bits` take, rounded up to a picosecond: an upper bound, as headroom requires.
    pub const fn time_for_bits_ceil(self, bits: u64) -> Time {
        Time::from_ps((bits as u128 * self.ps_times_seconds()).div_ceil(self.bits as u128) as u64)
    }
    /// Returns the number of bits that fit completely into `span`.
    pub const fn bits_in_floor(self, span: Time) -> u64 {
        (span.ps() as u128 * self.bits as u128 / self.ps_times_seconds()) as u64
    }
    /// Returns the number of bits that start within `span`.
    pub const fn bits_in_ceil(self, span: Time) -> u64 {
        (span.ps() as u128 * self.bits as u128).div_ceil(self.ps_times_seconds()) as u64
    }
    const fn ps_times_seconds(self) -> u128 {
        PS_PER_S as u128 * self.seconds as u128
    }
}

impl Ord for BitRate {
    #[inline]
    fn cmp(&self, other: &BitRate) -> Ordering {
        if self.seconds == other.seconds {
            return self.bits.cmp(&other.bits);
        }
        let scaled = |rate: &BitRate, by: u8| u128::from(rate.bits) * u128::from(by);
        scaled(self, other.seconds).cmp(&scaled(other, self.seconds))
    }
}
impl PartialOrd for BitRate {
    fn partial_cmp(&self, other: &BitRate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Prints a fractional rate in whole bits per second, and marks it as rounded.
impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.seconds != 1 {
            f.write_str("about ")?;
        }
        let steps =
            [(PS_PER_S, "Tb/s"), (1_000_000_000, "Gb/s"), (1_000_000, "Mb/s"), (1_000, "kb/s"), (1, "b/s")];
        write_scaled(f, self.bps(), &steps)
    }
}

pub(crate) fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_rates_are_exact() {
        let eighth = BitRate::from_gbps(8).part(64, 65);
        assert_eq!(
            (eighth.fraction(), eighth.bps(), eighth.bps_ceil()),
            ((102_400_000_000, 13), 7_876_923_076, 7_876_923_077)
        );
        assert!((eighth.bps_f64() / 7_876_923_076.923_077 - 1.0).abs() < 1e-15);
        // 1.015625 ns.
        assert_eq!(eighth.ps_per_byte(), (8_125, 8));
        assert_eq!((eighth.time_for_bits_floor(8).ps(), eighth.time_for_bits_ceil(8).ps()), (1_015, 1_016));
        assert_eq!(eighth.time_for_bits_floor(512), eighth.time_for_bits_ceil(512));
        let span = Time::from_ns(65);
        assert_eq!((eighth.bits_in_floor(span), eighth.bits_in_ceil(span)), (512, 512));
        let longer = Time::from_ps(65_001);
        assert_eq!((eighth.bits_in_floor(longer), eighth.bits_in_ceil(longer)), (512, 513));
        assert_eq!(eighth.to_string(), "about 7.876923076 Gb/s");
        assert_eq!(BitRate::from_bps(0).ps_per_byte().1, 0);
    }

    #[test]
    fn rates_are_ordered_by_value() {
        let whole = BitRate::from_bps;
        let eighth = BitRate::from_gbps(8).part(64, 65);
        assert!(whole(7_876_923_076) < eighth && eighth < whole(7_876_923_077));
        assert_eq!(BitRate::from_gbps(10).part(4, 5), BitRate::from_gbps(8));
        assert!(whole(u64::MAX).part(64, 65) > eighth && eighth > whole(0));
    }
}
