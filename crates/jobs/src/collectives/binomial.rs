//! Binomial tree: a broadcast from rank `root`, or a reduction to it, in ceil(log2 n) steps.
//!
//! In a broadcast each rank that has the vector sends it on to half of those that lack it, the farthest first, and to the next when that
//! one has acknowledged it: sent at once, all of them would have it late, and pass it on late. A reduction runs the same
//! tree upwards. With several chunks each goes its way as soon as it has come, so that the time tends towards that of
//! one vector for each child of the root.
//!
//! Source: Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH (2005), section 4.3.
//!
//! Not modelled: the time of the reduction, unless `overhead_per_byte` has it.

use crate::schedule::{Action, Schedule, part};

/// A binomial tree of `n` ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binomial {
    pub n: u32,
    pub bytes: u64,
    pub chunks: u32,
    pub root: u32,
    /// Upwards: a reduction.
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
        // Children are at the powers of two below the lowest bit, the farthest first.
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
