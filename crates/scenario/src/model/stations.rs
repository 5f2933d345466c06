//! `[host]`, `[switch]`, their overrides by name, and `[flow_control]`.

use super::Receive;
use queueing::{DynamicThreshold, ManagerEntry};
use scheduling::SchedulerSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, ClockTolerance, Computed, Or, Standard, Time, Unlimited};

/// Which queue each priority uses.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Queues {
    /// A word.
    Named(QueuesWord),
    /// The class of each of the eight priorities, 0 to 7.
    Classes(#[schemars(length(equal = 8))] Vec<u64>),
}

/// Common ways to map priorities to queues.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueuesWord {
    /// One queue a priority.
    PerPriority,
    /// One queue for all.
    Shared,
}

/// What a source does when its queue in the network card is full.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// Waits until a frame has left, then goes on; nothing is lost.
    Block,
    /// Drops the frame.
    Drop,
}

/// When a frame may leave a switch.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Forwarding {
    /// After its last bit has arrived.
    StoreAndForward,
    /// After its first 64 B, unless the egress link is faster than the ingress link.
    CutThrough,
}

/// How frames wait in a switch.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Queueing {
    /// One queue a traffic class and egress port.
    Output,
    /// One queue a traffic class, egress port and ingress port, served in turn.
    VirtualOutput,
}

/// Which of several equal paths a frame takes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathChoice {
    /// One path a flow, by a hash of flow and switch (ECMP).
    Hash,
    /// A random port for each frame.
    Spray,
    /// The ports in turn.
    RoundRobin,
    /// The port with the fewest bytes waiting; a random one of several.
    LeastQueued,
    /// A random port for each burst of a flow.
    Flowlet(Flowlet),
}

/// How the bursts of a flow are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flowlet {
    /// A flow that has sent nothing for this long begins a new burst. A time with unit, above 0; frames stay in order if it exceeds the spread of delays between the paths. Required.
    pub gap: Time,
    /// Entries of the table of a switch; flows that share one share their bursts. A power of two, 1 to 1048576. Default: 65536 (CONGA, SIGCOMM 2014, section 3.4).
    #[serde(default = "flowlet_entries")]
    #[schemars(range(min = 1, max = 1_048_576))]
    pub entries: u64,
}

fn flowlet_entries() -> u64 {
    65_536
}

/// Settings of hosts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostSettings {
    /// Queues of the network card: "per_priority", "shared", or the class (0 to 7) of each of the eight priorities. Default: "per_priority" (IEEE 802.1Q with eight classes).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "per_priority"))]
    pub queues: Option<Queues>,
    /// Which queue sends: the name of a scheduler, like "strict_priority", "fifo" (for one queue only) or "drr", or a table of that name with its keys, like `[host.scheduler.drr]`. Default: "strict_priority" (IEEE 802.1Q 8.6.8.1), or "fifo" when there is one queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<SchedulerSpec>,
    /// Room of the network card for each queue. A size in bytes or frames, or "unlimited". Default: "unlimited" (the memory of a host).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unlimited"))]
    pub queue_limit: Option<Or<Amount, Unlimited>>,
    /// What a source does when there is no room: "block" (waits, nothing is lost) or "drop". Default: "block" (as an operating system does).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "block"))]
    pub when_full: Option<WhenFull>,
    /// Link-level flow control that these hosts obey, and send if `receive` holds them up: `pause`, `pfc` or "off". Default: the `flow_control` of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_control: Option<FlowControl>,
    /// How these hosts take in what arrives. Default: at any speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<Receive>,
    /// How far the clock of each of these hosts may be off, in either direction: by how much is drawn, uniformly, from the seed of the scenario and the name of the station. A fast clock makes frames and sends them that much faster. Pauses, response times and utilisation are counted at the nominal rate. A tolerance in ppm or ppb, at most 1000 ppm. Default: "0 ppm" (equal clocks, so that frames sent in step stay in step for ever; IEEE 802.3 allows each station 100 ppm).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 ppm"))]
    pub clock_tolerance: Option<ClockTolerance>,
}

