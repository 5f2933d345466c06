//! Carriers of scheduled transfers and of the messages of jobs: connections or queue pairs opened for a transfer or
//! reused, or frames without a transport.

use crate::application::{ApplicationSpec, Opening};
use crate::transport::TransportSpec;
use crate::{
    Endpoint, FramesSpec, RdmaSpec, TcpSpec, TransferReceiver, TransferSender, Transport, Turn, UetSpec,
};
use std::sync::Arc;

/// The validated carrier of scheduled transfers.
#[derive(Clone, Debug, PartialEq)]
pub enum Scheduled {
    /// TCP connections.
    Tcp(Arc<TcpSpec>),
    /// RDMA queue pairs.
    Rdma(Arc<RdmaSpec>),
    /// UET packet delivery contexts.
    Uet(Arc<UetSpec>),
    /// Frames without a transport; only for messages of jobs.
    Frames(FramesSpec),
}

impl Scheduled {
    /// Returns the transport; `None` if there is none.
    pub fn transport(&self) -> Option<Transport> {
        match self {
            Scheduled::Tcp(spec) => Some(Transport::Tcp(spec.clone())),
            Scheduled::Rdma(spec) => Some(Transport::Rdma(spec.clone())),
            Scheduled::Uet(spec) => Some(Transport::Uet(spec.clone())),
            Scheduled::Frames(_) => None,
        }
    }
    /// Returns the parameters of the queue pairs, if the transport is RDMA.
    pub fn queue_pairs(&self) -> Option<&Arc<RdmaSpec>> {
        match self {
            Scheduled::Tcp(_) | Scheduled::Uet(_) | Scheduled::Frames(_) => None,
            Scheduled::Rdma(spec) => Some(spec),
        }
    }
}

impl ApplicationSpec for Scheduled {
    fn ends(&self, opening: Opening<'_>) -> (Endpoint, Endpoint) {
        match self {
            Scheduled::Tcp(spec) => {
                let Opening { due, facts: [facts, _], random: [near, _], .. } = opening;
                let sender = TransferSender::new(spec, due.clone(), near);
                (
                    Endpoint::TransferSender(Box::new(sender.on_link(facts.rate, facts.overhead))),
                    Endpoint::TransferReceiver(Box::new(TransferReceiver::new(spec, due.clone()))),
                )
            }
            Scheduled::Rdma(spec) => spec.ends(opening),
            Scheduled::Uet(spec) => spec.ends(opening),
            Scheduled::Frames(spec) => spec.ends(opening),
        }
    }
    fn frames(&self) -> (u16, u16) {
        match self {
            Scheduled::Tcp(spec) => TransportSpec::frames(spec),
            Scheduled::Rdma(spec) => TransportSpec::frames(spec),
            Scheduled::Uet(spec) => TransportSpec::frames(spec),
            Scheduled::Frames(spec) => spec.frames(),
        }
    }
    fn turn(&self) -> Turn {
        match self {
            Scheduled::Tcp(spec) => spec.turn(),
            Scheduled::Rdma(spec) => spec.turn(),
            Scheduled::Uet(spec) => spec.turn(),
            Scheduled::Frames(spec) => spec.turn(),
        }
    }
    fn most_bps(&self, turn_secs: f64) -> f64 {
        match self {
            Scheduled::Tcp(spec) => spec.most_bps(turn_secs),
            Scheduled::Rdma(spec) => spec.most_bps(turn_secs),
            Scheduled::Uet(spec) => spec.most_bps(turn_secs),
            Scheduled::Frames(spec) => spec.most_bps(turn_secs),
        }
    }
    fn check(&self) -> Result<(), String> {
        match self {
            Scheduled::Tcp(spec) => ApplicationSpec::check(spec),
            Scheduled::Rdma(spec) => ApplicationSpec::check(spec),
            Scheduled::Uet(spec) => ApplicationSpec::check(spec),
            Scheduled::Frames(spec) => spec.check(),
        }
    }
    fn understands_marks(&self) -> bool {
        self.transport().is_some_and(|transport| TransportSpec::understands_marks(&transport))
    }
}
