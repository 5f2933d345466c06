//! Partition of a fabric, with one part per thread.
//!
//! A part holds only its own nodes. The data that all parts share (the table of hops, the forwarding table) never
//! changes and exists once, so memory does not grow with the number of threads. Only frames and pauses cross from one
//! part to another; their event names the port by the number that it has in the receiving part (`numbering`).

use crate::build::paths::Paths;
use crate::run::fabric::Fabric;
use crate::run::state::event::Event;
use crate::run::state::route_table::path_from;
use crate::spec::routing::Wiring;
use engine::Shard;
use frame::{NodeId, PortId};
use std::ops::Range;
use std::sync::Arc;

/// Relative costs of sending a frame from a node, of creating it, and of counting it at its destination: approximate
/// ratios of the run times of fat-trees with 16 and 32 ports.
const HOP: u64 = 4;
const MORE_TO_MAKE: u64 = 1;
const MORE_TO_COUNT: u64 = 2;

/// Assignment of nodes to parts: contiguous ranges.
#[derive(Debug)]
pub(crate) struct Split {
    /// Part of each node.
    pub owner_of: Arc<[u8]>,
    /// First node and first port of each part, followed by the totals.
    first_node: Vec<u32>,
    first_port: Vec<u32>,
}

impl Split {
    /// Cuts the nodes into ranges of about equal load. Topologies number neighbours close together.
    pub fn new(wiring: &Wiring, paths: &Paths, parts: usize) -> Split {
        let mut load: Vec<u64> = vec![1; wiring.nodes()];
        for &start in paths.starts.iter().filter(|_| parts > 1) {
            let ports = path_from(&paths.hops, start);
            for &port in ports {
                load[wiring.node_of[port as usize].at()] += HOP;
            }
            if let [first, .., last] | [first @ last] = ports {
                load[wiring.node_of[*first as usize].at()] += MORE_TO_MAKE;
                load[wiring.neighbour(PortId(*last)).at()] += MORE_TO_COUNT;
            }
        }
        let total: u64 = load.iter().sum();
        let mut before = 0;
        let part_of = |node_load: &u64| {
            let part = before * parts as u64 / total;
            before += node_load;
            part as u8
        };
        let owner_of: Arc<[u8]> = load.iter().map(part_of).collect();
        let first_node =
            (0..=parts).map(|part| owner_of.partition_point(|&of| usize::from(of) < part) as u32);
        let first_node: Vec<u32> = first_node.collect();
        let first_port = first_node.iter().map(|&node| wiring.first_port[node as usize]).collect();
        Split { owner_of, first_node, first_port }
    }

    /// Number of parts.
    pub fn parts(&self) -> usize {
        self.first_node.len() - 1
    }
    /// The part that owns a node.
    pub fn part_of(&self, node: NodeId) -> usize {
        usize::from(self.owner_of[node.at()])
    }
    /// The nodes of a part.
    pub fn nodes(&self, part: usize) -> Range<u32> {
        self.first_node[part]..self.first_node[part + 1]
    }
    /// The ports of a part.
    pub fn ports(&self, part: usize) -> Range<u32> {
        self.first_port[part]..self.first_port[part + 1]
    }
}

const _: () = {
    // Checks that parts can move between threads.
    const fn can_be_sent<T: Send>() {}
    can_be_sent::<Shard<Fabric>>();
    can_be_sent::<Event>();
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::state::route_table::DELIVER;

    #[test]
    fn parts_are_ranges_of_nodes_and_ports_that_share_the_load() {
        // Hosts 0 to 3 around node 4; each host sends to the next.
        let links: Vec<_> = (0..4).map(|host| (NodeId(host), NodeId(4))).collect();
        let wiring = Wiring::new(5, &links);
        let first = |node: usize| wiring.first_port[node];
        let hops = (0..4usize).flat_map(|host| [first(host), first(4) + (host as u32 + 1) % 4, DELIVER]);
        let paths = Paths {
            hops: hops.collect(),
            starts: (0..4).map(|path| path * 3).collect(),
            flows: (0..4).collect(),
            destinations: (0..4).map(|host| Some(NodeId((host + 1) % 4))).collect(),
        };
        // A host has a load of 8, the switch of 17. With five parts, one part has no node left.
        for (parts, owners) in [(1, [0; 5]), (2, [0, 0, 0, 0, 1]), (5, [0, 0, 1, 2, 3])] {
            let split = Split::new(&wiring, &paths, parts);
            assert_eq!(split.owner_of[..], owners, "{parts} parts");
            for (node, &owner) in (0..).zip(&owners) {
                assert!(split.nodes(owner.into()).contains(&node));
                assert!(wiring.ports(NodeId(node)).all(|port| split.ports(owner.into()).contains(&port.0)));
            }
            let ports: usize = (0..parts).map(|part| split.ports(part).len()).sum();
            assert_eq!(ports, wiring.peer.len());
        }
    }
}
