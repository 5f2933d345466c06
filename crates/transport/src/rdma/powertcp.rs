//! PowerTCP: a window controlled by the power of the path, the product of current (arrival rate) and voltage (queue
//! plus bandwidth-delay product).
//!
//! Telemetry is that of HPCC. For each hop the sender computes the current, which is the growth rate of the queue plus
//! the transmission rate, but at least half of the link rate B; and the voltage, which is the queue length plus B T,
//! where T is the base round-trip time. Their product, normalized by B B T, is the power of the hop. The sender
//! averages the maximum over the hops: U = (1 - t/T) U + (t/T) power for the time t between two packets. Each
//! acknowledgement sets the rate to R = `gamma` (Rc / (U / `eta`) + `ai_rate`) + (1 - `gamma`) Rc, where Rc is the
//! rate of the last round trip, and the window to R T. The sender thus reacts to a growing queue before it is long,
//! and a draining queue does not keep windows small. Rate and window start at the line rate and the bandwidth-delay
//! product, and never exceed them.
//!
//! With N queue pairs at a link the equilibrium is U = eta + N `ai_rate` / B. If this is above 1, the queue is (U - 1)
//! B T.
//!
//! Source: V. Addanki et al., "PowerTCP: Pushing the Performance Limits of Datacenter Networks", NSDI 2022, section 3
//! (algorithm 1); the authors' simulator (rates for windows, the minimum current, `eta`, 150 Mb/s at 25 Gb/s).
//!
//! Not modelled: as for `hpcc`.

use super::checks;
use super::control::{PathFacts, RdmaAck, RdmaControl, RdmaControlConfiguration};
use super::hops::{Hops, Interval, smoothed};
use super::hpcc::{check_int_bytes, default_int_bytes, hops_within};
use super::path_window::{self, PathWindow};
use frame::{Stamps, Telemetry};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Computed, Or, Time};

/// Additive increase per update at 25 Gb/s, in b/s.
const AI_AT_25G: f64 = 150e6;
/// Minimum current, relative to the rate of the link.
pub const LEAST_CURRENT: f64 = 0.5;

/// Keys of powertcp.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PowerTcpKeys {
    /// Weight of the newest window. A number, above 0 and at most 1. Default: 0.9 (NSDI 2022).
    pub gamma: f64,
    /// Target of the normalized power of the hop with the highest power. A number, above 0 and at most 10; above 1 there is a standing queue. Default: 0.95 (the authors' simulator).
    pub eta: f64,
    /// Additive increase of the rate at each update: beta. A rate with unit, above 0; or "computed": 150 Mb/s at 25 Gb/s, in proportion to the line rate. Default: "computed" (the authors' simulator).
    pub ai_rate: Or<BitRate, Computed>,
    /// Minimum rate. A rate with unit, above 0. Default: "100 Mb/s" (public simulators).
    pub min_rate: BitRate,
    /// Bytes of telemetry in each data packet and acknowledgement: 2 B plus 8 B per hop. A size with unit, "10 B" to "66 B". Default: "42 B" (as for hpcc).
    pub int_bytes: Bytes,
}

impl Default for PowerTcpKeys {
    fn default() -> PowerTcpKeys {
        PowerTcpKeys {
            gamma: 0.9,
            eta: 0.95,
            ai_rate: Or::word(),
            min_rate: BitRate::from_bps(100_000_000),
            int_bytes: default_int_bytes(),
        }
    }
}

impl RdmaControlConfiguration for PowerTcpKeys {
    fn least_rate(&self) -> Option<BitRate> {
        Some(self.min_rate)
    }
    fn telemetry_bytes(&self) -> u16 {
        self.int_bytes.get() as u16
    }
    fn stamps(&self) -> Option<u8> {
        Some(super::hpcc::hops_within(self.int_bytes))
    }
}

