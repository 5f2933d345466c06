//! Forwarding tables: for each node and destination, the egress ports on shortest paths.
//!
//! Hosts linked to the same nodes form an *edge group*: frames to any of them take the same ports, up to the last hop.
//! A table therefore has one entry per node and edge group, and one per link of a destination for the last hop; real
//! switches store a prefix per edge switch for the same reason. Groups are numbered in the order of their first host,
//! and topologies number the hosts of a switch, and the switches of a pod, consecutively. A row therefore has long runs
//! of groups with equal ports; only the runs are stored, and found by binary search. A fat-tree with k = 64 has 2,048
//! groups: an edge switch needs 3 runs, an aggregation switch 34, a core switch 64. A row of an irregular fabric may
//! need one run per group.
//!
//! The candidates are those of [`Routes`], in the same order, so that a hash selects the same one.
//!
//! Source: the equal-cost sets of RFC 2991 and RFC 2992; two lookups, by edge switch and then by host, like the
//! prefixes and suffixes of Al-Fares, Loukissas and Vahdat (SIGCOMM 2008, §3.3).
//!
//! Not modelled: limits of switches on the number of entries or of equal-cost groups; tables that are inconsistent
//! between switches while routing converges.

use crate::spec::Spec;
use crate::spec::choice::PathChoice;
use crate::spec::routing::{Distances, Routes, Uplink};
use frame::{NodeId, PortId};
use std::collections::{BTreeMap, BTreeSet};

/// Groups of destinations with the same neighbours.
#[derive(Clone, Debug)]
pub struct EdgeGroups {
    /// Group of each node; [`NO_GROUP`] if it is no destination.
    group_of: Vec<u32>,
    /// Neighbours of each group, sorted.
    neighbours: Vec<Vec<NodeId>>,
}

const NO_GROUP: u32 = u32::MAX;

impl EdgeGroups {
    /// Finds the groups of `destinations`, numbered in the order of first occurrence. Failed links do not count.
    pub fn new(routes: &Routes, destinations: impl IntoIterator<Item = NodeId>) -> EdgeGroups {
        let mut group_of = vec![NO_GROUP; routes.nodes()];
        let mut known: BTreeMap<Vec<NodeId>, u32> = BTreeMap::new();
        for destination in destinations {
            if group_of[destination.at()] == NO_GROUP {
                let next = known.len() as u32;
                group_of[destination.at()] = *known.entry(routes.neighbours(destination)).or_insert(next);
            }
        }
        let mut neighbours = vec![Vec::new(); known.len()];
        for (of_group, group) in known {
            neighbours[group as usize] = of_group;
        }
        EdgeGroups { group_of, neighbours }
    }

    /// Number of groups.
    pub fn count(&self) -> usize {
        self.neighbours.len()
    }

    /// Returns the group of a node, from 0; `None` if it is no destination.
    pub fn of(&self, destination: NodeId) -> Option<u32> {
        Some(self.group_of[destination.at()]).filter(|&group| group != NO_GROUP)
    }

    /// The nodes to which the destinations of a group are linked.
    pub fn neighbours(&self, group: u32) -> &[NodeId] {
        &self.neighbours[group as usize]
    }
}

/// The ports on shortest paths, for every node and destination.
#[derive(Clone, Debug)]
pub struct ForwardingTable {
    /// Group of each node; [`NO_GROUP`] if it is no destination.
    group_of: Vec<u32>,
    /// Start of each node's row in `runs`.
    first_run: Vec<u32>,
    runs: Vec<Run>,
    /// Start of the last hops to each node in `last_hops`.
    first_last_hop: Vec<u32>,
    last_hops: Vec<LastHop>,
    /// Number of each node's first list. List 0 is empty and belongs to no node.
    first_list: Vec<u32>,
    /// Start of each list's ports in `ports`.
    first_port: Vec<u32>,
    ports: Vec<PortId>,
}

/// A run of groups: from this group to the next run of the row, frames take the ports of this list.
#[derive(Clone, Copy, Debug)]
struct Run {
    group: u32,
    list: u32,
}

