//! Routing: ports, shortest paths with equal-cost multipath, explicit routes.
//!
//! By default, a path is determined when a flow is created, not at each hop: it is the list of egress ports from the
//! source to the last switch. `forwarding` has the tables for choices at each hop. The shortest path has the fewest
//! links. If several ports are on a shortest path, a hash of flow and node selects one (ECMP, RFC 2992 §2). Mixing in
//! the node makes the choices of different tiers independent, so that a second tier does not receive only flows with
//! correlated hashes (polarisation). `tuple` describes the hashed fields.
//!
//! Scope: the fabric is a multigraph; parallel links are separate ports everywhere. Hosts never forward, even with
//! several links.
//!
//! Not modelled: link weights, routing protocols.

pub use crate::spec::route_error::RouteError;

use crate::spec::digits::Digits;
use crate::spec::tuple::{Hashing, NodeHashing, Tuple};
use crate::spec::weights::place;
use frame::{NodeId, PortId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, OnceLock};

/// Ports and the links attached to them. Ports are numbered consecutively by node, and within a node in the order of
/// its links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wiring {
    /// The first port of each node, followed by the total number of ports.
    pub first_port: Vec<u32>,
    /// The port at the other end of each port's link.
    pub peer: Vec<PortId>,
    /// The node of each port.
    pub node_of: Vec<NodeId>,
    /// The link of each port, as an index into the list of links.
    pub link_of: Vec<u32>,
    /// Routing cost of each link; empty if all links cost 1.
    costs: Vec<u32>,
    /// See [`Wiring::heights`].
    pub(super) heights: OnceLock<Vec<u32>>,
}

impl Wiring {
    /// Numbers the ports of `nodes` nodes with a link for each pair in `links`.
    ///
    /// # Panics
    /// If a link names a node that does not exist.
    pub fn new(nodes: usize, links: &[(NodeId, NodeId)]) -> Wiring {
        let mut first_port = vec![0u32; nodes + 1];
        for &(a, b) in links {
            first_port[a.at() + 1] += 1;
            first_port[b.at() + 1] += 1;
        }
        for node in 0..nodes {
            first_port[node + 1] += first_port[node];
        }
        let ports = first_port[nodes] as usize;
        let mut next = first_port.clone();
        let mut wiring = Wiring {
            first_port,
            peer: vec![PortId(0); ports],
            node_of: vec![NodeId(0); ports],
            link_of: vec![0; ports],
            costs: Vec::new(),
            heights: OnceLock::new(),
        };
        for (link, &(a, b)) in (0..).zip(links) {
            let ends = [a, b].map(|node| {
                let port = PortId(next[node.at()]);
                next[node.at()] += 1;
                wiring.node_of[port.at()] = node;
                wiring.link_of[port.at()] = link;
                port
            });
            wiring.peer[ends[0].at()] = ends[1];
            wiring.peer[ends[1].at()] = ends[0];
        }
        wiring
    }

    /// Returns this wiring with link costs, in the order of links.
    pub fn with_costs(mut self, costs: impl Iterator<Item = u32> + Clone) -> Wiring {
        if costs.clone().any(|cost| cost != 1) {
            self.costs = costs.collect();
        }
        self
    }

    /// Routing cost of the link of a port.
    pub fn cost(&self, port: PortId) -> u32 {
        self.costs.get(self.link_of[port.at()] as usize).copied().unwrap_or(1)
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.first_port.len() - 1
    }
    /// The ports of a node.
    pub fn ports(&self, node: NodeId) -> impl DoubleEndedIterator<Item = PortId> + ExactSizeIterator + use<> {
        (self.first_port[node.at()]..self.first_port[node.at() + 1]).map(PortId)
    }
    /// The node at the other end of a port's link.
    pub fn neighbour(&self, port: PortId) -> NodeId {
        self.node_of[self.peer[port.at()].at()]
    }
    /// Index of a port among those of its node, from 0.
    pub fn local(&self, port: PortId) -> u32 {
        port.0 - self.first_port[self.node_of[port.at()].at()]
    }
    /// Name of a port such as "sw.2->h1": node, number of the port, node at the other end.
    pub fn port_name<'a>(&self, port: PortId, name: impl Fn(NodeId) -> &'a str) -> String {
        // Avoids the cost of formatting: results contain each port name several times.
        let local = self.local(port).to_string();
        [name(self.node_of[port.at()]), ".", &local, "->", name(self.neighbour(port))].concat()
    }
}

