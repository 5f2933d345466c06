//! A host or a switch: the state of a node apart from its ports.

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
    /// Priorities in which a loss breaks a guarantee.
    pub lossless: u8,
    /// A host that returns the tags of frames: at this priority.
    pub returns_tags: Option<Priority>,
    /// The part that sends pauses.
    pub pause_sender: Option<PauseSenderIx>,
    /// Its architecture between ingress and egress ports, with the occupancy counters of its ports.
    pub architecture: Architecture,
}

impl Node {
    /// The memory that frames wait in.
    #[inline(always)]
    pub fn memory(&self) -> &NodeMemory {
        self.architecture.memory()
    }
    #[inline(always)]
    pub fn memory_mut(&mut self) -> &mut NodeMemory {
        self.architecture.memory_mut()
    }
}
