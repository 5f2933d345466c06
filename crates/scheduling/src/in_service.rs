//! The frame on the wire, for schedulers whose virtual time follows the service of the link.

use units::{BitRate, Time};

/// A bit lasts this many picoseconds times bits per second.
const PS_A_SECOND: u64 = 1_000_000_000_000;

/// A frame whose transmission has begun. Its work is done evenly while it is sent, and none of it is left at the end,
/// regardless of the duration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InService {
    since: Time,
    rate: BitRate,
    /// Its length on the wire in picoseconds times bits per second.
    length: u64,
    work: u64,
}

impl InService {
    /// `work` in any unit.
    #[inline]
    pub fn new(bytes_on_wire: u32, work: u64, rate: BitRate, now: Time) -> InService {
        InService { since: now, rate, length: u64::from(bytes_on_wire) * 8 * PS_A_SECOND, work }
    }
    /// Work left for the link at `now`, rounded up; zero when the last bit has left at the nominal rate.
    #[inline]
    pub fn left(&self, now: Time) -> u64 {
        let sent = (now - self.since).ps().saturating_mul(self.rate.bps());
        match self.length.saturating_sub(sent) {
            0 => 0,
            left => (u128::from(self.work) * u128::from(left)).div_ceil(u128::from(self.length)) as u64,
        }
    }
}