/// The ports of `node` that lead to a destination directly. Entries of a destination are sorted by node.
#[derive(Clone, Copy, Debug)]
struct LastHop {
    node: NodeId,
    list: u32,
}

/// Number of the list without ports.
const NOWHERE: u32 = 0;
/// Marks a run of groups that have to be looked up among the last hops.
const LAST_HOP: u32 = u32::MAX;

/// Ports that lie on shortest paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidates<'a> {
    /// The ports in ascending order; empty if there is no path.
    pub ports: &'a [PortId],
    /// Index of this list among those of its node, from 0. Equal lists have one index.
    pub list: usize,
}

impl ForwardingTable {
    /// Computes the table of all nodes for these destinations. Takes time proportional to edge groups times links.
    pub fn new(routes: &Routes, destinations: impl IntoIterator<Item = NodeId>) -> ForwardingTable {
        let nodes = || (0..routes.nodes() as u32).map(NodeId);
        let groups = EdgeGroups::new(routes, destinations);
        let mut rows: Vec<Row> = nodes().map(|_| Row::default()).collect();
        // Hosts with one uplink, by far the most frequent nodes, take the row of their switch, unless a destination is
        // adjacent to them: another host, or that switch.
        let mut is_edge = vec![false; routes.nodes()];
        groups.neighbours.iter().flatten().for_each(|node| is_edge[node.at()] = true);
        let edge_of: Vec<Option<NodeId>> =
            nodes().map(|node| only_switch(routes, node).filter(|_| !is_edge[node.at()])).collect();
        let others: Vec<NodeId> = nodes().filter(|node| edge_of[node.at()].is_none()).collect();
        let mut distances = Distances::default();
        let mut is_neighbour = vec![false; routes.nodes()];
        for group in 0..groups.count() as u32 {
            let neighbours = groups.neighbours(group);
            routes.distances_beyond(neighbours, &mut distances);
            neighbours.iter().for_each(|node| is_neighbour[node.at()] = true);
            for &node in &others {
                let row = &mut rows[node.at()];
                if is_neighbour[node.at()] {
                    row.push(group, LAST_HOP);
                } else {
                    row.go_on(group, nearest(routes, &distances, node));
                }
            }
            neighbours.iter().for_each(|node| is_neighbour[node.at()] = false);
        }
        for (node, edge) in nodes().zip(edge_of) {
            let Some(edge) = edge else { continue };
            let mut row = Row::default();
            for run in &rows[edge.at()].runs {
                let uplink = routes.uplinks(node).iter().map(|uplink| uplink.port);
                row.go_on(run.group, uplink.take(if run.list == NOWHERE { 0 } else { 1 }));
            }
            rows[node.at()] = row;
        }
        let last_hops = last_hops(routes, &groups, &mut rows);
        ForwardingTable::of_rows(rows, groups.group_of, &last_hops)
    }

    /// Concatenates the rows, and numbers the lists of all nodes consecutively.
    fn of_rows(rows: Vec<Row>, group_of: Vec<u32>, last_hops: &[Vec<LastHop>]) -> ForwardingTable {
        let mut table = ForwardingTable {
            group_of,
            first_run: Vec::with_capacity(rows.len() + 1),
            runs: Vec::with_capacity(rows.iter().map(|row| row.runs.len()).sum()),
            first_last_hop: Vec::with_capacity(rows.len() + 1),
            last_hops: Vec::with_capacity(last_hops.iter().map(Vec::len).sum()),
            first_list: Vec::with_capacity(rows.len() + 1),
            first_port: vec![0, 0],
            ports: Vec::new(),
        };
        for row in rows {
            let first_list = table.first_port.len() as u32 - 1;
            table.first_list.push(first_list);
            table.first_run.push(table.runs.len() as u32);
            table.runs.extend(row.runs.iter().map(|run| Run { list: global(run.list, first_list), ..*run }));
            for ports in row.lists_in_order() {
                table.ports.extend(ports);
                table.first_port.push(table.ports.len() as u32);
            }
        }
        table.first_run.push(table.runs.len() as u32);
        table.first_list.push(table.first_port.len() as u32 - 1);
        for hops in last_hops {
            table.first_last_hop.push(table.last_hops.len() as u32);
            let in_all = |hop: &LastHop| LastHop {
                list: global(hop.list, table.first_list[hop.node.at()]),
                node: hop.node,
            };
            table.last_hops.extend(hops.iter().map(in_all));
        }
        table.first_last_hop.push(table.last_hops.len() as u32);
        table.first_port.shrink_to_fit();
        table.ports.shrink_to_fit();
        table
    }

