//! Additive increase, multiplicative decrease: slow start and congestion avoidance, the window of Tahoe and Reno.
//!
//! In slow start, below the threshold, the window grows by the acknowledged bytes, by at most one segment per
//! acknowledgement (two if bytes are counted), so that it doubles each round trip. In congestion avoidance, above the
//! threshold, it grows by one segment per round trip: by segment * segment / window per acknowledgement, including
//! fractions of a byte, or by one segment for each window of acknowledged bytes. A loss or an ECN echo sets the
//! threshold to half of the data in flight, but at least two segments, and the window to the threshold. If the ACK
//! clock has stopped, after a timeout or with `tahoe`, the window is one segment and slow start begins.
//!
//! During loss recovery the window is constant, and the recovery algorithm decides how much may be sent. A sender may
//! be configured not to increase a window that does not limit it. After an idle time longer than the timeout the
//! window is reduced to at most the initial window.
//!
//! Source: RFC 5681, sections 3.1 (slow start, congestion avoidance), 3.2 (loss) and 4.1 (idle); RFC 3465, sections
//! 2.1 and 2.2 (byte counting, L = 2); RFC 3168, section 6.1.2 (marks); RFC 7661, section 4.2 (unused windows); V.
//! Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988.
//!
//! Not modelled: decay of an unused window (RFC 7661, section 4.4); pacing.

use crate::controller::{Ack, CongestionControl, ControllerConfiguration, Loss, LossKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, Time};

/// Quantity by which a window grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// Each acknowledgement, regardless of the bytes it acknowledges (RFC 5681 equations 2 and 3).
    Acks,
    /// Acknowledged bytes (RFC 3465), at most two segments per acknowledgement in slow start.
    Bytes,
}

/// Initial window and growth of an AIMD window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AimdParams {
    /// Initial window, at least one segment.
    pub initial: Amount,
    /// Slow start threshold before the first loss, in bytes; `None`: unlimited until the first loss.
    pub threshold: Option<u64>,
    /// Quantity by which the window grows.
    pub growth: Growth,
    /// True if the window also grows while less than half of it is in flight.
    pub grows_unused: bool,
}

/// A congestion window with additive increase and multiplicative decrease.
#[derive(Clone, Copy, Debug)]
pub struct Aimd {
    window: u64,
    threshold: u64,
    /// Growth not yet applied: acknowledged bytes, or for equation 3 square bytes. Mostly less than the window.
    counted: u64,
    initial: u64,
    segment: u16,
    growth: Growth,
    grows_unused: bool,
}

impl ControllerConfiguration for AimdParams {
    type Machine = Aimd;

    fn check(&self, segment: u16) -> Result<(), String> {
        if self.start(segment).window >= u64::from(segment) {
            return Ok(());
        }
        let [window, segment] = Amount::alike([self.initial, Amount::Bytes(segment.into())]);
        Err(format!("an initial window of {window} is smaller than a segment of {segment}"))
    }
    fn start(&self, segment: u16) -> Aimd {
        let initial = match self.initial {
            Amount::Bytes(bytes) => bytes,
            Amount::Frames(segments) => segments.saturating_mul(u64::from(segment)),
        };
        Aimd {
            window: initial,
            threshold: self.threshold.unwrap_or(u64::MAX),
            counted: 0,
            initial,
            segment,
            growth: self.growth,
            grows_unused: self.grows_unused,
        }
    }
}

