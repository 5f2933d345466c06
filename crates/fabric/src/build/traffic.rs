//! Builds sources, endpoints and receivers, with their first events.

use super::{Part, Plan};
use crate::build::jobs;
use crate::build::nodes;
use crate::build::paths::Paths;
use crate::build::releases::due;
use crate::build::whole::WHOLE;
use crate::run::fabric::Fabric;
use crate::run::state::completions::Completions;
use crate::run::state::endpoint_state::EndpointState;
use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::hosts::{Hosts, Receiver};
use crate::run::state::index::{GroupIx, PlaceIx, PortIx, ReceiverIx, SourceIx};
use crate::run::state::overtaking::Overtaking;
use crate::run::state::own::NodeLocal;
use crate::run::state::port::{HEAD_BYTES, PortFeatures};
use crate::run::state::sources::SourceState;
use crate::run::state::stream_counts::StreamCounts;
use crate::run::state::view::NodeView;
use crate::spec::{FlowSpec, NodeSpec, Spec, Way, WhenFull};
use engine::stream;
use frame::{Ecn, Flags, FrameKind, NodeId, Priority};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::num::NonZeroU32;
use std::sync::Arc;
use transport::{ConnectionSpec, Endpoint, PathFacts, Protocol, PullPacer, SharedNic};
use units::{BitRate, Time};
use workload::{Source, TransferList};

/// Reserves memory for the sources and endpoints of a part, which are many in large fabrics.
pub fn make_room(part: &Part, fabric: &mut Fabric) {
    let flows = &part.plan.spec.flows;
    let connected = |flow: &&FlowSpec| flow.transport.is_some();
    let ends = flows.iter().filter(connected).map(|flow| {
        let to = flow.source.destinations.nodes();
        to.iter().map(|&to| usize::from(part.owns(flow.from)) + usize::from(part.owns(to))).sum::<usize>()
    });
    fabric.hosts.endpoints = memory::with_room(ends.sum()).into();
    fabric.hosts.sources = memory::with_room(flows.iter().filter(|flow| part.owns(flow.from)).count()).into();
}

/// Adds the sources of the part's hosts.
pub fn add_sources(part: &Part, paths: &Paths, fabric: &mut Fabric) {
    let (plan, spec) = (part.plan, part.plan.spec);
    let mut first_path = 0;
    for (number, flow) in (0..).zip(&spec.flows) {
        let path = first_path;
        first_path += flow.paths() as u32;
        if !part.owns(flow.from) {
            continue;
        }
        let egress = fabric.routes.path(fabric.routes.path_start[path as usize])[0];
        let link = plan.link(egress);
        let rng = stream(spec.seed, &format!("flow/{}", flow.name));
        let clock = plan.clock(flow.from);
        let mut source = Source::new(&flow.source, plan.rate(egress), link.overhead, clock, rng);
        if flow.source.jitter > Time::ZERO {
            let rng = stream(spec.seed, &format!("flow/{}/jitter", flow.name));
            source = source.with_jitter(flow.source.jitter, rng);
        }
        let host = spec.nodes[flow.from.at()].host();
        let is_part = flow.source.transfers().is_some() || flow.source.counted_streams().is_some();
        let kind = if is_part { FrameKind::Part } else { FrameKind::Raw };
        let by_destination = flow.way == Way::ByDestination;
        let limit = host.and_then(|host| host.queue_limit.filter(|_| host.when_full == WhenFull::Block));
        if host.is_some() && (source.is_greedy() || limit.is_some()) {
            set_feeds(part, fabric, flow.from);
        }
        fabric.node_of.0.push(part.node(flow.from), WHOLE);
        let consults = fabric.links.ports[part.port(egress)].features.has(PortFeatures::SCHEDULER);
        fabric.hosts.sources.push(
            SourceState {
                flow: number,
                source,
                first_path: path,
                priority: flow.priority,
                flags: Flags::new(kind, Ecn::NotCapable).bypassable(flow.bypassable).at(flow.priority),
                limit,
                several_ports: host.is_some() && plan.wiring.ports(flow.from).len() > 1,
                // A scheduler that counts every frame must not observe an empty queue between two frames.
                keeps: if consults { 2 } else { 1 },
                silent: flow.transport.is_some(),
                limited: false,
                limiter: None,
                targets: by_destination.then(|| Box::new(flow.source.destinations.clone())),
                multicast: flow.source.destinations.are_all_meant(),
                plain: !by_destination
                    && !flow.source.destinations.are_all_meant()
                    && host.is_none_or(|host| host.send.is_none())
                    && flow.source.counted_streams().is_none(),
                in_nic: 0,
                frames: 0,
                bytes: 0,
            },
            WHOLE,
        );
    }
    name_sources(spec, paths, fabric);
}

