//! The graph of buffer dependencies, built before a run: which queue may have to wait for which.
//!
//! A queue waits for another if frames that it sends fill a counter which pauses it, and wait in the other queue. With
//! ingress accounting, and with credits, these are the consecutive queues of each path; with egress accounting, a queue
//! stops all ports but its own, whether frames arrive from there or not. If the graph has no cycle, no deadlock can
//! occur (Dally and Seitz, Deadlock-free message routing, 1987, theorem 1); if it has one, a deadlock needs only the
//! traffic.
//!
//! The bypass queue of a virtual channel counts as a separate queue, numbered after all others. It waits for the
//! ordered queue, whose frames a bypassable frame does not pass, and for bypass queues; no ordered queue waits for it.
//!
//! Scope: queues between switches whose priorities are lossless. Before a host reads a received frame it waits for
//! nothing, so no cycle includes a host.
//!
//! Not modelled: coupling by a switch's shared buffer of queues that no path connects.

use crate::build::BuildError;
use crate::run::state::faults::Action;
use crate::run::state::spreading::Spreading;
use crate::simulation::Simulation;
use crate::spec::detours::Detours;
use crate::spec::{FlowSpec, ProbeSpec, Spec};
use frame::{NodeId, PortId, Priority, TrafficClass};

/// Number of edges at which duplicates are first removed.
const FIRST_SORT: usize = 1 << 20;
/// Maximum number of queues from which the shortest cycle is searched.
const MOST_STARTS: usize = 256;

/// Maximum number of links of a fabric, and of ports of a node. The search builds the fabric, which takes longer than a
/// warning is worth in larger ones.
const MOST_LINKS: usize = 20_000;
const MOST_PORTS: u32 = 512;

/// Returns true if the search takes longer than a warning is worth.
pub(crate) fn takes_long(spec: &Spec) -> bool {
    let mut ports = vec![0u32; spec.nodes.len()];
    spec.links.iter().flat_map(|link| [link.a, link.b]).for_each(|node| ports[node.at()] += 1);
    spec.links.len() > MOST_LINKS || ports.iter().any(|&ports| ports > MOST_PORTS)
}

/// Returns the shortest cycle of queues that may wait for each other, by name; `None` if there is none.
///
/// # Errors
/// If the description cannot be built.
pub fn dependency_cycle(spec: &Spec) -> Result<Option<Vec<String>>, BuildError> {
    let probes = ProbeSpec { bin: None, pauses: false, chosen: None };
    Ok(Simulation::in_parts(&Spec { probes, ..spec.clone() }, 1, None)?.dependency_cycle())
}

/// Returns the shortest cycle found, as queue numbers starting with the lowest; `None` if there is none.
pub(crate) fn cycle(fabric: &Simulation) -> Option<Vec<u32>> {
    let own = |flow: u32| Kind::of(&fabric.spec.flows[flow as usize]);
    let credits = fabric.spec.nodes.iter().any(|node| node.credits().is_some());
    if !credits && fabric.nodes().all(|(_, node)| node.is_host || node.pause_sender.is_none()) {
        return None;
    }
    let mut edges = Edges { list: Vec::new(), sort_at: FIRST_SORT };
    let mut used = vec![false; 2 * fabric.queues()];
    for (path, &flow) in fabric.path_flow.iter().enumerate() {
        let ports = fabric.path_of(path);
        along_path(fabric, ports, own(flow), &mut used, &mut edges);
        let answers = Kind::of_answers(&fabric.spec.flows[flow as usize]);
        if !answers.is_empty() {
            // Frames from the far end take the same links in the other direction.
            let back: Vec<u32> = ports.iter().rev().map(|&port| fabric.peer(port)).collect();
            for kind in answers {
                along_path(fabric, &back, kind, &mut used, &mut edges);
            }
        }
    }
    // The routes of paths while links are down.
    let first = &fabric.shards[0].world;
    for action in &*first.faults.actions {
        if let Action::Path { path, start } = *action {
            let ports = first.routes.path(start);
            along_path(fabric, ports, own(fabric.path_flow[path as usize]), &mut used, &mut edges);
        }
    }
    if let Some(spreading) = &first.routes.spreading {
        match &spreading.detours {
            Some(detours) => by_detours(fabric, detours, &mut used, &mut edges),
            None => by_choice(fabric, spreading, &mut used, &mut edges),
        }
    }
    by_egress(fabric, &used, &mut edges);
    edges.settle();
    shortest(&edges.list)
}

/// Properties of a frame that select its queue at each port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    priority: Priority,
    bypassable: bool,
}

