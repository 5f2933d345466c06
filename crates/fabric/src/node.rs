//! A host or a switch: what is the node's and not one port's.

use crate::buffers::NodeMemory;
use crate::pause_sender::PauseSender;
use frame::ClassMap;

/// A host or a switch.
#[derive(Debug)]
pub(crate) struct Node {
    pub first_port: u32,
    pub classes: ClassMap,
    pub is_host: bool,
    /// Priorities in which a loss breaks a promise.
    pub lossless: u8,
    /// Length of the pauses it sends.
    pub pause_quanta: u16,
    /// The part that sends pauses.
    pub pause_sender: Option<Box<PauseSender>>,
    /// What it counts of what waits at its ports.
    pub memory: NodeMemory,
}
