//! Builds a fabric at time zero from a checked description.

pub(crate) mod advice;
mod ahead;
pub(crate) mod control_frames;
mod copies;
mod distributions;
pub(crate) mod domains;
pub(crate) mod ends;
pub(crate) mod fault_plan;
pub(crate) mod guarantees;
pub(crate) mod headroom;
mod jobs;
mod limiters;
mod link_rates;
mod links;
mod nodes;
pub(crate) mod paths;
pub(crate) mod port_schedulers;
mod prepare;
pub(crate) mod releases;
mod reroute;
mod scheduler_changes;
mod series;
pub(crate) mod shards;
mod ties;
pub(crate) mod traffic;
mod updates;
mod ways;
pub(crate) mod whole;

pub(crate) use nodes::pool_profiles;
pub use prepare::refusal;
pub use series::{MAX_BINS, MAX_SERIES, MEMORY as SERIES_MEMORY, default_bin};
pub(crate) use traffic::start;

use crate::build::domains::DomainPlan;
use crate::build::fault_plan::Note;
use crate::build::headroom::frame_bounds;
use crate::build::limiters::LimiterPlan;
use crate::build::link_rates::LinkRates;
use crate::build::paths::Paths;
use crate::build::prepare::{Prepared, prepare};
use crate::build::shards::Split;
use crate::build::whole::WHOLE;
use crate::run::fabric::Fabric;
use crate::run::state::buffers::Buffers;
use crate::run::state::contention::Contention;
use crate::run::state::copies::Copies;
use crate::run::state::event::{Event, Place};
use crate::run::state::faults::Faults;
use crate::run::state::headers::Headers;
use crate::run::state::hosts::Hosts;
use crate::run::state::index::{NodeIx, PortIx};
use crate::run::state::ledger::Ledger;
use crate::run::state::links::Links;
use crate::run::state::nic::Nic;
use crate::run::state::node::NodeOf;
use crate::run::state::numbering::Numbering;
use crate::run::state::own::NodeLocal;
use crate::run::state::port::{ColdPort, HEAD_BYTES, LinkTiming, Port, PortCounts, PortFeatures};
use crate::run::state::probes::Probes;
use crate::run::state::retry::RetryState;
use crate::run::state::route_table::RouteTable;
use crate::run::state::spreading::Spreading;
use crate::run::state::storms::PortWatch;
use crate::run::state::view::NodeView;
use crate::run::steps::selection::needs_scheduler;
use crate::run::steps::stages;
use crate::spec::routing::Wiring;
use crate::spec::{Negotiated, NodeSpec, Spec, Subject};
use engine::Timer;
use flow_control::llr::ORDERED_SET_BYTES;
use frame::{CONTROL_FRAME_BYTES, ClassMap, NodeId, Occupancy, PortId};
use keys::Remark;
use queueing::Color;
use scheduling::{Configuration, PortFacts, SchedulerSpec, Selector};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use units::{BitRate, ClockOffset, Time, WireClock};

/// Reason why a description cannot be built. The checks of a scenario report it too: see [`refusal`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// Node, fault or flow concerned.
    pub subject: Subject,
    /// The error, and its path relative to the subject.
    pub remark: Remark,
}

impl BuildError {
    pub(crate) fn new(subject: Subject, remark: Remark) -> BuildError {
        BuildError { subject, remark }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.remark.fmt(f)
    }
}
impl std::error::Error for BuildError {}

/// A fabric at time zero, and facts about it that a run does not change.
pub(crate) struct Built {
    /// One part per thread, each with its own nodes.
    pub parts: Vec<Fabric>,
    pub split: Split,
    pub wiring: Wiring,
    /// See [`Simulation::look_ahead`](crate::Simulation::look_ahead).
    pub look_ahead: Time,
    pub reach: Time,
    /// Flow of each path.
    pub path_flow: Arc<[u32]>,
    /// Start of each path in the table of hops, before any change of routes.
    pub starts: Arc<[u32]>,
    /// Fault events of the run, with their times.
    pub notes: Vec<Note>,
    /// Descriptions of the time series that are not recorded because there are too many.
    pub left_out: Vec<String>,
}

