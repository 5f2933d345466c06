//! How a part of the fabric counts, and how the whole does.

use crate::run::state::index::{EndpointIx, PlaceIx, SourceIx};
use crate::run::state::world::Fabric;

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
