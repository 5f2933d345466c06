//! Swift: a window that keeps the delay at a target.
//!
//! The target delay is `base_target` plus `hop_delay` for each switch plus flow scaling for small windows: fs = a /
//! sqrt(cwnd) + b, limited to 0 to `fs_range`, so that many flows with a few packets each have a higher target. Each
//! acknowledgement with a delay below the target adds `ai` / cwnd packets per acknowledged packet. A delay above the
//! target multiplies the window by 1 - beta (delay - target) / delay, but by at least 1 - `max_mdf`, at most once per
//! round trip. A loss reduces the window by the fraction `max_mdf`. A window below one packet means one packet every
//! round-trip time / cwnd.
//!
//! Source: G. Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM
//! 2020, section 3 (algorithm, flow scaling); constants as in a public simulator (htsim), whose author calls them
//! guesses.
//!
//! Not modelled: the endpoint delay and its separate window, because packets are acknowledged by the NIC here;
//! separate retransmission timeouts of Swift.

use super::checks;
use super::control::{PathFacts, RdmaAck, RdmaControl, RdmaControlConfiguration, RdmaLoss};
use keys::Remark;
use recurrence::Recurs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Time};

/// Number of consecutive timeouts after which the window is set to its minimum.
const RESET_AFTER: u32 = 5;

/// Keys of swift.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SwiftKeys {
    /// Base target delay, for a path without switches. A time with unit, above 0. Default: "20 us" (htsim; the paper has 25 us).
    pub base_target: Time,
    /// Addition to the target delay for each switch on the path. A time with unit. Default: "3.05 us" (htsim; the paper has about 1 us).
    pub hop_delay: Time,
    /// Maximum addition to the target delay by flow scaling, for the smallest windows. A time with unit. Default: "100 us" (htsim: five times the base).
    pub fs_range: Time,
    /// Window, in packets, below which flow scaling adds all of `fs_range`. A number, above 0. Default: 0.1 (SIGCOMM 2020).
    pub fs_min: f64,
    /// Window, in packets, above which flow scaling adds nothing. A number, above `fs_min`. Default: 100 (SIGCOMM 2020).
    pub fs_max: f64,
    /// Additive increase of the window, in packets per round trip. A number, above 0. Default: 1 (SIGCOMM 2020).
    pub ai: f64,
    /// Multiplicative decrease factor, for a delay above the target. A number, above 0 and at most 1. Default: 0.8 (SIGCOMM 2020).
    pub beta: f64,
    /// Maximum fraction by which a decrease reduces the window. A number, above 0 and at most 1. Default: 0.5 (SIGCOMM 2020).
    pub max_mdf: f64,
    /// Minimum window, in packets. A number, above 0 and at most 1. Default: 0.01 (SIGCOMM 2020).
    pub min_window: f64,
}

impl Default for SwiftKeys {
    fn default() -> SwiftKeys {
        SwiftKeys {
            base_target: Time::from_us(20),
            hop_delay: Time::from_ns(3_050),
            fs_range: Time::from_us(100),
            fs_min: 0.1,
            fs_max: 100.0,
            ai: 1.0,
            beta: 0.8,
            max_mdf: 0.5,
            min_window: 0.01,
        }
    }
}

impl RdmaControlConfiguration for SwiftKeys {
    fn delay_target(&self, hops: u16, window: f64) -> Option<(&'static str, Time)> {
        Some(("base_target", self.target(hops, window)))
    }
}

