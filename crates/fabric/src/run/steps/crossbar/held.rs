//! Frames waiting for an egress queue, in it or at the inputs of a crossbar.

use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::pool::Waiting;
use crate::run::state::view::NodeView;
use frame::TrafficClass;

/// Returns the frames waiting for transmission by a queue: those in it, and those at inputs that will cross to it.
pub fn frames_for(here: &NodeView, queue: QueueIx) -> impl Iterator<Item = &Waiting> {
    let (port, class) = here.links.place_of_queue(queue);
    let bar = here.nodes[here.node_of[port]].architecture.crossbar();
    let at_inputs =
        bar.into_iter().flat_map(move |bar| bar.waiting_for(port, TrafficClass(class), &here.buffers.pool));
    here.buffers.frames(queue).chain(at_inputs)
}

/// Returns the output for which most frames of these priorities at an input wait, as a queue (`own` if there are none),
/// and true if it has space for more.
pub fn fills_input(
    here: &NodeView,
    ingress: PortIx,
    priorities: u32,
    own: Option<QueueIx>,
) -> (Option<QueueIx>, bool) {
    let node = &here.nodes[here.node_of[ingress]];
    let Some(bar) = node.architecture.crossbar() else { return (own, false) };
    let classes = node.classes.classes_of(priorities);
    let most = bar.most_requested(ingress, classes, &here.buffers.pool);
    let Some(queue) = most.map(|(egress, class)| here.links.ports[egress].queue(class)).or(own) else {
        return (None, false);
    };
    let (port, class) = here.links.place_of_queue(queue);
    (Some(queue), bar.has_room(port, TrafficClass(class)))
}