/// Lookup tables for building.
pub(crate) struct Plan<'a> {
    pub spec: &'a Spec,
    pub wiring: &'a Wiring,
    /// Length of the shortest and of the longest frame of any flow.
    pub frames: (u16, u16),
    /// Links whose rates change.
    rates: LinkRates,
    /// Clock offset by node; empty if all clocks are exact.
    clocks: Vec<ClockOffset>,
    limiters: LimiterPlan,
    domains: DomainPlan,
}

impl<'a> Plan<'a> {
    pub fn new(spec: &'a Spec, wiring: &'a Wiring) -> Plan<'a> {
        let rates = LinkRates::new(spec);
        let clocks = spec.clocks();
        let limiters = LimiterPlan::new(spec);
        let domains = DomainPlan::new(spec, wiring);
        Plan { spec, wiring, frames: frame_bounds(spec), rates, clocks, limiters, domains }
    }
    /// Offset of the clock of a node.
    fn clock(&self, node: NodeId) -> ClockOffset {
        self.clocks.get(node.at()).copied().unwrap_or_default()
    }
    /// Wire clock of a port: its link rate as timed by the clock of its node.
    fn wire_clock(&self, port: u32, rate: BitRate) -> WireClock {
        WireClock::with_offset(rate, self.clock(self.wiring.node_of[port as usize]))
    }
    pub fn node(&self, port: u32) -> &'a NodeSpec {
        &self.spec.nodes[self.wiring.node_of[port as usize].at()]
    }
    pub fn link(&self, port: u32) -> &'a crate::spec::LinkSpec {
        &self.spec.links[self.wiring.link_of[port as usize] as usize]
    }
    fn negotiated(&self, port: u32) -> Option<&'a Negotiated> {
        self.spec.negotiated(self.wiring.link_of[port as usize], self.wiring.node_of[port as usize])
    }
    /// The traffic classes of a port.
    pub fn classes(&self, port: u32) -> ClassMap {
        self.node(port).classes_to(self.wiring.neighbour(PortId(port)))
    }
    /// The scheduler of a port.
    pub fn scheduler(&self, port: u32) -> &'a SchedulerSpec {
        let own = self.negotiated(port).and_then(|own| own.scheduler.as_ref());
        own.unwrap_or_else(|| self.node(port).scheduler())
    }
    /// The priorities that a port can pause and be paused for.
    pub fn paused(&self, port: u32) -> u8 {
        self.spec.paused(self.wiring.link_of[port as usize], self.wiring.node_of[port as usize])
    }
    /// Number of endpoints: two for each connection.
    fn endpoints(&self) -> usize {
        let connected = self.spec.flows.iter().filter(|flow| flow.transport.is_some());
        2 * connected.map(|flow| flow.source.destinations.count()).sum::<usize>()
    }
    /// Number of ports, sources, endpoints and limiters together.
    fn places(&self) -> usize {
        self.wiring.peer.len() + self.spec.flows.len() + self.endpoints() + self.limiters.limiters.len()
    }
    /// Facts about a port for its scheduler.
    pub fn port_facts(&self, port: u32) -> PortFacts {
        let link = self.link(port);
        PortFacts {
            queues: self.node(port).classes().classes() as u32,
            rate: self.rate(port),
            overhead: u32::from(link.overhead),
            smallest_frame: u32::from(self.frames.0),
            largest_frame: u32::from(self.frames.1),
        }
    }
    /// Rate that is guaranteed to the data frames of a port: the slowest rate of its link by its own clock, minus the
    /// maximum share of credit updates.
    pub fn certain_rate(&self, port: u32) -> BitRate {
        let rate =
            self.rates(port).0.bps_f64() * self.clock(self.wiring.node_of[port as usize]).factor().min(1.0);
        let updates = self.node(port).credits().map_or(0.0, |own| {
            // Maximum rate of updates: one each time that enough credit has been freed, and one per channel at each
            // timeout.
            let shortest = u32::from(self.frames.0) + u32::from(self.link(port).overhead);
            let after = f64::from((own.update_after * own.unit).max(shortest).max(own.cf_min_spacing));
            let channels = own.channels.classes() as f64;
            let bits = f64::from(own.update_bytes) * 8.0;
            let waited = if own.update_within == Time::NEVER {
                0.0
            } else {
                channels / own.update_within.as_secs_f64()
            };
            f64::from(own.update_bytes) / after * self.rates(port).1.bps_f64() + bits * waited
        });
        BitRate::from_bps((rate - updates).max(0.0) as u64)
    }
    /// Minimum time after which a node can affect another: the time of a shortest frame or its head, a pause frame, a
    /// credit update or a control ordered set, with the delay of the link and of the receiver. `None` if there are no
    /// links.
    fn look_ahead(&self) -> Option<Time> {
        let pausing = self.spec.nodes.iter().any(|node| node.pauses().is_some());
        let of_port = |port: u32| {
            let (link, peer) = (self.link(port), self.wiring.peer[port as usize].0);
            let receiver = self.node(peer);
            let clock = self.wire_clock(port, self.rates(port).1);
            let bytes = if receiver.cuts_through() { self.frames.0.min(HEAD_BYTES) } else { self.frames.0 };
            let wire = |bytes: u16| clock.span_floor(u64::from(bytes) + u64::from(link.overhead));
            let data = wire(bytes) + link.delay + receiver.latency();
            let pause = wire(CONTROL_FRAME_BYTES) + link.delay + self.response(peer);
            let data = if pausing { data.min(pause) } else { data };
            let data = receiver.credits().map_or(data, |credits| data.min(link.delay + credits.update_delay));
            let ordered_set = || clock.span_floor(ORDERED_SET_BYTES) + link.delay;
            if link.llr.is_some() { data.min(ordered_set()) } else { data }
        };
        (0..self.wiring.peer.len() as u32).map(of_port).min()
    }
}

