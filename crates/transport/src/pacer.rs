//! Pacing, which determines when the next segment may leave. It is exact in the long run.

use units::{BitRate, Time};

const PS_PER_S_TIMES_8: u64 = 8_000_000_000_000;

/// Paces segments.
///
/// Most segments have the length of the one before, at an unchanged rate. The duration of such a segment is cached, so
/// that no division is needed.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Pacer {
    /// Time at which the next segment is due, if it follows back to back.
    due: Time,
    /// `closed` is true if no segment may leave before `due`; `paces` is true if there is a rate.
    closed: bool,
    paces: bool,
    /// Cached duration `takes` of a segment of `bytes` at the rate; `bytes` is 0 if none is cached.
    seconds: u8,
    bytes: u32,
    takes: Time,
    /// Remainders that rounding cut from `due` and from `takes`, in units of 1/`bps` ps.
    remainder: u64,
    rest: u64,
    /// Rate in whole bits per second, and as `bits` in `seconds`; `bits` is 0 before the first rate.
    bps: u64,
    bits: u64,
}

impl Pacer {
    /// Sets the rate from the next segment on; `None` disables pacing.
    #[inline(always)]
    pub fn set_rate(&mut self, rate: Option<BitRate>) {
        self.paces = rate.is_some();
        if let Some(rate) = rate
            && rate.fraction() != (self.bits, self.seconds.into())
        {
            self.change_rate(rate);
        }
    }

    /// Changes the rate. The remainder does not carry over from a segment at another rate.
    #[inline(never)]
    fn change_rate(&mut self, rate: BitRate) {
        let (bits, seconds) = rate.fraction();
        (self.bits, self.seconds, self.bps) = (bits, seconds as u8, rate.bps());
        (self.bytes, self.remainder) = (0, 0);
    }

    /// Returns true if a segment may leave.
    #[inline]
    pub fn is_open(&self) -> bool {
        !self.closed
    }

    /// Returns the time at which the pacer opens; `None` if it is open.
    #[inline]
    pub fn opens_at(&self) -> Option<Time> {
        self.closed.then_some(self.due)
    }

    /// Returns the time at which the pacer opens; [`Time::NEVER`] if it is open.
    #[inline]
    pub fn calls_at(&self) -> Time {
        if self.closed { self.due } else { Time::NEVER }
    }

    /// Returns true if the pacer opens after `now`.
    #[inline(always)]
    pub fn opens_after(&self, now: Time) -> bool {
        self.closed && self.due > now
    }

    /// Returns true if the pacer has a rate.
    #[inline(always)]
    pub fn paces(&self) -> bool {
        self.paces
    }

    /// Returns the time at which the next segment is due, if it follows back to back.
    #[inline(always)]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Opens the pacer. The caller has checked that its time has passed.
    #[inline(always)]
    pub fn has_opened(&mut self) {
        self.closed = false;
    }

    /// Advances the time to `now`.
    #[inline(always)]
    pub fn handle_timeout(&mut self, now: Time) {
        self.closed = self.opens_after(now);
    }

    /// Records that a segment is sent now. The next one must keep the distance that the rate requires.
    #[inline(always)]
    pub fn on_send(&mut self, now: Time, bytes: u32) {
        if !self.paces {
            return;
        }
        if self.bytes != bytes {
            self.measure(bytes);
        }
        if now > self.due {
            (self.due, self.remainder) = (now, 0);
        }
        // Both remainders are less than a picosecond.
        self.remainder += self.rest;
        let whole = u64::from(self.remainder >= self.bps);
        self.remainder -= whole * self.bps;
        self.due += self.takes + Time::from_ps(whole);
        self.closed = self.due > now;
    }

    /// Computes and caches the duration of segments of another length.
    #[inline(never)]
    fn measure(&mut self, bytes: u32) {
        debug_assert!(bytes < 1 << 17, "longer than any frame with its overhead");
        // The product is below 2^17 * 8e12, so it does not overflow.
        let exact = u64::from(bytes) * PS_PER_S_TIMES_8;
        (self.bytes, self.takes, self.rest) = (bytes, Time::from_ps(exact / self.bps), exact % self.bps);
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
                pacer.set_rate(Some(BitRate::from_bps(bps)));
                pacer.on_send(now, 1_001);
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
    fn segments_of_several_lengths_share_a_remainder() {
        let (mut pacer, mut now, mut bits) = (Pacer::default(), Time::ZERO, 0u128);
        for bytes in [1_538, 1_538, 84, 1_550, 1_538, 84].into_iter().cycle().take(1_000) {
            pacer.set_rate(Some(BitRate::from_bps(1_234_567_891)));
            pacer.on_send(now, bytes);
            bits += u128::from(bytes) * 8;
            now = pacer.opens_at().unwrap();
            assert_eq!(u128::from(now.ps()), bits * 1_000_000_000_000 / 1_234_567_891);
            pacer.handle_timeout(now);
        }
    }

    #[test]
    fn who_was_held_up_does_not_catch_up() {
        let rate = Some(BitRate::from_gbps(8));
        let mut pacer = Pacer::default();
        pacer.set_rate(rate);
        pacer.on_send(Time::ZERO, 1_000);
        pacer.handle_timeout(Time::from_us(1));
        pacer.set_rate(rate);
        pacer.on_send(Time::from_us(5), 1_000);
        assert_eq!(pacer.opens_at(), Some(Time::from_us(6)));
        // A new rate applies from the next segment on.
        pacer.handle_timeout(Time::from_us(6));
        pacer.set_rate(Some(BitRate::from_gbps(4)));
        pacer.on_send(Time::from_us(6), 1_000);
        assert_eq!(pacer.opens_at(), Some(Time::from_us(8)));
        // A segment that is sent early delays the next one by its full duration, also at another rate.
        pacer.set_rate(rate);
        pacer.on_send(Time::from_us(7), 1_000);
        assert_eq!(pacer.opens_at(), Some(Time::from_us(9)));
        pacer.handle_timeout(Time::from_us(9));
        // `None` disables pacing.
        pacer.set_rate(None);
        pacer.on_send(Time::from_us(9), 1_000);
        assert!(pacer.is_open());
    }
}
