//! Double binary tree: an all-reduce over two trees, in which each rank is an inner node of at most one.
//!
//! Each tree reduces half of the vector to its root and broadcasts the sum, in pieces (`chunks`). A piece is sent up as
//! soon as both children have sent theirs, and down as soon as it arrives. The second tree is the first one mirrored,
//! or shifted by a rank if n is odd, so that the leaves of one are the inner nodes of the other: with many chunks each
//! NIC sends and receives about 2 S bytes.
//!
//! Source: Sanders, Speck and Träff, Two-tree algorithms for full bandwidth broadcast, reduction and scan (2009); NCCL,
//! `src/graph/trees.cc` (`ncclGetBtree`, `ncclGetDtree`).
//!
//! Not modelled: the time of the reduction, unless `overhead_per_byte` includes it.

use crate::schedule::{Action, Schedule, part};

/// Two trees of `n` ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DoubleTree {
    pub n: u32,
    pub bytes: u64,
    /// Number of pieces of each half.
    pub chunks: u32,
}

/// Neighbours of a rank in a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Neighbours {
    pub parent: Option<u32>,
    pub children: [Option<u32>; 2],
}

/// Returns the neighbours of a rank in the tree with root 0, whose leaves are the odd ranks.
fn tree(n: u32, rank: u32) -> Neighbours {
    if rank == 0 {
        let child = (n > 1).then(|| n.next_power_of_two() >> 1);
        return Neighbours { parent: None, children: [None, child] };
    }
    let bit = rank & rank.wrapping_neg();
    let up = (rank ^ bit) | bit << 1;
    let parent = if up >= n { rank ^ bit } else { up };
    let mut low = bit >> 1;
    if low == 0 {
        return Neighbours { parent: Some(parent), children: [None; 2] };
    }
    let left = rank - low;
    while low > 0 && rank + low >= n {
        low >>= 1;
    }
    Neighbours { parent: Some(parent), children: [Some(left), (low > 0).then(|| rank + low)] }
}

/// Returns the neighbours of a rank in the first or the second tree.
pub(crate) fn neighbours(n: u32, rank: u32, second: bool) -> Neighbours {
    if !second {
        return tree(n, rank);
    }
    let (own, back): (u32, &dyn Fn(u32) -> u32) = if n.is_multiple_of(2) {
        (n - 1 - rank, &|other| n - 1 - other)
    } else {
        ((rank + n - 1) % n, &|other| (other + 1) % n)
    };
    let Neighbours { parent, children } = tree(n, own);
    Neighbours { parent: parent.map(back), children: children.map(|child| child.map(back)) }
}

impl Schedule for DoubleTree {
    fn lanes(&self) -> u32 {
        2 * self.chunks
    }
    fn action(&self, rank: u32, lane: u32, at: u32) -> Option<Action> {
        // Lanes take pieces of both trees in turn.
        let (half, piece) = (lane % 2, lane / 2);
        let bytes = part(part(self.bytes, 2, half), self.chunks, piece);
        let Neighbours { parent, children } = neighbours(self.n, rank, half == 1);
        let (up, down) = (2 * lane, 2 * lane + 1);
        let reduces = children.into_iter().flatten().map(|from| Action::Receive { from, bytes, tag: up });
        let passes = parent.into_iter().flat_map(|parent| {
            [Action::Send { to: parent, bytes, tag: up }, Action::Receive { from: parent, bytes, tag: down }]
        });
        let spreads = children.into_iter().flatten().map(|to| Action::Send { to, bytes, tag: down });
        reduces.chain(passes).chain(spreads).nth(at as usize)
    }
}