/// Costs from every switch to one destination; the number of links if all cost 1. A value may be reused for the next
/// destination of the same [`Routes`].
#[derive(Clone, Debug)]
pub struct Distances {
    destination: NodeId,
    /// The only switch adjacent to the destination, if there is exactly one and all links cost 1.
    edge: Option<NodeId>,
    hops: Vec<u32>,
    queue: Vec<NodeId>,
}

const UNREACHED: u32 = u32::MAX;

impl Default for Distances {
    fn default() -> Distances {
        Distances { destination: NodeId(u32::MAX), edge: None, hops: Vec::new(), queue: Vec::new() }
    }
}

impl Distances {
    fn clear(&mut self, nodes: usize, destination: NodeId) {
        self.destination = destination;
        self.edge = None;
        self.hops.clear();
        self.hops.resize(nodes, UNREACHED);
        self.queue.clear();
    }
    /// The destination of the distances.
    pub fn destination(&self) -> NodeId {
        self.destination
    }
    /// Sets another destination with the same neighbours, to which the distances also apply.
    pub fn redirect(&mut self, destination: NodeId) {
        self.destination = destination;
    }
    /// The cost from a switch to the destination; `None` if it is unreachable.
    pub fn of_switch(&self, switch: NodeId) -> Option<u32> {
        Some(self.hops[switch.at()]).filter(|&hops| hops != UNREACHED)
    }
}

/// Finds paths through a wiring.
#[derive(Clone, Debug)]
pub struct Routes<'a> {
    wiring: &'a Wiring,
    is_host: Vec<bool>,
    /// Ports that lead to switches, by node. Frames in transit use only these, and a search without hosts takes a
    /// fraction of the time.
    first_uplink: Vec<u32>,
    uplinks: Vec<Uplink>,
    /// By link, true if frames may not take it; empty if all links are available.
    down: Vec<bool>,
    /// Switches that choose by digits of the destination in place of a hash.
    digits: Option<Arc<Digits>>,
    /// Hashing by node; empty for the default everywhere.
    hashing: Vec<NodeHashing>,
}

/// A port that leads to a switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uplink {
    pub port: PortId,
    pub switch: NodeId,
    /// Routing cost of the link.
    pub cost: u32,
}

impl<'a> Routes<'a> {
    /// Creates routes through `wiring`, in which node n is a host if `is_host(n)`.
    pub fn new(wiring: &'a Wiring, is_host: impl Fn(NodeId) -> bool) -> Routes<'a> {
        Routes::avoiding(wiring, is_host, Vec::new())
    }

    /// Creates routes that avoid all links for which `is_dead` returns true.
    pub fn without(
        wiring: &'a Wiring,
        is_host: impl Fn(NodeId) -> bool,
        is_dead: impl Fn(u32) -> bool,
    ) -> Routes<'a> {
        let links = wiring.peer.len() as u32 / 2;
        Routes::avoiding(wiring, is_host, (0..links).map(is_dead).collect())
    }

    fn avoiding(wiring: &'a Wiring, is_host: impl Fn(NodeId) -> bool, down: Vec<bool>) -> Routes<'a> {
        let nodes = || (0..wiring.nodes() as u32).map(NodeId);
        let lives = |port: PortId| down.is_empty() || !down[wiring.link_of[port.at()] as usize];
        let is_host: Vec<bool> = nodes().map(is_host).collect();
        let mut first_uplink = Vec::with_capacity(wiring.nodes() + 1);
        let mut uplinks = Vec::new();
        for node in nodes() {
            first_uplink.push(uplinks.len() as u32);
            let to_switches = wiring
                .ports(node)
                .filter(|&port| lives(port))
                .map(|port| Uplink { port, switch: wiring.neighbour(port), cost: wiring.cost(port) })
                .filter(|uplink| !is_host[uplink.switch.at()]);
            uplinks.extend(to_switches);
        }
        first_uplink.push(uplinks.len() as u32);
        Routes { wiring, is_host, first_uplink, uplinks, down, digits: None, hashing: Vec::new() }
    }

    /// Sets the tables of switches that choose by digits.
    pub fn with_digits(self, digits: Option<Arc<Digits>>) -> Routes<'a> {
        Routes { digits, ..self }
    }

