//! `[[faults]]`: faults and their times; and `[host.receive]`: hosts with processing time.

use scheduling::SchedulerSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Or, Time, Unlimited};

fn is_false(value: &bool) -> bool {
    !value
}

/// A fault or a change during the run: exactly one of `down`, `up`, `rate`, `scheduler`, `bit_error_rate`, `pause_loss`, `frame_loss`, `control_frame`, `restart` and `mean_time_between`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Affected link: the names of its two ends. With `mean_time_between` also "any" (each outage affects a link drawn at random); with `bit_error_rate`, `pause_loss` and `frame_loss` also "all". Required, except with `restart`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<FaultLink>,
    /// Index of the link among parallel links, in the order of the topology. A whole number, 0 or more. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// Name of the switch that restarts. Required with `restart`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// Time of the fault; for `control_frame`, time at which its last bit arrives. A time with unit. Required with `down`, `up`, `rate`, `scheduler`, `control_frame` and `restart`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// If true, the link goes down in both directions: frames on it are lost, and both ends discard their pause state. Default: false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub down: bool,
    /// If true, the link comes back up. Default: false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub up: bool,
    /// New rate of the link from `at` on, in both directions, or only towards the end in `towards`. The frame being transmitted completes at the old rate. On a link with a `line_code`, it is the rate on the wire, as in the topology. A rate with unit, 1 Mb/s to 1.6 Tb/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// New settings of a scheduler from `at` on, at the port that sends to `towards`: other weights, or another table of the same kind of scheduler. Queued frames count as arrived at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<SchedulerSpec>,
    /// Bit error rate of the link: probability that a bit of a frame is wrong. A damaged frame is discarded at the receiving end. A number, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub bit_error_rate: Option<f64>,
    /// Probability that a pause frame is lost or damaged. A number, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pause_loss: Option<f64>,
    /// Probability that a frame of a flow is lost on the link, independently in each direction. It does not apply to pause frames (see `pause_loss`). A number, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub frame_loss: Option<f64>,
    /// Injected control frame, which occupies no time on the link: PAUSE, PFC, a congestion message or an LLDPDU. A congestion message must be addressed to a host (02:00:00:00:00:00 plus the number of the station, from 1), and its CN-TAG selects the flow of that host, from 0. Only the congestion notification TLV of an LLDPDU is processed. Frames that are malformed, for another station, or of a protocol that the station does not use are ignored and reported in the table `faults`. Two hexadecimal digits per octet, from the destination address to the last octet before the FCS; spaces and colons between them are ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^([ :]*[0-9A-Fa-f][ :]*[0-9A-Fa-f])+[ :]*$"))]
    pub control_frame: Option<String>,
    /// Direction of the fault, given by the end of the link that receives in it. With `frame_loss`, only frames to this end are lost. With `rate`, only the rate to this end changes. With `control_frame`, the frame arrives at this end. With `scheduler`, the port that sends to this end changes. The name of a host or switch. Only with `rate`, `frame_loss`, `control_frame` and `scheduler`. Default: both directions; required with `control_frame` and `scheduler`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub towards: Option<String>,
    /// Time from which `bit_error_rate`, `pause_loss` or `frame_loss` applies. A time with unit. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
    /// Time until which `bit_error_rate`, `pause_loss` or `frame_loss` applies. A time with unit, after `from`. Default: the duration of the simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Duration of a switch restart. The switch neither sends nor receives during it, and loses all its frames and its pause state. A time with unit, above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<Time>,
    /// Mean time from the end of one random outage to the start of the next, exponentially distributed. A time with unit, above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_time_between: Option<Time>,
    /// Duration of each random outage, or of the outage that begins with `down`. A time with unit, above 0. Required with `mean_time_between`. Default with `down`: until an entry with `up`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Time>,
    /// If true, flows use a shortest path around the failed link or switch, if there is one; flows with a `route` keep it. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reroute: Option<bool>,
    /// Convergence time of routing after the start and after the end of an outage. A time with unit. Only with `reroute`. Default: "50 us" (detection in hardware and a local repair).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Time>,
    /// Fate of frames queued for a link that is down: "lost" (immediately) or "kept" (until the link is up again). Default: "lost".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingFrames>,
}

