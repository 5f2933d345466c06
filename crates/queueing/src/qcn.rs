//! Quantised congestion notification (QCN): switches send congestion feedback to sources, which reduce their rate.
//!
//! The switch part is the congestion point, a queue manager. It samples one frame per interval, counted in bytes. Qoff
//! is the excess of the queue length over the set point, Qdelta its growth since the last sample, and the feedback is
//! Fb = -(Qoff + w Qdelta). If Fb is negative, the source of the frame gets a congestion notification message (CNM)
//! with |Fb| quantised to six bits. The more severe the congestion, the shorter is the next interval. Or (`sampling`)
//! each frame is sampled with a probability that depends on the congestion (QCN paper; Hagen, section 2.1.3).
//!
//! A congestion point belongs to a queue or to a port. That of a port samples the frames of all its queues, regardless
//! of priority, and measures their sum. Hagen, section 7.6, compares it with targeted PFC, which acts per priority.
//!
//! The host part is the reaction point, which controls a rate limiter. A CNM cuts the current rate by Gd |Fb|, at most
//! 1/2; the rate before the cut becomes the target rate. A byte counter and a timer divide recovery into cycles. Each of
//! the first F cycles (fast recovery) moves the current rate halfway to the target rate. While one counter is past F
//! (active increase), each cycle also raises the target rate by R_AI. When both are (hyper-active increase), the i-th
//! cycle raises it by i R_HAI. A reaction point at line rate ends once its backlog is sent.
//!
//! Source: IEEE 802.1Q-2018, clauses 30 to 32 (802.1Qau), defaults of its MIB; R. Pan, B. Prabhakar and A. Laxmikantha,
//! "QCN: quantized congestion notification", 2007, and the pseudo-code of 802.1au, revision 2, for the table of
//! intervals and the jitter; Hagen 2012, sections 2.1.3 and 7.1. Choices: the first interval is that without
//! congestion; frames dropped at a buffer limit are sampled too; rates round up, so that the line rate is reached.
//!
//! Stability: with N sources at the queue, the cut after one sample removes w Gd 63 (sample base) / (Qeq (2w + 1)) / N
//! times the excess load. The loop oscillates if this factor is 2 or more (warning for two sources).
//!
//! A CNM also carries the congestion point, Qoff and Qdelta in units of 64 B, and of the sampled frame the priority,
//! the destination, the CN-TAG and the first octets. CN-TAGs and their domain: see `congestion_domain`.
//!
//! Not modelled: the maximum number of reaction points per port.

use crate::ManagerSpec;
use crate::bcn::Samples;
use crate::checks::{above_zero, least_and_most, message_priority, overshoots, share, within};
use crate::manager::{
    Configuration, Counts, Departures, Fill, FrameFacts, LinkFacts, Measures, QueueManager, Report, Scope,
    Verdict,
};
use crate::quiet::Quiet;
use crate::rate_control::{Feedback, RateConfiguration, RateControl};
use frame::Tag;
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Or, Time, Unlimited};

/// Maximum feedback: six bits.
const MOST: u64 = 63;
/// Distance between two samples as a fraction of the sample base, by the three highest bits of the feedback. At the
/// default base of 150 kB, 1 % to 8 % of full frames are sampled.
const SAMPLE: [(u64, u64); 8] = [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (43, 300), (37, 300)];

/// Keys of a congestion point of QCN.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CongestionPointParams {
    /// Target length of the queue. A size with unit, at least "1 B". Default: "26000 B" (cpQSp of the MIB).
    pub set_point: Bytes,
    /// Weight of the growth of the queue relative to its length (w). A number, 0 to 1024. Default: 2 (cpWeight 1: 2 to this power).
    #[schemars(range(min = 0.0, max = 1024.0))]
    pub weight: f64,
    /// Bytes between samples while there is no congestion. A size with unit, at least "1 B". Default: "150000 B" (cpSampleBase).
    pub sample_base: Bytes,
    /// Sampling of frames: "regular" (at an interval in bytes, IEEE 802.1Q) or "random" (each frame independently, with the probability frame length / interval; Hagen 2012, section 2.1.3). The interval depends on the congestion when the frame arrives. Default: "regular".
    pub sampling: Samples,
    /// Jitter of the sampling interval, in either direction, as a fraction. A number, 0 to 1 (exclusive). Default: 0.15.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub jitter_share: f64,
    /// Priority of the congestion messages. A whole number, 0 to 7. Default: 7 (a choice: ahead of the congested traffic).
    #[schemars(range(min = 0, max = 7))]
    pub message_priority: u32,
    /// Maximum number of octets of the sampled frame in a message, starting at its EtherType field. A size with unit, "0 B" to "64 B". Default: "0 B" (cpMinHeaderOctets).
    pub header_length: Bytes,
    /// If true, frames without a CN-TAG cause messages too. Default: true (switch manuals document both; with false, sources outside a congestion notification domain get no feedback).
    pub answer_untagged: bool,
    /// Scope of a congestion point: "queue" (one for each queue, as in IEEE 802.1Q), or "port" (one for all queues of a port: it samples frames of every priority, and its queue length is the sum over the queues; Hagen 2012, section 7.6). Default: "queue".
    pub scope: Scope,
    /// Frames included in the queue length: those that wait ("without_frame"), or also the one being enqueued ("with_frame"). Default: "with_frame".
    pub counts: Counts,
}

