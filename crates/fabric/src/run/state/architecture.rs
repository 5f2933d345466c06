//! The path of frames through a node, from the ingress port to the egress port.
//!
//! A closed enum with one variant per architecture. It is consulted only where a frame has to wait (`enqueue` in
//! `egress`); a frame that finds its port idle, with no feature set, bypasses it. An architecture that does not allow
//! the bypass sets a feature of its ports, which `forward` and `enqueue` check.

use crate::run::state::crossbar::Crossbar;
use crate::run::state::sharing::Sharing;
use frame::Occupancy;
use queueing::BufferSpec;
use recurrence::Recurs;
use units::Time;

/// The architecture of a node, and its state.
#[derive(Debug, Recurs)]
pub(crate) enum Architecture {
    /// Frames enter the queue of their egress port on arrival; all queues share one memory.
    OutputQueued(NodeMemory),
    /// Frames wait at their input until a crossbar transfers them to their output.
    #[recurs(unknown = "crossbars")]
    Crossbar(Box<Crossbar>),
}

/// Occupancy counters of the frames queued at all ports of a node.
#[derive(Debug, Recurs)]
pub(crate) struct NodeMemory {
    /// Limits of the buffer.
    #[recurs(constant)]
    pub buffer: BufferSpec,
    /// True if `buffer` sets any limit.
    #[recurs(constant)]
    pub limited: bool,
    /// Time of the last enqueue. Maintained only at nodes with limits, as are all occupancy counters except those of
    /// queues. Ports that send ahead do not maintain it: they have limits of single queues only.
    #[recurs(recorded)]
    pub last_entry: Time,
    /// Total occupancy, maintained if it has a limit. `by_class` holds that of each class, if a class has a limit.
    pub total: Occupancy,
    pub by_class: Vec<Occupancy>,
    /// The memory that the queues share by dynamic thresholds.
    pub sharing: Option<Box<Sharing>>,
}

impl Architecture {
    /// The memory in which frames wait.
    #[inline(always)]
    pub fn memory(&self) -> &NodeMemory {
        match self {
            Architecture::OutputQueued(memory) => memory,
            Architecture::Crossbar(bar) => &bar.memory,
        }
    }
    #[inline(always)]
    pub fn memory_mut(&mut self) -> &mut NodeMemory {
        match self {
            Architecture::OutputQueued(memory) => memory,
            Architecture::Crossbar(bar) => &mut bar.memory,
        }
    }
}

impl NodeMemory {
    /// Creates empty counters.
    pub fn new(buffer: BufferSpec, sharing: Option<Box<Sharing>>, classes: usize) -> NodeMemory {
        let limited = !buffer.is_unlimited();
        NodeMemory {
            limited,
            buffer,
            last_entry: Time::NEVER,
            total: Occupancy::default(),
            by_class: vec![Occupancy::default(); classes],
            sharing,
        }
    }

    /// Returns true if a frame has to pass a check before it is queued: of a limit, or of the shared memory.
    pub fn is_bounded(&self) -> bool {
        self.limited || self.sharing.is_some()
    }

    /// Returns true if the limits of single queues are the only check.
    pub fn bounds_queues_alone(&self) -> bool {
        let of_queues = BufferSpec { queue: self.buffer.queue, ..BufferSpec::default() };
        self.sharing.is_none() && self.buffer == of_queues
    }

    /// Counts a frame that is enqueued.
    #[inline]
    pub fn add(&mut self, class: usize, bytes: u16, now: Time) {
        self.last_entry = now;
        if self.buffer.total.is_some() {
            self.total.add(bytes);
        }
        if self.buffer.class.is_some() {
            self.by_class[class].add(bytes);
        }
    }

    /// Counts a frame that has left.
    #[inline]
    pub fn remove(&mut self, class: usize, bytes: u16) {
        if self.buffer.total.is_some() {
            self.total.remove(bytes);
        }
        if self.buffer.class.is_some() {
            self.by_class[class].remove(bytes);
        }
    }
}