/// Link of a fault.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FaultLink {
    /// A link, or all links, by keyword.
    Word(LinkWord),
    /// Names of the two ends.
    Between(#[schemars(length(equal = 2))] Vec<String>),
}

/// Links by keyword.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkWord {
    /// One link, drawn at random for each outage.
    Any,
    /// All links.
    All,
}

/// Fate of frames queued for a link that is down.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFrames {
    /// Lost immediately.
    Lost,
    /// Kept until the link is up again.
    Kept,
}

/// Receive processing of a host: each frame occupies a core for `time_per_frame + bytes / rate`; a core processes one frame at a time.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Receive {
    /// Processing time per frame. A time with unit. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 s"))]
    pub time_per_frame: Option<Time>,
    /// Processing rate of the bytes of a frame (DA to FCS), in addition to `time_per_frame`. A rate with unit, above 0, or "unlimited". Default: "unlimited".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unlimited"))]
    pub rate: Option<Or<BitRate, Unlimited>>,
    /// Receive buffer of each port for each priority. With PAUSE or PFC, the host sends XOFF when only the headroom of its link is free, and XON at half of that occupancy. Without flow control, a frame that does not fit is lost. No effect with credit-based flow control, which has its own `buffer`. A size with unit, or "unlimited". Default: "256 KiB" (the NIC of Hagen 2012, chapter 5).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "256 KiB"))]
    pub buffer: Option<Or<Bytes, Unlimited>>,
    /// Number of cores per port; a hash of the flow selects the core that processes a frame (receive-side scaling). A count, 1 to 64. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64), extend("default" = 1))]
    pub cores: Option<u64>,
    /// Interrupt moderation: time from the arrival of the first frame at an idle core to the interrupt that wakes it. A core that is awake processes frames until its queue is empty. A time with unit, at most 1 s. Default: "0 s" (an immediate interrupt).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 s"))]
    pub interrupt_delay: Option<Time>,
    /// Interrupt moderation: number of queued frames at which the interrupt is raised immediately. A count, 1 to 1000000. Default: none (only after `interrupt_delay`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub interrupt_frames: Option<u64>,
    /// Processing time of an interrupt, before the first frame. A time with unit, at most 1 s. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 s"))]
    pub interrupt_time: Option<Time>,
    /// Changes of these settings during the simulation, in order of time. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Vec<ReceiveStep>>,
}

/// Send processing of a host: before the NIC, each frame occupies the core that also processes arrivals of its flow for `time_per_frame + bytes / rate`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// Processing time per frame. A time with unit, at most 1 s. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 s"))]
    pub time_per_frame: Option<Time>,
    /// Processing rate of the bytes of a frame (DA to FCS), in addition to `time_per_frame`. A rate with unit, above 0, or "unlimited". Default: "unlimited".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unlimited"))]
    pub rate: Option<Or<BitRate, Unlimited>>,
    /// Changes of these settings during the simulation, in order of time. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Vec<SendStep>>,
}

/// Change of send processing: `time_per_frame`, `rate` or both.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendStep {
    /// Time of the change. A time with unit, not before that of the previous entry. Required.
    pub at: Time,
    /// New processing time per frame. A time with unit, at most 1 s. Default: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_per_frame: Option<Time>,
    /// New processing rate. A rate with unit, above 0. Default: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}

/// Change of receive processing: a stop or a start.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiveStep {
    /// Time of the change. A time with unit, not before that of the previous entry. Required.
    pub at: Time,
    /// If true, the host stops processing arrivals after the current frame. Exactly one of `stop` and `start` is true. Default: false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stop: bool,
    /// If true, the host resumes processing, with the new `time_per_frame` and `rate` if given. Exactly one of `stop` and `start` is true. Default: false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub start: bool,
    /// New processing time per frame, with `start`. A time with unit. Default: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_per_frame: Option<Time>,
    /// New processing rate, with `start`. A rate with unit, above 0. Default: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}
