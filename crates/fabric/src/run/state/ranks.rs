//! Ranks of jobs at the hosts of a part.
//!
//! A rank is called when one of its messages has been acknowledged, when a message has been delivered to it, or when
//! its timer has expired. All three are events of its host, so that the look-ahead between the parts of the fabric is
//! as large as without jobs.

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
    /// First port of its host, which is the place of its timer.
    pub port: PortIx,
    /// State machine of the rank.
    pub machine: Rank,
    /// The endpoint of each peer that it sends to, by the number of the peer, ascending.
    pub ends: Box<[(u32, EndpointIx)]>,
    /// For steps that send messages, by number: the breakdown of the time of each, if the transport measures it.
    pub times: Vec<(u32, MessageTimes)>,
    /// Time of its pending call; [`Time::NEVER`] if there is none.
    pub wakes_at: Time,
    /// True if it is among the deferred steps.
    pub deferred: bool,
}

/// The rank that an endpoint notifies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notified {
    pub rank: RankIx,
    /// The rank at the other end.
    pub peer: u32,
    /// True for messages acknowledged at the sender, false for messages delivered.
    pub sends: bool,
}

/// Ranks of jobs.
#[derive(Debug, Default)]
pub(crate) struct Ranks {
    /// All ranks of the part.
    pub ranks: NodeLocal<RankIx, RankState>,
    /// By endpoint, the rank that it notifies; empty without jobs.
    pub notified: NodeLocal<EndpointIx, Option<Notified>>,
    /// Ranks of each host, by its first port, ascending.
    pub at_port: Vec<(PortIx, RankIx)>,
    /// True if any rank sends messages as frames without a transport, whose departure completes the send.
    pub over_frames: bool,
    /// Notices of ranks that a session drives, to be collected: job, number of the rank, notice.
    pub notices: Vec<(u32, u32, Notice)>,
}

impl Ranks {
    /// The rank that an endpoint notifies.
    pub fn notified(&self, endpoint: EndpointIx) -> Option<Notified> {
        self.notified.get(endpoint).copied().flatten()
    }
    /// Notifies a rank that a message with this label has ended at an endpoint, with the times that the endpoint has
    /// measured, if any. Returns true if the rank was not deferred yet.
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
    /// Returns true if a call of the ranks of a host is part of the fingerprint. It is not if no timer expires, nor if
    /// the call only starts requests with a time of their own: a list and a session split these into different numbers
    /// of calls.
    pub fn call_is_noted(&self, port: PortIx, now: Time) -> bool {
        let ranks = self.of_port(port);
        let driven = |rank: &RankIx| self.ranks[*rank].machine.is_driven();
        ranks.iter().any(|rank| !driven(rank) && self.ranks[*rank].wakes_at <= now)
    }
    /// The ranks of the host with this first port.
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
