//! HPCC: a window that keeps the utilisation of the most utilised link on the path at a target, based on in-band
//! telemetry from each hop.
//!
//! Each switch writes the state of its egress port into a data packet when its transmission begins: the time, the
//! bytes sent so far, the queue length in bytes, and the link rate B. The receiver returns the telemetry in the
//! acknowledgement. From two acknowledgements the sender computes the utilisation of each hop, u = sent / B +
//! min(queue, previous queue) / (B T), where T is the base round-trip time. It averages the maximum over the hops: U =
//! (1 - t/T) U + (t/T) u for the time t between the packets. Each acknowledgement sets W = Wc / (U / `eta`) + W_AI.
//! While U is below `eta`, for up to `max_stage` consecutive round trips, W_AI alone is added instead. Wc is the
//! window W of the last round trip, so that the sender reacts only once to each measurement. W starts at the
//! bandwidth-delay product of the path, and never exceeds it. Packets are paced at W / T, and a packet may be sent
//! while less than W is in flight.
//!
//! With N queue pairs at a link the equilibrium is U = eta + N W_AI / (B T). If this is below 1 there is no queue,
//! hence the rule W_AI <= B T (1 - eta) / N. If it is above 1, the queue is (U - 1) B T.
//!
//! A packet and its acknowledgement are `int_bytes` longer, on all links: 2 B plus 8 B per hop, for which the sender
//! reserves space. A switch without space in the packet writes no telemetry. Bytes sent and queued include preamble
//! and inter-packet gap, so that a saturated link has sent exactly B. The queue length is the sum over all classes of
//! the port. Only packets that took the same path are compared. If switches select a path per packet, the control has
//! few usable samples.
//!
//! Source: Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, section 3 (algorithm 1); the
//! authors' simulator (42 B for five hops, increases by the link rate, initial U of 1), and their page of results,
//! which corrects the stages of the paper (5) to 0.
//!
//! Not modelled: the field widths of the telemetry (24 bits of nanoseconds, 20 bits of 128 B, 17 bits of 80 B), which
//! wrap or round; telemetry of host NICs; a reaction to losses, which the loss recovery repairs; one T for all queue
//! pairs, except by `base_rtt`.

use super::checks;
use super::control::{PathFacts, RdmaAck, RdmaControl, RdmaControlConfiguration};
use super::hops::{FIXED_BYTES, Hops, Interval, STAMP_BYTES, smoothed};
use super::path_window::{self, PathWindow};
use frame::{MOST_STAMPS, Stamps, Telemetry};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Computed, Or, Time};

/// Additive increase per update at 25 Gb/s, in b/s.
pub const AI_AT_25G: f64 = 10e6;
/// Maximum of the key for the number of stages.
const MOST_STAGES: u64 = 1_000;

/// Keys of hpcc.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HpccKeys {
    /// Target utilisation of the most utilised link of a path. A number, above 0 and at most 10; above 1 there is a standing queue. Default: 0.95 (SIGCOMM 2019).
    pub eta: f64,
    /// Maximum number of consecutive round trips without congestion in which the window increases additively, before it is set from the utilisation again. A count, 0 to 1000. Default: 0 (the authors' simulations; they call the 5 in the paper a misprint).
    #[schemars(range(min = 0, max = 1000))]
    pub max_stage: u64,
    /// Additive increase of the rate at each update: W_AI / T. A rate with unit, above 0; or "computed": 10 Mb/s at 25 Gb/s, in proportion to the line rate. Default: "computed" (the authors' simulator).
    pub ai_rate: Or<BitRate, Computed>,
    /// Minimum rate. A rate with unit, above 0. Default: "100 Mb/s" (the sample of the authors' simulator; its runs have 1 Gb/s).
    pub min_rate: BitRate,
    /// Bytes of telemetry in each data packet and acknowledgement: 2 B plus 8 B per hop. A size with unit, "10 B" to "66 B". Default: "42 B" (the authors' simulator: five hops).
    pub int_bytes: Bytes,
}

impl Default for HpccKeys {
    fn default() -> HpccKeys {
        HpccKeys {
            eta: 0.95,
            max_stage: 0,
            ai_rate: Or::word(),
            min_rate: BitRate::from_bps(100_000_000),
            int_bytes: default_int_bytes(),
        }
    }
}

impl RdmaControlConfiguration for HpccKeys {
    fn least_rate(&self) -> Option<BitRate> {
        Some(self.min_rate)
    }
    fn telemetry_bytes(&self) -> u16 {
        self.int_bytes.get() as u16
    }
    fn stamps(&self) -> Option<u8> {
        Some(hops_within(self.int_bytes))
    }
    fn utilization(&self, rate: BitRate) -> Option<(f64, f64)> {
        let added = self.ai_rate.value().map_or(AI_AT_25G * rate.bps_f64() / 25e9, BitRate::bps_f64);
        Some((self.eta, added))
    }
}