impl Aimd {
    /// Returns true in slow start, in which the window doubles each round trip. If window and threshold are equal, RFC
    /// 5681 allows either algorithm.
    pub fn is_in_slow_start(&self) -> bool {
        self.window < self.threshold
    }
    /// Returns true if this acknowledgement may grow the window.
    pub fn may_grow(&self, ack: &Ack) -> bool {
        // RFC 3168 section 6.1.2: an acknowledgement with ECN-Echo does not grow the window.
        !ack.recovering && !ack.ece && (ack.window_used || self.grows_unused)
    }
    /// Returns the length of a segment.
    pub fn segment(&self) -> u64 {
        self.segment.into()
    }
    /// Grows the window by slow start. Returns true until the threshold is reached.
    pub fn slow_start(&mut self, ack: &Ack) -> bool {
        if !self.is_in_slow_start() {
            return false;
        }
        let most = match self.growth {
            Growth::Acks => self.segment(),
            Growth::Bytes => 2 * self.segment(),
        };
        // RFC 5681 equation 2: at most the bytes acknowledged. RFC 3465 section 2.2: at most L = 2 segments.
        self.window = self.window.saturating_add(ack.bytes.min(most));
        true
    }
    /// Sets the window and the threshold, and resets the growth counter.
    pub fn set(&mut self, window: u64, threshold: u64) {
        (self.window, self.threshold, self.counted) = (window, threshold, 0);
    }
    /// Sets only the window.
    pub fn set_window(&mut self, window: u64) {
        self.window = window;
    }
    /// Reduces the window after a loss; `remaining` is the part of the data in flight to keep.
    pub fn lose(&mut self, kind: LossKind, remaining: u64) {
        // RFC 5681 equation 4: at least two segments.
        let threshold = remaining.max(2 * self.segment());
        match kind {
            LossKind::FastRecovery => self.set(threshold, threshold),
            LossKind::Timeout => self.set(self.segment(), threshold),
            // RFC 5681 section 3.1: the threshold is kept if the same segment has timed out before.
            LossKind::RepeatedTimeout => self.set(self.segment(), self.threshold),
        }
    }

    fn avoid_congestion(&mut self, ack: &Ack) {
        match self.growth {
            // RFC 5681 equation 3. The remainder of the division is carried to the next acknowledgement. If whole bytes
            // were added instead, a window of many segments would grow too slowly; with at least one byte ("rounded
            // up") it would grow by more than a segment per round trip, which section
            // 3.1 forbids.
            Growth::Acks => {
                self.counted += self.segment() * self.segment();
                let bytes = self.counted / self.window;
                self.counted -= bytes * self.window;
                self.window += bytes;
            }
            // RFC 3465 section 2.1: one segment per window of acknowledged bytes.
            Growth::Bytes => {
                self.counted += ack.bytes;
                if self.counted >= self.window {
                    self.counted -= self.window;
                    self.window += self.segment();
                }
            }
        }
    }
}

impl CongestionControl for Aimd {
    #[inline(always)]
    fn on_ack(&mut self, _now: Time, ack: &Ack) {
        if self.may_grow(ack) && !self.slow_start(ack) {
            self.avoid_congestion(ack);
        }
    }
    fn on_loss(&mut self, _now: Time, loss: &Loss) {
        self.lose(loss.kind, loss.in_flight / 2);
    }
    fn on_recovered(&mut self, _now: Time, in_flight: u64) {
        // RFC 6582 section 3.2 step 3 (1): avoids a burst if little is in flight.
        self.window = self.threshold.min(in_flight.max(self.segment()) + self.segment());
    }
    fn on_mark(&mut self, _now: Time) {
        self.lose(LossKind::FastRecovery, self.window / 2);
    }
    fn on_idle(&mut self, _now: Time) {
        // RFC 5681 section 4.1: RW = min(IW, cwnd).
        if self.initial < self.window {
            self.set(self.initial, self.threshold);
        }
    }
    fn window(&self) -> u64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::ack;

    const S: u64 = 1_000;
    const PARAMS: AimdParams = AimdParams {
        initial: Amount::Frames(2),
        threshold: Some(8 * S),
        growth: Growth::Acks,
        grows_unused: false,
    };

    /// Acknowledges one window, segment by segment, and returns the new window.
    fn round(it: &mut Aimd) -> u64 {
        for _ in 0..it.window() / S {
            it.on_ack(Time::ZERO, &ack(S));
        }
        it.window()
    }

    #[test]
    fn it_doubles_up_to_the_threshold_and_then_grows_by_a_segment() {
        let mut it = PARAMS.start(1_000);
        assert_eq!([round(&mut it), round(&mut it)], [4 * S, 8 * S]);
        // 8 acknowledgements add 1000 * 1000 / cwnd each. Because the window grows meanwhile, the sum is a little less
        // than a segment.
        let window = (0..8).fold(8_000.0, |window, _| window + 1e6 / window);
        assert_eq!(round(&mut it), window as u64);
        let mut it = AimdParams { growth: Growth::Bytes, ..PARAMS }.start(1_000);
        let rounds: Vec<u64> = (0..6).map(|_| round(&mut it) / S).collect();
        assert_eq!(rounds, [4, 8, 9, 10, 11, 12]);
        // In slow start an acknowledgement for four segments adds one segment, or L = 2.
        for (growth, grown) in [(Growth::Acks, 3), (Growth::Bytes, 4)] {
            let mut it = AimdParams { growth, ..PARAMS }.start(1_000);
            it.on_ack(Time::ZERO, &ack(4 * S));
            assert_eq!(it.window(), grown * S);
        }
    }

