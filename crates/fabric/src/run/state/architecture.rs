//! The path of frames through a node, from the ingress port to the egress port.
//!
//! A closed enum, one variant per architecture. It is consulted where a frame has to wait (`enqueue` in `egress`); a frame
//! that finds its port idle, with no feature set, bypasses it. A port of an architecture that does not allow this has a
//! feature that `forward` and `enqueue` check.

use crate::run::state::crossbar::Crossbar;
use crate::run::state::sharing::Sharing;
use frame::Occupancy;
use queueing::BufferSpec;
use recurrence::Recurs;
use units::Time;

/// The architecture of a node, and its state.
#[derive(Debug, Recurs)]
pub(crate) enum Architecture {
    /// A frame enters the queue of its egress port on arrival; all queues lie in one memory.
    OutputQueued(NodeMemory),
    /// A frame waits at its input until a crossbar takes it to its output.
    #[recurs(unknown = "crossbars")]
    Crossbar(Box<Crossbar>),
}

/// Occupancy counters of the frames that wait at the ports of a node, together.
#[derive(Debug, Recurs)]
pub(crate) struct NodeMemory {
    /// Limits of the buffer.
    #[recurs(constant)]
    pub buffer: BufferSpec,
    /// True if `buffer` sets any limit.
    #[recurs(constant)]
    pub limited: bool,
    /// When a frame began to wait last. Kept only where there are limits, as is all occupancy but that of queues, and not of
    /// ports that send ahead: there the limits are those of queues.
    #[recurs(recorded)]
    pub last_entry: Time,
    /// Total occupancy, maintained where it has a limit, and that of each class, where a class has one.
    pub total: Occupancy,
    pub by_class: Vec<Occupancy>,
    /// The memory that its queues share by dynamic thresholds.
    pub sharing: Option<Box<Sharing>>,
}

impl Architecture {
    /// The memory that frames wait in.
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

    /// Returns true if a check precedes the waiting of a frame: of a limit, or of the shared memory.
    pub fn is_bounded(&self) -> bool {
        self.limited || self.sharing.is_some()
    }

    /// Returns true if queues have limits of their own, and there is no other check.
    pub fn bounds_queues_alone(&self) -> bool {
        let of_queues = BufferSpec { queue: self.buffer.queue, ..BufferSpec::default() };
        self.sharing.is_none() && self.buffer == of_queues
    }

    /// A frame begins to wait.
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

    /// A frame has left.
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