/// Inputs from which a part of the fabric is built.
pub(crate) struct Part<'a> {
    pub plan: &'a Plan<'a>,
    split: &'a Split,
    number: usize,
}

impl Part<'_> {
    pub fn owns(&self, node: NodeId) -> bool {
        self.split.part_of(node) == self.number
    }
    /// The nodes of the part, and its ports, as ranges of the numbers of the whole fabric.
    fn nodes(&self) -> Range<u32> {
        self.split.nodes(self.number)
    }
    pub fn ports(&self) -> Range<u32> {
        self.split.ports(self.number)
    }
    /// Index of a node or port within the part that owns it.
    pub fn node(&self, node: NodeId) -> NodeIx {
        NodeIx::of(node.0 - self.split.nodes(self.split.part_of(node)).start, WHOLE)
    }
    pub fn port(&self, port: u32) -> PortIx {
        let owner = self.split.part_of(self.plan.wiring.node_of[port as usize]);
        PortIx::of(port - self.split.ports(owner).start, WHOLE)
    }
}

/// Builds the fabric of `spec` as this number of parts, in parallel.
pub(crate) fn build(spec: &Spec, parts: usize) -> Result<Built, BuildError> {
    let wiring = spec.wiring();
    let plan = Plan::new(spec, &wiring);
    let Prepared { mut paths, faults, all_faults, forks, look_ahead } = prepare(&plan)?;
    let forks = Arc::new(forks);
    let split = Split::new(&wiring, &paths, parts);
    let routes = RouteTable {
        hops: std::mem::take(&mut paths.hops).into(),
        path_start: std::mem::take(&mut paths.starts).into(),
        peers: wiring.peer.iter().map(|peer| peer.0).collect(),
        colors: colors(spec, &paths),
        ..RouteTable::default()
    };
    let starts = Arc::clone(&routes.path_start);
    let mut parts = build_parts(&plan, &split, &paths, &routes, all_faults);
    if !forks.at.is_empty() {
        for part in &mut parts {
            part.copies = Copies::new(Arc::clone(&forks), part.links.len(), paths.flows.len());
        }
    }
    let mut first_queue = 0;
    for part in &mut parts {
        part.numbering.first_queue = first_queue;
        first_queue += part.buffers.queues.len() as u32;
    }
    let numbers = domains::flow_numbers(spec, &paths.flows, &paths.destinations);
    parts.iter_mut().for_each(|part| part.hosts.flow_numbers = Arc::clone(&numbers));
    let path_flow: Arc<[u32]> = std::mem::take(&mut paths.flows).into();
    let left_out = series::record(spec, &wiring, &mut parts, &path_flow);
    parts.iter_mut().for_each(|part| ahead::mark(&plan, part));
    let (reach, notes) = (ahead::reach(&plan).saturating_add(look_ahead), faults.notes(spec));
    Ok(Built { parts, split, look_ahead, reach, path_flow, starts, notes, wiring, left_out })
}

