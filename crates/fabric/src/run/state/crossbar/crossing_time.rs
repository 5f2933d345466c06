//! Crossing times of frames in a crossbar.

use queueing::Speedup;
use units::{BitRate, Time};

const PS_A_BYTE_AT_1_BPS: u64 = 8_000_000_000_000;

/// Returns the time of a byte on a link of this rate in picoseconds, if it is an integer; otherwise 0.
pub(super) fn whole_ps_per_byte(rate: BitRate) -> u64 {
    if PS_A_BYTE_AT_1_BPS.is_multiple_of(rate.bps()) { PS_A_BYTE_AT_1_BPS / rate.bps() } else { 0 }
}

/// Returns the crossing time of a frame. `rate` is that of the fastest link of the switch.
pub(crate) fn time_to_cross(rate: BitRate, speedup: Speedup, bytes: u16) -> Time {
    crossing_time(whole_ps_per_byte(rate), rate, speedup, bytes)
}

/// Computes [`time_to_cross`] with the [`whole_ps_per_byte`] of the rate.
pub(super) fn crossing_time(whole_ps: u64, rate: BitRate, speedup: Speedup, bytes: u16) -> Time {
    let link = if whole_ps > 0 {
        u64::from(bytes) * whole_ps
    } else {
        // At most 5.3e17.
        (u64::from(bytes) * PS_A_BYTE_AT_1_BPS).div_ceil(rate.bps())
    };
    Time::from_ps(speedup.of(link))
}