/// Writes the source of each path by its number in this part; sources of other parts have higher numbers.
fn name_sources(spec: &Spec, paths: &Paths, fabric: &mut Fabric) {
    let sources = &fabric.hosts.sources;
    let mut own = vec![None; spec.flows.len()];
    for (source, state) in sources.enumerated(WHOLE) {
        own[state.flow as usize] = Some(source);
    }
    let source_of =
        |&flow: &u32| own[flow as usize].unwrap_or(SourceIx::of(sources.len() as u32 + flow, WHOLE));
    fabric.routes.path_source = paths.flows.iter().map(source_of).collect();
}

/// Marks the ports of a host: a frame that leaves frees space in the NIC for a waiting source or endpoint.
pub fn set_feeds(part: &Part, fabric: &mut NodeView, host: NodeId) {
    for port in part.plan.wiring.ports(host) {
        fabric.links.ports[part.port(port.0)].features.set(PortFeatures::FEEDS, true);
    }
}

/// Adds the endpoints of connections at the part's hosts.
pub fn add_endpoints(part: &Part, paths: &Paths, fabric: &mut NodeView) {
    let spec = part.plan.spec;
    if spec.flows.iter().all(|flow| flow.transport.is_none()) {
        return;
    }
    fabric.hosts.endpoints_of_path = vec![[None; 2]; paths.flows.len()];
    fabric.hosts.lossless = lossless_ports(part);
    // Connections that share a description belong to one application.
    let mut groups: BTreeMap<(NodeId, *const ConnectionSpec), GroupIx> = BTreeMap::new();
    let mut shared = Shared::new(spec);
    let awaited = spec.awaited();
    let (mut path, mut number) = (0, 0);
    for (nth, flow) in (0..).zip(&spec.flows) {
        let Some(connection) = &flow.transport else {
            path += flow.paths();
            continue;
        };
        let destinations = flow.source.destinations.nodes();
        let mut due = due((nth, flow), destinations.len(), &awaited).into_iter();
        let mut met: BTreeMap<NodeId, u32> = BTreeMap::new();
        for to in destinations.iter().copied() {
            let name = &spec.nodes[to.at()].name;
            // Each of several paths to a host has its own connections and random draws.
            let way = met.entry(to).and_modify(|way| *way += 1).or_default();
            let of = match (destinations.len(), *way) {
                (1, _) => String::new(),
                (_, 0) => format!("/{name}"),
                (_, way) => format!("/{name}/{way}"),
            };
            let random = |end: &str| stream(spec.seed, &format!("flow/{}/{end}{of}", flow.name));
            let start = fabric.routes.path_start[path];
            let facts = shared.facts((part, fabric), (flow, to, start), connection);
            let randoms = [random("near"), random("far")];
            let (mut near, mut far) = connection.start(&due.next().unwrap_or_default(), facts, randoms);
            shared.attach(&mut near, (spec, flow.from), number);
            shared.attach(&mut far, (spec, to), number + 1);
            withhold(part.plan, fabric.routes.path(start), flow.priority, [&mut near, &mut far]);
            let behind = start + fabric.routes.path(start).len() as u32;
            let ends = [(near, flow.from, None), (far, to, NonZeroU32::new(behind))];
            for (end, (endpoint, node, behind)) in ends.into_iter().enumerate() {
                if part.owns(node) {
                    let priority =
                        connection.answer_priority().filter(|_| behind.is_some()).unwrap_or(flow.priority);
                    let mut state = EndpointState::new(endpoint, number, path as u32, behind, priority);
                    state.notifies = connection.notification_priority();
                    (state.bypassable, state.stripes) =
                        (flow.bypassable && behind.is_none(), facts[end].planes > 1);
                    if state.endpoint.progress().is_some() {
                        join_group(fabric, &mut state, groups.entry((node, Arc::as_ptr(connection))));
                    }
                    fabric.hosts.endpoints_of_path[path][end] = Some(fabric.hosts.endpoints.next_key(WHOLE));
                    fabric.hosts.endpoints.push(state, WHOLE);
                    fabric.node_of.0.push(part.node(node), WHOLE);
                    set_feeds(part, fabric, node);
                }
                number += 1;
            }
            path += 1;
        }
    }
}

