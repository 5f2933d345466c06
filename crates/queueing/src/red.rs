//! RED: random early detection.
//!
//! Each arriving frame updates a moving average of the queue length. Below the minimum threshold no frame is selected.
//! Between the thresholds a frame is selected with a probability that rises from 0 to the maximum probability. In
//! gentle RED the probability rises further to 1 at twice the maximum threshold, above which every frame is selected;
//! without gentle, every frame is selected above the maximum threshold. A selected frame is dropped, or marked if the
//! action is to mark and the frame is ECN-capable.
//!
//! The average is avg = (1 - w) · avg + w · q for a frame that arrives at a nonempty queue. If the queue is empty, the
//! average first decays by avg = (1 - w)^m · avg, where m is the number of frames of mean length that could have been
//! transmitted during the idle time.
//!
//! The sources differ or are silent on the following points:
//!
//! - Queue length (`counts`): the waiting frames, without the arriving frame as in the paper, or including it. The
//!   frame in transmission is never included. With thresholds in bytes the length is in bytes; with thresholds in
//!   frames it is in frames.
//! - Exponent of the idle decay (`idle_exponent`): "elapsed" is m as in the paper, where the first frame after an idle
//!   time is not a sample. "elapsed_and_arrival" is m + 1 and includes the sample of that frame, as in ns-2 and ns-3.
//!   m is rounded down. The idle time begins when the last bit of the last frame has been transmitted.
//! - Spacing: "geometric" selects each frame independently with probability p. "uniform" uses p / (1 - count · p),
//!   where count is 1 for the first frame after a selected one, as in the pseudo-code of the paper (its derivation
//!   starts at 0). The gap is then uniformly distributed over 1 .. 1/p - 1 frames. "wait" selects no frame among the
//!   next 1/p frames, so that gaps are 1/p .. 2/p - 1.
//! - "mark_only" never drops, so that it can be combined with lossless flow control. This is method 1 of McAlpine
//!   2005, section 5, in which switches mark Ethernet frames and the receiving host copies the marks to IP headers.
//!   Here the mark is the ECN field of IP from the start.
//! - Colors (weighted RED): frames of yellow and red flows may have their own thresholds, maximum probability and
//!   action. The average is that of the whole queue; spacing counts the frames of each color separately.
//! - In byte mode p is multiplied by L / mean frame, and count is in bytes divided by the mean frame (ns-2). The paper
//!   divides by the maximum frame length.
//!
//! Source: Floyd and Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM Transactions on
//! Networking 1(4), 1993, sections 4, 7 and figure 2; gentle RED: Floyd, "Recommendation on using the gentle variant
//! of RED", 2000; `wait`, byte mode, mean frame and defaults: ns-2 (red.cc); marks: RFC 3168, section 7; colors: RFC
//! 2697 and the WRED objects of the Switch Abstraction Interface.
//!
//! Not modelled: adaptive RED (the maximum probability is fixed), a separate average for each color (RIO), meters that
//! color frames (the color is a property of the flow), a queue limit of RED itself (the buffer has limits).

use crate::manager::{
    Color, Configuration, Counts, Departures, Fill, FrameFacts, LinkFacts, QueueManager, Verdict, room_below,
};
use crate::quiet::Quiet;
use crate::red_line::{Common, Line, Rules};
use crate::reference_rate;
use crate::step::Moment;
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, BitRate, Bytes, Time, WireClock};

