//! `queue_managers` and `buffer.dynamic_threshold` of switches.

use crate::quantity::{AmountText, SizeText};
use queueing::{RedParams, SharedMemorySpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, Bytes};

/// A queue manager and the traffic classes whose queues it manages: exactly one of `red`, `step` and `sampling`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueManagerEntry {
    /// Traffic classes, 0 to 7 each; every queue of one of them has a manager of its own. Default: all that no other entry names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<u64>>,
    /// Random early detection (Floyd and Jacobson 1993).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub red: Option<RedKeys>,
    /// Step marking: marks frames while the queue is longer than a threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepKeys>,
    /// A sampling notifier: tells the sources of a queue that it is long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingKeys>,
}

/// Keys of random early detection.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedKeys {
    /// Weight of a sample in the moving average of the queue's length. A number above 0, to 1. Default: 0.002 (Floyd and Jacobson 1993).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 0.002), range(min = 0.0, max = 1.0))]
    pub weight: Option<f64>,
    /// Minimum threshold: nothing happens while the average is below. A size in bytes or frames; thresholds in bytes count the queue in bytes, those in frames in frames. Default: "5 frames" (Floyd and Jacobson 1993).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "5 frames"))]
    pub min: Option<AmountText>,
    /// Maximum threshold: the average at which the largest probability is reached. A size in bytes or frames, above `min` and in its unit. Default: "15 frames" (Floyd and Jacobson 1993).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "15 frames"))]
    pub max: Option<AmountText>,
    /// Probability at the maximum threshold. A number above 0, to 1. Default: 0.02 (Floyd and Jacobson 1993).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 0.02), range(min = 0.0, max = 1.0))]
    pub max_probability: Option<f64>,
    /// Whether the probability rises to 1 between `max` and twice `max`; otherwise every frame is picked from `max` on. Default: true (Floyd 2000).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub gentle: Option<bool>,
    /// What the probability belongs to: each "frame", or each "byte", so that long frames are picked more often. Default: "frame".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "frame"))]
    pub mode: Option<RedMode>,
    /// How picks are spread: "geometric" (each frame by itself), "uniform" (gaps up to 1/p frames, equally likely) or "wait" (gaps of 1/p to 2/p frames). Default: "uniform" (Floyd and Jacobson 1993).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "uniform"))]
    pub spacing: Option<RedSpacing>,
    /// What happens to a frame that is picked: "drop" or "mark"; frames whose endpoints understand no marks are dropped. Default: "drop".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "drop"))]
    pub action: Option<RedAction>,
    /// Whether frames are marked also where every frame is picked. Default: false (RFC 3168 drops them).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub mark_above_max: Option<bool>,
    /// Mean frame: unit of the idle time, and of byte mode. A size, "1 B" to "65535 B". Default: "500 B" (ns-2).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "500 B"))]
    pub mean_frame: Option<SizeText>,
    /// What the queue includes beside the frames that wait: "without_frame" (only them) or "with_frame" (the arriving frame too). Default: "without_frame" (Floyd and Jacobson 1993).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "without_frame"))]
    pub counts: Option<FrameCounts>,
    /// How an idle time in which m mean frames could have been sent lets the average decay: "elapsed" (m times) or "elapsed_and_arrival" (m + 1 times, as ns-2 does). Default: "elapsed" (Floyd and Jacobson 1993).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "elapsed"))]
    pub idle_exponent: Option<IdleExponent>,
}

/// What the probability of RED belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RedMode {
    /// Each frame.
    Frame,
    /// Each byte.
    Byte,
}

/// How picks of RED are spread.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RedSpacing {
    /// Each frame by itself.
    Geometric,
    /// Gaps of 1 to 1/p - 1 frames.
    Uniform,
    /// Gaps of 1/p to 2/p - 1 frames.
    Wait,
}

/// What RED does to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RedAction {
    /// Drops it.
    Drop,
    /// Marks it.
    Mark,
}

/// What the length of a queue includes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FrameCounts {
    /// The other frames.
    WithoutFrame,
    /// The frame that is looked at, too.
    WithFrame,
}

/// How far an idle time lets the average of RED decay.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdleExponent {
    /// As often as mean frames could have been sent.
    Elapsed,
    /// Once more, for the arriving frame.
    ElapsedAndArrival,
}

/// Keys of step marking.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepKeys {
    /// Frames are marked while the queue is longer than this. A size in bytes or frames. Required.
    pub threshold: AmountText,
    /// When the queue is looked at: when a frame enters ("enqueue") or leaves ("dequeue"). Default: "enqueue".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "enqueue"))]
    pub at: Option<MarkedAt>,
    /// What the queue includes beside the frames that wait: "without_frame" (only the others) or "with_frame" (the frame that enters or leaves, too). Default: "without_frame" (Alizadeh and others 2010).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "without_frame"))]
    pub counts: Option<FrameCounts>,
}

/// When step marking looks at the queue.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkedAt {
    /// When a frame enters.
    Enqueue,
    /// When a frame leaves.
    Dequeue,
}

/// Keys of the sampling notifier.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SamplingKeys {
    /// Frames that enter a queue of at least this length, themselves included, are counted. A size in bytes or frames. Required.
    pub threshold: AmountText,
    /// One of so many frames makes a message to its source. A count, 1 to 1000000. Default: 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 100), range(min = 1, max = 1000000))]
    pub every: Option<u64>,
}

