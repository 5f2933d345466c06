//! From a checked description to a fabric at time zero.

use crate::endpoints::{EndpointState, RAW};
use crate::event::{Event, Kind, Queued};
use crate::fault_plan::{FaultPlan, Note};
use crate::faults::Faults;
use crate::headroom::{frame_bounds, receive_buffer};
use crate::losses::Drops;
use crate::managed::Managed;
use crate::paths::add_paths;
use crate::pool::{List, Pool};
use crate::port::{Hooks, Line, LineCounts, Port, Queue, Sent};
use crate::receive::Receiving;
use crate::reroute;
use crate::routing::Wiring;
use crate::selection::asks_scheduler;
use crate::sharing::Sharing;
use crate::sources::SourceState;
use crate::spec::{FaultSpec, NodeSpec, Queueing, Role, Spec, WhenFull};
use crate::spreading::Spreading;
use crate::station::{PauseTiming, Station};
use crate::storms::PortWatch;
use crate::world::{DELIVER, Fabric, HEAD_BYTES, Ledger, Node, Recorded};
use engine::{Timer, stream};
use flow_control::pause::{PauseSignal, PauseTimers};
use flow_control::pfc::IngressMeter;
use flow_control::tpfc::EgressMeter;
use flow_control::{Accounting, PauseKind, PauseSpec};
use frame::{CONTROL_FRAME_BYTES, NodeId, Occupancy, PRIORITIES, PortId};
use measure::{BinnedMax, BinnedSum};
use queueing::{BufferSpec, LinkFacts, ManagerSpec, SharedMemory};
use scheduling::{Configuration, PortFacts};
use std::collections::BTreeMap;
use std::fmt;
use units::{BitRate, ClockOffset, Time, WireClock};
use workload::Source;

/// Series are recorded for at most this many flows, ports or queues; beyond, totals only. The key `bin` of a
/// scenario names this limit and the next.
pub const MAX_SERIES: usize = 256;
/// Bins of all series of one kind together; each becomes a row of some hundred bytes in the result.
pub const MAX_BINS: u64 = 1_000_000;

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
    fn look_ahead(&self, ports: &[Port], lines: &[Line]) -> Time {
        let pausing = self.spec.nodes.iter().any(|node| node.flow_control().is_some());
        let of_port = |(id, (port, line)): (u32, (&Port, &Line))| {
            let clock = self.wire_clock(id, self.rates(id).1);
            let bytes =
                if port.hooks.has(Hooks::HEADS) { self.frames.0.min(HEAD_BYTES) } else { self.frames.0 };
            let wire = |bytes: u16| clock.span_floor(u64::from(bytes) + u64::from(port.overhead));
            let data = wire(bytes) + port.arrives_after;
            let pause = wire(CONTROL_FRAME_BYTES) + line.delay + lines[port.peer as usize].response;
            if pausing { data.min(pause) } else { data }
        };
        (0..).zip(ports.iter().zip(lines)).map(of_port).min().unwrap_or(Time::from_us(1))
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
    let mut fabric = Fabric {
        node_of: wiring.node_of.iter().map(|node| node.0).collect(),
        nodes: Vec::with_capacity(spec.nodes.len()),
        ports: Vec::with_capacity(port_count),
        sent: vec![Sent::default(); port_count],
        lines: Vec::with_capacity(port_count),
        queues: Vec::new(),
        lanes: Vec::new(),
        pool: Pool::new(),
        spreading: None,
        hops: Vec::new(),
        path_start: Vec::new(),
        path_source: Vec::new(),
        sources: Vec::new(),
        endpoints: Vec::new(),
        endpoint_of_path: Vec::new(),
        receivers: Vec::new(),
        drops: Drops::new(),
        recorded: Recorded::default(),
        ledger: Ledger::default(),
        on_lossless_drop: spec.on_lossless_drop,
        failure: None,
        faults: Faults::default(),
        receiving: Vec::new(),
    };
    for port in 0..port_count as u32 {
        if let Err(why) = plan.node(port).scheduler().check(&plan.port_facts(port)) {
            return Err(BuildError(format!("scheduler of \"{}\": {why}", plan.node(port).name)));
        }
        add_port(&plan, &mut fabric, port);
    }
    for (id, node) in (0..).zip(&spec.nodes) {
        let node = make_node(&plan, NodeId(id), node);
        for port in plan.wiring.ports(NodeId(id)) {
            let metered = node.limited || node.station.is_some() || node.sharing.is_some();
            let hooks = &mut fabric.ports[port.at()].hooks;
            hooks.set(Hooks::METERED, metered);
            hooks.set(Hooks::BOUNDED, node.limited || node.sharing.is_some());
        }
        fabric.nodes.push(node);
    }
    let path_flow = add_paths(&plan, &mut fabric)?;
    fabric.spreading = Spreading::new(&plan);
    add_sources(&plan, &mut fabric);
    add_endpoints(&plan, &mut fabric);
    add_receivers(&plan, &mut fabric);
    let notes = add_faults(&plan, &mut fabric, &path_flow)?;
    fabric.shrink();
    let left_out = record(spec, &mut fabric);
    let look_ahead = plan.look_ahead(&fabric.ports, &fabric.lines);
    if look_ahead.ps() < 2 {
        return Err(BuildError("a frame takes less than 2 ps from node to node: that is too fast".into()));
    }
    Ok(Built { look_ahead, fabric, path_flow, wiring, notes, left_out })
}