/// Keys of random early detection.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RedParams {
    /// Weight of a sample in the moving average of the queue length (w). A number above 0, to 1. Default: 0.002 (Floyd and Jacobson 1993).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub weight: f64,
    /// Minimum threshold: no frame is selected while the average is below. A size in bytes or frames, which is also the unit of the queue length. Default: "5 frames" (Floyd and Jacobson 1993).
    pub min: Amount,
    /// Maximum threshold: average at which the maximum probability is reached. A size in bytes or frames, above `min` and in its unit. Default: "15 frames" (Floyd and Jacobson 1993).
    pub max: Amount,
    /// Probability at the maximum threshold. A number above 0, to 1. Default: 0.02 (Floyd and Jacobson 1993).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub max_probability: f64,
    /// If true, the probability rises to 1 between `max` and twice `max`; if false, every frame is selected from `max` on. Default: true (Floyd 2000).
    pub gentle: bool,
    /// Unit to which the probability applies: each "frame", or each "byte", so that long frames are selected more often. Default: "frame".
    pub mode: Mode,
    /// Distribution of the gaps between selected frames: "geometric" (each frame independently), "uniform" (gaps up to 1/p frames, equally likely) or "wait" (gaps of 1/p to 2/p frames). Default: "uniform" (Floyd and Jacobson 1993).
    pub spacing: Spacing,
    /// Action on a selected frame: "drop", "mark" (drops frames that are not ECN-capable) or "mark_only" (never drops a frame). Default: "drop".
    pub action: Action,
    /// If true, frames are marked rather than dropped even where every frame is selected; with action = "mark". Default: false (RFC 3168 drops them).
    pub mark_above_max: bool,
    /// Mean frame length, for the idle decay and for byte mode. A size, "1 B" to "65535 B". Default: "500 B" (ns-2).
    pub mean_frame: Bytes,
    /// Frames included in the queue length: those that wait ("without_frame"), or also the arriving one ("with_frame"). Default: "without_frame" (Floyd and Jacobson 1993).
    pub counts: Counts,
    /// Number of decay steps of the average after an idle time in which m mean frames could have been sent: "elapsed" (m) or "elapsed_and_arrival" (m + 1, as in ns-2). Default: "elapsed" (Floyd and Jacobson 1993).
    pub idle_exponent: IdleExponent,
    /// Time of the decision, based on the queue at that time: when a frame enters ("enqueue") or leaves ("dequeue"). "dequeue" requires `action` "mark_only", because a departing frame cannot be dropped. Default: "enqueue".
    pub at: Moment,
    /// Port rate for which `min` and `max` are given. At ports of other rates, and after a change of the port rate, they scale in proportion, so that the queueing delay stays the same. A rate with unit, above 0. Default: none (the same at all ports).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_rate: Option<BitRate>,
    /// Settings for frames of yellow flows, where they differ: a table of `min`, `max`, `max_probability` and `action`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub yellow: Option<ColorKeys>,
    /// Settings for frames of red flows, where they differ: a table of `min`, `max`, `max_probability` and `action`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub red: Option<ColorKeys>,
}

/// Settings of RED for frames of one color.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ColorKeys {
    /// Minimum threshold for frames of this color. A size in the unit of the threshold for green frames. Default: that for green frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Amount>,
    /// Maximum threshold for frames of this color. A size in the unit of the threshold for green frames, above `min`. Default: that for green frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Amount>,
    /// Probability at the maximum threshold. A number above 0, to 1. Default: that for green frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub max_probability: Option<f64>,
    /// Action on a selected frame of this color: "drop", "mark" or "mark_only". Default: that for green frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
}

impl Default for RedParams {
    fn default() -> RedParams {
        RedParams {
            weight: 0.002,
            min: Amount::Frames(5),
            max: Amount::Frames(15),
            max_probability: 0.02,
            gentle: true,
            mode: Mode::Frame,
            spacing: Spacing::Uniform,
            action: Action::Drop,
            mark_above_max: false,
            mean_frame: Bytes::new(500),
            counts: Counts::WithoutFrame,
            idle_exponent: IdleExponent::Elapsed,
            at: Moment::Enqueue,
            reference_rate: None,
            yellow: None,
            red: None,
        }
    }
}

/// Unit to which the probability of RED applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Each frame, regardless of its length ("packet mode").
    Frame,
    /// Each byte: a frame of twice the mean length is selected twice as often.
    Byte,
}

/// Distribution of the gaps between frames selected by RED.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Each frame independently; gaps are geometrically distributed.
    Geometric,
    /// Gaps are uniformly distributed from 1 to 1/p - 1 frames.
    Uniform,
    /// Gaps are uniformly distributed from 1/p to 2/p - 1 frames.
    Wait,
}

/// Action of RED on a selected frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Drops it.
    Drop,
    /// Marks it, or drops it if it is not ECN-capable.
    Mark,
    /// Marks it, or passes it unmarked if it is not ECN-capable.
    MarkOnly,
}

/// Decay of the average of RED over an idle time in which m mean frames could have been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdleExponent {
    /// (1 - w)^m.
    Elapsed,
    /// (1 - w)^(m + 1), and the arriving frame's sample.
    ElapsedAndArrival,
}

impl Configuration for RedParams {
    type Machine = Red;