/// Dynamic thresholds (Choudhury and Hahne 1998): the `total` of the buffer is one memory that all queues share.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DynamicThreshold {
    /// What a queue may hold, as a multiple of the shared memory that is free. A number, 1/1024 to 1024, in steps of 1/1024. Default: 1.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 1.0), range(min = 0.0009765625, max = 1024.0))]
    pub alpha: Option<f64>,
    /// Memory that belongs to each queue: each traffic class of each port, and each lossless priority that comes in through it (with PAUSE: all together) if flow control counts at the ingress. A size. Default: "0 B".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 B"))]
    pub minimum: Option<SizeText>,
    /// Memory that lossless classes alone use, above the threshold: for what all links of the switch together have in flight after XOFF. A size. Default: "0 B".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 B"))]
    pub headroom: Option<SizeText>,
    /// How far below its threshold a paused queue lets go. A size. Default: "0 B".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 B"))]
    pub resume_offset: Option<SizeText>,
}

impl QueueManagerEntry {
    /// Writes every default.
    pub fn fill(&mut self) {
        if let Some(red) = &mut self.red {
            red.fill();
        }
        if let Some(step) = &mut self.step {
            step.at.get_or_insert(MarkedAt::Enqueue);
            step.counts.get_or_insert(FrameCounts::WithoutFrame);
        }
        if let Some(sampling) = &mut self.sampling {
            sampling.every.get_or_insert(100);
        }
    }
}

impl RedKeys {
    fn fill(&mut self) {
        let default = RedParams::default();
        self.weight.get_or_insert(default.weight);
        self.min.get_or_insert(AmountText::from(default.min));
        self.max.get_or_insert(AmountText::from(default.max));
        self.max_probability.get_or_insert(default.max_probability);
        self.gentle.get_or_insert(default.gentle);
        self.mode.get_or_insert(RedMode::Frame);
        self.spacing.get_or_insert(RedSpacing::Uniform);
        self.action.get_or_insert(RedAction::Drop);
        self.mark_above_max.get_or_insert(default.mark_above_max);
        self.mean_frame.get_or_insert(SizeText::from(Bytes::new(u64::from(default.mean_frame))));
        self.counts.get_or_insert(FrameCounts::WithoutFrame);
        self.idle_exponent.get_or_insert(IdleExponent::Elapsed);
    }
    /// The parameters.
    pub fn params(&self) -> RedParams {
        let default = RedParams::default();
        let amount = |text: Option<AmountText>, default: Amount| text.map_or(default, |text| text.0);
        RedParams {
            weight: self.weight.unwrap_or(default.weight),
            min: amount(self.min, default.min),
            max: amount(self.max, default.max),
            max_probability: self.max_probability.unwrap_or(default.max_probability),
            gentle: self.gentle.unwrap_or(default.gentle),
            mode: match self.mode {
                Some(RedMode::Byte) => queueing::Mode::Byte,
                Some(RedMode::Frame) | None => queueing::Mode::Frame,
            },
            spacing: match self.spacing {
                Some(RedSpacing::Geometric) => queueing::Spacing::Geometric,
                Some(RedSpacing::Wait) => queueing::Spacing::Wait,
                Some(RedSpacing::Uniform) | None => queueing::Spacing::Uniform,
            },
            action: match self.action {
                Some(RedAction::Mark) => queueing::Action::Mark,
                Some(RedAction::Drop) | None => queueing::Action::Drop,
            },
            mark_above_max: self.mark_above_max.unwrap_or(default.mark_above_max),
            mean_frame: match self.mean_frame {
                Some(text) => u32::try_from(text.0.get()).unwrap_or(u32::MAX),
                None => default.mean_frame,
            },
            counts: counts(self.counts),
            idle_exponent: match self.idle_exponent {
                Some(IdleExponent::ElapsedAndArrival) => queueing::IdleExponent::ElapsedAndArrival,
                Some(IdleExponent::Elapsed) | None => queueing::IdleExponent::Elapsed,
            },
        }
    }
}

impl StepKeys {
    /// The parameters.
    pub fn params(&self) -> queueing::StepParams {
        queueing::StepParams {
            threshold: self.threshold.0,
            at: match self.at {
                Some(MarkedAt::Dequeue) => queueing::Moment::Dequeue,
                Some(MarkedAt::Enqueue) | None => queueing::Moment::Enqueue,
            },
            counts: counts(self.counts),
        }
    }
}

impl SamplingKeys {
    /// The parameters.
    pub fn params(&self) -> queueing::SamplingParams {
        let every = self.every.map_or(100, |every| u32::try_from(every).unwrap_or(u32::MAX));
        queueing::SamplingParams { threshold: self.threshold.0, every }
    }
}

impl DynamicThreshold {
    /// Writes every default.
    pub fn fill(&mut self) {
        self.alpha.get_or_insert(1.0);
        for size in [&mut self.minimum, &mut self.headroom, &mut self.resume_offset] {
            size.get_or_insert(SizeText::from(Bytes::new(0)));
        }
    }
    /// The rules for a memory of `total` bytes; `None` if `alpha` is none.
    pub fn spec(&self, total: u64) -> Option<SharedMemorySpec> {
        let size = |text: Option<SizeText>| text.map_or(0, |text| text.0.get());
        Some(SharedMemorySpec {
            total,
            alpha: queueing::Alpha::new(self.alpha.unwrap_or(1.0))?,
            minimum: size(self.minimum),
            headroom: size(self.headroom),
            resume_offset: size(self.resume_offset),
        })
    }
}

fn counts(counts: Option<FrameCounts>) -> queueing::Counts {
    match counts {
        Some(FrameCounts::WithFrame) => queueing::Counts::WithFrame,
        Some(FrameCounts::WithoutFrame) | None => queueing::Counts::WithoutFrame,
    }
}
