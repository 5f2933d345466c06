//! A ring of switches.

use super::{Cable, Count, Graph, Regular, Size, at_least, chain, with_cable};

with_cable! {
    /// Switches `sw0`, `sw1`, ... in a ring, each linked to the next and the last to the first; hosts `h{switch}.{i}`, such as `h0.0`.
    Ring {
        /// Number of switches. A count, at least 3 (with two, there would be two parallel links). Required.
        switches: u64,
        /// Number of hosts at each switch. A count, at least 1. Required.
        hosts_per_switch: u64,
    }
}

impl Regular for Ring {
    const LAYERED: bool = false;

    fn counts(&self) -> Vec<Count> {
        vec![at_least(3, "switches", self.switches), at_least(1, "hosts_per_switch", self.hosts_per_switch)]
    }
    fn size(&self) -> Option<Size> {
        chain::size(self.switches, self.hosts_per_switch)
    }
    fn draw(&self, cable: Cable, graph: &mut Graph) {
        let switches = chain::draw(self.switches, self.hosts_per_switch, cable, graph);
        graph.link(switches[switches.len() - 1], switches[0], cable);
    }
}
