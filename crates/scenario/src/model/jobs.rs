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

/// A job: ranks on hosts that run a workload together. Each pair of ranks sets up its connections once and reuses them. A rank sends a message when the messages that it depends on are complete at this rank: its own are acknowledged, those of others delivered.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Unique name; the flow of each sending rank is called `name[host]`. Required.
    pub name: String,
    /// Hosts of the ranks: a host, "all" hosts, a pattern, or a list of these; at least 2 hosts, with one rank each. Required.
    pub ranks: Nodes,
    /// Placement of consecutive ranks: "linear" (in the order in which `ranks` selects hosts; a list allows any placement), "packed" (leaf switch by leaf switch), "spread" (round-robin over the leaf switches), "by_pod" (pod by pod), "by_rail" (rail by rail) or "random" (drawn from the seed and the name). Default: "linear".
    #[serde(default)]
    pub placement: Placement,
    /// Workload of an iteration: a table with `collective`, `goal`, `messages` or `session`. Required.
    pub workload: WorkloadKeys,
    /// Transport of the messages: a table, as in `over` of transfers, or "frames". Each pair of ranks has one queue pair or context in each direction, or with TCP as many connections as messages are in flight at once. With "frames", messages are sent once and never acknowledged: a message counts as sent when its last bit has left the NIC, and a lost frame ends the job with the verdict `hung`. Default: queue pairs with their defaults.
    #[serde(default = "CarrierText::of_jobs")]
    pub over: CarrierText,
    /// Start time of the first iteration. A time with unit. Default: "0 s".
    #[serde(default = "at_start")]
    pub start: Time,
    /// Number of iterations of the workload; each rank begins the next one when its own part of the previous one is complete. A count, 1 to 1000000. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub iterations: u64,
    /// Computation time of each rank before each iteration: a time with unit, or a list of times that iterations use in turn. Default: "0 s".
    #[serde(default)]
    pub compute: ComputeTimes,
    /// Mean of the random addition to each computation, as a fraction of its time: exponentially distributed, drawn for each rank from the seed, also for computations of a schedule. The draws of a rank repeat after 4096 computations. A number, 0 to 10. Default: 0 (none).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 10.0))]
    pub compute_jitter: Option<f64>,
    /// Stragglers: ranks that compute more slowly, as a table of `hosts` and `slowdown`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stragglers: Option<StragglerKeys>,
    /// Processor time per message, at its sender and at its receiver (o of LogGOPS). A time with unit. Default: "0 s".
    #[serde(default = "at_start")]
    pub overhead: Time,
    /// Processor time per byte of a message, in addition to `overhead` (O of LogGOPS). A time with unit, a multiple of 1 ps. Default: "0 s".
    #[serde(default = "at_start")]
    pub overhead_per_byte: Time,
    /// Maximum number of rows of the table `rank_steps` for this job: the sends, receives and computations of as many of the first iterations as fit, each iteration completely or not at all. `penstock why` and the timeline need these rows. A count, 0 to 100000000. Default: 500000.
    #[serde(default = "timeline_rows")]
    #[schemars(range(max = 100_000_000))]
    pub timeline_rows: u64,
    /// Priority of all frames (IEEE 802.1Q). A whole number, 0 to 7. Default: 0 (best effort).
    #[serde(default)]
    #[schemars(range(min = 0, max = 7))]
    pub priority: u64,
    /// DSCP of all frames (RFC 2474), which the `maps` of switches convert to a traffic class. The class in `switch.maps` is also the priority of the frames, so that `priority` can be omitted. A whole number, 0 to 63. Default: none (switches use the priority).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 63))]
    pub dscp: Option<u64>,
    /// Length of full frames, DA to FCS: a size with unit, 1 to 9238 B. Default: "1522 B" (the largest tagged frame without jumbo support).
    #[serde(default = "full_frame")]
    pub frame: Bytes,
    /// Bytes of headers in each frame, for `over` "frames"; over a transport, see its key `headers`. A size with unit, below `frame`, or a preset, as `header` of transfers. Default: "18 B" (Ethernet header and FCS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<HeaderText>,
}
