//! A checked description of a simulation: the result of reading a scenario, and the only input of a
//! [`crate::Simulation`]. Plain data; a [`Spec`] that passed [`audit`](fn@crate::audit) is valid.

pub mod choice;
mod cores;
pub(crate) mod detours;
pub mod digits;
mod domain;
mod faults;
pub mod forwarding;
mod guards;
mod job;
pub(crate) mod multicast;
mod negotiated;
mod pattern;
mod plain;
mod ports;
mod probes;
mod remap;
mod route_error;
pub mod routing;
pub mod topology;
pub(crate) mod transfer_wait;
pub mod tuple;
mod waiting;
mod way;
pub mod weights;

pub use self::cores::{CoreChange, InterruptSpec, ReceiveSpec, SendSpec};
pub use self::domain::Domain;
pub use self::faults::{ControlContent, FaultSpec, Reaction};
pub use self::guards::{GuardSpec, OnDeadlock, Skip};
pub use self::job::JobSpec;
pub use self::negotiated::{Negotiated, NegotiatedFeature};
pub use self::pattern::{Pattern, matches, range};
pub use self::ports::with_port;
pub use self::probes::{Probe, ProbeSpec, Watched, Which};
pub use self::remap::{Remap, with_new_priorities};
pub use self::transfer_wait::{KnownEnd, TransferEnds, TransferRef, TransferWait};
pub use self::waiting::Queueing;
pub use self::way::Way;

use crate::spec::choice::PathChoice;
use crate::spec::routing::Wiring;
use crate::spec::tuple::Tuple;
use crate::spec::weights::Weights;
use flow_control::{Accounting, Control, CreditSpec, LlrSpec, PauseSpec};
use frame::{ClassMap, NodeId, Ports, Priority};
use queueing::{Color, CrossbarKeys};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use transport::ConnectionSpec;
use units::{Amount, BitRate, Bytes, ClockOffset, ClockTolerance, Time};
use workload::{SourceSpec, below};

/// A whole simulation.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Seed of all random streams.
    pub seed: u64,
    /// Seed of the hash that selects one of several shortest paths. Separate from `seed`, so that a new seed of the
    /// traffic does not change paths.
    pub path_seed: u64,
    /// When the simulation ends.
    pub duration: Time,
    /// End of the warm-up, at which measurement begins. Totals and statistics cover the time from then on, including
    /// frames that were sent before.
    pub warmup: Time,
    /// Hosts and switches; a [`NodeId`] is an index here.
    pub nodes: Vec<NodeSpec>,
    /// Full-duplex links; several between the same two nodes are allowed.
    pub links: Vec<LinkSpec>,
    /// One entry per sending host and flow.
    pub flows: Vec<FlowSpec>,
    /// Recordings in addition to the totals.
    pub probes: ProbeSpec,
    /// Reaction to the loss of a frame of a lossless class.
    pub on_lossless_drop: OnLosslessDrop,
    /// Injected faults and their times.
    pub faults: Vec<FaultSpec>,
    /// Conditions monitored while the simulation runs.
    pub guards: GuardSpec,
    /// By link, the result of the negotiation of each end (`a`, then `b`) before the traffic; empty without
    /// negotiation.
    pub negotiated: Vec<[Option<Negotiated>; 2]>,
    /// By node, its configuration in a congestion notification domain; empty if there is no domain.
    pub domains: Vec<Option<Domain>>,
    /// Transfers that start at the end of other ones.
    pub waits: Vec<TransferWait>,
    /// Jobs, whose ranks post messages over some of the flows.
    pub jobs: Vec<JobSpec>,
}

/// Subject of a finding, at which the path of its remark begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The settings of this node, its own or shared ones.
    Node(NodeId),
    /// The settings of all nodes.
    Scenario,
    /// An entry of [`Spec::faults`].
    Fault(usize),
    /// An entry of [`Spec::flows`].
    Flow(usize),
}

impl Spec {
    /// Number of values of a frame's priority: eight, or the number of virtual channels where links have more.
    pub(crate) fn numbers(&self) -> usize {
        let widest = self.nodes.iter().map(|node| node.classes().classes()).max();
        widest.unwrap_or_default().max(frame::PRIORITIES)
    }

    /// The priorities of all frames that may be sent, including messages: bit n for priority n.
    pub fn priorities_in_use(&self) -> u32 {
        self.with_alternates(priorities_of(&self.nodes, &self.flows))
    }
}

