//! CUBIC: a window that is a cubic function of the time since its last reduction.
//!
//! With t the time since the last reduction, W_cubic(t) = C * (t - K)^3 + W_max segments. The window grows fast at
//! first (concave), stays near W_max, the window at the last loss, and then grows faster again to probe for capacity
//! (convex), independently of the round-trip time. If the window of a Reno flow with the same mean would be larger
//! (short round-trip times), that window is used (Reno-friendly region). A loss or an ECN echo multiplies the window
//! by beta. With fast convergence, a flow that has a loss before its window reaches W_max again releases bandwidth to
//! new flows. After a timeout, or if slow start ended without a loss, the curve starts at its plateau.
//!
//! Source: RFC 9438, sections 4.1 (definitions), 4.2 (window), 4.3 (Reno-friendly region), 4.4 and 4.5 (concave and
//! convex), 4.6 (decrease), 4.7 (fast convergence), 4.8 (timeout); S. Ha, I. Rhee and L. Xu, "CUBIC: A New
//! TCP-Friendly High-Speed TCP Variant", ACM SIGOPS OSR 42(5), 2008.
//!
//! Not modelled: HyStart (section 4.10; slow start ends at the threshold or at a loss); spurious losses (4.9). The
//! arithmetic uses 64-bit floating point with `libm`, not the integers of Linux.

use crate::aimd::{Aimd, AimdParams, Growth};
use crate::controller::{Ack, CongestionControl, ControllerConfiguration, Loss, LossKind};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

/// Keys of cubic.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CubicKeys {
    /// Scaling constant C of the cubic function, in segments / s^3. A number above 0. Default: 0.4 (RFC 9438 section 5.1).
    pub scaling: f64,
    /// Multiplicative decrease factor: fraction of the window that remains after a loss. A number, above 0 and below 1. Default: 0.7 (RFC 9438 section 4.6).
    pub beta: f64,
    /// If true, a loss before the window reaches W_max again reduces W_max further (fast convergence). Default: true.
    pub fast_convergence: bool,
    /// If true, the window is at least that of a Reno flow with the same mean (Reno-friendly region). Default: true.
    pub friendly: bool,
}

impl Default for CubicKeys {
    fn default() -> CubicKeys {
        CubicKeys { scaling: 0.4, beta: 0.7, fast_convergence: true, friendly: true }
    }
}

impl CubicKeys {
    /// Validates the keys.
    pub fn check(&self) -> Result<(), Remark> {
        let CubicKeys { scaling, beta, .. } = *self;
        if !(scaling.is_finite() && scaling > 0.0) {
            let help = "expected a number above 0";
            return Err(Remark::about("scaling", format!("a scaling of {scaling}"), help));
        }
        if !(beta > 0.0 && beta < 1.0) {
            let help = "expected a number above 0 and below 1";
            return Err(Remark::about("beta", format!("a beta of {beta}"), help));
        }
        Ok(())
    }
}

/// Initial window and curve of a cubic window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicParams {
    /// Slow start.
    pub begin: AimdParams,
    /// The curve.
    pub curve: CubicKeys,
}

/// The congestion window of CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    /// Slow start, and the window in bytes.
    aimd: Aimd,
    stage: Box<Stage>,
}

/// The position of the window on the cubic curve.
#[derive(Clone, Debug)]
struct Stage {
    /// Window in segments.
    window: f64,
    curve: CubicKeys,
    counts_acks: bool,
    /// Start of this stage of congestion avoidance; `None` if the stage starts with the next acknowledgement in
    /// congestion avoidance.
    epoch: Option<Time>,
    /// W_max of section 4.1, in segments; 0 if there is none yet.
    most: f64,
    /// K in seconds.
    until_most: f64,
    /// W_est, and the window before the last reduction (cwnd_prior), in segments.
    estimate: f64,
    prior: f64,
    /// Last round-trip time in seconds.
    round_trip: f64,
}

impl ControllerConfiguration for CubicParams {
    type Machine = Cubic;