fn add_port(plan: &Plan, fabric: &mut Fabric, port: u32) {
    let (node, link) = (plan.node(port), plan.link(port));
    let peer = plan.wiring.peer[port as usize].0;
    let peer_node = plan.node(peer);
    let first_queue = fabric.queues.len() as u32;
    let virtual_output = node.switch().is_some_and(|switch| switch.queueing == Queueing::VirtualOutput);
    // One lane more than ports: for frames that came in through none.
    let ports = plan.wiring.ports(plan.wiring.node_of[port as usize]).len();
    let lanes = if virtual_output { ports as u32 + 1 } else { 1 };
    for _ in 0..node.classes().classes() {
        fabric.queues.push(Queue::new(fabric.lanes.len() as u32, lanes));
        fabric.lanes.extend(std::iter::repeat_n(List::EMPTY, lanes as usize));
    }
    let obeys = node.flow_control().map_or(0, controlled);
    let watchdog = plan.spec.guards.watchdog.filter(|_| obeys != 0 && node.switch().is_some());
    let mut hooks = Hooks::default();
    hooks.set(Hooks::SCHEDULER, asks_scheduler(node.scheduler()));
    hooks.set(Hooks::HEADS, peer_node.cuts_through());
    hooks.set(Hooks::WATCHED, watchdog.is_some());
    let managers = managers(plan, port);
    hooks.set(Hooks::MANAGED, !managers.is_empty());
    fabric.ports.push(Port {
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
    });
    fabric.lines.push(Line {
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
        counts: LineCounts::default(),
        paused: [None; PRIORITIES],
        watch: watchdog.map(|spec| Box::new(PortWatch::new(spec))),
        managers,
        paused_since: Time::ZERO,
        paused_until: Time::ZERO,
    });
}

/// The queue managers of a port, each with a random stream of its own.
fn managers(plan: &Plan, port: u32) -> Vec<Option<Box<Managed>>> {
    let (node, link) = (plan.node(port), plan.link(port));
    let specs = node.switch().map_or(&[][..], |switch| &switch.managers);
    let local = plan.wiring.local(PortId(port));
    let facts = LinkFacts { rate: link.rate, overhead: u32::from(link.overhead) };
    let of_class = |(class, spec): (usize, &Option<ManagerSpec>)| {
        let random = stream(plan.spec.seed, &format!("node/{}/port/{local}/class/{class}", node.name));
        spec.as_ref().map(|spec| Box::new(Managed::new(queueing::Configuration::start(spec, &facts), random)))
    };
    if specs.iter().all(Option::is_none) {
        Vec::new()
    } else {
        specs.iter().enumerate().map(of_class).collect()
    }
}

/// The memory that the queues of a switch share; nothing if they do not.
fn sharing(plan: &Plan, id: NodeId, node: &NodeSpec) -> Option<Box<Sharing>> {
    let switch = node.switch()?;
    let ports = plan.wiring.ports(id).len();
    let queues = (ports * switch.classes.classes()) as u64;
    let memory = SharedMemory::new(switch.shared_memory?, queues)?;
    let control = switch.flow_control.as_ref().filter(|control| control.accounting == Accounting::Ingress);
    let together = control.is_some_and(|control| control.kind == PauseKind::Link);
    let first = plan.wiring.first_port[id.at()];
    Some(Box::new(Sharing::new(memory, first, ports, control.map_or(0, controlled), together)))
}

