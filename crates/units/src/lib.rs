//! Integer units of a fabric: picoseconds, bytes, bits per second, millimetres.
//!
//! Every quantity is an unsigned integer in one fixed unit, so that two runs can only differ if the scenario differs.
//! Parsing is exact: a text that is not a whole number of base units ("0.5 ps") is an error, and never rounded. Only
//! the data rate of a link with a line code may be a fraction, which is also exact. The one conversion that has to
//! round is that of bits to time. [`WireClock`] performs it, and carries the remainder from frame to frame.
//!
//! ```
//! use units::{BitRate, WireClock};
//!
//! // At 3.2 Tb/s a byte takes 2.5 ps: the remainder of a frame's end is carried to the next frame.
//! let mut clock = WireClock::new(BitRate::from_bps(3_200_000_000_000));
//! assert_eq!(clock.advance(1543).ps() + clock.advance(1543).ps(), 2 * 1543 * 5 / 2);
//! ```

#![warn(clippy::too_many_lines)]

mod bit_rate;
mod line_code;
mod parse;
mod station_clock;
mod text;
mod wire_clock;

pub use bit_rate::BitRate;
pub use line_code::LineCode;
pub use parse::{Amount, ParseUnitError};
pub use station_clock::{ClockOffset, ClockTolerance};
pub use text::{Available, Bdp, Computed, Dimension, Never, Off, Or, Standard, Unlimited, Word};
pub use wire_clock::WireClock;

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A point in simulated time, or a duration, in integer picoseconds. Range: 0 to 213 days.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The start of every simulation, and the duration of zero.
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const NEVER: Time = Time(u64::MAX);

    /// Creates a time of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }
    /// Creates a time of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns * 1_000)
    }
    /// Creates a time of `us` microseconds.
    pub const fn from_us(us: u64) -> Time {
        Time(us * 1_000_000)
    }
    /// Creates a time of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Time {
        Time(ms * 1_000_000_000)
    }
    /// Returns the time in picoseconds.
    pub const fn ps(self) -> u64 {
        self.0
    }
    /// Returns the time in seconds as the nearest float, for reports. It prints with at most twelve decimals.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }
    /// Returns the time in nanoseconds as the nearest float, for reports. It prints with at most three decimals.
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }
    /// Returns the time since `earlier`, or zero if `earlier` is later.
    pub const fn saturating_sub(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
    /// Returns the sum, or [`Time::NEVER`] beyond the end of the range.
    pub const fn saturating_add(self, span: Time) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, span: Time) -> Time {
        Time(self.0 + span.0)
    }
}
impl AddAssign for Time {
    fn add_assign(&mut self, span: Time) {
        self.0 += span.0;
    }
}
impl Sub for Time {
    type Output = Time;
    fn sub(self, earlier: Time) -> Time {
        Time(self.0 - earlier.0)
    }
}
impl Mul<u64> for Time {
    type Output = Time;
    fn mul(self, times: u64) -> Time {
        Time(self.0 * times)
    }
}

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// Creates a number of bytes.
    pub const fn new(n: u64) -> Bytes {
        Bytes(n)
    }
    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// Returns the number of bits.
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }
}

/// The length of a cable in integer millimetres.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Length(u64);

impl Length {
    /// Creates a length of `mm` millimetres.
    pub const fn from_mm(mm: u64) -> Length {
        Length(mm)
    }
    /// Creates a length of `m` metres.
    pub const fn from_m(m: u64) -> Length {
        Length(m * 1_000)
    }
    /// Returns the length in millimetres.
    pub const fn mm(self) -> u64 {
        self.0
    }
    /// Returns the propagation delay in optical fibre at 5 ns per metre, the value that vendors use to size PFC buffers
    /// (a group velocity of 2/3 of the speed of light). Exact: 5 ps per millimetre.
    pub const fn fibre_delay(self) -> Time {
        Time(self.0 * 5)
    }
}

/// Prints `value` base units in the largest unit of `steps` in which it is a short exact decimal.
fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, steps: &[(u64, &str)]) -> fmt::Result {
    for &(scale, unit) in steps {
        if value >= scale || scale == 1 {
            let (whole, rest) = (value / scale, value % scale);
            if rest == 0 {
                return write!(f, "{whole} {unit}");
            }
            let digits = scale.ilog10() as usize;
            let fraction = format!("{rest:0digits$}");
            return write!(f, "{whole}.{} {unit}", fraction.trim_end_matches('0'));
        }
    }
    Ok(())
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(
            f,
            self.0,
            &[(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns"), (1, "ps")],
        )
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (scale, unit) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
            if self.0 >= scale && self.0.is_multiple_of(scale) {
                return write!(f, "{} {unit}", self.0 / scale);
            }
        }
        write!(f, "{} B", self.0)
    }
}
impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &[(1_000_000, "km"), (1_000, "m"), (1, "mm")])
    }
}

impl fmt::Display for ClockTolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.ppb().into(), &[(1_000, "ppm"), (1, "ppb")])
    }
}

macro_rules! debug_as_display {
    ($($unit:ty),*) => {$(
        impl fmt::Debug for $unit {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}
debug_as_display!(Time, BitRate, Bytes, Length, ClockTolerance);

#[cfg(test)]
mod tests {
    use super::Time;

    #[test]
    fn picoseconds_print_as_they_are() {
        for (ps, ns) in [(107_739_400, "107739.4"), (165_221_301, "165221.301"), (49_270_200, "49270.2")] {
            assert_eq!(Time::from_ps(ps).as_ns_f64().to_string(), ns);
        }
        assert_eq!(Time::from_ps(49_270_201).as_secs_f64().to_string(), "0.000049270201");
    }
}