    /// The egress ports of `node` on shortest paths to `destination`. Empty if there is no path, if the two nodes are
    /// equal, or if the table was not computed for this destination.
    #[inline]
    pub fn candidates(&self, node: NodeId, destination: NodeId) -> &[PortId] {
        self.ports(self.list(node, destination))
    }

    /// Returns [`ForwardingTable::candidates`] with the number of the list.
    #[inline]
    pub fn lookup(&self, node: NodeId, destination: NodeId) -> Candidates<'_> {
        let list = self.list(node, destination);
        let ports = self.ports(list);
        Candidates { ports, list: list.saturating_sub(self.first_list[node.at()]) as usize }
    }

    /// The edge group of a destination: up to the last hop, frames to all destinations of a group take the same ports.
    pub(crate) fn group_of(&self, destination: NodeId) -> u32 {
        self.group_of[destination.at()]
    }

    /// The groups at which a node's ports change from those of the previous group.
    pub(crate) fn turns(&self, node: NodeId) -> impl Iterator<Item = u32> {
        self.row(node).iter().map(|run| run.group)
    }

    /// Number of distinct lists of ports at a node.
    pub fn lists(&self, node: NodeId) -> usize {
        (self.first_list[node.at() + 1] - self.first_list[node.at()]) as usize
    }

    /// Returns true if a node has several ports to choose from for any destination.
    pub fn has_choice(&self, node: NodeId) -> bool {
        let lists = self.first_list[node.at()]..self.first_list[node.at() + 1];
        lists.into_iter().any(|list| self.ports(list).len() > 1)
    }

    /// Bytes of the table.
    pub fn memory_bytes(&self) -> usize {
        let numbers =
            [&self.group_of, &self.first_run, &self.first_last_hop, &self.first_list, &self.first_port];
        numbers.iter().map(|list| list.capacity() * size_of::<u32>()).sum::<usize>()
            + self.runs.capacity() * size_of::<Run>()
            + self.last_hops.capacity() * size_of::<LastHop>()
            + self.ports.capacity() * size_of::<PortId>()
    }

    #[inline(always)]
    fn list(&self, node: NodeId, destination: NodeId) -> u32 {
        let group = self.group_of[destination.at()];
        if group == NO_GROUP || node == destination {
            return NOWHERE;
        }
        let row = self.row(node);
        // The first run begins at group 0.
        match row[row.partition_point(|run| run.group <= group) - 1].list {
            LAST_HOP => self.last_hop(node, destination),
            list => list,
        }
    }

    #[inline(always)]
    fn row(&self, node: NodeId) -> &[Run] {
        &self.runs[self.first_run[node.at()] as usize..self.first_run[node.at() + 1] as usize]
    }

    #[inline]
    fn last_hop(&self, node: NodeId, destination: NodeId) -> u32 {
        let first = self.first_last_hop[destination.at()] as usize;
        let hops = &self.last_hops[first..self.first_last_hop[destination.at() + 1] as usize];
        hops.binary_search_by_key(&node, |hop| hop.node).map_or(NOWHERE, |at| hops[at].list)
    }

    #[inline]
    fn ports(&self, list: u32) -> &[PortId] {
        &self.ports[self.first_port[list as usize] as usize..self.first_port[list as usize + 1] as usize]
    }
}

/// Maximum number of edge groups searched for equal paths: if a fabric has any, the first group mostly shows it.
const MOST_GROUPS: usize = 256;