/// Adds an endpoint to the group at its host whose steps wait for each other.
fn join_group(
    fabric: &mut NodeView,
    state: &mut EndpointState,
    of_host: Entry<'_, (NodeId, *const ConnectionSpec), GroupIx>,
) {
    let group = *of_host.or_insert_with(|| fabric.hosts.peers.push_and_get_key(Vec::new()));
    state.peers = Some(group);
    fabric.hosts.peers[group].push(fabric.hosts.endpoints.next_key(WHOLE));
}

/// Traffic classes that the ports of switches trim.
struct TrimmedClasses {
    /// True if any switch trims.
    any: bool,
    /// Classes by port, bit n for class n, as looked up so far.
    known: BTreeMap<u32, u8>,
}

impl TrimmedClasses {
    fn new(spec: &Spec) -> TrimmedClasses {
        let any = spec.nodes.iter().filter_map(NodeSpec::switch).any(|switch| switch.trimming.is_some());
        TrimmedClasses { any, known: BTreeMap::new() }
    }
    /// Returns true if a path has switch ports and all of them trim frames of this priority.
    fn all(&mut self, plan: &Plan, path: &[u32], priority: Priority) -> bool {
        if !self.any {
            return false;
        }
        let mut ports = path.iter().filter(|&&port| plan.node(port).switch().is_some()).peekable();
        ports.peek().is_some()
            && ports.all(|&port| {
                let classes = *self
                    .known
                    .entry(port)
                    .or_insert_with(|| nodes::trimmed_classes(plan, port).unwrap_or(0));
                classes >> plan.classes(port).class(priority).0 & 1 != 0
            })
    }
}

/// Resources that all endpoints of a host share, by host, and facts about all endpoints.
struct Shared {
    trimmed: TrimmedClasses,
    /// By host, the shared state of a NIC with limits.
    nics: BTreeMap<NodeId, SharedNic>,
    /// By host, the pacer of its grants.
    pacers: BTreeMap<NodeId, PullPacer>,
}

impl Shared {
    fn new(spec: &Spec) -> Shared {
        Shared { trimmed: TrimmedClasses::new(spec), nics: BTreeMap::new(), pacers: BTreeMap::new() }
    }
    fn facts(
        &mut self,
        (part, fabric): (&Part, &NodeView),
        (flow, to, start): (&FlowSpec, NodeId, u32),
        connection: &ConnectionSpec,
    ) -> [PathFacts; 2] {
        let trims = self.trimmed.all(part.plan, fabric.routes.path(start), flow.priority);
        let own = facts_over_links(part, fabric, (flow.from, to, start), connection);
        own.map(|facts| PathFacts { trims, ..facts })
    }
    fn attach(&mut self, endpoint: &mut Endpoint, (spec, host): (&Spec, NodeId), number: u32) {
        if let Some(limits) = spec.nodes[host.at()].host().and_then(|host| host.nic_limits) {
            endpoint.attach(number, || self.nics.entry(host).or_insert_with(|| limits.start()).clone());
        }
        endpoint.attach_pacer(|| self.pacers.entry(host).or_default().clone());
    }
}

