//! `[[jobs]]`: ranks that run a workload together.

use super::{CarrierText, HeaderText};
use jobs::{ComputeTimes, Placement, StragglerKeys, WorkloadKeys};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};
use workload::Nodes;

fn at_start() -> Time {
    Time::ZERO
}
fn one() -> u64 {
    1
}
fn timeline_rows() -> u64 {
    500_000
}
fn full_frame() -> Bytes {
    Bytes::new(u64::from(frame::MAX_TAGGED_FRAME_BYTES))
}

/// A job: ranks at hosts that run a workload together, over connections that are made once for each pair of ranks and used again. A message waits for others at its rank: those that it has sent are acknowledged, those of others have been delivered.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Unique name; each rank that sends is a flow called `name[host]`. Required.
    pub name: String,
    /// The hosts of the ranks: a host, "all" hosts, a pattern, or a list of these; at least 2, one rank each. Required.
    pub ranks: Nodes,
    /// Placement of ranks: "linear" (in the order in which `ranks` selects hosts; a list allows any placement), "packed" (hosts of one leaf switch follow each other), "spread" (one host of each leaf switch after the other), "by_pod" (hosts of one pod follow each other), "by_rail" (those of one rail) or "random" (drawn from the seed and the name). Default: "linear".
    #[serde(default)]
    pub placement: Placement,
    /// Workload of an iteration: a table with `collective` or `goal`. Required.
    pub workload: WorkloadKeys,
    /// Carrier of the messages: a table of a transport, as in `over` of transfers; each pair of ranks has one queue pair in each direction, or as many connections as messages are under way at once. Or "frames": sent once and never acknowledged, so that a message has been sent when its last bit has left the NIC, and a lost frame ends the job with the verdict `hung`. Default: queue pairs with their defaults.
    #[serde(default = "CarrierText::of_jobs")]
    pub over: CarrierText,
    /// Start of the first iteration. A time with unit. Default: "0 s".
    #[serde(default = "at_start")]
    pub start: Time,
    /// Repetitions of the workload; each rank begins the next one when its own part of the last is over. A count, 1 to 1000000. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub iterations: u64,
    /// Computation time of each rank before each iteration: a time with unit, or a list of times that iterations use in turn. Default: "0 s".
    #[serde(default)]
    pub compute: ComputeTimes,
    /// Mean of a random addition to each computation, including those of a schedule, as a share of its time: exponential, drawn for each rank from the seed; the draws of a rank repeat after 4096 computations. A number, 0 to 10. Default: 0 (none).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 10.0))]
    pub compute_jitter: Option<f64>,
    /// Ranks that compute more slowly: a table with `hosts` and `slowdown`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stragglers: Option<StragglerKeys>,
    /// Time that a message occupies the processor of its sender, and of its receiver (o of LogGOPS). A time with unit. Default: "0 s".
    #[serde(default = "at_start")]
    pub overhead: Time,
    /// Time that each byte of a message occupies these processors, in addition to `overhead` (O of LogGOPS). A time with unit, a multiple of 1 ps. Default: "0 s".
    #[serde(default = "at_start")]
    pub overhead_per_byte: Time,
    /// Rows of the table `rank_steps` for this job, at most: the sends, receives and computations of as many of the first iterations as fit, all of an iteration or none. `penstock why` and the timeline need them. A count, 0 to 100000000. Default: 500000.
    #[serde(default = "timeline_rows")]
    #[schemars(range(max = 100_000_000))]
    pub timeline_rows: u64,
    /// Priority of all frames (IEEE 802.1Q). A whole number, 0 to 7. Default: 0 (best effort).
    #[serde(default)]
    #[schemars(range(min = 0, max = 7))]
    pub priority: u64,
    /// DSCP of all frames (RFC 2474), of which switches make a traffic class by their `maps`; its class is also the priority of the frames; `priority` can then be omitted. A whole number, 0 to 63. Default: none (switches use the priority).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 63))]
    pub dscp: Option<u64>,
    /// Length of full frames, DA to FCS: a size with unit, 1 to 9238 B. Default: "1522 B" (the largest tagged frame without jumbo support).
    #[serde(default = "full_frame")]
    pub frame: Bytes,
    /// Bytes of each frame that do not belong to the message, `over` "frames"; over a transport see its key `headers`. A size with unit, below `frame`, or a preset, as `header` of transfers. Default: "18 B" (Ethernet header and FCS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderText>,
}
