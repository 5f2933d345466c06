//! NSCC, network signal based congestion control of Ultra Ethernet: a window at the sender, controlled by delay and
//! ECN marks.
//!
//! The queueing delay d of an acknowledgement is its round-trip time minus the minimum round-trip time of a full
//! packet so far. An acknowledgement without a mark increases the window: by `fair_increase` if d is at least the
//! target, in proportion to target - d below the target, and by `fast_increase` after a whole window without queueing.
//! With a mark and d at or above the target, the window is multiplied by 1 - `gamma` (avg - target) / avg, where avg
//! is a moving average of d. This factor is at least `max_decrease`, and is applied at most once per round trip. With
//! a mark and d below the target the window does not change, because a change of path is the appropriate reaction.
//! Increases are applied once per 8 packets or per round trip. A trimmed packet reduces the window by its length.
//!
//! Quick adapt takes place at the end of each period of base round trip + target. It requires that packets were
//! trimmed or that d is above `qa_threshold`, and that the bytes that arrived in the period are fewer than
//! 1/2^`qa_gate` of the maximum window. The window is then set to the bytes that arrived. Feedback on the bytes that
//! were in flight at that time is ignored.
//!
//! The minimum round-trip time never increases. If links of the path were temporarily faster, or the path was shorter,
//! the delay and the maximum window are based on that value from then on. When the line rate of the sender changes, it
//! starts again at the configured base round trip (our choice). Short packets do not lower it (our choice): on links
//! with little delay they return much earlier than a full packet can, and the maximum window would be less than one
//! packet.
//!
//! Source: Ultra Ethernet Specification 1.0, section 3.6.13, and uet-htsim 40ccb05, `uec.cpp`, which agree. All
//! parameters scale with the bandwidth-delay product, relative to 100 Gb/s and 12 us (150,000 B).
//!
//! Not modelled: the window penalty of the receiver (`rcv_cwnd_pend`), which receivers do not send here; probes of the
//! base round trip.

use super::control::{UetAck, UetControl, UetFacts, UetLoss, UetLossCause};
use crate::rdma::checks;
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, Computed, Or, Time};

/// Bandwidth-delay product of the reference network in bytes: 100 Gb/s times 12 us.
const REFERENCE_BDP: f64 = 150_000.0;
/// Round-trip time of the reference network in ps.
const REFERENCE_RTT: f64 = 12e6;
/// Queueing delays below this count as none; in ps (uet-htsim).
const NO_DELAY: f64 = 1e6;
/// Number of packets that arrive between two adjustments of the window.
const ADJUST_PACKETS: f64 = 8.0;
/// Delay, in base round-trip times, with which an unmarked acknowledgement above the target enters the average.
const UNMARKED_DELAY: f64 = 0.25;
/// Maximum window in bandwidth-delay products.
const MAX_WINDOW: f64 = 1.5;

/// Keys of nscc.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NsccKeys {
    /// Target of the queueing delay. A time with unit, above 0; or "computed": 0.75 base round trips with trimming, 1 without. Default: "computed".
    pub target: Or<Time, Computed>,
    /// Gain of the proportional increase, in packets of payload per target delay on the reference network. A number, above 0. Default: 4.
    pub alpha: f64,
    /// Fair increase, at or above the target delay, in packets of payload per window on the reference network. A number, above 0. Default: 5.
    pub fair_increase: f64,
    /// Constant increase per round trip, in packets of payload on the reference network. A number, above 0. Default: 0.15.
    pub eta: f64,
    /// Fast increase per acknowledged byte, after a window without queueing, on the reference network. A number, above 0. Default: 0.25.
    pub fast_increase: f64,
    /// Weight of the excess delay in a decrease. A number, above 0 and at most 1. Default: 0.8.
    pub gamma: f64,
    /// Minimum factor of a decrease (`max_md_jump`). A number, above 0 and at most 1. Default: 0.5.
    pub max_decrease: f64,
    /// Weight of the newest sample in the average delay. A number, above 0 and at most 1. Default: 0.0125.
    pub delay_gain: f64,
    /// If true, the window is set to the bytes that arrived in a period if these are few (quick adapt). Default: true.
    pub quick_adapt: bool,
    /// Quick adapt requires that fewer bytes arrived than the maximum window divided by 2 to this power; with `quick_adapt`. A count, 0 to 16. Default: 3.
    #[schemars(range(min = 0, max = 16))]
    pub qa_gate: u64,
    /// Queueing delay above which quick adapt may take place; with `quick_adapt`. A time with unit, above 0; or "computed": four targets. Default: "computed".
    pub qa_threshold: Or<Time, Computed>,
    /// Initial window. A size with unit or a number of frames, at least one packet; or "computed": the maximum window. Default: "computed".
    pub initial_window: Or<Amount, Computed>,
    /// Maximum window. A size with unit or a number of frames, at least one packet; or "computed": 1.5 bandwidth-delay products. Default: "computed".
    pub max_window: Or<Amount, Computed>,
}

