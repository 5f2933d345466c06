//! Direct all-to-all: each rank sends each peer its part.
//!
//! "shifted": in step k rank r sends to rank (r + k) mod n, and goes on when that is acknowledged and the message of rank (r - k) mod n has
//! come (MPI_Sendrecv), so that no NIC sends to two ranks at a time, nor receives from two. "burst": all messages are posted at once, the next rank's first; NICs that send in turn make each
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
    AwaitSend,
}

/// The step of a rank at a position, with the distance to its peer.
pub(crate) fn step(n: u32, burst: bool, at: u32) -> Option<Step> {
    let peers = n - 1;
    if burst {
        let receive = || (at < 2 * peers).then(|| Step::Receive(at - peers + 1));
        return if at < peers { Some(Step::Send(at + 1)) } else { receive() };
    }
    let distance = at / 3 + 1;
    let step =
        [Step::Send(distance), Step::Receive(distance), Step::AwaitSend].into_iter().nth(at as usize % 3);
    step.filter(|_| distance <= peers)
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
            Step::AwaitSend => Action::AwaitSends,
        })
    }
}