impl Default for CongestionPointParams {
    fn default() -> CongestionPointParams {
        CongestionPointParams {
            set_point: Bytes::new(26_000),
            weight: 2.0,
            sample_base: Bytes::new(150_000),
            sampling: Samples::Regular,
            jitter_share: 0.15,
            message_priority: 7,
            header_length: Bytes::new(0),
            answer_untagged: true,
            scope: Scope::Queue,
            counts: Counts::WithFrame,
        }
    }
}

impl Configuration for CongestionPointParams {
    type Machine = CongestionPoint;

    fn check(&self) -> Result<(), Remark> {
        above_zero("set_point", self.set_point)?;
        above_zero("sample_base", self.sample_base)?;
        within("weight", self.weight, 0.0, 1024.0)?;
        share("jitter_share", self.jitter_share)?;
        if self.header_length > Bytes::new(64) {
            let message = format!("{} of the sampled frame", self.header_length);
            let help = "expected \"0 B\" to \"64 B\" (IEEE 802.1Q clause 33)";
            return Err(Remark::about("header_length", message, help));
        }
        message_priority(self.message_priority)
    }
    fn header_octets(&self) -> u8 {
        self.header_length.get() as u8
    }
    fn unused(&self) -> Vec<Remark> {
        Unused::of(self, &CongestionPointParams::default())
            .unless(self.sampling == Samples::Regular, "`sampling = \"regular\"`", &["jitter_share"])
            .remarks()
    }
    fn set_point(&self) -> Option<Bytes> {
        Some(self.set_point)
    }
    fn measures(&self) -> Measures {
        match self.scope {
            Scope::Port => Measures::Port,
            Scope::Queue => Measures::Queue,
        }
    }
    fn message_priority(&self) -> Option<u8> {
        Some(self.message_priority as u8)
    }
    fn start(&self, _link: &LinkFacts) -> CongestionPoint {
        CongestionPoint { params: *self, before: 0, until_sample: None }
    }
}

/// The congestion point of a queue.
#[derive(Clone, Debug)]
pub struct CongestionPoint {
    params: CongestionPointParams,
    /// Length of the queue in bytes at the last sample.
    before: u64,
    /// Bytes left to enter before the next sample; `None` before the first frame.
    until_sample: Option<i64>,
}

impl CongestionPoint {
    /// Returns |Fb| in six bits; 0 if there is no congestion.
    fn feedback(&self, length: u64) -> u64 {
        let (set_point, weight) = (self.params.set_point.get() as f64, self.params.weight);
        let (offset, delta) = (length as f64 - set_point, length as f64 - self.before as f64);
        let most = set_point * (2.0 * weight + 1.0);
        ((offset + weight * delta).clamp(0.0, most) * MOST as f64 / most) as u64
    }

    /// Returns the mean number of bytes to the next sample.
    fn mean_distance(&self, feedback: u64) -> u64 {
        let (part, whole) = SAMPLE[feedback as usize / 8];
        self.params.sample_base.get() * part / whole
    }

    /// Draws the number of bytes to the next sample.
    fn distance(&self, feedback: u64, random: &mut impl FnMut() -> u64) -> i64 {
        jittered(self.mean_distance(feedback), self.params.jitter_share, random()) as i64
    }

    /// Counts a frame. Returns true if it exceeds the distance to the next sample.
    fn is_beyond(&mut self, bytes: u16, random: &mut impl FnMut() -> u64) -> bool {
        let left = match self.until_sample {
            Some(left) => left,
            None => self.distance(0, random),
        } - i64::from(bytes);
        self.until_sample = Some(left);
        left < 0
    }
}