impl Kind {
    fn of(flow: &FlowSpec) -> Kind {
        Kind { priority: flow.priority, bypassable: flow.bypassable }
    }
    /// Kinds of the frames that the far end of a connection sends.
    fn of_answers(flow: &FlowSpec) -> Vec<Kind> {
        let Some(connection) = &flow.transport else { return Vec::new() };
        let all = std::iter::once(flow.priority).chain(connection.reply_priorities());
        all.map(|priority| Kind { priority, bypassable: false }).collect()
    }
}

struct Edges {
    list: Vec<(u32, u32)>,
    sort_at: usize,
}

impl Edges {
    fn push(&mut self, from: u32, to: u32) {
        self.list.push((from, to));
        if self.list.len() >= self.sort_at {
            self.settle();
            self.sort_at = FIRST_SORT.max(self.list.len() * 2);
        }
    }
    fn settle(&mut self) {
        self.list.sort_unstable();
        self.list.dedup();
    }
}

fn is_switch(fabric: &Simulation, port: u32) -> bool {
    !fabric.node_at(port).is_host
}

/// Returns true if the link of a port connects two switches.
fn is_transit(fabric: &Simulation, port: u32) -> bool {
    is_switch(fabric, port) && is_switch(fabric, fabric.peer(port))
}

/// Returns the number of the queue of a port in which frames wait. A bypass queue has a number after those of all
/// queues.
fn queue(fabric: &Simulation, port: u32, kind: Kind) -> u32 {
    let class = fabric.port(port).classes.class(kind.priority);
    let ordered = fabric.queue_number(port, class);
    let credits = fabric.cold(port).control.credits().filter(|_| kind.bypassable);
    let bypass = credits.is_some_and(|credits| credits.has_bypass(kind.priority));
    if bypass { ordered + fabric.queues() as u32 } else { ordered }
}

/// Returns the queues of a port that pauses of any of these priorities stop. Priorities are those at the other end of
/// the link, where the frames have been remapped.
fn stopped_with(fabric: &Simulation, port: u32, priorities: u8) -> impl Iterator<Item = u32> {
    let classes = fabric.node_at(port).classes;
    let first = fabric.queue_number(port, TrafficClass(0));
    let stopped = priorities & fabric.cold(port).control.pauses().map_or(0, |pauses| pauses.obeys);
    (0..classes.classes() as u8)
        .filter(move |&class| classes.priorities(TrafficClass(class)) & stopped != 0)
        .map(move |class| first + u32::from(class))
}

/// Returns the queues of a port whose frames may lack credits while such frames are held at the other end.
fn short_with(fabric: &Simulation, port: u32, kind: Kind) -> impl Iterator<Item = u32> {
    let priority = kind.priority;
    let (classes, credits) = (fabric.port(port).classes, fabric.cold(port).control.credits());
    let of_channel = credits.map_or(0, |credits| classes.classes_of(credits.sharing(priority)));
    let to_bypass = queue(fabric, port, kind) - queue(fabric, port, Kind { bypassable: false, ..kind });
    let first = fabric.queue_number(port, TrafficClass(0)) + to_bypass;
    (0..32).filter(move |class| of_channel >> class & 1 != 0).map(move |class| first + class)
}

fn along_path(fabric: &Simulation, ports: &[u32], mut kind: Kind, used: &mut [bool], edges: &mut Edges) {
    let mut before = None;
    for &port in ports {
        let waits_at = queue(fabric, port, kind);
        used[waits_at as usize] = true;
        let ordered = waits_at % fabric.queues() as u32;
        if ordered != waits_at {
            edges.push(waits_at, ordered);
        }
        let transit = is_transit(fabric, port);
        if let Some(before) = before.filter(|_| transit) {
            let by_ingress = fabric.pause_sender_at(port).filter(|pause_sender| pause_sender.by_ingress());
            let group = by_ingress
                .and_then(|pause_sender| Some(pause_sender.bits(pause_sender.group(kind.priority.0)?)));
            for from in group.into_iter().flat_map(|bits| stopped_with(fabric, before, bits)) {
                edges.push(from, waits_at);
            }
            for from in short_with(fabric, before, kind) {
                edges.push(from, waits_at);
            }
        }
        before = transit.then_some(port);
        kind.priority = fabric.cold(port).new_priority(kind.priority);
    }
}