impl HpccKeys {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let mut wrong = path_window::check(self.eta, self.ai_rate, self.min_rate);
        wrong.extend(checks::count("max_stage", self.max_stage, MOST_STAGES));
        wrong.extend(check_int_bytes(self.int_bytes));
        wrong
    }
    /// Returns nothing: every key has an effect.
    pub fn unused(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// Returns the default: room for five hops.
pub fn default_int_bytes() -> Bytes {
    Bytes::new(FIXED_BYTES + 5 * STAMP_BYTES)
}

/// Returns the number of hops whose stamps fit into this number of bytes.
pub fn hops_within(int_bytes: Bytes) -> u8 {
    (int_bytes.get().saturating_sub(FIXED_BYTES) / STAMP_BYTES).min(MOST_STAMPS as u64) as u8
}

/// Validates the number of bytes that telemetry adds to a packet.
pub fn check_int_bytes(int_bytes: Bytes) -> Option<Remark> {
    let [least, most] = [1, MOST_STAMPS as u64].map(|hops| FIXED_BYTES + hops * STAMP_BYTES);
    (!(least..=most).contains(&int_bytes.get())).then(|| {
        let message = format!("int_bytes of {int_bytes}");
        let help = format!(
            "expected \"{least} B\" to \"{most} B\": 2 B, and 8 B for each of 1 to {MOST_STAMPS} hops"
        );
        Remark::about("int_bytes", message, help)
    })
}

/// The window of HPCC, driven by the utilisation of the path.
#[derive(Clone, Copy, Debug)]
pub struct HpccWindow {
    pub window: PathWindow,
    eta: f64,
    added: f64,
    stage: u64,
    most_stages: u64,
}

impl HpccWindow {
    /// Creates a window that fills the path.
    pub fn new(
        facts: &PathFacts,
        eta: f64,
        most_stages: u64,
        ai_rate: Or<BitRate, Computed>,
        min_rate: BitRate,
    ) -> HpccWindow {
        let window = PathWindow::new(facts, min_rate);
        let added = window.bytes(path_window::additive(ai_rate, AI_AT_25G, facts));
        HpccWindow { window, eta, added, stage: 0, most_stages }
    }

    /// Processes an acknowledgement, given the current utilisation of the path.
    pub fn update(&mut self, utilisation: f64, ack: &RdmaAck) {
        let Wanted { window, stage } = self.wanted(utilisation);
        if self.window.set(window, ack) {
            self.stage = stage;
        }
    }

    fn wanted(&self, utilisation: f64) -> Wanted {
        let reference = self.window.reference;
        if utilisation >= self.eta || self.stage >= self.most_stages {
            // A path without traffic has no limit.
            let window = reference * self.eta / utilisation.max(f64::MIN_POSITIVE) + self.added;
            return Wanted { window: window.min(f64::MAX), stage: 0 };
        }
        Wanted { window: reference + self.added, stage: self.stage + 1 }
    }

    /// Adapts to another rate of the link.
    pub fn on_link_rate(&mut self, fresh: &HpccWindow) {
        self.window.on_link_rate(&fresh.window);
        self.added = fresh.added;
    }
}

struct Wanted {
    window: f64,
    stage: u64,
}

/// Returns the utilisation of a hop: bytes sent and bytes queued, relative to the bytes that it can send in a round
/// trip.
fn utilisation(hop: &Interval, trip: f64) -> f64 {
    let [before, after] = hop.queues;
    hop.sent_rate / hop.rate + before.min(after) / (hop.rate * trip)
}

/// The state of HPCC: a window driven by the telemetry of each hop.
#[derive(Clone, Debug)]
pub struct Hpcc {
    of: HpccWindow,
    hops: Hops,
    utilisation: f64,
    /// True if the current acknowledgement carries new telemetry of the path.
    is_fresh: bool,
    room: u8,
}

impl Hpcc {
    /// Creates the control of a queue pair without telemetry so far.
    pub fn new(keys: &HpccKeys, facts: &PathFacts) -> Hpcc {
        Hpcc {
            of: HpccWindow::new(facts, keys.eta, keys.max_stage, keys.ai_rate, keys.min_rate),
            hops: Hops::default(),
            utilisation: 1.0,
            is_fresh: false,
            room: hops_within(keys.int_bytes),
        }
    }
}

impl RdmaControl for Hpcc {
    fn telemetry(&self) -> Telemetry {
        Telemetry::Hops(self.room)
    }
    fn on_stamps(&mut self, stamps: &Stamps) {
        let trip = self.of.window.trip;
        let mut busiest = None;
        self.hops.each_since_last(stamps, |hop| {
            let own = (utilisation(hop, trip), hop.took);
            if busiest.is_none_or(|(most, _)| own.0 > most) {
                busiest = Some(own);
            }
        });
        self.is_fresh = busiest.is_some();
        if let Some((most, took)) = busiest {
            self.utilisation = smoothed(self.utilisation, most, took, trip);
        }
    }
    fn on_ack(&mut self, _now: Time, ack: &RdmaAck) {
        if std::mem::take(&mut self.is_fresh) {
            self.of.update(self.utilisation, ack);
        } else if self.of.window.until == 0 {
            self.of.window.begin(ack);
        }
    }
    fn on_link_rate(&mut self, _now: Time, fresh: &Hpcc) {
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
    fn at(utilisation: f64, keys: &HpccKeys) -> HpccWindow {
        let mut it = Hpcc::new(keys, &FACTS).of;
        it.update(utilisation, &ack(1, 10));
        it
    }

    #[test]
    fn windows_of_the_golden_vectors() {
        // W_AI is 80 B: 80 x 8 / 12.24 us.
        let ai_rate = Or::Value(BitRate::from_bps(52_287_582));
        let keys = HpccKeys { ai_rate, ..HpccKeys::default() };
        assert!((at(1.9, &keys).window.now - 76_580.0).abs() < 0.01);
        // The result is 306,080 B, which exceeds the maximum window.
        assert!((at(0.475, &keys).wanted(0.475).window - 306_080.0).abs() < 0.01);
        assert_eq!(at(0.475, &keys).window.now, 153_000.0);
    }

    #[test]
    fn the_increase_follows_the_link() {
        for (gbps, bytes) in [(25, 15.3), (100, 61.2), (400, 244.8)] {
            let facts = PathFacts { rate: BitRate::from_gbps(gbps), ..FACTS };
            assert!((Hpcc::new(&HpccKeys::default(), &facts).of.added - bytes).abs() < 1e-9);
        }
    }

    #[test]
    fn a_busy_link_with_a_queue_of_half_a_round_trip_is_used_one_and_a_half_times() {
        let mut it = Hpcc::new(&HpccKeys::default(), &FACTS);
        it.on_stamps(&stamps(&[(0, 0, 76_500), (0, 0, 0)]));
        it.on_ack(Time::ZERO, &ack(1, 100));
        assert_eq!((it.of.window.now, it.of.window.until), (153_000.0, 100), "no interval yet");
        // In a whole round trip the link sent at its rate; the other hop sent half of that.
        it.on_stamps(&stamps(&[(12_240, 153_000, 90_000), (12_240, 76_500, 0)]));
        assert!((it.utilisation - 1.5).abs() < 1e-9);
        it.on_ack(Time::ZERO, &ack(50, 120));
        let window = 153_000.0 * 0.95 / 1.5 + it.of.added;
        assert!((it.of.window.now - window).abs() < 1e-6);
        // An update within the round trip starts from the same reference window.
        assert_eq!(it.of.window.reference, 153_000.0);
        it.on_ack(Time::ZERO, &ack(51, 120));
        assert_eq!(it.window(), (window + 1_089.0) as u64, "an acknowledgement without new telemetry");
        it.on_stamps(&stamps(&[(24_480, 306_000, 0), (24_480, 153_000, 0)]));
        it.on_ack(Time::ZERO, &ack(101, 140));
        let second = 153_000.0 * 0.95 + it.of.added;
        assert!((it.of.window.reference - second).abs() < 1e-6);
        assert_eq!(it.of.window.until, 140);
    }

    #[test]
    fn stages_add_before_the_utilisation_is_followed() {
        let keys = HpccKeys { max_stage: 2, ..HpccKeys::default() };
        let mut it = at(1.9, &keys);
        let (start, added) = (it.window.reference, it.added);
        for (trip, wanted) in (1..).zip([start + added, start + 2.0 * added]) {
            it.update(0.5, &ack(10 * trip + 1, 10 * trip + 10));
            assert!((it.window.reference - wanted).abs() < 1e-6);
        }
        let wanted = (it.window.reference * 0.95 / 0.5 + added).min(it.window.most);
        it.update(0.5, &ack(31, 40));
        assert!((it.window.reference - wanted).abs() < 1e-6);
        assert_eq!(it.stage, 0);
    }

    #[test]
    fn many_come_to_rest_where_the_closed_form_says() {
        // A fluid model of N windows: the link sends at its rate, and the remainder waits.
        for n in [2u32, 16, 100] {
            let mut it = at(1.0, &HpccKeys::default());
            for trip in 1..4_000 {
                let inside = f64::from(n) * it.window.reference / 153_000.0;
                it.update(inside, &ack(10 * trip + 1, 10 * trip + 10));
            }
            let rests = f64::from(n) * it.window.reference / 153_000.0;
            let closed = 0.95 + f64::from(n) * it.added / 153_000.0;
            assert!((rests - closed).abs() < 1e-9, "{n}: {rests} {closed}");
        }
    }

    #[test]
    fn room_is_two_bytes_and_eight_a_hop() {
        let hops = |bytes| hops_within(Bytes::new(bytes));
        assert_eq!([10, 17, 42, 49, 66].map(hops), [1, 1, 5, 5, 8]);
        for bytes in [0, 9, 67] {
            assert!(check_int_bytes(Bytes::new(bytes)).is_some());
        }
    }
}