    fn check(&self, segment: u16) -> Result<(), String> {
        self.curve.check().map_err(|why| why.to_string())?;
        self.begin.check(segment)
    }
    fn start(&self, segment: u16) -> Cubic {
        let aimd = self.begin.start(segment);
        let stage = Stage {
            window: aimd.window() as f64 / f64::from(segment),
            curve: self.curve,
            counts_acks: self.begin.growth == Growth::Acks,
            epoch: None,
            most: 0.0,
            until_most: 0.0,
            estimate: 0.0,
            prior: 0.0,
            round_trip: 0.0,
        };
        Cubic { aimd, stage: Box::new(stage) }
    }
}

impl Stage {
    /// Starts a stage of congestion avoidance.
    fn begin(&mut self, now: Time) {
        self.epoch = Some(now);
        // Section 4.3: W_est starts at the window.
        self.estimate = self.window;
        if self.most > self.window {
            // Section 4.2, figure 2.
            self.until_most = libm::cbrt((self.most - self.window) / self.curve.scaling);
        } else {
            // Sections 4.8 and 4.10: after a timeout, or if there was no loss, the plateau is at the current window.
            (self.most, self.until_most) = (self.window, 0.0);
        }
    }

    /// Section 4.2, figure 1: returns W_cubic in segments, `seconds` after the start of the stage.
    fn curve(&self, seconds: f64) -> f64 {
        let from_most = seconds - self.until_most;
        self.curve.scaling * from_most * from_most * from_most + self.most
    }

    /// Grows W_est (section 4.3, figure 4).
    fn grow_estimate(&mut self, segments: f64) {
        let beta = self.curve.beta;
        let alpha = if self.estimate < self.prior { 3.0 * (1.0 - beta) / (1.0 + beta) } else { 1.0 };
        self.estimate += alpha * segments / self.window;
    }

    /// Grows the window for `segments` acknowledged in congestion avoidance.
    fn grow(&mut self, now: Time, segments: f64) {
        if self.epoch.is_none() {
            self.begin(now);
        }
        let elapsed = now.saturating_sub(self.epoch.unwrap_or(now)).as_secs_f64();
        self.grow_estimate(segments);
        if self.curve.friendly && self.curve(elapsed) < self.estimate {
            self.window = self.window.max(self.estimate);
        } else {
            // Section 4.2, figure 3: the target is at least the window, and at most 1.5 times the window per round
            // trip.
            let target = self.curve(elapsed + self.round_trip).clamp(self.window, 1.5 * self.window);
            self.window += (target - self.window) / self.window * segments;
        }
    }

    /// Ends the stage before the window is reduced.
    fn end(&mut self, kind: LossKind) {
        self.prior = self.window;
        // Section 4.7.
        let gives_way = self.curve.fast_convergence && self.window < self.most;
        self.most = if gives_way { self.window * (1.0 + self.curve.beta) / 2.0 } else { self.window };
        if kind != LossKind::FastRecovery {
            // Section 4.8: the next stage starts at its plateau.
            self.most = 0.0;
        }
    }
}

impl Cubic {
    fn avoid_congestion(&mut self, now: Time, ack: &Ack) {
        let segment = self.aimd.segment() as f64;
        let segments = if self.stage.counts_acks { 1.0 } else { ack.bytes as f64 / segment };
        self.stage.grow(now, segments);
        self.aimd.set_window((self.stage.window * segment) as u64);
    }

    fn reduce(&mut self, kind: LossKind, in_flight: u64) {
        self.stage.end(kind);
        // Section 4.6: beta times FlightSize.
        self.aimd.lose(kind, libm::round(in_flight as f64 * self.stage.curve.beta) as u64);
        self.follow();
    }

