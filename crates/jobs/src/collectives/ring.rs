//! Ring: each rank sends to the next one and receives from the previous one.
//!
//! A vector of S bytes has n blocks. In step s of a reduce-scatter rank r sends block (r - s) mod n, which it has
//! received and reduced in step s - 1; after n - 1 steps it has the sum of block (r + 1) mod n. In step s of an
//! all-gather it sends block (r + 1 - s) mod n. An all-reduce is a reduce-scatter followed by an all-gather: 2 (n - 1)
//! steps of S/n bytes. A broadcast passes the vector from rank `root` around, in pieces (`chunks`). With several
//! chunks, each has a ring of its own, and these run concurrently.
//!
//! Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms (2009); NCCL.
//!
//! Not modelled: the time of the reduction, unless `overhead_per_byte` includes it.

use crate::schedule::{Action, Schedule, part};

/// The steps of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steps {
    ReduceScatter,
    AllGather,
    AllReduce,
    Broadcast { root: u32 },
}

/// A ring of `n` ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    pub n: u32,
    pub bytes: u64,
    pub chunks: u32,
    pub steps: Steps,
}

impl Ring {
    /// Number of steps of a rank.
    fn count(&self) -> u32 {
        match self.steps {
            Steps::ReduceScatter | Steps::AllGather => self.n - 1,
            Steps::AllReduce => 2 * (self.n - 1),
            Steps::Broadcast { .. } => 1,
        }
    }
    /// Returns the block that rank `r` sends in step `s`.
    fn block(&self, r: u32, s: u32) -> u32 {
        let n = self.n;
        let (s, ahead) = match self.steps {
            Steps::AllReduce if s >= n - 1 => (s - (n - 1), 1),
            Steps::AllGather => (s, 1),
            _ => (s, 0),
        };
        (r + ahead + n - s % n) % n
    }
    /// Returns the number of steps if all blocks are equal, so that the steps are alike; otherwise `None`.
    pub fn phases(&self) -> Option<u32> {
        let is_even = self.bytes.is_multiple_of(u64::from(self.chunks) * u64::from(self.n));
        let is_broadcast = matches!(self.steps, Steps::Broadcast { .. });
        (is_even && !is_broadcast).then(|| self.count())
    }
    fn bytes_of(&self, lane: u32, r: u32, s: u32) -> u64 {
        let chunk = part(self.bytes, self.chunks, lane);
        match self.steps {
            Steps::Broadcast { .. } => chunk,
            _ => part(chunk, self.n, self.block(r, s)),
        }
    }
}

impl Schedule for Ring {
    fn lanes(&self) -> u32 {
        self.chunks
    }
    fn action(&self, rank: u32, lane: u32, at: u32) -> Option<Action> {
        let n = self.n;
        let (next, before) = ((rank + 1) % n, (rank + n - 1) % n);
        if let Steps::Broadcast { root } = self.steps {
            let bytes = self.bytes_of(lane, 0, 0);
            let receives = rank != root;
            return match at {
                0 if receives => Some(Action::Receive { from: before, bytes, tag: lane }),
                _ if at == u32::from(receives) && next != root => {
                    Some(Action::Send { to: next, bytes, tag: lane })
                }
                _ => None,
            };
        }
        let s = at / 2;
        if s >= self.count() {
            return None;
        }
        let tag = lane * self.count() + s;
        Some(if at.is_multiple_of(2) {
            Action::Send { to: next, bytes: self.bytes_of(lane, rank, s), tag }
        } else {
            Action::Receive { from: before, bytes: self.bytes_of(lane, before, s), tag }
        })
    }
}
