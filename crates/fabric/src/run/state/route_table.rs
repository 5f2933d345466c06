//! The routes of a run: where the frames of each path go.

use crate::run::state::index::{PortIx, SourceIx};
use crate::run::state::spreading::Spreading;
use frame::{Heading, NodeId, PathId, Route};
use queueing::Color;
use std::sync::Arc;

/// In the table of hops: the frame has arrived.
pub(crate) const DELIVER: u32 = u32::MAX;

/// All paths. A path leads from a source to one of its destinations. Paths and places in the table of hops are numbered
/// for the whole fabric, and the large tables are the same memory for all its parts.
#[derive(Debug, Default)]
pub(crate) struct RouteTable {
    /// Egress ports of all paths, one path after the other, each closed by [`DELIVER`]; numbers of the whole.
    pub hops: Arc<[u32]>,
    /// Index of each path's first hop in `hops`. Routes may change while links are down: then a part gets a copy.
    pub path_start: Arc<[u32]>,
    /// By port of the whole, the port at the other end of its link.
    pub peers: Arc<[u32]>,
    /// The number of the first port of this part in the whole.
    pub first_port: u32,
    /// The source of each path, in numbers of this part; a larger number for a source elsewhere.
    pub path_source: Vec<SourceIx>,
    /// By path, the color of its frames; empty: all are green.
    pub colors: Arc<[Color]>,
    /// Where switches choose the path of each frame; `None`: they all hash, and paths are those of `hops`.
    pub spreading: Option<Box<Spreading>>,
}

impl RouteTable {
    /// The color of the frames of a path.
    #[inline]
    pub fn color(&self, path: PathId) -> Color {
        self.colors.get(path.at()).copied().unwrap_or_default()
    }

    /// The port of this part that a frame leaves through at this place in the table of hops; `None` if it has arrived.
    #[inline(always)]
    pub fn egress(&self, hop: u32) -> Option<PortIx> {
        let port = self.hops[hop as usize];
        (port != DELIVER).then(|| self.here(port))
    }

    /// A port of this part, of which the number in the whole is known.
    #[inline(always)]
    pub fn here(&self, port: u32) -> PortIx {
        PortIx::new(port.wrapping_sub(self.first_port))
    }

    /// Returns true if a frame of a path that goes this way, to a host that has one link and forwards nothing, is one of
    /// those counted at its destination.
    #[inline(always)]
    pub fn ends_there(&self, path: PathId, route: Route) -> bool {
        match route.next_hop() {
            Some(hop) => self.hops[hop as usize] == DELIVER,
            None => self.leads_to_end(path, route),
        }
    }

    /// Returns true if one receiver counts the frames of this path that go this way: not those to any destination of their
    /// flow.
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

    /// The first port of a path that begins in this part, as it goes now.
    #[inline]
    pub fn first_port(&self, path: u32) -> PortIx {
        self.port_at(self.path_start[path as usize])
    }

    /// Returns the egress port of an entry in the table of hops that is not the end of a path.
    #[inline(always)]
    pub fn port_at(&self, hop: u32) -> PortIx {
        self.here(self.hops[hop as usize])
    }

    /// One hop back along a path that has led to this part over `hops` entries of the table of hops: the egress port,
    /// and the rest of the way; `None` at the source of the path.
    pub fn step_back(&self, hops: u32) -> Option<(PortIx, Route)> {
        let last = hops.checked_sub(1)?;
        let came_through = self.hops[last as usize];
        (came_through != DELIVER)
            .then(|| (self.here(self.peers[came_through as usize]), Route::backward(last)))
    }

    /// The egress ports of a path that begins there in the table of hops; numbers of the whole.
    pub fn path(&self, start: u32) -> &[u32] {
        path_from(&self.hops, start)
    }

    /// Sets the first hop of a path from now on.
    pub fn change_start(&mut self, path: u32, start: u32) {
        Arc::make_mut(&mut self.path_start)[path as usize] = start;
    }

    /// Returns the route of a frame from its source: by destination if switches choose; else unchanged.
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

    /// The node that a path begins at, where switches choose paths; a number of the whole.
    pub fn source_node(&self, path: PathId) -> Option<NodeId> {
        Some(self.spreading.as_ref()?.ends[path.at()]?.from)
    }

    /// Invariants while no event runs: every path begins in the table of hops, and has an end.
    pub fn check(&self) {
        assert!(
            self.path_start.len() == self.path_source.len()
                && self.path_start.iter().all(|&start| (start as usize) < self.hops.len())
                && self.hops.last().is_none_or(|&last| last == DELIVER),
            "a path has no beginning or no end: this is a bug in the simulator"
        );
    }

    /// Bytes of the tables of this part alone.
    pub fn memory_bytes(&self) -> usize {
        self.path_source.capacity() * size_of::<u32>()
            + self.spreading.as_ref().map_or(0, |spreading| spreading.memory_bytes())
    }

    /// Bytes of the tables that all parts have together.
    pub fn shared_bytes(&self) -> usize {
        (self.hops.len() + self.path_start.len() + self.peers.len()) * size_of::<u32>()
            + self.colors.len() * size_of::<Color>()
            + self.spreading.as_ref().map_or(0, |spreading| spreading.shared_bytes())
    }
}

/// The egress ports of a path that begins there in a table of hops.
pub(crate) fn path_from(hops: &[u32], start: u32) -> &[u32] {
    let rest = &hops[start as usize..];
    &rest[..rest.iter().position(|&port| port == DELIVER).unwrap_or(rest.len())]
}
