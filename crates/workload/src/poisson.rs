//! Poisson arrivals: exponentially distributed gaps between frames.
//!
//! The mean gap is `mean bytes * 8 / rate`. Gaps are 64-bit floating-point numbers of picoseconds whose fraction is
//! carried to the next gap, so that rounding causes no bias.
//!
//! Source: the Poisson process.
//!
//! Not modelled: gaps that depend on the frame length.

use crate::arrivals::{Arrival, Configuration, Link, Random, no_rate, whole_ps};
use crate::draw::exponential;
use crate::spec::{FrameSizes, RateBasis};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Time};

/// Exponential gaps between frames.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoissonParams {
    /// Mean rate of the source. A rate with unit, above 0. Required.
    pub rate: BitRate,
}

impl Configuration for PoissonParams {
    type Machine = Poisson;

    fn check(&self) -> Vec<Remark> {
        no_rate("rate", self.rate).into_iter().collect()
    }
    fn rate(&self) -> (&'static str, BitRate) {
        ("rate", self.rate)
    }
    fn at_rate(self, rate: BitRate) -> PoissonParams {
        PoissonParams { rate }
    }
    fn mean_bps(&self, rate: BitRate, sizes: &FrameSizes, link: Link) -> f64 {
        link.in_frames(rate, sizes)
    }
    fn start(&self, link: Link, sizes: &FrameSizes) -> Poisson {
        let overhead = if link.basis == RateBasis::Wire { link.overhead } else { 0 };
        // A fast clock shortens gaps, as shorter frames would.
        let mean_bytes = (sizes.mean_bytes() + f64::from(overhead)) / link.clock.factor();
        Poisson { rate: self.rate, mean_bytes, rest: 0.0 }
    }
}

/// The state of a Poisson process.
#[derive(Clone, Debug)]
pub struct Poisson {
    rate: BitRate,
    mean_bytes: f64,
    rest: f64,
}

impl Poisson {
    /// Returns the process of bursts of `frames` frames.
    pub(crate) fn of_frames(self, frames: u64) -> Poisson {
        Poisson { mean_bytes: self.mean_bytes * frames as f64, ..self }
    }

    #[inline]
    fn gap(&mut self, rng: &mut Random) -> Time {
        if self.rate.bps() == 0 {
            return Time::NEVER;
        }
        whole_ps(self.mean_bytes * 8e12 / self.rate.bps() as f64 * exponential(rng), &mut self.rest)
    }
}

impl Arrival for Poisson {
    fn start(&mut self, _link: Link, now: Time, _next: u16, rng: &mut Random) -> Time {
        now.saturating_add(self.gap(rng))
    }
    #[inline(never)]
    fn after(&mut self, _link: Link, now: Time, _late: bool, _frames: [u16; 2], rng: &mut Random) -> Time {
        now.saturating_add(self.gap(rng))
    }
    fn rate(&self) -> Option<BitRate> {
        Some(self.rate)
    }
    fn set_rate(&mut self, _link: Link, new: BitRate) {
        self.rate = new;
    }
}
