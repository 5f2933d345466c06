//! Read access to the state of a rank, for results and for diagnosing a rank that does not end.

use super::{Blocked, IterationTimes, Peer, PeerCounts, Post, Rank, RankCounts, Step, Unsent};
use std::cmp::Reverse;
use units::Time;

impl Rank {
    /// Returns true if all iterations have ended.
    pub fn is_done(&self) -> bool {
        self.finished() == self.iterations as usize
    }
    /// Returns the number of iterations after which the rank ends.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }
    /// Returns the number of iterations that have ended.
    pub fn finished(&self) -> usize {
        self.times.len() - usize::from(self.times.last().is_some_and(|last| last.ended == Time::NEVER))
    }
    /// Returns the times of the iterations that have started.
    pub fn times(&self) -> &[IterationTimes] {
        &self.times
    }
    /// Returns the recorded steps, in the order of their start.
    pub fn steps(&self) -> &[Step] {
        self.log.steps()
    }
    /// Returns the totals.
    pub fn counts(&self) -> RankCounts {
        self.counts
    }
    /// Returns the counters of each peer to which the rank has sent, ascending.
    pub fn peers(&self) -> impl Iterator<Item = (u32, PeerCounts)> + '_ {
        self.peers.iter().map(|(&peer, own)| (peer, own.counts))
    }
    /// Returns the messages that were delivered without a matching receive: sender, label and number.
    pub fn unclaimed(&self) -> impl Iterator<Item = ((u32, u32), usize)> + '_ {
        self.matching.unclaimed()
    }
    /// Returns the lanes that wait for a message.
    pub fn blocked(&self) -> impl Iterator<Item = Blocked> + '_ {
        self.matching.blocked()
    }
    /// Returns the messages to a peer that are not acknowledged, oldest first.
    pub fn unsent(&self, peer: u32) -> impl Iterator<Item = Unsent> + '_ {
        self.peers.get(&peer).into_iter().flat_map(|own| own.unsent.iter().copied())
    }
    /// Returns the peers with messages that are not acknowledged.
    pub fn unsent_peers(&self) -> impl Iterator<Item = u32> + '_ {
        self.peers.iter().filter(|(_, own)| !own.unsent.is_empty()).map(|(&peer, _)| peer)
    }
    /// Returns the time at which the processor finishes its current work; `None` if it is idle.
    pub fn works_until(&self) -> Option<Time> {
        self.working.iter().map(|Reverse((at, ..))| *at).max()
    }
    /// Heap memory in bytes.
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