fn make_node(plan: &Plan, id: NodeId, node: &NodeSpec) -> Node {
    let control = node.flow_control();
    let buffer = match &node.role {
        Role::Host(host) if host.when_full == WhenFull::Drop => {
            BufferSpec { queue: host.queue_limit, ..BufferSpec::default() }
        }
        Role::Host(_) => BufferSpec::default(),
        Role::Switch(switch) => switch.buffer.clone(),
    };
    // A network card counts what came in through its ports, by its buffer.
    let receive_buffer = receive_buffer(node);
    let own_control = match receive_buffer {
        Some(_) => control.map(|control| PauseSpec {
            accounting: Accounting::Ingress,
            watermarks: None,
            target: None,
            ..control.clone()
        }),
        None => control.filter(|_| node.switch().is_some()).cloned(),
    };
    let station = own_control.as_ref().map(|control| {
        let ports: Vec<u32> = plan.wiring.ports(id).map(|port| port.0).collect();
        let by_ingress = control.accounting == Accounting::Ingress;
        Box::new(Station {
            spec: control.clone(),
            first_port: plan.wiring.first_port[id.at()],
            levels: ports.iter().map(|&port| plan.levels(control, receive_buffer, port)).collect(),
            timing: ports
                .iter()
                .map(|&port| PauseTiming { renew_after: plan.renew_after(control, port) })
                .collect(),
            ingress: vec![IngressMeter::default(); if by_ingress { ports.len() * PRIORITIES } else { 0 }],
            egress: if by_ingress {
                Vec::new()
            } else {
                vec![EgressMeter::new(ports.len() as u32); ports.len() * PRIORITIES]
            },
            holders: vec![0; ports.len() * PRIORITIES],
            renewals: vec![Timer::IDLE; ports.len()],
            random: stream(plan.spec.seed, &format!("node/{}/sampling", node.name)),
            ports: Vec::with_capacity(ports.len()),
        })
    });
    Node {
        fingerprint: u64::from(id.0) + 1,
        first_port: plan.wiring.first_port[id.at()],
        classes: node.classes(),
        is_host: node.host().is_some(),
        lossless: control.map_or(0, controlled),
        limited: !buffer.is_unlimited(),
        buffer,
        last_entry: Time::NEVER,
        total: Occupancy::default(),
        by_class: [Occupancy::default(); PRIORITIES],
        sharing: sharing(plan, id, node),
        pause_quanta: control.map_or(0, |control| control.quanta),
        station,
    }
}

fn add_receivers(plan: &Plan, fabric: &mut Fabric) {
    let receive = |port: u32| plan.node(port).host().and_then(|host| host.receive.as_ref());
    let all: Vec<_> = (0..fabric.ports.len() as u32)
        .map(|port| {
            let paused_as_one = plan.node(port).flow_control().is_some_and(|own| own.kind == PauseKind::Link);
            receive(port).map(|spec| Box::new(Receiving::new(spec, paused_as_one)))
        })
        .collect();
    if all.iter().any(Option::is_some) {
        fabric.receiving = all;
    }
}

fn add_faults(plan: &Plan, fabric: &mut Fabric, path_flow: &[u32]) -> Result<Vec<Note>, BuildError> {
    let faults = FaultPlan::new(plan.spec)?;
    let paths = reroute::changes(plan.spec, plan.wiring, &faults, fabric, path_flow);
    fabric.faults = faults.faults(plan.spec, plan.wiring, paths);
    for ((port, line), exposure) in
        fabric.ports.iter_mut().zip(&fabric.lines).zip(&mut fabric.faults.exposures)
    {
        if let Some(exposure) = exposure {
            exposure.fresh = port.hooks.has(Hooks::SCHEDULER).then(|| line.scheduler.clone());
        }
        port.hooks.set(Hooks::EXPOSED, exposure.is_some());
    }
    Ok(faults.notes(plan.spec))
}

fn add_sources(plan: &Plan, fabric: &mut Fabric) {
    let spec = plan.spec;
    let mut first_path = 0;
    for flow in &spec.flows {
        let egress = fabric.hops[fabric.path_start[first_path as usize] as usize];
        let link = plan.link(egress);
        let rng = stream(spec.seed, &format!("flow/{}", flow.name));
        let clock = plan.clock(flow.from);
        let mut source = Source::new(&flow.source, link.rate, link.overhead, clock, rng);
        if flow.source.jitter > Time::ZERO {
            let rng = stream(spec.seed, &format!("flow/{}/jitter", flow.name));
            source = source.with_jitter(flow.source.jitter, rng);
        }
        let host = spec.nodes[flow.from.at()].host();
        let limit = host.and_then(|host| host.queue_limit.filter(|_| host.when_full == WhenFull::Block));
        if host.is_some() && (source.is_greedy() || limit.is_some()) {
            for port in plan.wiring.ports(flow.from) {
                fabric.ports[port.at()].hooks.set(Hooks::FEEDS, true);
            }
        }
        fabric.node_of.push(flow.from.0);
        fabric.sources.push(SourceState {
            source,
            first_path,
            priority: flow.priority,
            limit,
            several_ports: host.is_some() && plan.wiring.ports(flow.from).len() > 1,
            // A scheduler that is told of every frame must not see a queue run empty between two.
            keeps: if fabric.ports[egress as usize].hooks.has(Hooks::SCHEDULER) { 2 } else { 1 },
            silent: flow.transport.is_some(),
            in_nic: 0,
            frames: 0,
            bytes: 0,
        });
        first_path += flow.source.destinations.nodes().len() as u32;
    }
}