/// Adds the edges of frames whose path switches choose: from every port that they may take to every possible next one.
fn by_choice(fabric: &Simulation, spreading: &Spreading, used: &mut [bool], edges: &mut Edges) {
    let ends = |(flow, to): (&FlowSpec, Vec<NodeId>)| {
        let from = flow.from;
        let back = Kind::of_answers(flow).into_iter().map(move |kind| (kind, from));
        let kind = Kind::of(flow);
        to.into_iter().map(move |end| (kind, end)).chain(back)
    };
    let mut wanted: Vec<(Kind, NodeId)> = fabric.spec.free_flows().flat_map(ends).collect();
    if fabric.spec.remaps() {
        // The priority of a frame at a port may depend on its path, so all possible ones are used.
        let all = wanted.iter().flat_map(|&(kind, end)| {
            let any = fabric.spec.made_of(kind.priority);
            any.map(move |priority| (Kind { priority, ..kind }, end))
        });
        wanted = all.collect();
    }
    wanted.sort_unstable();
    wanted.dedup();
    for of_kind in wanted.chunk_by(|a, b| a.0 == b.0) {
        let kind = of_kind[0].0;
        let destinations = Destinations::new(fabric, spreading, of_kind.iter().map(|wanted| wanted.1));
        for port in (0..fabric.ports() as u32).filter(|&port| is_transit(fabric, port)) {
            let (node, next) = (fabric.wiring.node_of[port as usize], fabric.wiring.neighbour(PortId(port)));
            for destination in destinations.that_differ(spreading, node, next) {
                if !spreading.table.candidates(node, destination).contains(&PortId(port)) {
                    continue;
                }
                along_path(fabric, &[port], kind, used, edges);
                for &second in spreading.table.candidates(next, destination) {
                    along_path(fabric, &[port, second.0], kind, used, edges);
                }
            }
        }
    }
}

/// Adds the edges of detours over a third group: all paths with at most two global links. Which of them a frame takes
/// depends on queues.
fn by_detours(fabric: &Simulation, detours: &Detours, used: &mut [bool], edges: &mut Edges) {
    let mut kinds: Vec<Kind> = Vec::new();
    for (flow, _) in fabric.spec.free_flows() {
        kinds.push(Kind::of(flow));
        kinds.extend(Kind::of_answers(flow));
    }
    kinds.sort_unstable();
    kinds.dedup();
    for way in detours.ways() {
        for &kind in &kinds {
            along_path(fabric, &way, kind, used, edges);
        }
    }
}

/// Destinations of a priority. The last hop to a host is not between switches, so one host of each edge group
/// represents all.
struct Destinations {
    /// Edge group and host, sorted by group.
    hosts: Vec<(u32, NodeId)>,
    switches: Vec<NodeId>,
}

impl Destinations {
    fn new(fabric: &Simulation, spreading: &Spreading, all: impl Iterator<Item = NodeId>) -> Destinations {
        let is_host = |node: &NodeId| fabric.spec.nodes[node.at()].host().is_some();
        let (hosts, switches): (Vec<NodeId>, Vec<NodeId>) = all.partition(is_host);
        let mut hosts: Vec<_> =
            hosts.into_iter().map(|host| (spreading.table.group_of(host), host)).collect();
        hosts.sort_unstable();
        hosts.dedup_by_key(|host| host.0);
        Destinations { hosts, switches }
    }

    /// Returns the destinations without those that both nodes reach over the same ports as an earlier one: rows of the
    /// forwarding table have long runs.
    fn that_differ(&self, spreading: &Spreading, node: NodeId, next: NodeId) -> Vec<NodeId> {
        let turns = [node, next].into_iter().flat_map(|node| spreading.table.turns(node));
        let mut firsts: Vec<usize> =
            turns.map(|group| self.hosts.partition_point(|host| host.0 < group)).collect();
        firsts.sort_unstable();
        firsts.dedup();
        let hosts = firsts.into_iter().filter_map(|first| Some(self.hosts.get(first)?.1));
        hosts.chain(self.switches.iter().copied()).collect()
    }
}

/// Adds the edges of egress accounting: each used queue stops all ports but its own.
fn by_egress(fabric: &Simulation, used: &[bool], edges: &mut Edges) {
    for (first_port, pause_sender) in fabric.pause_senders().filter(|(_, sender)| !sender.by_ingress()) {
        let ports = || first_port..first_port + pause_sender.levels.len() as u32;
        for port in ports().filter(|&port| is_transit(fabric, port)) {
            let classes = fabric.node_at(port).classes;
            for class in (0..classes.classes() as u8).map(TrafficClass) {
                let full = fabric.queue_number(port, class);
                let bits = classes.priorities(class) & pause_sender.controlled();
                if bits == 0 || !used[full as usize] {
                    continue;
                }
                let others = ports().filter(|&other| other != port).map(|other| fabric.peer(other));
                for stopped in others.filter(|&other| is_transit(fabric, other)) {
                    stopped_with(fabric, stopped, bits)
                        .filter(|&from| used[from as usize])
                        .for_each(|from| edges.push(from, full));
                }
            }
        }
    }
}

