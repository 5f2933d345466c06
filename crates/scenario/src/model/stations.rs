//! `[host]`, `[switch]`, their overrides by name, and `[flow_control]`.

use super::{MapKeys, Receive, Send};
use dcbx::Settings;
use fabric::choice::PathChoice;
use fabric::spec::{Forwarding, Queueing, WhenFull};
use flow_control::FlowControl;
use queueing::{DomainKeys, DynamicThreshold, ManagerEntry, MemoryKeys, RateLimiters, TrimmingKeys};
use scheduling::SchedulerSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use transport::NicLimits;
use units::{Amount, Bytes, ClockTolerance, Or, Time, Unlimited};

/// Map from priorities to queues.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Queues {
    /// A common map, by name.
    Named(QueuesWord),
    /// Class of each of the eight priorities, 0 to 7.
    Classes(#[schemars(length(equal = 8))] Vec<u64>),
}

/// Common maps from priorities to queues.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueuesWord {
    /// One queue per priority.
    PerPriority,
    /// One queue for all priorities.
    Shared,
}

/// Settings of hosts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostSettings {
    /// Queues of a port: "per_priority", "shared" (one queue), or a list of eight classes, 0 to 7, one for each priority. Default: "per_priority" (IEEE 802.1Q with eight classes).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "per_priority"))]
    pub queues: Option<Queues>,
    /// Scheduler of the egress queues; `scheduling::KEY` is the description in the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(description = scheduling::KEY)]
    pub scheduler: Option<SchedulerSpec>,
    /// Capacity of each queue of the NIC. A size in bytes or frames, or "unlimited". Default: "unlimited" (limited by the memory of the host).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unlimited"))]
    pub queue_limit: Option<Or<Amount, Unlimited>>,
    /// Reaction of a source to a full queue: "block" (waits; nothing is lost) or "drop". Default: "block" (as in operating systems).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "block"))]
    pub when_full: Option<WhenFull>,
    /// Link-level flow control of these hosts, which react to it, and send it if `receive` limits them: a mechanism by name, or a table of that name with its keys; or "off". Default: the `flow_control` of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_control: Option<FlowControl>,
    /// Receive processing of these hosts. Default: unlimited (as fast as frames arrive).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<Receive>,
    /// Send processing of these hosts, on the cores of `receive`. Default: none (takes no time).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send: Option<Send>,
    /// Rate limiters between sources and NIC: the traffic that shares a limiter, and the control that sets its rate. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limiters: Option<RateLimiters>,
    /// Limits of the NICs of these hosts on outgoing RDMA messages and queue pairs. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rdma: Option<NicLimits>,
    /// Congestion notification domain (IEEE 802.1Qau): the priorities with congestion notification at these stations, and the defence mode of their ports. Default: none (no CN-TAGs; all ports accept all priorities).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_domain: Option<DomainKeys>,
    /// DCBX at the ports of these stations: settings that both ends of a link exchange before the traffic starts. On each link, the result of DCBX replaces `scheduler` and the priorities of flow control. Default: none (all settings apply as configured).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcbx: Option<Settings>,
    /// Maximum frequency error of each clock, in either direction; the error is drawn uniformly from the seed and the name of the station. A station with a fast clock creates and sends frames faster in proportion; pauses, response times and utilisation use the nominal rate. A tolerance in ppm or ppb, at most 1000 ppm. Default: "0 ppm" (synchronous sources stay synchronous; IEEE 802.3 allows 100 ppm).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 ppm"))]
    pub clock_tolerance: Option<ClockTolerance>,
    /// Maximum length of frames that these stations accept, DA to FCS; a flow that sends longer frames through them is an error. A size with unit, 64 B to 9238 B. Default: none (frames of any length).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
}