    fn check(&self) -> Result<(), Remark> {
        let mean_frame = self.mean_frame;
        let wrong = |key, message: String, help| Err(Remark::about(key, message, help));
        if !(self.weight > 0.0 && self.weight <= 1.0) {
            return wrong("weight", format!("a weight of {}", self.weight), "accepted is above 0 to 1");
        }
        self.of(Color::Green).check(self.min)?;
        for (color, name, keys) in self.colored() {
            if keys.is_some() {
                self.of(color).check(self.min).map_err(|why| why.within(name))?;
            }
        }
        reference_rate::check(self.reference_rate)?;
        if self.at == Moment::Dequeue && self.actions().any(|action| action != Action::MarkOnly) {
            let help = "expected action = \"mark_only\": a frame that leaves is not dropped";
            return wrong("at", "RED as frames leave that drops them".to_string(), help);
        }
        if !(1..=u64::from(u16::MAX)).contains(&mean_frame.get()) {
            let message = format!("a mean frame of {} B", mean_frame.get());
            return wrong("mean_frame", message, "accepted are 1 to 65535 B");
        }
        Ok(())
    }
    fn unused(&self) -> Vec<Remark> {
        Unused::of(self, &RedParams::default())
            .unless(self.actions().any(|one| one == Action::Mark), "action = \"mark\"", &["mark_above_max"])
            .remarks()
    }
    fn unmarked(&self) -> Option<&'static str> {
        if self.actions().any(|action| action == Action::Mark) {
            return Some("it drops frames instead");
        }
        self.actions().any(|action| action == Action::MarkOnly).then_some("it does nothing")
    }
    fn drops(&self) -> Option<(&'static str, &'static str)> {
        let what = if self.actions().any(|action| action == Action::Drop) {
            "drops frames"
        } else if self.actions().any(|action| action == Action::Mark) {
            "drops what it cannot mark, such as acknowledgements"
        } else {
            return None;
        };
        Some((what, "action = \"mark_only\", which never drops"))
    }
    fn colors(&self) -> Vec<Color> {
        self.colored().into_iter().filter(|(_, _, keys)| keys.is_some()).map(|(color, ..)| color).collect()
    }
    fn start(&self, link: &LinkFacts) -> Red {
        let line = |color| Line::new(self.of(color), self.reference_rate, link.rate);
        let colored = |(color, _, keys): (Color, _, Option<ColorKeys>)| keys.map(|_| line(color));
        let colored = self.colored().map(colored);
        Red {
            params: Common {
                weight: self.weight,
                min: self.min,
                gentle: self.gentle,
                mode: self.mode,
                spacing: self.spacing,
                mark_above_max: self.mark_above_max,
                mean_frame: self.mean_frame,
                counts: self.counts,
                idle_exponent: self.idle_exponent,
                at: self.at,
            },
            green: line(Color::Green),
            reference_rate: self.reference_rate,
            colored: colored.iter().any(Option::is_some).then(|| Box::new(colored)),
            link: *link,
            wire: WireClock::new(link.rate),
            mean_time: link.time_of(self.mean_frame.get() as u32),
            average: 0.0,
            idle_since: Time::ZERO,
            calm: None,
        }
    }
}

impl RedParams {
    /// Returns p of a green frame of the mean length at this average; `None` if every frame is picked.
    pub fn probability(&self, average: f64) -> Option<f64> {
        self.of(Color::Green).probability(average, self.gentle)
    }
    /// Returns the colors that may have keys of their own, and their keys.
    fn colored(&self) -> [(Color, &'static str, Option<ColorKeys>); 2] {
        [(Color::Yellow, "yellow", self.yellow), (Color::Red, "red", self.red)]
    }
    fn keys(&self, color: Color) -> Option<ColorKeys> {
        match color {
            Color::Green => None,
            Color::Yellow => self.yellow,
            Color::Red => self.red,
        }
    }
    fn of(&self, color: Color) -> Rules {
        let (min, max, max_probability, action) = (self.min, self.max, self.max_probability, self.action);
        let Some(own) = self.keys(color) else { return Rules { min, max, max_probability, action } };
        Rules {
            min: own.min.unwrap_or(min),
            max: own.max.unwrap_or(max),
            max_probability: own.max_probability.unwrap_or(max_probability),
            action: own.action.unwrap_or(action),
        }
    }
    /// Iterates over the actions for the frames of each color.
    fn actions(&self) -> impl Iterator<Item = Action> + use<> {
        [Color::Green, Color::Yellow, Color::Red].map(|color| self.of(color).action).into_iter()
    }
}

/// The average of one queue, and the count since the last pick.
#[derive(Clone, Debug)]
pub struct Red {
    params: Common,
    /// Rate at which the thresholds apply as configured.
    reference_rate: Option<BitRate>,
    /// Curve for green frames, and for frames of colors without keys.
    green: Line,
    /// Curves for yellow and red frames; `None` if neither color has keys.
    colored: Option<Box<[Option<Line>; 2]>>,
    link: LinkFacts,
    /// Clock for durations on the link.
    wire: WireClock,
    /// Transmission time of a frame of the mean length.
    mean_time: Time,
    average: f64,
    /// Time up to which the average is current while the queue is empty: the end of the last frame's transmission, or
    /// later.
    idle_since: Time,
    /// Number of bytes that may arrive before the average can reach the minimum. Set if the average is the queue length
    /// and below the minimum.
    calm: Option<u64>,
}

impl Red {
    /// Returns the average in the unit of the thresholds.
    pub fn average(&self) -> f64 {
        self.average
    }