/// Settings of switches.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchSettings {
    /// When a frame may leave: "store_and_forward" or "cut_through". Default: "store_and_forward" (IEEE 802.1Q bridges).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "store_and_forward"))]
    pub forwarding: Option<Forwarding>,
    /// From the arrival of a frame (in cut-through its first 64 B) to its entry into the egress queue. A time with unit. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 s"))]
    pub latency: Option<Time>,
    /// How frames wait: "output" or "virtual_output". Default: "output".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "output"))]
    pub queueing: Option<Queueing>,
    /// Which of several equal paths a frame takes: "hash", "spray", "round_robin", "least_queued" or `flowlet` with its gap, like `{ flowlet = { gap = "50 us" } }`. Flows with a route of their own keep it. Default: "hash" (ECMP, RFC 2992).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "hash"))]
    pub path_choice: Option<PathChoice>,
    /// Queues of a port: "per_priority", "shared", or the class (0 to 7) of each of the eight priorities. Default: "per_priority" (IEEE 802.1Q with eight classes).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "per_priority"))]
    pub queues: Option<Queues>,
    /// Which queue sends: the name of a scheduler, like "strict_priority", "fifo" (for one queue only) or "drr", or a table of that name with its keys, like `[switch.scheduler.drr]`. Default: "strict_priority" (IEEE 802.1Q 8.6.8.1), or "fifo" when there is one queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<SchedulerSpec>,
    /// Limits of the memory of the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// Queue managers, which mark, drop early or tell sources: entries of `red`, `step` or `sampling`, each for some traffic classes. Default: none (tail drop by the limits of the buffer alone).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_managers: Option<Vec<ManagerEntry>>,
    /// Link-level flow control of these switches: `pause`, `pfc` or "off". Default: the `flow_control` of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_control: Option<FlowControl>,
    /// How far the clock of each of these switches may be off, in either direction: by how much is drawn, uniformly, from the seed of the scenario and the name of the station. A fast clock sends frames that much faster. Pauses, response times and utilisation are counted at the nominal rate. A tolerance in ppm or ppb, at most 1000 ppm. Default: "0 ppm" (equal clocks, so that frames sent in step stay in step for ever; IEEE 802.3 allows each station 100 ppm).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 ppm"))]
    pub clock_tolerance: Option<ClockTolerance>,
}

/// A watchdog for pause storms: a queue that is kept paused for too long is reported, emptied or let go.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Watchdog {
    /// A queue that has been paused for this long without a gap, with frames waiting, is in a storm. A time with unit, above 0. Default: "200 ms" (as switches in use have it).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "200 ms"))]
    pub detection_time: Option<Time>,
    /// A queue that has not been paused for this long is in a storm no more. A time with unit. Default: "200 ms" (as switches in use have it).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "200 ms"))]
    pub restoration_time: Option<Time>,
    /// What is done during a storm: only "report" it, "drop" what waits and what comes, or "forward", that is, ignore the pauses. Default: "drop" (as switches in use have it).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "drop"))]
    pub action: Option<StormAction>,
}

/// What a watchdog does during a storm.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StormAction {
    /// Tells of it.
    Report,
    /// Drops what waits and what comes.
    Drop,
    /// Ignores the pauses.
    Forward,
}

/// Limits of the memory of a switch.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// All waiting frames of the switch. A size in bytes or frames, or "unlimited". Default: "unlimited".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unlimited"))]
    pub total: Option<Or<Amount, Unlimited>>,
    /// All waiting frames of one egress port. A size in bytes or frames, or "unlimited". Default: "unlimited".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unlimited"))]
    pub port: Option<Or<Amount, Unlimited>>,
    /// All waiting frames of one traffic class of the switch. A size in bytes or frames, or "unlimited". Default: "unlimited".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unlimited"))]
    pub class: Option<Or<Amount, Unlimited>>,
    /// Waiting frames of one queue: one traffic class of one egress port. A size in bytes or frames, or "unlimited". Default: "unlimited".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unlimited"))]
    pub queue: Option<Or<Amount, Unlimited>>,
    /// Dynamic thresholds of queues that share the memory of the switch, which is `total`. With ingress accounting they take the place of `xoff`, `xon` and `headroom` of flow control. Default: none (the limits alone).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_threshold: Option<DynamicThreshold>,
}

/// Link-level flow control: one of these.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowControl {
    /// None.
    #[default]
    Off,
    /// PAUSE of IEEE 802.3 Annex 31B: stops the whole link.
    Pause(PauseSettings),
    /// Priority-based flow control of IEEE 802.1Qbb: stops single priorities.
    Pfc(PauseSettings),
}

