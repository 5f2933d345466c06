//! The Slim Fly: the graph of McKay, Miller and Širáň with 2q² switches and diameter 2, for a power q = 4w + δ of a
//! prime, δ one of -1, 0, 1.
//!
//! Switches are (0, x, y) and (1, m, c) over GF(q); ξ is its first primitive element. (0, x, y) is linked to (0, x, y')
//! if y - y' is in X, (1, m, c) to (1, m, c') if c - c' is in X', and (0, x, y) to (1, m, c) if y = m·x + c. For δ = 1
//! and 0, X contains the even powers of ξ and X' the odd ones; for δ = -1, half of each are even and half odd
//! (`generators`). A switch has (3q - δ)/2 links to others; for full bandwidth it has half as many hosts, rounded up.
//!
//! Source: Besta and Hoefler, Slim Fly: a cost effective low-diameter network topology (SC 2014, §2.1); Hafner,
//! Geometric realisation of the graphs of McKay-Miller-Širáň (2004).
//!
//! Not modelled: other graphs near the Moore bound. Paths are shortest paths; between two switches that are not linked,
//! there is mostly only one.

use super::galois::Galois;
use super::{Cable, Count, Graph, OtherLinks, Regular, Size, Tier, at_least, tier, with_cable};
use flow_control::phy::PhyName;
use frame::NodeId;
use keys::Remark;
use units::{BitRate, Length};

with_cable! {
    /// Fabric of diameter 2: switches `sw{group}.{i}`, such as `sw0.1`, in 2q groups of q; hosts `h0`, ... in the order of the switches.
    SlimFly {
        /// Order of the finite field that defines the graph, which has 2q^2 switches. A prime power, 3 to 128, like 5, 7, 8, 9, 11 or 13. Required.
        q: u64,
        /// Number of hosts at each switch. A count, at least 1. Required.
        hosts_per_switch: u64,
    }
    optional {
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

/// Maximum field size: 32,768 switches with 192 links to each other.
const MOST: u64 = 1 << 7;

impl SlimFly {
    fn local(&self) -> OtherLinks {
        tier!(self, local_rate, local_length, local_phy)
    }
    fn global(&self) -> OtherLinks {
        tier!(self, global_rate, global_length, global_phy)
    }
    /// Number of links of a switch to others of its group.
    fn local_degree(&self) -> u64 {
        if self.q % 4 == 3 { self.q.div_ceil(2) } else { self.q / 2 }
    }
    fn field(&self) -> Option<Galois> {
        Some(self.q).filter(|q| (3..=MOST).contains(q) && q % 4 != 2).and_then(Galois::new)
    }
}

/// Returns the differences that link two elements: X of the first half of the groups, X' of the second.
fn generators(field: &Galois, q: u64) -> [Vec<u64>; 2] {
    let powers = field.powers(field.primitive(q).unwrap_or(1));
    let power = |exponent: u64| powers[(exponent % (q - 1)) as usize];
    let every_second = |from: u64, count: u64| (0..count).map(move |n| power(from + 2 * n));
    if q % 4 == 3 {
        let w = q.div_ceil(4);
        let both = |first: u64| every_second(first, w).chain(every_second(first + 2 * w - 1, w)).collect();
        [both(0), both(1)]
    } else {
        [every_second(0, q / 2).collect(), every_second(1, q / 2).collect()]
    }
}

impl Regular for SlimFly {
    const LAYERED: bool = false;

    fn counts(&self) -> Vec<Count> {
        vec![at_least(3, "q", self.q), at_least(1, "hosts_per_switch", self.hosts_per_switch)]
    }
    fn check(&self) -> Result<(), Remark> {
        if self.q > MOST || self.field().is_some() {
            return Ok(());
        }
        let fits = |&q: &u64| SlimFly { q, ..self.clone() }.field().is_some();
        let near = [(3..self.q).rev().find(fits), (self.q + 1..=MOST).find(fits)];
        let near: Vec<String> = near.into_iter().flatten().map(|q| q.to_string()).collect();
        let help = format!(
            "expected a power of a prime that is not 2 more than a multiple of 4, like {}",
            near.join(" or ")
        );
        Err(Remark::about("q", format!("there is no Slim Fly of q = {}", self.q), help))
    }
    fn other_links(&self) -> Vec<OtherLinks> {
        vec![self.local(), self.global()]
    }
    fn tiers(&mut self) -> Vec<Tier<'_>> {
        vec![(self.local_rate, &mut self.local_phy), (self.global_rate, &mut self.global_phy)]
    }
    fn size(&self) -> Option<Size> {
        if self.q > MOST {
            return None;
        }
        let switches = 2 * self.q * self.q;
        let hosts = switches.checked_mul(self.hosts_per_switch)?;
        let between = self.q * self.q * (self.q + self.local_degree());
        Some(Size { nodes: hosts.checked_add(switches)?, links: hosts.checked_add(between)? })
    }
    fn draw(&self, cable: Cable, graph: &mut Graph) {
        let (q, p) = (self.q, self.hosts_per_switch);
        let Some(field) = self.field() else { return };
        let mut switches: Vec<NodeId> = Vec::new();
        for number in 0..2 * q * q {
            let switch = graph.switch(format!("sw{}.{}", number / q, number % q), 1);
            graph.hosts_below(switch, number * p, p, cable);
            switches.push(switch);
        }
        let switch = |group: u64, place: u64| switches[(group * q + place) as usize];
        let (local, global) = (self.local().cable(cable), self.global().cable(cable));
        for (half, differences) in (0..).zip(generators(&field, q)) {
            for group in half * q..(half + 1) * q {
                for one in 0..q {
                    for other in
                        (one + 1..q).filter(|&other| differences.contains(&field.subtract(one, other)))
                    {
                        graph.link(switch(group, one), switch(group, other), local);
                    }
                }
            }
        }
        for x in 0..q {
            for m in 0..q {
                let product = field.multiply(m, x);
                for c in 0..q {
                    graph.link(switch(x, field.add(product, c)), switch(q + m, c), global);
                }
            }
        }
    }
}
