//! Recursive doubling: an all-reduce of log2 n steps, each with the whole vector.
//!
//! In step k each rank exchanges its vector with the partner at distance 2^k. The algorithm has the fewest steps and
//! moves the most bytes. It suits vectors of a few kilobytes, for which the latency of a message dominates. Ranks
//! beyond a power of two are folded as in `halving_doubling`.
//!
//! Source: Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH (2005), section
//! 4.5.
//!
//! Not modelled: the time of the reduction, unless `overhead_per_byte` includes it.

use super::halving_doubling::Fold;
use crate::schedule::{Action, Schedule, part};

/// Recursive doubling among `n` ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecursiveDoubling {
    pub n: u32,
    pub bytes: u64,
    pub chunks: u32,
}

impl Schedule for RecursiveDoubling {
    fn lanes(&self) -> u32 {
        self.chunks
    }
    fn action(&self, rank: u32, lane: u32, at: u32) -> Option<Action> {
        let fold = Fold::of(self.n);
        let bytes = part(self.bytes, self.chunks, lane);
        let base = lane * (fold.log2 + 2);
        let (before, after) = (base + fold.log2, base + fold.log2 + 1);
        let Some(number) = fold.number(rank) else {
            return match at {
                0 => Some(Action::Send { to: rank + 1, bytes, tag: before }),
                1 => Some(Action::Receive { from: rank + 1, bytes, tag: after }),
                _ => None,
            };
        };
        let folds = fold.stands_for_two(rank);
        if folds && at == 0 {
            return Some(Action::Receive { from: rank - 1, bytes, tag: before });
        }
        let at = at - u32::from(folds);
        if at / 2 >= fold.log2 {
            let is_last = folds && at == 2 * fold.log2;
            return is_last.then(|| Action::Send { to: rank - 1, bytes, tag: after });
        }
        let (peer, tag) = (fold.rank(number ^ 1 << (at / 2)), base + at / 2);
        Some(if at.is_multiple_of(2) {
            Action::Send { to: peer, bytes, tag }
        } else {
            Action::Receive { from: peer, bytes, tag }
        })
    }
}