impl QueueManager for CongestionPoint {
    fn on_enqueue(
        &mut self,
        _now: Time,
        fill: &Fill,
        frame: FrameFacts,
        random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        let by_distance = self.params.sampling == Samples::Regular;
        if by_distance && !self.is_beyond(frame.bytes, random) {
            return Verdict::Pass;
        }
        let mut queue = fill.queue;
        if self.params.counts == Counts::WithFrame {
            queue.add(frame.bytes);
        }
        let feedback = self.feedback(queue.bytes);
        if by_distance {
            self.until_sample = Some(self.distance(feedback, random));
        } else {
            // A frame longer than the mean distance is always sampled.
            let (length, mean) = (u64::from(frame.bytes), self.mean_distance(feedback));
            if length < mean && random() >= u64::MAX / mean * length {
                return Verdict::Pass;
            }
        }
        let before = std::mem::replace(&mut self.before, queue.bytes);
        let answers = self.params.answer_untagged || matches!(frame.tag, Some(Tag::Flow(_)));
        if feedback == 0 || !answers {
            return Verdict::Pass;
        }
        Verdict::Notify(Report::of_queue(feedback as u32, self.params.set_point.get(), queue.bytes, before))
    }

    fn departures(&self) -> Departures {
        Departures::Ignored
    }

    fn quiet(&self) -> Quiet {
        // The quiet count of one queue does not include the bytes of the others.
        if self.params.scope == Scope::Port {
            return Quiet::OF_DEPARTURES;
        }
        // The manager is quiet for the bytes to the next sample; the frame that exceeds them is sampled. If sampling is
        // random, any frame may be sampled.
        let until_sample = self.until_sample.and_then(|left| u64::try_from(left).ok());
        until_sample.map_or(Quiet::NEVER, Quiet::for_bytes)
    }

    fn on_deferred(&mut self, _frames: u64, bytes: u64) {
        self.until_sample = self.until_sample.map(|left| left - bytes as i64);
    }

    fn on_link_rate(&mut self, _rate: BitRate) {}
}

/// Keys of a reaction point of QCN.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReactionPointParams {
    /// Fraction by which each unit of feedback, of up to 63, cuts the rate (Gd). A number above 0, at most 1. Default: 0.0078125 (rpgGd: 1/128).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gain: f64,
    /// Minimum decrease factor: a cut leaves at least this fraction of the rate. A number, 0 to 1 (exclusive). Default: 0.5 (rpgMinDecFac).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub min_decrease_factor: f64,
    /// Length of a byte counter cycle; halved after `recovery_cycles` cycles. A size with unit, at least "2 B". Default: "150000 B" (rpgByteReset).
    pub byte_reset: Bytes,
    /// Length of a timer cycle; halved after `recovery_cycles` cycles. A time with unit, at least "2 ns". Default: "15 ms" (rpgTimeReset).
    pub time_reset: Time,
    /// Jitter of the cycle lengths, in either direction, as a fraction. A number, 0 to 1 (exclusive). Default: 0.15.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub jitter_share: f64,
    /// Number of cycles of fast recovery (F). A count, 1 to 100. Default: 5 (rpgThreshold).
    #[schemars(range(min = 1, max = 100))]
    pub recovery_cycles: u32,
    /// Increase of the target rate in each cycle of active increase (R_AI). A rate with unit. Default: "5 Mb/s" (rpgAiRate).
    pub active_increase: BitRate,
    /// Increase of the target rate in the first cycle of hyper-active increase (R_HAI); the i-th cycle adds i times this rate. A rate with unit. Default: "50 Mb/s" (rpgHaiRate).
    pub hyper_active_increase: BitRate,
    /// Minimum rate: cuts do not go below it. A rate with unit, above 0. Default: "5 Mb/s" (rpgMinRate).
    pub min_rate: BitRate,
    /// Maximum rate: increases do not go above it. A rate with unit, above 0; or "unlimited": the line rate. Default: "unlimited" (rpgMaxRate).
    pub max_rate: Or<BitRate, Unlimited>,
    /// If true, a second cut within the same cycle leaves the target rate unchanged (extra fast recovery). Default: true.
    pub extra_fast_recovery: bool,
    /// If true, the first cycle after a cut divides the target rate by eight if it is more than ten times the current rate. Default: true.
    pub lower_target: bool,
}

