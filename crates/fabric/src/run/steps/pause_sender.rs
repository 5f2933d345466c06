//! The part of a node that sends pauses: its watermarks, its counters, and the note that says why a pause was sent.

use crate::run::state::index::PortIx;
use crate::run::state::pause_sender::PauseSender;
use crate::run::state::world::Fabric;

impl Fabric {
    /// The part that sends pauses at the node of a port.
    pub fn pause_sender_of(&self, port: PortIx) -> Option<&PauseSender> {
        self.nodes[self.node_of[port]].pause_sender.map(|at| &self.pause_senders[at])
    }
}
