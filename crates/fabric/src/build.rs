//! From a checked description to a fabric at time zero.

mod ahead;
mod nodes;
mod series;
mod traffic;

pub use series::{MAX_BINS, MAX_SERIES};
pub(crate) use traffic::start;

use crate::buffers::Buffers;
use crate::event::Event;
use crate::fault_plan::{FaultPlan, Note};
use crate::faults::Faults;
use crate::headroom::frame_bounds;
use crate::hosts::Hosts;
use crate::ledger::Ledger;
use crate::links::Links;
use crate::paths::add_paths;
use crate::pool::NIL;
use crate::port::{ColdPort, HEAD_BYTES, Hooks, Port, PortCounts};
use crate::probes::Probes;
use crate::reroute;
use crate::route_table::RouteTable;
use crate::routing::Wiring;
use crate::selection::asks_scheduler;
use crate::spec::{FaultSpec, NodeSpec, Queueing, Spec};
use crate::spreading::Spreading;
use crate::storms::PortWatch;
use crate::world::Fabric;
use engine::Timer;
use flow_control::pause::{PauseSignal, PauseTimers};
use flow_control::{PauseKind, PauseSpec};
use frame::{CONTROL_FRAME_BYTES, NodeId, Occupancy, PRIORITIES, Route};
use scheduling::{Configuration, PortFacts};
use std::collections::BTreeMap;
use std::fmt;
use units::{BitRate, ClockOffset, Time, WireClock};

/// Why a description cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError(pub String);

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for BuildError {}

/// A fabric at time zero and what is known about it beside.
pub(crate) struct Built {
    pub fabric: Fabric,
    pub wiring: Wiring,
    pub look_ahead: Time,
    /// Flow of each path.
    pub path_flow: Vec<u32>,
    /// What goes wrong, and when.
    pub notes: Vec<Note>,
    /// Time series that are too many to record, in words.
    pub left_out: Vec<String>,
}

fn controlled(spec: &PauseSpec) -> u8 {
    match spec.kind {
        PauseKind::Link => 0xFF,
        PauseKind::Priorities(set) => set,
    }
}

/// Everything that building needs to look up.
pub(crate) struct Plan<'a> {
    pub spec: &'a Spec,
    pub wiring: &'a Wiring,
    /// Shortest and longest frame of any flow.
    pub frames: (u16, u16),
    /// The slowest and the fastest rate of links that change theirs.
    rates: BTreeMap<u32, (BitRate, BitRate)>,
    /// By node, how far its clock is off; empty if all are exact.
    clocks: Vec<ClockOffset>,
}

impl<'a> Plan<'a> {
    pub fn new(spec: &'a Spec, wiring: &'a Wiring) -> Plan<'a> {
        let mut rates = BTreeMap::new();
        for fault in &spec.faults {
            if let FaultSpec::LinkRate { link, rate, .. } = fault {
                let first = spec.links[*link as usize].rate;
                let (slowest, fastest) = rates.entry(*link).or_insert((first, first));
                (*slowest, *fastest) = ((*slowest).min(*rate), (*fastest).max(*rate));
            }
        }
        let clocks = spec.clocks();
        Plan { spec, wiring, frames: frame_bounds(spec), rates, clocks }
    }
    /// How far the clock of a node is off.
    fn clock(&self, node: NodeId) -> ClockOffset {
        self.clocks.get(node.at()).copied().unwrap_or_default()
    }
    /// What the clock of a port's node makes of a rate.
    fn wire_clock(&self, port: u32, rate: BitRate) -> WireClock {
        WireClock::with_offset(rate, self.clock(self.wiring.node_of[port as usize]))
    }
    pub fn node(&self, port: u32) -> &'a NodeSpec {
        &self.spec.nodes[self.wiring.node_of[port as usize].at()]
    }
    pub fn link(&self, port: u32) -> &'a crate::spec::LinkSpec {
        &self.spec.links[self.wiring.link_of[port as usize] as usize]
    }
    /// The slowest and the fastest rate that the link of a port ever has.
    pub fn rates(&self, port: u32) -> (BitRate, BitRate) {
        let rate = self.link(port).rate;
        self.rates.get(&self.wiring.link_of[port as usize]).copied().unwrap_or((rate, rate))
    }
    /// What the scheduler of a port has to know of it.
    pub fn port_facts(&self, port: u32) -> PortFacts {
        let link = self.link(port);
        PortFacts {
            queues: self.node(port).classes().classes() as u32,
            rate: link.rate,
            overhead: u32::from(link.overhead),
            smallest_frame: u32::from(self.frames.0),
            largest_frame: u32::from(self.frames.1),
        }
    }
    /// The least time after which one node can affect another: a shortest frame, or the head of one, or a
    /// pause frame, and what comes after it.
    fn look_ahead(&self, ports: &[Port], cold_ports: &[ColdPort]) -> Time {
        let pausing = self.spec.nodes.iter().any(|node| node.flow_control().is_some());
        let of_port = |(id, (port, cold)): (u32, (&Port, &ColdPort))| {
            let clock = self.wire_clock(id, self.rates(id).1);
            let bytes =
                if port.hooks.has(Hooks::HEADS) { self.frames.0.min(HEAD_BYTES) } else { self.frames.0 };
            let wire = |bytes: u16| clock.span_floor(u64::from(bytes) + u64::from(port.overhead));
            let data = wire(bytes) + port.arrives_after;
            let pause = wire(CONTROL_FRAME_BYTES) + cold.delay + cold_ports[port.peer as usize].response;
            if pausing { data.min(pause) } else { data }
        };
        (0..).zip(ports.iter().zip(cold_ports)).map(of_port).min().unwrap_or(Time::from_us(1))
    }
}

