//! Draws the destination of the next frame: an index into a source's list of destinations.

use crate::draw::{Coin, below};
use crate::spec::Destinations;
use frame::NodeId;
use rand_xoshiro::Xoshiro256PlusPlus;

impl Destinations {
    /// Returns all destinations, in the order of the index that a source draws.
    pub fn nodes(&self) -> Vec<NodeId> {
        match self {
            Destinations::Fixed(node) => vec![*node],
            Destinations::Uniform(nodes) | Destinations::Multicast(nodes) => nodes.clone(),
            Destinations::HotSpot { hot, others, .. } => [*hot].into_iter().chain(others.nodes()).collect(),
            Destinations::Others(others) => others.nodes().collect(),
        }
    }

    /// Returns the n-th of [`Destinations::nodes`].
    pub fn nth(&self, n: u32) -> NodeId {
        match self {
            Destinations::Fixed(node) => *node,
            Destinations::Uniform(nodes) | Destinations::Multicast(nodes) => nodes[n as usize],
            Destinations::HotSpot { hot, others, .. } => {
                n.checked_sub(1).map_or(*hot, |other| others.nth(other))
            }
            Destinations::Others(others) => others.nth(n),
        }
    }

    /// Returns the number of destinations.
    pub fn count(&self) -> usize {
        match self {
            Destinations::Fixed(_) => 1,
            Destinations::Uniform(nodes) | Destinations::Multicast(nodes) => nodes.len(),
            Destinations::HotSpot { others, .. } => 1 + others.count(),
            Destinations::Others(others) => others.count(),
        }
    }

    /// Returns true if each frame goes to all destinations.
    pub fn are_all_meant(&self) -> bool {
        matches!(self, Destinations::Multicast(_))
    }

    /// Returns the share of the frames that each destination gets, in the order of [`Destinations::nodes`].
    pub fn shares(&self) -> Vec<f64> {
        let equal = |share: f64, count: usize| vec![share / count as f64; count];
        match self {
            Destinations::Fixed(_) | Destinations::Multicast(_) => vec![1.0; self.count()],
            Destinations::Uniform(_) | Destinations::Others(_) => equal(1.0, self.count()),
            Destinations::HotSpot { others, .. } if others.count() == 0 => vec![1.0],
            Destinations::HotSpot { share, others, .. } => {
                let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
                [share].into_iter().chain(equal(1.0 - share, others.count())).collect()
            }
        }
    }
}

/// Draws indices into [`Destinations::nodes`].
#[derive(Clone, Debug)]
pub(crate) enum Sampler {
    Fixed,
    Uniform { count: u32 },
    HotSpot { is_hot: Coin, others: u32 },
    Runs(Box<Run>),
}

/// Repeats each draw a fixed number of times.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    of: Sampler,
    length: u64,
    /// Number of draws left in the current run.
    left: u64,
    last: u32,
}

impl Sampler {
    pub(crate) fn new(destinations: &Destinations) -> Sampler {
        match destinations {
            // A multicast frame begins as one frame on the path to its first destination.
            Destinations::Fixed(_) | Destinations::Multicast(_) => Sampler::Fixed,
            Destinations::Uniform(_) | Destinations::Others(_) => {
                Sampler::Uniform { count: destinations.count() as u32 }
            }
            Destinations::HotSpot { others, .. } if others.count() == 0 => Sampler::Fixed,
            Destinations::HotSpot { share, others, .. } => {
                Sampler::HotSpot { is_hot: Coin::new(*share), others: others.count() as u32 }
            }
        }
    }

    /// Changes the sampler to repeat each draw `length` times.
    pub(crate) fn in_runs(self, length: u64) -> Sampler {
        if length < 2 || matches!(self, Sampler::Fixed) {
            return self;
        }
        Sampler::Runs(Box::new(Run { of: self, length, left: 0, last: 0 }))
    }

    #[inline]
    pub(crate) fn draw(&mut self, rng: &mut Xoshiro256PlusPlus) -> u32 {
        // Fast path: most flows have one destination.
        if matches!(self, Sampler::Fixed) { 0 } else { self.draw_one(rng) }
    }

    fn draw_one(&mut self, rng: &mut Xoshiro256PlusPlus) -> u32 {
        match *self {
            Sampler::Fixed => 0,
            Sampler::Runs(ref mut run) => {
                if run.left == 0 {
                    (run.left, run.last) = (run.length, run.of.draw_one(rng));
                }
                run.left -= 1;
                run.last
            }
            Sampler::Uniform { count } => below(rng, count.into()) as u32,
            Sampler::HotSpot { is_hot, others } => {
                if is_hot.toss(rng) {
                    0
                } else {
                    1 + below(rng, others.into()) as u32
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Others;
    use rand::SeedableRng;

    fn counts(destinations: &Destinations, draws: u32) -> Vec<u32> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut sampler = Sampler::new(destinations);
        assert_eq!(destinations.nodes().len(), destinations.count());
        for (n, node) in (0..).zip(destinations.nodes()) {
            assert_eq!(destinations.nth(n), node);
        }
        let mut counts = vec![0; destinations.count().max(1)];
        (0..draws).for_each(|_| counts[sampler.draw(&mut rng) as usize] += 1);
        counts
    }

    fn nodes(n: u32) -> Vec<NodeId> {
        (0..n).map(NodeId).collect()
    }

    #[test]
    fn shares() {
        assert_eq!(counts(&Destinations::Fixed(NodeId(5)), 10), [10]);
        let uniform = counts(&Destinations::Uniform(nodes(5)), 50_000);
        assert!(uniform.iter().all(|&c| (f64::from(c) - 1e4).abs() < 5.0 * 89.5), "{uniform:?}");
        let list = |count, without| Others { hosts: nodes(count).into(), without };
        let others = Destinations::Others(list(6, Some(2)));
        assert_eq!(others.nodes(), [0, 1, 3, 4, 5].map(NodeId));
        assert_eq!(counts(&others, 50_000), uniform);
        let spot = Destinations::HotSpot { hot: NodeId(9), share: 0.2, others: list(5, Some(4)) };
        assert_eq!(spot.nodes()[..2], [NodeId(9), NodeId(0)]);
        let spot = counts(&spot, 50_000);
        assert!(spot.iter().all(|&c| (f64::from(c) - 1e4).abs() < 5.0 * 89.5), "{spot:?}");
        assert_eq!(
            counts(&Destinations::HotSpot { hot: NodeId(9), share: 0.0, others: list(0, None) }, 5),
            [5]
        );
        assert_eq!(Destinations::Fixed(NodeId(5)).shares(), [1.0]);
        assert_eq!(Destinations::Uniform(nodes(4)).shares(), [0.25; 4]);
        let spot = Destinations::HotSpot { hot: NodeId(9), share: 0.5, others: list(2, None) };
        assert_eq!(spot.shares(), [0.5, 0.25, 0.25]);
        let alone = Destinations::HotSpot { hot: NodeId(9), share: 0.5, others: list(1, Some(0)) };
        assert_eq!(alone.shares().len(), alone.nodes().len());
        assert_eq!(counts(&Destinations::Uniform(vec![]), 5), [5]);
        let group = Destinations::Multicast(nodes(3));
        assert_eq!((counts(&group, 5), group.shares()), (vec![5, 0, 0], vec![1.0; 3]));
    }
}