impl SwiftKeys {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let order = (self.fs_max <= self.fs_min).then(|| {
            let message = format!("fs_max ({}) is not above fs_min ({})", self.fs_max, self.fs_min);
            Remark::about("fs_max", message, "expected a number above fs_min")
        });
        let all = [
            checks::time("base_target", self.base_target),
            checks::number("fs_min", self.fs_min, f64::INFINITY),
            order,
            checks::number("ai", self.ai, f64::INFINITY),
            checks::number("beta", self.beta, 1.0),
            checks::number("max_mdf", self.max_mdf, 1.0),
            checks::number("min_window", self.min_window, 1.0),
        ];
        all.into_iter().flatten().collect()
    }
    /// Returns the round-trip time at which a window of this number of packets is held, on a path with this number of
    /// switches.
    pub fn target(&self, hops: u16, window: f64) -> Time {
        let facts = PathFacts::new(BitRate::from_gbps(1), Time::from_us(1), 1, hops);
        let swift = Swift::new(self, &facts);
        Time::from_ps((swift.base + swift.scaling(window)) as u64)
    }
    /// Returns nothing: every key has an effect.
    pub fn unused(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// The state of Swift: a window driven by delay.
#[derive(Clone, Copy, Debug, Recurs)]
pub struct Swift {
    packet: f64,
    /// Base target delay in picoseconds.
    base: f64,
    range: f64,
    /// Coefficients a and b of flow scaling.
    scale: [f64; 2],
    ai: f64,
    beta: f64,
    max_mdf: f64,
    min: f64,
    max: f64,
    window: f64,
    trip: f64,
    decreased: Option<Time>,
    timeouts: u32,
}

impl Swift {
    /// Creates the control of a queue pair with a window that fills its path.
    pub fn new(keys: &SwiftKeys, facts: &PathFacts) -> Swift {
        let ps = |time: Time| time.ps() as f64;
        let [low, high] = [keys.fs_min, keys.fs_max].map(|packets| 1.0 / libm::sqrt(packets));
        let a = ps(keys.fs_range) / (low - high);
        let fills = facts.bdp() / f64::from(facts.packet);
        Swift {
            packet: facts.packet.into(),
            base: ps(keys.base_target) + ps(keys.hop_delay) * f64::from(facts.hops),
            range: ps(keys.fs_range),
            scale: [a, -a * high],
            ai: keys.ai,
            beta: keys.beta,
            max_mdf: keys.max_mdf,
            min: keys.min_window,
            // A window above ten times the BDP would only build a queue.
            max: (fills * 10.0).max(1_000.0),
            window: fills.max(1.0),
            trip: ps(facts.base_rtt),
            decreased: None,
            timeouts: 0,
        }
    }

    /// Returns the additional target delay of a window of this number of packets, in picoseconds.
    fn scaling(&self, packets: f64) -> f64 {
        let [a, b] = self.scale;
        (a / libm::sqrt(packets) + b).clamp(0.0, self.range)
    }

    /// Returns true if the window may be reduced, which is once per round trip.
    fn may_decrease(&mut self, now: Time) -> bool {
        let may = self.decreased.is_none_or(|last| (now - last).ps() as f64 >= self.trip);
        if may {
            self.decreased = Some(now);
        }
        may
    }

    fn set(&mut self, window: f64) {
        self.window = window.clamp(self.min, self.max);
    }
}

impl RdmaControl for Swift {
    fn on_ack(&mut self, now: Time, ack: &RdmaAck) {
        let Some(delay) = ack.round_trip.map(|trip| trip.ps() as f64) else { return };
        (self.trip, self.timeouts) = (delay, 0);
        let target = self.base + self.scaling(self.window);
        let packets = ack.bytes as f64 / self.packet;
        if delay < target {
            let grown = if self.window >= 1.0 { self.ai * packets / self.window } else { self.ai * packets };
            self.set(self.window + grown);
        } else if self.may_decrease(now) {
            let factor = 1.0 - self.beta * (delay - target) / delay;
            self.set(self.window * factor.max(1.0 - self.max_mdf));
        }
    }
    fn on_loss(&mut self, now: Time, loss: RdmaLoss) {
        if loss == RdmaLoss::Timeout {
            self.timeouts += 1;
            let all = self.timeouts >= RESET_AFTER;
            self.set(if all { self.min } else { self.window * (1.0 - self.max_mdf) });
        } else if self.may_decrease(now) {
            self.set(self.window * (1.0 - self.max_mdf));
        }
    }
    fn on_link_rate(&mut self, _now: Time, fresh: &Swift) {
        self.max = fresh.max;
        self.set(self.window);
    }
    fn due(&self, since: Time, _bytes: u32) -> Time {
        if self.window >= 1.0 {
            return since;
        }
        since.saturating_add(Time::from_ps((self.trip / self.window) as u64))
    }
    fn window(&self) -> u64 {
        (self.window.max(1.0) * self.packet) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::BitRate;

    const FACTS: PathFacts = PathFacts::new(BitRate::from_gbps(100), Time::from_us(12), 1_000, 0);

    #[test]
    fn the_scaling_is_that_of_its_formula() {
        let it = Swift::new(&SwiftKeys::default(), &FACTS);
        assert!((it.scale[0] / 1e6 - 32.65).abs() < 0.01 && (it.scale[1] / 1e6 + 3.27).abs() < 0.01);
        for (packets, us) in
            [(1.0, 29.39), (4.0, 13.06), (25.0, 3.27), (100.0, 0.0), (0.1, 100.0), (0.01, 100.0)]
        {
            assert!((it.scaling(packets) / 1e6 - us).abs() < 0.01, "{packets}");
        }
    }

    #[test]
    fn a_delay_above_the_target_takes_its_share_once_a_round_trip() {
        let mut it = Swift { window: 100.0, ..Swift::new(&SwiftKeys::default(), &FACTS) };
        let ack = |us| RdmaAck {
            bytes: 1_000,
            acknowledged: 1,
            sent: 9,
            round_trip: Some(Time::from_us(us)),
            ..RdmaAck::default()
        };
        it.on_ack(Time::from_us(50), &ack(10));
        assert_eq!(it.window, 100.01);
        it.window = 100.0;
        it.on_ack(Time::from_us(60), &ack(25));
        // 0.8 x 5 / 25.
        assert!((it.window - 84.0).abs() < 1e-9);
        it.on_ack(Time::from_us(61), &ack(25));
        assert!((it.window - 84.0).abs() < 1e-9);
        it.on_ack(Time::from_us(460), &ack(400));
        assert!((it.window - 42.0).abs() < 1e-9);
        for _ in 0..5 {
            it.on_loss(Time::from_us(500), RdmaLoss::Timeout);
        }
        assert_eq!((it.window, it.window()), (0.01, 1_000));
        // One packet per hundred round trips.
        assert_eq!(it.due(Time::ZERO, 1_000), Time::from_us(40_000));
    }
}
