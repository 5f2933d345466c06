//! Brake: a rate that a CNP halves and nothing raises.
//!
//! Source: none; the example of CONTRIBUTING.md.
//!
//! Not modelled: an end of the congestion.

use super::checks;
use super::control::{LinkRate, PathFacts, RdmaControl, RdmaControlConfiguration};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Time};

/// Keys of brake.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BrakeKeys {
    /// Rate of a new queue pair. A rate with unit, above 0. Default: "1 Gb/s".
    pub first_rate: BitRate,
    /// Lowest rate. A rate with unit, above 0. Default: "100 Mb/s".
    pub min_rate: BitRate,
}

impl Default for BrakeKeys {
    fn default() -> BrakeKeys {
        BrakeKeys { first_rate: BitRate::from_gbps(1), min_rate: BitRate::from_bps(100_000_000) }
    }
}

impl RdmaControlConfiguration for BrakeKeys {
    fn least_rate(&self) -> Option<BitRate> {
        Some(self.min_rate)
    }
}

impl BrakeKeys {
    /// One remark per invalid key.
    pub fn check(&self) -> Vec<Remark> {
        let all = [checks::rate("first_rate", self.first_rate), checks::rate("min_rate", self.min_rate)];
        all.into_iter().flatten().collect()
    }
    /// Every key has an effect.
    pub fn unused(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// The rate of a queue pair.
#[derive(Clone, Copy, Debug)]
pub struct Brake {
    rate: LinkRate,
}

impl Brake {
    /// A queue pair that has received no CNP.
    pub fn new(keys: &BrakeKeys, facts: &PathFacts) -> Brake {
        let mut rate = LinkRate::new(facts, keys.min_rate);
        rate.set(keys.first_rate.bps_f64());
        Brake { rate }
    }
}

impl RdmaControl for Brake {
    fn on_cnp(&mut self, _now: Time) {
        self.rate.set(self.rate.now / 2.0);
    }
    fn on_link_rate(&mut self, _now: Time, fresh: &Brake) {
        self.rate.on_link_rate(&fresh.rate);
    }
    fn due(&self, since: Time, bytes: u32) -> Time {
        self.rate.due(since, bytes)
    }
    fn rate(&self, _now: Time) -> f64 {
        self.rate.reported()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cnp_halves_and_the_lowest_rate_stays() {
        let rate = BitRate::from_gbps(10);
        let facts = PathFacts::new(rate, Time::from_us(10), 1_000, 1);
        let mut brake = Brake::new(&BrakeKeys::default(), &facts);
        for expected in [1e9, 5e8, 2.5e8, 1.25e8, 1e8, 1e8] {
            assert_eq!(brake.rate(Time::ZERO), expected);
            brake.on_cnp(Time::ZERO);
        }
    }
}