    /// Sets the hashing by node.
    pub fn with_hashing(self, hashing: Vec<NodeHashing>) -> Routes<'a> {
        Routes { hashing, ..self }
    }

    /// Returns the index of the port that a node takes among equal ones.
    pub(crate) fn choice(
        &self,
        ports: impl Iterator<Item = PortId> + Clone,
        tuple: &Tuple,
        node: NodeId,
        destination: NodeId,
    ) -> usize {
        let count = ports.clone().count();
        let by_digits = self.digits.as_ref().and_then(|digits| digits.place(node, destination, count));
        if let Some(place) = by_digits {
            return place;
        }
        match self.hashing.get(node.at()) {
            Some(NodeHashing { hashing, weights: Some(weights) }) => {
                let each = ports.map(|port| weights.to(self.wiring.neighbour(port)));
                place(each, hashing.of(tuple, node))
            }
            _ => self.hashed(count, tuple, node),
        }
    }

    /// Returns the index of the port that a hash selects.
    fn hashed(&self, ports: usize, tuple: &Tuple, node: NodeId) -> usize {
        let own = self.hashing.get(node.at()).map_or(Hashing::USUAL, |own| own.hashing);
        own.choose(ports, tuple, node)
    }

    /// Computes the distances to `destination`: by breadth-first search over the switches, or by Dijkstra's algorithm
    /// if links have costs.
    pub fn distances(&self, destination: NodeId) -> Distances {
        let mut distances = Distances::default();
        self.distances_into(destination, &mut distances);
        distances
    }

    /// Computes [`Routes::distances`], reusing the memory of a value.
    pub fn distances_into(&self, destination: NodeId, into: &mut Distances) {
        into.clear(self.wiring.nodes(), destination);
        into.hops[destination.at()] = 0;
        into.queue.push(destination);
        self.search(into);
    }

    /// Computes the distances to a destination with these neighbours. They apply to every destination with these
    /// neighbours: [`Distances::redirect`] sets the destination.
    pub fn distances_beyond(&self, neighbours: &[NodeId], into: &mut Distances) {
        let edge = match neighbours {
            &[only] if !self.is_host[only.at()] && self.wiring.costs.is_empty() => Some(only),
            _ => None,
        };
        if let (Some(before), Some(edge)) = (into.edge, edge)
            && self.have_same_uplinks(before, edge)
        {
            // All other switches are equally far from both edge switches, so one search serves the edge switches of a
            // pod.
            into.hops.swap(before.at(), edge.at());
            (into.destination, into.edge) = (NodeId(u32::MAX), Some(edge));
            return;
        }
        into.clear(self.wiring.nodes(), NodeId(u32::MAX));
        for &neighbour in neighbours.iter().filter(|neighbour| !self.is_host[neighbour.at()]) {
            into.hops[neighbour.at()] = 1;
            into.queue.push(neighbour);
        }
        self.search(into);
        into.edge = edge;
    }

    /// Returns true if two switches have links to the same switches, in the same order.
    fn have_same_uplinks(&self, one: NodeId, other: NodeId) -> bool {
        let switches = |node| self.uplinks(node).iter().map(|uplink| uplink.switch);
        switches(one).eq(switches(other))
    }

    /// Continues the search from the nodes in the queue, all of which have the same distance.
    fn search(&self, into: &mut Distances) {
        if !self.wiring.costs.is_empty() {
            return self.search_by_cost(into);
        }
        let mut done = 0;
        while let Some(&node) = into.queue.get(done) {
            done += 1;
            let hops = into.hops[node.at()] + 1;
            for uplink in self.uplinks(node) {
                let reached = &mut into.hops[uplink.switch.at()];
                if *reached == UNREACHED {
                    *reached = hops;
                    into.queue.push(uplink.switch);
                }
            }
        }
    }

    fn search_by_cost(&self, into: &mut Distances) {
        let first = into.queue.drain(..).map(|node| Reverse((into.hops[node.at()], node.0)));
        let mut queue: BinaryHeap<Reverse<(u32, u32)>> = first.collect();
        while let Some(Reverse((cost, node))) = queue.pop() {
            if cost > into.hops[node as usize] {
                continue;
            }
            for uplink in self.uplinks(NodeId(node)) {
                let reached = &mut into.hops[uplink.switch.at()];
                let through_here = cost + uplink.cost;
                if through_here < *reached {
                    *reached = through_here;
                    queue.push(Reverse((through_here, uplink.switch.0)));
                }
            }
        }
    }

    /// Cost of a cheapest path from `source`: the number of links if all cost 1. `None` if there is no path, or if
    /// `source` is the destination.
    pub fn hops(&self, to: &Distances, source: NodeId) -> Option<u32> {
        if source == to.destination {
            return None;
        }
        if !self.is_host[source.at()] {
            return to.of_switch(source);
        }
        // The search does not enter hosts: a host adds one link, of cost 1, to the nearest of its neighbours.
        if self.last_hops(to.destination, source).next().is_some() {
            return Some(1);
        }
        let nearest = self.uplinks(source).iter().map(|uplink| to.hops[uplink.switch.at()]).min()?;
        (nearest != UNREACHED).then(|| nearest + 1)
    }

    /// Returns the egress ports of a shortest path from `source` (a host, or a switch that originates frames), from its
    /// own port to that of the last node before the destination. Flows with different tuples are spread over all
    /// shortest paths. `None` if there is no path, or if the source is the destination.
    pub fn path(&self, to: &Distances, source: NodeId, tuple: impl Into<Tuple>) -> Option<Vec<PortId>> {
        let mut path = Vec::new();
        self.path_onto(to, source, &tuple.into(), &mut path).then_some(path)
    }

    /// Appends the ports of [`Routes::path`] to `path`. Returns false, without appending, if there is no path.
    pub fn path_onto(&self, to: &Distances, source: NodeId, tuple: &Tuple, path: &mut Vec<PortId>) -> bool {
        let Some(mut left) = self.hops(to, source) else {
            return false;
        };
        let mut node = source;
        while left > 1 {
            let is_nearer =
                |uplink: &&Uplink| to.hops[uplink.switch.at()].checked_add(uplink.cost) == Some(left);
            let nearer = self.uplinks(node).iter().filter(is_nearer);
            let choice = self.choice(nearer.clone().map(|uplink| uplink.port), tuple, node, to.destination);
            let Some(uplink) = nearer.clone().nth(choice) else {
                unreachable!("a node from which a path costs {left} has a neighbour on it")
            };
            path.push(uplink.port);
            (node, left) = (uplink.switch, left - uplink.cost);
        }
        // A destination that is a switch may be reached over a link that costs more than 1.
        if left == 1 {
            let cheap = |port: &PortId| self.wiring.cost(*port) == 1;
            let last = self.last_hops(to.destination, node).filter(cheap);
            let choice = self.choice(last.clone(), tuple, node, to.destination);
            path.extend(last.clone().nth(choice));
        }
        true
    }

    /// Returns the egress ports of the route from `source` over `nodes`, the last of which is a host. The hash selects
    /// among parallel links. A route may begin with the source itself and may pass a switch twice.
    pub fn along(
        &self,
        source: NodeId,
        nodes: &[NodeId],
        tuple: impl Into<Tuple>,
    ) -> Result<Vec<PortId>, RouteError> {
        let tuple = tuple.into();
        let nodes = nodes.strip_prefix(&[source]).unwrap_or(nodes);
        if let Some(&unknown) = [source].iter().chain(nodes).find(|node| node.at() >= self.is_host.len()) {
            return Err(RouteError::UnknownNode(unknown));
        }
        let (&last, middle) = nodes.split_last().ok_or(RouteError::Empty)?;
        if let Some(&host) = middle.iter().find(|node| self.is_host[node.at()]) {
            return Err(RouteError::HostInTheMiddle(host));
        }
        if !self.is_host[last.at()] {
            return Err(RouteError::EndsAtSwitch(last));
        }
        let mut from = source;
        nodes
            .iter()
            .map(|&node| {
                let parallel = self.last_hops(node, from);
                let choice = self.hashed(parallel.clone().count(), &tuple, from);
                let port = parallel.clone().nth(choice).ok_or(RouteError::NotAdjacent(from, node))?;
                from = node;
                Ok(port)
            })
            .collect()
    }

    /// The nodes at the other end of `node`'s live links, in order and without duplicates.
    pub fn neighbours(&self, node: NodeId) -> Vec<NodeId> {
        let live = self.wiring.ports(node).filter(|port| !self.is_dead(*port));
        let mut neighbours: Vec<NodeId> = live.map(|port| self.wiring.neighbour(port)).collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        neighbours
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.wiring.nodes()
    }

    /// Returns true if a node is a host.
    pub fn is_host(&self, node: NodeId) -> bool {
        self.is_host[node.at()]
    }

    pub(crate) fn is_dead(&self, port: PortId) -> bool {
        !self.down.is_empty() && self.down[self.wiring.link_of[port.at()] as usize]
    }

    /// The ports of a node whose live links lead to switches, with those switches, in the order of ports.
    pub(crate) fn uplinks(&self, node: NodeId) -> &[Uplink] {
        &self.uplinks[self.first_uplink[node.at()] as usize..self.first_uplink[node.at() + 1] as usize]
    }

    /// Returns the ports of `node` whose links end at `destination`. Searches the ports of the node with fewer.
    pub(crate) fn last_hops(
        &self,
        destination: NodeId,
        node: NodeId,
    ) -> impl Iterator<Item = PortId> + Clone + use<'_, 'a> {
        let wiring = self.wiring;
        let from_destination = wiring.ports(destination).len() <= wiring.ports(node).len();
        let (scanned, sought) = if from_destination { (destination, node) } else { (node, destination) };
        (wiring.first_port[scanned.at()]..wiring.first_port[scanned.at() + 1])
            .map(PortId)
            .filter(move |&port| wiring.neighbour(port) == sought)
            .filter(move |&port| !self.is_dead(port))
            .map(move |port| if from_destination { wiring.peer[port.at()] } else { port })
    }
}