/// Passes the sending port to both ends of a connection over FCoE.
fn withhold(plan: &Plan, path: &[u32], priority: Priority, ends: [&mut Endpoint; 2]) {
    let ports = [path.first().copied(), path.last().map(|&port| plan.wiring.peer[port as usize].0)];
    for (end, port) in ends.into_iter().zip(ports) {
        if let (Endpoint::Fcoe(end), Some(port)) = (end, port) {
            end.moved_to(port, lossless_at(plan, port) >> priority.0 & 1 != 0);
        }
    }
}

/// Priorities that flow control makes lossless at each port of a part, if any endpoint sends over FCoE.
fn lossless_ports(part: &Part) -> NodeLocal<PortIx, u8> {
    let has_fcoe = |flow: &FlowSpec| flow.transport.as_ref().is_some_and(|own| own.fcoe().is_some());
    if !part.plan.spec.flows.iter().any(has_fcoe) {
        return NodeLocal::default();
    }
    part.ports().map(|port| lossless_at(part.plan, port)).collect()
}

/// Priorities that flow control makes lossless at a port, bit n for priority n.
fn lossless_at(plan: &Plan, port: u32) -> u8 {
    let at = port as usize;
    let is_lossless =
        |&n: &u8| plan.spec.is_lossless(plan.wiring.link_of[at], plan.wiring.node_of[at], Priority(n));
    (0..8).filter(is_lossless).fold(0, |all, n| all | 1 << n)
}

/// Time for a frame of this length through these egress ports, over links and switches, without queueing.
pub(crate) fn one_way(plan: &Plan, ports: &mut dyn Iterator<Item = u32>, bytes: u16) -> Time {
    ports.fold(Time::ZERO, |sum, port| {
        let link = plan.link(port);
        let next = plan.node(plan.wiring.peer[port as usize].0);
        let bytes = if next.cuts_through() { bytes.min(HEAD_BYTES) } else { bytes };
        let bits = (u64::from(bytes) + u64::from(link.overhead)) * 8;
        sum + link.delay + plan.rate(port).time_for_bits_ceil(bits) + next.latency()
    })
}

/// [`facts`] of a path that starts at this place in the table of hops, with the links of either end over which packets
/// may be sent.
fn facts_over_links(
    part: &Part,
    fabric: &NodeView,
    (from, to, start): (NodeId, NodeId, u32),
    connection: &ConnectionSpec,
) -> [PathFacts; 2] {
    let links = |from: NodeId, to: NodeId| match &fabric.routes.spreading {
        Some(spreading) if connection.stripes() => spreading.table.lookup(from, to).ports.len().max(1) as u16,
        _ => 1,
    };
    let [near, far] = facts(part.plan, fabric.routes.path(start), connection);
    [PathFacts { planes: links(from, to), ..near }, PathFacts { planes: links(to, from), ..far }]
}

/// Facts about the path between the ends of a connection, near end first: the rate of the link of each end, and the
/// round-trip time of a full frame and its answer over links and switches.
fn facts(plan: &Plan, path: &[u32], connection: &ConnectionSpec) -> [PathFacts; 2] {
    let back: Vec<u32> = path.iter().rev().map(|&port| plan.wiring.peer[port as usize].0).collect();
    let (full, answer) = connection.round_trip_frames();
    let from = |there: &[u32], back: &[u32]| {
        let none = BitRate::from_gbps(1);
        let first = there.first().map(|&port| (plan.rate(port), plan.link(port).overhead));
        let (rate, overhead) = first.unwrap_or((none, 0));
        let arrival_rate = back.last().map_or(none, |&port| plan.rate(port));
        let hops = there.len().saturating_sub(1) as u16;
        let there = one_way(plan, &mut there.iter().copied(), full);
        let base_rtt = there + one_way(plan, &mut back.iter().copied(), answer);
        PathFacts { arrival_rate, overhead, ..PathFacts::new(rate, base_rtt, full, hops) }
    };
    [from(path, &back), from(&back, path)]
}