/// Settings of PAUSE, PFC and TPFC.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseSettings {
    /// Lossless priorities, 0 to 7 each; `pfc` only. Default: all priorities that flows use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priorities: Option<Vec<u64>>,
    /// Where the occupancy is counted that is held against the watermarks: "ingress" (the port that a frame came in through; that port is paused) or "egress" (the queue it waits in; the other ports are paused). Default: "ingress" (as PFC devices do).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "ingress"))]
    pub accounting: Option<Accounting>,
    /// High watermark: at or above it, XOFF is sent. A size in bytes or frames, or "computed"; together with `xon`. Default: "computed" for each port from the headroom of its link, so that nothing is lost and no queue runs dry. Switches with a `dynamic_threshold` that count at the ingress ignore it, `xon` and `headroom`: the threshold is their XOFF.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "computed"))]
    pub xoff: Option<Or<Amount, Computed>>,
    /// Low watermark: at or below it, XON is sent. A size in bytes or frames, below `xoff`, or "computed"; together with `xoff`. Default: "computed".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "computed"))]
    pub xon: Option<Or<Amount, Computed>>,
    /// Room above `xoff` for what the link still has in flight; ingress accounting only. A size in bytes or frames, or "computed". Default: "computed" (IEEE 802.1Qbb Annex O).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "computed"))]
    pub headroom: Option<Or<Amount, Computed>>,
    /// Length of a pause in quanta of 512 bit times of the link, counted from the end of the pause frame's reception. The pause takes effect a response time after that end, so it stops the link for its length less the response time, and one that is no longer than the response time never acts. A renewed pause has to be longer by a longest frame and three pause frames. A count, 1 to 65535. Default: 65535 (most devices send the longest and rely on XON).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 65535), range(min = 1, max = 65535))]
    pub pause_quanta: Option<u64>,
    /// Whether XON is sent at the low watermark; it ends the pause a response time after its reception. Without it a pause ends by its timer alone, `pause_quanta` after the reception of the last XOFF. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub resume: Option<bool>,
    /// Whether a pause is renewed, early enough to go on without a gap, while the queue stays above the low watermark. Without it frames come again when the pause ends, and can be lost where the queue is still full. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub refresh: Option<bool>,
    /// From the end of a pause frame's reception to its effect at this station, XOFF and XON alike. The end of a pause does not move with it: that is `pause_quanta` after the end of the reception, or a response time after that of an XON. Headroom computed for the station at the other end of a link counts on it. A time with unit, or "standard". Default: "standard" (the limit that IEEE 802.3 sets for the rate or the PHY of the link).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "standard"))]
    pub response_time: Option<Or<Time, Standard>>,
    /// Targeted PFC (Hagen 2012, section 7.2): pauses only the link partners that fill the queue; `pfc` with egress accounting only. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
}

/// Where occupancy is counted.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Accounting {
    /// By the port and priority that frames came in through.
    Ingress,
    /// By egress queue.
    Egress,
}

/// Targeted PFC.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// How the link partners to pause are found: "fair_bandwidth" (all with more than a fair share of the queue; Hagen 2012, Appendix B), "random_sampling" (the sender of a frame drawn from the queue; Appendix A) or "max_min" (the fewest that bring the queue back, the heaviest first; Penstock's own). Required.
    pub method: TargetMethod,
    /// Target watermark: at or above it the search begins. A size in bytes or frames, between `xon` and `xoff`; with "max_min" the room up to `xoff` is what one partner has in flight. Required.
    pub watermark: Amount,
    /// When a random sample is drawn: "one_shot" (when the watermark is crossed) or "every_enqueue" (at each frame above it). Default: "one_shot".
    #[serde(default)]
    pub sampling: Sampling,
}

/// How targets are found.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetMethod {
    /// Every ingress port with more than its fair share of the queue.
    FairBandwidth,
    /// The ingress port of a frame drawn at random from the queue.
    RandomSampling,
    /// The fewest ingress ports that bring the queue back, the heaviest first; each goes on in its turn.
    MaxMin,
}

/// When targets are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// Once each time the watermark is crossed.
    #[default]
    OneShot,
    /// At every frame above the watermark.
    EveryEnqueue,
}
