//! Backward congestion notification (BCN): the predecessor of QCN, whose messages can also raise rates.
//!
//! The switch part is the congestion point, a queue manager. It samples one in `sample_every` frames. Qoff is the set
//! point less the queue length, Qdelta is the growth of the queue since the last sample, and the feedback is Fb =
//! Qoff - w Qdelta. If Fb is negative, the source of the sampled frame gets a message with Fb. If Fb is positive, the
//! source gets a message only if this congestion point currently limits its rate, as a rate limit tag in the frame
//! shows. If the queue exceeds a severe threshold, a message with feedback 0 stops the source.
//!
//! The host part is the reaction point, which controls a rate limiter. Negative feedback multiplies the rate by 1 + Gd
//! Fb, but not by less than 1/2; from then on the rate limit tags name the congestion point that sent it. Positive
//! feedback of the same congestion point adds Gi Ru Fb to the rate. A stop lasts for a random time, after which the
//! rate is a hundredth of the line rate. A reaction point is deleted when its rate is the line rate and its backlog is
//! empty.
//!
//! Stability: with N sources at the queue, the cut after one sample removes w Gd (frames per sample) / N times the
//! excess load. The loop oscillates if this factor is 2 or more. There is a warning if it would oscillate with two
//! sources, or if w is 0.
//!
//! Source: D. Bergamasco, "Ethernet congestion manager", IEEE 802.1au, 2005 to 2006, as J. Jiang and R. Jain describe
//! it in "Analysis of backward congestion notification (BCN) for Ethernet in datacenter applications", INFOCOM 2007,
//! the source of the gains. Choices where these leave it open: sampling is deterministic, one in n frames, unless
//! `sampling` is "random"; the queue length includes the sampled frame, but not the frame in transmission; messages
//! are ignored during a stop; a reaction point follows the congestion point that last reduced its rate; the minimum
//! rate is a thousandth of 10 Gb/s.
//!
//! Not modelled: the drift that raises rates without messages; the fields of messages and tags, except for their
//! length.

use crate::ManagerSpec;
use crate::checks::{above, above_zero, message_priority, no_weight, overshoots, share, tag_length, within};
use crate::manager::{Configuration, Departures, Fill, FrameFacts, LinkFacts, QueueManager, Verdict};
use crate::quiet::Quiet;
use crate::rate_control::{Feedback, RateConfiguration, RateControl};
use frame::{PointId, Tag};
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Never, Or, Time};

/// Keys of a congestion point of BCN.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BackwardPointParams {
    /// Target length of the queue. A size with unit, at least "1 B". Default: "24000 B" (16 frames of 1500 B).
    pub set_point: Bytes,
    /// Weight of the growth of the queue relative to its length (w). A number, 0 to 1024. Default: 2.
    #[schemars(range(min = 0.0, max = 1024.0))]
    pub weight: f64,
    /// Sampling interval: one in this many frames is sampled. A count, 1 to 1000000. Default: 100 (Jiang and Jain 2007: a probability of 0.01).
    #[schemars(range(min = 1, max = 1000000))]
    pub sample_every: u32,
    /// Sampling of frames: every n-th ("regular"), or each with the probability 1/n ("random"). Default: "regular".
    pub sampling: Samples,
    /// Severe threshold: a longer queue stops the sources of sampled frames. A size with unit, above the set point; or "never". Default: "135000 B" (90 frames of 1500 B).
    pub severe: Or<Bytes, Never>,
    /// Priority of the congestion messages. A whole number, 0 to 7. Default: 7 (a choice: ahead of the congested traffic).
    #[schemars(range(min = 0, max = 7))]
    pub message_priority: u32,
}

/// Sampling of frames by a congestion point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Samples {
    /// At a fixed interval in frames or bytes.
    #[default]
    Regular,
    /// Each frame independently, with a probability.
    Random,
}

impl Default for BackwardPointParams {
    fn default() -> BackwardPointParams {
        BackwardPointParams {
            set_point: Bytes::new(24_000),
            weight: 2.0,
            sample_every: 100,
            sampling: Samples::Regular,
            severe: Or::Value(Bytes::new(135_000)),
            message_priority: 7,
        }
    }
}

impl Configuration for BackwardPointParams {
    type Machine = BackwardPoint;

