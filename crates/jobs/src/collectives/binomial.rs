//! Binomial tree: a broadcast from rank `root`, or a reduction to it, in ceil(log2 n) steps.
//!
//! In a broadcast, each rank that has the vector forwards it to its children, the farthest first. It sends to the next
//! child when the previous one has acknowledged: if it sent to all at once, every child would receive the vector late
//! and forward it late. A reduction runs the same tree upwards. With several chunks, each is forwarded as soon as it
//! arrives, so that the total time approaches that of sending one vector to each child of the root.
//!
//! Source: Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH (2005), section
//! 4.3.
//!
//! Not modelled: the time of the reduction, unless `overhead_per_byte` includes it.

use crate::schedule::{Action, Schedule, part};

/// A binomial tree of `n` ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binomial {
    pub n: u32,
    pub bytes: u64,
    pub chunks: u32,
    pub root: u32,
    /// True for a reduction, which runs upwards.
    pub reduces: bool,
}

impl Schedule for Binomial {
    fn lanes(&self) -> u32 {
        self.chunks
    }
    fn action(&self, rank: u32, lane: u32, at: u32) -> Option<Action> {
        let n = self.n;
        let own = (rank + n - self.root) % n;
        let back = |number: u32| (number + self.root) % n;
        let bytes = part(self.bytes, self.chunks, lane);
        // Children are at distances of powers of two below the lowest set bit, the farthest first.
        let span = if own == 0 { n.next_power_of_two() } else { own & own.wrapping_neg() };
        let parent = (own > 0).then(|| back(own - span));
        let children = (0..span.ilog2()).rev().map(|bit| own + (1 << bit)).filter(|&child| child < n);
        if self.reduces {
            let count = children.clone().count();
            let receives = children.rev().map(|from| Action::Receive { from: back(from), bytes, tag: lane });
            return match (at as usize).checked_sub(count) {
                None => receives.into_iter().nth(at as usize),
                Some(0) => parent.map(|to| Action::Send { to, bytes, tag: lane }),
                Some(_) => None,
            };
        }
        let receive = parent.map(|from| Action::Receive { from, bytes, tag: lane });
        let sends = children.enumerate().flat_map(|(nth, to)| {
            let send = Action::Send { to: back(to), bytes, tag: lane };
            (nth > 0).then_some(Action::AwaitSends).into_iter().chain([send])
        });
        receive.into_iter().chain(sends).nth(at as usize)
    }
}
