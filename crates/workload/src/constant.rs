//! Constant bit rate (CBR) arrivals: one frame every `bytes * 8 / rate`.
//!
//! The arithmetic is in integers. The remainder of each division is carried to the next interval, so that the long-run
//! rate is exact.
//!
//! Source: none; it is a definition.
//!
//! Not modelled: clock drift, other than the constant one of the station.

use crate::arrivals::{Arrival, Configuration, Link, Random, no_rate};
use crate::draw::below;
use crate::pace::Pace;
use crate::spec::FrameSizes;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Time};

/// One frame every `bytes * 8 / rate`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstantParams {
    /// Rate of the source. A rate with unit, above 0. Required.
    pub rate: BitRate,
    /// If true, the first frame is sent at a random time within the first interval; if false, at the start. Default: true (sources with equal rates would otherwise be synchronised).
    #[serde(default = "yes")]
    pub random_phase: bool,
}

fn yes() -> bool {
    true
}

impl Configuration for ConstantParams {
    type Machine = Constant;

    fn check(&self) -> Vec<Remark> {
        no_rate("rate", self.rate).into_iter().collect()
    }
    fn rate(&self) -> (&'static str, BitRate) {
        ("rate", self.rate)
    }
    fn at_rate(self, rate: BitRate) -> ConstantParams {
        ConstantParams { rate, ..self }
    }
    fn mean_bps(&self, rate: BitRate, sizes: &FrameSizes, link: Link) -> f64 {
        link.in_frames(rate, sizes)
    }
    fn start(&self, link: Link, _sizes: &FrameSizes) -> Constant {
        Constant { pace: Pace::at_station(self.rate, link.clock), random_phase: self.random_phase }
    }
}

/// The state of a constant-rate process.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Pace of the frames; `None` at a rate of zero.
    pace: Option<Pace>,
    random_phase: bool,
}

impl Arrival for Constant {
    fn start(&mut self, link: Link, now: Time, next: u16, rng: &mut Random) -> Time {
        let Some(pace) = &mut self.pace else { return Time::NEVER };
        pace.restart();
        if !self.random_phase {
            return now;
        }
        let interval = pace.span(link.counted(next));
        pace.restart();
        now.saturating_add(Time::from_ps(below(rng, interval.ps())))
    }
    #[inline]
    fn after(&mut self, link: Link, now: Time, late: bool, [sent, _]: [u16; 2], _rng: &mut Random) -> Time {
        let Some(pace) = &mut self.pace else { return Time::NEVER };
        if late {
            pace.restart();
        }
        now.saturating_add(pace.span(link.counted(sent)))
    }
    fn rate(&self) -> Option<BitRate> {
        self.pace.map(|pace| pace.rate)
    }
    fn set_rate(&mut self, link: Link, new: BitRate) {
        self.pace = Pace::at_station(new, link.clock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{constant, run, run_spec, source, spec};
    use crate::{Arrivals, Made, RateBasis, Wake};

    #[test]
    fn constant_rates_carry_remainders() {
        // 1520 B at 1.1875 Gb/s last exactly 10.24 us. 1521 B do not last a whole number of picoseconds.
        for (bps, bytes) in [(1_187_500_000u64, 1521u16), (3_333_333_333, 64), (2_500_000_000, 1522), (7, 1)]
        {
            let interval = |n: u64| u128::from(n) * u128::from(bytes) * 8_000_000_000_000 / u128::from(bps);
            let mut source = source(&constant(BitRate::from_bps(bps), bytes), 1);
            for n in 0..10_000 {
                let now = source.next_wake().unwrap();
                assert_eq!(u128::from(now.ps()), interval(n));
                assert_eq!(source.wake(now), Wake::Emit(Made { bytes, destination: 0, word: 0 }));
            }
        }
    }

    #[test]
    fn the_interval_is_that_of_the_frame_sent() {
        let sizes = FrameSizes::Uniform { min: 64, max: 1522 };
        let mut spec = spec(
            Arrivals::Constant(ConstantParams { rate: BitRate::from_gbps(1), random_phase: false }),
            sizes,
        );
        for overhead in [0, 20] {
            spec.rate_basis = if overhead == 0 { RateBasis::Frame } else { RateBasis::Wire };
            for pair in run_spec(&spec, Time::from_us(100)).windows(2) {
                assert_eq!((pair[1].0 - pair[0].0).ps(), (u64::from(pair[0].1) + overhead) * 8_000);
            }
        }
    }

    #[test]
    fn random_phases_fill_the_first_interval() {
        let mut spec = constant(BitRate::from_gbps(1), 1000);
        spec.arrivals =
            Arrivals::Constant(ConstantParams { rate: BitRate::from_gbps(1), random_phase: true });
        spec.start = Time::from_us(3);
        let phases: Vec<u64> = (0..4000)
            .map(|seed| run(&mut source(&spec, seed), Time::from_us(11))[0].0.ps() - 3_000_000)
            .collect();
        assert!(phases.iter().all(|&phase| phase < 8_000_000));
        let mean = phases.iter().sum::<u64>() as f64 / 4000.0;
        assert!((mean - 4e6).abs() < 5.0 * 8e6 / (12.0f64 * 4000.0).sqrt(), "{mean}");
    }
}
