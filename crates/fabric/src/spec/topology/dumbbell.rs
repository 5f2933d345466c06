//! A dumbbell.

use super::{Cable, Count, Graph, OtherLinks, Regular, Size, Tier, at_least, tier, with_cable};
use flow_control::phy::PhyName;
use keys::Remark;
use units::{BitRate, Length, Time};

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
        /// One-way delay of the link between the switches, interfaces included; this link then has no PHY. A time with unit. Default: the delay of the other links.
        #[serde(skip_serializing_if = "Option::is_none")]
        bottleneck_delay: Option<Time>,
    }
    optional {
        /// Length of the cable between the switches. A length with unit. Not together with `bottleneck_delay`. Default: the length or delay of the other links.
        bottleneck_length: Length,
        /// PHY at both ends of the link between the switches, with the same values as `phy`. Not together with `bottleneck_delay`. Default: the PHY of the other links, or the default PHY of this rate if they use theirs.
        bottleneck_phy: PhyName,
    }
}

impl Dumbbell {
    fn bottleneck(&self) -> OtherLinks {
        let links = tier!(self, bottleneck_rate, bottleneck_length, bottleneck_phy);
        // A configured delay of cable and interfaces replaces that of the other links' PHY.
        let phy = self.bottleneck_phy.or(self.bottleneck_delay.map(|_| PhyName::Absent));
        OtherLinks { phy: (links.phy.0, phy), ..links }
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
        vec![self.bottleneck()]
    }
    fn check(&self) -> Result<(), Remark> {
        let others = [
            ("bottleneck_length", self.bottleneck_length.is_some()),
            ("bottleneck_phy", self.bottleneck_phy.is_some()),
        ];
        match others.into_iter().find(|(_, is_given)| *is_given && self.bottleneck_delay.is_some()) {
            Some((key, _)) => {
                let help = "keep one of them: bottleneck_delay is that of cable and interfaces";
                Err(Remark::about(key, format!("both bottleneck_delay and {key} are given"), help))
            }
            None => Ok(()),
        }
    }
    fn tiers(&mut self) -> Vec<Tier<'_>> {
        if self.bottleneck_delay.is_some() {
            return Vec::new();
        }
        vec![(self.bottleneck_rate, &mut self.bottleneck_phy)]
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
        let bottleneck = graph.link(left, right, self.bottleneck().cable(cable));
        if let Some(delay) = self.bottleneck_delay {
            (bottleneck.delay, bottleneck.cable) = (delay, delay);
        }
    }
}