/// Returns the shortest cycle of a graph given as sorted edges, among those through the first queues that are part of a
/// cycle or between two.
fn shortest(edges: &[(u32, u32)]) -> Option<Vec<u32>> {
    let core = peel(edges);
    let after = |from: u32| {
        let first = core.partition_point(|edge| edge.0 < from);
        core[first..].iter().take_while(move |edge| edge.0 == from).map(|edge| edge.1)
    };
    let mut starts: Vec<u32> = core.iter().map(|edge| edge.0).collect();
    starts.dedup();
    let mut best: Option<Vec<u32>> = None;
    for &start in starts.iter().take(MOST_STARTS) {
        let mut came_from = std::collections::BTreeMap::new();
        let mut queue = std::collections::VecDeque::from([start]);
        'search: while let Some(at) = queue.pop_front() {
            for next in after(at) {
                if next == start {
                    let mut cycle = vec![at];
                    while cycle[0] != start {
                        cycle.insert(0, came_from[&cycle[0]]);
                    }
                    if best.as_ref().is_none_or(|best| cycle.len() < best.len()) {
                        best = Some(cycle);
                    }
                    break 'search;
                }
                if let std::collections::btree_map::Entry::Vacant(entry) = came_from.entry(next) {
                    entry.insert(at);
                    queue.push_back(next);
                }
            }
        }
    }
    best.map(|mut cycle| {
        let lowest = (0..cycle.len()).min_by_key(|&at| cycle[at]).unwrap_or(0);
        cycle.rotate_left(lowest);
        cycle
    })
}

/// Removes queues without incoming edges or without outgoing edges repeatedly. Returns the remaining edges.
fn peel(edges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut left = without_ends(edges.to_vec());
    left.iter_mut().for_each(|edge| *edge = (edge.1, edge.0));
    left.sort_unstable();
    left = without_ends(left);
    left.iter_mut().for_each(|edge| *edge = (edge.1, edge.0));
    left.sort_unstable();
    left
}

/// Removes all edges from which every path ends. Edges are sorted.
fn without_ends(edges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    let size = edges.iter().map(|edge| edge.0.max(edge.1) as usize + 1).max().unwrap_or(0);
    let mut out = vec![0u32; size];
    edges.iter().for_each(|edge| out[edge.0 as usize] += 1);
    let mut back: Vec<(u32, u32)> = edges.iter().map(|edge| (edge.1, edge.0)).collect();
    back.sort_unstable();
    let mut ends: Vec<u32> = back.iter().map(|edge| edge.0).filter(|&to| out[to as usize] == 0).collect();
    ends.dedup();
    let mut gone = vec![false; size];
    while let Some(end) = ends.pop() {
        gone[end as usize] = true;
        let first = back.partition_point(|edge| edge.0 < end);
        for &(_, from) in back[first..].iter().take_while(|edge| edge.0 == end) {
            out[from as usize] -= 1;
            if out[from as usize] == 0 {
                ends.push(from);
            }
        }
    }
    edges.into_iter().filter(|edge| !gone[edge.0 as usize] && !gone[edge.1 as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_shortest_cycle_is_named_from_its_lowest_queue() {
        assert_eq!(shortest(&[]), None);
        assert_eq!(shortest(&[(0, 1), (1, 2), (0, 2)]), None);
        assert_eq!(shortest(&[(1, 2), (2, 3), (3, 1)]), Some(vec![1, 2, 3]));
        // A graph with tails on either side of its cycle, and a longer cycle.
        let edges = [(0, 5), (2, 9), (3, 4), (4, 6), (5, 3), (6, 3), (6, 7), (7, 5)];
        assert_eq!(shortest(&edges), Some(vec![3, 4, 6]));
        assert_eq!(shortest(&[(4, 4)]), Some(vec![4]));
    }

    proptest! {
        /// Edges that only lead upwards form no cycle; one edge back along a path forms one.
        #[test]
        fn an_order_has_no_cycle(edges: Vec<(u8, u8)>, back: prop::sample::Index) {
            let mut edges: Vec<(u32, u32)> =
                edges.iter().map(|&(a, b)| (u32::from(a.min(b)), u32::from(a.max(b)))).filter(|(a, b)| a != b).collect();
            edges.sort_unstable();
            edges.dedup();
            prop_assert_eq!(shortest(&edges), None);
            if !edges.is_empty() {
                let (a, b) = edges[back.index(edges.len())];
                edges.push((b, a));
                edges.sort_unstable();
                prop_assert_eq!(shortest(&edges), Some(vec![a, b]));
            }
        }
    }
}
