//! The routes of a run: where the frames of each path go.

use crate::spreading::Spreading;
use frame::Route;

/// In the table of hops: the frame has arrived.
pub(crate) const DELIVER: u32 = u32::MAX;

/// All paths. A path leads from a source to one of its destinations.
#[derive(Debug, Default)]
pub(crate) struct RouteTable {
    /// Egress ports of all paths, one path after the other, each closed by [`DELIVER`].
    pub hops: Vec<u32>,
    /// Where each path begins in `hops`. Routes may change while links are down.
    pub path_start: Vec<u32>,
    /// The source of each path.
    pub path_source: Vec<u32>,
    /// Where switches choose the path of each frame; `None`: they all hash, and paths are those of `hops`.
    pub spreading: Option<Box<Spreading>>,
}

impl RouteTable {
    /// The first port of a path, as it goes now.
    #[inline]
    pub fn first_port(&self, path: u32) -> u32 {
        self.hops[self.path_start[path as usize] as usize]
    }

    /// The egress ports of a path that begins there in the table of hops.
    pub fn way(&self, start: u32) -> &[u32] {
        let rest = &self.hops[start as usize..];
        &rest[..rest.iter().position(|&port| port == DELIVER).unwrap_or(rest.len())]
    }

    /// How a frame of a path is sent from its source: by destination if switches choose; else as it is.
    #[inline(always)]
    pub fn route_of(&self, path: u32, planned: Route) -> Route {
        match &self.spreading {
            Some(spreading) => spreading.ends[path as usize].map_or(planned, |ends| Route::to(ends.to)),
            None => planned,
        }
    }

    /// The same for what goes back to the source of a path.
    pub fn route_back(&self, path: u32, planned: Route) -> Route {
        let ends = self.spreading.as_ref().and_then(|spreading| spreading.ends[path as usize]);
        ends.map_or(planned, |ends| Route::to(ends.from))
    }

    /// What must hold whenever nothing is running: every path begins in the table of hops, and has an end.
    pub fn check(&self) {
        assert!(
            self.path_start.len() == self.path_source.len()
                && self.path_start.iter().all(|&start| (start as usize) < self.hops.len())
                && self.hops.last().is_none_or(|&last| last == DELIVER),
            "a path has no beginning or no end: this is a fault of the simulator"
        );
    }

    /// Gives back what the tables took while they grew.
    pub fn shrink(&mut self) {
        self.hops.shrink_to_fit();
        self.path_start.shrink_to_fit();
        self.path_source.shrink_to_fit();
    }

    /// Bytes of the tables.
    pub fn memory_bytes(&self) -> usize {
        let entries = self.hops.capacity() + self.path_start.capacity() + self.path_source.capacity();
        entries * size_of::<u32>() + self.spreading.as_ref().map_or(0, |spreading| spreading.memory_bytes())
    }
}