impl PowerTcpKeys {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let mut wrong = path_window::check(self.eta, self.ai_rate, self.min_rate);
        wrong.extend(checks::number("gamma", self.gamma, 1.0));
        wrong.extend(check_int_bytes(self.int_bytes));
        wrong
    }
    /// Returns nothing: every key has an effect.
    pub fn unused(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// The window of PowerTCP, driven by the power of the path.
#[derive(Clone, Copy, Debug)]
pub struct PowerWindow {
    pub window: PathWindow,
    pub power: f64,
    gamma: f64,
    eta: f64,
    added: f64,
}

impl PowerWindow {
    /// Creates a window that fills the path. The initial power is that of a link without a queue.
    pub fn new(
        facts: &PathFacts,
        gamma: f64,
        eta: f64,
        ai_rate: Or<BitRate, Computed>,
        min_rate: BitRate,
    ) -> PowerWindow {
        let window = PathWindow::new(facts, min_rate);
        let added = window.bytes(path_window::additive(ai_rate, AI_AT_25G, facts));
        PowerWindow { window, power: 1.0, gamma, eta, added }
    }

    /// Processes an acknowledgement, given the power of the path.
    pub fn update(&mut self, ack: &RdmaAck) {
        let reference = self.window.reference;
        let wanted = reference * self.eta / self.power + self.added;
        self.window.set(self.gamma * wanted + (1.0 - self.gamma) * reference, ack);
    }

    /// Adapts to another rate of the link.
    pub fn on_link_rate(&mut self, fresh: &PowerWindow) {
        self.window.on_link_rate(&fresh.window);
        self.added = fresh.added;
    }
}

/// Returns the power of a hop, relative to that of a busy link without a queue.
fn power(hop: &Interval, trip: f64) -> f64 {
    let [before, after] = hop.queues;
    let current = (after - before) / hop.took + hop.sent_rate;
    (current / hop.rate).max(LEAST_CURRENT) * (after / (hop.rate * trip) + 1.0)
}

/// The state of PowerTCP.
#[derive(Clone, Debug)]
pub struct PowerTcp {
    of: PowerWindow,
    hops: Hops,
    is_fresh: bool,
    room: u8,
}

impl PowerTcp {
    /// Creates the control of a queue pair without telemetry so far.
    pub fn new(keys: &PowerTcpKeys, facts: &PathFacts) -> PowerTcp {
        PowerTcp {
            of: PowerWindow::new(facts, keys.gamma, keys.eta, keys.ai_rate, keys.min_rate),
            hops: Hops::default(),
            is_fresh: false,
            room: hops_within(keys.int_bytes),
        }
    }
}

impl RdmaControl for PowerTcp {
    fn telemetry(&self) -> Telemetry {
        Telemetry::Hops(self.room)
    }
    fn on_stamps(&mut self, stamps: &Stamps) {
        let trip = self.of.window.trip;
        let mut most: Option<(f64, f64)> = None;
        self.hops.each_since_last(stamps, |hop| {
            let own = (power(hop, trip), hop.took);
            if most.is_none_or(|most| own.0 > most.0) {
                most = Some(own);
            }
        });
        self.is_fresh = most.is_some();
        if let Some((power, took)) = most {
            self.of.power = smoothed(self.of.power, power, took, trip);
        }
    }
    fn on_ack(&mut self, _now: Time, ack: &RdmaAck) {
        if std::mem::take(&mut self.is_fresh) {
            self.of.update(ack);
        } else if self.of.window.until == 0 {
            self.of.window.begin(ack);
        }
    }
    fn on_link_rate(&mut self, _now: Time, fresh: &PowerTcp) {
        self.of.on_link_rate(&fresh.of);
    }
    fn path_window(&self) -> Option<&PathWindow> {
        Some(&self.of.window)
    }
    fn memory_bytes(&self) -> usize {
        self.hops.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::hops::stamps;
    use super::*;

    /// The BDP is 153,000 B.
    const FACTS: PathFacts = PathFacts::new(BitRate::from_gbps(100), Time::from_ns(12_240), 1_090, 1);

    fn ack(acknowledged: u64, sent: u64) -> RdmaAck {
        RdmaAck { bytes: 1_090, acknowledged, sent, ..RdmaAck::default() }
    }

    #[test]
    fn power_is_current_times_voltage() {
        // Over a round trip in which the link sends 153,000 B. Columns: queue before, queue after, bytes sent, power.
        let rows = [
            (0, 0, 153_000, 1.0),
            (153_000, 153_000, 153_000, 2.0),
            // The same queue while it grows and while it drains.
            (76_500, 153_000, 153_000, 3.0),
            (229_500, 153_000, 153_000, 1.0),
            // The current is at least half of the rate of the link.
            (153_000, 0, 153_000, 0.5),
            (0, 0, 15_300, 0.5),
        ];
        for (before, after, sent, expected) in rows {
            let mut it = PowerTcp::new(&PowerTcpKeys::default(), &FACTS);
            it.on_stamps(&stamps(&[(0, 0, before)]));
            it.on_stamps(&stamps(&[(12_240, sent, after)]));
            assert!((it.of.power - expected).abs() < 1e-9, "{before} {after} {sent}: {}", it.of.power);
        }
    }

    #[test]
    fn the_window_follows_power() {
        let mut it = PowerTcp::new(&PowerTcpKeys::default(), &FACTS);
        it.on_stamps(&stamps(&[(0, 0, 153_000)]));
        it.on_ack(Time::ZERO, &ack(1, 100));
        it.on_stamps(&stamps(&[(12_240, 153_000, 153_000)]));
        it.on_ack(Time::ZERO, &ack(50, 150));
        // beta T is 600 Mb/s x 12.24 us = 918 B.
        let window = 0.9 * (153_000.0 * 0.95 / 2.0 + 918.0) + 0.1 * 153_000.0;
        assert!((it.of.window.now - window).abs() < 1e-6);
        assert_eq!(it.of.window.reference, 153_000.0, "the round trip is not over");
        it.on_stamps(&stamps(&[(24_480, 306_000, 153_000)]));
        it.on_ack(Time::ZERO, &ack(101, 160));
        assert!((it.of.window.reference - window).abs() < 1e-6);
    }

    #[test]
    fn many_come_to_rest_where_the_closed_form_says() {
        // The link sends at its rate; bytes that do not fit into a round trip wait.
        for n in [16u32, 50] {
            let mut it = PowerTcp::new(&PowerTcpKeys::default(), &FACTS).of;
            for trip in 1..2_000 {
                it.power = (f64::from(n) * it.window.reference / 153_000.0).max(LEAST_CURRENT);
                it.update(&ack(10 * trip + 1, 10 * trip + 10));
            }
            let rests = f64::from(n) * it.window.reference / 153_000.0;
            // In equilibrium Rc eta / U + beta = Rc, with Rc = U B / N.
            assert!((rests - (0.95 + f64::from(n) * 0.006)).abs() < 1e-9, "{n}: {rests}");
        }
    }
}
