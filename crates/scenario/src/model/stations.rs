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

/// Settings of hosts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostSettings {
    /// Queues of a port: "per_priority", "shared", or the class (0 to 7) of each of the eight priorities. Default: "per_priority" (IEEE 802.1Q with eight classes).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "per_priority"))]
    pub queues: Option<Queues>,
    /// Which queue sends; the crate of the schedulers describes the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(description = scheduling::KEY)]
    pub scheduler: Option<SchedulerSpec>,
    /// Capacity of each queue of the NIC. A size in bytes or frames, or "unlimited". Default: "unlimited" (limited by the memory of the host).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "unlimited"))]
    pub queue_limit: Option<Or<Amount, Unlimited>>,
    /// Reaction of a source to a full queue: "block" (waits, nothing is lost) or "drop". Default: "block" (as an operating system does).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "block"))]
    pub when_full: Option<WhenFull>,
    /// Link-level flow control that these hosts obey, and send if `receive` holds them up: a kind, or "off". Default: the `flow_control` of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_control: Option<FlowControl>,
    /// Receive processing of these hosts. Default: no limit, as fast as frames arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<Receive>,
    /// The processing time of frames that these hosts send, on the cores of `receive`. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send: Option<Send>,
    /// Rate limiters that frames pass before the NIC: what shares one, and the control that sets their rates. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limiters: Option<RateLimiters>,
    /// Limits of the NICs of these hosts on RDMA messages and queue pairs that they send. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rdma: Option<NicLimits>,
    /// The part of these stations in a congestion notification domain: the priorities with congestion notification, and the defence of ports for them. Default: none (no CN-TAGs; all ports take all priorities).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_domain: Option<DomainKeys>,
    /// DCBX at their ports: settings that the two ends of a link exchange before the traffic. What comes of it takes the place of `scheduler` and of the priorities of flow control, link by link. Default: none (the settings hold as they are).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcbx: Option<Settings>,
    /// The largest error of each clock, in either direction: drawn uniformly from the seed and the name of the station. A fast clock creates and sends frames that much faster; pauses, response times and utilisation count at the nominal rate. A tolerance in ppm or ppb, at most 1000 ppm. Default: "0 ppm" (frames sent in step stay in step; IEEE 802.3 allows 100 ppm).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 ppm"))]
    pub clock_tolerance: Option<ClockTolerance>,
    /// The longest frame that these stations accept, DA to FCS; a flow that sends a longer one through them is an error. A size with unit, 64 B to 9238 B. Default: none (frames of any length).
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
    /// From the arrival of a frame (in cut-through its first 64 B) to its entry into the egress queue. A time with unit. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 s"))]
    pub latency: Option<Time>,
    /// Where frames wait: "output", "virtual_output" or `crossbar` with its keys, like `{ crossbar = { speedup = 2 } }`. Default: "output".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "output"))]
    pub queueing: Option<Queueing>,
    /// Which of several equal paths a frame takes: "hash", or `hash` with fields and a seed, like `{ hash = { fields = ["source", "destination"], seed = 7 } }`; "spray", "round_robin", "least_queued"; `flowlet` with its gap, like `{ flowlet = { gap = "50 us" } }`; or `adaptive` with its keys (quantised queues and pauses). Flows with a route of their own keep it. Default: "hash" (ECMP, RFC 2992).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "hash"))]
    pub path_choice: Option<PathChoice>,
    /// Weights of the links to neighbours in the choice of paths (weighted ECMP): a table of hosts and switches at their other ends, by name, range or pattern, each with a whole number, 1 to 65535, like `{ spine0 = 3, spine1 = 1 }`; each of several links to a neighbour has its weight, and all others have 1. `path_choice` "hash" shares flows by weight, "spray" frames, and `flowlet` bursts. Default: 1 for all (ECMP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_weights: Option<BTreeMap<String, u64>>,
    /// Queues of a port: "per_priority", "shared", or the class (0 to 7) of each of the eight priorities. Default: "per_priority" (IEEE 802.1Q with eight classes).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "per_priority"))]
    pub queues: Option<Queues>,
    /// Maps from DSCP to traffic class, and of the priorities of pauses; a switch takes from all of them what it does not say itself. Default: none (a traffic class for each priority).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maps: Option<MapKeys>,
    /// Which queue sends; the crate of the schedulers describes the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(description = scheduling::KEY)]
    pub scheduler: Option<SchedulerSpec>,
    /// Limits of the memory of the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// Queue managers, which mark, drop early or notify sources, each for some traffic classes. Default: none (tail drop by the limits of the buffer alone).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_managers: Option<Vec<ManagerEntry>>,
    /// Packet trimming: frames that find no room lose their payload, and their headers continue in a queue of their own, so that receivers detect the loss. Default: none (they are dropped).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trimming: Option<TrimmingKeys>,
    /// Link-level flow control of these switches: a kind, or "off". Default: the `flow_control` of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_control: Option<FlowControl>,
    /// The part of these stations in a congestion notification domain: the priorities with congestion notification, and the defence of ports for them. Default: none (no CN-TAGs; all ports take all priorities).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_domain: Option<DomainKeys>,
    /// DCBX at their ports: settings that the two ends of a link exchange before the traffic. What comes of it takes the place of `scheduler` and of the priorities of flow control, link by link. Default: none (the settings hold as they are).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcbx: Option<Settings>,
    /// The largest error of each clock, in either direction: drawn uniformly from the seed and the name of the station. A fast clock creates and sends frames that much faster; pauses, response times and utilisation count at the nominal rate. A tolerance in ppm or ppb, at most 1000 ppm. Default: "0 ppm" (frames sent in step stay in step; IEEE 802.3 allows 100 ppm).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "0 ppm"))]
    pub clock_tolerance: Option<ClockTolerance>,
    /// The longest frame that these stations accept, DA to FCS; a flow that sends a longer one through them is an error. A size with unit, 64 B to 9238 B. Default: none (frames of any length).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Bytes>,
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
    /// The memory in pools, and profiles of priority groups and queues, as switches are configured. With it pauses need ingress accounting, and `xoff`, `xon` and `headroom` of flow control are not used. Default: none (the limits alone).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryKeys>,
}
