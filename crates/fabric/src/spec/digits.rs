//! Path choice by the digits of the destination (D-mod-k): all frames to a host take one path, and in a k-ary n-tree
//! the downward paths to different hosts are disjoint.
//!
//! Hosts are numbered in the order of the scenario. A switch of level l, counted from 0 at the hosts, divides the
//! number of the destination by the product of the numbers of uplinks of the levels below, and takes the uplink given
//! by the remainder: in a k-ary n-tree, that of digit l. The upward frames of a switch are then spread over all its
//! uplinks, and the frames to a host come down over one link of each level, which carries no other downward frames.
//!
//! Source: Zahavi, Fat-tree routing and node ordering providing contention free traffic for MPI global collectives
//! (JPDC 72(11), 2012, §4). The order of the digits matters: starting from the highest, all frames from a leaf to the
//! hosts of another leaf would leave through one port.
//!
//! Not modelled: numbers of hosts other than the order of the scenario.

use crate::spec::choice::PathChoice;
use crate::spec::routing::Wiring;
use crate::spec::{NodeSpec, Spec};
use frame::NodeId;
use std::collections::VecDeque;

/// Tables of the switches that choose by digits.
#[derive(Clone, Debug)]
pub struct Digits {
    /// By node, the divisor of a destination's number; 0 for a node that does not choose by digits.
    divisors: Vec<u64>,
    /// Number of each node among the hosts.
    numbers: Vec<u64>,
}

impl Digits {
    /// Creates the tables of a fabric in which these nodes are hosts and these switches choose by digits.
    pub fn new(
        wiring: &Wiring,
        is_host: impl Fn(NodeId) -> bool,
        chooses: impl Fn(NodeId) -> bool,
    ) -> Digits {
        let nodes = || (0..wiring.nodes() as u32).map(NodeId);
        let mut hosts = 0;
        let numbers = nodes()
            .map(|node| {
                hosts += u64::from(is_host(node));
                hosts.saturating_sub(1)
            })
            .collect();
        let mut divisors = divisors(wiring, &is_host);
        nodes().filter(|&node| !chooses(node)).for_each(|node| divisors[node.at()] = 0);
        Digits { divisors, numbers }
    }

    /// Returns the tables of a description; `None` if no switch chooses by digits.
    pub(crate) fn of(spec: &Spec, wiring: &Wiring) -> Option<Digits> {
        let chooses = |node: &NodeSpec| node.switch().is_some_and(|own| own.path_choice == PathChoice::DModK);
        if !spec.nodes.iter().any(chooses) {
            return None;
        }
        let at = |node: NodeId| &spec.nodes[node.at()];
        Some(Digits::new(wiring, |node| at(node).host().is_some(), |node| chooses(at(node))))
    }

    /// Returns the index of the port that a node takes among equal ones; `None` if it does not choose by digits.
    #[inline]
    pub fn place(&self, node: NodeId, destination: NodeId, ports: usize) -> Option<usize> {
        let digits = self.numbers[destination.at()].checked_div(self.divisors[node.at()])?;
        Some((digits % (ports as u64).max(1)) as usize)
    }
}