    fn check(&self) -> Result<(), Remark> {
        above_zero("set_point", self.set_point)?;
        within("weight", self.weight, 0.0, 1024.0)?;
        if !(1..=1_000_000).contains(&self.sample_every) {
            let message = format!("one of {} frames", self.sample_every);
            return Err(Remark::about("sample_every", message, "expected 1 to 1000000"));
        }
        if let Some(severe) = self.severe.value().filter(|&severe| severe <= self.set_point) {
            let message = format!("a severe threshold of {severe}, and a set point of {}", self.set_point);
            return Err(Remark::about("severe", message, "expected a size above set_point, or \"never\""));
        }
        message_priority(self.message_priority)
    }
    fn unused(&self) -> Vec<Remark> {
        Unused::of(self, &BackwardPointParams::default())
            .unless(self.sample_every > 1, "a `sample_every` above 1", &["sampling"])
            .remarks()
    }
    fn set_point(&self) -> Option<Bytes> {
        Some(self.set_point)
    }
    fn message_priority(&self) -> Option<u8> {
        Some(self.message_priority as u8)
    }
    fn start(&self, link: &LinkFacts) -> BackwardPoint {
        BackwardPoint { params: *self, point: link.point, before: 0, passed: 0 }
    }
}

/// The congestion point of a queue.
#[derive(Clone, Debug)]
pub struct BackwardPoint {
    params: BackwardPointParams,
    point: PointId,
    /// Length of the queue in bytes at the last sample.
    before: u64,
    /// Frames since the last sample.
    passed: u32,
}

impl BackwardPoint {
    /// Returns true if the next frame is sampled.
    fn samples(&mut self, random: &mut impl FnMut() -> u64) -> bool {
        let every = self.params.sample_every;
        if self.params.sampling == Samples::Random {
            return (u128::from(random()) * u128::from(every)) >> 64 == 0;
        }
        self.passed = (self.passed + 1) % every;
        self.passed == 0
    }

    /// Returns the feedback Qoff - w Qdelta in bytes, rounded towards 0.
    fn feedback(&self, length: u64) -> i32 {
        let length = length as f64;
        let (offset, delta) = (self.params.set_point.get() as f64 - length, length - self.before as f64);
        (offset - self.params.weight * delta) as i32
    }
}

impl QueueManager for BackwardPoint {
    fn on_enqueue(
        &mut self,
        _now: Time,
        fill: &Fill,
        frame: FrameFacts,
        random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        if !self.samples(random) {
            return Verdict::Pass;
        }
        let length = fill.queue.bytes + u64::from(frame.bytes);
        let feedback = self.feedback(length);
        self.before = length;
        if self.params.severe.value().is_some_and(|severe| length > severe.get()) {
            return Verdict::notify(0);
        }
        let slowed_here = frame.tag == Some(Tag::Limited(self.point));
        if feedback < 0 || feedback > 0 && slowed_here {
            return Verdict::notify(feedback as u32);
        }
        Verdict::Pass
    }

    fn departures(&self) -> Departures {
        Departures::Ignored
    }

    fn on_link_rate(&mut self, _rate: BitRate) {}
}

/// Keys of a reaction point of BCN.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BackwardReactionParams {
    /// Bytes per unit of feedback; the gains are given per frame. A size with unit, at least "1 B". Default: "1500 B".
    pub feedback_unit: Bytes,
    /// Fraction by which each unit of negative feedback cuts the rate (Gd). A number above 0, at most 1. Default: 0.0078125 (1/128).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub decrease_gain: f64,
    /// Number of increase units that each unit of positive feedback adds (Gi). A number above 0, at most 1024. Default: 4.
    #[schemars(range(min = 0.0, max = 1024.0))]
    pub increase_gain: f64,
    /// Rate increase unit (Ru). A rate with unit, above 0. Default: "8 Mb/s".
    pub increase_unit: BitRate,
    /// Minimum decrease factor: a cut leaves at least this fraction of the rate. A number, 0 to 1 (exclusive). Default: 0.5.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub min_decrease_factor: f64,
    /// Minimum rate: cuts do not go below it. A rate with unit, above 0. Default: "10 Mb/s" (a choice: a thousandth of 10 Gb/s).
    pub min_rate: BitRate,
    /// Maximum duration of a stop after severe congestion; durations are uniformly distributed from 0 to this value. A time with unit, at most "1 s". Default: "100 us" (a choice).
    pub max_stop: Time,
    /// Rate after a stop, as a fraction of the line rate. A number above 0, at most 1. Default: 0.01.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub restart_share: f64,
    /// Length of the rate limit tag. A size with unit, at most "64 B". Default: "12 B" (a choice: type, congestion point, flow).
    pub tag_length: Bytes,
}