/// Settings of switches.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchSettings {
    /// Forwarding mode: "store_and_forward" or "cut_through". Default: "store_and_forward" (IEEE 802.1Q bridges).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "store_and_forward"))]
    pub forwarding: Option<Forwarding>,
    /// Forwarding latency: time from the arrival of a frame (cut-through: of its first 64 B) to its entry into the egress queue. A time with unit. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 s"))]
    pub latency: Option<Time>,
    /// Queueing architecture: "output", "virtual_output", or `crossbar` with its keys, like `{ crossbar = { speedup = 2 } }`. Default: "output".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "output"))]
    pub queueing: Option<Queueing>,
    /// Selection among equal-cost paths: "hash", "d_mod_k", "spray", "round_robin", "least_queued", "adaptive", "valiant" or "ugal"; or a table of `hash`, `flowlet`, `adaptive` or `ugal` with its keys, like `{ hash = { fields = ["source", "destination"], seed = 7 } }` or `{ flowlet = { gap = "50 us" } }`. Flows with a `route` keep it. Default: "hash" (ECMP, RFC 2992).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "hash"))]
    pub path_choice: Option<PathChoice>,
    /// Weights of links in the selection among equal-cost paths (weighted ECMP): a table of neighbours, by name, range or pattern, each with a whole number, 1 to 65535, like `{ spine0 = 3, spine1 = 1 }`. Each of several links to a neighbour has its weight; links that are not listed have weight 1. Weights apply to flows with `path_choice` "hash", to frames with "spray", and to bursts with `flowlet`. Default: 1 for all (ECMP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_weights: Option<BTreeMap<String, u64>>,
    /// Queues of a port: "per_priority", "shared" (one queue), or a list of eight classes, 0 to 7, one for each priority. Default: "per_priority" (IEEE 802.1Q with eight classes).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "per_priority"))]
    pub queues: Option<Queues>,
    /// QoS maps: from DSCP to traffic class and color, and from PFC priorities to queues and priority groups. Maps that are not set for a single switch have the value in `switch`. Default: none (one traffic class per priority).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maps: Option<MapKeys>,
    /// Scheduler of the egress queues; `scheduling::KEY` is the description in the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(description = scheduling::KEY)]
    pub scheduler: Option<SchedulerSpec>,
    /// Packet buffer of the switch: its limits, dynamic thresholds or pools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// Queue managers (AQM): each marks frames, drops them early or notifies sources, for some traffic classes. Default: none (tail drop at the limits of the buffer).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_managers: Option<Vec<ManagerEntry>>,
    /// Packet trimming: frames that do not fit into the buffer lose their payload, and their headers continue in a separate queue, so that receivers detect the loss. Default: none (such frames are dropped).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trimming: Option<TrimmingKeys>,
    /// Link-level flow control of these switches: a mechanism by name, or a table of that name with its keys; or "off". Default: the `flow_control` of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_control: Option<FlowControl>,
    /// Congestion notification domain (IEEE 802.1Qau): the priorities with congestion notification at these stations, and the defence mode of their ports. Default: none (no CN-TAGs; all ports accept all priorities).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_domain: Option<DomainKeys>,
    /// DCBX at the ports of these stations: settings that both ends of a link exchange before the traffic starts. On each link, the result of DCBX replaces `scheduler` and the priorities of flow control. Default: none (all settings apply as configured).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcbx: Option<Settings>,
    /// Maximum frequency error of each clock, in either direction; the error is drawn uniformly from the seed and the name of the station. A station with a fast clock creates and sends frames faster in proportion; pauses, response times and utilisation use the nominal rate. A tolerance in ppm or ppb, at most 1000 ppm. Default: "0 ppm" (synchronous sources stay synchronous; IEEE 802.3 allows 100 ppm).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 ppm"))]
    pub clock_tolerance: Option<ClockTolerance>,
    /// Maximum length of frames that these stations accept, DA to FCS; a flow that sends longer frames through them is an error. A size with unit, 64 B to 9238 B. Default: none (frames of any length).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
}

/// Packet buffer of a switch.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Maximum occupancy of the switch: all its queued frames. A size in bytes or frames, or "unlimited". Default: "unlimited".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unlimited"))]
    pub total: Option<Or<Amount, Unlimited>>,
    /// Maximum occupancy of an egress port: all its queued frames. A size in bytes or frames, or "unlimited". Default: "unlimited".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unlimited"))]
    pub port: Option<Or<Amount, Unlimited>>,
    /// Maximum occupancy of a traffic class, summed over all egress ports of the switch. A size in bytes or frames, or "unlimited". Default: "unlimited".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unlimited"))]
    pub class: Option<Or<Amount, Unlimited>>,
    /// Maximum occupancy of a queue: one traffic class of one egress port. A size in bytes or frames, or "unlimited". Default: "unlimited".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unlimited"))]
    pub queue: Option<Or<Amount, Unlimited>>,
    /// Dynamic thresholds of queues that share the memory of the switch, whose size is `total`. With ingress accounting, the thresholds replace `xoff`, `xon` and `headroom` of flow control. Default: none (fixed limits only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_threshold: Option<DynamicThreshold>,
    /// Buffer pools, and profiles of priority groups and queues, as in switch configurations. Pauses need ingress accounting if pools are used, and `xoff`, `xon` and `headroom` of flow control have no effect. Default: none (fixed limits only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryKeys>,
}
