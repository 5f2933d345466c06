//! Nodes and links: the topology's graph, names, rates, and connectivity.

use super::Context;
use crate::place::Place;
use fabric::spec::LinkSpec;
use fabric::topology::{Graph, GraphLink, GraphNode, NodeRole, Topology};
use flow_control::headroom::response_time_of;
use frame::NodeId;
use keys::nearest;
use std::collections::BTreeMap;
use units::{BitRate, LineCode};

/// The checked graph, with names.
pub struct Fabric {
    pub graph: Graph,
    names: BTreeMap<String, NodeId>,
    /// Number of the connected component of each switch; 0 for hosts.
    group: Vec<u32>,
    neighbours: Vec<Vec<NodeId>>,
    /// Rate of the fastest link of each node.
    pub rate: Vec<Option<BitRate>>,
}

impl Fabric {
    /// Returns the node with this name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.names.get(name).copied()
    }
    pub fn name(&self, node: NodeId) -> &str {
        &self.graph.nodes[node.at()].name
    }
    pub fn is_host(&self, node: NodeId) -> bool {
        self.graph.nodes[node.at()].role == NodeRole::Host
    }
    /// Returns a suggestion for an unknown name, as a sentence.
    pub fn hint(&self, name: &str, role: Option<NodeRole>) -> String {
        let of_role = |node: &&GraphNode| role.is_none_or(|role| node.role == role);
        let candidates: Vec<&str> =
            self.graph.nodes.iter().filter(of_role).map(|node| node.name.as_str()).take(10_000).collect();
        let (kind, is_there) = match role {
            Some(NodeRole::Host) => ("hosts are", "host"),
            Some(NodeRole::Switch) => ("switches are", "switch"),
            None => ("nodes are", "node"),
        };
        let list = match candidates.as_slice() {
            [] => format!("there is no {is_there}"),
            few if few.len() <= 8 => format!("{kind} {}", few.join(", ")),
            many => format!("{kind} {}, {}, ... {}", many[0], many[1], many[many.len() - 1]),
        };
        match nearest(name, candidates) {
            Some(meant) => format!("{list}; did you mean \"{meant}\"?"),
            None => list,
        }
    }
    /// Returns the nodes at the other ends of a node's links.
    pub fn neighbours(&self, node: NodeId) -> &[NodeId] {
        &self.neighbours[node.at()]
    }
    pub fn linked(&self, a: NodeId, b: NodeId) -> bool {
        self.neighbours[a.at()].contains(&b)
    }
    /// Returns true if every node can reach every host.
    pub fn is_one_piece(&self) -> bool {
        let nodes = (0..self.graph.nodes.len() as u32).map(NodeId);
        nodes.into_iter().all(|node| self.groups(node).any(|group| group == 1))
            && self.group.iter().all(|&group| group <= 1)
    }
    /// Returns true if frames can travel from `a` to the host `b`, directly or through switches.
    pub fn reaches(&self, a: NodeId, b: NodeId) -> bool {
        self.linked(a, b) || self.groups(a).any(|one| self.groups(b).any(|other| one == other))
    }
    fn groups(&self, node: NodeId) -> impl Iterator<Item = u32> + '_ {
        let own = std::iter::once(node).chain(self.neighbours[node.at()].iter().copied());
        own.filter(|&node| !self.is_host(node)).map(|node| self.group[node.at()])
    }
    pub fn links(&self) -> Vec<LinkSpec> {
        let link = |link: &GraphLink| LinkSpec {
            a: link.a,
            b: link.b,
            rates: link.rates,
            wire_rates: link.wire_rates,
            delay: link.delay,
            cable: link.cable,
            overhead: link.overhead,
            response_time: link.phy.and_then(response_time_of),
            cost: link.cost,
            llr: None,
        };
        self.graph.links.iter().map(link).collect()
    }
    /// Returns the line code of a link. With a line code, rates in the scenario are signalling rates.
    pub fn line_code(&self, link: u32) -> Option<LineCode> {
        self.graph.links[link as usize].line_code
    }
    pub fn levels(&self) -> Vec<u8> {
        self.graph.nodes.iter().map(|node| node.level).collect()
    }
}

/// Converts the topology. Returns `None` after an error.
pub fn lower(topology: &Topology, context: &mut Context<'_>) -> Option<Fabric> {
    let at = Place::of("topology");
    topology.warnings().into_iter().for_each(|why| context.beware(why, &at));
    match topology.graph() {
        Ok(graph) => Some(index(graph)),
        Err(errors) => {
            errors.into_iter().for_each(|why| context.refuse(why, &at));
            None
        }
    }
}

fn index(graph: Graph) -> Fabric {
    let mut neighbours = vec![Vec::new(); graph.nodes.len()];
    let mut rate: Vec<Option<BitRate>> = vec![None; graph.nodes.len()];
    for link in &graph.links {
        neighbours[link.a.at()].push(link.b);
        neighbours[link.b.at()].push(link.a);
        for (end, of_link) in [link.a, link.b].into_iter().zip(link.rates) {
            rate[end.at()] = rate[end.at()].max(Some(of_link));
        }
    }
    let names = (0..).zip(&graph.nodes).map(|(id, node)| (node.name.clone(), NodeId(id))).collect();
    let group = groups(&graph, &neighbours);
    Fabric { graph, names, group, neighbours, rate }
}

/// Numbers the components of switches that are connected through switches.
fn groups(graph: &Graph, neighbours: &[Vec<NodeId>]) -> Vec<u32> {
    let mut group = vec![0; graph.nodes.len()];
    let mut last = 0;
    let mut stack = Vec::new();
    for first in graph.switches() {
        if group[first.at()] != 0 {
            continue;
        }
        last += 1;
        group[first.at()] = last;
        stack.push(first);
        while let Some(node) = stack.pop() {
            for &next in &neighbours[node.at()] {
                if graph.nodes[next.at()].role == NodeRole::Switch && group[next.at()] == 0 {
                    group[next.at()] = last;
                    stack.push(next);
                }
            }
        }
    }
    group
}