impl Default for NsccKeys {
    fn default() -> NsccKeys {
        NsccKeys {
            target: Or::word(),
            alpha: 4.0,
            fair_increase: 5.0,
            eta: 0.15,
            fast_increase: 0.25,
            gamma: 0.8,
            max_decrease: 0.5,
            delay_gain: 0.0125,
            quick_adapt: true,
            qa_gate: 3,
            qa_threshold: Or::word(),
            initial_window: Or::word(),
            max_window: Or::word(),
        }
    }
}

impl NsccKeys {
    /// Validates the keys; returns one remark for each invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let above = f64::INFINITY;
        let numbers = [
            ("alpha", self.alpha, above),
            ("fair_increase", self.fair_increase, above),
            ("eta", self.eta, above),
            ("fast_increase", self.fast_increase, above),
            ("gamma", self.gamma, 1.0),
            ("max_decrease", self.max_decrease, 1.0),
            ("delay_gain", self.delay_gain, 1.0),
        ];
        let numbers = numbers.into_iter().filter_map(|(key, value, most)| checks::number(key, value, most));
        let times = [("target", &self.target), ("qa_threshold", &self.qa_threshold)];
        let times = times.into_iter().filter_map(|(key, time)| checks::time(key, time.value()?));
        let windows = [("initial_window", &self.initial_window), ("max_window", &self.max_window)];
        let windows = windows.into_iter().filter_map(|(key, window)| match window.value()? {
            Amount::Bytes(0) | Amount::Frames(0) => {
                let help = "expected at least one packet, like \"1 frame\"";
                Some(Remark::about(key, format!("{} of 0", checks::with_article(key)), help))
            }
            _ => None,
        });
        numbers.chain(times).chain(windows).chain(checks::count("qa_gate", self.qa_gate, 16)).collect()
    }
    /// Returns the keys that have no effect.
    pub fn unused(&self) -> Vec<Remark> {
        Unused::of(self, &NsccKeys::default())
            .unless(self.quick_adapt, "quick_adapt = true", &["qa_gate", "qa_threshold"])
            .remarks()
    }
}

/// The parameters, scaled to a path.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scaled {
    /// Rate in bytes per ps.
    rate: f64,
    /// Configured base round-trip time in ps.
    base_rtt: f64,
    /// Target of the queueing delay in ps.
    target: f64,
    /// Proportional increase in bytes per ps.
    alpha: f64,
    /// Fair increase in bytes.
    fair: f64,
    /// Increase per adjustment period in bytes.
    eta: f64,
    /// Fast increase per byte.
    fast: f64,
    /// Queueing delay above which quick adapt is triggered, in ps.
    qa_threshold: f64,
    /// Length of a full packet in bytes.
    packet: f64,
    /// Maximum window in bytes, if it is given.
    max_window: Option<f64>,
    gamma: f64,
    max_decrease: f64,
    delay_gain: f64,
    /// Divisor of the maximum window in the gate of quick adapt; `None` if quick adapt is off.
    qa_divisor: Option<f64>,
}

