//! State of a rank, for results and for diagnosing a rank that does not end.

use super::{Blocked, IterationTimes, Peer, PeerCounts, Post, Rank, RankCounts, Step, Unsent};
use std::cmp::Reverse;
use units::Time;

impl Rank {
    /// Returns true if all iterations are over.
    pub fn is_done(&self) -> bool {
        self.finished() == self.iterations as usize
    }
    /// Iterations after which it ends.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }
    /// Iterations that are over.
    pub fn finished(&self) -> usize {
        self.times.len() - usize::from(self.times.last().is_some_and(|last| last.ended == Time::NEVER))
    }
    /// Its iterations that have begun.
    pub fn times(&self) -> &[IterationTimes] {
        &self.times
    }
    /// Its steps of the iterations that are recorded, in the order of their beginnings.
    pub fn steps(&self) -> &[Step] {
        self.log.steps()
    }
    /// Its totals.
    pub fn counts(&self) -> RankCounts {
        self.counts
    }
    /// By peer that it has sent to, ascending, what it counts.
    pub fn peers(&self) -> impl Iterator<Item = (u32, PeerCounts)> + '_ {
        self.peers.iter().map(|(&peer, own)| (peer, own.counts))
    }
    /// Messages that were delivered and that it has not received: sender, label and number.
    pub fn unclaimed(&self) -> impl Iterator<Item = ((u32, u32), usize)> + '_ {
        self.matching.unclaimed()
    }
    /// Lanes that wait for a message.
    pub fn blocked(&self) -> impl Iterator<Item = Blocked> + '_ {
        self.matching.blocked()
    }
    /// Messages to a peer that are not acknowledged, the oldest first.
    pub fn unsent(&self, peer: u32) -> impl Iterator<Item = Unsent> + '_ {
        self.peers.get(&peer).into_iter().flat_map(|own| own.unsent.iter().copied())
    }
    /// Peers with messages that are not acknowledged.
    pub fn unsent_peers(&self) -> impl Iterator<Item = u32> + '_ {
        self.peers.iter().filter(|(_, own)| !own.unsent.is_empty()).map(|(&peer, _)| peer)
    }
    /// End of the work of its processor; `None`: it is idle.
    pub fn works_until(&self) -> Option<Time> {
        self.working.iter().map(|Reverse((at, ..))| *at).max()
    }
    /// Memory beside itself, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let peers = self.peers.values().map(|own| own.unsent.capacity() * size_of::<Unsent>());
        self.at.len() * size_of::<u32>()
            + self.in_flight.len() * size_of::<(u32, bool)>()
            + peers.sum::<usize>()
            + self.peers.len() * size_of::<(u32, Peer)>()
            + self.matching.memory_bytes()
            + self.posts.capacity() * size_of::<Post>()
            + self.times.capacity() * size_of::<IterationTimes>()
            + self.log.memory_bytes()
    }
}
