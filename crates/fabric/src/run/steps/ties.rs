//! Ties: decisions between frames of different sources that arrive at a queue in the same picosecond.
//!
//! In real fabrics, no two frames arrive at exactly the same time. Here they do, if sources have clocks that are equal
//! to the picosecond and send in step. The order in which ports are processed then decides which frame is lost, in the
//! same way each time. This is an artefact, not a property of the mechanisms. Such decisions are therefore counted, and
//! a result shows how many of its losses are of this kind.
//!
//! Inexact clocks separate such frames by a few nanoseconds. If each host sends by its own clock, the distance grows,
//! and the order changes; if answers clock the sending, the distance stays, and so does the order. Frames closer to
//! each other than the distance that clocks alone cause therefore count as ties (`crates/fabric/src/build/ties.rs`).
//!
//! Two decisions are counted: the refusal of a frame by a limit while a frame of another source has just entered the
//! same memory, and a pause with targets under the same condition. Frames that are refused together are not counted,
//! because none of them would have been accepted in another order.

use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::losses::Cause;
use crate::run::state::view::NodeView;
use frame::{Frame, TrafficClass};
use units::Time;

/// Counts a tie if a limit has refused a frame just after another.
#[cold]
pub fn note_tied_loss(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    frame: &Frame,
    cause: Cause,
    now: Time,
) {
    let node = &here.nodes[here.node_of[egress]];
    let class_of_port = |port: PortIx| here.links.ports[port].queue(class);
    let all_of_port = |port: PortIx| here.links.ports[port].queues();
    let ports = || here.ports_beside(egress);
    let own = |queue: QueueIx| other_came(here, queue, frame, now);
    let tied = match cause {
        Cause::Queue | Cause::NicFull => own(class_of_port(egress)),
        _ if !is_just_now(here, node.memory().last_entry, now) => false,
        Cause::Port => all_of_port(egress).any(own),
        Cause::Class => ports().map(class_of_port).any(own),
        Cause::Total => ports().flat_map(all_of_port).any(own),
        _ => false,
    };
    here.links.cold[egress].counts.ties += u64::from(tied);
}

/// Counts a tie if a queue pauses targets at the arrival of a frame just after another.
pub fn note_tied_pause(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    ingress: Option<PortIx>,
    now: Time,
) {
    let queue = here.links.ports[egress].queue(class);
    let tied = here
        .buffers
        .last_frames(queue)
        .any(|last| is_just_now(here, last.since, now) && last.across != ingress);
    here.links.cold[egress].counts.ties += u64::from(tied);
}

/// Returns true if a frame from another source was enqueued at the same time, within clock tolerances.
fn other_came(here: &NodeView, queue: QueueIx, frame: &Frame, now: Time) -> bool {
    let source = |frame: &Frame| here.routes.path_source[frame.path.at()];
    let mut last = here.buffers.last_frames(queue);
    last.any(|last| is_just_now(here, last.since, now) && source(&last.frame) != source(frame))
}

/// Returns true if two times differ by no more than clock tolerances.
fn is_just_now(here: &NodeView, before: Time, now: Time) -> bool {
    before <= now && now - before <= here.probes.alike
}
