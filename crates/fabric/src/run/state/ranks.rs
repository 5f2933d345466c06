//! Ranks of jobs at the hosts of a part.
//!
//! A rank is called in three cases: one of its messages has been acknowledged, one has been delivered to it, or its timer
//! has expired. All three are events of its host, so that parts of the fabric run ahead of each other as without jobs.

use crate::run::state::index::{EndpointIx, PortIx, RankIx};
use crate::run::state::own::NodeLocal;
use jobs::{Notice, Rank};
use transport::MessageTimes;
use units::Time;

/// A rank and its connections.
#[derive(Debug)]
pub(crate) struct RankState {
    /// Index into [`Spec::jobs`](crate::spec::Spec::jobs).
    pub job: u32,
    /// Number of the rank in its job.
    pub number: u32,
    /// First port of its host, where its timer is.
    pub port: PortIx,
    /// Its state machine.
    pub machine: Rank,
    /// The endpoint of each peer that it sends to, by the number of the peer, ascending.
    pub ends: Box<[(u32, EndpointIx)]>,
    /// Of its steps that are messages, by their numbers, what the time of each was spent on, where the transport measures that.
    pub times: Vec<(u32, MessageTimes)>,
    /// Time of its pending call; [`Time::NEVER`]: there is none.
    pub wakes_at: Time,
    /// It is among the deferred steps.
    pub deferred: bool,
}

/// The rank that an endpoint notifies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notified {
    pub rank: RankIx,
    /// The rank at the other end.
    pub peer: u32,
    /// Of messages that were acknowledged; false: of those that were delivered.
    pub sends: bool,
}

/// Ranks of jobs.
#[derive(Debug, Default)]
pub(crate) struct Ranks {
    /// All of the part.
    pub ranks: NodeLocal<RankIx, RankState>,
    /// By endpoint, whom it notifies; empty without jobs.
    pub notified: NodeLocal<EndpointIx, Option<Notified>>,
    /// Ranks of each host, by its first port, ascending.
    pub at_port: Vec<(PortIx, RankIx)>,
    /// Some of them send messages as frames without a transport, whose departures end their sends.
    pub over_frames: bool,
    /// Notices of ranks that a session drives, which are to be taken: job, number of the rank, notice.
    pub notices: Vec<(u32, u32, Notice)>,
}

impl Ranks {
    /// The rank that an endpoint notifies.
    pub fn notified(&self, endpoint: EndpointIx) -> Option<Notified> {
        self.notified.get(endpoint).copied().flatten()
    }
    /// A message of this label has ended at an endpoint, which may have measured it. Returns true if the rank is to be run that was
    /// not before.
    pub fn notify(
        &mut self,
        notified: Notified,
        (tag, times): (u32, Option<MessageTimes>),
        now: Time,
    ) -> bool {
        let state = &mut self.ranks[notified.rank];
        if notified.sends {
            let step = state.machine.on_sent(notified.peer, tag, now);
            state.times.extend(step.zip(times));
        } else {
            state.machine.on_delivered(notified.peer, tag, now);
        }
        !std::mem::replace(&mut state.deferred, true)
    }
    /// Returns true if a call of the ranks of a host is part of the fingerprint: not if no timer expires, nor if it is there for requests
    /// that have a time of their own, which a list and a session make in different numbers of calls.
    pub fn call_is_noted(&self, port: PortIx, now: Time) -> bool {
        let ranks = self.of_port(port);
        let driven = |rank: &RankIx| self.ranks[*rank].machine.is_driven();
        ranks.iter().any(|rank| !driven(rank) && self.ranks[*rank].wakes_at <= now)
    }
    /// The ranks of a host, by its first port.
    pub fn of_port(&self, port: PortIx) -> Vec<RankIx> {
        let first = self.at_port.partition_point(|&(other, _)| other < port);
        self.at_port[first..].iter().take_while(|&&(other, _)| other == port).map(|&(_, rank)| rank).collect()
    }
    /// Memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let own = |state: &RankState| {
            state.machine.memory_bytes()
                + state.ends.len() * size_of::<(u32, EndpointIx)>()
                + state.times.capacity() * size_of::<(u32, MessageTimes)>()
        };
        self.ranks.memory_bytes()
            + self.ranks.indices().map(|rank| own(&self.ranks[rank])).sum::<usize>()
            + self.notified.memory_bytes()
            + self.at_port.capacity() * size_of::<(PortIx, RankIx)>()
    }
}