/// The priorities of all frames that may be sent between these nodes: bit n for priority n.
pub fn priorities_of(nodes: &[NodeSpec], flows: &[FlowSpec]) -> u32 {
    let managers = nodes.iter().filter_map(NodeSpec::switch).flat_map(|switch| switch.managers.all());
    let messages = managers.filter_map(queueing::Configuration::message_priority);
    let trimming = nodes.iter().filter_map(|node| node.switch()?.trimming.as_ref());
    let trimmed =
        trimming.flat_map(|own| [own.priority].into_iter().chain(own.priority_to.iter().map(|to| to.1)));
    let limiters = nodes.iter().filter_map(|node| node.host()?.limiters.as_ref());
    let tags =
        limiters.filter_map(|limiters| queueing::RateConfiguration::return_priority(&limiters.control));
    let answers = flows.iter().filter_map(|flow| flow.transport.as_deref());
    let answers = answers.flat_map(ConnectionSpec::reply_priorities).map(|priority| priority.0);
    let flows = flows.iter().map(|flow| flow.priority.0);
    with_new_priorities(
        nodes,
        flows
            .chain(answers)
            .chain(messages)
            .chain(tags)
            .chain(trimmed)
            .fold(0, |set, priority| set | 1 << priority),
    )
}

impl Spec {
    /// Adjacency of the nodes: which link is attached to which port.
    pub(crate) fn wiring(&self) -> Wiring {
        let ends: Vec<(NodeId, NodeId)> = self.links.iter().map(|link| (link.a, link.b)).collect();
        Wiring::new(self.nodes.len(), &ends).with_costs(self.links.iter().map(|link| link.cost))
    }
    /// Clock offset by node; empty if all clocks are exact.
    pub(crate) fn clocks(&self) -> Vec<ClockOffset> {
        if self.nodes.iter().all(|node| node.clock_tolerance == ClockTolerance::EXACT) {
            return Vec::new();
        }
        let clock = |node: &NodeSpec| {
            let mut random = engine::stream(self.seed, &format!("node/{}/clock", node.name));
            node.clock_tolerance.offset(below(&mut random, 2 * u64::from(node.clock_tolerance.ppb()) + 1))
        };
        self.nodes.iter().map(clock).collect()
    }
}

impl NodeSpec {
    /// Settings of a host; `None` for a switch.
    pub fn host(&self) -> Option<&HostSpec> {
        match &self.role {
            Role::Host(host) => Some(host),
            Role::Switch(_) => None,
        }
    }
    /// Name of a memory pool of the node.
    pub fn pool_name(&self, pool: u8) -> &str {
        let pools = self.switch().and_then(|switch| switch.pools.as_ref());
        pools.and_then(|spec| spec.pools.get(usize::from(pool))).map_or("", |pool| &pool.name)
    }
    /// Settings of a switch; `None` for a host.
    pub fn switch(&self) -> Option<&SwitchSpec> {
        match &self.role {
            Role::Switch(switch) => Some(switch),
            Role::Host(_) => None,
        }
    }
    pub(crate) fn classes(&self) -> ClassMap {
        match &self.role {
            Role::Host(host) => host.classes,
            Role::Switch(switch) => switch.classes,
        }
    }
    pub(crate) fn scheduler(&self) -> &scheduling::SchedulerSpec {
        match &self.role {
            Role::Host(host) => &host.scheduler,
            Role::Switch(switch) => &switch.scheduler,
        }
    }
    /// Link-level flow control of the node, if it has any.
    pub fn flow_control(&self) -> Option<&Control> {
        match &self.role {
            Role::Host(host) => host.flow_control.as_ref(),
            Role::Switch(switch) => switch.flow_control.as_ref(),
        }
    }
    /// Credits of its links, if it has credit-based flow control.
    pub fn credits(&self) -> Option<&CreditSpec> {
        self.flow_control().and_then(Control::credits)
    }
    /// Pauses that the node sends and obeys; `None` if it has none.
    pub fn pauses(&self) -> Option<&PauseSpec> {
        self.flow_control().and_then(Control::pauses)
    }
    /// Crossbar of the switch; `None` for hosts and for switches without one.
    pub fn crossbar(&self) -> Option<&CrossbarKeys> {
        match &self.switch()?.queueing {
            Queueing::Crossbar(keys) => Some(keys),
            Queueing::Output | Queueing::VirtualOutput => None,
        }
    }
    pub(crate) fn latency(&self) -> Time {
        self.switch().map_or(Time::ZERO, |switch| switch.latency)
    }
    pub(crate) fn cuts_through(&self) -> bool {
        self.switch().is_some_and(|switch| switch.forwarding == Forwarding::CutThrough)
    }
}

/// A host or a switch.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// Unique name.
    pub name: String,
    /// Role and settings: host or switch.
    pub role: Role,
    /// Tolerance of its clock; the actual offset is drawn from the seed and the name. The offset scales the rates of
    /// its links and of its sources.
    pub clock_tolerance: ClockTolerance,
    /// The longest frame that it accepts, DA to FCS; `None`: any.
    pub mtu: Option<u16>,
}

