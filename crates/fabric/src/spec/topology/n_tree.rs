//! The k-ary n-tree: kⁿ hosts and n levels of kⁿ⁻¹ switches with k ports down and k ports up (none up in the highest
//! level). Host p is linked to switch p / k of the lowest level. Switches of levels l and l + 1 are linked if their
//! numbers agree in all digits except digit l. This is the bidirectional multistage network (BMIN) with a perfect
//! shuffle between levels, with its switches renumbered (a test in `topology.rs` has the mapping).
//!
//! Source: Petrini and Vanneschi, k-ary n-trees: high performance networks for massively parallel architectures (IPPS
//! 1997, §2), the digits numbered as in Martinez (2006).
//!
//! Not modelled: the unused ports of the highest level.

use super::{Cable, Count, Graph, OtherLinks, Regular, Size, Tier, at_least, tier, with_cable};
use flow_control::phy::PhyName;
use frame::NodeId;
use keys::Remark;
use units::{BitRate, Length};

with_cable! {
    /// K-ary n-tree: switches `s{level}.{i}`, hosts `h0`, ...
    NTree {
        /// Arity of the tree: number of links of each switch to the level below. The fabric has k^n hosts. A count, at least 2. Required.
        k: u64,
        /// Number of levels of switches. A count, at least 1. Required.
        n: u64,
    }
    optional {
        /// Rate of the links between switches. A rate with unit, 1 Mb/s to 1.6 Tb/s. Only with `n` of at least 2. Default: `rate`.
        uplink_rate: BitRate,
        /// Length of the cables between switches. A length with unit. Only with `n` of at least 2. Default: the length or delay of the other links.
        uplink_length: Length,
        /// PHY at both ends of the links between switches, with the same values as `phy`. Only with `n` of at least 2. Default: the PHY of the other links, or the default PHY of this rate if they use theirs.
        uplink_phy: PhyName,
        /// Rate of the links to the highest level. A rate with unit, 1 Mb/s to 1.6 Tb/s. Only with `n` of at least 3. Default: `uplink_rate`.
        core_rate: BitRate,
        /// Length of the cables to the highest level. A length with unit. Only with `n` of at least 3. Default: the length or delay of the other links between switches.
        core_length: Length,
        /// PHY at both ends of the links to the highest level, with the same values as `phy`. Only with `n` of at least 3. Default: the PHY of the other links between switches, or the default PHY of this rate if they use theirs.
        core_phy: PhyName,
    }
}

impl NTree {
    /// Number of hosts, and number of switches per level.
    fn widths(&self) -> Option<(u64, u64)> {
        let power = |n: u64| self.k.checked_pow(u32::try_from(n).ok()?);
        Some((power(self.n)?, power(self.n.checked_sub(1)?)?))
    }
    fn uplink(&self) -> OtherLinks {
        tier!(self, uplink_rate, uplink_length, uplink_phy)
    }
    fn core_link(&self) -> OtherLinks {
        tier!(self, core_rate, core_length, core_phy)
    }
}

impl Regular for NTree {
    fn counts(&self) -> Vec<Count> {
        vec![at_least(2, "k", self.k), at_least(1, "n", self.n)]
    }
    fn other_links(&self) -> Vec<OtherLinks> {
        let has_own = !self.core_link().is_empty();
        let core = has_own.then(|| self.core_link().or(self.uplink()));
        std::iter::once(self.uplink()).chain(core).collect()
    }
    /// Rejects keys of links that a tree with so few levels does not have.
    fn check(&self) -> Result<(), Remark> {
        for (links, least) in [(self.uplink(), 2), (self.core_link(), 3)] {
            if !links.is_empty() && (1..least).contains(&self.n) {
                let message = format!("a tree of n = {} has no such links", self.n);
                let help = format!("expected n of at least {least}, or no {}", links.first_key());
                return Err(Remark::about(links.first_key(), message, help));
            }
        }
        Ok(())
    }
    fn tiers(&mut self) -> Vec<Tier<'_>> {
        // A PHY configured for the lower levels also applies to the highest one.
        if self.uplink_phy.is_some() {
            return Vec::new();
        }
        vec![(self.uplink_rate, &mut self.uplink_phy), (self.core_rate, &mut self.core_phy)]
    }
    fn size(&self) -> Option<Size> {
        let (hosts, width) = self.widths()?;
        Some(Size {
            nodes: width.checked_mul(self.n)?.checked_add(hosts)?,
            links: hosts.checked_mul(self.n)?,
        })
    }
    fn draw(&self, cable: Cable, graph: &mut Graph) {
        let (_, width) = self.widths().unwrap_or_default();
        let mut below: Vec<NodeId> = Vec::new();
        for w in 0..width {
            let switch = graph.switch(format!("s0.{w}"), 1);
            graph.hosts_below(switch, w * self.k, self.k, cable);
            below.push(switch);
        }
        // The value of digit l.
        let mut digit = 1;
        let (uplink, core) = (self.uplink().cable(cable), self.core_link().or(self.uplink()).cable(cable));
        for l in 1..self.n {
            let cable = if l > 1 && l + 1 == self.n { core } else { uplink };
            let above: Vec<NodeId> =
                (0..width).map(|w| graph.switch(format!("s{l}.{w}"), l as u8 + 1)).collect();
            for w in 0..width {
                let without_digit = w - w / digit % self.k * digit;
                for up in 0..self.k {
                    let joined = without_digit + up * digit;
                    graph.link(below[w as usize], above[joined as usize], cable);
                }
            }
            below = above;
            digit *= self.k;
        }
    }
}
