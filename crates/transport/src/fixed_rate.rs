//! A fixed rate: segments are sent at constant intervals (pacing).
//!
//! After a segment of L bytes the next one is sent at least L * 8 / rate later; the long-run rate is exact. A sender
//! delayed by a pause or a busy NIC continues at the same rate; it does not catch up with a burst. The data in flight
//! is not limited.
//!
//! Source: A. Aggarwal, S. Savage and T. Anderson, "Understanding the Performance of TCP Pacing", INFOCOM 2000
//! (pacing); the rate limiter of a reaction point in IEEE 802.1Q-2018, clause 30 (here one per flow, not one per
//! port).
//!
//! Not modelled: the granularity of timers in NICs.

use crate::controller::{CongestionControl, ControllerConfiguration};
use units::BitRate;

/// Rate of transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedRateParams {
    /// Rate in bits of frames (DA to FCS) per second, above 0.
    pub rate: BitRate,
}

/// A constant sending rate.
#[derive(Clone, Copy, Debug)]
pub struct FixedRate {
    rate: BitRate,
}

impl ControllerConfiguration for FixedRateParams {
    type Machine = FixedRate;

    fn check(&self, _segment: u16) -> Result<(), String> {
        if self.rate.bps() > 0 { Ok(()) } else { Err("a rate of 0 sends nothing".to_string()) }
    }
    fn start(&self, _segment: u16) -> FixedRate {
        FixedRate { rate: self.rate }
    }
}

impl CongestionControl for FixedRate {
    fn rate(&self) -> Option<BitRate> {
        Some(self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_above_zero_and_leaves_the_window_open() {
        let rate = |bps| FixedRateParams { rate: BitRate::from_bps(bps) };
        assert!(rate(0).check(1_000).is_err());
        assert!(rate(1).check(1_000).is_ok());
        let controller = rate(7).start(1_000);
        assert_eq!((controller.rate(), controller.window()), (Some(BitRate::from_bps(7)), u64::MAX));
    }
}