    fn sample(&mut self, now: Time, fill: &Fill, frame: FrameFacts) {
        let was_idle = self.params.at == Moment::Enqueue && fill.queue.frames == 0;
        if was_idle {
            self.decay(now);
        }
        if !was_idle || self.params.idle_exponent == IdleExponent::ElapsedAndArrival {
            let queue = self.params.counts.of(fill, frame, self.params.min) as f64;
            self.average = (1.0 - self.params.weight) * self.average + self.params.weight * queue;
        }
    }

    /// Decays the average for the time in which the queue was empty, as if frames of the mean length had found it
    /// empty. Each span is counted once, whether or not the next frame is accepted.
    fn decay(&mut self, now: Time) {
        let idle = now.saturating_sub(self.idle_since).ps() / self.mean_time.ps().max(1);
        self.idle_since += self.mean_time * idle;
        // An average of zero remains zero.
        if self.average > 0.0 {
            self.average *= power(1.0 - self.params.weight, idle);
        }
    }

    /// Returns the number of bytes that may follow this frame without a sample; `None` if the next frame needs one.
    /// This is possible only if the average is the queue length and no color has its own keys: a weighted average, and
    /// the counts of other colors, depend on each frame.
    fn calm_for(&self, fill: &Fill, frame: FrameFacts) -> Option<u64> {
        let Common { weight, at, .. } = self.params;
        let Amount::Bytes(min) = self.green.rules.min else { return None };
        let is_length = weight == 1.0 && at == Moment::Enqueue && self.colored.is_none();
        let below = Amount::Bytes(min.saturating_sub(1));
        (is_length && self.average < min as f64).then(|| room_below(below, fill, frame))
    }

    /// Takes a sample and decides on the frame.
    fn looks(
        &mut self,
        now: Time,
        fill: &Fill,
        frame: FrameFacts,
        random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        self.sample(now, fill, frame);
        self.calm = self.calm_for(fill, frame);
        let Red { params, green, colored, average, .. } = self;
        let own = match (colored, frame.color) {
            (None, _) | (_, Color::Green) => None,
            (Some(colored), Color::Yellow) => colored[0].as_mut(),
            (Some(colored), Color::Red) => colored[1].as_mut(),
        };
        let own = own.unwrap_or(green);
        let (picked, may_mark) = match own.rules.probability(*average, params.gentle) {
            Some(p) if p > 0.0 => (own.picks(p, params, frame.bytes, random), true),
            Some(_) => {
                own.since_pick = None;
                (false, true)
            }
            None => {
                own.since_pick = Some(0.0);
                (true, params.mark_above_max)
            }
        };
        match (picked, own.rules.action) {
            (false, _) => Verdict::Pass,
            (true, Action::Mark) if may_mark && frame.ecn_capable => Verdict::Mark,
            (true, Action::MarkOnly) if frame.ecn_capable => Verdict::Mark,
            (true, Action::MarkOnly) => Verdict::Pass,
            (true, _) => Verdict::Drop,
        }
    }
}

impl QueueManager for Red {
    fn on_enqueue(
        &mut self,
        now: Time,
        fill: &Fill,
        frame: FrameFacts,
        random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        match self.params.at {
            Moment::Enqueue => self.looks(now, fill, frame, random),
            Moment::Dequeue => {
                if fill.queue.frames == 0 {
                    self.decay(now);
                }
                Verdict::Pass
            }
        }
    }
    fn on_dequeue(
        &mut self,
        now: Time,
        fill: &Fill,
        frame: FrameFacts,
        random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        let verdict = match self.params.at {
            Moment::Enqueue => Verdict::Pass,
            Moment::Dequeue => self.looks(now, fill, frame, random),
        };
        if fill.queue.frames == 0 {
            self.idle_since =
                now + self.wire.span_ceil(u64::from(frame.bytes) + u64::from(self.link.overhead));
        }
        verdict
    }

    fn departures(&self) -> Departures {
        match self.params.at {
            Moment::Enqueue => Departures::LateIfEmpty,
            Moment::Dequeue => Departures::AtOnce,
        }
    }

    /// Returns the quiet period. While the queue length is below the minimum, no frame is picked and earlier lengths do
    /// not affect the next sample.
    fn quiet(&self) -> Quiet {
        self.calm.map_or(Quiet::NEVER, Quiet::for_bytes)
    }