impl Default for BackwardReactionParams {
    fn default() -> BackwardReactionParams {
        BackwardReactionParams {
            feedback_unit: Bytes::new(1_500),
            decrease_gain: 1.0 / 128.0,
            increase_gain: 4.0,
            increase_unit: BitRate::from_bps(8_000_000),
            min_decrease_factor: 0.5,
            min_rate: BitRate::from_bps(10_000_000),
            max_stop: Time::from_us(100),
            restart_share: 0.01,
            tag_length: Bytes::new(12),
        }
    }
}

impl RateConfiguration for BackwardReactionParams {
    type Machine = BackwardReaction;

    fn check(&self) -> Result<(), Remark> {
        above_zero("feedback_unit", self.feedback_unit)?;
        above("decrease_gain", self.decrease_gain, 0.0, 1.0)?;
        above("increase_gain", self.increase_gain, 0.0, 1024.0)?;
        if self.increase_unit.bps() == 0 {
            let help = "expected a rate above 0, like \"8 Mb/s\"";
            return Err(Remark::about("increase_unit", "an increase of 0", help));
        }
        share("min_decrease_factor", self.min_decrease_factor)?;
        if self.min_rate.bps() == 0 {
            let help = "expected a rate above 0, like \"10 Mb/s\": only severe congestion stops a limiter";
            return Err(Remark::about("min_rate", "a rate of 0", help));
        }
        if self.max_stop > Time::from_ms(1_000) {
            let message = format!("stops of up to {}", self.max_stop);
            return Err(Remark::about("max_stop", message, "expected at most \"1 s\", like \"100 us\""));
        }
        above("restart_share", self.restart_share, 0.0, 1.0)?;
        tag_length(self.tag_length)
    }
    fn unused_with(&self, point: &ManagerSpec) -> Vec<Remark> {
        let ManagerSpec::BackwardPoint(point) = point else { return Vec::new() };
        Unused::of(self, &BackwardReactionParams::default())
            .unless(
                point.severe.value().is_some(),
                "`severe` of the congestion points",
                &["max_stop", "restart_share"],
            )
            .remarks()
    }
    fn doubt_with(&self, point: &ManagerSpec, _link: BitRate) -> Option<Remark> {
        let ManagerSpec::BackwardPoint(point) = point else { return None };
        let each = point.weight * f64::from(point.sample_every);
        no_weight(point.weight).or_else(|| overshoots("decrease_gain", self.decrease_gain, each))
    }
    fn tag_bytes(&self) -> u8 {
        self.tag_length.get() as u8
    }
    fn start(&self, line: BitRate) -> BackwardReaction {
        BackwardReaction { params: *self, line: line.bps(), active: None, stopped_until: Time::ZERO }
    }
}

/// The reaction point of a limiter.
#[derive(Clone, Debug)]
pub struct BackwardReaction {
    params: BackwardReactionParams,
    /// Rate of the link in bits per second.
    line: u64,
    /// Rate in bits per second, and the congestion point that set it; `None` without congestion.
    active: Option<(u64, PointId)>,
    stopped_until: Time,
}

impl BackwardReaction {
    /// Clamps a rate in bits per second to the allowed range.
    fn bounded(&self, rate: f64) -> u64 {
        (rate as u64).clamp(self.params.min_rate.bps().min(self.line), self.line)
    }
}

impl RateControl for BackwardReaction {
    fn on_feedback(&mut self, now: Time, feedback: Feedback, random: &mut impl FnMut() -> u64) {
        let Feedback::Message(notice) = feedback else { return };
        if now < self.stopped_until {
            return;
        }
        let feedback = notice.feedback as i32;
        let units = f64::from(feedback) / self.params.feedback_unit.get() as f64;
        let (current, by) = self.active.unwrap_or((self.line, notice.point));
        if feedback > 0 {
            if self.active.is_some() && by == notice.point {
                let gain = self.params.increase_gain * self.params.increase_unit.bps_f64() * units;
                self.active = Some((self.bounded(current as f64 + gain), by));
            }
        } else if feedback < 0 {
            let factor = (1.0 + self.params.decrease_gain * units).max(self.params.min_decrease_factor);
            self.active = Some((self.bounded(current as f64 * factor), notice.point));
        } else {
            let longest = u128::from(self.params.max_stop.ps());
            self.stopped_until = now + Time::from_ps(((u128::from(random()) * longest) >> 64) as u64);
            let restart = self.bounded(self.line as f64 * self.params.restart_share);
            self.active = Some((restart.min(current), notice.point));
        }
    }

    fn tag(&mut self, _now: Time) -> Option<(Tag, u8)> {
        self.active.map(|(_, by)| (Tag::Limited(by), self.params.tag_bytes()))
    }

    fn on_sent(&mut self, _now: Time, _bytes: u16, last: bool, _random: &mut impl FnMut() -> u64) {
        if last && self.active.is_some_and(|(rate, _)| rate >= self.line) {
            self.active = None;
        }
    }