/// Returns true if a switch with one of these path choices has several ports to choose from towards a destination of
/// the flows without a route of their own. `None` if the fabric is too large for the search.
pub fn has_equal_paths(spec: &Spec, is_one: impl Fn(PathChoice) -> bool) -> Option<bool> {
    let wiring = spec.wiring();
    let routes = Routes::new(&wiring, |node| spec.nodes[node.at()].host().is_some());
    let chooses =
        |node: &NodeId| spec.nodes[node.at()].switch().is_some_and(|switch| is_one(switch.path_choice));
    let choosers: Vec<NodeId> = (0..wiring.nodes() as u32).map(NodeId).filter(chooses).collect();
    let destinations: Vec<NodeId> = spec.free_flows().flat_map(|(_, to)| to).collect();
    let groups = EdgeGroups::new(&routes, destinations.iter().copied());
    let parallel = |&destination: &NodeId| {
        let neighbours = groups.of(destination).map_or(&[][..], |group| groups.neighbours(group));
        let mut edges = neighbours.iter().filter(|node| chooses(node));
        edges.any(|&edge| routes.last_hops(destination, edge).nth(1).is_some())
    };
    let mut distances = Distances::default();
    let mut divides = |group: u32| {
        let neighbours = groups.neighbours(group);
        routes.distances_beyond(neighbours, &mut distances);
        let mut far = choosers.iter().filter(|node| neighbours.binary_search(node).is_err());
        far.any(|&node| nearest(&routes, &distances, node).nth(1).is_some())
    };
    if (0..groups.count() as u32).take(MOST_GROUPS).any(&mut divides) || destinations.iter().any(parallel) {
        return Some(true);
    }
    (groups.count() <= MOST_GROUPS).then_some(false)
}

/// Returns adjacent switches whose hashes are correlated (equal seeds and fields), if both have several ports to choose
/// from for frames of the flows without a route of their own. Limited to a maximum number of edge groups.
pub fn polarised(spec: &Spec) -> Vec<[NodeId; 2]> {
    let hashing = |node: NodeId| match spec.nodes[node.at()].switch()?.path_choice {
        PathChoice::Hash(own) => own.seed.map(|_| own),
        _ => None,
    };
    if (0..spec.nodes.len() as u32).filter(|&node| hashing(NodeId(node)).is_some()).nth(1).is_none() {
        return Vec::new();
    }
    let wiring = spec.wiring();
    let routes = Routes::new(&wiring, |node| spec.nodes[node.at()].host().is_some());
    let groups = EdgeGroups::new(&routes, spec.free_flows().flat_map(|(_, to)| to));
    // One destination of each group.
    let mut met = vec![false; groups.count()];
    let mut is_first = |node: &NodeId| {
        groups.of(*node).is_some_and(|group| !std::mem::replace(&mut met[group as usize], true))
    };
    let destinations: Vec<NodeId> =
        (0..spec.nodes.len() as u32).map(NodeId).filter(|node| is_first(node)).take(MOST_GROUPS).collect();
    let table = ForwardingTable::new(&routes, destinations.iter().copied());
    let mut found = BTreeSet::new();
    for &to in &destinations {
        for node in (0..spec.nodes.len() as u32).map(NodeId) {
            let ports = table.candidates(node, to);
            let Some(own) = hashing(node).filter(|_| ports.len() > 1) else { continue };
            let next = ports.iter().map(|&port| wiring.neighbour(port));
            let alike =
                next.filter(|&next| hashing(next) == Some(own) && table.candidates(next, to).len() > 1);
            found.extend(alike.map(|next| [node, next]));
        }
    }
    found.into_iter().collect()
}

/// The switch at the other end of the only live link of a host; `None` for other nodes.
fn only_switch(routes: &Routes, node: NodeId) -> Option<NodeId> {
    match routes.uplinks(node) {
        [only] if routes.is_host(node) && routes.neighbours(node).len() == 1 => Some(only.switch),
        _ => None,
    }
}

