//! A window in multiples of a path's bandwidth-delay product, and its rate: the state that controls with telemetry
//! adjust.

use super::checks;
use super::control::{PathFacts, RdmaAck, gap};
use keys::Remark;
use units::{BitRate, Computed, Or, Time};

/// Link rate for which published additive increases are given.
const REFERENCE: f64 = 25e9;

/// Returns the additive increase of the rate in bits per second: the configured value, or `at_25g` scaled to the rate
/// of the link.
pub fn additive(rate: Or<BitRate, Computed>, at_25g: f64, facts: &PathFacts) -> f64 {
    rate.value().map_or(at_25g * facts.rate.bps_f64() / REFERENCE, |rate| rate.bps_f64())
}

/// Validates the keys that these controls have in common.
pub fn check(eta: f64, ai_rate: Or<BitRate, Computed>, min_rate: BitRate) -> Vec<Remark> {
    let ai = ai_rate.value().and_then(|rate| checks::rate("ai_rate", rate));
    let all = [checks::number("eta", eta, 10.0), ai, checks::rate("min_rate", min_rate)];
    all.into_iter().flatten().collect()
}

/// The window of a queue pair, and that of the last round trip, in bytes of frames.
#[derive(Clone, Copy, Debug)]
pub struct PathWindow {
    pub now: f64,
    pub reference: f64,
    /// Bytes that fill the path at the rate of the link, and at the minimum rate.
    pub most: f64,
    pub least: f64,
    /// Base round-trip time in seconds.
    pub trip: f64,
    /// Length of a full packet in bytes.
    packet: f64,
    /// Packet whose acknowledgement ends the round trip.
    pub until: u64,
}

impl PathWindow {
    /// Creates a window that fills its path.
    pub fn new(facts: &PathFacts, min_rate: BitRate) -> PathWindow {
        let (most, trip) = (facts.bdp(), facts.base_rtt.as_secs_f64());
        let least = (min_rate.bps_f64() * trip / 8.0).min(most);
        PathWindow { now: most, reference: most, most, least, trip, packet: facts.packet.into(), until: 0 }
    }

    /// Returns the bytes that a rate sends per round trip.
    pub fn bytes(&self, bps: f64) -> f64 {
        bps * self.trip / 8.0
    }

    /// Sets the window, within its limits. Returns true if a round trip has ended; the window is then the new
    /// reference.
    pub fn set(&mut self, window: f64, ack: &RdmaAck) -> bool {
        self.now = window.clamp(self.least, self.most);
        let over = ack.acknowledged > self.until;
        if over {
            (self.reference, self.until) = (self.now, ack.sent);
        }
        over
    }

    /// Processes the first acknowledgement, which cannot be compared with an earlier one.
    pub fn begin(&mut self, ack: &RdmaAck) {
        self.until = ack.sent;
    }

    /// Adapts to another link rate, for which `fresh` was created. A window that filled the path fills it again.
    pub fn on_link_rate(&mut self, fresh: &PathWindow) {
        let fitted = |window: f64| if window < self.most { window } else { fresh.most };
        let [now, reference] = [self.now, self.reference].map(fitted);
        let limited = |window: f64| window.clamp(fresh.least, fresh.most);
        *self = PathWindow { now: limited(now), reference: limited(reference), until: self.until, ..*fresh };
    }

    /// Returns the bytes that may be in flight. A packet may be sent while fewer bytes than the window are in flight,
    /// because pacing limits the excess. Rounding a window of few packets down to whole packets would reduce it
    /// considerably.
    pub fn in_flight(&self) -> u64 {
        (self.now + self.packet - 1.0) as u64
    }

    fn bps(&self) -> f64 {
        self.now * 8.0 / self.trip
    }

    /// Returns the time at which the next packet may be sent after one of `bytes`.
    pub fn due(&self, since: Time, bytes: u32) -> Time {
        if self.now < self.most { since.saturating_add(gap(bytes, self.bps())) } else { since }
    }

    /// Returns the rate; infinite if the link is the limit.
    pub fn rate(&self) -> f64 {
        if self.now < self.most { self.bps() } else { f64::INFINITY }
    }
}