impl Default for ReactionPointParams {
    fn default() -> ReactionPointParams {
        ReactionPointParams {
            gain: 1.0 / 128.0,
            min_decrease_factor: 0.5,
            byte_reset: Bytes::new(150_000),
            time_reset: Time::from_ms(15),
            jitter_share: 0.15,
            recovery_cycles: 5,
            active_increase: BitRate::from_bps(5_000_000),
            hyper_active_increase: BitRate::from_bps(50_000_000),
            min_rate: BitRate::from_bps(5_000_000),
            max_rate: Or::word(),
            extra_fast_recovery: true,
            lower_target: true,
        }
    }
}

impl RateConfiguration for ReactionPointParams {
    type Machine = ReactionPoint;

    fn check(&self) -> Result<(), Remark> {
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            let help = "expected a number above 0, at most 1, like 0.0078125 (1/128)";
            return Err(Remark::about("gain", format!("a gain of {}", self.gain), help));
        }
        share("min_decrease_factor", self.min_decrease_factor)?;
        share("jitter_share", self.jitter_share)?;
        if self.byte_reset < Bytes::new(2) {
            let message = format!("cycles of {}", self.byte_reset);
            return Err(Remark::about("byte_reset", message, "expected at least \"2 B\", like \"150 kB\""));
        }
        if self.time_reset < Time::from_ns(2) {
            let message = format!("cycles of {}", self.time_reset);
            return Err(Remark::about("time_reset", message, "expected at least \"2 ns\", like \"15 ms\""));
        }
        if !(1..=100).contains(&self.recovery_cycles) {
            let message = format!("{} cycles of fast recovery", self.recovery_cycles);
            return Err(Remark::about("recovery_cycles", message, "expected 1 to 100"));
        }
        least_and_most(self.min_rate, self.max_rate)
    }
    fn doubt_with(&self, point: &ManagerSpec, _link: BitRate) -> Option<Remark> {
        let ManagerSpec::CongestionPoint(point) = point else { return None };
        let (aim, base) = (point.set_point.get() as f64, point.sample_base.get() as f64);
        let each = point.weight * MOST as f64 * base / (aim * (2.0 * point.weight + 1.0));
        overshoots("gain", self.gain, each)
    }
    fn start(&self, line: BitRate) -> ReactionPoint {
        let most = self.highest(line);
        let stages = Stages { bytes: 0, timer: 0 };
        ReactionPoint { params: *self, most, limits: most < line.bps(), active: None, stages }
    }
}

impl ReactionPointParams {
    /// Returns the maximum rate on a link of rate `line`, in bits per second.
    fn highest(&self, line: BitRate) -> u64 {
        self.max_rate.value().map_or(line.bps(), |most| most.bps().min(line.bps()))
    }
}

/// The reaction point of a limiter.
#[derive(Clone, Debug)]
pub struct ReactionPoint {
    params: ReactionPointParams,
    /// Maximum rate, in bits per second.
    most: u64,
    /// True if the maximum rate is below the rate of the link.
    limits: bool,
    /// Current rates; `None` without congestion.
    active: Option<Rates>,
    stages: Stages,
}

/// Numbers of cycles completed since the last cut, by counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stages {
    bytes: u32,
    timer: u32,
}

/// Rates in bits per second, and what remains of the current cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rates {
    current: u64,
    target: u64,
    bytes_left: i64,
    timer: Time,
}

impl ReactionPoint {
    /// Returns the target rate in bits per second; `None` without congestion.
    pub fn target(&self) -> Option<u64> {
        self.active.map(|rates| rates.target)
    }

    /// Draws the length of the next cycle of the byte counter.
    fn bytes_of_cycle(&self, random: u64) -> i64 {
        let full = self.params.byte_reset.get();
        let mean = if self.stages.bytes < self.params.recovery_cycles { full } else { full / 2 };
        jittered(mean, self.params.jitter_share, random) as i64
    }

    /// Draws the length of the next cycle of the timer.
    fn time_of_cycle(&self, random: u64) -> Time {
        let full = self.params.time_reset.ps();
        let mean = if self.stages.timer < self.params.recovery_cycles { full } else { full / 2 };
        Time::from_ps(jittered(mean, self.params.jitter_share, random).max(1))
    }

    /// Ends a cycle: raises the target rate and the current rate.
    fn increase(&mut self) {
        let Some(mut rates) = self.active else { return };
        let Stages { bytes, timer } = self.stages;
        let ReactionPointParams { recovery_cycles: threshold, lower_target, .. } = self.params;
        let gain = if bytes.max(timer) <= threshold {
            0
        } else if bytes.min(timer) > threshold {
            let times = u64::from(bytes.min(timer) - threshold);
            self.params.hyper_active_increase.bps().saturating_mul(times)
        } else {
            self.params.active_increase.bps()
        };
        // Only the first cycle after a cut may lower the target, whichever counter ends it.
        let first = bytes + timer == 1;
        if lower_target && first && rates.target / 10 > rates.current {
            rates.target = (rates.target / 8).max(rates.current);
        } else {
            rates.target = rates.target.saturating_add(gain).min(self.most);
        }
        rates.current = (rates.target + rates.current).div_ceil(2).min(self.most);
        self.active = Some(rates);
    }
}

