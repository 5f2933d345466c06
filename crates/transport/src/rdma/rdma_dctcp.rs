//! DCTCP for RDMA: a rate that is reduced in proportion to the fraction of marked packets.
//!
//! A queue pair starts at line rate, and every packet is acknowledged with its mark. Once per round trip alpha = (1 -
//! g) alpha + g F, where F is the fraction of the bytes acknowledged in it whose packets were marked. The first mark
//! of a round trip reduces the rate by the fraction alpha / 2. There is no further reduction until the data in flight
//! at that time is acknowledged. A round trip without a mark adds `ai_rate`. DCTCP requires switches that mark above a
//! fixed queue length.
//!
//! Source: M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3 (alpha, g = 1/16); Y. Li et al.,
//! "HPCC: High Precision Congestion Control", SIGCOMM 2019, section 5 (as a congestion control for RDMA: start at line
//! rate, no slow start, one packet per round trip).
//!
//! Not modelled: a reaction to losses, which the loss recovery repairs.

use super::checks;
use super::control::{LinkRate, PathFacts, RdmaAck, RdmaControl, RdmaControlConfiguration};
use crate::marked_share::MarkedShare;
use keys::Remark;
use recurrence::{Recurs, Walk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Computed, Or, Time};

/// Keys of dctcp for RDMA.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RdmaDctcpKeys {
    /// Weight g of the newest round trip in alpha. A number, above 0 and at most 1. Default: 0.0625 (SIGCOMM 2010: 1/16).
    pub gain: f64,
    /// Additive increase of the rate after a round trip without a mark. A rate with unit, above 0; or "computed": one packet per round trip. Default: "computed".
    pub ai_rate: Or<BitRate, Computed>,
    /// Minimum rate. A rate with unit, above 0. Default: "100 Mb/s" (public simulators).
    pub min_rate: BitRate,
}

impl Default for RdmaDctcpKeys {
    fn default() -> RdmaDctcpKeys {
        RdmaDctcpKeys { gain: 0.0625, ai_rate: Or::word(), min_rate: BitRate::from_bps(100_000_000) }
    }
}

impl RdmaControlConfiguration for RdmaDctcpKeys {
    fn least_rate(&self) -> Option<BitRate> {
        Some(self.min_rate)
    }
}

impl RdmaDctcpKeys {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let ai = self.ai_rate.value().and_then(|rate| checks::rate("ai_rate", rate));
        let all = [checks::number("gain", self.gain, 1.0), ai, checks::rate("min_rate", self.min_rate)];
        all.into_iter().flatten().collect()
    }
    /// Returns nothing: every key has an effect.
    pub fn unused(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// The state of DCTCP for RDMA: a rate that marks reduce.
#[derive(Clone, Copy, Debug)]
pub struct RdmaDctcp {
    rate: LinkRate,
    ai: f64,
    share: MarkedShare,
    /// Packet whose acknowledgement ends the round trip.
    until: u64,
    /// Packet before whose acknowledgement the rate is not cut.
    no_cut_until: u64,
}

impl RdmaDctcp {
    /// Visits the state. All packets still to be acknowledged are at or after `first`, so limits before `first` are
    /// equivalent.
    pub(super) fn walk_from(&self, first: u64, walk: &mut Walk) {
        let RdmaDctcp { rate, ai: _, share, until, no_cut_until } = self;
        rate.walk(walk);
        share.walk(walk);
        walk.word(until.saturating_sub(first));
        walk.word(no_cut_until.saturating_sub(first));
    }

    /// Creates the control of a queue pair that has received no mark.
    pub fn new(keys: &RdmaDctcpKeys, facts: &PathFacts) -> RdmaDctcp {
        let packet_a_trip = f64::from(facts.packet) * 8.0 / facts.base_rtt.as_secs_f64();
        RdmaDctcp {
            rate: LinkRate::new(facts, keys.min_rate),
            ai: keys.ai_rate.value().map_or(packet_a_trip, |rate| rate.bps_f64()),
            share: MarkedShare::new(keys.gain, 1.0),
            until: 0,
            no_cut_until: 0,
        }
    }
}

impl RdmaControl for RdmaDctcp {
    fn on_ack(&mut self, _now: Time, ack: &RdmaAck) {
        self.share.count(ack.bytes, ack.marked);
        if ack.marked && ack.acknowledged > self.no_cut_until {
            self.rate.set(self.rate.now * (1.0 - self.share.alpha() / 2.0));
            self.no_cut_until = ack.sent;
        }
        if ack.acknowledged > self.until {
            if !self.share.end_window() {
                self.rate.set(self.rate.now + self.ai);
            }
            self.until = ack.sent;
        }
    }
    fn on_link_rate(&mut self, _now: Time, fresh: &RdmaDctcp) {
        self.rate.on_link_rate(&fresh.rate);
        self.ai = fresh.ai;
    }
    fn due(&self, since: Time, bytes: u32) -> Time {
        self.rate.due(since, bytes)
    }
    fn rate(&self, _now: Time) -> f64 {
        self.rate.reported()
    }
    fn alpha(&self, _now: Time) -> Option<f64> {
        Some(self.share.alpha())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: PathFacts = PathFacts::new(BitRate::from_gbps(100), Time::from_us(13), 1_000, 1);

    #[test]
    fn a_round_trip_cuts_once_and_one_without_marks_adds_a_packet() {
        let mut it = RdmaDctcp::new(&RdmaDctcpKeys::default(), &FACTS);
        let ack = |acknowledged, sent, marked| {
            let bytes = 1_000;
            RdmaAck { bytes, acknowledged, sent, marked, ..RdmaAck::default() }
        };
        it.on_ack(Time::ZERO, &ack(1, 10, true));
        assert_eq!((it.rate.now, it.share.alpha()), (50e9, 1.0));
        for packet in 2..=10 {
            it.on_ack(Time::ZERO, &ack(packet, 20, true));
        }
        assert_eq!(it.rate.now, 50e9);
        // The second round trip ends with packet 11. All of its packets except that one are marked; cuts are allowed
        // again.
        it.on_ack(Time::ZERO, &ack(11, 20, false));
        let alpha = 15.0 / 16.0 + 0.9 / 16.0;
        assert!((it.share.alpha() - alpha).abs() < 1e-12);
        for packet in 12..=21 {
            it.on_ack(Time::ZERO, &ack(packet, 30, false));
        }
        // 8000 bits in 13 us are 615 Mb/s.
        assert!((it.rate.now - 50e9 - 8_000.0 / 13e-6).abs() < 1.0);
    }
}
