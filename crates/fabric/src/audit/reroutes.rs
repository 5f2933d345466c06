//! Checks that flows have other paths where a fault would change their routes.

use super::{Audit, Subject};
use crate::spec::{FaultSpec, Spec, Way};
use frame::NodeId;
use keys::{Remark, unused};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(super) fn check(audit: &mut Audit<'_>) {
    unlisted(audit);
    without_a_way(audit);
}

/// A failed link or node.
#[derive(Clone, Copy)]
enum Down {
    Link(u32),
    Node(NodeId),
}

/// Maximum number of searches of this check; large fabrics have other paths.
const MOST_SEARCHES: usize = 2_000;

/// Reports faults after which no flow over the failed link or node has another path.
fn without_a_way(audit: &mut Audit<'_>) {
    let mut ways = Ways::of(audit.spec);
    let mut reported = Vec::new();
    for (at, fault) in audit.spec.faults.iter().enumerate() {
        let downs: Vec<Down> = match fault {
            FaultSpec::LinkDown { link, reaction, .. } if reaction.reroute.is_some() => {
                vec![Down::Link(*link)]
            }
            FaultSpec::Random { links, reaction, .. } if reaction.reroute.is_some() => {
                links.iter().copied().map(Down::Link).collect()
            }
            FaultSpec::Restart { node, reroute: Some(_), .. } => vec![Down::Node(*node)],
            _ => continue,
        };
        let some = downs.into_iter().any(|down| ways.has_another(down) != Some(false));
        if !some {
            reported.push(at);
        }
    }
    for fault in reported {
        let needs = "a flow that passes what fails and has another shortest path";
        audit.warn(Subject::Fault(fault), unused("reroute", needs));
    }
}

/// Paths from node to node, through switches.
struct Ways<'s> {
    spec: &'s Spec,
    neighbours: Vec<Vec<(u32, NodeId)>>,
    /// Destinations by sender.
    pairs: Vec<(NodeId, Vec<NodeId>)>,
    searches: usize,
}

impl<'s> Ways<'s> {
    fn of(spec: &'s Spec) -> Ways<'s> {
        let mut neighbours = vec![Vec::new(); spec.nodes.len()];
        for (number, link) in (0..).zip(&spec.links) {
            neighbours[link.a.at()].push((number, link.b));
            neighbours[link.b.at()].push((number, link.a));
        }
        let reroutable = spec.flows.iter().filter(|flow| flow.way == Way::Shortest);
        let pairs = reroutable.map(|flow| (flow.from, flow.source.destinations.nodes())).collect();
        Ways { spec, neighbours, pairs, searches: 0 }
    }

    /// Costs of the cheapest paths from a node to every other node; `u32::MAX`: unreachable.
    fn distances(&mut self, from: NodeId, down: Option<Down>) -> Vec<u32> {
        self.searches += 1;
        let mut found = vec![u32::MAX; self.neighbours.len()];
        found[from.at()] = 0;
        let mut next = BinaryHeap::from([Reverse((0, from))]);
        while let Some(Reverse((cost, node))) = next.pop() {
            let forwards = node == from || self.spec.nodes[node.at()].switch().is_some();
            for &(link, to) in self.neighbours[node.at()].iter().filter(|_| forwards) {
                let is_down = match down {
                    Some(Down::Link(down)) => link == down,
                    Some(Down::Node(down)) => to == down,
                    None => false,
                };
                let through_here = cost + self.spec.links[link as usize].cost;
                if !is_down && through_here < found[to.at()] {
                    found[to.at()] = through_here;
                    next.push(Reverse((through_here, to)));
                }
            }
        }
        found
    }

    /// Returns true if a flow with a shortest path over the failed link or node reaches its destination without it;
    /// `None`: unknown.
    fn has_another(&mut self, down: Down) -> Option<bool> {
        let ends = match down {
            Down::Node(node) => [node, node],
            Down::Link(link) => [self.spec.links[link as usize].a, self.spec.links[link as usize].b],
        };
        let length = match down {
            Down::Node(_) => 0,
            Down::Link(link) => self.spec.links[link as usize].cost,
        };
        let beyond = ends.map(|end| self.distances(end, None));
        for at in 0..self.pairs.len() {
            if self.searches > MOST_SEARCHES {
                return None;
            }
            let from = self.pairs[at].0;
            let [whole, rest] = [None, Some(down)].map(|down| self.distances(from, down));
            let passes = |to: &NodeId| {
                let over = |[near, far]: [usize; 2]| {
                    let (before, after) = (whole[ends[near].at()], beyond[far][to.at()]);
                    before != u32::MAX && after != u32::MAX && before + length + after == whole[to.at()]
                };
                over([0, 1]) || over([1, 0])
            };
            if self.pairs[at].1.iter().any(|to| rest[to.at()] != u32::MAX && passes(to)) {
                return Some(true);
            }
        }
        Some(false)
    }
}

/// Reports flows whose paths are not listed, which are not rerouted.
fn unlisted(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let reroutes = |fault: &FaultSpec| match fault {
        FaultSpec::LinkDown { reaction, .. } | FaultSpec::Random { reaction, .. } => reaction.reroute,
        FaultSpec::Restart { reroute, .. } => *reroute,
        _ => None,
    };
    let Some(fault) = spec.faults.iter().position(|fault| reroutes(fault).is_some()) else { return };
    let Some(flow) = spec.flows.iter().find(|flow| flow.way == Way::ByDestination) else { return };
    let message =
        format!("\"{}\" is not rerouted: it has too many destinations to list their paths", flow.name);
    let help = "each switch passes over links of its own that are down, and frames that come to a switch without \
                another way are lost; split the flow by senders, or leave reroute out";
    audit.warn(Subject::Fault(fault), Remark::about("reroute", message, help));
}