/// Color of the frames by path; empty if all are green.
fn colors(spec: &Spec, paths: &Paths) -> Arc<[Color]> {
    if spec.flows.iter().all(|flow| flow.color == Color::Green) {
        return Arc::default();
    }
    paths.flows.iter().map(|&flow| spec.flows[flow as usize].color).collect()
}

/// Builds the parts, each on its own thread.
fn build_parts(
    plan: &Plan,
    split: &Split,
    paths: &Paths,
    routes: &RouteTable,
    faults: Faults,
) -> Vec<Fabric> {
    let Faults { mut schedules, events, actions, schedulers, domains } = faults;
    let spreading = Spreading::new(plan.spec, plan.wiring);
    let own_schedules = |number| schedules.drain(..split.ports(number).len().min(schedules.len())).collect();
    let schedules: Vec<Vec<_>> = (0..split.parts()).map(own_schedules).collect();
    let part = |(number, schedules): (usize, Vec<_>)| {
        let part = Part { plan, split, number };
        let own = RouteTable {
            hops: routes.hops.clone(),
            path_start: routes.path_start.clone(),
            peers: routes.peers.clone(),
            colors: routes.colors.clone(),
            first_port: part.ports().start,
            path_source: Vec::new(),
            spreading: spreading
                .as_ref()
                .map(|spreading| spreading.part(plan.spec, plan.wiring, part.nodes())),
        };
        let (actions, schedulers) = (Arc::clone(&actions), Arc::clone(&schedulers));
        let domains = Arc::clone(&domains);
        let faults = Faults { schedules, events: Vec::new(), actions, schedulers, domains };
        build_part(&part, paths, own, faults, &events)
    };
    std::thread::scope(|scope| {
        let part = &part;
        let mut numbered = schedules.into_iter().enumerate();
        let first = numbered.next();
        let others: Vec<_> = numbered.map(|own| scope.spawn(move || part(own))).collect();
        let first = first.map(part);
        let join = |other: std::thread::ScopedJoinHandle<'_, _>| {
            other.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
        };
        first.into_iter().chain(others.into_iter().map(join)).collect()
    })
}

/// Builds one part.
fn build_part(part: &Part, paths: &Paths, routes: RouteTable, faults: Faults, events: &[Event]) -> Fabric {
    let (plan, spec) = (part.plan, part.plan.spec);
    let node_of = NodeOf(part.ports().map(|port| part.node(plan.wiring.node_of[port as usize])).collect());
    let view = NodeView {
        numbering: Numbering {
            first_node: part.nodes().start,
            first_port: part.ports().start,
            first_queue: 0,
            all_ports: plan.wiring.peer.len() as u32,
            all_flows: spec.flows.len() as u32,
            all_places: plan.places() as u32,
        },
        node_of,
        nodes: Vec::with_capacity(part.nodes().len()).into(),
        pause_senders: NodeLocal::default(),
        links: Links::with_capacity(part.ports().len(), spec.numbers()),
        buffers: Buffers::new(part.ports().map(|port| plan.node(port).classes().classes()).sum()),
        ingress: NodeLocal::default(),
        headers: Headers::default(),
        telemetry: NodeLocal::default(),
        routes,
        hosts: Hosts::default(),
        faults,
        copies: Copies::default(),
        ledger: Ledger { on_lossless_drop: spec.on_lossless_drop, ..Ledger::default() },
        probes: Probes { alike: ties::apart(spec), ..Probes::new(part.nodes()) },
        horizon: Time::ZERO,
        deciding: false,
        deferred: Default::default(),
    };
    let mut fabric = Fabric::new(view, WHOLE);
    for port in part.ports() {
        add_port(part, &mut fabric, port);
    }
    fabric.links.start_managers();
    for id in part.nodes().map(NodeId) {
        nodes::add_node(part, id, &spec.nodes[id.at()], &mut fabric);
        nodes::mark_counted(part, id, &mut fabric);
    }
    traffic::make_room(part, &mut fabric);
    traffic::add_sources(part, paths, &mut fabric);
    traffic::add_endpoints(part, paths, &mut fabric);
    limiters::add_limiters(part, &mut fabric);
    traffic::add_receivers(part, paths, &mut fabric);
    releases::add(part, &mut fabric);
    jobs::add(part, &mut fabric);
    nodes::add_counters(part, &mut fabric);
    traffic::add_faults(part, events, &mut fabric);
    fault_plan::mark_faulted(&mut fabric);
    updates::set_polled_updates(part, &mut fabric);
    fabric.shrink();
    fabric.check();
    fabric
}

