//! Ended waits of a port for its flow control, as pauses and credits report them to probes.

use units::Time;

/// A pause, or a wait for credits, that has ended at a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedWait {
    pub priority: u8,
    pub start: Time,
    pub end: Time,
    pub cause: u64,
    /// True if it stopped a bypass queue.
    pub bypass: bool,
}