impl Scaled {
    fn new(keys: &NsccKeys, facts: &UetFacts) -> Scaled {
        let base_rtt = facts.base_rtt.ps() as f64;
        let target = if facts.trimming { 0.75 * base_rtt } else { base_rtt };
        let target = keys.target.value().map_or(target, |target| target.ps() as f64);
        let a = facts.bdp() / REFERENCE_BDP;
        let b = target / REFERENCE_RTT;
        let payload = f64::from(facts.payload);
        Scaled {
            rate: facts.rate.bps_f64() / 8e12,
            base_rtt,
            target,
            alpha: keys.alpha * a * b * payload / target,
            fair: keys.fair_increase * payload * a,
            eta: keys.eta * payload * a,
            fast: keys.fast_increase * a,
            qa_threshold: keys.qa_threshold.value().map_or(4.0 * target, |time| time.ps() as f64),
            packet: facts.packet.into(),
            max_window: keys.max_window.value().map(|window| bytes_of(window, facts)),
            gamma: keys.gamma,
            max_decrease: keys.max_decrease,
            delay_gain: keys.delay_gain,
            qa_divisor: keys.quick_adapt.then(|| (1u64 << keys.qa_gate) as f64),
        }
    }
    /// Returns the maximum window on a path with this lowest round-trip time in ps.
    fn max_window(&self, base_rtt: f64) -> f64 {
        self.max_window.unwrap_or(MAX_WINDOW * self.rate * base_rtt).max(self.packet)
    }
}

fn bytes_of(window: Amount, facts: &UetFacts) -> f64 {
    match window {
        Amount::Bytes(bytes) => bytes as f64,
        Amount::Frames(packets) => packets as f64 * f64::from(facts.packet),
    }
}

/// The state of NSCC. Delays are in ps, sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Nscc {
    own: Scaled,
    window: f64,
    max_window: f64,
    /// Lowest round-trip time so far.
    base_rtt: f64,
    /// Average of the queueing delays.
    average: f64,
    /// Increase to apply at the next adjustment, times the window.
    increase: f64,
    /// Bytes that have arrived since the last adjustment.
    received: f64,
    last_adjust: Time,
    last_decrease: Time,
    /// Bytes that have arrived without queueing, and true if they make the window grow fast.
    fast_count: f64,
    is_fast: bool,
    /// End of the quick adapt period; `None` if none has begun.
    period_end: Option<Time>,
    /// Bytes that have arrived in the period.
    achieved: f64,
    /// After a quick adapt, feedback on the next `to_ignore` bytes is ignored; `ignored` bytes of them have arrived.
    ignored: f64,
    to_ignore: f64,
    /// True if a packet was trimmed in the period.
    trimmed: bool,
    /// True if credits of the receiver limit the queue of the last link.
    has_credits: bool,
    quick_adapts: u64,
}

impl Nscc {
    /// Creates the state of a new context.
    pub fn new(keys: &NsccKeys, facts: &UetFacts) -> Nscc {
        let own = Scaled::new(keys, facts);
        let max_window = own.max_window(own.base_rtt);
        let first = keys.initial_window.value().map_or(max_window, |window| bytes_of(window, facts));
        Nscc {
            own,
            window: first.clamp(own.packet, max_window),
            max_window,
            base_rtt: own.base_rtt,
            average: 0.0,
            increase: 0.0,
            received: 0.0,
            last_adjust: Time::ZERO,
            last_decrease: Time::ZERO,
            fast_count: 0.0,
            is_fast: false,
            period_end: None,
            achieved: 0.0,
            ignored: 0.0,
            to_ignore: 0.0,
            trimmed: false,
            has_credits: false,
            quick_adapts: 0,
        }
    }

    /// Returns a variant for use together with credits of the receiver. A trim at the last switch then concerns only
    /// the credits.
    #[must_use]
    pub(super) fn beside_credits(self) -> Nscc {
        Nscc { has_credits: true, ..self }
    }

    fn average_in(&mut self, delay: f64, marked: bool) {
        let excuses = !marked && delay > self.own.target;
        let sample = if excuses { UNMARKED_DELAY * self.base_rtt } else { delay };
        self.average += self.own.delay_gain * (sample - self.average);
    }

