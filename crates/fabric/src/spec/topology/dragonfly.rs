//! The dragonfly: groups of fully linked switches, with global links between each pair of groups. With `a` switches per
//! group and `h` global links per switch, there are up to a·h + 1 groups; a balanced dragonfly has a = 2p = 2h for p
//! hosts per switch.
//!
//! Global link t of a group (at its switch t / h) leads t + 1 groups further, and arrives there at the switch of link
//! groups - t - 2, so that link t of one end is link groups - 2 - t of the other. With fewer groups than a·h + 1, each
//! pair of groups has a·h / (groups - 1) links, rounded down: the links of the k-th round follow those of the first.
//! Links beyond that are not used.
//!
//! Source: Kim, Dally, Scott and Abts, Technology-driven, highly-scalable dragonfly topology (ISCA 2008, §3); the
//! circulant arrangement of global links is also that of htsim's `dragonfly_topology.cpp`.
//!
//! Paths are minimal: at most one link to a switch of the group, one global link, one link in the other group. The cost
//! of a global link is that of three others, so that no path over two of them is as cheap.
//!
//! Not modelled: groups that are not fully linked.

use super::{Cable, Count, Graph, OtherLinks, Regular, Size, Tier, at_least, tier, with_cable};
use flow_control::phy::PhyName;
use frame::NodeId;
use keys::Remark;
use units::{BitRate, Length};

with_cable! {
    /// Groups of fully meshed switches `sw{group}.{i}`, such as `sw0.1`, joined by global links; hosts `h0`, ... in the order of the switches.
    Dragonfly {
        /// Number of hosts at each switch (p). A count, at least 1. Required.
        hosts_per_switch: u64,
        /// Number of switches per group (a), which form a full mesh. A count, at least 1. Required.
        switches_per_group: u64,
        /// Number of global links per switch (h). A count, at least 1. Required.
        global_links: u64,
    }
    optional {
        /// Number of groups. A count, 2 to switches_per_group x global_links + 1. Default: the maximum.
        groups: u64,
        /// Rate of the links between the switches of a group. A rate with unit, 1 Mb/s to 1.6 Tb/s. Default: `rate`.
        local_rate: BitRate,
        /// Length of the cables between the switches of a group. A length with unit. Default: the length or delay of the other links.
        local_length: Length,
        /// PHY at both ends of the links between the switches of a group, with the same values as `phy`. Default: the PHY of the other links, or the default PHY of this rate if they use theirs.
        local_phy: PhyName,
        /// Rate of the links between groups. A rate with unit, 1 Mb/s to 1.6 Tb/s. Default: `rate`.
        global_rate: BitRate,
        /// Length of the cables between groups. A length with unit. Default: the length or delay of the other links.
        global_length: Length,
        /// PHY at both ends of the links between groups, with the same values as `phy`. Default: the PHY of the other links, or the default PHY of this rate if they use theirs.
        global_phy: PhyName,
    }
}

/// Cost of a global link, such that a path over two of them costs more than local, global, local.
const GLOBAL_COST: u32 = 3;

/// Numbers of a dragonfly with valid keys.
struct Shape {
    groups: u64,
    /// Number of global links between two groups.
    rounds: u64,
}

impl Dragonfly {
    /// Number of global links of a group.
    fn of_group(&self) -> Option<u64> {
        self.switches_per_group.checked_mul(self.global_links)
    }
    fn shape(&self) -> Option<Shape> {
        let of_group = self.of_group()?;
        let groups = self.groups.unwrap_or(of_group.checked_add(1)?);
        let others = groups.checked_sub(1).filter(|&others| others > 0)?;
        Some(Shape { groups, rounds: of_group / others })
    }
    fn local(&self) -> OtherLinks {
        tier!(self, local_rate, local_length, local_phy)
    }
    fn global(&self) -> OtherLinks {
        tier!(self, global_rate, global_length, global_phy)
    }
}

impl Regular for Dragonfly {
    const LAYERED: bool = false;

    fn counts(&self) -> Vec<Count> {
        vec![
            at_least(1, "hosts_per_switch", self.hosts_per_switch),
            at_least(1, "switches_per_group", self.switches_per_group),
            at_least(1, "global_links", self.global_links),
        ]
    }
    fn check(&self) -> Result<(), Remark> {
        let (Some(groups), Some(of_group)) = (self.groups, self.of_group()) else { return Ok(()) };
        let most = of_group.saturating_add(1);
        if (2..=most).contains(&groups) {
            return Ok(());
        }
        let help = format!(
            "expected 2 to {most}: {} switches of a group have {of_group} global links",
            self.switches_per_group
        );
        Err(Remark::about("groups", format!("groups = {groups}"), help))
    }
    fn other_links(&self) -> Vec<OtherLinks> {
        vec![self.local(), self.global()]
    }
    fn tiers(&mut self) -> Vec<Tier<'_>> {
        vec![(self.local_rate, &mut self.local_phy), (self.global_rate, &mut self.global_phy)]
    }
    fn size(&self) -> Option<Size> {
        let Shape { groups, rounds } = self.shape()?;
        let switches = groups.checked_mul(self.switches_per_group)?;
        let hosts = switches.checked_mul(self.hosts_per_switch)?;
        let local = switches.checked_mul(self.switches_per_group - 1)? / 2;
        let global = groups.checked_mul(groups - 1)?.checked_mul(rounds)? / 2;
        let links = hosts.checked_add(local)?.checked_add(global)?;
        Some(Size { nodes: hosts.checked_add(switches)?, links })
    }
    fn draw(&self, cable: Cable, graph: &mut Graph) {
        let Some(Shape { groups, rounds }) = self.shape() else { return };
        let (a, p, h) = (self.switches_per_group, self.hosts_per_switch, self.global_links);
        let mut switches: Vec<NodeId> = Vec::new();
        for number in 0..groups * a {
            let switch = graph.switch(format!("sw{}.{}", number / a, number % a), 1);
            graph.hosts_below(switch, number * p, p, cable);
            switches.push(switch);
        }
        let switch = |group: u64, place: u64| switches[(group * a + place) as usize];
        let (local, global) = (self.local().cable(cable), self.global().cable(cable));
        for group in 0..groups {
            for one in 0..a {
                for other in one + 1..a {
                    graph.link(switch(group, one), switch(group, other), local);
                }
            }
        }
        for group in 0..groups {
            for round in 0..rounds {
                for further in 1..groups - group {
                    let (here, there) =
                        (round * (groups - 1) + further - 1, (round + 1) * (groups - 1) - further);
                    graph.link(switch(group, here / h), switch(group + further, there / h), global).cost =
                        GLOBAL_COST;
                }
            }
        }
    }
}
