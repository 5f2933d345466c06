//! Durations of bytes at the rate of a source.

use units::{BitRate, ClockOffset, Time};

/// Converts bytes to time at one rate, exactly in the long run. Accepts every rate except zero, and gaps far
/// longer than a frame, which `units::WireClock` does not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub rate: BitRate,
    /// Picoseconds per byte as a reduced fraction.
    num: u64,
    den: u64,
    /// Remainder of the last duration, in units of 1/`den` ps.
    rest: u64,
    /// The last call's bytes, and their duration in picoseconds and units of 1/`den` ps. Most flows have frames of one
    /// size.
    last: (u64, u64, u64),
}

impl Pace {
    /// Returns the pace of a station whose clock is off by `clock`.
    pub fn at_station(rate: BitRate, clock: ClockOffset) -> Option<Pace> {
        if clock == ClockOffset::NOMINAL || rate.bps() == 0 {
            return Pace::new(rate);
        }
        let (num, den) = clock.ps_per_byte(rate, u64::MAX);
        Some(Pace { rate, num, den: den.into(), rest: 0, last: (0, 0, 0) })
    }

    fn new(rate: BitRate) -> Option<Pace> {
        let (num, den) = rate.ps_per_byte();
        (den > 0).then_some(Pace { rate, num, den, rest: 0, last: (0, 0, 0) })
    }

    /// Returns the duration of the next `bytes`.
    #[inline]
    pub fn span(&mut self, bytes: u64) -> Time {
        if bytes != self.last.0 {
            // This many bytes overflow 64 bits; their duration is not cached.
            let Some(exact) = bytes.checked_mul(self.num) else { return self.span_wide(bytes.into()) };
            self.last = (bytes, exact / self.den, exact % self.den);
        }
        let (_, whole, part) = self.last;
        let to_go = self.den - part;
        let carry = self.rest >= to_go;
        self.rest = if carry { self.rest - to_go } else { self.rest + part };
        Time::from_ps(whole + u64::from(carry))
    }

    /// Variant of [`Pace::span`] for one of several streams, each of which keeps its own remainder.
    pub fn span_of(&mut self, rest: &mut u64, bytes: u64) -> Time {
        std::mem::swap(&mut self.rest, rest);
        let span = self.span(bytes);
        std::mem::swap(&mut self.rest, rest);
        span
    }

    /// Variant of [`Pace::span`] for any number of bytes. Returns [`Time::NEVER`] past the end of time.
    pub fn span_wide(&mut self, bytes: u128) -> Time {
        let Some(exact) = bytes.checked_mul(self.num.into()).and_then(|e| e.checked_add(self.rest.into()))
        else {
            return Time::NEVER;
        };
        self.rest = (exact % u128::from(self.den)) as u64;
        u64::try_from(exact / u128::from(self.den)).map_or(Time::NEVER, Time::from_ps)
    }

    /// Clears the remainder, so that the next interval begins on a whole picosecond.
    pub fn restart(&mut self) {
        self.rest = 0;
    }
}

/// Rescales the remainder `left` of an interval from the rate `from` to the rate `to`.
pub(crate) fn rescaled(left: Time, from: BitRate, to: BitRate) -> Time {
    if from == to {
        return left;
    }
    let scaled = u128::from(left.ps()) * u128::from(from.bps()) / u128::from(to.bps());
    u64::try_from(scaled).map_or(Time::NEVER, Time::from_ps)
}
