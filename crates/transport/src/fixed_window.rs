//! A fixed window: a constant limit of the bytes in flight.
//!
//! A segment is sent if it and all data in flight fit in the window. If the window is smaller than the bandwidth-delay
//! product, one window is sent per round trip, and the throughput is window / round-trip time. If it is larger, the
//! link is saturated and the excess is queued. Marks, losses and congestion messages have no effect on the window.
//!
//! Source: D. Bertsekas and R. Gallager, "Data Networks", 2nd edition, section 6.2 (window flow control, end to end);
//! as an addition to rate-based schemes in Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019,
//! section 5.
//!
//! Not modelled: a window advertised by the receiver; the receiver accepts all data immediately.

use crate::controller::{CongestionControl, ControllerConfiguration};
use units::Amount;

/// Size of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedWindowParams {
    /// Size of the window in bytes of frames (DA to FCS) or full segments, at least one segment.
    pub size: Amount,
}

/// A constant window.
#[derive(Clone, Copy, Debug)]
pub struct FixedWindow {
    bytes: u64,
}

impl ControllerConfiguration for FixedWindowParams {
    type Machine = FixedWindow;

    fn check(&self, segment: u16) -> Result<(), String> {
        if self.start(segment).bytes >= u64::from(segment) {
            return Ok(());
        }
        let [window, segment] = Amount::alike([self.size, Amount::Bytes(segment.into())]);
        Err(format!("a window of {window} is smaller than a segment of {segment}"))
    }
    fn start(&self, segment: u16) -> FixedWindow {
        let bytes = match self.size {
            Amount::Bytes(bytes) => bytes,
            Amount::Frames(segments) => segments.saturating_mul(u64::from(segment)),
        };
        FixedWindow { bytes }
    }
}

impl CongestionControl for FixedWindow {
    fn window(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_counts_bytes_or_segments_and_holds_one_at_least() {
        let window = |size| FixedWindowParams { size };
        assert_eq!(window(Amount::Bytes(5_000)).start(1_000).window(), 5_000);
        assert_eq!(window(Amount::Frames(5)).start(1_500).window(), 7_500);
        assert!(window(Amount::Bytes(1_000)).check(1_000).is_ok());
        assert!(window(Amount::Frames(1)).check(1_000).is_ok());
        let refused = window(Amount::Bytes(999)).check(1_000).unwrap_err();
        assert_eq!(refused, "a window of 999 B is smaller than a segment of 1000 B");
        assert!(window(Amount::Frames(0)).check(1_000).is_err());
    }
}