impl RateControl for ReactionPoint {
    fn on_feedback(&mut self, now: Time, feedback: Feedback, random: &mut impl FnMut() -> u64) {
        let Feedback::Message(notice) = feedback else { return };
        let feedback = u64::from(notice.feedback).min(MOST);
        if feedback == 0 {
            return;
        }
        let fresh = Rates { current: self.most, target: self.most, bytes_left: 0, timer: Time::ZERO };
        let first = self.active.is_none();
        let mut rates = self.active.unwrap_or(fresh);
        let cycle_over = self.stages.bytes > 0 || first;
        if cycle_over || !self.params.extra_fast_recovery {
            rates.target = rates.current;
        }
        self.stages = Stages { bytes: 0, timer: 0 };
        if cycle_over {
            rates.bytes_left = self.bytes_of_cycle(random());
        }
        let factor = (1.0 - self.params.gain * feedback as f64).max(self.params.min_decrease_factor);
        let least = self.params.min_rate.bps().min(self.most);
        rates.current = ((rates.current as f64 * factor) as u64).max(least);
        rates.timer = now + self.time_of_cycle(random());
        self.active = Some(rates);
    }

    fn on_sent(&mut self, _now: Time, bytes: u16, last: bool, random: &mut impl FnMut() -> u64) {
        let Some(rates) = &mut self.active else { return };
        rates.bytes_left -= i64::from(bytes);
        if rates.bytes_left < 0 {
            self.stages.bytes += 1;
            let left = self.bytes_of_cycle(random());
            if let Some(rates) = &mut self.active {
                rates.bytes_left = left;
            }
            self.increase();
        }
        // The limiter is empty and the rate is at its maximum: the reaction point is deleted.
        if last && self.active.is_some_and(|rates| rates.current >= self.most) {
            self.active = None;
            self.stages = Stages { bytes: 0, timer: 0 };
        }
    }

    fn handle_timeout(&mut self, now: Time, random: &mut impl FnMut() -> u64) {
        if self.active.is_none_or(|rates| rates.timer > now) {
            return;
        }
        self.stages.timer += 1;
        let next = now + self.time_of_cycle(random());
        if let Some(rates) = &mut self.active {
            rates.timer = next;
        }
        self.increase();
    }

