//! DRR-AWC: deficit round robin with adaptive (active) weight control.
//!
//! Small frames have a larger share of bytes that a switch accounts in addition to the payload, so queues of small
//! frames get less throughput with equal quanta. DRR-AWC adjusts the quantum of each queue in every interval to the
//! sizes of the frames that arrived, to equalise throughput: quantum = W · largest frame, where W = Σ over bins
//! f(size) · frames in bin / all frames.
//!
//! There are three rules for W. *Published*: the two linear formulas of Hagen, one for frames up to 146 B and one for
//! longer frames, fitted to one switch and competing frames of 1522 bytes. *Analytic*: the same histogram, with f
//! computed from the accounted and the counted length. *Learned* (ours): requires neither a fit nor a model of the
//! switch. Queues that were active for the whole interval had the same number of rounds, so quantum · rounds is the
//! number of accounted bytes. The weight is accounted bytes divided by counted bytes, whatever the accounted length
//! includes: preamble, internal headers, memory cells. The additional bytes per frame are fitted to all such queues by
//! least squares, and applied to queues that were not active all the time.
//!
//! Gaps of the source: frames above 1024 B have no bin, so there is a sixth bin from 1025 B to the largest frame. An
//! empty histogram keeps the weight. The listing's `int totalWeight` truncates weights from 0.97 to 1.73 to 0 or 1,
//! which results in plain DRR. `total_weight = "integer"` reproduces this, and keeps the weight where it would be 0.
//! By default the weight is floating point (sums and products of exact counts, which are identical on every machine,
//! outside the scheduling decision). The controller is a pure function of counters ([`Histogram::weight`],
//! [`Learner::weights`]) that the management software of any switch can call.
//!
//! Source: Hagen 2012 §6.3, Algorithm 1, formulas 6.1 and 6.2; the learned rule and the sixth bin are ours (OC).
//!
//! Not modelled: the time to read the counters; a switch that counts transmitted instead of received frames (the
//! learned rule counts transmitted frames, the others received frames).

use crate::accounted_length::accounted;
use crate::drr::{self, Rounds};
use crate::learner::{Counters, Learner};
use crate::{Configuration, Discipline, LatencyRate, PortFacts, PortLength, Weights};
use frame::HEADER_BYTES;
use keys::{Remark, Remarks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Time};

/// Number of frame-size bins.
pub const BINS: usize = 6;
/// Upper edges of the bins in bytes; the sixth bin ends at the largest frame.
const EDGES: [u32; BINS - 1] = [68, 128, 256, 512, 1024];
/// Largest frame size to which formula 6.1 applies.
const PIVOT: u32 = 146;
const HEADER: f64 = HEADER_BYTES as f64;

accounted! {
    /// Keys of deficit round robin with adaptive weights.
    pub struct DrrAwcParams accounts wire {
        /// Formula of the weights: "published" (formulas 6.1 and 6.2 of Hagen 2012), "analytic" (from accounted and counted lengths) or "learned" (from the frames sent; Penstock's own). Default: "published".
        pub formula: Formula = Formula::Published,
        /// Interval over which frames are counted before weights change. A time with unit, above 0. Default: "1 ms" (Hagen 2012: 60 s).
        pub interval: Time = Time::from_ms(1),
        /// Weighting of frame sizes: by their "frames" or their "bytes". Default: "frames" (Hagen 2012, Algorithm 1).
        pub mix: Mix = Mix::Frames,
        /// Weight of frames above 1024 B, which the paper does not define: "formula" (6.2) or "one"; "published" only. Default: "formula".
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "formula"))]
        pub top_bin: Option<TopBin> = None,
        /// Size that represents a bin of sizes: its "upper_edge" or its "middle"; "published" only. Default: "upper_edge".
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "upper_edge"))]
        pub representative: Option<Representative> = None,
        /// Type of the sum of weights: "fraction", or "integer", which truncates each sum, as in the listing; "published" only. Default: "fraction".
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "fraction"))]
        pub total_weight: Option<TotalWeight> = None,
        /// Quantity that is shared equally: "payload" (L - 18) or "frame" (L); "analytic" and "learned" only. Default: "payload" (goodput).
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "payload"))]
        pub metric: Option<Metric> = None,
        /// Target shares, one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal".
        pub weights: Weights = Weights::Equal,
    }
}

