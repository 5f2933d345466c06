//! The frame on the wire, for schedulers whose virtual time follows the service of the link.

use units::{BitRate, Time};

/// Number of units of length (picoseconds times bits per second) per bit.
const PS_A_SECOND: u64 = 1_000_000_000_000;

/// A frame whose transmission has begun. Its work is done at a constant rate during the transmission and is complete at
/// the end, even if the actual duration differs from the nominal one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InService {
    since: Time,
    rate: BitRate,
    /// Length on the wire, in picoseconds times bits per second.
    length: u64,
    work: u64,
}

impl InService {
    /// Begins a frame at `now`; `work` is in any unit.
    #[inline]
    pub fn new(bytes_on_wire: u32, work: u64, rate: BitRate, now: Time) -> InService {
        InService { since: now, rate, length: u64::from(bytes_on_wire) * 8 * PS_A_SECOND, work }
    }
    /// Returns the work that remains at `now`, rounded up. It is zero once the last bit would have left at the nominal
    /// rate.
    #[inline]
    pub fn left(&self, now: Time) -> u64 {
        let sent = (now - self.since).ps().saturating_mul(self.rate.bps());
        match self.length.saturating_sub(sent) {
            0 => 0,
            left => (u128::from(self.work) * u128::from(left)).div_ceil(u128::from(self.length)) as u64,
        }
    }
}
