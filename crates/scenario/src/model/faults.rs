//! `[[faults]]`: faults and their times; and `[host.receive]`: hosts with processing time.

use scheduling::SchedulerSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Or, Time, Unlimited};

fn is_false(value: &bool) -> bool {
    !value
}

/// Something that goes wrong or is changed: exactly one of `down`, `up`, `rate`, `scheduler`, `bit_error_rate`, `pause_loss`, `frame_loss`, `control_frame`, `restart` and `mean_time_between`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The link: the names of its two ends. With `mean_time_between` also "any" (one of all links is drawn each time), with `bit_error_rate`, `pause_loss` and `frame_loss` also "all". Required, but with `restart`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<FaultLink>,
    /// Number of the link among several parallel ones, in the order of the topology. A number, 0 or more. Default: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The name of the switch that restarts. Required with `restart`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// Time of the fault. A time with unit. Required with `down`, `up`, `rate`, `scheduler`, `control_frame` (when its last bit is there) and `restart`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// If true, the link goes down in both directions: frames on it are lost, and both ends discard their pause state. Default: false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub down: bool,
    /// If true, the link comes back up. Default: false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub up: bool,
    /// The rate of the link from then on, in both directions, or with `towards` in the direction to that end; the frame on the wire completes at its old rate. On a link with a `line_code` it is the rate on the wire, as in the topology. A rate with unit, 1 Mb/s to 1.6 Tb/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// The scheduler, from then on, of the port whose frames are on their way to `towards`: other weights or another table of the kind that the port has. What waits counts as if it came then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<SchedulerSpec>,
    /// The probability of each bit of a frame to be wrong; such a frame is discarded where it arrives. A number, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub bit_error_rate: Option<f64>,
    /// The probability of each pause frame to be lost or damaged. A number, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub pause_loss: Option<f64>,
    /// The probability of each frame of a flow to be lost on the link, in each direction by itself. Pause frames are not: theirs is `pause_loss`. A number, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub frame_loss: Option<f64>,
    /// An injected control frame, which occupies no time on the link: PAUSE, PFC, a congestion message or an LLDPDU. A congestion message must be addressed to a host (02:00:00:00:00:00 plus the number of the station, from 1), and its CN-TAG selects the flow of that host, from 0. Of an LLDPDU only the congestion notification TLV is processed. Frames that are malformed, for another station, or of a protocol that the station does not use are ignored and reported in the table `faults`. Two hexadecimal digits per octet, from the destination to the octet before the FCS; blanks and colons between them are ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^([ :]*[0-9A-Fa-f][ :]*[0-9A-Fa-f])+[ :]*$"))]
    pub control_frame: Option<String>,
    /// The end of the link that the lost frames are on their way to; frames in the other direction are not lost. Or the end that the direction with another `rate` leads to. Or the end where a control frame comes in. The name of a host or switch. Or the end that the frames of a port with another `scheduler` go to. Only with `rate`, `frame_loss`, `control_frame` and `scheduler`. Default: both directions; required with `control_frame` and `scheduler`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub towards: Option<String>,
    /// Start of `bit_error_rate`, `pause_loss` or `frame_loss`. A time with unit. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
    /// End of `bit_error_rate`, `pause_loss` or `frame_loss`. A time with unit, after `from`. Default: the duration of the simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Time for which the switch neither sends nor receives; it loses all its frames and its pause state. A time with
    /// unit, above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<Time>,
    /// Mean time from the end of one random outage to the beginning of the next (exponential). A time with unit, above
    /// 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_time_between: Option<Time>,
    /// Length of each random outage, or of the outage that begins with `down`. A time with unit, above 0. Required with `mean_time_between`. Default with `down`: until an entry with `up`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Time>,
    /// If true, flows take a shortest path without the failed link or switch while there is one; flows with a `route` keep it. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reroute: Option<bool>,
    /// Time until routing has converged, after the outage begins and after it ends. A time with unit. Default: "50 us" (detection in hardware and a local repair). Only with `reroute`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Time>,
    /// Fate of frames queued for a link that is down: "lost" at once, or "kept" until it is back. Default: "lost".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingFrames>,
}