/// Formula of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Formula {
    /// Formulas 6.1 and 6.2 of Hagen 2012.
    Published,
    /// From accounted and counted lengths.
    Analytic,
    /// From the frames sent.
    Learned,
}

/// Derivation of a queue's weight from its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightRule {
    /// Formulas 6.1 and 6.2 of Hagen 2012.
    Published {
        /// Weight of the frames in the sixth bin.
        top_bin: TopBin,
        /// The size that represents a bin.
        representative: Representative,
        /// The type of the sum.
        total: TotalWeight,
    },
    /// Ratio (accounted / counted) of a frame over that of the largest frame, both computed from L. Accounted is L plus
    /// the overhead of the link.
    Analytic {
        /// The quantity to equalise.
        metric: Metric,
    },
    /// Weights learned from measured counters.
    Learned {
        /// The quantity to equalise.
        metric: Metric,
    },
}

impl WeightRule {
    /// The rule of Hagen 2012, with its gaps filled.
    pub const PUBLISHED: WeightRule =
        WeightRule::Published { top_bin: TOP_BIN, representative: REPRESENTATIVE, total: TOTAL };

    /// Returns the ideal weight of frames of one size.
    fn weight(self, bytes: u32, largest: u32, overhead: u32, top: bool) -> f64 {
        match self {
            WeightRule::Published { top_bin: TopBin::One, .. } if top => 1.0,
            WeightRule::Published { .. } => published(bytes),
            WeightRule::Analytic { metric } | WeightRule::Learned { metric } => {
                let cost = |bytes: u32| {
                    let bytes = f64::from(bytes);
                    (bytes + f64::from(overhead)) / metric.of(1.0, bytes).max(1.0)
                };
                cost(bytes) / cost(largest)
            }
        }
    }
}

/// Weight of frames above 1024 B, which the paper does not define.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TopBin {
    /// Formula 6.2 at the largest frame: 0.976 for 1522 B.
    Formula,
    /// 1, the natural weight of the reference stream.
    One,
}

/// Size that represents a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Representative {
    /// The largest of the bin; exact for a queue of 68 B alone.
    UpperEdge,
    /// Half-way between the edges.
    Middle,
}

/// Type of the sum of weights in Algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TotalWeight {
    /// Fractions are kept.
    Fraction,
    /// Each sum is truncated to an integer.
    Integer,
}

/// Bytes of a frame of length L that count as throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// L - 18 per frame.
    Payload,
    /// L per frame.
    Frame,
}

impl Metric {
    pub(crate) fn of(self, frames: f64, bytes: f64) -> f64 {
        match self {
            Metric::Payload => bytes - HEADER * frames,
            Metric::Frame => bytes,
        }
    }
}

/// Defaults of the keys that only some formulas use.
const TOP_BIN: TopBin = TopBin::Formula;
const REPRESENTATIVE: Representative = Representative::UpperEdge;
const TOTAL: TotalWeight = TotalWeight::Fraction;
const METRIC: Metric = Metric::Payload;

/// Weighting of frame sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// Their frames.
    Frames,
    /// Their bytes.
    Bytes,
}

/// Returns the weight by formula 6.1 (up to 146 B) or 6.2 (above).
fn published(bytes: u32) -> f64 {
    let x = f64::from(bytes);
    if bytes <= PIVOT { -0.008 * x + 2.276 } else { -8.555e-5 * x + 1.106 }
}

/// The statistics of one queue: frames and bytes by frame size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Frames per bin: up to 68, 128, 256, 512, 1024 B, and above.
    pub frames: [u64; BINS],
    /// Bytes per bin.
    pub bytes: [u64; BINS],
}

impl Histogram {
    /// Counts a frame.
    #[inline]
    pub fn add(&mut self, bytes: u32) {
        let bin = EDGES.iter().take_while(|&&edge| bytes > edge).count();
        self.frames[bin] += 1;
        self.bytes[bin] += u64::from(bytes);
    }
    /// Returns W of Algorithm 1, or `None` if nothing was counted or if integer arithmetic makes W 0, which is not a
    /// weight. `largest` is the largest frame in bytes; `overhead` is the number of bytes around each frame on the
    /// link.
    pub fn weight(&self, rule: WeightRule, mix: Mix, largest: u32, overhead: u32) -> Option<f64> {
        let counts = match mix {
            Mix::Frames => &self.frames,
            Mix::Bytes => &self.bytes,
        };
        let total: u64 = counts.iter().sum();
        let each = counts.iter().enumerate().map(|(bin, &count)| {
            rule.weight(representative(rule, bin, largest), largest, overhead, bin == BINS - 1) * count as f64
        });
        if total == 0 {
            return None;
        }
        if matches!(rule, WeightRule::Published { total: TotalWeight::Integer, .. }) {
            let sum = each.fold(0.0, |sum, one| (sum + one / total as f64).trunc());
            return (sum > 0.0).then_some(sum);
        }
        Some(each.sum::<f64>() / total as f64)
    }
}

