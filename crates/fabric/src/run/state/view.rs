//! The state of the node at which an event runs, as passed to steps.

use crate::run::state::buffers::Buffers;
use crate::run::state::copies::Copies;
use crate::run::state::deferred::DeferredSteps;
use crate::run::state::faults::Faults;
use crate::run::state::headers::Headers;
use crate::run::state::hosts::Hosts;
use crate::run::state::index::{EndpointIx, NodeIx, PauseSenderIx, PlaceIx, PortIx, SourceIx};
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
use frame::{Occupancy, Priority, TrafficClass};
use queueing::Refusal;
use units::{Amount, Time};

/// The state that a step can access: that of the node whose event runs. Each component is in a file of its own and
/// maintains its own invariants.
#[derive(Debug)]
pub(crate) struct NodeView {
    /// Offset of the numbers in this part to those of the whole fabric.
    pub numbering: Numbering,
    /// Node of each place: ports, then sources, then endpoints, then rate limiters.
    pub node_of: NodeOf,
    /// Hosts and switches.
    pub nodes: NodeLocal<NodeIx, Node>,
    /// State of the pause senders of nodes.
    pub pause_senders: NodeLocal<PauseSenderIx, PauseSender>,
    /// Transmitters and their links.
    pub links: Links,
    /// Queues and queued frames.
    pub buffers: Buffers,
    /// By port, ingress counters of queued frames; empty if no node has them.
    pub ingress: NodeLocal<PortIx, IngressPort>,
    /// Payload of wide frames.
    pub headers: Headers,
    /// By port, its telemetry for packets that collect it; empty if no packet does.
    pub telemetry: NodeLocal<PortIx, PortTelemetry>,
    /// Routes and forwarding tables.
    pub routes: RouteTable,
    /// Sources, endpoints, limiters and receivers.
    pub hosts: Hosts,
    /// Scheduled faults.
    pub faults: Faults,
    /// State of multicast frames.
    pub copies: Copies,
    /// Frames created, copied, delivered and lost.
    pub ledger: Ledger,
    /// Recordings.
    pub probes: Probes,
    /// End of the current run window. No state is read before this time, so some steps may be performed ahead of
    /// theirs.
    pub horizon: Time,
    /// True while a decision is being handled, before its effects apply.
    pub deciding: bool,
    /// Steps to be run before the event ends; empty between events.
    pub deferred: DeferredSteps,
}

impl NodeView {
    /// The number of a place in the whole fabric.
    pub fn number_of_place(&self, place: PlaceIx) -> u32 {
        if place.at() < self.links.len() {
            return self.numbering.port(place.port());
        }
        match self.hosts.sources.get(self.source_at(place)) {
            Some(state) => self.numbering.source(state.flow),
            None => self.numbering.endpoint(self.hosts.endpoints[self.endpoint_at(place)].number),
        }
    }

    /// The source at a place. `place_of_source` is the inverse.
    #[inline(always)]
    pub fn source_at(&self, place: PlaceIx) -> SourceIx {
        SourceIx::new(place.number() - self.links.len() as u32)
    }

    #[inline(always)]
    pub fn place_of_source(&self, source: SourceIx) -> PlaceIx {
        PlaceIx::new(self.links.len() as u32 + source.number())
    }

    /// The endpoint at a place. `place_of_endpoint` is the inverse.
    #[inline(always)]
    pub fn endpoint_at(&self, place: PlaceIx) -> EndpointIx {
        EndpointIx::new(place.number() - (self.links.len() + self.hosts.sources.len()) as u32)
    }

    #[inline(always)]
    pub fn place_of_endpoint(&self, endpoint: EndpointIx) -> PlaceIx {
        PlaceIx::new((self.links.len() + self.hosts.sources.len()) as u32 + endpoint.number())
    }

    /// The pause sender at the node of a port.
    pub fn pause_sender_of(&self, port: PortIx) -> Option<&PauseSender> {
        self.nodes[self.node_of[port]].pause_sender.map(|at| &self.pause_senders[at])
    }

    /// All ports of the node of this port.
    pub fn ports_beside(&self, port: PortIx) -> impl Iterator<Item = PortIx> + Clone + use<> {
        let node = self.node_of[port];
        let first = self.nodes[node].first_port;
        let behind = (first.number()..self.links.len() as u32).map(PortIx::new);
        let own = behind.take_while(|&port| self.node_of[port] == node).count() as u32;
        (0..own).map(move |nth| first.plus(nth))
    }

    /// Occupancy of a receive buffer by a priority, and its limit.
    pub fn received_so_far(&self, port: PortIx, priority: Priority) -> (Occupancy, Option<Amount>) {
        let receiving = self.hosts.receiving.get(port).and_then(Option::as_deref);
        receiving.map_or_else(Default::default, |receiving| {
            (receiving.occupancy[receiving.group(priority)], receiving.buffer.map(Amount::Bytes))
        })
    }

    /// Occupancy that counts against a limit for a frame of this class at this port; maintained only if the limit is
    /// set.
    #[inline]
    pub fn waits_within(&self, limit: Refusal, egress: PortIx, class: TrafficClass) -> Occupancy {
        let memory = || self.nodes[self.node_of[egress]].memory();
        match limit {
            Refusal::Queue => self.buffers.queues[self.links.ports[egress].queue(class)].occupancy,
            Refusal::Port => self.links.cold[egress].occupancy,
            Refusal::Class => memory().by_class[class.at()],
            Refusal::Total => memory().total,
        }
    }
}
