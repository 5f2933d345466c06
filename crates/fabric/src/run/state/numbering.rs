//! Numbers in a part of the fabric, and in the whole.
//!
//! A part owns a range of nodes. It counts nodes, ports, queues, sources and endpoints from 0, so that its tables hold
//! nothing else; alone, it is the whole, and both counts are the same. Numbers of the whole are on what leaves the part:
//! in fingerprints, in notes of pauses, in results. Frames carry paths and places in the table of hops, which are those
//! of the whole: [`RouteTable`](crate::run::state::route_table::RouteTable) translates.

use crate::run::state::index::{NodeIx, PortIx, QueueIx};
use frame::{NodeId, PortId};

/// Where the numbers of a part begin among those of the whole.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbering {
    pub first_node: u32,
    pub first_port: u32,
    pub first_queue: u32,
    /// Ports and flows of the whole, and all places: what the engine sorts events by must be the same in all parts.
    pub all_ports: u32,
    pub all_flows: u32,
    pub all_places: u32,
}

impl Numbering {
    /// The number of a port in the whole.
    #[inline(always)]
    pub fn port(&self, port: PortIx) -> u32 {
        self.first_port + port.number()
    }
    /// The number of a source in the whole: that of its place.
    #[inline(always)]
    pub fn source(&self, flow: u32) -> u32 {
        self.all_ports + flow
    }
    /// The number of an endpoint in the whole: that of its place.
    pub fn endpoint(&self, number: u32) -> u32 {
        self.all_ports + self.all_flows + number
    }
    /// The number of a queue in the whole.
    pub fn queue(&self, queue: QueueIx) -> u32 {
        self.first_queue + queue.number()
    }
    /// The node of this part that has this number in the whole: a frame has come to its end there.
    pub fn node_here(&self, node: NodeId) -> NodeIx {
        NodeIx::new(node.0 - self.first_node)
    }
    /// The port of this part that has this number in the whole: the forwarding table of its node names it.
    #[inline(always)]
    pub fn port_here(&self, port: PortId) -> PortIx {
        PortIx::new(port.0 - self.first_port)
    }
    /// The queue of this part that has this number in the whole.
    pub fn queue_here(&self, number: u32) -> QueueIx {
        QueueIx::new(number - self.first_queue)
    }
}