    /// Tests RFC 5681 section 3.1: equation 3 adds one segment per round trip and never more, however many segments the
    /// window has.
    #[test]
    fn each_round_trip_adds_a_segment_whatever_the_window_is() {
        for (segment, segments) in
            [(1_460, 2), (1_460, 729), (1_460, 1_459), (1_460, 3_000), (536, 100_000), (9_000, 70)]
        {
            let initial = Amount::Frames(segments);
            let mut it = AimdParams { initial, threshold: Some(1), ..PARAMS }.start(segment);
            let one = u64::from(segment);
            let (start, mut least) = (it.window(), 0.0);
            for trip in 1..=50 {
                let before = it.window();
                (0..before / one).for_each(|_| it.on_ack(Time::ZERO, &ack(one)));
                // The window grows while it is acknowledged, and the part below whole segments is not acknowledged
                // here. The growth is therefore less than a segment by at most 2 / window.
                least += (1.0 - 2.0 * one as f64 / before as f64) * one as f64;
                let (last, all) = (it.window() - before, it.window() - start);
                assert!(last <= one, "{segments} segments: {last} B in a round trip");
                assert!(all as f64 >= least.floor(), "{segments} segments: {all} B in {trip} round trips");
            }
        }
    }

    #[test]
    fn a_loss_halves_what_was_in_flight_and_a_timeout_starts_anew() {
        let mut it = PARAMS.start(1_000);
        let loss = |kind, segments| Loss { kind, in_flight: segments * S };
        it.on_loss(Time::ZERO, &loss(LossKind::FastRecovery, 10));
        assert_eq!((it.window(), it.is_in_slow_start()), (5 * S, false));
        it.on_loss(Time::ZERO, &loss(LossKind::Timeout, 5));
        assert_eq!((it.window(), it.threshold), (S, 2_500));
        it.on_loss(Time::ZERO, &loss(LossKind::RepeatedTimeout, 1));
        assert_eq!((it.window(), it.threshold), (S, 2_500));
        it.on_loss(Time::ZERO, &loss(LossKind::Timeout, 1));
        assert_eq!(it.threshold, 2 * S);
        assert_eq!([round(&mut it), round(&mut it)], [2 * S, 2_900]);
        it.on_recovered(Time::ZERO, 0);
        assert_eq!(it.window(), 2 * S);
    }

    #[test]
    fn marks_halve_the_window_and_idle_time_closes_it() {
        let mut it = AimdParams { initial: Amount::Frames(10), ..PARAMS }.start(1_000);
        it.on_mark(Time::ZERO);
        assert_eq!(it.window(), 5 * S);
        (0..3).for_each(|_| it.on_mark(Time::ZERO));
        assert_eq!(it.window(), 2 * S);
        (0..30).for_each(|_| {
            round(&mut it);
        });
        assert!(it.window() > 20 * S);
        it.on_idle(Time::ZERO);
        assert_eq!(it.window(), 10 * S);
    }

    #[test]
    fn it_grows_neither_on_echoes_nor_during_repairs_nor_unused() {
        for (n, still) in [
            Ack { ece: true, ..ack(S) },
            Ack { recovering: true, ..ack(S) },
            Ack { window_used: false, ..ack(S) },
        ]
        .into_iter()
        .enumerate()
        {
            for grows_unused in [false, true] {
                let mut it = AimdParams { grows_unused, ..PARAMS }.start(1_000);
                it.on_ack(Time::ZERO, &still);
                assert_eq!(it.window() > 2 * S, grows_unused && n == 2);
            }
        }
        assert!(AimdParams { initial: Amount::Bytes(999), ..PARAMS }.check(1_000).is_err());
        assert!(PARAMS.check(1_000).is_ok());
    }
}
