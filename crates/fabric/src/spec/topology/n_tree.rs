//! The k-ary n-tree: kⁿ hosts and n levels of kⁿ⁻¹ switches with k ports down and k ports up (none up in the highest
//! level). Host p hangs on switch p / k of the lowest level; switches of levels l and l + 1 are joined if their numbers
//! agree in all digits but digit l. That is the bidirectional multistage network (BMIN) with a perfect shuffle between
//! levels, its switches by other numbers (a test in `topology.rs` has which).
//!
//! Source: Petrini and Vanneschi, k-ary n-trees: high performance networks for massively parallel architectures (IPPS
//! 1997, §2), the digits numbered as in Martinez (2006).
//!
//! Not modelled: the unused ports of the highest level.

use super::{Cable, Count, Graph, Regular, Size, at_least, with_cable};
use frame::NodeId;

with_cable! {
    /// The k-ary n-tree: switches `s{level}.{i}`, hosts `h0`, ...
    NTree {
        /// Links of a switch downwards. A count, at least 2; k^n hosts. Required.
        k: u64,
        /// Number of levels of switches. A count, at least 1. Required.
        n: u64,
    }
}

impl NTree {
    /// Hosts, and switches of a level.
    fn widths(&self) -> Option<(u64, u64)> {
        let power = |n: u64| self.k.checked_pow(u32::try_from(n).ok()?);
        Some((power(self.n)?, power(self.n.checked_sub(1)?)?))
    }
}

impl Regular for NTree {
    fn counts(&self) -> Vec<Count> {
        vec![at_least(2, "k", self.k), at_least(1, "n", self.n)]
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
        for l in 1..self.n {
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