/// Role of a node. Nodes with the same settings share them.
#[derive(Clone, Debug)]
pub enum Role {
    /// An end station with one or more links.
    Host(Arc<HostSpec>),
    /// A switch.
    Switch(Arc<SwitchSpec>),
}

/// An end station.
#[derive(Clone, Debug)]
pub struct HostSpec {
    /// Queues of the NIC.
    pub classes: ClassMap,
    /// Scheduler among the queues.
    pub scheduler: scheduling::SchedulerSpec,
    /// Capacity of the NIC for each class; `None`: unlimited.
    pub queue_limit: Option<Amount>,
    /// Reaction of a source to a full queue in the NIC.
    pub when_full: WhenFull,
    /// Link-level flow control of its links. The host sends pauses only if `receive` is limited.
    pub flow_control: Option<Control>,
    /// Receive processing; `None`: unlimited.
    pub receive: Option<ReceiveSpec>,
    /// Processing of frames before they are sent; `None`: takes no time.
    pub send: Option<SendSpec>,
    /// The rate limiters in front of the NIC; `None`: there are none.
    pub limiters: Option<LimiterSpec>,
    /// Limits of its NIC on messages and queue pairs; `None`: none.
    pub nic_limits: Option<transport::NicLimits>,
}

impl HostSpec {
    /// Number of cores that process frames to be sent; 1 if sending takes no core.
    pub fn cores_that_send(&self) -> u32 {
        let receive = self.receive.as_ref().filter(|_| self.send.is_some());
        receive.map_or(1, |receive| receive.cores)
    }
    /// Changes of its cores, as scripted for receiving and sending.
    pub fn core_changes(&self) -> Vec<(Time, CoreChange)> {
        let receive = self.receive.iter().flat_map(|receive| &receive.script);
        receive.chain(self.send.iter().flat_map(|send| &send.script)).copied().collect()
    }
}

/// The rate limiters of an end station.
#[derive(Clone, Copy, Debug)]
pub struct LimiterSpec {
    /// Source of their rates.
    pub control: queueing::RateControlSpec,
    /// Scope of a limiter: which frames share one.
    pub per: queueing::LimiterScope,
    /// Priorities whose frames pass a limiter: bit n for priority n.
    pub priorities: u8,
    /// Time of continuous limiting after which frames are marked; `None`: never.
    pub mark_after: Option<Time>,
    /// Bytes of priorities above the lowest that may exceed the rate.
    pub priority_burst: Bytes,
}

/// Reaction of a source to a full queue in the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// Waits until a frame has left (back-pressure; nothing is lost).
    Block,
    /// Drops the frame, counted as a drop in the NIC.
    Drop,
}

/// A switch.
#[derive(Clone, Debug)]
pub struct SwitchSpec {
    /// Time at which a frame may leave, relative to its arrival.
    pub forwarding: Forwarding,
    /// From the frame's arrival (its first 64 B in cut-through) to its entry into the egress queue.
    pub latency: Time,
    /// Queueing architecture.
    pub queueing: Queueing,
    /// Selection among equal-cost paths.
    pub path_choice: PathChoice,
    /// Weights of the equal paths.
    pub weights: Arc<Weights>,
    /// Traffic classes of each port.
    pub classes: ClassMap,
    /// Scheduler among the queues of a port.
    pub scheduler: scheduling::SchedulerSpec,
    /// Buffer limits.
    pub buffer: queueing::BufferSpec,
    /// Memory shared by its queues; `None`: only the limits of `buffer` apply.
    pub shared_memory: Option<queueing::SharedMemorySpec>,
    /// Memory pools, used in place of `shared_memory`.
    pub pools: Option<Arc<queueing::PoolsSpec>>,
    /// Queue managers by traffic class and port; each queue has its own instance.
    pub managers: queueing::ManagerAssignment,
    /// Link-level flow control of its links.
    pub flow_control: Option<Control>,
    /// Remaps of the priority of frames to certain neighbours; empty if all frames keep theirs.
    pub remaps: Vec<Remap>,
    /// Trimming of frames that do not fit; `None`: they are dropped.
    pub trimming: Option<queueing::TrimmingSpec>,
}

