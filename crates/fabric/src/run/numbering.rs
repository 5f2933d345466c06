//! How a part of the fabric counts, and how the whole does.
//!
//! A part owns a range of nodes. It counts nodes, ports, queues, sources and endpoints from 0, so that its tables hold
//! nothing else; alone, it is the whole, and both counts are the same. Numbers of the whole are on what leaves the part:
//! in fingerprints, in notes of pauses, in results. Frames carry paths and places in the table of hops, which are those
//! of the whole: [`RouteTable`](crate::run::route_table::RouteTable) translates.

use crate::run::index::{EndpointIx, PlaceIx, PortIx, QueueIx, SourceIx};
use crate::run::world::Fabric;

/// Where the numbers of a part begin among those of the whole.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbering {
    pub first_node: u32,
    pub first_port: u32,
    pub first_queue: u32,
    /// Ports and flows of the whole, and all places: what the engine sorts events by must be the same in all parts.
    pub all_ports: u32,
    pub all_flows: u32,
    pub all_places: u32,
}

impl Numbering {
    /// The number of a port in the whole.
    #[inline(always)]
    pub fn port(&self, port: PortIx) -> u32 {
        self.first_port + port.number()
    }
    /// The number of a source in the whole: that of its place.
    #[inline(always)]
    pub fn source(&self, flow: u32) -> u32 {
        self.all_ports + flow
    }
    /// The number of an endpoint in the whole: that of its place.
    pub fn endpoint(&self, number: u32) -> u32 {
        self.all_ports + self.all_flows + number
    }
    /// The number of a queue in the whole.
    pub fn queue(&self, queue: QueueIx) -> u32 {
        self.first_queue + queue.number()
    }
    /// The queue of this part that has this number in the whole.
    pub fn queue_here(&self, number: u32) -> QueueIx {
        QueueIx::new(number - self.first_queue)
    }
}

impl Fabric {
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

    /// The source of a place, and the place of a source.
    #[inline(always)]
    pub fn source_at(&self, place: PlaceIx) -> SourceIx {
        SourceIx::from(place.at() - self.links.len())
    }
    #[inline(always)]
    pub fn place_of_source(&self, source: SourceIx) -> PlaceIx {
        PlaceIx::from(self.links.len() + source.at())
    }
    /// The endpoint of a place, and the place of an endpoint.
    #[inline(always)]
    pub fn endpoint_at(&self, place: PlaceIx) -> EndpointIx {
        EndpointIx::from(place.at() - self.links.len() - self.hosts.sources.len())
    }
    #[inline(always)]
    pub fn place_of_endpoint(&self, endpoint: EndpointIx) -> PlaceIx {
        PlaceIx::from(self.links.len() + self.hosts.sources.len() + endpoint.at())
    }
}