/// By switch, the product of the numbers of uplinks of the levels below it. The level is the distance to the nearest
/// host.
fn divisors(wiring: &Wiring, is_host: impl Fn(NodeId) -> bool) -> Vec<u64> {
    const UNKNOWN: u64 = 0;
    let mut level = vec![u32::MAX; wiring.nodes()];
    let mut divisors = vec![UNKNOWN; wiring.nodes()];
    let mut queue: VecDeque<NodeId> =
        (0..wiring.nodes() as u32).map(NodeId).filter(|&node| is_host(node)).collect();
    queue.iter().for_each(|host| level[host.at()] = 0);
    while let Some(node) = queue.pop_front() {
        let own = level[node.at()];
        let above = |port| !is_host(wiring.neighbour(port)) && level[wiring.neighbour(port).at()] > own;
        let ports_up = wiring.ports(node).filter(|&port| above(port)).count() as u64;
        for port in wiring.ports(node) {
            let next = wiring.neighbour(port);
            if level[next.at()] == u32::MAX {
                level[next.at()] = own + 1;
                queue.push_back(next);
                divisors[next.at()] =
                    if is_host(node) { 1 } else { divisors[node.at()].saturating_mul(ports_up) };
            }
        }
    }
    divisors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::routing::Routes;
    use crate::spec::topology::{Cable, Graph, LeafSpine, NTree, NodeRole, Shape};
    use frame::PortId;
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use units::{BitRate, Time};

    const CABLE: Cable = Cable::new(BitRate::from_gbps(10), Time::from_ns(10));

    fn hosts(graph: &Graph) -> Vec<NodeId> {
        (0..)
            .zip(&graph.nodes)
            .filter(|(_, node)| node.role == NodeRole::Host)
            .map(|(n, _)| NodeId(n))
            .collect()
    }

    /// The paths of all pairs, in order.
    fn all_paths(graph: &Graph) -> Vec<(usize, usize, Vec<PortId>)> {
        let links: Vec<(NodeId, NodeId)> = graph.links.iter().map(|link| (link.a, link.b)).collect();
        let wiring = Wiring::new(graph.nodes.len(), &links);
        let is_host = |node: NodeId| graph.nodes[node.at()].role == NodeRole::Host;
        let digits = Digits::new(&wiring, is_host, |node| !is_host(node));
        let routes = Routes::new(&wiring, is_host).with_digits(Some(Arc::new(digits)));
        let hosts = hosts(graph);
        let mut paths = Vec::new();
        for (to, &destination) in hosts.iter().enumerate() {
            let distances = routes.distances(destination);
            for (from, &source) in hosts.iter().enumerate().filter(|&(from, _)| from != to) {
                // The hash has no effect.
                let hash = (from * 64 + to) as u64;
                paths.push((from, to, routes.path(&distances, source, hash).unwrap()));
            }
        }
        paths
    }

    /// Switch s2.(p1 p0) of the highest level is the one of host (p2 p1 p0): digit 0 selects at level 0, digit 1 at
    /// level 1.
    #[test]
    fn a_k_ary_n_tree_goes_up_by_the_digits_of_the_destination() {
        let graph = NTree::new(4, 3, CABLE).graph().unwrap();
        let links: Vec<(NodeId, NodeId)> = graph.links.iter().map(|link| (link.a, link.b)).collect();
        let wiring = Wiring::new(graph.nodes.len(), &links);
        let name = |port: PortId| graph.nodes[wiring.neighbour(port).at()].name.as_str();
        for (from, to, path) in all_paths(&graph).into_iter().filter(|(from, to, _)| from / 16 != to / 16) {
            let (leaf, low, middle) = (to / 4, to % 4, to / 4 % 4);
            let expected = [
                format!("s0.{}", from / 4),
                format!("s1.{}", from / 16 * 4 + low),
                format!("s2.{}", middle * 4 + low),
                format!("s1.{}", to / 16 * 4 + low),
                format!("s0.{leaf}"),
                format!("h{to}"),
            ];
            assert_eq!(path.iter().map(|&port| name(port)).collect::<Vec<_>>(), expected);
        }
    }

    /// Turns, the number of ports from ingress to egress in each switch, are all that a source has to specify (a turn
    /// pool). The answer takes the turns in reverse order and direction.
    #[test]
    fn turns_lead_to_the_destination_and_back() {
        let graph = NTree::new(4, 3, CABLE).graph().unwrap();
        let links: Vec<(NodeId, NodeId)> = graph.links.iter().map(|link| (link.a, link.b)).collect();
        let wiring = Wiring::new(graph.nodes.len(), &links);
        let hosts = hosts(&graph);
        let entered = |port: PortId| wiring.peer[port.at()];
        let siblings = |port: PortId| wiring.ports(wiring.node_of[port.at()]);
        let turned = |ingress: PortId, by: u32| {
            let mut ports = siblings(ingress);
            let egress = (wiring.local(ingress) + by) as usize % ports.len();
            ports.nth(egress).expect("a port of that number")
        };
        for (from, to, path) in all_paths(&graph) {
            let pool: Vec<(u32, u32)> = path
                .windows(2)
                .map(|hop| {
                    let (ingress, ports) = (entered(hop[0]), siblings(hop[1]).len() as u32);
                    ((wiring.local(hop[1]) + ports - wiring.local(ingress)) % ports, ports)
                })
                .collect();
            assert!(pool.iter().all(|&(turn, _)| turn > 0), "no frame goes back by the port it came from");
            let first = wiring.ports(hosts[from]).next().unwrap();
            let last = pool.iter().fold(first, |port, &(turn, _)| turned(entered(port), turn));
            assert_eq!(wiring.neighbour(last), hosts[to]);
            let answer = wiring.ports(hosts[to]).next().unwrap();
            let back =
                pool.iter().rev().fold(answer, |port, &(turn, ports)| turned(entered(port), ports - turn));
            assert_eq!(wiring.neighbour(back), hosts[from]);
        }
    }

    /// Under uniform traffic no link of a k-ary n-tree carries more than the traffic of one host, and traffic down to
    /// different hosts shares no link.
    #[test]
    fn uniform_traffic_loads_no_link_with_more_than_a_host_sends() {
        for (k, n) in [(2, 3), (4, 2), (4, 3)] {
            let graph = NTree::new(k, n, CABLE).graph().unwrap();
            let mut pairs = BTreeMap::<PortId, u64>::new();
            for (_, _, path) in all_paths(&graph) {
                path.into_iter().for_each(|port| *pairs.entry(port).or_default() += 1);
            }
            let hosts = k.pow(n as u32);
            assert_eq!(pairs.values().max(), Some(&(hosts - 1)), "{k}-ary {n}-tree");
            assert_eq!(pairs.len() as u64, 2 * hosts * n, "every link is used both ways");
        }
    }

    #[test]
    fn leaves_spread_the_hosts_of_each_leaf_over_the_spines() {
        let graph = LeafSpine::new(2, 3, 6, None, CABLE).graph().unwrap();
        let mut pairs = BTreeMap::<PortId, u64>::new();
        for (_, _, path) in all_paths(&graph).into_iter().filter(|(_, _, path)| path.len() == 4) {
            *pairs.entry(path[1]).or_default() += 1;
        }
        // Six hosts of each leaf send to six hosts of the other leaf, two of them over each spine.
        assert_eq!(pairs.into_values().collect::<Vec<_>>(), [12; 6]);
    }
}
