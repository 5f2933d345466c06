//! What carries the messages of an application from one host to the other and back.

use crate::application::Random;
use crate::duplex::Duplex;
use crate::load::Train;
use crate::rdma::{PathFacts, Post, RdmaSpec};
use crate::tcp::{EcnMode, TcpSpec};
use std::sync::Arc;
use units::Time;

/// A transport, checked. It is the same in both directions.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A stream of bytes each way, over one connection without transfers of its own.
    Tcp(Arc<TcpSpec>),
    /// A queue pair each way, without messages of its own.
    Rdma(Arc<RdmaSpec>),
}

impl Transport {
    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            Transport::Tcp(_) => "tcp",
            Transport::Rdma(_) => "rdma",
        }
    }
    /// Its queue pairs, if it is RDMA.
    pub fn queue_pairs(&self) -> Option<&Arc<RdmaSpec>> {
        match self {
            Transport::Tcp(_) => None,
            Transport::Rdma(rdma) => Some(rdma),
        }
    }
    /// The longest random time by which what is sent waits; `None`: it has no such thing.
    pub fn jitter(&self) -> Option<Time> {
        match self {
            Transport::Tcp(tcp) => Some(tcp.jitter),
            Transport::Rdma(_) => None,
        }
    }
    /// The shortest and the longest frame of either end, DA to FCS.
    pub fn frames(&self) -> (u16, u16) {
        match self {
            Transport::Tcp(tcp) => (tcp.shortest_frame(), tcp.longest_frame()),
            Transport::Rdma(rdma) => (rdma.shortest_frame(), rdma.longest_frame()),
        }
    }
    /// Lengths of a full frame and of what acknowledges it, DA to FCS.
    pub fn round_trip_frames(&self) -> (u16, u16) {
        match self {
            Transport::Tcp(tcp) => (tcp.frame_bytes(tcp.segment), tcp.ack_frame_bytes(0)),
            Transport::Rdma(rdma) => (rdma.frame_bytes(rdma.mtu), rdma.ack_bytes()),
        }
    }
    /// The frames of messages, each of so many bytes of a stream, or of these posts.
    pub(crate) fn train<'a>(&self, messages: impl Iterator<Item = (u64, &'a [Post])>) -> Train {
        match self {
            Transport::Tcp(tcp) => Train::messages(tcp, messages.map(|(bytes, _)| bytes)),
            Transport::Rdma(rdma) => Train::posts(rdma, messages.flat_map(|(_, posts)| posts).copied()),
        }
    }
    /// Whether switches may mark its frames.
    pub fn understands_marks(&self) -> bool {
        match self {
            Transport::Tcp(tcp) => tcp.ecn != EcnMode::Off,
            Transport::Rdma(rdma) => rdma.understands_marks(),
        }
    }
    /// Checks its parameters.
    ///
    /// # Errors
    /// The first that is outside of its range, or that sends something of its own.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Transport::Tcp(tcp) if tcp.reconnect || tcp.transfers.total != Some(0) => {
                Err("transfers beside the messages; expected none, over one connection".to_string())
            }
            Transport::Tcp(tcp) => tcp.check(),
            Transport::Rdma(rdma) if rdma.total != Some(0) => {
                Err("messages of a flow beside those of its application; expected none".to_string())
            }
            Transport::Rdma(rdma) => rdma.check(),
        }
    }
    /// It as the end has it that does not open the connection: a handshake has opened its direction, too.
    pub(crate) fn of_answerer(&self) -> Transport {
        match self {
            Transport::Tcp(tcp) => {
                Transport::Tcp(Arc::new(TcpSpec { handshake: false, ..tcp.as_ref().clone() }))
            }
            Transport::Rdma(rdma) => Transport::Rdma(rdma.clone()),
        }
    }
    /// One end, with nothing to send yet.
    pub(crate) fn start(&self, facts: PathFacts, random: Random) -> Duplex {
        Duplex::new(self, facts, random)
    }
}