/// Classes whose frames use virtual channels with a bypass queue, bit n for class n.
pub(crate) fn bypass_classes(spec: &Spec, node: &NodeSpec) -> u32 {
    let Some(credits) = node.credits() else { return 0 };
    let bypassed = spec.flows.iter().filter(|flow| flow.bypassable && credits.has_bypass(flow.priority));
    bypassed.fold(0, |classes, flow| classes | 1 << node.classes().class(flow.priority).0)
}

/// Returns the features that the node and the link of a port give it.
fn features_of(plan: &Plan, port: u32) -> PortFeatures {
    let (node, link) = (plan.node(port), plan.link(port));
    let mut features = PortFeatures::default();
    features.set(PortFeatures::SCHEDULER, needs_scheduler(plan.scheduler(port)));
    features.set(PortFeatures::CREDITS, node.credits().is_some());
    features.set(PortFeatures::CROSSBAR, node.crossbar().is_some());
    features.set(PortFeatures::RETRY, link.llr.is_some());
    features
}

fn add_port(part: &Part, fabric: &mut Fabric, port: u32) {
    let plan = part.plan;
    let (node, link) = (plan.node(port), plan.link(port));
    let (peer, own) = (plan.wiring.peer[port as usize].0, plan.wiring.node_of[port as usize]);
    let peer_node = plan.node(peer);
    let first_queue = fabric.buffers.queues.next_key(WHOLE);
    let voqs = nodes::voqs(node, plan.wiring.ports(own).len() as u64) as u32;
    let bypass = bypass_classes(plan.spec, node);
    for class in 0..node.classes().classes() {
        match bypass >> class & 1 != 0 {
            true => fabric.buffers.add_queue_with_bypass(voqs),
            false => fabric.buffers.add_queue(voqs),
        }
    }
    let obeys = plan.paused(port);
    let watchdog = plan.spec.guards.watchdog.filter(|_| obeys != 0 && node.switch().is_some());
    let managed = nodes::add_managers(plan, port, (first_queue, &mut fabric.links.managers));
    let mut features = features_of(plan, port).or(stages::of_node(node));
    features.set(PortFeatures::WATCHED, watchdog.is_some());
    features.set(PortFeatures::MANAGED, managed);
    let hot = Port {
        busy_until: Time::ZERO,
        decision: Timer::IDLE,
        clock: plan.wire_clock(port, plan.rate(port)),
        timing: LinkTiming::new(link.delay + peer_node.latency(), link.overhead),
        arrives_as: Place::of_arrivals(peer_node.cuts_through(), part.port(peer)),
        first_queue,
        waiting: 0,
        stopped: 0,
        features,
        classes: plan.classes(port),
    };
    let cold = ColdPort {
        former: Vec::new(),
        rate: plan.rate(port),
        arrival_rate: plan.rate(peer),
        down: 0,
        keeps: false,
        clock: plan.clock(own),
        peer_clock: plan.clock(plan.wiring.node_of[peer as usize]),
        arrives_by: plan.wire_clock(peer, plan.rate(peer)),
        scheduler: Selector::new(plan.scheduler(port).start(&plan.port_facts(port))),
        contention: needs_scheduler(plan.scheduler(port))
            .then(|| Box::new(Contention::new(node.classes().classes()))),
        occupancy: Occupancy::default(),
        delay: link.delay,
        control: links::link_control(plan, port),
        stops_until: Time::ZERO,
        counts: PortCounts::default(),
        watch: watchdog.map(PortWatch::new).map(Box::new),
        notes_departures: false,
        notes_emptying_only: false,
        sole_source: None,
        remap: node.remap_to(plan.wiring.node_of[peer as usize]).copied(),
        domain: plan.domains.at_start.get(port as usize).map(|&domain| Box::new(domain)),
        trimming: nodes::trimming(plan, port),
        retry: link.llr.map(|spec| Box::new(RetryState::new(spec))),
    };
    let nic = node.host().map(|host| Nic::new(host.cores_that_send(), node.classes().classes()));
    fabric.links.push(hot, nic, cold, plan.wiring.node_of[peer as usize].0);
}
