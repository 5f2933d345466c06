//! Carriers of scheduled transfers: connections or queue pairs that are opened for a transfer, or reused.

use crate::application::{ApplicationSpec, Opening};
use crate::transport::TransportSpec;
use crate::{Endpoint, RdmaSpec, TcpSpec, TransferReceiver, TransferSender, Transport, Turn, UetSpec};
use std::sync::Arc;

/// Validated carrier of scheduled transfers.
#[derive(Clone, Debug, PartialEq)]
pub enum Scheduled {
    /// Connections of TCP.
    Tcp(Arc<TcpSpec>),
    /// Queue pairs.
    Rdma(Arc<RdmaSpec>),
    /// Packet delivery contexts of UET.
    Uet(Arc<UetSpec>),
}

impl Scheduled {
    /// Returns its transport.
    pub fn transport(&self) -> Transport {
        match self {
            Scheduled::Tcp(spec) => Transport::Tcp(spec.clone()),
            Scheduled::Rdma(spec) => Transport::Rdma(spec.clone()),
            Scheduled::Uet(spec) => Transport::Uet(spec.clone()),
        }
    }
    /// Returns its queue pairs, if it is RDMA.
    pub fn queue_pairs(&self) -> Option<&Arc<RdmaSpec>> {
        match self {
            Scheduled::Tcp(_) | Scheduled::Uet(_) => None,
            Scheduled::Rdma(spec) => Some(spec),
        }
    }
}

impl ApplicationSpec for Scheduled {
    fn ends(&self, opening: Opening<'_>) -> (Endpoint, Endpoint) {
        match self {
            Scheduled::Tcp(spec) => {
                let Opening { due, random: [near, _], .. } = opening;
                (
                    Endpoint::TransferSender(Box::new(TransferSender::new(spec, due.clone(), near))),
                    Endpoint::TransferReceiver(Box::new(TransferReceiver::new(spec, due.clone()))),
                )
            }
            Scheduled::Rdma(spec) => spec.ends(opening),
            Scheduled::Uet(spec) => spec.ends(opening),
        }
    }
    fn frames(&self) -> (u16, u16) {
        TransportSpec::frames(&self.transport())
    }
    fn turn(&self) -> Turn {
        match self {
            Scheduled::Tcp(spec) => spec.turn(),
            Scheduled::Rdma(spec) => spec.turn(),
            Scheduled::Uet(spec) => spec.turn(),
        }
    }
    fn most_bps(&self, turn_secs: f64) -> f64 {
        match self {
            Scheduled::Tcp(spec) => spec.most_bps(turn_secs),
            Scheduled::Rdma(spec) => spec.most_bps(turn_secs),
            Scheduled::Uet(spec) => spec.most_bps(turn_secs),
        }
    }
    fn check(&self) -> Result<(), String> {
        match self {
            Scheduled::Tcp(spec) => ApplicationSpec::check(spec),
            Scheduled::Rdma(spec) => ApplicationSpec::check(spec),
            Scheduled::Uet(spec) => ApplicationSpec::check(spec),
        }
    }
    fn understands_marks(&self) -> bool {
        TransportSpec::understands_marks(&self.transport())
    }
}