    /// Adopts the window that slow start or a loss has set, and restarts the curve.
    fn follow(&mut self) {
        self.stage.window = self.aimd.window() as f64 / self.aimd.segment() as f64;
        self.stage.epoch = None;
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        if let Some(round_trip) = ack.round_trip {
            self.stage.round_trip = round_trip.as_secs_f64();
        }
        if !self.aimd.may_grow(ack) {
            return;
        }
        if self.aimd.slow_start(ack) {
            self.follow();
        } else {
            self.avoid_congestion(now, ack);
        }
    }
    fn on_loss(&mut self, _now: Time, loss: &Loss) {
        self.reduce(loss.kind, loss.in_flight);
    }
    fn on_recovered(&mut self, now: Time, in_flight: u64) {
        self.aimd.on_recovered(now, in_flight);
        self.follow();
    }
    fn on_mark(&mut self, _now: Time) {
        self.reduce(LossKind::FastRecovery, self.aimd.window());
    }
    fn on_idle(&mut self, now: Time) {
        self.aimd.on_idle(now);
        self.follow();
    }
    fn window(&self) -> u64 {
        self.aimd.window()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::ack;
    use units::Amount;

    const S: u64 = 1_000;

    fn cubic(curve: CubicKeys) -> Cubic {
        let begin = AimdParams {
            initial: Amount::Frames(1_000),
            threshold: Some(1_000 * S),
            growth: Growth::Bytes,
            grows_unused: false,
        };
        CubicParams { begin, curve }.start(1_000)
    }

    /// Acknowledges a window evenly spread over each of `count` round trips. Returns the state after each.
    fn rounds(it: &mut Cubic, trip: Time, count: u64) -> Vec<(f64, f64)> {
        let mut seen = vec![];
        for n in 0..count {
            let acks = it.window() / S;
            for k in 1..=acks {
                let now = trip * n + Time::from_ps(trip.ps() * k / acks);
                it.on_ack(now, &Ack { round_trip: Some(trip), ..ack(S) });
            }
            seen.push(((trip * (n + 1)).as_secs_f64(), it.window() as f64 / S as f64));
        }
        seen
    }

    #[test]
    fn the_window_follows_its_closed_form() {
        let mut it = cubic(CubicKeys { friendly: false, ..CubicKeys::default() });
        it.on_loss(Time::ZERO, &Loss { kind: LossKind::FastRecovery, in_flight: 1_000 * S });
        assert_eq!(it.window(), 700 * S);
        // K = cbrt(1000 * (1 - 0.7) / 0.4) = 9.086 s. With a round trip of 10 ms the window at t is W_cubic(t), up to
        // the growth of the curve in one round trip, which is at most 3 C K^2 * 0.01 = 1 segment.
        let k = libm::cbrt(1_000.0 * 0.3 / 0.4);
        for (t, window) in rounds(&mut it, Time::from_ms(10), 1_500) {
            let exact = 0.4 * (t - k) * (t - k) * (t - k) + 1_000.0;
            assert!((window - exact).abs() < 1.05, "{t} s: {window}, not {exact}");
        }
    }

    #[test]
    fn on_short_round_trips_it_is_as_fast_as_reno() {
        let mut it = cubic(CubicKeys::default());
        it.on_loss(Time::ZERO, &Loss { kind: LossKind::FastRecovery, in_flight: 100 * S });
        // The window grows by 3 (1 - beta) / (1 + beta) = 0.529 segments per round trip until it is back at the window
        // before the loss (1000).
        let seen = rounds(&mut it, Time::from_us(100), 50);
        for (n, &(_, window)) in seen.iter().enumerate() {
            let reno = 70.0 + 0.9 / 1.7 * (n + 1) as f64;
            assert!((window - reno).abs() < 1.0, "{n}: {window}, not {reno}");
        }
    }

    #[test]
    fn who_loses_below_the_last_window_aims_lower() {
        for (fast_convergence, most) in [(true, 0.85 * 700.0), (false, 700.0)] {
            let mut it = cubic(CubicKeys { fast_convergence, ..CubicKeys::default() });
            it.on_loss(Time::ZERO, &Loss { kind: LossKind::FastRecovery, in_flight: 1_000 * S });
            assert_eq!(it.stage.most, 1_000.0);
            it.on_mark(Time::ZERO);
            assert!((it.stage.most - most).abs() < 1e-9);
            assert_eq!(it.window(), 490 * S);
        }
    }

    #[test]
    fn after_a_timeout_it_starts_slowly_and_the_curve_begins_flat() {
        let mut it = cubic(CubicKeys { friendly: false, ..CubicKeys::default() });
        it.on_loss(Time::ZERO, &Loss { kind: LossKind::Timeout, in_flight: 100 * S });
        assert_eq!(it.window(), S);
        let seen = rounds(&mut it, Time::from_ms(1), 30);
        let windows: Vec<f64> = seen[..7].iter().map(|seen| seen.1).collect();
        assert_eq!(windows, [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 70.0]);
        // K = 0: 20 ms later the curve has risen by 0.4 * 0.02^3.
        assert!(seen[29].1 - 70.0 < 1e-2);
    }
}
