//! Halving: a mark halves the window, an acknowledgement adds a segment.
//!
//! Source: none; the example of CONTRIBUTING.md.
//!
//! Not modelled: slow start; one halving for all marks of a round trip.

use crate::controller::{Ack, CongestionControl, ControllerConfiguration};
use units::Time;

/// The window at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HalvingParams {
    /// Segments, at least one.
    pub first: u64,
}

impl ControllerConfiguration for HalvingParams {
    type Machine = Halving;

    fn check(&self, _segment: u16) -> Result<(), String> {
        if self.first == 0 { Err("a window of 0 segments".to_string()) } else { Ok(()) }
    }
    fn start(&self, segment: u16) -> Halving {
        Halving { segment: segment.into(), window: self.first.saturating_mul(segment.into()) }
    }
}

/// Bytes of a segment and of the window.
#[derive(Clone, Copy, Debug)]
pub struct Halving {
    segment: u64,
    window: u64,
}

impl CongestionControl for Halving {
    fn on_mark(&mut self, _now: Time) {
        self.window = (self.window / 2).max(self.segment);
    }
    fn on_ack(&mut self, _now: Time, ack: &Ack) {
        self.window += u64::from(!ack.ece) * self.segment;
    }
    fn window(&self) -> u64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_halves_and_a_segment_stays() {
        let mut halving = HalvingParams { first: 5 }.start(1000);
        halving.on_mark(Time::ZERO);
        assert_eq!(halving.window(), 2500);
        halving.on_mark(Time::ZERO);
        halving.on_mark(Time::ZERO);
        assert_eq!(halving.window(), 1000);
        assert!(HalvingParams { first: 0 }.check(1000).is_err());
    }
}
