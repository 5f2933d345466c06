//! A chain of switches.

use super::{Cable, Count, Graph, Regular, Size, at_least, with_cable};
use frame::NodeId;

with_cable! {
    /// Switches `sw0`, `sw1`, ... in a row, each linked to the next; hosts `h{switch}.{i}`, such as `h0.0`.
    Chain {
        /// Number of switches. A count, at least 1. Required.
        switches: u64,
        /// Number of hosts at each switch. A count, at least 1. Required.
        hosts_per_switch: u64,
    }
}

impl Regular for Chain {
    fn counts(&self) -> Vec<Count> {
        vec![at_least(1, "switches", self.switches), at_least(1, "hosts_per_switch", self.hosts_per_switch)]
    }
    fn size(&self) -> Option<Size> {
        size(self.switches, self.hosts_per_switch)
    }
    fn draw(&self, cable: Cable, graph: &mut Graph) {
        draw(self.switches, self.hosts_per_switch, cable, graph);
    }
}

/// Returns the size of a chain, and the maximum size of a ring.
pub(super) fn size(switches: u64, hosts_per_switch: u64) -> Option<Size> {
    let nodes = switches.checked_mul(hosts_per_switch.checked_add(1)?)?;
    Some(Size { nodes, links: nodes })
}

/// Switches in a row with their hosts; the switches.
pub(super) fn draw(switches: u64, hosts_per_switch: u64, cable: Cable, graph: &mut Graph) -> Vec<NodeId> {
    let mut ids = Vec::new();
    for s in 0..switches {
        let switch = graph.switch(format!("sw{s}"), 1);
        for i in 0..hosts_per_switch {
            let host = graph.host(format!("h{s}.{i}"));
            graph.link(host, switch, cable);
        }
        ids.push(switch);
    }
    for pair in ids.windows(2) {
        graph.link(pair[0], pair[1], cable);
    }
    ids
}
