//! Bruck's all-to-all: ceil(log2 n) rounds, in which ranks forward blocks.
//!
//! In round k, rank r sends to rank (r + 2^k) mod n the blocks for whose distance, from source to destination, bit k is
//! set: about half of them. The algorithm has the fewest messages, but moves log2(n)/2 times the bytes, and is
//! therefore used for small blocks.
//!
//! Source: Bruck et al., Efficient algorithms for all-to-all communications in multiport message-passing systems
//! (1997).
//!
//! Not modelled: the copies that reorder the blocks.

use crate::schedule::{Action, Schedule, part};

/// Bruck's algorithm among `n` ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bruck {
    pub n: u32,
    /// Send buffer of each rank, including its own part, in bytes.
    pub bytes: u64,
    pub chunks: u32,
}

impl Bruck {
    /// Bytes that rank `r` sends in round `k`. A block with total distance `distance` comes from the rank that is its
    /// lower bits behind, and its destination is `distance` from there.
    fn sent(&self, lane: u32, r: u32, k: u32) -> u64 {
        let n = self.n;
        let passed = |distance: u32| {
            let origin = (r + n - distance % (1 << k)) % n;
            part(part(self.bytes, self.chunks, lane), n, (origin + distance) % n)
        };
        (1..n).filter(|distance| distance >> k & 1 == 1).map(passed).sum()
    }
}

impl Schedule for Bruck {
    fn lanes(&self) -> u32 {
        self.chunks
    }
    fn action(&self, rank: u32, lane: u32, at: u32) -> Option<Action> {
        let (n, k) = (self.n, at / 2);
        let rounds = n.next_power_of_two().ilog2();
        if k >= rounds {
            return None;
        }
        let (to, from) = ((rank + (1 << k)) % n, (rank + n - (1 << k)) % n);
        let tag = lane * rounds + k;
        Some(if at.is_multiple_of(2) {
            Action::Send { to, bytes: self.sent(lane, rank, k), tag }
        } else {
            Action::Receive { from, bytes: self.sent(lane, from, k), tag }
        })
    }
}