fn representative(rule: WeightRule, bin: usize, largest: u32) -> u32 {
    let upper = EDGES.get(bin).copied().unwrap_or(largest).min(largest);
    match rule {
        WeightRule::Published { representative: Representative::Middle, .. } if bin > 0 => {
            (EDGES[bin - 1] + 1 + upper) / 2
        }
        _ => upper,
    }
}

impl DrrAwcParams {
    /// Returns the rule for weights.
    pub fn rule(&self) -> WeightRule {
        let metric = self.metric.unwrap_or(METRIC);
        match self.formula {
            Formula::Published => WeightRule::Published {
                top_bin: self.top_bin.unwrap_or(TOP_BIN),
                representative: self.representative.unwrap_or(REPRESENTATIVE),
                total: self.total_weight.unwrap_or(TOTAL),
            },
            Formula::Analytic => WeightRule::Analytic { metric },
            Formula::Learned => WeightRule::Learned { metric },
        }
    }
    /// Checks that each given key applies to the formula.
    fn check_formula(&self) -> Result<(), Remark> {
        let published = self.formula == Formula::Published;
        let all = [
            ("metric", published && self.metric.is_some(), "\"analytic\" and \"learned\""),
            ("top_bin", !published && self.top_bin.is_some(), "\"published\""),
            ("total_weight", !published && self.total_weight.is_some(), "\"published\""),
            ("representative", !published && self.representative.is_some(), "\"published\""),
        ];
        match all.into_iter().find(|&(_, idle, _)| idle) {
            Some((key, _, only)) => Err(Remark::about(
                key,
                format!("{key} has no meaning for this formula"),
                format!("expected it with formula {only} only"),
            )),
            None => Ok(()),
        }
    }
    fn shares(&self, port: &PortFacts) -> Vec<f64> {
        let weights = self.weights.of(port.queues);
        let least = weights.iter().copied().min().unwrap_or(1);
        weights.iter().map(|&weight| f64::from(weight) / f64::from(least)).collect()
    }
    /// Returns the quantum in bytes for a weight of one and equal shares.
    fn base(&self, port: &PortFacts) -> f64 {
        match self.formula {
            Formula::Published => f64::from(port.largest_frame),
            _ => f64::from(port.largest(self.accounted_length())),
        }
    }
}

impl Configuration for DrrAwcParams {
    type Machine = DrrAwc;