/// Builds the fabric of `spec`.
pub(crate) fn build(spec: &Spec) -> Result<Built, BuildError> {
    let wiring = spec.wiring();
    let plan = Plan::new(spec, &wiring);
    let port_count = wiring.peer.len();
    let connections = spec.flows.iter().filter(|flow| flow.transport.is_some()).count();
    if port_count + spec.flows.len() + 2 * connections > Event::MAX_PLACES {
        return Err(BuildError(format!(
            "{port_count} ports and {} flows are more than the {} that can be told apart",
            spec.flows.len(),
            Event::MAX_PLACES
        )));
    }
    numbered(&plan)?;
    let mut fabric = Fabric {
        node_of: wiring.node_of.iter().map(|node| node.0).collect(),
        nodes: Vec::with_capacity(spec.nodes.len()),
        links: Links::with_capacity(port_count),
        buffers: Buffers::new(),
        routes: RouteTable::default(),
        hosts: Hosts::default(),
        faults: Faults::default(),
        ledger: Ledger { on_lossless_drop: spec.on_lossless_drop, ..Ledger::default() },
        probes: Probes::default(),
    };
    for port in 0..port_count as u32 {
        if let Err(why) = plan.node(port).scheduler().check(&plan.port_facts(port)) {
            return Err(BuildError(format!("scheduler of \"{}\": {why}", plan.node(port).name)));
        }
        add_port(&plan, &mut fabric, port);
    }
    for (id, node) in (0..).zip(&spec.nodes) {
        let node = nodes::make_node(&plan, NodeId(id), node);
        for port in plan.wiring.ports(NodeId(id)) {
            let metered = node.memory.limited || node.pause_sender.is_some() || node.memory.sharing.is_some();
            let hooks = &mut fabric.links.ports[port.at()].hooks;
            hooks.set(Hooks::METERED, metered);
            hooks.set(Hooks::BOUNDED, node.memory.limited || node.memory.sharing.is_some());
        }
        fabric.nodes.push(node);
    }
    let path_flow = add_paths(&plan, &mut fabric)?;
    fabric.routes.spreading = Spreading::new(&plan);
    traffic::add_sources(&plan, &mut fabric);
    traffic::add_endpoints(&plan, &mut fabric);
    nodes::add_receivers(&plan, &mut fabric);
    let notes = add_faults(&plan, &mut fabric, &path_flow)?;
    if fabric.routes.hops.len() > Route::LIMIT as usize {
        let hops = fabric.routes.hops.len();
        return Err(BuildError(format!(
            "all paths together have {hops} hops, more than the {} that can be told apart",
            Route::LIMIT
        )));
    }
    fabric.shrink();
    fabric.check();
    let left_out = series::record(spec, &mut fabric);
    ahead::mark(&plan, &mut fabric);
    let look_ahead = plan.look_ahead(&fabric.links.ports, &fabric.links.cold);
    if look_ahead.ps() < 2 {
        return Err(BuildError("a frame takes less than 2 ps from node to node: that is too fast".into()));
    }
    Ok(Built { look_ahead, fabric, path_flow, wiring, notes, left_out })
}

