//! Lost frames: causes, places, and consequences.
//!
//! Every loss is counted by port, class, path, part of the flow and cause, and in the ledger. A limit that drops a
//! frame of a lossless class violates the guarantee, regardless of the frame's origin; a scripted fault does not. No
//! pause holds back the frames that a switch originates, and no headroom is reserved for them (IEEE 802.1Q, clause 36,
//! covers frames that arrive through a port): messages need either a lossy priority or buffer space.

use crate::run::state::index::PortIx;
use crate::run::state::ledger::Part;
use crate::run::state::losses::Cause;
use crate::run::state::node::Node;
use crate::run::state::outcome::Failure;
use crate::run::state::view::NodeView;
use crate::run::steps::frame_log;
use crate::run::steps::nic_places;
use crate::run::steps::probes;
use crate::spec::OnLosslessDrop;
use frame::{Frame, PortId, TrafficClass};
use units::Time;

/// Counts a lost frame at a port.
pub fn count_loss(here: &mut NodeView, port: PortIx, class: TrafficClass, frame: &Frame, cause: Cause) {
    let part = if probes::is_of_flow(here, frame) { Part::Sent } else { Part::Beside };
    here.ledger.count_loss(PortId(here.numbering.port(port)), class, frame, part, cause);
    here.headers.release(frame);
    here.links.cold[port].counts.drops += 1;
}

/// Handles the loss of a frame that is queued, or was to be queued, at a port.
#[cold]
pub fn lose(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    frame: &Frame,
    ingress: Option<PortIx>,
    cause: Cause,
    now: Time,
) {
    frame_log::log_drop(here, egress, false, frame, cause, now);
    count_loss(here, egress, class, frame, cause);
    here.buffers.queues[here.links.ports[egress].queue(class)].drops += 1;
    let node = &here.nodes[here.node_of[egress]];
    if node.is_host {
        nic_places::nic_refused(here, egress, class, frame);
        return;
    }
    if is_lossless(here, node, frame, ingress) && !cause.is_fault() {
        violate(here, egress, class, frame, ingress, cause, now);
    }
}

/// Returns true if a node guarantees not to drop a frame with this ingress port.
pub fn is_lossless(here: &NodeView, node: &Node, frame: &Frame, ingress: Option<PortIx>) -> bool {
    // Only frames of lossy classes are trimmed, so a removed payload is no loss of a lossless class.
    if frame.flags.is_trimmed() {
        return false;
    }
    let pauses = ingress.and_then(|port| here.links.cold[port].control.pauses());
    pauses.map_or(node.lossless, |pauses| pauses.obeys) >> frame.priority().0 & 1 != 0
}

/// Handles the loss of a frame of a lossless class at a limit.
pub fn violate(
    here: &mut NodeView,
    port: PortIx,
    class: TrafficClass,
    frame: &Frame,
    ingress: Option<PortIx>,
    cause: Cause,
    now: Time,
) {
    here.links.cold[port].counts.violations += 1;
    if here.ledger.on_lossless_drop == OnLosslessDrop::Stop {
        here.ledger.fail(Failure::lossless_drop(here, (port, class), frame, ingress, cause, now));
    }
}

/// Drops and counts a frame if its class is in a storm. Otherwise returns false, without side effects.
#[cold]
pub fn dropped_in_storm(here: &mut NodeView, port: PortIx, class: TrafficClass, bytes: u16) -> bool {
    let Some(watch) = here.links.cold[port].watch.as_mut().filter(|watch| watch.drops(class)) else {
        return false;
    };
    watch.count(class, bytes);
    true
}