/// Both ends of every connection.
fn add_endpoints(plan: &Plan, fabric: &mut Fabric) {
    let spec = plan.spec;
    if spec.flows.iter().all(|flow| flow.transport.is_none()) {
        return;
    }
    fabric.endpoint_of_path = vec![RAW; fabric.path_start.len()];
    let mut path = 0;
    for flow in &spec.flows {
        let destinations = flow.source.destinations.nodes();
        if let (Some(connection), [to, ..]) = (&flow.transport, &destinations[..]) {
            let random = |end: &str| stream(spec.seed, &format!("flow/{}/{end}", flow.name));
            let (near, far) = connection.start(random("near"), random("far"));
            let start = fabric.path_start[path] as usize;
            let hops = fabric.hops[start..].iter().take_while(|&&port| port != DELIVER).count();
            let behind = (start + hops) as u32;
            fabric.endpoint_of_path[path] = fabric.endpoints.len() as u32;
            for (endpoint, node, behind) in [(near, flow.from, None), (far, *to, Some(behind))] {
                let state = EndpointState::new(endpoint, path as u32, behind, flow.priority);
                fabric.endpoints.push(state);
                fabric.node_of.push(node.0);
                for port in plan.wiring.ports(node) {
                    fabric.ports[port.at()].hooks.set(Hooks::FEEDS, true);
                }
            }
        }
        path += destinations.len();
    }
}

/// The first events of the nodes that are `mine`: each source and endpoint at its first time, and all faults.
pub(crate) fn start(fabric: &mut Fabric, windows: &mut Queued, mine: impl Fn(u32) -> bool) {
    fabric.start_endpoints(windows, &mine);
    for (place, state) in (fabric.ports.len()..).zip(&fabric.sources).filter(|(_, state)| !state.silent) {
        if let Some(at) = state.source.next_wake().filter(|_| mine(fabric.node_of[place])) {
            windows.push(Event::bare(Kind::Source, at, place as u32));
        }
    }
    for event in fabric.faults.events.iter().filter(|event| mine(fabric.node_of[event.place() as usize])) {
        windows.push(*event);
    }
}

/// Prepares what is recorded; returns what is too much, in words.
fn record(spec: &Spec, fabric: &mut Fabric) -> Vec<String> {
    fabric.recorded.pauses = spec.probes.pauses.then(Vec::new);
    let Some(bin) = spec.probes.bin else { return Vec::new() };
    let bins = spec.duration.ps().div_ceil(bin.ps());
    let mut left_out = Vec::new();
    let mut fits = |what: &str, series: usize| {
        let fits = series <= MAX_SERIES && bins * series as u64 <= MAX_BINS;
        if !fits {
            left_out.push(format!(
                "time series of {series} {what} with {bins} bins are not recorded: at most {MAX_SERIES} with {MAX_BINS} \
                 bins together are; totals are complete"
            ));
        }
        fits
    };
    let sums = |series: usize| vec![BinnedSum::new(bin, spec.duration); series];
    if fits("pairs of source and destination", fabric.receivers.len()) {
        fabric.recorded.delivered = sums(fabric.receivers.len());
    }
    if fits("ports", fabric.ports.len()) {
        fabric.recorded.received = sums(fabric.ports.len());
        fabric.recorded.sent = sums(fabric.ports.len());
    }
    // The queues of priorities that no flow has stay empty and take no memory.
    let priorities =
        spec.flows.iter().fold(0u8, |set, flow| set | 1 << flow.priority.0).count_ones() as usize;
    let levels = |series: usize| {
        let level = BinnedMax::new(bin, spec.duration);
        vec![(level.clone(), level); series]
    };
    if fits("queues", fabric.ports.len() * priorities) {
        fabric.recorded.queues = levels(fabric.queues.len());
        let by_ingress =
            |node: &Node| node.station.as_ref().is_some_and(|station| !station.ingress.is_empty());
        if fabric.nodes.iter().any(by_ingress) || !fabric.receiving.is_empty() {
            fabric.recorded.meters = levels(fabric.ports.len() * PRIORITIES);
        }
    }
    left_out
}
