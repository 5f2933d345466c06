//! Work that a step leaves to be done within the same event.
//!
//! No step calls the entry of another step that could call it back. It appends an entry here instead, and the run loop runs the entries
//! depth first as soon as the step returns: those that an entry appends run before the entries after it, in the order of appending.

use crate::run::state::index::PortIx;
use frame::{Frame, TrafficClass};

/// A step to be run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deferred {
    /// A free port has something to send.
    Decide(PortIx),
    /// A frame has left a NIC: endpoints and limiters in its wait queue may take its place, then sources.
    Refill(PortIx, TrafficClass, Frame),
    /// A frame has left a NIC in which no endpoint or limiter waits: sources may take its place.
    RefillSources(PortIx, TrafficClass, Frame),
    /// This node sends a frame of its own through one of its ports.
    Originate(PortIx, Frame),
    /// A frame that its queue manager has admitted, after the congestion message that the manager sent because of it.
    Admitted(Admitted),
    /// These classes of a port may be stuck behind a pause, which its watchdog observes.
    Stuck(PortIx, u32),
}

/// A frame at its egress port, past the queue manager.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admitted {
    pub frame: Frame,
    pub egress: PortIx,
    pub class: TrafficClass,
    /// Port that it came in through; `None` if it begins its way here.
    pub ingress: Option<PortIx>,
}