/// Which link.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FaultLink {
    /// A word.
    Word(LinkWord),
    /// The names of its two ends.
    Between(#[schemars(length(equal = 2))] Vec<String>),
}

/// Links without names.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkWord {
    /// One of all, drawn each time.
    Any,
    /// Every one.
    All,
}

/// Fate of frames queued for a link that is down.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFrames {
    /// They are lost at once.
    Lost,
    /// They wait until it is back.
    Kept,
}

/// Receive processing of a host: each frame takes `time_per_frame + bytes / rate` of a core, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Receive {
    /// Processing time of each frame. A time with unit. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 s"))]
    pub time_per_frame: Option<Time>,
    /// The rate at which its bytes (DA to FCS) are processed, on top of that. A rate with unit, above 0, or "unlimited". Default: "unlimited".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unlimited"))]
    pub rate: Option<Or<BitRate, Unlimited>>,
    /// Room of each port for each priority; with flow control the host sends XOFF when only the headroom of its link is left, and XON at half of that level; without flow control, a frame that finds no room is lost. Ignored where flow control grants the room. A size with unit, or "unlimited". Default: "256 KiB" (the NIC of Hagen 2012, chapter 5).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "256 KiB"))]
    pub buffer: Option<Or<Bytes, Unlimited>>,
    /// Cores of each port; a hash of the flow selects the core that takes a frame in. A count, 1 to 64. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64), extend("default" = 1))]
    pub cores: Option<u64>,
    /// Delay from the arrival of the first frame at an idle core to the interrupt that wakes it; a core that is awake processes frames until none is waiting. A time with unit, at most 1 s. Default: "0 s" (an interrupt at once).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 s"))]
    pub interrupt_delay: Option<Time>,
    /// Number of waiting frames at which the interrupt is raised immediately. A count, 1 to 1000000. Default: none (after `interrupt_delay` only).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub interrupt_frames: Option<u64>,
    /// The time an interrupt takes, before the first frame. A time with unit, at most 1 s. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 s"))]
    pub interrupt_time: Option<Time>,
    /// Changes while the simulation runs, in order of time. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Vec<ReceiveStep>>,
}

/// Send processing of a host: before the NIC, each frame takes `time_per_frame + bytes / rate` of the core that also processes
/// arrivals of the flow.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// Processing time of each frame. A time with unit, at most 1 s. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 s"))]
    pub time_per_frame: Option<Time>,
    /// The rate at which its bytes (DA to FCS) are processed, on top of that. A rate with unit, above 0, or "unlimited". Default: "unlimited".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unlimited"))]
    pub rate: Option<Or<BitRate, Unlimited>>,
    /// Changes while the simulation runs, in order of time. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<Vec<SendStep>>,
}

/// A change of what sending costs; at least one of the two costs is given.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendStep {
    /// Time of the step. A time with unit, not before that of the step above. Required.
    pub at: Time,
    /// The time each frame takes from then on. A time with unit, at most 1 s. Default: as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_per_frame: Option<Time>,
    /// The rate at which bytes are processed from then on. A rate with unit, above 0. Default: as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}

/// A change of a receiving host.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiveStep {
    /// Time of the step. A time with unit, not before that of the step above. Required.
    pub at: Time,
    /// If true, the host stops processing arrivals; it finishes the current frame. Exactly one of `stop` and `start` is true. Default: false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stop: bool,
    /// True: it resumes, perhaps at another speed. Exactly one of `stop` and `start` is true. Default: false.
    #[serde(default, skip_serializing_if = "is_false")]
    pub start: bool,
    /// The time each frame takes from then on, with `start`. A time with unit. Default: as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_per_frame: Option<Time>,
    /// The rate at which bytes are processed from then on, with `start`. A rate with unit, above 0. Default: as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}