    fn handle_timeout(&mut self, _now: Time, _random: &mut impl FnMut() -> u64) {}

    /// Adapts to a new rate of the link. A limiter that sent at the old rate of the link becomes unlimited, because no
    /// congestion point would ever raise its rate.
    fn on_link_rate(&mut self, line: BitRate, _now: Time) {
        let unlimited = self.active.is_some_and(|(rate, _)| rate >= self.line);
        self.line = line.bps();
        if unlimited {
            self.active = None;
        } else if let Some((rate, by)) = self.active {
            self.active = Some((self.bounded(rate as f64), by));
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        None
    }

    fn rate(&self) -> Option<BitRate> {
        self.active.map(|(rate, _)| BitRate::from_bps(rate))
    }

    fn stopped_until(&self) -> Option<Time> {
        Some(self.stopped_until).filter(|&until| until > Time::ZERO)
    }

    fn quiet(&self) -> Quiet {
        // Every frame of a limited flow carries a tag.
        if self.active.is_none() { Quiet::ALWAYS } else { Quiet::NEVER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{LINK, bits, capable};
    use frame::{Notice, Occupancy};

    const LINE: BitRate = BitRate::from_gbps(10);
    const HERE: PointId = PointId(7);

    fn fill(bytes: u64) -> Fill {
        Fill { queue: Occupancy { bytes, frames: bytes / 1_500 }, ..Fill::default() }
    }
    fn point(params: BackwardPointParams) -> BackwardPoint {
        params.start(&LinkFacts { point: HERE, ..LINK })
    }
    fn notify(reaction: &mut BackwardReaction, by: PointId, frames: i32) -> u64 {
        let notice = Notice { point: by, feedback: (1_500 * frames) as u32, ..Notice::default() };
        reaction.on_feedback(Time::ZERO, Feedback::Message(notice), &mut || 1 << 63);
        reaction.rate().unwrap_or(LINE).bps()
    }

    #[test]
    fn feedback_goes_both_ways_and_good_news_only_to_who_is_slowed_down_here() {
        let every_frame = BackwardPointParams { sample_every: 1, ..BackwardPointParams::default() };
        let mut point = point(every_frame);
        let mut sample = |bytes: u64, tag| {
            let frame = FrameFacts { tag, ..capable(1_500) };
            match point.on_enqueue(Time::ZERO, &fill(bytes - 1_500), frame, &mut || 0) {
                Verdict::Notify(report) => Some(report.feedback as i32 / 1_500),
                _ => None,
            }
        };
        // The set point is 16 frames. A queue of 20 after 0 is 4 too long and has grown by 20.
        assert_eq!(sample(30_000, None), Some(-4 - 2 * 20));
        assert_eq!(sample(33_000, None), Some(-6 - 2 * 2));
        // A queue of 12 after 22 is 4 below the set point and has shrunk by 10: feedback 4 + 20.
        assert_eq!(sample(18_000, None), None);
        assert_eq!(sample(18_000, Some(Tag::Limited(PointId(8)))), None);
        assert_eq!(sample(18_000, Some(Tag::Limited(HERE))), Some(4));
        assert_eq!(sample(15_000, Some(Tag::Limited(HERE))), Some(6 + 4));
        // Severe congestion stops the source of a sampled frame.
        assert_eq!(sample(136_500, None), Some(0));
        // At the set point no message is sent.
        let _ = sample(24_000, None);
        assert_eq!(sample(24_000, Some(Tag::Limited(HERE))), None);
    }

    #[test]
    fn one_of_so_many_frames_is_sampled() {
        let notices = |sampling, frames: usize| {
            let mut point = point(BackwardPointParams { sampling, ..BackwardPointParams::default() });
            let mut random = bits(3);
            (0..frames)
                .filter(|_| {
                    let long = fill(90_000);
                    point.on_enqueue(Time::ZERO, &long, capable(1_500), &mut random) != Verdict::Pass
                })
                .count()
        };
        assert_eq!((notices(Samples::Regular, 99), notices(Samples::Regular, 1_000)), (0, 10));
        assert!((900..1100).contains(&notices(Samples::Random, 100_000)));
    }

    #[test]
    fn steps_by_hand() {
        let mut reaction = BackwardReactionParams::default().start(LINE);
        // Positive feedback only affects sources that have received negative feedback.
        assert_eq!((notify(&mut reaction, HERE, 5), reaction.tag(Time::ZERO)), (10_000_000_000, None));
        // 44/128 is subtracted; a cut never exceeds a half.
        assert_eq!(notify(&mut reaction, HERE, -44), 6_562_500_000);
        assert_eq!(notify(&mut reaction, HERE, -100), 3_281_250_000);
        assert_eq!(reaction.tag(Time::ZERO), Some((Tag::Limited(HERE), 12)));
        // The rate rises by 4 * 8 Mb/s per frame, and only by feedback from that congestion point.
        assert_eq!(notify(&mut reaction, PointId(8), 10), 3_281_250_000);
        assert_eq!(notify(&mut reaction, HERE, 10), 3_601_250_000);
        // Another congestion point sends negative feedback; the rate follows that one from then on.
        assert_eq!(notify(&mut reaction, PointId(8), -16), 3_151_093_750);
        assert_eq!(notify(&mut reaction, HERE, 10), 3_151_093_750);
        // The rate never exceeds that of the link, however large the feedback.
        assert_eq!(notify(&mut reaction, PointId(8), 500), 10_000_000_000);
        reaction.on_sent(Time::ZERO, 64, false, &mut || 0);
        assert!(reaction.rate().is_some());
        reaction.on_sent(Time::ZERO, 64, true, &mut || 0);
        assert_eq!((reaction.rate(), reaction.tag(Time::ZERO)), (None, None));
    }

    #[test]
    fn a_stop_is_random_and_not_prolonged() {
        let mut reaction = BackwardReactionParams::default().start(LINE);
        assert_eq!(reaction.stopped_until(), None);
        assert_eq!(notify(&mut reaction, HERE, 0), 100_000_000);
        assert_eq!(reaction.stopped_until(), Some(Time::from_us(50)));
        assert_eq!(notify(&mut reaction, HERE, -100), 100_000_000);
        let notice = Notice { point: HERE, feedback: 0, ..Notice::default() };
        reaction.on_feedback(Time::from_us(50), Feedback::Message(notice), &mut || 1 << 62);
        assert_eq!(reaction.stopped_until(), Some(Time::from_us(75)));
    }

    #[test]
    fn rates_stay_between_the_least_and_that_of_the_link() {
        let mut reaction = BackwardReactionParams::default().start(LINE);
        let mut random = bits(11);
        for _ in 0..10_000 {
            let frames = (random() % 400) as i32 - 200;
            let before = reaction.rate().unwrap_or(LINE).bps();
            let rate = notify(&mut reaction, HERE, frames);
            reaction.stopped_until = Time::ZERO;
            assert!((10_000_000..=LINE.bps()).contains(&rate));
            assert!(frames > 0 || rate <= before, "negative feedback never raises the rate");
        }
    }

    #[test]
    fn what_cannot_be_meant() {
        let about = |key: &str| Err(vec![keys::Step::Key(key.into())]);
        let point = |change: fn(&mut BackwardPointParams)| {
            let mut params = BackwardPointParams::default();
            change(&mut params);
            params.check().map_err(|why| why.path)
        };
        assert_eq!(point(|_| {}), Ok(()));
        assert_eq!(point(|it| it.set_point = Bytes::new(0)), about("set_point"));
        assert_eq!(point(|it| it.weight = f64::NAN), about("weight"));
        assert_eq!(point(|it| it.sample_every = 0), about("sample_every"));
        assert_eq!(point(|it| it.severe = Or::Value(Bytes::new(24_000))), about("severe"));
        assert_eq!(point(|it| it.message_priority = 8), about("message_priority"));
        let reaction = |change: fn(&mut BackwardReactionParams)| {
            let mut params = BackwardReactionParams::default();
            change(&mut params);
            params.check().map_err(|why| why.path)
        };
        assert_eq!(reaction(|_| {}), Ok(()));
        assert_eq!(reaction(|it| it.feedback_unit = Bytes::new(0)), about("feedback_unit"));
        assert_eq!(reaction(|it| it.decrease_gain = 0.0), about("decrease_gain"));
        assert_eq!(reaction(|it| it.increase_gain = f64::INFINITY), about("increase_gain"));
        assert_eq!(reaction(|it| it.increase_unit = BitRate::from_bps(0)), about("increase_unit"));
        assert_eq!(reaction(|it| it.min_decrease_factor = 1.0), about("min_decrease_factor"));
        assert_eq!(reaction(|it| it.min_rate = BitRate::from_bps(0)), about("min_rate"));
        assert_eq!(reaction(|it| it.max_stop = Time::from_ms(1_001)), about("max_stop"));
        assert_eq!(reaction(|it| it.restart_share = 0.0), about("restart_share"));
        assert_eq!(reaction(|it| it.tag_length = Bytes::new(65)), about("tag_length"));
    }
}
