//! The k-ary fat tree: k pods of k/2 switches `edge{p}.{i}` and k/2 switches `agg{p}.{i}`, (k/2)² switches `core{c}`,
//! k³/4 hosts. Aggregation switch i of every pod is linked to cores i·k/2 to (i + 1)·k/2 - 1.
//!
//! Source: Al-Fares, Loukissas and Vahdat, A scalable, commodity data center network architecture (SIGCOMM 2008, §2.2).
//!
//! Not modelled: the two-level routing tables of the source; partially built pods.

use super::{Cable, Count, Graph, OtherLinks, Regular, Size, Tier, at_least, tier, with_cable};
use flow_control::phy::PhyName;
use frame::NodeId;
use keys::Remark;
use units::{BitRate, Length};

with_cable! {
    /// Three-tier fabric of k-port switches: `core0`, ..., `agg{pod}.{i}` and `edge{pod}.{i}`, such as `edge0.1`; hosts `h0`, ... in order.
    FatTree {
        /// Number of ports of each switch; the fabric has k^3/4 hosts. An even count, at least 2. Required.
        k: u64,
    }
    optional {
        /// Rate of the links between switches. A rate with unit, 1 Mb/s to 1.6 Tb/s. Default: `rate`.
        uplink_rate: BitRate,
        /// Length of the cables between switches. A length with unit. Default: the length or delay of the other links.
        uplink_length: Length,
        /// PHY at both ends of the links between switches, with the same values as `phy`. Default: the PHY of the other links, or the default PHY of this rate if they use theirs.
        uplink_phy: PhyName,
        /// Rate of the links between aggregation and core switches. A rate with unit, 1 Mb/s to 1.6 Tb/s. Default: `uplink_rate`.
        core_rate: BitRate,
        /// Length of the cables between aggregation and core switches. A length with unit. Default: the length or delay of the other links between switches.
        core_length: Length,
        /// PHY at both ends of the links between aggregation and core switches, with the same values as `phy`. Default: the PHY of the other links between switches, or the default PHY of this rate if they use theirs.
        core_phy: PhyName,
    }
}

impl FatTree {
    fn uplink(&self) -> OtherLinks {
        tier!(self, uplink_rate, uplink_length, uplink_phy)
    }
    fn core_link(&self) -> OtherLinks {
        tier!(self, core_rate, core_length, core_phy).or(self.uplink())
    }
}

impl Regular for FatTree {
    fn other_links(&self) -> Vec<OtherLinks> {
        let has_own = !tier!(self, core_rate, core_length, core_phy).is_empty();
        std::iter::once(self.uplink()).chain(has_own.then(|| self.core_link())).collect()
    }
    fn counts(&self) -> Vec<Count> {
        vec![at_least(2, "k", self.k)]
    }
    fn check(&self) -> Result<(), Remark> {
        if self.k.is_multiple_of(2) {
            return Ok(());
        }
        let help = "half of the ports of a fat-tree switch are uplinks, so that k must be even";
        Err(Remark::about("k", format!("k = {} is odd", self.k), help))
    }
    fn tiers(&mut self) -> Vec<Tier<'_>> {
        // A PHY configured for the lower level also applies to the upper one.
        if self.uplink_phy.is_some() {
            return Vec::new();
        }
        vec![(self.uplink_rate, &mut self.uplink_phy), (self.core_rate, &mut self.core_phy)]
    }
    /// k³/4 hosts, k² switches in the pods, k²/4 cores; three tiers of k³/4 links.
    fn size(&self) -> Option<Size> {
        let square = self.k.checked_mul(self.k)?;
        let hosts = (square / 4).checked_mul(self.k)?;
        Some(Size {
            nodes: hosts.checked_add(square)?.checked_add(square / 4)?,
            links: hosts.checked_mul(3)?,
        })
    }
    fn draw(&self, cable: Cable, graph: &mut Graph) {
        let half = self.k / 2;
        let (uplink, core_link) = (self.uplink().cable(cable), self.core_link().cable(cable));
        let mut aggregation = Vec::new();
        for p in 0..self.k {
            let mut edges = Vec::new();
            for i in 0..half {
                let edge = graph.switch(format!("edge{p}.{i}"), 1);
                graph.hosts_below(edge, (p * half + i) * half, half, cable);
                edges.push(edge);
            }
            let above: Vec<NodeId> = (0..half).map(|i| graph.switch(format!("agg{p}.{i}"), 2)).collect();
            for &edge in &edges {
                for &agg in &above {
                    graph.link(edge, agg, uplink);
                }
            }
            aggregation.push(above);
        }
        let cores: Vec<NodeId> = (0..half * half).map(|c| graph.switch(format!("core{c}"), 3)).collect();
        for above in &aggregation {
            for (&agg, cores) in above.iter().zip(cores.chunks(half as usize)) {
                for &core in cores {
                    graph.link(agg, core, core_link);
                }
            }
        }
    }
}