    fn complete(&mut self) {
        match self.formula {
            Formula::Published => {
                self.top_bin.get_or_insert(TOP_BIN);
                self.representative.get_or_insert(REPRESENTATIVE);
                self.total_weight.get_or_insert(TOTAL);
            }
            Formula::Analytic | Formula::Learned => {
                self.metric.get_or_insert(METRIC);
            }
        }
    }
    fn check(&self, port: &PortFacts) -> Remarks {
        self.accounted_length().check()?;
        self.weights.check(port.queues)?;
        self.check_formula()?;
        if self.interval == Time::ZERO {
            let help = "it has to be longer than a round of all queues";
            return Err(Remark::about("interval", "the interval of drr_awc is zero", help));
        }
        let mut warnings = Vec::new();
        let round = port.wire_time(port.largest_frame) * (u64::from(port.queues) * 10);
        if self.interval < round {
            let interval = self.interval;
            let message = format!(
                "the interval of drr_awc ({interval}) is shorter than ten rounds of all queues ({round}): weights follow single frames"
            );
            warnings.push(Remark::about("interval", message, ""));
        }
        if self.formula == Formula::Published && port.largest_frame > 1522 {
            let message = "the published weights were fitted to frames of at most 1522 B";
            warnings.push(Remark::new(message, format!("the largest here is {} B", port.largest_frame)));
        }
        Ok(warnings)
    }
    fn start(&self, port: &PortFacts) -> DrrAwc {
        let base = self.base(port);
        let shares: Vec<f64> = self.shares(port).iter().map(|share| share * base).collect();
        let quanta = shares.iter().map(|&quantum| DrrAwc::scaled(quantum)).collect();
        DrrAwc {
            rounds: Rounds::new(quanta, DrrAwc::SCALE),
            params: self.clone(),
            length: self.accounted_length().at(port),
            largest: port.largest_frame,
            overhead: port.overhead,
            bases: shares,
            statistics: vec![Statistics::default(); port.queues as usize],
            learner: Learner::default(),
            due: self.interval,
        }
    }
    /// Returns the bound with the smallest possible weight for this queue and the largest for all others.
    fn latency_rate_bound(&self, queue: u32, port: &PortFacts) -> Option<LatencyRate> {
        let rule = self.rule();
        if matches!(rule, WeightRule::Learned { .. }) {
            return None;
        }
        let weight = |bin| {
            rule.weight(
                representative(rule, bin, port.largest_frame),
                port.largest_frame,
                port.overhead,
                bin == BINS - 1,
            )
        };
        let (least, most) = (0..BINS).map(weight).fold((1.0f64, 1.0f64), |(a, b), w| (a.min(w), b.max(w)));
        let quantum = |(other, share): (usize, &f64)| {
            let weight = if other == queue as usize { least } else { most };
            share * self.base(port) * weight
        };
        let quanta: Vec<f64> = self.shares(port).iter().enumerate().map(quantum).collect();
        Some(drr::bound(&quanta, queue, self.accounted_length(), port))
    }
}

/// The counters of a queue in the current interval.
#[derive(Clone, Copy, Debug, Default)]
struct Statistics {
    received: Histogram,
    frames_sent: u64,
    bytes_sent: u64,
    /// True if the queue was inactive at some time in the interval.
    paused: bool,
}

/// The state of DRR-AWC: deficit round robin, and the counters that set its quanta.
#[derive(Clone, Debug)]
pub struct DrrAwc {
    rounds: Rounds,
    params: DrrAwcParams,
    length: PortLength,
    largest: u32,
    overhead: u32,
    /// Quantum in bytes for a weight of one, by queue.
    bases: Vec<f64>,
    statistics: Vec<Statistics>,
    learner: Learner,
    /// End of the current interval.
    due: Time,
}

impl DrrAwc {
    /// Quanta and deficits are kept in units of 1/256 B.
    const SCALE: u64 = 256;

    fn scaled(quantum: f64) -> u64 {
        (quantum * Self::SCALE as f64).round() as u64
    }
    /// Returns the next queue, and the accounted bytes of its head.
    pub(crate) fn front(&mut self) -> Option<(u32, u32)> {
        let queue = self.rounds.pick()?;
        Some((queue, self.rounds.head(queue)))
    }
    /// Returns the quantum of a queue in bytes.
    pub fn quantum(&self, queue: u32) -> f64 {
        self.rounds.quantum(queue) as f64 / Self::SCALE as f64
    }
    /// Sets new weights if the interval is over.
    #[inline]
    fn tick(&mut self, now: Time) {
        if now >= self.due {
            self.adapt(now);
        }
    }
    #[cold]
    fn adapt(&mut self, now: Time) {
        let weights: Vec<Option<f64>> = match self.params.rule() {
            WeightRule::Learned { metric } => {
                let counted = (0..).zip(&self.statistics).map(|(queue, it)| Counters {
                    frames: it.frames_sent,
                    bytes: it.bytes_sent,
                    quantum: self.quantum(queue),
                    always_active: !it.paused,
                });
                let counters: Vec<Counters> = counted.collect();
                self.learner.weights(metric, &counters)
            }
            rule => {
                let weight =
                    |it: &Statistics| it.received.weight(rule, self.params.mix, self.largest, self.overhead);
                self.statistics.iter().map(weight).collect()
            }
        };
        for (queue, weight) in (0..).zip(weights) {
            if let Some(weight) = weight {
                self.rounds.set_quantum(queue, Self::scaled(weight * self.bases[queue as usize]));
            }
            let paused = !self.rounds.is_active(queue);
            self.statistics[queue as usize] = Statistics { paused, ..Statistics::default() };
        }
        let interval = self.params.interval;
        let late = (now - self.due).ps() / interval.ps();
        self.due = self.due.saturating_add(interval * (late + 1));
    }
}

