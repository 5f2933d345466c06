//! A step that tries to reach another node than its own. Each line with a code is an error of the compiler; no other line is.

use crate::run::state::event::{Event, EventQueue};
use crate::run::state::index::{EndpointIx, NodeIx, PlaceIx, PortIx, QueueIx, Seal};
use crate::run::state::view::NodeView;
use units::Time;

/// What a step may do: its own port, and an event at the far end of the link.
pub fn own(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    here.links.cold[port].counts.drops += 1;
    let node = here.node_of[port];
    let first = here.nodes[node].first_port;
    here.links.ports[first].waiting = 0;
    let peer = here.links.ports[port].arrives_as.peer();
    events.push(Event::look_for_credits(now, peer));
}

/// Indices are not made from numbers.
pub fn by_number(here: &mut NodeView, port: PortIx) {
    here.links.ports[PortIx::new(3)].waiting = 0; // E0624
    here.links.cold[port.plus(1)].down = 0; // E0624
    here.buffers.queues[QueueIx::new(7)].drops = 0; // E0624
    let _ = here.nodes[NodeIx::new(0)].is_host; // E0624
    let _ = here.hosts.endpoints[EndpointIx::new(0)].number; // E0624
    let _: PortIx = 3_usize.into(); // E0277
    let _ = Seal::new(); // E0624
    let _ = here.links.ports[3_u32].waiting; // E0308
}

/// The far end of a link is an index of no table.
pub fn by_link(here: &mut NodeView, port: PortIx, now: Time) {
    let peer = here.links.ports[port].arrives_as.peer();
    here.links.cold[peer].down = 0; // E0308
    here.links.cold[peer.0].down = 0; // E0616
    let _ = here.node_of[PlaceIx::from(peer)]; // E0308
    let _ = Event::look_for_credits(now, peer).port(); // E0061
    let _ = Event::look_for_credits(now, peer).place(); // E0061
}

/// Nothing shows the entries of all nodes.
pub fn by_search(here: &mut NodeView) {
    for port in here.links.ports.iter_mut() { // E0599
        port.waiting = 0;
    }
    for node in &here.nodes { // E0277
        let _ = node.is_host;
    }
    let _ = here.hosts.sources.each().len(); // E0624
    let _ = here.buffers.queues.all().len(); // E0061
    let _ = here.hosts.limiters.keys(); // E0061
    let _ = here.whole(); // E0599
}