/// Adds the faults of the part's nodes. `events` are those of the whole fabric.
pub fn add_faults(part: &Part, events: &[Event], fabric: &mut Fabric) {
    let ports = part.plan.wiring.peer.len() as u32;
    let (own, first) = (part.ports(), fabric.links.len());
    let sources = &fabric.hosts.sources;
    let here = |place: PlaceIx| match place.number().checked_sub(ports) {
        None => own.contains(&place.number()).then(|| PlaceIx::of(place.number() - own.start, WHOLE)),
        Some(flow) => {
            let source = sources.all(WHOLE).binary_search_by_key(&flow, |state| state.flow).ok()?;
            Some(PlaceIx::of((first + source) as u32, WHOLE))
        }
    };
    fabric.faults.events =
        events.iter().filter_map(|event| Some(event.at(here(event.place(WHOLE))?))).collect();
}

/// Adds the receivers that count the frames of each path that ends at a node of the part, or at any node.
pub fn add_receivers(part: &Part, paths: &Paths, fabric: &mut Fabric) {
    let mut receivers = 0_usize;
    let receiver_of = |&destination: &Option<NodeId>| {
        let own = destination.is_none_or(|destination| part.owns(destination));
        receivers += usize::from(own);
        own.then(|| ReceiverIx::from(receivers - 1))
    };
    fabric.hosts.receiver_of_path = paths.destinations.iter().map(receiver_of).collect();
    fabric.hosts.receivers = memory::filled(Receiver::default(), receivers).into();
    fabric.hosts.overtaking = Overtaking::new(part.plan.spec, fabric.nodes.len()).map(Box::new);
    fabric.probes.watches_arrivals |= fabric.hosts.overtaking.is_some();
    fabric.hosts.completions = completions(&part.plan.spec.flows, &fabric.hosts);
    let here =
        paths.flows.iter().zip(&fabric.hosts.receiver_of_path).filter(|(_, receiver)| receiver.is_some());
    let flows = &part.plan.spec.flows;
    let streams = here.map(|(&flow, _)| flows[flow as usize].source.counted_streams().unwrap_or(0));
    fabric.hosts.stream_counts = StreamCounts::new(streams);
}

/// Returns the transfers that end in a part.
fn completions(flows: &[FlowSpec], hosts: &Hosts) -> Completions {
    let mut first_path = 0;
    let paths = flows.iter().map(|flow| {
        let first = first_path;
        first_path += flow.paths();
        (first, flow)
    });
    // Endpoints track transfers over connections themselves.
    let pushed = paths.filter(|(_, flow)| flow.transport.is_none());
    let lists: Vec<(usize, &TransferList)> =
        pushed.filter_map(|(first, flow)| Some((first, &**flow.source.transfers()?))).collect();
    let frames = lists.iter().flat_map(|&(first, list)| {
        list.iter().filter_map(move |transfer| {
            let receiver = hosts.receiver_of_path[first + transfer.destination as usize];
            receiver.map(|receiver| (receiver.number(), list.framing().frames(transfer.bytes)))
        })
    });
    Completions::new(hosts.receivers.len(), frames)
}

/// Schedules the first event of each source and endpoint, and all faults.
pub(crate) fn start(fabric: &mut Fabric, events: &mut EventQueue) {
    fabric.start_endpoints(events);
    jobs::start(fabric, events);
    for (source, state) in fabric.hosts.sources.enumerated(WHOLE).filter(|(_, state)| !state.silent) {
        if let Some(at) = state.source.next_wake() {
            events.push(Event::bare(Kind::Source, at, fabric.place_of_source(source)));
        }
    }
    fabric.faults.events.iter().for_each(|&event| events.push(event));
}