    fn on_deferred(&mut self, _frames: u64, bytes: u64) {
        self.average = 0.0;
        self.green.since_pick = None;
        self.calm = self.calm.map(|room| room - bytes);
    }

    fn on_link_rate(&mut self, rate: BitRate) {
        self.link.rate = rate;
        self.wire = WireClock::new(rate);
        self.mean_time = self.link.time_of(self.params.mean_frame.get() as u32);
        if self.has_scaled_thresholds() {
            self.calm = None;
            let colored = self.colored.iter_mut().flat_map(|colored| colored.iter_mut().flatten());
            for line in colored.chain([&mut self.green]) {
                line.set_rate(self.reference_rate, rate);
            }
        }
    }

    fn has_scaled_thresholds(&self) -> bool {
        self.reference_rate.is_some()
    }
}

/// Returns base^exponent by repeated squaring. Only multiplications are used, so that every machine gets identical
/// bits.
fn power(base: f64, exponent: u64) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 && result > 0.0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{LINK, assert_same_picks, bits, capable, holding};

    /// Returns parameters with which the average is the current queue length.
    fn at_once() -> RedParams {
        RedParams { weight: 1.0, max_probability: 0.0625, ..RedParams::default() }
    }
    /// Returns the gaps between picks in frames, at a fixed average.
    fn gaps(params: RedParams, frames: u64, count: usize) -> Vec<usize> {
        let (mut red, mut random) = (params.start(&LINK), bits(1));
        let (mut gaps, mut gap) = (Vec::new(), 0);
        while gaps.len() < count {
            gap += 1;
            if red.on_enqueue(Time::ZERO, &holding(frames), capable(1000), &mut random) == Verdict::Drop {
                gaps.push(std::mem::take(&mut gap));
            }
        }
        gaps
    }
    fn mean(gaps: &[usize]) -> f64 {
        gaps.iter().sum::<usize>() as f64 / gaps.len() as f64
    }

    #[test]
    fn it_marks_what_leaves_by_the_queue_behind() {
        let keys =
            RedParams { weight: 1.0, action: Action::MarkOnly, at: Moment::Dequeue, ..RedParams::default() };
        let keys = RedParams { min: Amount::Frames(2), max: Amount::Frames(3), gentle: false, ..keys };
        assert!(keys.check().is_ok());
        assert!(RedParams { action: Action::Mark, ..keys }.check().is_err());
        let mut red = keys.start(&LINK);
        let on_entry = red.on_enqueue(Time::ZERO, &holding(9), capable(1000), &mut || 0);
        let on_exit = [9, 3, 2, 1, 0]
            .map(|behind| red.on_dequeue(Time::ZERO, &holding(behind), capable(1000), &mut || u64::MAX));
        assert_eq!(on_entry, Verdict::Pass);
        let [mark, pass] = [Verdict::Mark, Verdict::Pass];
        assert_eq!(on_exit, [mark, mark, pass, pass, pass]);
    }

    #[test]
    fn a_quiet_one_picks_the_same_frames_as_one_that_hears_of_all() {
        for (seed, idle_exponent) in
            (0..400u64).zip([IdleExponent::Elapsed, IdleExponent::ElapsedAndArrival].into_iter().cycle())
        {
            let mut draw = bits(seed);
            let mut below = |most: u64| draw() % most;
            let min = 1 + below(20_000);
            let max = min + 1 + below(10_000);
            let keys = RedParams {
                min: Amount::Bytes(min),
                max: Amount::Bytes(max),
                idle_exponent,
                counts: [Counts::WithFrame, Counts::WithoutFrame][below(2) as usize],
                action: Action::MarkOnly,
                ..at_once()
            };
            assert_same_picks(&keys.start(&LINK), min + max, &mut below, seed);
        }
    }

    #[test]
    fn a_burst_is_no_idle_time_for_who_looks_at_departures() {
        let keys = RedParams {
            weight: 0.002,
            action: Action::MarkOnly,
            at: Moment::Dequeue,
            ..RedParams::default()
        };
        let (mut red, mut random) = (keys.start(&LINK), || u64::MAX);
        let took = red.wire.span_ceil(1020);
        let mut now = Time::from_us(1000);
        for before in 0..100 {
            red.on_enqueue(now, &holding(before), capable(1000), &mut random);
        }
        let averages: Vec<f64> = (0..100)
            .rev()
            .map(|behind| {
                red.on_dequeue(now, &holding(behind), capable(1000), &mut random);
                now += took;
                red.average()
            })
            .collect();
        let most = averages.iter().copied().fold(0.0, f64::max);
        assert!(averages[99] > 0.9 * most, "{} of {most}", averages[99]);
        // Now the queue is empty: the time of a thousand frames more than halves the average twice.
        red.on_enqueue(now + took * 1000, &holding(0), capable(1000), &mut random);
        assert!(red.average() < 0.2 * averages[99], "{}", red.average());
    }

