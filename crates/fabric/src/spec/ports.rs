//! Facts about ports, by which settings select them.

use crate::spec::pattern::Pattern;
use crate::spec::routing::Wiring;
use crate::spec::{NodeSpec, Spec};
use frame::{NodeId, PortId};
use queueing::PortFacts;
use std::collections::VecDeque;

/// Passes the facts of a port to `act`, and returns its result.
pub fn with_port<T>(spec: &Spec, wiring: &Wiring, port: PortId, act: impl FnOnce(&PortFacts<'_>) -> T) -> T {
    let name = |node: NodeId| spec.nodes[node.at()].name.as_str();
    let link = &spec.links[wiring.link_of[port.at()] as usize];
    let (node, neighbour) = (wiring.node_of[port.at()], wiring.neighbour(port));
    let is_host = |node: NodeId| spec.nodes[node.at()].host().is_some();
    let heights = wiring.heights(is_host);
    let is_named = |pattern: &str| Pattern::new(pattern).names_port(&wiring.port_name(port, name));
    act(&PortFacts {
        neighbour: name(neighbour),
        to_host: is_host(neighbour),
        heights: [node, neighbour].map(|node| heights[node.at()]),
        rate: link.wire_rates[link.direction_from(node)],
        delay: link.cable,
        is_named: &is_named,
    })
}

impl Wiring {
    /// Number of links from each node to the nearest host, 0 for hosts; `u32::MAX` if none can be reached.
    pub fn heights(&self, is_host: impl Fn(NodeId) -> bool) -> &[u32] {
        self.heights.get_or_init(|| {
            let all = (0..self.nodes() as u32).map(NodeId);
            let mut heights: Vec<u32> =
                all.clone().map(|node| if is_host(node) { 0 } else { u32::MAX }).collect();
            let mut queue: VecDeque<NodeId> = all.filter(|&node| heights[node.at()] == 0).collect();
            while let Some(node) = queue.pop_front() {
                for next in self.ports(node).map(|port| self.neighbour(port)) {
                    if heights[next.at()] == u32::MAX {
                        heights[next.at()] = heights[node.at()] + 1;
                        queue.push_back(next);
                    }
                }
            }
            heights
        })
    }
}

impl Spec {
    /// The queue managers of all switches.
    pub fn managers(&self) -> impl Iterator<Item = &queueing::ManagerSpec> {
        self.nodes.iter().filter_map(NodeSpec::switch).flat_map(|switch| switch.managers.all())
    }
}
