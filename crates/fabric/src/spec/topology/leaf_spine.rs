//! The leaf-spine topology.

use super::{Cable, Count, Graph, OtherLinks, Regular, Size, Tier, at_least, tier, with_cable};
use flow_control::phy::PhyName;
use frame::NodeId;
use units::{BitRate, Length};

with_cable! {
    /// Two-tier fabric: each leaf `leaf0`, ... linked to each spine `spine0`, ...; hosts `h0`, ... numbered leaf by leaf.
    LeafSpine {
        /// Number of leaves. A count, at least 1. Required.
        leaves: u64,
        /// Number of spines. A count, at least 1. Required.
        spines: u64,
        /// Number of hosts at each leaf. A count, at least 1. Required.
        hosts_per_leaf: u64,
        /// Rate of the links between leaves and spines. A rate with unit, 1 Mb/s to 1.6 Tb/s. Default: `rate`.
        #[serde(skip_serializing_if = "Option::is_none")]
        uplink_rate: Option<BitRate>,
    }
    optional {
        /// Length of the cables between leaves and spines. A length with unit. Default: the length or delay of the other links.
        uplink_length: Length,
        /// PHY at both ends of the links between leaves and spines, with the same values as `phy`. Default: the PHY of the other links, or the default PHY of this rate if they use theirs.
        uplink_phy: PhyName,
    }
}

impl LeafSpine {
    fn uplink(&self) -> OtherLinks {
        tier!(self, uplink_rate, uplink_length, uplink_phy)
    }
}

impl Regular for LeafSpine {
    fn complete(&mut self) {
        self.uplink_rate.get_or_insert(self.rate);
    }
    fn counts(&self) -> Vec<Count> {
        vec![
            at_least(1, "leaves", self.leaves),
            at_least(1, "spines", self.spines),
            at_least(1, "hosts_per_leaf", self.hosts_per_leaf),
        ]
    }
    fn other_links(&self) -> Vec<OtherLinks> {
        vec![self.uplink()]
    }
    fn tiers(&mut self) -> Vec<Tier<'_>> {
        vec![(self.uplink_rate, &mut self.uplink_phy)]
    }
    fn size(&self) -> Option<Size> {
        let nodes = self.leaves.checked_mul(self.hosts_per_leaf.checked_add(1)?)?.checked_add(self.spines)?;
        let links = self.leaves.checked_mul(self.hosts_per_leaf.checked_add(self.spines)?)?;
        Some(Size { nodes, links })
    }
    fn draw(&self, cable: Cable, graph: &mut Graph) {
        let mut leaves = Vec::new();
        for l in 0..self.leaves {
            let leaf = graph.switch(format!("leaf{l}"), 1);
            graph.hosts_below(leaf, l * self.hosts_per_leaf, self.hosts_per_leaf, cable);
            leaves.push(leaf);
        }
        let spines: Vec<NodeId> = (0..self.spines).map(|s| graph.switch(format!("spine{s}"), 2)).collect();
        let uplink = self.uplink().cable(cable);
        for &leaf in &leaves {
            for &spine in &spines {
                graph.link(leaf, spine, uplink);
            }
        }
    }
}
