//! A host or a switch: the state of a node other than its ports.

use crate::run::state::architecture::{Architecture, NodeMemory};
use crate::run::state::index::{EventPlace, NodeIx, PauseSenderIx, PlaceIx, PortIx, Seal};
use crate::run::state::own::NodeLocal;
use frame::{ClassMap, Priority};
use std::ops::Index;

/// The node of each place.
#[derive(Debug, Default)]
pub(crate) struct NodeOf(pub NodeLocal<PlaceIx, NodeIx>);

impl Index<PlaceIx> for NodeOf {
    type Output = NodeIx;
    #[inline(always)]
    fn index(&self, place: PlaceIx) -> &NodeIx {
        &self.0[place]
    }
}

impl Index<PortIx> for NodeOf {
    type Output = NodeIx;
    #[inline(always)]
    fn index(&self, port: PortIx) -> &NodeIx {
        &self.0[port.place(Seal::new())]
    }
}

/// A host or a switch.
#[derive(Debug)]
pub(crate) struct Node {
    pub first_port: PortIx,
    pub classes: ClassMap,
    pub is_host: bool,
    /// Priorities whose loss violates a guarantee, bit n for priority n.
    pub lossless: u8,
    /// Priority at which a host returns the tags of frames; `None` if it does not.
    pub returns_tags: Option<Priority>,
    /// The state of the node's pause sender, if it sends pauses.
    pub pause_sender: Option<PauseSenderIx>,
    /// Architecture between ingress and egress ports, with the occupancy counters of the ports.
    pub architecture: Architecture,
}

impl Node {
    /// The memory in which frames wait.
    #[inline(always)]
    pub fn memory(&self) -> &NodeMemory {
        self.architecture.memory()
    }
    #[inline(always)]
    pub fn memory_mut(&mut self) -> &mut NodeMemory {
        self.architecture.memory_mut()
    }
}
