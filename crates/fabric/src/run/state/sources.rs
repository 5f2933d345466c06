//! Sources and the NIC that they send through.

use crate::run::state::index::LimiterIx;
use crate::run::state::route_table::RouteTable;
use frame::{Flags, Frame, PathId, Priority, Route};
use units::{Amount, Time};
use workload::{Destinations, Made, Source};

/// A source and its position in the network.
#[derive(Debug)]
pub(crate) struct SourceState {
    /// The number of its flow in the whole fabric.
    pub flow: u32,
    pub source: Source,
    /// Number of its first path; each destination has one.
    pub first_path: u32,
    pub priority: Priority,
    /// Flags of its frames, including their priority. Contains [`frame::FrameKind::Part`] if it sends transfers or
    /// counted streams.
    pub flags: Flags,
    /// Occupancy of the queue of its class above which it stops sending; `None`: no limit.
    pub limit: Option<Amount>,
    /// True if its paths start at more than one port, so that the egress queue depends on the frame.
    pub several_ports: bool,
    /// True if endpoints send in its place; it then counts their frames.
    pub silent: bool,
    /// True if its frames pass rate limiters.
    pub limited: bool,
    /// The limiter of all its frames, if none of the other conditions below applies.
    pub limiter: Option<LimiterIx>,
    /// Destinations of its frames, if its paths are not listed.
    pub targets: Option<Box<Destinations>>,
    /// True if none of the above applies, its host takes no processing time, and no stream is counted: a frame goes
    /// directly to the NIC, along a path of its own.
    pub plain: bool,
    /// True if its frames are multicast.
    pub multicast: bool,
    /// Maximum number of frames that a greedy source keeps in the NIC. `in_nic` is the current number.
    pub keeps: u8,
    pub in_nic: u8,
    pub frames: u64,
    pub bytes: u64,
}

impl SourceState {
    /// Counts a frame that it sends.
    #[inline(always)]
    pub fn count(&mut self, made: Made) {
        self.frames += 1;
        self.bytes += u64::from(made.bytes);
    }

    /// Creates a frame along one of its paths. Returns the start of the path in the table of hops, and the frame.
    #[inline(always)]
    pub fn frame(&self, made: Made, routes: &RouteTable, now: Time) -> (u32, Frame) {
        let path = self.first_path + made.destination;
        let start = routes.path_start[path as usize];
        let frame = Frame {
            created: now,
            path: PathId(path),
            route: routes.route_of(path, Route::forward(start + 1)),
            word: made.word,
            bytes: made.bytes,
            flags: self.flags,
        };
        (start, frame)
    }

    /// The path of frames to the destination with this index.
    pub(in crate::run) fn path(&self, destination: u32) -> u32 {
        if self.targets.is_some() { self.first_path } else { self.first_path + destination }
    }
}
