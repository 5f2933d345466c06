//! Dissemination barrier: ceil(log2 n) rounds of messages without data.
//!
//! In round k each rank sends to rank (r + 2^k) mod n and waits for a message of rank (r - 2^k) mod n.
//!
//! Source: Hensgen, Finkel and Manber, Two algorithms for barrier synchronization (1988).

use crate::schedule::{Action, Schedule};

/// A barrier of `n` ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dissemination {
    pub n: u32,
}

impl Schedule for Dissemination {
    fn lanes(&self) -> u32 {
        1
    }
    fn action(&self, rank: u32, _lane: u32, at: u32) -> Option<Action> {
        let (n, k) = (self.n, at / 2);
        if k >= n.next_power_of_two().ilog2() {
            return None;
        }
        Some(if at.is_multiple_of(2) {
            Action::Send { to: (rank + (1 << k)) % n, bytes: 0, tag: k }
        } else {
            Action::Receive { from: (rank + n - (1 << k)) % n, bytes: 0, tag: k }
        })
    }
}