/// Whether all queues, and the lists of virtual output queues, can be numbered.
fn numbered(plan: &Plan) -> Result<(), BuildError> {
    let lists = (0..plan.spec.nodes.len() as u32).map(NodeId).map(|id| {
        let node = &plan.spec.nodes[id.at()];
        let ports = plan.wiring.ports(id).len() as u64;
        ports * node.classes().classes() as u64 * voqs(node, ports)
    });
    let lists: u64 = lists.sum();
    if lists < u64::from(NIL) {
        return Ok(());
    }
    Err(BuildError(format!(
        "{lists} queues are more than the {NIL} that can be told apart; virtual output queues are one for each pair of ports and class"
    )))
}

/// Lists of a queue: one, or one for each port that a frame may have come in through, and one for none.
fn voqs(node: &NodeSpec, ports: u64) -> u64 {
    let virtual_output = node.switch().is_some_and(|switch| switch.queueing == Queueing::VirtualOutput);
    if virtual_output { ports + 1 } else { 1 }
}

fn add_port(plan: &Plan, fabric: &mut Fabric, port: u32) {
    let (node, link) = (plan.node(port), plan.link(port));
    let peer = plan.wiring.peer[port as usize].0;
    let peer_node = plan.node(peer);
    let first_queue = fabric.buffers.queues.len() as u32;
    let ports = plan.wiring.ports(plan.wiring.node_of[port as usize]).len();
    let voqs = voqs(node, ports as u64) as u32;
    for _ in 0..node.classes().classes() {
        fabric.buffers.add_queue(voqs);
    }
    let obeys = node.flow_control().map_or(0, controlled);
    let watchdog = plan.spec.guards.watchdog.filter(|_| obeys != 0 && node.switch().is_some());
    let mut hooks = Hooks::default();
    hooks.set(Hooks::SCHEDULER, asks_scheduler(node.scheduler()));
    hooks.set(Hooks::HEADS, peer_node.cuts_through());
    hooks.set(Hooks::WATCHED, watchdog.is_some());
    let managers = nodes::managers(plan, port);
    hooks.set(Hooks::MANAGED, !managers.is_empty());
    let hot = Port {
        busy_until: Time::ZERO,
        decision: Timer::IDLE,
        clock: plan.wire_clock(port, link.rate),
        arrives_after: link.delay + peer_node.latency(),
        peer,
        first_queue,
        overhead: link.overhead,
        waiting: 0,
        stopped: 0,
        hooks,
        classes: node.classes(),
    };
    let cold = ColdPort {
        rate: link.rate,
        dead: 0,
        keeps: false,
        clock: plan.clock(plan.wiring.node_of[port as usize]),
        scheduler: node.scheduler().start(&plan.port_facts(port)),
        occupancy: Occupancy::default(),
        delay: link.delay,
        response: plan.response(port),
        obeys,
        timers: PauseTimers::default(),
        signal: PauseSignal::default(),
        causes: [0; PRIORITIES],
        other_causes: Vec::new(),
        nic: node.host().map(|_| Box::default()),
        counts: PortCounts::default(),
        paused: [None; PRIORITIES],
        watch: watchdog.map(|spec| Box::new(PortWatch::new(spec))),
        managers,
        paused_since: Time::ZERO,
        paused_until: Time::ZERO,
    };
    fabric.links.push(hot, cold);
}

fn add_faults(plan: &Plan, fabric: &mut Fabric, path_flow: &[u32]) -> Result<Vec<Note>, BuildError> {
    let faults = FaultPlan::new(plan.spec)?;
    let paths = reroute::changes(plan.spec, plan.wiring, &faults, fabric, path_flow);
    fabric.faults = faults.faults(plan.spec, plan.wiring, paths);
    for ((port, cold), exposure) in
        fabric.links.ports.iter_mut().zip(&fabric.links.cold).zip(&mut fabric.faults.exposures)
    {
        if let Some(exposure) = exposure {
            exposure.fresh = port.hooks.has(Hooks::SCHEDULER).then(|| cold.scheduler.clone());
        }
        port.hooks.set(Hooks::EXPOSED, exposure.is_some());
    }
    Ok(faults.notes(plan.spec))
}
