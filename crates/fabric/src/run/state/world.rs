//! The fabric at work: its state, and which part an event goes to.

use crate::run::state::buffers::Buffers;
use crate::run::state::copies::Copies;
use crate::run::state::deferred::DeferredSteps;
use crate::run::state::faults::Faults;
use crate::run::state::headers::Headers;
use crate::run::state::hosts::Hosts;
use crate::run::state::index::{NodeIx, PauseSenderIx, PortIx};
use crate::run::state::ingress::IngressPort;
use crate::run::state::ledger::Ledger;
use crate::run::state::links::Links;
use crate::run::state::node::{Node, NodeOf};
use crate::run::state::numbering::Numbering;
use crate::run::state::own::NodeLocal;
use crate::run::state::pause_sender::PauseSender;
use crate::run::state::probes::Probes;
use crate::run::state::route_table::RouteTable;
use crate::run::state::telemetry::PortTelemetry;
use typed_index_collections::TiVec;
use units::Time;

/// All state of a simulation, or of the nodes that one thread runs. Each of its parts is a file of its own and keeps its
/// own invariants; what is here and in the files of the way of a frame leads from one to the other.
#[derive(Debug)]
pub(crate) struct Fabric {
    /// Where its numbers begin in those of the whole.
    pub numbering: Numbering,
    /// Node of each place: ports, then sources, then endpoints, then rate limiters.
    pub node_of: NodeOf,
    /// Hosts and switches.
    pub nodes: NodeLocal<NodeIx, Node>,
    /// Those parts of them that send pauses.
    pub pause_senders: TiVec<PauseSenderIx, PauseSender>,
    /// Transmitters and the links behind them.
    pub links: Links,
    /// What waits.
    pub buffers: Buffers,
    /// By port, what came in through it and waits; empty if no node counts that.
    pub ingress: NodeLocal<PortIx, IngressPort>,
    /// What wide frames carry.
    pub headers: Headers,
    /// By port, what it tells packets that ask; empty if none does.
    pub telemetry: TiVec<PortIx, PortTelemetry>,
    /// Where frames go.
    pub routes: RouteTable,
    /// Who sends and receives them.
    pub hosts: Hosts,
    /// What goes wrong, and when.
    pub faults: Faults,
    /// What is known of frames for several receivers.
    pub copies: Copies,
    /// Frames made, copied, delivered and lost.
    pub ledger: Ledger,
    /// What is observed.
    pub probes: Probes,
    /// When the run comes back: nobody looks before, so that some things may be done ahead of their time.
    pub horizon: Time,
    /// A decision is handled: what takes effect now has not done so yet.
    pub deciding: bool,
    /// Steps to be run before the event ends; empty between events.
    pub deferred: DeferredSteps,
}