    /// Performs quick adapt. Returns true if the feedback has been consumed, because it is ignored or because the
    /// window was set to the bytes that arrived.
    fn quick_adapt(&mut self, now: Time, (lost, skips): (bool, bool), delay: f64, in_flight: u64) -> bool {
        let Some(divisor) = self.own.qa_divisor else {
            return false;
        };
        let mut done = false;
        if self.ignored < self.to_ignore && skips {
            done = true;
        } else if self.period_end.is_none_or(|end| now >= end) {
            let due = self.trimmed || lost || delay > self.own.qa_threshold;
            if self.period_end.is_some() && due && self.achieved < libm::floor(self.max_window / divisor) {
                self.window = self.achieved.max(self.own.packet);
                (self.to_ignore, self.ignored, self.trimmed) = (in_flight as f64, 0.0, false);
                self.quick_adapts += 1;
                done = true;
            }
            self.achieved = 0.0;
            self.period_end = Some(now + ps(self.base_rtt + self.own.target));
        }
        if done {
            (self.increase, self.received) = (0.0, 0.0);
        }
        done
    }

    /// Applies the proportional increase, or the fast increase after a window without queueing.
    fn grow(&mut self, newly: f64, delay: f64) {
        if delay < NO_DELAY {
            self.fast_count += newly;
            if self.is_fast || self.fast_count > self.window {
                self.window += newly * self.own.fast;
                self.is_fast = true;
                return;
            }
        } else {
            self.fast_count = 0.0;
        }
        self.is_fast = false;
        self.increase += self.own.alpha * newly * (self.own.target - delay);
    }

    fn shrink(&mut self, now: Time) {
        (self.is_fast, self.fast_count) = (false, 0.0);
        let excess = self.average - self.own.target;
        if excess > 0.0 && now.saturating_sub(self.last_decrease) > ps(self.base_rtt) {
            let factor = 1.0 - self.own.gamma * excess / self.average;
            self.window *= factor.max(self.own.max_decrease);
            self.last_decrease = now;
        }
    }

    fn adjust(&mut self, now: Time) {
        let is_period = now.saturating_sub(self.last_adjust) >= ps(self.own.base_rtt);
        if self.received <= ADJUST_PACKETS * self.own.packet && !is_period {
            return;
        }
        self.window += self.increase / self.window;
        if is_period {
            self.window += self.own.eta;
            self.last_adjust = now;
        }
        (self.increase, self.received) = (0.0, 0.0);
    }

    fn clamp(&mut self) {
        self.window = self.window.clamp(self.own.packet, self.max_window);
    }
}

fn ps(ps: f64) -> Time {
    Time::from_ps(ps as u64)
}

impl UetControl for Nscc {
    fn on_ack(&mut self, now: Time, ack: &UetAck) {
        let newly = ack.newly as f64;
        self.ignored += newly;
        self.received += newly;
        self.achieved += newly;
        let Some(round_trip) = ack.round_trip else {
            return;
        };
        let round_trip = round_trip.ps() as f64;
        if ack.full && round_trip < self.base_rtt {
            self.base_rtt = round_trip;
            self.max_window = self.own.max_window(round_trip);
            self.clamp();
        }
        let delay = (round_trip - self.base_rtt).max(0.0);
        self.average_in(delay, ack.marked);
        if self.quick_adapt(now, (false, ack.marked), delay, ack.in_flight) {
            return;
        }
        match (ack.marked, delay >= self.own.target) {
            (false, true) => self.increase += self.own.fair * newly,
            (false, false) => self.grow(newly, delay),
            (true, true) => self.shrink(now),
            (true, false) => {}
        }
        self.clamp();
        self.adjust(now);
        self.clamp();
    }

    fn on_loss(&mut self, now: Time, loss: &UetLoss) {
        let bytes = loss.bytes as f64;
        self.ignored += bytes;
        let mut done = false;
        if let UetLossCause::Trimmed { last_hop } = loss.cause {
            // A trimmed packet counts as one that encountered the longest queue.
            self.average_in(self.own.base_rtt, true);
            if last_hop && self.has_credits {
                return;
            }
            self.trimmed = true;
            done = self.quick_adapt(now, (true, true), 0.0, loss.in_flight);
        }
        if !done {
            self.window -= bytes;
            self.clamp();
        }
    }

    fn on_link_rate(&mut self, fresh: &Nscc) {
        self.own = fresh.own;
        // The lowest round-trip time may be that of a faster link.
        self.base_rtt = fresh.base_rtt;
        self.max_window = self.own.max_window(self.base_rtt);
        self.clamp();
    }

    fn window(&self) -> u64 {
        self.window as u64
    }

    fn quick_adapts(&self) -> u64 {
        self.quick_adapts
    }
}

#[cfg(test)]
mod tests;
