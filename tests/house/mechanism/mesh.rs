//! A mesh: switches that are all linked with each other, each with hosts.

use super::{Cable, Count, Graph, Regular, Size, at_least, with_cable};
use frame::NodeId;

with_cable! {
    /// Switches `sw0`, ... each linked to each other; hosts `h{switch}.{i}`.
    Mesh {
        /// Number of switches. A count, at least 2. Required.
        switches: u64,
        /// Number of hosts at each switch. A count, at least 1. Required.
        hosts_per_switch: u64,
    }
}

impl Regular for Mesh {
    /// Shortest paths pass one link between switches: none goes down and up again.
    const LAYERED: bool = true;

    fn counts(&self) -> Vec<Count> {
        vec![at_least(2, "switches", self.switches), at_least(1, "hosts_per_switch", self.hosts_per_switch)]
    }
    fn size(&self) -> Option<Size> {
        let hosts = self.switches.checked_mul(self.hosts_per_switch)?;
        let pairs = self.switches.checked_mul(self.switches - 1)? / 2;
        Some(Size { nodes: hosts.checked_add(self.switches)?, links: hosts.checked_add(pairs)? })
    }
    fn draw(&self, cable: Cable, graph: &mut Graph) {
        let mut switches: Vec<NodeId> = Vec::new();
        for s in 0..self.switches {
            let switch = graph.switch(format!("sw{s}"), 1);
            for i in 0..self.hosts_per_switch {
                let host = graph.host(format!("h{s}.{i}"));
                graph.link(host, switch, cable);
            }
            switches.push(switch);
        }
        for (i, &a) in switches.iter().enumerate() {
            for &b in &switches[i + 1..] {
                graph.link(a, b, cable);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::topology::Shape;
    use units::{BitRate, Time};

    #[test]
    fn each_switch_is_linked_to_each_other() {
        let cable = Cable::new(BitRate::from_gbps(10), Time::from_ns(10));
        let graph = Mesh::new(5, 2, cable).graph().unwrap();
        assert_eq!((graph.nodes.len(), graph.links.len()), (5 + 10, 10 + 10));
        assert!(Mesh::new(1, 2, cable).graph().unwrap_err()[0].contains("switches = 1 is too small"));
        assert!(Mesh::new(1 << 20, 1, cable).graph().unwrap_err()[0].contains("too large"));
    }
}