    #[test]
    fn golden_vector_14() {
        let red = RedParams::default();
        let p = |average| red.probability(average);
        assert_eq!([p(0.0), p(4.99), p(5.0), p(30.0)], [Some(0.0), Some(0.0), Some(0.0), None]);
        for (average, expected) in [(10.0, 0.01), (15.0, 0.02), (20.0, 0.02 + 0.98 / 3.0), (29.999_999, 1.0)]
        {
            assert!((p(average).unwrap() - expected).abs() < 1e-6, "{average}: {:?}", p(average));
        }
        let hard = RedParams { gentle: false, ..red };
        assert_eq!([hard.probability(15.0), hard.probability(20.0)], [None, None]);
    }

    #[test]
    fn the_average_answers_a_step_as_one_minus_the_power() {
        let params = RedParams { weight: 0.002, ..RedParams::default() };
        let (mut red, mut random) = (params.start(&LINK), bits(1));
        for n in 1..=3_000 {
            red.on_enqueue(Time::ZERO, &holding(4), capable(1000), &mut random);
            let expected = 4.0 * (1.0 - (1.0f64 - 0.002).powi(n));
            assert!((red.average() - expected).abs() < 1e-9, "{n}: {} for {expected}", red.average());
        }
        // Thresholds in bytes: the length is in bytes, including the frame itself if so configured.
        let params = RedParams {
            min: Amount::Bytes(90_000),
            max: Amount::Bytes(100_000),
            counts: Counts::WithFrame,
            weight: 0.5,
            ..params
        };
        let mut red = params.start(&LINK);
        for expected in [2_250.0, 3_375.0, 3_937.5] {
            red.on_enqueue(Time::ZERO, &holding(4), capable(500), &mut random);
            assert_eq!(red.average(), expected);
        }
    }

    #[test]
    fn an_idle_time_decays_the_average_by_the_frames_that_it_would_have_carried() {
        // 500 B take 500 ns. The queue becomes empty at 0 when a frame of 1000 B leaves, which is on the link until
        // 1000 ns.
        let after = |ns, idle_exponent| {
            let params = RedParams { weight: 0.25, idle_exponent, ..RedParams::default() };
            let (mut red, mut random) = (params.start(&LINK), bits(1));
            red.average = 4.0;
            red.on_dequeue(Time::ZERO, &holding(0), capable(1000), &mut random);
            red.on_enqueue(Time::from_ns(ns), &holding(0), capable(1000), &mut random);
            red.average()
        };
        for (ns, frames) in [(900, 0), (1_499, 0), (1_500, 1), (2_600, 3), (11_000, 20)] {
            let expected = 4.0 * 0.75f64.powi(frames);
            assert!((after(ns, IdleExponent::Elapsed) - expected).abs() < 1e-12, "{ns} ns");
            let with_arrival = 0.75 * expected;
            assert!((after(ns, IdleExponent::ElapsedAndArrival) - with_arrival).abs() < 1e-12, "{ns} ns");
        }
        // After a day.
        assert_eq!(after(86_400_000_000_000, IdleExponent::Elapsed), 0.0);
    }

    #[test]
    fn geometric_gaps_have_the_mean_and_the_variance_of_their_law() {
        // An average of 10 between 5 and 15: p = 1/32.
        let params = RedParams { spacing: Spacing::Geometric, ..at_once() };
        let (gaps, p) = (gaps(params, 10, 100_000), 1.0 / 32.0);
        // The bound is four standard errors; that of the variance of a geometric law is about 2.8 / sqrt(n) times the
        // variance.
        let deviation = (1.0f64 - p).sqrt() / p;
        assert!((mean(&gaps) - 1.0 / p).abs() < 4.0 * deviation / 100_000f64.sqrt(), "{}", mean(&gaps));
        let variance = gaps.iter().map(|&gap| (gap as f64 - 1.0 / p).powi(2)).sum::<f64>() / 100_000.0;
        assert!((variance / deviation.powi(2) - 1.0).abs() < 4.0 * 2.9 / 100_000f64.sqrt(), "{variance}");
    }

