//! `[[flows]]`: who sends what to whom, when and how.

use super::yes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transport::{ConversationKeys, RequestResponseKeys, TcpKeys, WindowKeys};
use units::{BitRate, Bytes, Or, Time, Unlimited};
use workload::RateBasis;

fn at_start() -> Time {
    Time::ZERO
}
fn full_frame() -> FrameText {
    FrameText::Fixed(Bytes::new(u64::from(frame::MAX_TAGGED_FRAME_BYTES)))
}
fn smallest_frame() -> Bytes {
    Bytes::new(u64::from(frame::MIN_FRAME_BYTES))
}
fn largest_frame() -> Bytes {
    Bytes::new(u64::from(frame::MAX_TAGGED_FRAME_BYTES))
}
fn no_limit() -> Or<Bytes, Unlimited> {
    Or::word()
}

/// One flow, or one flow for each of several senders.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Unique name; with several senders the flows are called "name[sender]". Required.
    pub name: String,
    /// The sender: the name of a host, "all" hosts, a pattern, or a list of these. In a pattern `*` stands for any letters, "h1..h32" for h1 to h32, and "leaf0/*" for the hosts at leaf0. The name of a switch: whole frames appear there in an instant. Required.
    pub from: Nodes,
    /// Where frames go: a host; or several (a list, "all" or a pattern), each frame to one of them, equally likely and never to the sender; or a table `uniform`, `hot_spot` or `permutation`. Beyond a million pairs of sender and destination no paths are listed: switches look each destination up, the table `paths` is empty, and frames that were overtaken are not counted. Required.
    pub to: Receivers,
    /// Priority of all frames (IEEE 802.1Q). A whole number, 0 to 7. Default: 0 (best effort).
    #[serde(default)]
    #[schemars(range(min = 0, max = 7))]
    pub priority: u64,
    /// Length of frames, DA to FCS: a size with unit, 1 to 9238 B; or "imix"; or a table `uniform`, `bimodal`, `exponential`, `log_normal` or `empirical`. Default: "1522 B" (the largest tagged frame without jumbo support).
    #[serde(default = "full_frame")]
    pub frame: FrameText,
    /// When the source begins. A time with unit. Default: "0 s".
    #[serde(default = "at_start")]
    pub start: Time,
    /// When the source ends. A time with unit, after `start`. Default: the duration of the simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// When frames are due: "greedy" or a table `constant`, `bernoulli`, `poisson` or `on_off`; or endpoints that answer each other: a table `window`, `request_response`, `tcp` or `conversation`. Required.
    pub source: SourceText,
    /// What the bits of a rate count: "frame" (DA to FCS) or "wire" (with the line overhead of the sender's link). Default: "frame".
    #[serde(default)]
    pub rate_counts: RateBasis,
    /// How much each sender sends in all: the last frame is cut to what is left, and padded to 64 B, the smallest Ethernet frame; the padding counts as bytes sent, beyond the limit. With `request_response` only whole requests count, with `conversation` whole exchanges. A size with unit, or "unlimited". Default: "unlimited".
    #[serde(default = "no_limit")]
    pub limit: Or<Bytes, Unlimited>,
    /// Each frame is sent later than the source says, by a random time from 0 to this, all equally likely; frames keep their order, and their rate does not change. A greedy source has none: it sends when the link is free. A time with unit. Default: "0 s" (sources are exact).
    #[serde(default = "at_start")]
    pub jitter: Time,
    /// Changes while the simulation runs, in order of time. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub script: Vec<Step>,
    /// Names of the nodes to pass in order, from the first switch to the destination; what the far end of a connection answers takes the same links back. Default: a shortest path; where there are several, a hash of flow, seed and node picks one (ECMP, RFC 2992).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<Vec<String>>,
}

/// One or several nodes: a name, "all", a pattern (`*`, "h1..h32", "leaf0/*"), or a list of these.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Nodes {
    /// A name, "all" or a pattern.
    One(String),
    /// A list of names and patterns.
    Several(Vec<String>),
}

/// Where frames go.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Receivers {
    /// Hosts, equally likely.
    Nodes(Nodes),
    /// Another choice.
    Table(ReceiversTable),
}

/// Choices of a destination that need a table.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiversTable {
    /// Each frame to one of these hosts, equally likely, never to the sender.
    Uniform(Nodes),
    /// Each frame to one host with a given probability, otherwise to any other.
    HotSpot(HotSpot),
    /// Each sender has one destination of its own, and each destination one sender.
    Permutation(Permutation),
}

/// A preferred destination.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotSpot {
    /// The preferred host. Required.
    pub host: String,
    /// The probability that a frame goes there; others go to all other hosts, equally likely. A number, 0 to 1. Required.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: f64,
}

/// How senders are paired with destinations.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Permutation {
    /// A random one without self-pairs, drawn from the seed of the scenario and the name of the flow.
    Word(PermutationWord),
    /// A rotation.
    Shift(Shift),
}

/// Random permutations.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermutationWord {
    /// Drawn at random, without self-pairs.
    Random,
}

/// A rotation: the i-th sender sends to the (i + shift)-th.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shift {
    /// By how many senders. A count, at least 1, no multiple of the number of senders. Required.
    pub shift: u64,
}

