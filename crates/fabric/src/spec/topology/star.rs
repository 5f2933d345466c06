//! A star.

use super::{Cable, Count, Graph, Regular, Size, at_least, with_cable};

with_cable! {
    /// One switch `sw` with hosts `h0`, `h1`, ... around it.
    Star {
        /// Number of hosts. A count, 1 to 65536 (the ports of one switch). Required.
        hosts: u64,
    }
}

impl Regular for Star {
    fn counts(&self) -> Vec<Count> {
        vec![at_least(1, "hosts", self.hosts)]
    }
    fn size(&self) -> Option<Size> {
        Some(Size { nodes: self.hosts.checked_add(1)?, links: self.hosts })
    }
    /// Host i hangs on port i.
    fn draw(&self, cable: Cable, graph: &mut Graph) {
        let switch = graph.switch("sw".into(), 1);
        for i in 0..self.hosts {
            let host = graph.host(format!("h{i}"));
            graph.link(host, switch, cable);
        }
    }
}
