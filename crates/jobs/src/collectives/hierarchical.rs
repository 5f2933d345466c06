//! Hierarchical all-reduce: within groups of `group` ranks, then across groups, then within them again.
//!
//! The ranks of a group (the GPUs of a server) are consecutive. A ring within each group reduces and scatters the
//! vector; rank i of each group then holds 1/m of it, and takes part in a ring of the i-th ranks of all N groups, its
//! rail. Finally, a ring within each group gathers the vector. Across groups each rank sends 2 (N - 1)/N S/m bytes.
//!
//! Source: Jia et al., Highly scalable deep learning training system with mixed-precision (2018), section 4.3; NCCL
//! (rails).
//!
//! Not modelled: a separate network within a group (all messages pass the fabric).

use super::ring::{Ring, Steps};
use crate::schedule::{Action, Schedule, part};

/// A hierarchical all-reduce.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hierarchical {
    /// Number of ranks of a group; number of groups.
    pub group: u32,
    pub groups: u32,
    pub bytes: u64,
    pub chunks: u32,
}

impl Hierarchical {
    fn within(&self, bytes: u64, steps: Steps) -> Ring {
        Ring { n: self.group, bytes, chunks: 1, steps }
    }
}

/// Number of actions of a ring.
fn actions(n: u32, rounds: u32) -> u32 {
    2 * rounds * (n - 1)
}

impl Schedule for Hierarchical {
    fn lanes(&self) -> u32 {
        self.chunks
    }
    fn action(&self, rank: u32, lane: u32, at: u32) -> Option<Action> {
        let (m, groups) = (self.group, self.groups);
        let (group, own) = (rank / m, rank % m);
        let bytes = part(self.bytes, self.chunks, lane);
        let (first, second) = (actions(m, 1), actions(groups, 2));
        let all = first + second / 2;
        let base = lane * all;
        let inside = |steps: Steps, at: u32, base: u32| {
            let action = self.within(bytes, steps).action(own, 0, at)?;
            Some(renumbered(action, base, |peer| group * m + peer))
        };
        if at < first {
            return inside(Steps::ReduceScatter, at, base);
        }
        let at = at - first;
        if at < second {
            // After the reduce-scatter, a rank has the block after its own.
            let share = part(bytes, m, (own + 1) % m);
            let across = Ring { n: groups, bytes: share, chunks: 1, steps: Steps::AllReduce };
            let action = across.action(group, 0, at)?;
            return Some(renumbered(action, base + first / 2, |peer| peer * m + own));
        }
        inside(Steps::AllGather, at - second, base + first / 2 + second / 2)
    }
}

/// Converts an action of a ring to the ranks and tags of the whole collective.
fn renumbered(action: Action, base: u32, rank: impl Fn(u32) -> u32) -> Action {
    match action {
        Action::Send { to, bytes, tag } => Action::Send { to: rank(to), bytes, tag: base + tag },
        Action::Receive { from, bytes, tag } => Action::Receive { from: rank(from), bytes, tag: base + tag },
        other => other,
    }
}
