//! Theta-PowerTCP: the power of the path estimated from round-trip times alone, without telemetry from switches.
//!
//! Let r be the round-trip time of a packet, T the minimum of all round-trip times, and t the time between two
//! acknowledgements. The power is (1 + change of r / t) r / (1.05 T): the gradient replaces the current, and the
//! round-trip time replaces the voltage. The first factor is at least 1/2. U = (1 - t/T) U + (t/T) power, and the
//! window follows U as in `powertcp`.
//!
//! With N queue pairs at a link of rate B the queue in equilibrium is (0.05 + N `ai_rate` / B) B T. There is no `eta`,
//! because this power is already relative to 1.05 T, and the authors' simulator divides by a target utilisation only
//! in the version with telemetry.
//!
//! T never increases, as in the authors' simulator. If the links of the path were temporarily faster, or the path was
//! shorter, U stays above 1 from then on, and the window decreases towards `min_rate`. When the line rate of the
//! sender changes, T is measured again (our choice).
//!
//! Source: V. Addanki et al., "PowerTCP: Pushing the Performance Limits of Datacenter Networks", NSDI 2022, section 3
//! (algorithm 2); the authors' simulator (1.05 T, the minimum gradient, gamma 0.7, 150 Mb/s at 25 Gb/s).
//!
//! Not modelled: updates once per round trip, as in the algorithm of the paper (updates take place at each
//! acknowledgement, as in the simulator).

use super::checks;
use super::control::{PathFacts, RdmaAck, RdmaControl, RdmaControlConfiguration};
use super::hops::smoothed;
use super::path_window::{self, PathWindow};
use super::powertcp::{LEAST_CURRENT, PowerWindow};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Computed, Or, Time};

/// Target round-trip time without queueing, relative to the lowest round-trip time.
const TARGET: f64 = 1.05;

/// Power at which a path is held.
const POWER: f64 = 1.0;

/// Keys of theta_powertcp.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ThetaPowerTcpKeys {
    /// Weight of the newest window. A number, above 0 and at most 1. Default: 0.7 (the authors' simulator).
    pub gamma: f64,
    /// Additive increase of the rate at each update: beta. A rate with unit, above 0; or "computed": 150 Mb/s at 25 Gb/s, in proportion to the line rate. Default: "computed" (the authors' simulator).
    pub ai_rate: Or<BitRate, Computed>,
    /// Minimum rate. A rate with unit, above 0. Default: "100 Mb/s" (public simulators).
    pub min_rate: BitRate,
}

impl Default for ThetaPowerTcpKeys {
    fn default() -> ThetaPowerTcpKeys {
        ThetaPowerTcpKeys { gamma: 0.7, ai_rate: Or::word(), min_rate: BitRate::from_bps(100_000_000) }
    }
}

impl RdmaControlConfiguration for ThetaPowerTcpKeys {
    fn least_rate(&self) -> Option<BitRate> {
        Some(self.min_rate)
    }
}

impl ThetaPowerTcpKeys {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let mut wrong = path_window::check(POWER, self.ai_rate, self.min_rate);
        wrong.extend(checks::number("gamma", self.gamma, 1.0));
        wrong
    }
    /// Returns nothing: every key has an effect.
    pub fn unused(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// The state of theta-PowerTCP: a window driven by round-trip times.
#[derive(Clone, Copy, Debug)]
pub struct ThetaPowerTcp {
    of: PowerWindow,
    /// Lowest round-trip time in seconds.
    lowest: f64,
    /// Time of the last acknowledgement, and its round-trip time in seconds.
    last: Option<(Time, f64)>,
}

impl ThetaPowerTcp {
    /// Creates the control of a queue pair without a measured round-trip time.
    pub fn new(keys: &ThetaPowerTcpKeys, facts: &PathFacts) -> ThetaPowerTcp {
        ThetaPowerTcp {
            of: PowerWindow::new(facts, keys.gamma, POWER, keys.ai_rate, keys.min_rate),
            lowest: f64::INFINITY,
            last: None,
        }
    }
}

impl RdmaControl for ThetaPowerTcp {
    fn on_ack(&mut self, now: Time, ack: &RdmaAck) {
        let Some(trip) = ack.round_trip.map(Time::as_secs_f64) else { return };
        self.lowest = self.lowest.min(trip);
        let Some((then, before)) = self.last.replace((now, trip)) else {
            return self.of.window.begin(ack);
        };
        let took = (now - then).as_secs_f64();
        // Two acknowledgements at the same time count as one.
        if took > 0.0 {
            let current = ((trip - before) / took + 1.0).max(LEAST_CURRENT);
            let power = current * trip / (TARGET * self.lowest);
            self.of.power = smoothed(self.of.power, power, took, self.lowest);
            self.of.update(ack);
        }
    }
    fn on_link_rate(&mut self, _now: Time, fresh: &ThetaPowerTcp) {
        self.of.on_link_rate(&fresh.of);
        // The lowest round-trip time may be that of a faster link.
        (self.lowest, self.last) = (f64::INFINITY, None);
    }
    fn path_window(&self) -> Option<&PathWindow> {
        Some(&self.of.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: PathFacts = PathFacts::new(BitRate::from_gbps(100), Time::from_us(12), 1_090, 1);

    fn ack(acknowledged: u64, us: u64) -> RdmaAck {
        let round_trip = Some(Time::from_us(us));
        RdmaAck { bytes: 1_090, acknowledged, sent: 99, round_trip, ..RdmaAck::default() }
    }

    #[test]
    fn another_rate_of_the_link_measures_the_lowest_round_trip_anew() {
        let fresh = || ThetaPowerTcp::new(&ThetaPowerTcpKeys::default(), &FACTS);
        let mut it = fresh();
        it.on_ack(Time::from_us(100), &ack(1, 3));
        it.on_link_rate(Time::from_us(101), &fresh());
        it.on_ack(Time::from_us(112), &ack(2, 12));
        it.on_ack(Time::from_us(124), &ack(3, 12));
        assert!((it.of.power - 1.0 / 1.05).abs() < 1e-9 && (it.lowest - 12e-6).abs() < 1e-12);
    }

    #[test]
    fn power_is_gradient_times_round_trip() {
        // Round-trip time of an acknowledgement that arrives 12 us after one with a round-trip time of 12 us, and the
        // power.
        for (us, expected) in [(12, 1.0 / 1.05), (24, 4.0 / 1.05), (18, 2.25 / 1.05)] {
            let mut it = ThetaPowerTcp::new(&ThetaPowerTcpKeys::default(), &FACTS);
            it.on_ack(Time::from_us(100), &ack(1, 12));
            assert_eq!((it.of.window.now, it.of.window.until), (150_000.0, 99));
            it.on_ack(Time::from_us(112), &ack(2, us));
            assert!((it.of.power - expected).abs() < 1e-9, "{us}");
            let wanted = 0.7 * (150_000.0 / expected + 900.0) + 0.3 * 150_000.0;
            assert!((it.of.window.now - wanted.min(150_000.0)).abs() < 1e-6);
        }
        // A queue drains at once: the current is at least half of the rate of the link.
        let mut it = ThetaPowerTcp::new(&ThetaPowerTcpKeys::default(), &FACTS);
        it.on_ack(Time::from_us(100), &ack(1, 24));
        it.on_ack(Time::from_us(112), &ack(2, 12));
        assert!((it.of.power - 0.5 / 1.05).abs() < 1e-9);
    }
}