/// Hash of a flow at one node, independent of its hash at other nodes.
pub(crate) fn mix_in(hash: u64, node: NodeId) -> u64 {
    mix(hash ^ mix(u64::from(node.0).wrapping_add(0x9E37_79B9_7F4A_7C15)))
}

/// Returns a number below `below` from 64 well-mixed bits. Needs no division; the high bits decide.
pub(crate) fn scale(bits: u64, below: usize) -> usize {
    ((u128::from(bits) * below as u128) >> 64) as usize
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, fig. 13): every bit of the input changes every bit
/// of the output with a probability of about one half.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::topology::{Cable, Dragonfly, FatTree, Graph, NTree, NodeRole, Ring, Shape};
    use proptest::prelude::*;
    use units::{BitRate, Time};

    const CABLE: Cable = Cable::new(BitRate::from_gbps(10), Time::from_ns(10));

    fn wire(graph: &Graph) -> Wiring {
        let links: Vec<(NodeId, NodeId)> = graph.links.iter().map(|link| (link.a, link.b)).collect();
        Wiring::new(graph.nodes.len(), &links)
    }

    fn routes<'a>(graph: &Graph, wiring: &'a Wiring) -> Routes<'a> {
        Routes::new(wiring, |node| graph.nodes[node.at()].role == NodeRole::Host)
    }

    /// Returns the nodes of a path; panics if consecutive ports are not connected.
    fn walk(wiring: &Wiring, source: NodeId, path: &[PortId]) -> Vec<NodeId> {
        let mut nodes = vec![source];
        for &port in path {
            assert_eq!(wiring.node_of[port.at()], *nodes.last().unwrap());
            nodes.push(wiring.neighbour(port));
        }
        nodes
    }

    fn by_name(graph: &Graph, name: &str) -> NodeId {
        NodeId(graph.nodes.iter().position(|n| n.name == name).unwrap() as u32)
    }

    #[test]
    fn ports_are_numbered_in_the_order_of_links() {
        let n = NodeId;
        let wiring = Wiring::new(3, &[(n(0), n(2)), (n(1), n(2)), (n(0), n(2))]);
        assert_eq!(wiring.first_port, [0, 2, 3, 6]);
        assert_eq!(wiring.peer, [3, 5, 4, 0, 2, 1].map(PortId));
        assert_eq!(wiring.link_of, [0, 2, 1, 0, 1, 2]);
        assert_eq!(wiring.node_of, [0, 0, 1, 2, 2, 2].map(NodeId));
        assert_eq!((wiring.local(PortId(5)), wiring.neighbour(PortId(1))), (2, n(2)));
    }

    #[test]
    fn fat_tree_distances_are_two_four_or_six() {
        let graph = FatTree::new(4, CABLE).graph().unwrap();
        let wiring = wire(&graph);
        let routes = routes(&graph, &wiring);
        let hosts: Vec<NodeId> = graph.hosts().collect();
        let to = routes.distances(hosts[0]);
        for (h, &host) in hosts.iter().enumerate().skip(1) {
            let expected = if h < 2 {
                2
            } else if h < 4 {
                4
            } else {
                6
            };
            assert_eq!(routes.path(&to, host, 7u64).unwrap().len(), expected);
        }
        assert_eq!(routes.path(&to, hosts[0], 7u64), None);
        assert_eq!(routes.path(&to, by_name(&graph, "core3"), 7u64).unwrap().len(), 3);
    }

    #[test]
    fn switches_with_the_same_neighbours_share_a_search() {
        let graph = FatTree::new(4, CABLE).graph().unwrap();
        let wiring = wire(&graph);
        let routes = routes(&graph, &wiring);
        let mut to = Distances::default();
        for edge in graph.switches().flat_map(|one| graph.switches().flat_map(move |other| [one, other])) {
            let mut fresh = Distances::default();
            routes.distances_beyond(&[edge], &mut fresh);
            routes.distances_beyond(&[edge], &mut to);
            assert_eq!((&to.hops, to.edge), (&fresh.hops, Some(edge)));
        }
    }

    /// Pearson's statistic of counts that should be equal.
    fn chi_square(counts: &[u32]) -> f64 {
        let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
        counts.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum()
    }

    #[test]
    fn ecmp_spreads_evenly_and_tiers_choose_independently() {
        let graph = FatTree::new(8, CABLE).graph().unwrap();
        let wiring = wire(&graph);
        let routes = routes(&graph, &wiring);
        let hosts: Vec<NodeId> = graph.hosts().collect();
        let to = routes.distances(hosts[127]);
        // Consecutive hashes are the hardest case for a mixer. 16 paths lead up to the 16 cores, and the core
        // determines the path; with 15 degrees of freedom, 99.9 % of the cases are below 37.7.
        let mut cores = [0u32; 16];
        for hash in 0..16_000u64 {
            let path = routes.path(&to, hosts[0], hash).unwrap();
            let core = walk(&wiring, hosts[0], &path)[3];
            cores[core.at() - by_name(&graph, "core0").at()] += 1;
        }
        assert!(chi_square(&cores) < 37.7, "{cores:?}");
        // One hash must not lead to the same choice at all sources either.
        let mut ups = [0u32; 4];
        for &host in &hosts[..112] {
            let path = routes.path(&to, host, 1u64).unwrap();
            ups[wiring.local(path[1]) as usize - 4] += 1;
        }
        assert!(ups.iter().all(|&count| count > 0), "{ups:?}");
    }

    #[test]
    fn parallel_links_are_paths_of_their_own() {
        let n = NodeId;
        // h0 - s1 = s2 - h3: four links between the switches, and two to the second host.
        let (s1, s2) = ((n(1), n(2)), (n(2), n(3)));
        let wiring = Wiring::new(4, &[(n(0), n(1)), s1, s1, s1, s1, s2, s2]);
        let routes = Routes::new(&wiring, |node| node.0 == 0 || node.0 == 3);
        let to = routes.distances(n(3));
        let (mut trunk, mut access) = ([0u32; 4], [0u32; 2]);
        for hash in 0..4_000u64 {
            let path = routes.path(&to, n(0), hash).unwrap();
            assert_eq!(walk(&wiring, n(0), &path), [0, 1, 2, 3].map(NodeId));
            assert_eq!(routes.along(n(0), &[n(1), n(2), n(3)], hash).unwrap().len(), 3);
            trunk[wiring.local(path[1]) as usize - 1] += 1;
            access[wiring.local(path[2]) as usize - 4] += 1;
        }
        assert!(chi_square(&trunk) < 16.3 && chi_square(&access) < 10.8, "{trunk:?} {access:?}");
    }

    #[test]
    fn hosts_do_not_forward() {
        let n = NodeId;
        // s0 - h1 - s2 - h3: the only path from s0 to h3 leads through a host.
        let wiring = Wiring::new(4, &[(n(0), n(1)), (n(1), n(2)), (n(2), n(3))]);
        let routes = Routes::new(&wiring, |node| node.0 == 1 || node.0 == 3);
        let to = routes.distances(n(3));
        assert_eq!(routes.path(&to, n(0), 0u64), None);
        assert_eq!(routes.path(&to, n(1), 0u64).unwrap().len(), 2);
        // Two hosts on one link.
        let wiring = Wiring::new(2, &[(n(0), n(1))]);
        let routes = Routes::new(&wiring, |_| true);
        assert_eq!(routes.path(&routes.distances(n(1)), n(0), 0u64), Some(vec![PortId(0)]));
    }

    #[test]
    fn explicit_routes() {
        let graph = Ring::new(4, 1, CABLE).graph().unwrap();
        let wiring = wire(&graph);
        let routes = routes(&graph, &wiring);
        let named = |names: &[&str]| names.iter().map(|name| by_name(&graph, name)).collect::<Vec<_>>();
        let source = by_name(&graph, "h0.0");
        let along = |names: &[&str]| routes.along(source, &named(names), 3u64);
        // The long way round, as needed for the rings of a deadlock study.
        let path = along(&["sw0", "sw1", "sw2", "sw3", "h3.0"]).unwrap();
        assert_eq!(walk(&wiring, source, &path)[1..], named(&["sw0", "sw1", "sw2", "sw3", "h3.0"]));
        assert!(along(&["h0.0", "sw0", "sw1", "h1.0"]).is_ok());
        assert!(along(&["sw0", "sw1", "sw2", "sw3", "sw0", "sw1", "h1.0"]).is_ok());
        let at = |name| by_name(&graph, name);
        assert_eq!(along(&[]), Err(RouteError::Empty));
        assert_eq!(along(&["h0.0"]), Err(RouteError::Empty));
        assert_eq!(along(&["sw0", "sw2", "h2.0"]), Err(RouteError::NotAdjacent(at("sw0"), at("sw2"))));
        assert_eq!(along(&["sw0", "h1.0"]), Err(RouteError::NotAdjacent(at("sw0"), at("h1.0"))));
        assert_eq!(along(&["sw0", "sw1"]), Err(RouteError::EndsAtSwitch(at("sw1"))));
        assert_eq!(along(&["sw0", "h0.0", "sw0", "h0.0"]), Err(RouteError::HostInTheMiddle(source)));
        assert_eq!(routes.along(source, &[NodeId(99)], 0u64), Err(RouteError::UnknownNode(NodeId(99))));
        assert_eq!(routes.along(NodeId(99), &[source], 0u64), Err(RouteError::UnknownNode(NodeId(99))));
        // With a switch as the source.
        assert_eq!(routes.along(at("sw1"), &named(&["sw1", "sw2", "h2.0"]), 0u64).unwrap().len(), 2);
    }

    #[test]
    fn a_dragonfly_has_one_global_link_on_each_path() {
        let graph = Dragonfly::new(1, 4, 2, CABLE).graph().unwrap();
        let wiring = wire(&graph).with_costs(graph.links.iter().map(|link| link.cost));
        let routes = routes(&graph, &wiring);
        let group = |port: PortId| graph.nodes[wiring.node_of[port.at()].at()].name.split('.').next();
        for destination in graph.hosts() {
            let to = routes.distances(destination);
            for (source, hash) in graph.hosts().filter(|&host| host != destination).zip(0u64..) {
                let path = routes.path(&to, source, hash).unwrap();
                let between = path[1..path.len() - 1].iter();
                let is_global: Vec<bool> =
                    between.map(|&port| group(port) != group(wiring.peer[port.at()])).collect();
                assert!(
                    is_global.iter().filter(|&&global| global).count() <= 1 && is_global.len() <= 3,
                    "{is_global:?}"
                );
            }
        }
    }

    #[test]
    fn tree_paths_turn_at_the_nearest_common_level() {
        let graph = NTree::new(4, 3, CABLE).graph().unwrap();
        let wiring = wire(&graph);
        let routes = routes(&graph, &wiring);
        let hosts: Vec<NodeId> = graph.hosts().collect();
        let mut to = Distances::default();
        for d in [0, 17, 63] {
            routes.distances_into(hosts[d], &mut to);
            for s in (0..64).filter(|&s| s != d) {
                let levels = if s / 4 == d / 4 {
                    1
                } else if s / 16 == d / 16 {
                    2
                } else {
                    3
                };
                assert_eq!(routes.hops(&to, hosts[s]), Some(2 * levels));
            }
        }
    }

    /// Distances by relaxation until nothing changes: slow but obviously correct.
    fn relaxed(
        nodes: usize,
        links: &[(NodeId, NodeId)],
        costs: &[u32],
        is_host: &[bool],
        destination: NodeId,
    ) -> Vec<u32> {
        let mut hops = vec![UNREACHED; nodes];
        hops[destination.at()] = 0;
        for _ in 0..nodes {
            for (&(a, b), cost) in links.iter().zip(costs) {
                for (near, far) in [(a, b), (b, a)] {
                    if hops[near.at()] != UNREACHED && (near == destination || !is_host[near.at()]) {
                        hops[far.at()] = hops[far.at()].min(hops[near.at()] + cost);
                    }
                }
            }
        }
        hops
    }

    proptest! {
        #[test]
        fn paths_of_random_graphs(
            is_host in proptest::collection::vec(any::<bool>(), 2..24),
            ends in proptest::collection::vec((any::<u32>(), any::<u32>()), 1..60),
            hash in any::<u64>(),
            most in 1u32..5,
        ) {
            let nodes = is_host.len();
            let links: Vec<(NodeId, NodeId)> = ends.iter()
                .map(|&(a, b)| (NodeId(a % nodes as u32), NodeId(b % nodes as u32)))
                .filter(|(a, b)| a != b)
                .collect();
            let one_is_host = |link: &(NodeId, NodeId)| is_host[link.0.at()] || is_host[link.1.at()];
            let cost = |(link, (a, _)): (&(NodeId, NodeId), &(u32, u32))| if one_is_host(link) { 1 } else { 1 + a / 64 % most };
            let costs: Vec<u32> = links.iter().zip(&ends).map(cost).collect();
            let wiring = Wiring::new(nodes, &links).with_costs(costs.iter().copied());
            prop_assert_eq!(wiring.peer.len(), 2 * links.len());
            for (port, &peer) in wiring.peer.iter().enumerate() {
                prop_assert_eq!(wiring.peer[peer.at()].at(), port);
                prop_assert_eq!(wiring.link_of[peer.at()], wiring.link_of[port]);
            }
            let routes = Routes::new(&wiring, |node| is_host[node.at()]);
            let mut to = Distances::default();
            for edge in (0..nodes as u32).map(NodeId) {
                let mut fresh = Distances::default();
                routes.distances_beyond(&[edge], &mut fresh);
                routes.distances_beyond(&[edge], &mut to);
                prop_assert_eq!(&to.hops, &fresh.hops);
            }
            for destination in (0..nodes as u32).map(NodeId) {
                routes.distances_into(destination, &mut to);
                let expected = relaxed(nodes, &links, &costs, &is_host, destination);
                for source in (0..nodes as u32).map(NodeId).filter(|&s| s != destination) {
                    let path = routes.path(&to, source, hash);
                    prop_assert_eq!(&path, &routes.path(&to, source, hash));
                    let cheapest = expected[source.at()];
                    prop_assert_eq!(path.is_some(), cheapest != UNREACHED);
                    let Some(path) = path else { continue };
                    prop_assert_eq!(path.iter().map(|&port| wiring.cost(port)).sum::<u32>(), cheapest);
                    let passed = walk(&wiring, source, &path);
                    prop_assert_eq!(*passed.last().unwrap(), destination);
                    prop_assert!(passed[1..passed.len() - 1].iter().all(|node| !is_host[node.at()]));
                    if is_host[destination.at()] {
                        prop_assert_eq!(routes.along(source, &passed, hash).unwrap().len(), path.len());
                    }
                }
            }
        }
    }
}