impl SwitchSpec {
    /// Returns true if its queues share a memory.
    pub fn shares_memory(&self) -> bool {
        self.shared_memory.is_some() || self.pools.is_some()
    }
    /// Pauses that the switch sends and obeys; `None` if it has none.
    pub fn pauses(&self) -> Option<&PauseSpec> {
        self.flow_control.as_ref().and_then(Control::pauses)
    }
    /// Number of queues with a reserved minimum in a shared memory, for this many ports: each traffic class of each
    /// egress port, and, if pauses are decided at ingress, each lossless priority of each ingress port (one for all
    /// priorities with PAUSE).
    pub fn queues_of_memory(&self, ports: u64) -> u64 {
        let by_ingress = |own: &&PauseSpec| own.accounting == Accounting::Ingress;
        let counters = self.pauses().filter(by_ingress).map_or(0, |own| own.kind.counters());
        ports * (self.classes.classes() as u64 + counters)
    }
}

/// Forwarding mode of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Forwarding {
    /// Store and forward: a frame may leave after its last bit has arrived.
    StoreAndForward,
    /// Cut-through: a frame may leave after its first 64 B have arrived, unless the egress link is faster than the ingress link.
    CutThrough,
}

/// A full-duplex link.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Data rates from `a` and from `b`: the signalling rate less the overhead of the line code, where the link has
    /// one.
    pub rates: [BitRate; 2],
    /// The rates as configured: signalling rates, where the link has a line code.
    pub wire_rates: [BitRate; 2],
    /// One-way delay of cable and interfaces.
    pub delay: Time,
    /// One-way delay of the cable alone; a scenario selects ports by cable length.
    pub cable: Time,
    /// Bytes around each frame on the wire (preamble and inter-frame gap).
    pub overhead: u16,
    /// Maximum pause response time of the PHY of this link; `None`: the maximum for the rate. The configured response
    /// time of a station takes precedence.
    pub response_time: Option<Time>,
    /// Routing cost of the link in either direction, at least 1: frames take the paths of minimum total cost. Links of
    /// hosts cost 1.
    pub cost: u32,
    /// Link-level retry in both directions; `None`: damaged frames are lost.
    pub llr: Option<LlrSpec>,
}

impl LinkSpec {
    /// Returns the direction in which an end sends: 0 from `a`, 1 from `b`.
    pub fn direction_from(&self, end: NodeId) -> usize {
        usize::from(end != self.a)
    }
    /// Returns the rate of the slower direction.
    pub fn slowest(&self) -> BitRate {
        self.rates[0].min(self.rates[1])
    }
    /// Returns the rate of the faster direction.
    pub fn fastest(&self) -> BitRate {
        self.rates[0].max(self.rates[1])
    }
    /// Returns true if a change that applies to the direction `towards` a node (`None`: to both directions) affects
    /// this direction.
    pub fn changes(&self, towards: Option<NodeId>, direction: usize) -> bool {
        towards.is_none_or(|end| self.direction_from(end) != direction)
    }
    /// Returns the rate of the data that an end sends.
    pub fn rate_from(&self, end: NodeId) -> BitRate {
        self.rates[self.direction_from(end)]
    }
}

/// The traffic of one sending host.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Unique name.
    pub name: String,
    /// The sending host, or a switch, at which whole frames then appear instantaneously.
    pub from: NodeId,
    /// Priority of all frames.
    pub priority: Priority,
    /// Start, amount, pattern and destinations of its frames.
    pub source: SourceSpec,
    /// The color of all frames.
    pub color: Color,
    /// Routing of its frames.
    pub way: Way,
    /// Ports of its frames, if the scenario sets them. Each transfer has its own ports.
    pub ports: Option<Ports>,
    /// By destination, the tuple that switches hash, if it differs from that of the flow. A source of transfers has one
    /// destination for each path that its transfers take: see [`Spec::distinguish_paths`].
    pub tuples: Vec<Tuple>,
    /// The endpoints at the host and at its destination, which send in place of `source`; only the destination of
    /// `source` is used. With scheduled transfers there are endpoints for each destination, and the list of `source` is
    /// used too. `None`: the source pushes frames.
    pub transport: Option<Arc<ConnectionSpec>>,
    /// True if its frames may be bypassed in channels with a bypass queue. Of a connection, this covers the frames that
    /// its own end sends.
    pub bypassable: bool,
}

impl FlowSpec {
    /// Returns true if its senders set an entropy value in each frame, by which switches select the path.
    pub fn gives_entropy(&self) -> bool {
        self.transport.as_deref().is_some_and(ConnectionSpec::gives_entropy)
    }
    /// The length of the shortest and of the longest frame that it sends in either direction, DA to FCS.
    pub fn frame_bounds(&self) -> (u16, u16) {
        match &self.transport {
            Some(connection) => (connection.shortest_frame(), connection.longest_frame()),
            None => self.source.frame_bounds(),
        }
    }
}

/// Reaction to the loss of a frame of a lossless class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnLosslessDrop {
    /// Stops the run and reports port, class, occupancy, threshold and the headroom that was needed.
    #[default]
    Stop,
    /// Continues, and counts a headroom violation.
    Count,
}
