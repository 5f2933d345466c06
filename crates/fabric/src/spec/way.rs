//! Routing of frames: along paths that are listed before the run, or by forwarding tables.
//!
//! With 8,192 hosts that send to each other, there are 67 million pairs. Their paths are not listed: switches look up
//! the destination of each frame, and the flow of a sender counts as a single path.

use crate::spec::routing::Routes;
use crate::spec::{FlowSpec, Spec};
use frame::{NodeId, Priority};
use std::collections::BTreeMap;
use workload::Destinations;

/// Routing of the frames of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// Along a shortest path to each destination, computed before the run.
    Shortest,
    /// Along these nodes in order, from the first switch to the only destination.
    Along(Vec<NodeId>),
    /// By the forwarding tables of the switches, for more destinations than paths can be listed for. All frames of the
    /// flow have one path, of which only the first hop is known. The sender is a host with one link, which pushes
    /// frames that are not part of transfers.
    ByDestination,
}

impl FlowSpec {
    /// Number of paths of the flow.
    pub fn paths(&self) -> usize {
        if self.way == Way::ByDestination { 1 } else { self.source.destinations.count() }
    }

    /// Destination of each of its paths; `None`: any destination.
    pub(crate) fn path_ends(&self) -> Vec<Option<NodeId>> {
        match self.way {
            Way::ByDestination => vec![None],
            _ => self.source.destinations.nodes().into_iter().map(Some).collect(),
        }
    }
}

impl Spec {
    /// Returns the names of the egress ports of a flow's frames to a host if every switch chooses by a hash and nothing
    /// fails. `None` if there is no path, or if the flow does not send to the host.
    pub fn planned_path(&self, flow: &FlowSpec, to: NodeId) -> Option<Vec<String>> {
        let nth = flow.source.destinations.nodes().iter().position(|&node| node == to)? as u32;
        let wiring = self.wiring();
        let routes =
            Routes::new(&wiring, |node| self.nodes[node.at()].host().is_some()).with_hashing(self.hashing());
        let path = match &flow.way {
            Way::Along(nodes) => routes.along(flow.from, nodes, self.tuple(flow, Some(nth))).ok(),
            Way::Shortest => routes.path(&routes.distances(to), flow.from, self.tuple(flow, Some(nth))),
            Way::ByDestination => {
                routes.path(&routes.distances(to), flow.from, self.tuple(flow, None).towards(to))
            }
        };
        let name = |port| wiring.port_name(port, |node| &self.nodes[node.at()].name);
        Some(path?.into_iter().map(name).collect())
    }

    /// The flows without an explicit route, with their destinations. If several flows of a priority share a list of
    /// destinations, it is returned only once.
    pub(crate) fn free_flows(&self) -> impl Iterator<Item = (&FlowSpec, Vec<NodeId>)> {
        // By list and priority, the host that the last flow excluded.
        let mut seen: BTreeMap<(*const NodeId, Priority), Option<NodeId>> = BTreeMap::new();
        let free = self.flows.iter().filter(|flow| !matches!(flow.way, Way::Along(_)));
        free.map(move |flow| {
            let destinations = &flow.source.destinations;
            let (hot, others) = match destinations {
                Destinations::Others(others) => (None, others),
                Destinations::HotSpot { hot, others, .. } => (Some(*hot), others),
                Destinations::Fixed(_) | Destinations::Uniform(_) | Destinations::Multicast(_) => {
                    return (flow, destinations.nodes());
                }
            };
            let new: Vec<NodeId> =
                match seen.insert((others.hosts.as_ptr(), flow.priority), others.left_out()) {
                    Some(left_out) => left_out.into_iter().collect(),
                    None => others.nodes().collect(),
                };
            (flow, hot.into_iter().chain(new).collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::pairs;
    use units::Time;
    use workload::Others;

    #[test]
    fn a_list_that_flows_share_comes_up_once() {
        let mut spec = pairs(2, Time::from_us(1));
        let hosts: std::sync::Arc<[NodeId]> = (0..4).map(NodeId).collect();
        for (n, flow) in (0..).zip(&mut spec.flows) {
            flow.source.destinations =
                Destinations::Others(Others { hosts: hosts.clone(), without: Some(n) });
        }
        spec.flows[3].priority = Priority(1);
        spec.flows[1].way = Way::Along(vec![NodeId(0)]);
        let found: Vec<(u32, Vec<u32>)> = spec
            .free_flows()
            .map(|(flow, to)| (flow.from.0, to.into_iter().map(|node| node.0).collect()))
            .collect();
        assert_eq!(found, [(0, vec![1, 2, 3]), (2, vec![0]), (3, vec![0, 1, 2])]);
        let others = Others { hosts, without: None };
        spec.flows[2].source.destinations = Destinations::HotSpot { hot: NodeId(9), share: 0.5, others };
        let of_spot = spec.free_flows().nth(1).map(|(_, to)| to);
        assert_eq!(of_spot, Some(vec![NodeId(9), NodeId(0)]));
    }

    #[test]
    fn a_flow_by_destination_is_one_path() {
        let mut spec = pairs(2, Time::from_us(1));
        let flow = &mut spec.flows[0];
        flow.source.destinations = Destinations::Uniform(vec![NodeId(1), NodeId(2)]);
        assert_eq!((flow.paths(), flow.path_ends()), (2, vec![Some(NodeId(1)), Some(NodeId(2))]));
        flow.way = Way::ByDestination;
        assert_eq!((flow.paths(), flow.path_ends()), (1, vec![None]));
    }
}
