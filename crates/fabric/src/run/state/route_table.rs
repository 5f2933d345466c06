//! The routes of a run: the egress ports of each path.

use crate::run::state::index::{PortIx, SourceIx};
use crate::run::state::spreading::Spreading;
use frame::{Heading, NodeId, PathId, Route};
use queueing::Color;
use std::sync::Arc;

/// Entry of the table of hops at the end of a path.
pub(crate) const DELIVER: u32 = u32::MAX;

/// All paths. A path leads from a source to one of its destinations. Paths and places in the table of hops are numbered
/// for the whole fabric, and all parts share the memory of the large tables.
#[derive(Debug, Default)]
pub(crate) struct RouteTable {
    /// Egress ports of all paths, one path after the other, each terminated by [`DELIVER`]; port numbers of the whole
    /// fabric.
    pub hops: Arc<[u32]>,
    /// Index of each path's first hop in `hops`. If routes change during the run, a part gets its own copy.
    pub path_start: Arc<[u32]>,
    /// By port of the whole fabric, the port at the other end of its link.
    pub peers: Arc<[u32]>,
    /// The number of this part's first port in the whole fabric.
    pub first_port: u32,
    /// The source of each path, by its number in this part; sources of other parts have higher numbers.
    pub path_source: Vec<SourceIx>,
    /// Color of the frames by path; empty if all are green.
    pub colors: Arc<[Color]>,
    /// State of switches that choose the path of each frame; `None` if they all hash, so that paths are those of
    /// `hops`.
    pub spreading: Option<Box<Spreading>>,
}

impl RouteTable {
    /// The color of the frames of a path.
    #[inline]
    pub fn color(&self, path: PathId) -> Color {
        self.colors.get(path.at()).copied().unwrap_or_default()
    }

    /// The egress port in this part at this place in the table of hops; `None` at the end of a path.
    #[inline(always)]
    pub fn egress(&self, hop: u32) -> Option<PortIx> {
        let port = self.hops[hop as usize];
        (port != DELIVER).then(|| self.here(port))
    }

    /// Converts the number of a port in the whole fabric to a port of this part.
    #[inline(always)]
    pub fn here(&self, port: u32) -> PortIx {
        PortIx::new(port.wrapping_sub(self.first_port))
    }

    /// Returns true if a frame with this route, which arrives at a host with one link and no forwarding, is counted at
    /// its destination.
    #[inline(always)]
    pub fn ends_there(&self, path: PathId, route: Route) -> bool {
        match route.next_hop() {
            Some(hop) => self.hops[hop as usize] == DELIVER,
            None => self.leads_to_end(path, route),
        }
    }

    /// Returns true if a single receiver counts the frames of this path with this route. False for paths to all
    /// destinations of a flow.
    #[inline(always)]
    pub fn has_one_receiver(&self, path: PathId, route: Route) -> bool {
        route.next_hop().is_some() || self.leads_to_end(path, route)
    }

    /// Variant of `has_one_receiver` where switches choose the path.
    #[inline(never)]
    fn leads_to_end(&self, path: PathId, route: Route) -> bool {
        let Heading::Destination(to) = route.heading() else { return false };
        let ends = self.spreading.as_ref().and_then(|spreading| spreading.ends[path.at()]);
        ends.is_some_and(|ends| ends.to == Some(to))
    }

    /// The first port of a path that starts in this part, by its present route.
    #[inline]
    pub fn first_port(&self, path: u32) -> PortIx {
        self.port_at(self.path_start[path as usize])
    }

    /// Returns the egress port of an entry in the table of hops that is not the end of a path.
    #[inline(always)]
    pub fn port_at(&self, hop: u32) -> PortIx {
        self.here(self.hops[hop as usize])
    }

    /// Steps back along a path that has led to this part over `hops` entries of the table of hops. Returns the egress
    /// port and the remaining route; `None` at the source of the path.
    pub fn step_back(&self, hops: u32) -> Option<(PortIx, Route)> {
        let last = hops.checked_sub(1)?;
        let came_through = self.hops[last as usize];
        (came_through != DELIVER)
            .then(|| (self.here(self.peers[came_through as usize]), Route::backward(last)))
    }

    /// The egress ports of a path that starts at this place in the table of hops, by their numbers in the whole fabric.
    pub fn path(&self, start: u32) -> &[u32] {
        path_from(&self.hops, start)
    }

    /// Changes the start of a path in the table of hops.
    pub fn change_start(&mut self, path: u32, start: u32) {
        Arc::make_mut(&mut self.path_start)[path as usize] = start;
    }

    /// Returns the route of a frame from its source: by destination if switches choose, otherwise the planned route.
    #[inline(always)]
    pub fn route_of(&self, path: u32, planned: Route) -> Route {
        match &self.spreading {
            Some(spreading) => {
                spreading.ends[path as usize].and_then(|ends| ends.to).map_or(planned, Route::to)
            }
            None => planned,
        }
    }

    /// Returns the route of a frame back to the source of a path.
    pub fn route_back(&self, path: u32, planned: Route) -> Route {
        let ends = self.spreading.as_ref().and_then(|spreading| spreading.ends[path as usize]);
        ends.map_or(planned, |ends| Route::to(ends.from))
    }

    /// The node at which a path starts, by its number in the whole fabric; `None` unless switches choose paths.
    pub fn source_node(&self, path: PathId) -> Option<NodeId> {
        Some(self.spreading.as_ref()?.ends[path.at()]?.from)
    }

    /// Checks between events that every path starts in the table of hops and has an end.
    pub fn check(&self) {
        assert!(
            self.path_start.len() == self.path_source.len()
                && self.path_start.iter().all(|&start| (start as usize) < self.hops.len())
                && self.hops.last().is_none_or(|&last| last == DELIVER),
            "a path has no beginning or no end: this is a bug in the simulator"
        );
    }

    /// Bytes of the tables that only this part has.
    pub fn memory_bytes(&self) -> usize {
        self.path_source.capacity() * size_of::<u32>()
            + self.spreading.as_ref().map_or(0, |spreading| spreading.memory_bytes())
    }

    /// Bytes of the tables that all parts share.
    pub fn shared_bytes(&self) -> usize {
        (self.hops.len() + self.path_start.len() + self.peers.len()) * size_of::<u32>()
            + self.colors.len() * size_of::<Color>()
            + self.spreading.as_ref().map_or(0, |spreading| spreading.shared_bytes())
    }
}

/// The egress ports of a path that starts at this place in a table of hops.
pub(crate) fn path_from(hops: &[u32], start: u32) -> &[u32] {
    let rest = &hops[start as usize..];
    &rest[..rest.iter().position(|&port| port == DELIVER).unwrap_or(rest.len())]
}
