//! Selection of the queue that causes a pause.

use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::pause_sender::PauseSender;
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::crossbar::held;
use frame::{Occupancy, TrafficClass};
use std::cmp::Reverse;

/// Returns the egress queue that fills an ingress counter (port and group) with occupancy `counted`. This is the queue
/// of the frame that has just arrived (`queue`), unless it holds less than half of the counted frames or there is no
/// such frame; then it is the fullest queue.
pub fn to_blame(
    here: &NodeView,
    pause_sender: &PauseSender,
    queue: Option<QueueIx>,
    counter: (PortIx, usize),
    counted: Occupancy,
) -> Option<QueueIx> {
    if here.links.ports[counter.0].features.has(PortFeatures::CROSSBAR) {
        return held::fills_input(here, counter.0, pause_sender.bits(counter.1).into(), queue).0;
    }
    let fills = queue.is_some_and(|queue| here.buffers.queues[queue].occupancy.bytes * 2 >= counted.bytes);
    if fills || here.nodes[here.node_of[counter.0]].is_host {
        return queue;
    }
    fullest(here, counter.0, |priority| pause_sender.group(priority) == Some(counter.1)).or(queue)
}

/// Returns the egress queue of a switch with most counted bytes from an ingress port, the first of several equal ones.
/// Used for a pause that the queue of the last frame does not explain: reads the frames of the longest queues, until no
/// other queue can hold more.
#[cold]
pub fn fullest(here: &NodeView, ingress: PortIx, counts: impl Fn(u8) -> bool) -> Option<QueueIx> {
    let classes = &here.nodes[here.node_of[ingress]].classes;
    let classes = (0..classes.classes() as u8).map(TrafficClass);
    let queues = here.ports_beside(ingress).flat_map(|port| {
        let port = &here.links.ports[port];
        classes.clone().map(|class| port.queue(class))
    });
    let held = |queue: QueueIx| -> u64 {
        let waiting = here.buffers.frames(queue);
        let counted = waiting.filter(|one| one.across == Some(ingress) && counts(one.frame.priority().0));
        counted.map(|one| u64::from(one.frame.bytes)).sum()
    };
    let length = |queue| (here.buffers.queues[queue].occupancy.bytes, Reverse(queue));
    let (mut most, mut last) = (None, None);
    // The longest queue that was not read yet; a sorted list would take memory for each pause.
    while let Some(next) =
        queues.clone().map(length).filter(|&next| next.0 > 0 && last.is_none_or(|last| next < last)).max()
        && most.is_none_or(|(most, _)| next.0 >= most)
    {
        last = Some(next);
        most = most.max(Some((held(next.1.0), next.1)).filter(|&(bytes, _)| bytes > 0));
    }
    debug_assert_eq!(
        most,
        queues.map(|queue| (held(queue), Reverse(queue))).filter(|&(bytes, _)| bytes > 0).max(),
        "a queue that was not read holds more"
    );
    most.map(|(_, Reverse(queue))| queue)
}
