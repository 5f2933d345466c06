//! Rails: servers with several NICs. The n-th NICs of all servers of a segment are linked to one leaf, and spines
//! connect the leaves. With planes, each NIC has a link to a leaf of each plane, and only the NICs connect the planes
//! (dual ToR, multi-plane NICs).
//!
//! Each NIC is a separate host: traffic between the GPUs of a server is not in this fabric.
//!
//! Source: Qian et al., Alibaba HPN: a data center network for large language model training (SIGCOMM 2024, §5 and §6);
//! NVIDIA, Spectrum-X reference architecture (rail-optimized).
//!
//! Not modelled: links between the NICs of a server (NVLink); cores above the spines.

use super::{Cable, Count, Graph, OtherLinks, Regular, Size, Tier, at_least, tier, with_cable};
use flow_control::phy::PhyName;
use frame::NodeId;
use units::{BitRate, Length};

with_cable! {
    /// Rail-optimized fabric: hosts `h{server}.{rail}`, one per NIC; leaves `leaf{segment}.{rail}` and spines `spine{i}`, with several planes `leaf{plane}.{segment}.{rail}` and `spine{plane}.{i}`.
    Rails {
        /// Number of segments, each with its own leaves. A count, at least 1. Required.
        segments: u64,
        /// Number of servers per segment. A count, at least 1. Required.
        servers_per_segment: u64,
        /// Number of rails: NICs per server, one for each rail. A count, at least 1. Required.
        rails: u64,
        /// Number of spines per plane; each leaf of a plane is linked to all spines of the plane. A count, at least 1. Required.
        spines: u64,
    }
    optional {
        /// Number of planes; each NIC has one link of this `rate` to each plane. A count, at least 1. Default: 1.
        planes: u64,
        /// Rate of the links between leaves and spines. A rate with unit, 1 Mb/s to 1.6 Tb/s. Default: `rate`.
        uplink_rate: BitRate,
        /// Length of the cables between leaves and spines. A length with unit. Default: the length or delay of the other links.
        uplink_length: Length,
        /// PHY at both ends of the links between leaves and spines, with the same values as `phy`. Default: the PHY of the other links, or the default PHY of this rate if they use theirs.
        uplink_phy: PhyName,
    }
}

impl Rails {
    fn planes(&self) -> u64 {
        self.planes.unwrap_or(1)
    }
    fn uplink(&self) -> OtherLinks {
        tier!(self, uplink_rate, uplink_length, uplink_phy)
    }
}

impl Regular for Rails {
    fn counts(&self) -> Vec<Count> {
        vec![
            at_least(1, "segments", self.segments),
            at_least(1, "servers_per_segment", self.servers_per_segment),
            at_least(1, "rails", self.rails),
            at_least(1, "spines", self.spines),
            at_least(1, "planes", self.planes()),
        ]
    }
    fn other_links(&self) -> Vec<OtherLinks> {
        vec![self.uplink()]
    }
    fn tiers(&mut self) -> Vec<Tier<'_>> {
        vec![(self.uplink_rate, &mut self.uplink_phy)]
    }
    fn size(&self) -> Option<Size> {
        let leaves = self.segments.checked_mul(self.rails)?.checked_mul(self.planes())?;
        let nics = self.segments.checked_mul(self.rails)?.checked_mul(self.servers_per_segment)?;
        let nodes = nics.checked_add(leaves)?.checked_add(self.spines.checked_mul(self.planes())?)?;
        let links = nics.checked_mul(self.planes())?.checked_add(leaves.checked_mul(self.spines)?)?;
        Some(Size { nodes, links })
    }
    fn draw(&self, cable: Cable, graph: &mut Graph) {
        let of_plane = |plane: u64| if self.planes() > 1 { format!("{plane}.") } else { String::new() };
        let uplink = self.uplink().cable(cable);
        // Leaves by plane.
        let mut leaves: Vec<Vec<NodeId>> = vec![Vec::new(); self.planes() as usize];
        for segment in 0..self.segments {
            for rail in 0..self.rails {
                let first = segment * self.servers_per_segment;
                let servers = first..first + self.servers_per_segment;
                let hosts: Vec<NodeId> =
                    servers.map(|server| graph.host(format!("h{server}.{rail}"))).collect();
                for (plane, leaves) in (0..).zip(&mut leaves) {
                    let leaf = graph.switch(format!("leaf{}{segment}.{rail}", of_plane(plane)), 1);
                    for &host in &hosts {
                        graph.link(host, leaf, cable);
                    }
                    leaves.push(leaf);
                }
            }
        }
        for (plane, leaves) in (0..).zip(&leaves) {
            for spine in 0..self.spines {
                let spine = graph.switch(format!("spine{}{spine}", of_plane(plane)), 2);
                for &leaf in leaves {
                    graph.link(leaf, spine, uplink);
                }
            }
        }
    }
}
