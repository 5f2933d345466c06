//! Halving and doubling: log2 n steps with partners at distance 1, 2, 4, ...
//!
//! In a reduce-scatter, each rank sends its partner half of the vector, then a quarter, and so on: S/2, S/4, ... S/n.
//! An all-gather runs these steps in reverse order. An all-reduce is a reduce-scatter followed by an all-gather: 2 log2
//! n steps, 2 (n - 1) S/n bytes for each rank.
//!
//! If n is not a power of two, only p ranks take part in these steps, where p is the largest power of two below n. Of
//! the first 2 (n - p) ranks, each even one first sends its vector to the next odd one, and finally receives its result
//! from there: two more steps.
//!
//! Source: Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH (2005),
//! sections 4.1 to 4.4.
//!
//! Not modelled: the time of the reduction, unless `overhead_per_byte` includes it.

use crate::schedule::{Action, Schedule, part};

/// The halves of an all-reduce that a collective has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halves {
    ReduceScatter,
    AllGather,
    Both,
}

/// Halving and doubling among `n` ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalvingDoubling {
    pub n: u32,
    pub bytes: u64,
    pub chunks: u32,
    pub halves: Halves,
}

/// Mapping of `n` ranks to a power of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold {
    /// log2 of the largest power of two that is not above n.
    pub log2: u32,
    /// Number of ranks beyond that power of two.
    pub surplus: u32,
}

impl Fold {
    pub fn of(n: u32) -> Fold {
        let log2 = n.ilog2();
        Fold { log2, surplus: n - (1 << log2) }
    }
    /// Returns the number of a rank among those that take part; `None` if it is folded into the next rank.
    pub fn number(self, rank: u32) -> Option<u32> {
        if rank >= 2 * self.surplus {
            return Some(rank - self.surplus);
        }
        (rank % 2 == 1).then_some(rank / 2)
    }
    /// Returns the rank with a number.
    pub fn rank(self, number: u32) -> u32 {
        if number < self.surplus { 2 * number + 1 } else { number + self.surplus }
    }
    /// Returns true if a rank also acts for a folded one.
    pub fn stands_for_two(self, rank: u32) -> bool {
        rank < 2 * self.surplus && rank % 2 == 1
    }
}

impl HalvingDoubling {
    fn chunk(&self, lane: u32) -> u64 {
        part(self.bytes, self.chunks, lane)
    }
    /// Bytes whose result is at a number: an equal share in an all-reduce, the blocks of its ranks otherwise.
    fn share(&self, lane: u32, fold: Fold, number: u32) -> u64 {
        let bytes = self.chunk(lane);
        if self.halves == Halves::Both {
            return part(bytes, 1 << fold.log2, number);
        }
        let rank = fold.rank(number);
        let own = part(bytes, self.n, rank);
        if fold.stands_for_two(rank) { own + part(bytes, self.n, rank - 1) } else { own }
    }
    /// Bytes whose results are at the numbers with the same lowest `bits` bits as `number`.
    fn shares(&self, lane: u32, fold: Fold, number: u32, bits: u32) -> u64 {
        let low = number & ((1 << bits) - 1);
        (0..1u32 << (fold.log2 - bits)).map(|high| self.share(lane, fold, high << bits | low)).sum()
    }
    /// Bytes that a rank exchanges with its folded partner at the beginning and at the end.
    fn folded(&self, lane: u32, rank: u32) -> [u64; 2] {
        let (whole, own) = (self.chunk(lane), part(self.chunk(lane), self.n, rank));
        match self.halves {
            Halves::Both => [whole, whole],
            Halves::ReduceScatter => [whole, own],
            Halves::AllGather => [own, whole - own],
        }
    }
    /// Number of steps of the ranks that take part.
    fn steps(&self, fold: Fold) -> u32 {
        if self.halves == Halves::Both { 2 * fold.log2 } else { fold.log2 }
    }
}

impl Schedule for HalvingDoubling {
    fn lanes(&self) -> u32 {
        self.chunks
    }
    fn action(&self, rank: u32, lane: u32, at: u32) -> Option<Action> {
        let fold = Fold::of(self.n);
        let steps = self.steps(fold);
        let base = lane * (steps + 2);
        let (before, after) = (base + steps, base + steps + 1);
        let Some(number) = fold.number(rank) else {
            let [first, last] = self.folded(lane, rank);
            return match at {
                0 => Some(Action::Send { to: rank + 1, bytes: first, tag: before }),
                1 => Some(Action::Receive { from: rank + 1, bytes: last, tag: after }),
                _ => None,
            };
        };
        let folds = fold.stands_for_two(rank);
        if folds && at == 0 {
            let bytes = self.folded(lane, rank - 1)[0];
            return Some(Action::Receive { from: rank - 1, bytes, tag: before });
        }
        let at = at - u32::from(folds);
        let step = at / 2;
        if step >= steps {
            let bytes = || self.folded(lane, rank - 1)[1];
            return (folds && at == 2 * steps).then(|| Action::Send {
                to: rank - 1,
                bytes: bytes(),
                tag: after,
            });
        }
        let gathers = self.halves == Halves::AllGather || step >= fold.log2;
        let nth = step % fold.log2;
        let distance = if gathers { fold.log2 - 1 - nth } else { nth };
        let partner = number ^ 1 << distance;
        // Halving sends the data whose result the partner gets; doubling sends the results that this rank has.
        let [sent, received] = if gathers { [number, partner] } else { [partner, number] };
        let bytes = |number: u32| self.shares(lane, fold, number, distance + 1);
        let (peer, tag) = (fold.rank(partner), base + step);
        Some(if at.is_multiple_of(2) {
            Action::Send { to: peer, bytes: bytes(sent), tag }
        } else {
            Action::Receive { from: peer, bytes: bytes(received), tag }
        })
    }
}
