//! Direct all-to-all: each rank sends each peer its part.
//!
//! "shifted": in step k rank r sends to rank (r + k) mod n and waits for what comes from rank (r - k) mod n, so that no NIC receives from
//! two ranks at a time. "burst": all messages are posted at once, the next rank's first; NICs that send in turn make each
//! receiver an incast of n - 1.
//!
//! Source: Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH (2005), section 4.2; NCCL (grouped
//! sends and receives).

use crate::schedule::{Action, Schedule, part};

/// An all-to-all among `n` ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direct {
    pub n: u32,
    /// Send buffer of each rank, its own part included.
    pub bytes: u64,
    pub chunks: u32,
    /// All at once.
    pub burst: bool,
}

/// Order of the messages of a direct exchange: peer `k` ahead and `k` behind, by position.
pub(crate) enum Step {
    Send(u32),
    Receive(u32),
}

/// What a rank does at a position: its distance to the peer.
pub(crate) fn step(n: u32, burst: bool, at: u32) -> Option<Step> {
    let peers = n - 1;
    if at >= 2 * peers {
        return None;
    }
    Some(match (burst, at) {
        (false, at) if at.is_multiple_of(2) => Step::Send(at / 2 + 1),
        (false, at) => Step::Receive(at / 2 + 1),
        (true, at) if at < peers => Step::Send(at + 1),
        (true, at) => Step::Receive(at - peers + 1),
    })
}

impl Schedule for Direct {
    fn lanes(&self) -> u32 {
        self.chunks
    }
    fn action(&self, rank: u32, lane: u32, at: u32) -> Option<Action> {
        let n = self.n;
        let bytes = |to: u32| part(part(self.bytes, self.chunks, lane), n, to);
        Some(match step(n, self.burst, at)? {
            Step::Send(ahead) => {
                let to = (rank + ahead) % n;
                Action::Send { to, bytes: bytes(to), tag: lane }
            }
            Step::Receive(behind) => {
                Action::Receive { from: (rank + n - behind) % n, bytes: bytes(rank), tag: lane }
            }
        })
    }
}