/// Returns the ports on shortest paths to a destination, for a node that is not adjacent to it.
fn nearest<'r>(
    routes: &'r Routes,
    distances: &'r Distances,
    node: NodeId,
) -> impl Iterator<Item = PortId> + Clone + use<'r> {
    let uplinks = routes.uplinks(node);
    let far =
        |uplink: &Uplink| distances.of_switch(uplink.switch).map_or(u32::MAX, |beyond| beyond + uplink.cost);
    let least = uplinks.iter().map(far).min().unwrap_or(u32::MAX);
    let on_path = move |uplink: &&Uplink| least != u32::MAX && far(uplink) == least;
    uplinks.iter().filter(on_path).map(|uplink| uplink.port)
}

/// Returns, for each destination, the adjacent nodes with their ports to it.
fn last_hops(routes: &Routes, groups: &EdgeGroups, rows: &mut [Row]) -> Vec<Vec<LastHop>> {
    let of = |destination: NodeId| {
        let Some(group) = groups.of(destination) else { return Vec::new() };
        let hop = |&node: &NodeId| {
            let ports = routes.last_hops(destination, node);
            LastHop { node, list: rows[node.at()].intern(ports.collect()) }
        };
        groups.neighbours(group).iter().map(hop).collect()
    };
    (0..routes.nodes() as u32).map(NodeId).map(of).collect()
}

/// Converts the number of a list of one node to its number among those of all nodes.
fn global(list: u32, first_list: u32) -> u32 {
    match list {
        NOWHERE | LAST_HOP => list,
        own => first_list + own - 1,
    }
}

/// The row of a node under construction. Its lists are numbered from 1: 0 is [`NOWHERE`].
#[derive(Default)]
struct Row {
    runs: Vec<Run>,
    lists: BTreeMap<Vec<PortId>, u32>,
    /// The ports of the last run that is not [`LAST_HOP`].
    ports: Vec<PortId>,
    list: u32,
}

impl Row {
    /// Starts a run: from `group` on, frames take these ports.
    fn go_on(&mut self, group: u32, ports: impl Iterator<Item = PortId> + Clone) {
        if !self.ports.iter().copied().eq(ports.clone()) {
            self.ports.clear();
            self.ports.extend(ports);
            self.list = self.intern(self.ports.clone());
        }
        self.push(group, self.list);
    }

    fn push(&mut self, group: u32, list: u32) {
        if self.runs.last().is_none_or(|run| run.list != list) {
            self.runs.push(Run { group, list });
        }
    }

    fn intern(&mut self, ports: Vec<PortId>) -> u32 {
        if ports.is_empty() {
            return NOWHERE;
        }
        let next = self.lists.len() as u32 + 1;
        *self.lists.entry(ports).or_insert(next)
    }

