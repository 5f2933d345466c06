//! A dumbbell.

use super::{Cable, Count, Graph, OtherLinks, Regular, Size, at_least, with_cable};
use units::{BitRate, Time};

with_cable! {
    /// Two switches `left` and `right` with one link between them, hosts `l0`, ... and `r0`, ...
    Dumbbell {
        /// Number of hosts at the left switch. A count, 1 to 65535. Required.
        left: u64,
        /// Number of hosts at the right switch. A count, 1 to 65535. Required.
        right: u64,
        /// Rate of the link between the switches. A rate with unit, 1 Mb/s to 1.6 Tb/s. Default: `rate`.
        #[serde(skip_serializing_if = "Option::is_none")]
        bottleneck_rate: Option<BitRate>,
        /// One-way delay of the link between the switches, interfaces included. A time with unit. Default: that of the other links.
        #[serde(skip_serializing_if = "Option::is_none")]
        bottleneck_delay: Option<Time>,
    }
}

impl Regular for Dumbbell {
    fn complete(&mut self) {
        self.bottleneck_rate.get_or_insert(self.rate);
    }
    fn counts(&self) -> Vec<Count> {
        vec![at_least(1, "left", self.left), at_least(1, "right", self.right)]
    }
    fn other_links(&self) -> Vec<OtherLinks> {
        vec![OtherLinks { rate: ("bottleneck_rate", self.bottleneck_rate), length: ("length", None) }]
    }
    fn size(&self) -> Option<Size> {
        let hosts = self.left.checked_add(self.right)?;
        Some(Size { nodes: hosts.checked_add(2)?, links: hosts.checked_add(1)? })
    }
    fn draw(&self, cable: Cable, graph: &mut Graph) {
        let mut side = |name: &str, letter: char, hosts: u64| {
            let switch = graph.switch(name.into(), 1);
            for i in 0..hosts {
                let host = graph.host(format!("{letter}{i}"));
                graph.link(host, switch, cable);
            }
            switch
        };
        let left = side("left", 'l', self.left);
        let right = side("right", 'r', self.right);
        let bottleneck = graph.link(left, right, cable.at(self.bottleneck_rate));
        if let Some(delay) = self.bottleneck_delay {
            (bottleneck.delay, bottleneck.cable) = (delay, delay);
        }
    }
}