    #[test]
    fn uniform_gaps_are_equally_likely_and_so_are_those_that_wait() {
        // p = 1/32: gaps are 1 .. 31 with mean 16; with `wait` 32 .. 63 with mean 47.5.
        for (spacing, first, last) in [(Spacing::Uniform, 1, 31), (Spacing::Wait, 32, 63)] {
            let mut gaps = gaps(RedParams { spacing, ..at_once() }, 10, 100_001);
            // Before the first pick there is no count.
            gaps.remove(0);
            let values = last - first + 1;
            let expected = 100_000.0 / values as f64;
            let spread = (expected * (1.0 - 1.0 / values as f64)).sqrt();
            for value in first..=last {
                let count = gaps.iter().filter(|&&gap| gap == value).count() as f64;
                assert!((count - expected).abs() < 5.0 * spread, "{spacing:?}: {count} gaps of {value}");
            }
            assert!(gaps.iter().all(|gap| (first..=last).contains(gap)));
            let middle = (first + last) as f64 / 2.0;
            assert!((mean(&gaps) - middle).abs() < 0.15, "{spacing:?}: {}", mean(&gaps));
        }
    }

    #[test]
    fn in_byte_mode_long_frames_are_picked_more_often() {
        let rate = |spacing, bytes: u16| {
            let params = RedParams { spacing, mode: Mode::Byte, mean_frame: Bytes::new(500), ..at_once() };
            let (mut red, mut random) = (params.start(&LINK), bits(7));
            let picked = |_: &u32| {
                red.on_enqueue(Time::ZERO, &holding(10), capable(bytes), &mut random) == Verdict::Drop
            };
            (0..400_000).filter(picked).count() as f64 / 400_000.0
        };
        // p = 1/32 per mean frame. With uniform spacing one in 16 mean frames is picked, up to rounding to whole
        // frames.
        for (bytes, p) in [(250, 1.0 / 64.0), (500, 1.0 / 32.0), (1_000, 1.0 / 16.0)] {
            let found = rate(Spacing::Geometric, bytes);
            assert!((found / p - 1.0).abs() < 0.05, "{bytes} B: {found} for {p}");
        }
        let ratio = rate(Spacing::Uniform, 1_000) / rate(Spacing::Uniform, 250);
        assert!((ratio / 4.0 - 1.0).abs() < 0.06, "{ratio}");
    }

    #[test]
    fn marks_are_for_those_who_understand_them() {
        let not_capable = FrameFacts { ecn_capable: false, ..capable(1000) };
        let verdict = |params: RedParams, frames, frame| {
            let mut red = params.start(&LINK);
            red.on_enqueue(Time::ZERO, &holding(frames), frame, &mut || 0)
        };
        let marks = RedParams { action: Action::Mark, ..at_once() };
        let above = RedParams { mark_above_max: true, ..marks };
        let only = RedParams { action: Action::MarkOnly, ..marks };
        assert_eq!(verdict(marks, 4, capable(1000)), Verdict::Pass);
        assert_eq!(verdict(marks, 10, capable(1000)), Verdict::Mark);
        assert_eq!(verdict(marks, 10, not_capable), Verdict::Drop);
        assert_eq!(verdict(at_once(), 10, capable(1000)), Verdict::Drop);
        assert_eq!(verdict(marks, 30, capable(1000)), Verdict::Drop);
        assert_eq!(verdict(above, 30, capable(1000)), Verdict::Mark);
        assert_eq!(verdict(above, 30, not_capable), Verdict::Drop);
        assert_eq!([10, 30].map(|frames| verdict(only, frames, capable(1000))), [Verdict::Mark; 2]);
        assert_eq!([10, 30].map(|frames| verdict(only, frames, not_capable)), [Verdict::Pass; 2]);
        assert_eq!((only.drops(), marks.drops().is_some()), (None, true));
    }

    #[test]
    fn parameters_that_no_red_can_have() {
        let default = RedParams::default();
        let wrong = [
            ("max", RedParams { max: Amount::Frames(5), ..default }),
            ("max", RedParams { max: Amount::Bytes(50_000), ..default }),
            ("weight", RedParams { weight: 0.0, ..default }),
            ("weight", RedParams { weight: f64::NAN, ..default }),
            ("max_probability", RedParams { max_probability: 1.01, ..default }),
            ("mean_frame", RedParams { mean_frame: Bytes::new(0), ..default }),
            ("at", RedParams { at: Moment::Dequeue, ..of_colors(Some(Action::Mark), None) }),
        ];
        assert_eq!(default.check(), Ok(()));
        for (key, params) in wrong {
            assert_eq!(params.check().unwrap_err().path, [keys::Step::Key(key.into())]);
        }
        let color = ColorKeys { max: Some(Amount::Frames(5)), ..ColorKeys::default() };
        let bytes = ColorKeys { min: Some(Amount::Bytes(1)), max: Some(Amount::Bytes(9)), ..color };
        let none = ColorKeys { max_probability: Some(0.0), ..ColorKeys::default() };
        for (key, keys) in [("max", color), ("min", bytes), ("max_probability", none)] {
            let path = RedParams { red: Some(keys), ..default }.check().unwrap_err().path;
            assert_eq!(path, [keys::Step::Key("red".into()), keys::Step::Key(key.into())]);
        }
    }

