//! Recorded distributions and series of occupancies: of queues and sums of queues, of ingress counters, and of the two
//! parts of a shared memory.

use crate::run::state::index::{NodeIx, QueueIx, TallyIx};
use crate::run::state::link_series::LevelSeries;
use crate::run::state::own::NodeLocal;
use crate::spec::Spec;
use crate::spec::routing::Wiring;
use frame::{NodeId, Occupancy, PortId};
use measure::{Grid, LevelTimes};
use recurrence::{Counts, Growth};
use typed_index_collections::TiVec;
use units::Time;

/// A place with an occupancy; numbers are those of the whole fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// All queues of a node.
    Memory(NodeId),
    /// The queues of a class at all ports of a node.
    Class(NodeId, u8),
    /// All queues of a port.
    Port(PortId),
    /// A queue: a class of a port.
    Queue(PortId, u8),
    /// Ingress counter of a port for a group of priorities.
    Counter(PortId, u8),
    /// Occupancy of shared memory by queues, beyond their minima.
    Shared(NodeId),
    /// Occupancy of the headroom in the shared memory.
    Headroom(NodeId),
}

impl Place {
    /// Kind of the place, as named in results.
    pub fn kind(self) -> &'static str {
        match self {
            Place::Memory(_) => "memory",
            Place::Class(..) => "class",
            Place::Port(_) => "port",
            Place::Queue(..) => "queue",
            Place::Counter(..) => "counter",
            Place::Shared(_) => "shared",
            Place::Headroom(_) => "headroom",
        }
    }

    /// Unique name of the place.
    pub fn name(self, spec: &Spec, wiring: &Wiring) -> String {
        let node = |node: NodeId| &spec.nodes[node.at()].name;
        let port = |port: PortId| wiring.port_name(port, |of| node(of).as_str());
        match self {
            Place::Memory(of) => node(of).clone(),
            Place::Class(of, class) => format!("{}/{class}", node(of)),
            Place::Port(of) => port(of),
            Place::Queue(of, class) => format!("{}/{class}", port(of)),
            Place::Counter(of, group) => format!("{} in/{group}", port(of)),
            Place::Shared(of) => format!("{} shared", node(of)),
            Place::Headroom(of) => format!("{} headroom", node(of)),
        }
    }
}

/// An occupancy over time.
#[derive(Debug)]
pub(crate) struct Tally {
    pub place: Place,
    pub bytes: LevelTimes,
    /// Number of frames over time; `None` for a part of a shared memory, since one frame may occupy two parts.
    pub frames: Option<LevelTimes>,
    /// Maximum bytes in each bin.
    pub series: LevelSeries,
}

/// All tallies of a part of the fabric, and the places that update them.
#[derive(Debug)]
pub(crate) struct Tallies {
    /// By queue, the tallies that include it.
    pub of_queue: NodeLocal<QueueIx, [Option<TallyIx>; 4]>,
    /// Tally of each ingress counter.
    pub of_counter: Vec<Option<TallyIx>>,
    /// By node, the tallies of its shared memory and of the headroom in it.
    pub of_memory: NodeLocal<NodeIx, [Option<TallyIx>; 2]>,
    pub tallies: TiVec<TallyIx, Tally>,
    /// Finished bins, by width.
    pub grids: Vec<Grid>,
}

impl Tallies {
    /// Adds a tally and returns its index.
    pub fn add(&mut self, place: Place, series: LevelSeries) -> TallyIx {
        let is_part = matches!(place, Place::Shared(_) | Place::Headroom(_));
        let frames = (!is_part).then(LevelTimes::default);
        self.tallies.push_and_get_key(Tally { place, bytes: LevelTimes::default(), frames, series })
    }

    /// Updates the tallies of a queue.
    pub fn queue_changes(&mut self, queue: QueueIx, now: Time, before: Occupancy, after: Occupancy) {
        for at in self.of_queue[queue].into_iter().flatten() {
            self.tallies[at].shift(now, before, after, &mut self.grids);
        }
    }

    /// Updates the tally of a counter.
    pub fn counter_changes(&mut self, counter: usize, now: Time, before: Occupancy, after: Occupancy) {
        if let Some(at) = self.of_counter[counter] {
            self.tallies[at].shift(now, before, after, &mut self.grids);
        }
    }

    /// Records the bytes in use of the memory that the queues of a node share, and of its headroom.
    pub fn memory_changes(&mut self, node: NodeIx, now: Time, used: [u64; 2]) {
        for (at, level) in self.of_memory[node].into_iter().zip(used) {
            let Some(at) = at else { continue };
            let tally = &mut self.tallies[at];
            tally.bytes.set(now, level);
            tally.series.set(now, [level, 0], &mut self.grids);
        }
    }

    /// Restarts measurement; series continue.
    pub fn restart(&mut self, now: Time) {
        for tally in &mut self.tallies {
            tally.bytes.restart(now);
            tally.frames.iter_mut().for_each(|frames| frames.restart(now));
        }
    }

    pub fn memory_bytes(&self) -> usize {
        let of = |tally: &Tally| {
            let frames = tally.frames.as_ref().map_or(0, LevelTimes::memory_bytes);
            tally.bytes.memory_bytes() + frames
        };
        self.of_queue.memory_bytes()
            + self.of_counter.capacity() * size_of::<Option<TallyIx>>()
            + self.of_memory.memory_bytes()
            + self.tallies.capacity() * size_of::<Tally>()
            + self.tallies.iter().map(of).sum::<usize>()
            + self.grids.iter().map(Grid::memory_bytes).sum::<usize>()
    }
}

impl Counts for Tallies {
    fn advance(&mut self, growth: &mut Growth) {
        for tally in &mut self.tallies {
            tally.bytes.advance(growth);
            tally.frames.advance(growth);
        }
    }
}

impl Tally {
    fn shift(&mut self, now: Time, before: Occupancy, after: Occupancy, grids: &mut [Grid]) {
        self.bytes.shift(now, before.bytes, after.bytes);
        self.series.set(now, [self.bytes.level(), 0], grids);
        if let Some(frames) = &mut self.frames {
            frames.shift(now, before.frames, after.frames);
        }
    }
}