/// Length of frames.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FrameText {
    /// All alike. A size with unit, 1 to 9238 B, DA to FCS.
    Fixed(Bytes),
    /// A word.
    Word(FrameWord),
    /// A distribution.
    Table(FrameTable),
}

/// Named distributions of frame lengths.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FrameWord {
    /// The simple Internet mix: 64, 594 and 1518 B in the ratio 7:4:1.
    Imix,
}

/// Distributions of frame lengths that need a table.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FrameTable {
    /// Every size from `min` to `max`, equally likely.
    Uniform {
        /// The smallest. A size with unit, 1 to 9238 B. Required.
        min: Bytes,
        /// The largest. A size with unit, 1 to 9238 B, not below `min`. Required.
        max: Bytes,
    },
    /// Two sizes.
    Bimodal {
        /// The one. A size with unit, 1 to 9238 B. Required.
        small: Bytes,
        /// The other. A size with unit, 1 to 9238 B. Required.
        large: Bytes,
        /// The probability of `small`. A number, 0 to 1. Required.
        #[schemars(range(min = 0.0, max = 1.0))]
        small_share: f64,
    },
    /// Exponential, cut to a range: what would lie outside has the nearest length.
    Exponential {
        /// The mean of the lengths that are cut. A size with unit, between `min` and `max`. Required.
        mean: Bytes,
        /// The smallest. A size with unit, 1 to 9238 B. Default: "64 B" (the smallest Ethernet frame).
        #[serde(default = "smallest_frame")]
        min: Bytes,
        /// The largest. A size with unit, 1 to 9238 B. Default: "1522 B" (the largest tagged frame without jumbo support).
        #[serde(default = "largest_frame")]
        max: Bytes,
    },
    /// Log-normal, cut to a range: what would lie outside has the nearest length.
    LogNormal {
        /// The mean of the lengths that are cut. A size with unit, between `min` and `max`. Required.
        mean: Bytes,
        /// Standard deviation of the natural logarithm before the cut. A number, above 0, at most 5. Required.
        #[schemars(range(min = 0.0, max = 5.0))]
        sigma: f64,
        /// The smallest. A size with unit, 1 to 9238 B. Default: "64 B" (the smallest Ethernet frame).
        #[serde(default = "smallest_frame")]
        min: Bytes,
        /// The largest. A size with unit, 1 to 9238 B. Default: "1522 B" (the largest tagged frame without jumbo support).
        #[serde(default = "largest_frame")]
        max: Bytes,
    },
    /// The path of a CSV file with the columns `bytes` and `weight`, relative to the scenario.
    Empirical(String),
}

/// When frames are due.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SourceText {
    /// Always one frame waiting: takes all that the link gives.
    Greedy,
    /// One frame every `bytes * 8 / rate`.
    Constant {
        /// Rate of the source. A rate with unit, above 0. Required.
        rate: BitRate,
        /// Whether the first frame comes at a random time within the first interval, or at the start. Default: true (sources of one rate would otherwise send in step).
        #[serde(default = "yes")]
        random_phase: bool,
    },
    /// In each frame time of the link a frame with a fixed probability.
    Bernoulli {
        /// Mean rate of the source. A rate with unit, above 0, at most that of the link. Required.
        rate: BitRate,
    },
    /// Exponential gaps between frames.
    Poisson {
        /// Mean rate of the source. A rate with unit, above 0. Required.
        rate: BitRate,
    },
    /// Bursts at the peak rate for a random time, then silence for a random time.
    OnOff {
        /// Rate during a burst. A rate with unit, above 0. Required.
        peak: BitRate,
        /// Length of a burst. Required.
        on: PeriodText,
        /// Length of a silence. Required.
        off: PeriodText,
    },
    /// A transfer that is clocked by acknowledgements; full segments have the length `frame`.
    Window(WindowKeys),
    /// Requests and responses; full segments of either have the length `frame`.
    RequestResponse(RequestResponseKeys),
    /// A transfer over TCP, or several; full segments have the length `frame`.
    Tcp(Box<TcpKeys>),
    /// Exchanges of messages over TCP; full segments have the length `frame`.
    Conversation(Box<ConversationKeys>),
}

/// The random length of an on or off period.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PeriodText {
    /// Exponential with this mean. A time with unit, above 0.
    Exponential(Time),
    /// Pareto, truncated: no period is longer than 100 times `mean`.
    Pareto {
        /// The mean of the truncated periods: none is longer than 100 times it, and the least length is such that the mean holds all the same. A time with unit, above 0. Required.
        mean: Time,
        /// The shape: the smaller, the more of the time lies in few long periods. A number above 1 (below, there is no mean). Required.
        shape: f64,
    },
}

/// A change of a source.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// When. A time with unit, not before the step above. Required.
    pub at: Time,
    /// Whether the source falls silent. Exactly one of `stop` and `start` is true. Default: false.
    #[serde(default)]
    pub stop: bool,
    /// Whether the source sends again. Exactly one of `stop` and `start` is true. Default: false.
    #[serde(default)]
    pub start: bool,
    /// The new rate (the peak rate of an on/off source), with `start`. A rate with unit, above 0. Default: as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}