    fn lists_in_order(self) -> Vec<Vec<PortId>> {
        let mut lists: Vec<(u32, Vec<PortId>)> =
            self.lists.into_iter().map(|(ports, list)| (list, ports)).collect();
        lists.sort_unstable();
        lists.into_iter().map(|(_, ports)| ports).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::routing::Wiring;
    use crate::spec::topology::{Cable, Chain, FatTree, Graph, NTree, NodeRole, Shape};
    use crate::spec::tuple::Hashing;
    use proptest::prelude::*;
    use units::{BitRate, Time};

    const CABLE: Cable = Cable::new(BitRate::from_gbps(10), Time::from_ns(10));

    fn wire(graph: &Graph) -> Wiring {
        let links: Vec<(NodeId, NodeId)> = graph.links.iter().map(|link| (link.a, link.b)).collect();
        Wiring::new(graph.nodes.len(), &links)
    }

    fn table_of(graph: &Graph, wiring: &Wiring) -> ForwardingTable {
        let routes = Routes::new(wiring, |node| graph.nodes[node.at()].role == NodeRole::Host);
        ForwardingTable::new(&routes, graph.hosts())
    }

    fn runs(table: &ForwardingTable, node: NodeId) -> usize {
        (table.first_run[node.at() + 1] - table.first_run[node.at()]) as usize
    }

    #[test]
    fn a_fat_tree_needs_a_run_for_each_way_down_and_few_more() {
        let graph = FatTree::new(8, CABLE).graph().unwrap();
        let wiring = wire(&graph);
        let table = table_of(&graph, &wiring);
        for (node, facts) in (0..).map(NodeId).zip(&graph.nodes) {
            // Runs: one for the own hosts, or for 4 edge switches, or for 8 pods; and those before and after.
            let (runs_at_most, lists) = match facts.level {
                0 => (1, 1),
                1 => (3, 1 + 4),
                2 => (6, 1 + 4),
                _ => (8, 8),
            };
            assert!(runs(&table, node) <= runs_at_most, "{}: {}", facts.name, runs(&table, node));
            assert_eq!(table.lists(node), lists, "{}", facts.name);
            assert_eq!(table.has_choice(node), matches!(facts.level, 1 | 2), "{}", facts.name);
        }
        let hosts: Vec<NodeId> = graph.hosts().collect();
        let edge = wiring.ports(hosts[0]).map(|port| wiring.neighbour(port)).next().unwrap();
        assert_eq!(table.candidates(edge, hosts[127]).len(), 4);
        assert_eq!(table.candidates(edge, hosts[0]).len(), 1);
    }

    #[test]
    fn tables_grow_with_switches_not_with_their_square() {
        let bytes_a_node = |graph: Graph| {
            let table = table_of(&graph, &wire(&graph));
            table.memory_bytes() / graph.nodes.len()
        };
        // One entry of 4 bytes per node and group would take 8,192 bytes per node, both for the chain and for the tree.
        assert!(bytes_a_node(Chain::new(2_048, 1, CABLE).graph().unwrap()) < 100);
        assert!(bytes_a_node(NTree::new(2, 12, CABLE).graph().unwrap()) < 200);
    }

    #[test]
    fn a_host_with_two_links_is_a_group_of_its_own() {
        let n = NodeId;
        // h0 and h1 at s3, h2 at s3 and s4; s3 - s4 - s5 - h6.
        let links = [(0, 3), (1, 3), (2, 3), (2, 4), (3, 4), (4, 5), (5, 6)];
        let wiring = Wiring::new(7, &links.map(|(a, b)| (n(a), n(b))));
        let is_host = |node: NodeId| matches!(node.0, 0..=2 | 6);
        let hosts = [0, 1, 2, 6].map(n);
        let routes = Routes::new(&wiring, is_host);
        let groups = EdgeGroups::new(&routes, hosts);
        assert_eq!(hosts.map(|host| groups.of(host)), [Some(0), Some(0), Some(1), Some(2)]);
        assert_eq!(groups.of(n(3)), None);
        let table = ForwardingTable::new(&routes, hosts);
        let via = |table: &ForwardingTable, from: u32, to: u32| -> Vec<u32> {
            table.candidates(n(from), n(to)).iter().map(|&port| wiring.neighbour(port).0).collect()
        };
        assert_eq!(via(&table, 5, 2), [4]);
        assert_eq!(via(&table, 4, 2), [2]);
        assert_eq!(via(&table, 4, 0), [3]);
        // Frames to h6 take the nearer switch, frames to h0 the other.
        assert_eq!((via(&table, 2, 6), via(&table, 2, 0)), (vec![4], vec![3]));
        assert_eq!((via(&table, 2, 2), via(&table, 0, 3)), (vec![], vec![]));
        // Without the link to s4, it belongs to the hosts of s3.
        let routes = Routes::without(&wiring, is_host, |link| link == 3);
        assert_eq!(EdgeGroups::new(&routes, hosts).count(), 2);
        let table = ForwardingTable::new(&routes, hosts);
        assert_eq!((via(&table, 4, 2), via(&table, 2, 6)), (vec![3], vec![3]));
        // Without both links, it is unreachable.
        let routes = Routes::without(&wiring, is_host, |link| link == 2 || link == 3);
        let table = ForwardingTable::new(&routes, hosts);
        assert_eq!((via(&table, 4, 2), via(&table, 3, 2), via(&table, 2, 6)), (vec![], vec![], vec![]));
    }

    proptest! {
        /// The candidates are the ports of shortest paths, and a hash selects from them the path that [`Routes`] finds;
        /// on multigraphs with links between hosts, hosts with several links, failed links, and switches as
        /// destinations.
        #[test]
        fn candidates_are_those_of_routes(
            is_host in proptest::collection::vec(any::<bool>(), 2..24),
            ends in proptest::collection::vec((any::<u32>(), any::<u32>(), 0u8..8), 1..60),
            left_out: u8,
            hash: u64,
        ) {
            let nodes = is_host.len() as u32;
            let (links, down): (Vec<(NodeId, NodeId)>, Vec<bool>) = ends.iter()
                .map(|&(a, b, down)| ((NodeId(a % nodes), NodeId(b % nodes)), down == 0))
                .filter(|((a, b), _)| a != b)
                .unzip();
            let wiring = Wiring::new(is_host.len(), &links);
            let routes = Routes::without(&wiring, |node| is_host[node.at()], |link| down[link as usize]);
            let all = || (0..nodes).map(NodeId);
            let left_out = NodeId(u32::from(left_out) % nodes);
            let table = ForwardingTable::new(&routes, all().filter(|&node| node != left_out));
            for destination in all() {
                let to = routes.distances(destination);
                for node in all() {
                    let found = table.lookup(node, destination);
                    prop_assert_eq!(found.ports, table.candidates(node, destination));
                    if node == destination || destination == left_out {
                        prop_assert!(found.ports.is_empty());
                        continue;
                    }
                    // By definition: a live link to the destination, or to a switch one hop nearer.
                    let hops = routes.hops(&to, node);
                    let leads = |port: &PortId| {
                        let next = wiring.neighbour(*port);
                        let lives = !down[wiring.link_of[port.at()] as usize];
                        let onward = !is_host[next.at()] && next != destination;
                        let left = hops.map(|hops| hops - 1);
                        lives && match left {
                            Some(0) => next == destination,
                            _ => onward && left.is_some() && routes.hops(&to, next) == left,
                        }
                    };
                    let expected: Vec<PortId> = wiring.ports(node).filter(leads).collect();
                    prop_assert_eq!(found.ports, &expected[..], "{:?} to {:?}", node, destination);
                    if !found.ports.is_empty() {
                        prop_assert!(found.list < table.lists(node));
                    }
                    let mut path = Vec::new();
                    let mut here = node;
                    while here != destination {
                        let ports = table.candidates(here, destination);
                        if ports.is_empty() {
                            break;
                        }
                        path.push(ports[Hashing::USUAL.choose(ports.len(), &hash.into(), here)]);
                        here = wiring.neighbour(path[path.len() - 1]);
                    }
                    prop_assert_eq!(routes.path(&to, node, hash), (here == destination).then_some(path));
                }
            }
        }

        /// Equal lists have equal numbers, different ones different numbers.
        #[test]
        fn lists_are_kept_once(switches in 2u32..12, ends in proptest::collection::vec((any::<u32>(), any::<u32>()), 1..40)) {
            let mut links: Vec<(NodeId, NodeId)> = ends.iter()
                .map(|&(a, b)| (NodeId(a % switches), NodeId(b % switches)))
                .filter(|(a, b)| a != b)
                .collect();
            links.extend((0..switches).map(|switch| (NodeId(switch), NodeId(switches + switch))));
            let wiring = Wiring::new(2 * switches as usize, &links);
            let routes = Routes::new(&wiring, |node| node.0 >= switches);
            let hosts = || (switches..2 * switches).map(NodeId);
            let table = ForwardingTable::new(&routes, hosts());
            for node in (0..2 * switches).map(NodeId) {
                let all: Vec<Candidates> =
                    hosts().map(|to| table.lookup(node, to)).filter(|found| !found.ports.is_empty()).collect();
                for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
                    prop_assert_eq!(a.ports == b.ports, a.list == b.list);
                }
            }
        }
    }
}