impl Discipline for DrrAwc {
    #[inline]
    fn arrive(&mut self, queue: u32, bytes: u32, now: Time) {
        self.tick(now);
        self.statistics[queue as usize].received.add(bytes);
    }
    #[inline]
    fn activate(&mut self, queue: u32, head: u32, now: Time) {
        self.tick(now);
        self.statistics[queue as usize].paused |= now + self.params.interval > self.due;
        self.rounds.activate(queue, self.length.of(head));
    }
    #[inline]
    fn deactivate(&mut self, queue: u32, now: Time) {
        self.tick(now);
        self.statistics[queue as usize].paused = true;
        self.rounds.deactivate(queue);
    }
    #[inline]
    fn pick(&mut self, _now: Time) -> Option<u32> {
        self.rounds.pick()
    }
    #[inline]
    fn sent(&mut self, queue: u32, bytes: u32, now: Time) {
        self.tick(now);
        let statistics = &mut self.statistics[queue as usize];
        statistics.frames_sent += 1;
        statistics.bytes_sent += u64::from(bytes);
        self.rounds.sent(queue, self.length.of(bytes));
    }
    #[inline]
    fn completed(&mut self, queue: u32, next: Option<u32>, now: Time) {
        self.tick(now);
        self.statistics[queue as usize].paused |= next.is_none();
        self.rounds.completed(queue, next.map(|head| self.length.of(head)));
    }
    fn replace_head(&mut self, queue: u32, head: u32, _now: Time) {
        self.rounds.set_head(queue, self.length.of(head));
    }
    fn on_link_rate(&mut self, _rate: BitRate, _now: Time) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AccountedLength;
    use crate::testbed::{port, saturate};

    fn histogram(frames: [u64; BINS]) -> Histogram {
        Histogram { frames, bytes: [0; BINS] }
    }
    fn published_weight(frames: [u64; BINS]) -> Option<f64> {
        histogram(frames).weight(WeightRule::PUBLISHED, Mix::Frames, 1522, 20)
    }

    #[test]
    fn formulas_at_the_sizes_of_the_paper() {
        let expected = [
            (68, 1.732),
            (128, 1.252),
            (146, 1.108),
            (256, 1.084),
            (512, 1.062),
            (1024, 1.018),
            (1522, 0.976),
        ];
        for (bytes, weight) in expected {
            assert!((published(bytes) - weight).abs() < 5e-4, "{bytes}: {}", published(bytes));
        }
    }

    #[test]
    fn golden_vector_8() {
        let weight = published_weight([500, 300, 100, 50, 50, 0]).unwrap();
        assert!((weight - 1.45404).abs() < 1e-5 && (weight * 1522.0 - 2213.0).abs() < 0.1, "{weight}");
    }

    #[test]
    fn bins_and_what_the_paper_leaves_open() {
        let mut sizes = Histogram::default();
        for bytes in [64, 68, 69, 128, 129, 256, 257, 512, 513, 1024, 1025, 9216] {
            sizes.add(bytes);
        }
        assert_eq!(sizes.frames, [2; BINS]);
        assert_eq!(published_weight([0; BINS]), None);
        let top = |top_bin| {
            let rule =
                WeightRule::Published { top_bin, representative: Representative::Middle, total: TOTAL };
            histogram([0, 0, 0, 0, 0, 9]).weight(rule, Mix::Frames, 1522, 20)
        };
        assert_eq!(top(TopBin::One), Some(1.0));
        assert!((top(TopBin::Formula).unwrap() - published(1273)).abs() < 1e-12);
    }

    #[test]
    fn analytic_weights_are_those_of_the_derivation() {
        // Values of 1/r_p and 1/r_f from the table in Hagen 2012.
        for (bytes, payload, frame) in
            [(64, 1.781, 1.296), (68, 1.717, 1.277), (256, 1.131, 1.064), (1024, 1.012, 1.006)]
        {
            let weight = |metric| WeightRule::Analytic { metric }.weight(bytes, 1522, 20, false);
            assert!((weight(Metric::Payload) - payload).abs() < 1e-3, "{bytes}");
            assert!((weight(Metric::Frame) - frame).abs() < 1e-3, "{bytes}");
        }
    }

