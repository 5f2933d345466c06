//! An arrival process of pairs: two frames back to back, then silence, at a constant mean rate.
//!
//! Source: the packet pairs of S. Keshav, "A control-theoretic approach to flow control", SIGCOMM 1991, section 3.
//!
//! Not modelled: pairs that adapt their rate to what they measure.

use crate::arrivals::{Arrival, Configuration, Link, Random, no_rate};
use crate::pace::Pace;
use crate::spec::FrameSizes;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Time};

/// Keys of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairsParams {
    /// Mean rate of the source. A rate with unit, above 0. Required.
    pub rate: BitRate,
}

impl Configuration for PairsParams {
    type Machine = Pairs;

    fn check(&self) -> Vec<Remark> {
        no_rate("rate", self.rate).into_iter().collect()
    }
    fn rate(&self) -> (&'static str, BitRate) {
        ("rate", self.rate)
    }
    fn at_rate(self, rate: BitRate) -> PairsParams {
        PairsParams { rate }
    }
    fn mean_bps(&self, rate: BitRate, sizes: &FrameSizes, link: Link) -> f64 {
        link.in_frames(rate, sizes)
    }
    fn start(&self, link: Link, _sizes: &FrameSizes) -> Pairs {
        Pairs { pace: Pace::at_station(self.rate, link.clock), first: None }
    }
}

/// The process at work.
#[derive(Clone, Debug)]
pub struct Pairs {
    pace: Option<Pace>,
    /// The bytes of the first frame of a pair that has not ended.
    first: Option<u64>,
}

impl Arrival for Pairs {
    fn start(&mut self, _link: Link, now: Time, _next: u16, _rng: &mut Random) -> Time {
        self.first = None;
        if self.pace.is_some() { now } else { Time::NEVER }
    }
    fn after(&mut self, link: Link, now: Time, late: bool, [sent, _]: [u16; 2], _rng: &mut Random) -> Time {
        let Some(pace) = &mut self.pace else { return Time::NEVER };
        let sent = link.counted(sent);
        let Some(first) = self.first.take() else {
            self.first = Some(sent);
            return now;
        };
        if late {
            pace.restart();
        }
        now.saturating_add(pace.span(first + sent))
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
    use crate::Arrivals;
    use crate::testbed::{run_spec, spec};

    #[test]
    fn frames_come_two_at_a_time_at_the_mean_rate() {
        // 1000 B at 1 Gb/s take 8 us, a pair 16 us.
        let arrivals = Arrivals::Pairs(PairsParams { rate: BitRate::from_gbps(1) });
        let frames = run_spec(&spec(arrivals, FrameSizes::Fixed(1000)), Time::from_us(48));
        let times: Vec<u64> = frames.iter().map(|frame| frame.0.ps() / 1_000_000).collect();
        assert_eq!(times, [0, 0, 16, 16, 32, 32]);
    }
}