    fn on_link_rate(&mut self, line: BitRate, _now: Time) {
        self.most = self.params.highest(line);
        self.limits = self.most < line.bps();
        if let Some(rates) = &mut self.active {
            rates.current = rates.current.min(self.most);
            rates.target = rates.target.min(self.most);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.active.map(|rates| rates.timer)
    }

    fn rate(&self) -> Option<BitRate> {
        let current = self.active.map_or(self.most, |rates| rates.current);
        (self.active.is_some() || self.limits).then(|| BitRate::from_bps(current))
    }

    fn quiet(&self) -> Quiet {
        match self.active {
            None => Quiet::ALWAYS,
            // The reaction point may be deleted with the next frame.
            Some(rates) if rates.current >= self.most => Quiet::NEVER,
            // The control is quiet for the bytes of the cycle; the frame that exceeds them ends the cycle.
            Some(rates) => u64::try_from(rates.bytes_left).map_or(Quiet::NEVER, Quiet::for_bytes),
        }
    }

    fn on_deferred(&mut self, _frames: u64, bytes: u64) {
        if let Some(rates) = &mut self.active {
            rates.bytes_left -= bytes as i64;
        }
    }
}

/// Returns a number between `1 - share` and `1 + share` times the mean, determined by random bits.
fn jittered(mean: u64, share: f64, random: u64) -> u64 {
    let unit = (random >> 11) as f64 / (1u64 << 53) as f64;
    (mean as f64 * (1.0 - share + 2.0 * share * unit)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{LINK, bits, capable};
    use crate::{Deferred, Moment};
    use frame::{Notice, Occupancy};

    const LINE: BitRate = BitRate::from_gbps(10);

    fn point(before: u64) -> CongestionPoint {
        let params = CongestionPointParams { jitter_share: 0.0, ..CongestionPointParams::default() };
        CongestionPoint { before, ..params.start(&LINK) }
    }
    fn reaction(params: ReactionPointParams) -> ReactionPoint {
        ReactionPointParams { jitter_share: 0.0, ..params }.start(LINE)
    }
    fn gbps(point: &ReactionPoint) -> f64 {
        point.rate().map_or(10.0, |rate| rate.bps_f64() / 1e9)
    }
    fn notify(point: &mut ReactionPoint, feedback: u32) {
        let notice = Notice { feedback, ..Notice::default() };
        point.on_feedback(Time::ZERO, Feedback::Message(notice), &mut || 0);
    }
    /// Runs a full cycle of the byte counter with consecutive frames; more frames wait.
    fn cycle(point: &mut ReactionPoint) {
        let stage = point.stages.bytes;
        while point.stages.bytes == stage {
            point.on_sent(Time::ZERO, 1500, false, &mut || 0);
        }
    }

    #[test]
    fn feedback_of_the_golden_vectors() {
        let vectors = [
            (20_000, 15_000, 1),
            (26_000, 26_000, 0),
            (30_000, 28_000, 3),
            (60_000, 30_000, 45),
            (100_000, 50_000, 63),
        ];
        for (length, before, feedback) in vectors {
            assert_eq!(point(before).feedback(length), feedback, "{length} B after {before} B");
        }
        // A queue that shrinks fast enough is not congested, however long it is.
        assert_eq!(point(100_000).feedback(70_000), 0);
    }

    #[test]
    fn a_quiet_point_samples_the_same_frame_as_one_that_hears_of_all() {
        let interval = 3 * Quiet::ALWAYS.bytes + 12_345;
        let far = || CongestionPoint { until_sample: Some(interval as i64), ..point(0) };
        let (mut quiet, mut observing) = (far(), far());
        let (mut frames, mut left) = (0, quiet.quiet().bytes);
        let fill = Fill { queue: Occupancy::default(), ..Fill::default() };
        for nth in 1..interval {
            let frame = capable(9_000);
            observing.on_enqueue(Time::ZERO, &fill, frame, &mut || 0);
            if left >= 9_000 {
                (frames, left) = (frames + 1, left - 9_000);
            } else {
                let facts = (Time::ZERO, &fill, frame);
                let observed = quiet.observe(Moment::Enqueue, Deferred { frames, left }, facts, &mut || 0);
                (frames, left) = (0, observed.1.bytes);
                assert_eq!(quiet.until_sample, observing.until_sample, "frame {nth}");
            }
            if nth * 9_000 > interval {
                assert_eq!(frames, 0, "the frame that exceeds the distance is sampled");
                return;
            }
        }
    }

    #[test]
    fn a_probability_picks_as_often_on_average_and_forgets() {
        // A queue that stays at 90 kB has feedback 31 after the first sample. Frames have 500 B and the mean distance
        // is 37.5 kB, so one frame in 75 is sampled.
        let full = Fill { queue: Occupancy { bytes: 89_500, frames: 179 }, ..Fill::default() };
        let params = CongestionPointParams { sampling: Samples::Random, ..CongestionPointParams::default() };
        let mut point = CongestionPoint { params, before: 90_000, until_sample: None };
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
        };
        let (mut gaps, mut gap) = (Vec::new(), 0.0);
        for _ in 0..750_000 {
            gap += 1.0;
            match point.on_enqueue(Time::ZERO, &full, capable(500), &mut random) {
                Verdict::Pass => {}
                verdict => {
                    assert_eq!(verdict, Verdict::Notify(Report { feedback: 31, offset: -1_000, delta: 0 }));
                    gaps.push(std::mem::take(&mut gap));
                }
            }
        }
        let count = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / count;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count).sqrt();
        // Distances are geometric: the standard deviation is nearly the mean. With regular sampling it is less than a
        // tenth of the mean.
        assert!((mean - 75.0).abs() < 3.0, "{mean}");
        assert!((deviation / mean - 1.0).abs() < 0.05, "{deviation} of {mean}");
        // Every frame may be sampled, so none may pass without a call.
        assert_eq!(point.quiet(), Quiet::NEVER);
    }

