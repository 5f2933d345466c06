//! HPCC with probabilistic telemetry (PINT): the highest utilisation on the path in one byte, averaged by the
//! switches.
//!
//! Each egress port maintains the utilisation of its link: U = (1 - t/T) U + (t/T) (sent / B + queue / (B T)) for the
//! time t since the previous packet with telemetry. A packet returns the maximum along its path, rounded to the
//! nearest power of `base`. The sender sets its window from this value as in HPCC, without averaging. With
//! `probability` below 1 only this fraction of the packets, selected by a hash of their numbers, carries the
//! utilisation.
//!
//! Source: R. Ben Basat et al., "PINT: Probabilistic In-band Network Telemetry", SIGCOMM 2020 (one value for many
//! hops, compressed to a power, and HPCC with it); the HPCC authors' simulator (base 1.05, the average at switches).
//!
//! Not modelled: as for `hpcc`; randomized rounding; packets that carry the value of a single hop; one T for all
//! averages (each port averages over the T of the packet that passes).

use super::checks;
use super::control::{PathFacts, RdmaAck, RdmaControl, RdmaControlConfiguration};
use super::hpcc::HpccWindow;
use super::path_window::{self, PathWindow};
use frame::Telemetry;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Computed, Or, Time};

/// Keys of hpcc_pint.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HpccPintKeys {
    /// Target utilisation of the most utilised link of a path. A number, above 0 and at most 10; above 1 there is a standing queue. Default: 0.95 (SIGCOMM 2019).
    pub eta: f64,
    /// Maximum number of consecutive round trips without congestion in which the window increases additively, before it is set from the utilisation again. A count, 0 to 1000. Default: 0 (the HPCC authors' simulations).
    #[schemars(range(min = 0, max = 1000))]
    pub max_stage: u64,
    /// Additive increase of the rate at each update: W_AI / T. A rate with unit, above 0; or "computed": 10 Mb/s at 25 Gb/s, in proportion to the line rate. Default: "computed" (the HPCC authors' simulator).
    pub ai_rate: Or<BitRate, Computed>,
    /// Minimum rate. A rate with unit, above 0. Default: "100 Mb/s" (the sample of the HPCC authors' simulator; its runs have 1 Gb/s).
    pub min_rate: BitRate,
    /// Base of the logarithmic quantisation: the utilisation is sent as the nearest power of the base. A number, above 1 and at most 2. Default: 1.05 (the HPCC authors' simulator: within 2.5 %).
    pub base: f64,
    /// Fraction of packets that carry the utilisation. A number, above 0 and at most 1. Default: 1.
    pub probability: f64,
    /// Bytes of telemetry in each data packet and acknowledgement. A size with unit, "1 B" to "66 B". Default: "1 B" (SIGCOMM 2020).
    pub int_bytes: Bytes,
}

impl Default for HpccPintKeys {
    fn default() -> HpccPintKeys {
        HpccPintKeys {
            eta: 0.95,
            max_stage: 0,
            ai_rate: Or::word(),
            min_rate: BitRate::from_bps(100_000_000),
            base: 1.05,
            probability: 1.0,
            int_bytes: Bytes::new(1),
        }
    }
}

impl RdmaControlConfiguration for HpccPintKeys {
    fn least_rate(&self) -> Option<BitRate> {
        Some(self.min_rate)
    }
    fn telemetry_bytes(&self) -> u16 {
        self.int_bytes.get() as u16
    }
    fn utilization(&self, rate: BitRate) -> Option<(f64, f64)> {
        let added =
            self.ai_rate.value().map_or(super::hpcc::AI_AT_25G * rate.bps_f64() / 25e9, BitRate::bps_f64);
        Some((self.eta, added))
    }
}

