//! Configuration of a station in a congestion notification domain.

use crate::spec::Spec;
use crate::spec::routing::Wiring;
use frame::{NodeId, PRIORITIES, PortId, Priority};
use queueing::{Choice, PortDefence};

/// Congestion notification of a station, by priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Priorities with congestion notification: bit n for priority n.
    pub priorities: u8,
    /// Alternate priority of each priority, for frames from outside the domain.
    pub becomes: [Priority; PRIORITIES],
    /// Defence choice of its ports.
    pub defence: Choice,
    /// Defence choice at ports to certain neighbours.
    pub at: Vec<(NodeId, Choice)>,
}

impl Domain {
    /// Defence of a port to a neighbour before any LLDPDU has been received.
    fn defence_to(&self, neighbour: NodeId) -> PortDefence {
        let own = self.at.iter().find(|(node, _)| *node == neighbour);
        PortDefence::new(self.priorities, own.map_or(self.defence, |&(_, choice)| choice))
    }
}

impl Spec {
    /// The congestion notification of a node; `None` if it has none.
    pub fn domain(&self, node: NodeId) -> Option<&Domain> {
        self.domains.get(node.at())?.as_ref()
    }
    /// Defences of the ports of each node after the ends of each link have exchanged their state.
    pub fn defences_by_node(&self) -> Vec<Vec<PortDefence>> {
        let wiring = self.wiring();
        let all = self.defences(&wiring);
        let of_node = |node| wiring.ports(node).filter_map(|port| all.get(port.at()).copied()).collect();
        (0..self.nodes.len() as u32).map(NodeId).map(of_node).collect()
    }
    /// Defences of each port after the ends of each link have exchanged their state; empty if no node has any.
    pub(crate) fn defences(&self, wiring: &Wiring) -> Vec<PortDefence> {
        if self.domains.iter().all(Option::is_none) {
            return Vec::new();
        }
        let ports = || (0..wiring.peer.len() as u32).map(PortId);
        let alone = |port: PortId| {
            let domain = self.domain(wiring.node_of[port.at()]);
            domain.map_or(PortDefence::new(0, Choice::Auto), |own| own.defence_to(wiring.neighbour(port)))
        };
        let mut defences: Vec<PortDefence> = ports().map(alone).collect();
        for port in ports() {
            let peer = wiring.peer[port.at()];
            if port < peer {
                let mut ends = [defences[port.at()], defences[peer.at()]];
                PortDefence::settle(&mut ends);
                [defences[port.at()], defences[peer.at()]] = ends;
            }
        }
        defences
    }
    /// Returns a set of priorities (bit n for priority n) with the alternate priorities that domains assign to them.
    pub(crate) fn with_alternates(&self, set: u32) -> u32 {
        self.domains.iter().flatten().fold(set, |all, own| {
            let used = own.becomes.iter().enumerate().filter(|(old, _)| set >> old & 1 != 0);
            used.fold(all, |all, (_, new)| all | 1 << new.0)
        })
    }
}