    #[test]
    fn samples_come_sooner_the_more_congestion_there_is() {
        let distances: Vec<i64> = (0..8).map(|n| point(0).distance(8 * n, &mut || 0)).collect();
        assert_eq!(distances, [150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500]);
        // The queue remains at 90 kB: the first sample sees growth, the others do not.
        let full = Fill { queue: Occupancy { bytes: 89_500, frames: 179 }, ..Fill::default() };
        let mut point = point(0);
        let verdicts: Vec<_> =
            (0..800).map(|_| point.on_enqueue(Time::ZERO, &full, capable(500), &mut || 0)).collect();
        let samples: Vec<_> = (1..).zip(verdicts).filter(|(_, verdict)| *verdict != Verdict::Pass).collect();
        // The first distance is 150 kB, as without congestion; feedback 63 gives 18.5 kB; (90 - 26) kB * 63 / 130 kB =
        // 31 gives 37.5 kB.
        let expected =
            [(301, 63), (339, 31), (415, 31), (491, 31), (567, 31), (643, 31), (719, 31), (795, 31)];
        let sample = |(frame, feedback)| {
            // Offset 26 kB - 90 kB, and delta 90 kB - 0 at the first sample, in units of 64 B.
            let delta = if frame == 301 { 1_406 } else { 0 };
            (frame, Verdict::Notify(Report { feedback, offset: -1_000, delta }))
        };
        assert_eq!(samples, expected.map(sample));
    }

    #[test]
    fn frames_without_a_tag_are_sampled_and_not_answered_if_it_is_said_so() {
        let full = Fill { queue: Occupancy { bytes: 89_500, frames: 179 }, ..Fill::default() };
        let params = CongestionPointParams { answer_untagged: false, ..CongestionPointParams::default() };
        let mut point = CongestionPoint { params, before: 0, until_sample: Some(0) };
        assert_eq!(point.on_enqueue(Time::ZERO, &full, capable(500), &mut || 0), Verdict::Pass);
        assert_eq!(point.before, 90_000);
        point.until_sample = Some(0);
        let tagged = FrameFacts { tag: Some(Tag::Flow(7)), ..capable(500) };
        let notices = point.on_enqueue(Time::ZERO, &full, tagged, &mut || 0);
        assert_eq!(notices, Verdict::Notify(Report { feedback: 31, offset: -1_000, delta: 0 }));
    }

    #[test]
    fn jitter_stays_within_its_share() {
        let mut random = bits(7);
        let drawn: Vec<u64> = (0..1000).map(|_| jittered(100_000, 0.15, random())).collect();
        assert!(drawn.iter().all(|bytes| (85_000..=115_000).contains(bytes)));
        assert!(drawn.iter().any(|&bytes| bytes < 87_000) && drawn.iter().any(|&bytes| bytes > 113_000));
    }

    #[test]
    fn recovery_of_the_golden_vector() {
        let mut point = reaction(ReactionPointParams::default());
        assert_eq!(point.rate(), None);
        notify(&mut point, 63);
        let mut rates = vec![gbps(&point)];
        for _ in 0..5 {
            cycle(&mut point);
            rates.push(gbps(&point));
        }
        for (rate, expected) in rates.iter().zip([5.0781, 7.5391, 8.7695, 9.3848, 9.6924, 9.8462]) {
            assert!((rate - expected).abs() < 5e-5, "{rate} for {expected}");
        }
        assert_eq!(point.target(), Some(10_000_000_000));
    }

    #[test]
    fn active_and_hyper_active_increase() {
        // The target is a tenth of the line rate, so that it can rise.
        let mut point = reaction(ReactionPointParams::default());
        point.active = Some(Rates {
            current: 1_000_000_000,
            target: 1_000_000_000,
            bytes_left: 0,
            timer: Time::from_ms(1),
        });
        point.stages = Stages { bytes: 5, timer: 5 };
        let target = |point: &ReactionPoint| point.target().unwrap();
        // One counter is beyond F: 5 Mb/s per cycle.
        cycle(&mut point);
        assert_eq!(target(&point), 1_005_000_000);
        // Both counters are beyond F: 50 Mb/s, then 100 Mb/s.
        point.handle_timeout(Time::from_ms(1), &mut || 0);
        assert_eq!(target(&point), 1_055_000_000);
        cycle(&mut point);
        assert_eq!(target(&point), 1_105_000_000);
        point.handle_timeout(Time::from_ms(100), &mut || 0);
        assert_eq!(target(&point), 1_205_000_000);
        // Beyond F, cycles are half as long.
        assert_eq!(
            (point.active.unwrap().bytes_left, point.poll_timeout()),
            (75_000, Some(Time::from_us(107_500)))
        );
    }

