//! Weights of links in the choice of paths: weighted ECMP (WCMP), for links that lead to different capacities.
//!
//! Among several equal ports, one is selected with a probability of its weight over the sum of their weights. A switch
//! replicates the members of a group by weight and takes the hash modulo their number; here, the hash is scaled to the
//! sum of the weights, which is equivalent without a table. With weights of 1, the choice is that of ECMP, bit by bit.
//!
//! Source: Zhou, Tewari, Zhu, Kabbani, Poutievski, Singh and Vahdat, WCMP: weighted cost multipathing for improved
//! fairness in data centers (EuroSys 2014, section 2).
//!
//! Not modelled: tables that are too small for the weights, which chips then reduce; weights that follow failures.

use crate::spec::Spec;
use crate::spec::routing::{Wiring, scale};
use frame::{NodeId, PortId};

/// Weights of neighbours, which apply to each link to a neighbour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weights {
    /// Sorted by neighbour; all others have weight 1.
    of: Vec<(NodeId, u32)>,
}

impl Weights {
    /// Maximum weight of a link.
    pub const MOST: u32 = 65_535;

    /// Creates weights for these neighbours.
    pub fn new(of: impl IntoIterator<Item = (NodeId, u32)>) -> Weights {
        let mut of: Vec<(NodeId, u32)> = of.into_iter().collect();
        of.sort_unstable();
        of.dedup_by_key(|(node, _)| *node);
        Weights { of }
    }
    /// Returns true if all weights are 1.
    pub fn are_equal(&self) -> bool {
        self.of.iter().all(|&(_, weight)| weight == 1)
    }
    /// Returns the weight of a neighbour.
    pub fn to(&self, neighbour: NodeId) -> u32 {
        self.of.binary_search_by_key(&neighbour, |&(node, _)| node).map_or(1, |at| self.of[at].1)
    }
}

/// Returns the index of the candidate that random bits select by these weights.
#[inline]
pub(crate) fn place(weights: impl Iterator<Item = u32> + Clone, bits: u64) -> usize {
    let total: u64 = weights.clone().map(u64::from).sum();
    let mut left = scale(bits, total as usize) as u64;
    for (place, weight) in weights.enumerate() {
        match left.checked_sub(u64::from(weight)) {
            Some(rest) => left = rest,
            None => return place,
        }
    }
    0
}

/// Weights of the ports of one node.
#[derive(Clone, Debug)]
pub struct PortWeights {
    first: u32,
    of: Box<[u32]>,
}

impl PortWeights {
    /// Selects one of these ports of the node.
    #[inline]
    pub(crate) fn choose(&self, ports: &[PortId], bits: u64) -> PortId {
        let weights = ports.iter().map(|port| self.of[(port.0 - self.first) as usize]);
        ports[place(weights, bits)]
    }
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<PortWeights>() + size_of_val(&*self.of)
    }
}

impl Spec {
    /// The weights of the ports of a node, if they are not all equal.
    pub(crate) fn port_weights(&self, node: NodeId, wiring: &Wiring) -> Option<PortWeights> {
        let own = &self.nodes[node.at()].switch()?.weights;
        let of = wiring.ports(node).map(|port| own.to(wiring.neighbour(port))).collect();
        (!own.are_equal()).then(|| PortWeights { first: wiring.first_port[node.at()], of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_are_ecmp() {
        for bits in (0..10_000u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
            for count in 1..9 {
                assert_eq!(place(std::iter::repeat_n(1, count), bits), scale(bits, count));
            }
        }
    }

    #[test]
    fn bits_are_shared_by_weight() {
        // Every eighth of the range, with weights of 3, 1 and 4.
        let places: Vec<usize> = (0..8u64).map(|n| place([3, 1, 4].into_iter(), n << 61)).collect();
        assert_eq!(places, [0, 0, 0, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn others_have_one() {
        let weights = Weights::new([(NodeId(7), 3), (NodeId(2), 5)]);
        assert_eq!([2, 3, 7].map(|node| weights.to(NodeId(node))), [5, 1, 3]);
        assert!(
            !weights.are_equal()
                && Weights::default().are_equal()
                && Weights::new([(NodeId(1), 1)]).are_equal()
        );
    }
}