impl HpccPintKeys {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let mut wrong = path_window::check(self.eta, self.ai_rate, self.min_rate);
        wrong.extend(checks::count("max_stage", self.max_stage, 1_000));
        if !(self.base > 1.0 && self.base <= 2.0) {
            let message = format!("a base of {}", self.base);
            wrong.push(Remark::about("base", message, "expected a number above 1 and at most 2"));
        }
        wrong.extend(checks::number("probability", self.probability, 1.0));
        if !(1..=66).contains(&self.int_bytes.get()) {
            let message = format!("int_bytes of {}", self.int_bytes);
            wrong.push(Remark::about("int_bytes", message, "expected \"1 B\" to \"66 B\""));
        }
        wrong
    }
    /// Returns nothing: every key has an effect.
    pub fn unused(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// The state of HPCC-PINT: a window driven by the highest utilisation on the path.
#[derive(Clone, Copy, Debug)]
pub struct HpccPint {
    of: HpccWindow,
    over: Time,
    /// Logarithm of the base.
    step: f64,
    /// Packets with hashes below this value carry telemetry.
    below: u64,
    begun: bool,
}

impl HpccPint {
    /// Creates the control of a queue pair without telemetry so far.
    pub fn new(keys: &HpccPintKeys, facts: &PathFacts) -> HpccPint {
        HpccPint {
            of: HpccWindow::new(facts, keys.eta, keys.max_stage, keys.ai_rate, keys.min_rate),
            over: facts.base_rtt,
            step: libm::log(keys.base),
            below: (keys.probability * (1u64 << 32) as f64) as u64,
            begun: false,
        }
    }

    /// Decodes the utilisation, given in millionths, as the sender does: rounds to the nearest power of the base; 0
    /// stays 0.
    fn decoded(&self, utilisation: u32) -> f64 {
        let exact = f64::from(utilisation) / 1e6;
        if exact == 0.0 {
            return 0.0;
        }
        libm::exp(libm::round(libm::log(exact) / self.step) * self.step)
    }

    /// Returns true if the packet with this number carries telemetry.
    fn is_sampled(&self, packet: u64) -> bool {
        packet.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32 < self.below
    }
}

impl RdmaControl for HpccPint {
    fn telemetry(&self) -> Telemetry {
        Telemetry::Worst { utilisation: 0, over: self.over }
    }
    fn on_ack(&mut self, _now: Time, ack: &RdmaAck) {
        let Telemetry::Worst { utilisation, .. } = ack.telemetry else { return };
        if !std::mem::replace(&mut self.begun, true) {
            return self.of.window.begin(ack);
        }
        if self.is_sampled(ack.acknowledged) {
            self.of.update(self.decoded(utilisation), ack);
        }
    }
    fn on_link_rate(&mut self, _now: Time, fresh: &HpccPint) {
        self.of.on_link_rate(&fresh.of);
    }
    fn path_window(&self) -> Option<&PathWindow> {
        Some(&self.of.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: PathFacts = PathFacts::new(BitRate::from_gbps(100), Time::from_ns(12_240), 1_090, 1);

    fn ack(acknowledged: u64, utilisation: u32) -> RdmaAck {
        let telemetry = Telemetry::Worst { utilisation, over: FACTS.base_rtt };
        RdmaAck { bytes: 1_090, acknowledged, sent: 1_000, telemetry, ..RdmaAck::default() }
    }

    #[test]
    fn a_power_is_at_most_half_a_step_away() {
        let it = HpccPint::new(&HpccPintKeys::default(), &FACTS);
        for millionths in (1..5_000_000).step_by(997) {
            let ratio = it.decoded(millionths) / (f64::from(millionths) / 1e6);
            assert!((0.975..=1.025).contains(&ratio), "{millionths}: {ratio}");
        }
        assert_eq!((it.decoded(0), it.decoded(1_000_000)), (0.0, 1.0));
    }

    #[test]
    fn the_window_follows_the_decoded_utilisation() {
        let mut it = HpccPint::new(&HpccPintKeys::default(), &FACTS);
        it.on_ack(Time::ZERO, &ack(1, 2_000_000));
        assert_eq!((it.of.window.now, it.of.window.until), (153_000.0, 1_000), "no interval yet");
        it.on_ack(Time::ZERO, &ack(2, 2_000_000));
        // 1.05^14.
        assert!((it.of.window.now - (153_000.0 * 0.95 / 1.979_931_6 + 61.2)).abs() < 1.0);
    }

    #[test]
    fn the_share_of_packets_that_tell_something() {
        let keys = HpccPintKeys { probability: 0.25, ..HpccPintKeys::default() };
        let [some, all] = [keys, HpccPintKeys::default()].map(|keys| HpccPint::new(&keys, &FACTS));
        let count = |it: &HpccPint| (0..100_000).filter(|&packet| it.is_sampled(packet)).count();
        assert!(count(&some).abs_diff(25_000) < 50 && count(&all) == 100_000);
    }
}
