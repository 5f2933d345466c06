//! Direct all-to-all: each rank sends each peer the peer's part.
//!
//! "shifted": in step k, rank r sends to rank (r + k) mod n. The step ends when this message is acknowledged and the
//! one from rank (r - k) mod n has arrived (MPI_Sendrecv), so that no NIC sends to two ranks at a time, or receives
//! from two. "burst": all messages are posted at once, starting with that to the next rank. NICs that interleave their
//! messages cause an incast of n - 1 senders at each receiver.
//!
//! Source: Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH (2005), section
//! 4.2; NCCL (grouped sends and receives).

use crate::schedule::{Action, Schedule, part};

/// An all-to-all among `n` ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direct {
    pub n: u32,
    /// Send buffer of each rank, including its own part, in bytes.
    pub bytes: u64,
    pub chunks: u32,
    /// True if all messages are posted at once.
    pub burst: bool,
}

/// Step of a direct exchange: a send to the peer at a distance ahead, or a receive from the peer at a distance behind.
pub(crate) enum Step {
    Send(u32),
    Receive(u32),
    AwaitSend,
}

/// Returns the step at a position; `None` after the last one.
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