    /// Returns parameters that mark green frames and have these actions for the other colors.
    fn of_colors(yellow: Option<Action>, red: Option<Action>) -> RedParams {
        let keys = |action: Option<Action>| Some(ColorKeys { action, ..ColorKeys::default() });
        RedParams { action: Action::MarkOnly, yellow: keys(yellow), red: keys(red), ..at_once() }
    }

    #[test]
    fn each_color_has_its_own_line() {
        // At 12 frames, green is at 2/10 of its range, yellow at 4/8, and red is beyond it: 0.0125, 0.25 and all.
        let keys = RedParams {
            min: Amount::Frames(10),
            max: Amount::Frames(20),
            gentle: false,
            spacing: Spacing::Geometric,
            yellow: Some(ColorKeys {
                min: Some(Amount::Frames(8)),
                max: Some(Amount::Frames(16)),
                max_probability: Some(0.5),
                action: None,
            }),
            red: Some(ColorKeys {
                min: Some(Amount::Frames(4)),
                max: Some(Amount::Frames(8)),
                max_probability: None,
                action: None,
            }),
            ..at_once()
        };
        assert_eq!(keys.check(), Ok(()));
        let (mut red, mut random, mut picked) = (keys.start(&LINK), bits(3), [0u64; 3]);
        let colors = [Color::Green, Color::Yellow, Color::Red];
        let each = 40_000;
        for nth in 0..3 * each {
            let color = colors[nth % 3];
            let frame = FrameFacts { color, ..capable(1000) };
            let verdict = red.on_enqueue(Time::ZERO, &holding(12), frame, &mut random);
            picked[nth % 3] += u64::from(verdict == Verdict::Drop);
        }
        for (count, p) in picked.into_iter().zip([0.0125, 0.25, 1.0]) {
            let (mean, deviation) = (each as f64 * p, (each as f64 * p * (1.0 - p)).sqrt());
            assert!((count as f64 - mean).abs() <= 3.0 * deviation, "{picked:?}: {p}");
        }
    }

    #[test]
    fn colors_share_the_average_and_count_gaps_by_themselves() {
        // Green frames are below their minimum; they do not restart the gaps of yellow frames.
        let far = Amount::Frames(40);
        let keys = RedParams { min: far, max: Amount::Frames(50), ..at_once() };
        let low =
            ColorKeys { min: Some(Amount::Frames(5)), max: Some(Amount::Frames(15)), ..ColorKeys::default() };
        let mixed = RedParams { yellow: Some(low), ..keys };
        let alone = RedParams { min: Amount::Frames(5), max: Amount::Frames(15), ..keys };
        let (mut with, mut random) = (mixed.start(&LINK), bits(1));
        let (mut gaps_with, mut gap) = (Vec::new(), 0);
        while gaps_with.len() < 1_000 {
            let green = with.on_enqueue(Time::ZERO, &holding(10), capable(1000), &mut random);
            assert_eq!(green, Verdict::Pass);
            gap += 1;
            let yellow = FrameFacts { color: Color::Yellow, ..capable(1000) };
            if with.on_enqueue(Time::ZERO, &holding(10), yellow, &mut random) == Verdict::Drop {
                gaps_with.push(std::mem::take(&mut gap));
            }
        }
        assert_eq!(gaps_with, gaps(alone, 10, 1_000));
    }

    #[test]
    fn each_color_has_its_own_action() {
        let keys = of_colors(Some(Action::Drop), None);
        let keys = RedParams { min: Amount::Frames(1), max: Amount::Frames(2), gentle: false, ..keys };
        let mut red = keys.start(&LINK);
        let mut verdict = |color| {
            let frame = FrameFacts { color, ..capable(1000) };
            red.on_enqueue(Time::ZERO, &holding(5), frame, &mut bits(1))
        };
        assert_eq!(
            [Color::Green, Color::Yellow, Color::Red].map(&mut verdict),
            [Verdict::Mark, Verdict::Drop, Verdict::Mark]
        );
        assert_eq!(keys.drops().map(|(what, _)| what), Some("drops frames"));
        assert_eq!((keys.unmarked(), keys.colors().len()), (Some("it does nothing"), 2));
    }
}