    #[test]
    fn cuts_in_a_row_keep_the_target() {
        let two = |extra_fast_recovery| {
            let mut point =
                reaction(ReactionPointParams { extra_fast_recovery, ..ReactionPointParams::default() });
            notify(&mut point, 64);
            notify(&mut point, 32);
            (point.target().unwrap(), point.rate().unwrap().bps())
        };
        // 10 Gb/s is reduced by 63/128, then by a quarter.
        assert_eq!(two(true), (10_000_000_000, 3_808_593_750));
        assert_eq!(two(false), (5_078_125_000, 3_808_593_750));
    }

    #[test]
    fn a_far_target_falls_in_the_first_cycle() {
        let after_a_cycle = |lower_target| {
            let mut point = reaction(ReactionPointParams { lower_target, ..ReactionPointParams::default() });
            for _ in 0..6 {
                notify(&mut point, 63);
            }
            cycle(&mut point);
            point.target().unwrap()
        };
        assert_eq!((after_a_cycle(true), after_a_cycle(false)), (1_250_000_000, 10_000_000_000));
    }

    #[test]
    fn no_cut_goes_below_the_least_rate_and_no_message_raises_one() {
        let mut point = reaction(ReactionPointParams::default());
        let mut before = 10_000_000_000;
        for feedback in (1..=63).cycle().take(400) {
            notify(&mut point, feedback);
            let rate = point.rate().unwrap().bps();
            assert!(rate <= before && rate >= 5_000_000);
            before = rate;
        }
        assert_eq!(before, 5_000_000);
        notify(&mut point, 0);
        assert_eq!(point.rate().unwrap().bps(), before);
    }

    #[test]
    fn it_ends_at_the_rate_of_the_link_when_nothing_waits() {
        let mut point = reaction(ReactionPointParams::default());
        notify(&mut point, 1);
        // Each cycle halves the distance to the target, rounded up: 2^27 > 78,125,000 b/s.
        for _ in 0..28 {
            cycle(&mut point);
        }
        assert_eq!(point.rate(), Some(LINE));
        point.on_sent(Time::ZERO, 64, false, &mut || 0);
        assert_eq!(point.rate(), Some(LINE));
        point.on_sent(Time::ZERO, 64, true, &mut || 0);
        assert_eq!((point.rate(), point.poll_timeout(), point.target()), (None, None, None));
    }

    #[test]
    fn a_highest_rate_holds_without_congestion_too() {
        let params = ReactionPointParams {
            max_rate: Or::Value(BitRate::from_gbps(4)),
            ..ReactionPointParams::default()
        };
        let mut point = reaction(params);
        assert_eq!(point.rate(), Some(BitRate::from_gbps(4)));
        notify(&mut point, 32);
        assert_eq!(point.rate(), Some(BitRate::from_gbps(3)));
        for _ in 0..40 {
            cycle(&mut point);
        }
        assert_eq!(point.rate(), Some(BitRate::from_gbps(4)));
    }

    #[test]
    fn what_cannot_be_meant() {
        let wrong = |change: fn(&mut ReactionPointParams)| {
            let mut params = ReactionPointParams::default();
            change(&mut params);
            params.check().map_err(|why| why.path)
        };
        let about = |key: &str| Err(vec![keys::Step::Key(key.into())]);
        assert_eq!(wrong(|_| {}), Ok(()));
        assert_eq!(wrong(|it| it.gain = 0.0), about("gain"));
        assert_eq!(wrong(|it| it.gain = f64::NAN), about("gain"));
        assert_eq!(wrong(|it| it.min_decrease_factor = 1.0), about("min_decrease_factor"));
        assert_eq!(wrong(|it| it.time_reset = Time::ZERO), about("time_reset"));
        assert_eq!(wrong(|it| it.byte_reset = Bytes::new(1)), about("byte_reset"));
        assert_eq!(wrong(|it| it.recovery_cycles = 0), about("recovery_cycles"));
        assert_eq!(wrong(|it| it.min_rate = BitRate::from_bps(0)), about("min_rate"));
        assert_eq!(wrong(|it| it.max_rate = Or::Value(BitRate::from_bps(1))), about("max_rate"));
        let point = |change: fn(&mut CongestionPointParams)| {
            let mut params = CongestionPointParams::default();
            change(&mut params);
            params.check().map_err(|why| why.path)
        };
        assert_eq!(point(|it| it.set_point = Bytes::new(0)), about("set_point"));
        assert_eq!(point(|it| it.sample_base = Bytes::new(0)), about("sample_base"));
        assert_eq!(point(|it| it.weight = -1.0), about("weight"));
        assert_eq!(point(|it| it.jitter_share = 1.0), about("jitter_share"));
        assert_eq!(point(|it| it.message_priority = 8), about("message_priority"));
    }
}