    fn counters(frames: u64, size: u64, accounted: f64, rounds: f64) -> Counters {
        Counters {
            frames,
            bytes: frames * size,
            quantum: frames as f64 * accounted / rounds,
            always_active: true,
        }
    }

    #[test]
    fn the_learner_finds_the_line_overhead() {
        let mut learner = Learner::default();
        let idle = Counters { always_active: false, ..counters(10, 256, 1.0, 1.0) };
        let weights = learner.weights(
            Metric::Payload,
            &[counters(7100, 68, 88.0, 400.0), counters(405, 1522, 1542.0, 400.0), idle],
        );
        assert!((learner.per_frame.unwrap() - 20.0).abs() < 1e-6);
        let ratio = |a: usize, b: usize| weights[a].unwrap() / weights[b].unwrap();
        assert!((ratio(0, 1) - (88.0 / 50.0) / (1542.0 / 1504.0)).abs() < 1e-9);
        assert!((ratio(2, 1) - (276.0 / 238.0) / (1542.0 / 1504.0)).abs() < 1e-9);
    }

    #[test]
    fn the_learner_keeps_what_it_knows_when_queues_are_alike() {
        let mut learner = Learner { per_frame: Some(20.0) };
        let weights = learner
            .weights(Metric::Payload, &[counters(100, 256, 276.0, 9.0), counters(300, 256, 276.0, 9.0)]);
        assert_eq!(learner.per_frame, Some(20.0));
        assert!((weights[0].unwrap() - weights[1].unwrap()).abs() < 1e-9);
        assert_eq!(
            learner.weights(
                Metric::Payload,
                &[Counters { frames: 0, bytes: 0, quantum: 1.0, always_active: true }]
            ),
            [None]
        );
    }

    /// Returns Jain's fairness index of the payload throughputs after the weights have settled.
    fn jain(params: &DrrAwcParams, sizes: &[u32; 2], port: &PortFacts) -> f64 {
        let mut awc = params.start(port);
        saturate(&mut awc, port, sizes, Time::from_ms(5));
        // `saturate` restarts its clock at zero, so the weights are frozen.
        awc.due = Time::NEVER;
        let sent = saturate(&mut awc, port, sizes, Time::from_ms(20));
        let [a, b] = [0, 1].map(|queue| (sent[queue] * u64::from(sizes[queue] - 18)) as f64);
        (a + b).powi(2) / (2.0 * (a * a + b * b))
    }

    #[test]
    fn payload_becomes_fair_at_every_bin() {
        // Hagen 2012, Figure 6-10 (H6-10).
        for formula in [Formula::Published, Formula::Analytic, Formula::Learned] {
            for size in [68, 128, 256, 512, 1024] {
                let params = DrrAwcParams { formula, ..DrrAwcParams::default() };
                let jain = jain(&params, &[size, 1522], &port(2));
                assert!(jain > 0.999, "{formula:?} at {size} B: {jain}");
            }
        }
    }

    #[test]
    fn only_the_learned_rule_is_fair_where_the_fit_never_was() {
        // A switch with cells of 208 B and jumbo frames.
        let accounted = AccountedLength { cell: 208, ..AccountedLength::FRAME };
        let port = PortFacts { largest_frame: 9216, ..port(2) };
        let fairness =
            |formula| jain(&DrrAwcParams { formula, ..DrrAwcParams::by(accounted) }, &[220, 9216], &port);
        let learned = fairness(Formula::Learned);
        let published = fairness(Formula::Published);
        assert!(learned > 0.9999 && published < 0.97, "learned {learned}, published {published}");
    }

    #[test]
    fn weights_change_when_the_interval_is_over() {
        let mut awc = DrrAwcParams::default().start(&port(2));
        awc.arrive(0, 68, Time::ZERO);
        awc.arrive(0, 68, Time::from_us(999));
        assert_eq!(awc.quantum(0), 1522.0);
        awc.arrive(1, 1522, Time::from_us(1000));
        assert!((awc.quantum(0) - 1.732 * 1522.0).abs() < 0.01);
        assert_eq!(awc.quantum(1), 1522.0);
        // An interval without frames has no effect.
        awc.arrive(1, 1522, Time::from_ms(7));
        assert!((awc.quantum(0) - 1.732 * 1522.0).abs() < 0.01);
        assert!((awc.quantum(1) - 1522.0 * published(1522)).abs() < 0.01);
        assert_eq!(awc.due, Time::from_ms(8));
    }
}
