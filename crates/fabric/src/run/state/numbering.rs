//! Numbers in a part of the fabric, and in the whole fabric.
//!
//! A part owns a range of nodes. It numbers its nodes, ports, queues, sources and endpoints from 0, so that its tables
//! hold nothing else. With a single part, both numberings are equal. Everything that leaves the part uses numbers of
//! the whole fabric: fingerprints, notes of pauses, results. The paths and the places in the table of hops that frames
//! carry are also numbers of the whole; [`RouteTable`](crate::run::state::route_table::RouteTable) converts them.

use crate::run::state::index::{NodeIx, PortIx, QueueIx};
use frame::{NodeId, PortId};

/// First numbers of a part in the whole fabric.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbering {
    pub first_node: u32,
    pub first_port: u32,
    pub first_queue: u32,
    /// Number of ports, flows and places in the whole fabric. The keys by which the engine sorts events must be equal
    /// in all parts.
    pub all_ports: u32,
    pub all_flows: u32,
    pub all_places: u32,
}

impl Numbering {
    /// The number of a port in the whole fabric.
    #[inline(always)]
    pub fn port(&self, port: PortIx) -> u32 {
        self.first_port + port.number()
    }
    /// The number of a source in the whole fabric, which is that of its place.
    #[inline(always)]
    pub fn source(&self, flow: u32) -> u32 {
        self.all_ports + flow
    }
    /// The number of an endpoint in the whole fabric, which is that of its place.
    pub fn endpoint(&self, number: u32) -> u32 {
        self.all_ports + self.all_flows + number
    }
    /// The number of a queue in the whole fabric.
    pub fn queue(&self, queue: QueueIx) -> u32 {
        self.first_queue + queue.number()
    }
    /// Converts a fabric-wide node number to the index of the node in this part, for the destination of an arrived frame.
    pub fn node_here(&self, node: NodeId) -> NodeIx {
        NodeIx::new(node.0 - self.first_node)
    }
    /// Converts a fabric-wide port number, as in forwarding tables, to the index of the port in this part.
    #[inline(always)]
    pub fn port_here(&self, port: PortId) -> PortIx {
        PortIx::new(port.0 - self.first_port)
    }
    /// Converts a fabric-wide queue number to the index of the queue in this part.
    pub fn queue_here(&self, number: u32) -> QueueIx {
        QueueIx::new(number - self.first_queue)
    }
}
