//! Probes: recordings that no frame's behaviour depends on.

use crate::run::state::index::{PortIx, QueueIx, ReceiverIx};
use crate::run::state::probes::ClassSeries;
use crate::run::state::view::NodeView;
use crate::run::steps::frame_log;
use crate::run::steps::telemetry;
use frame::{Frame, FrameKind, Heading};
use measure::Passage;
use units::Time;

/// Records a frame that is sent on the link of a port. Its last bit leaves when the port becomes idle.
#[inline(never)]
pub fn record_sent(here: &mut NodeView, egress: PortIx, frame: &Frame, now: Time) {
    if !here.telemetry.is_empty() {
        telemetry::write_telemetry(here, egress, frame, now);
    }
    record_passage(here, egress, frame);
    if here.probes.frames.is_some() {
        frame_log::log_sent(here, egress, frame, now);
    }
}

/// Records the bits of a frame that pass the link of a port until the port becomes idle.
#[inline(always)]
pub fn record_passage(here: &mut NodeView, egress: PortIx, frame: &Frame) {
    let port = &here.links.ports[egress];
    let (end, took) = (port.busy_until, port.clock.span_ceil(u64::from(frame.bytes)));
    let passage = Passage { end, took, bits: u64::from(frame.bytes) * 8 };
    let probes = &mut here.probes;
    if probes.distinguishes_classes {
        let queue = port.queue(port.classes.class(frame.priority()));
        if let Some(ClassSeries::Own(class)) = probes.classes.get_mut(queue.at()) {
            class.pass(passage, &mut probes.grids);
        }
    }
    if let Some(link) = probes.links.get_mut(egress.at()) {
        link.carry(passage, !probes.breaks, &mut probes.grids);
    }
}

/// Records that the frame sent last through a port will not reach the peer.
#[cold]
pub fn record_broken(here: &mut NodeView, egress: PortIx) {
    let arrives = frame_log::arrives_at_peer(here, egress);
    if let Some(log) = &mut here.probes.frames {
        log.take_back(egress, arrives);
    }
}

/// Records the arrival of a frame at the end of its path, through a port.
#[inline(never)]
pub fn record_arrived(here: &mut NodeView, ingress: PortIx, frame: &Frame, now: Time) {
    if let Some(overtaking) = &mut here.hosts.overtaking
        && let Heading::Destination(to) = frame.route.heading()
        && here.routes.source_node(frame.path) != Some(to)
    {
        overtaking.arrived(here.node_of[ingress], frame.path.0, frame.created);
    }
    if let Some(receiver) = receiver_of(here, frame) {
        let took = here.links.took_to_arrive(ingress, frame.bytes, now);
        let bits = u64::from(here.headers.bare_bytes(frame)) * 8;
        here.probes.arrives(receiver, Passage { end: now, took, bits });
    }
}

/// Records a frame marked by the manager of a queue.
pub fn record_marked(here: &mut NodeView, queue: QueueIx, now: Time) {
    if let Some(marks) = here.probes.marks.get_mut(queue.at()) {
        marks.pass(Passage { end: now, took: Time::ZERO, bits: 1 }, &mut here.probes.grids);
    }
}

/// Returns the passage of a frame that will arrive through a port, with its path, if the frame belongs to a flow there.
pub fn arriving(here: &NodeView, ingress: PortIx, frame: &Frame, arrives: Time) -> Option<(u32, Passage)> {
    if !is_of_flow(here, frame) {
        return None;
    }
    let took = here.links.took_to_arrive(ingress, frame.bytes, arrives);
    let bits = u64::from(here.headers.bare_bytes(frame)) * 8;
    Some((frame.path.at() as u32, Passage { end: arrives, took, bits }))
}

/// Records a frame that a host has read, and the time that this took.
pub fn record_read(here: &mut NodeView, frame: &Frame, now: Time, took: Time) {
    if let Some(receiver) = receiver_of(here, frame) {
        let bits = u64::from(here.headers.bare_bytes(frame)) * 8;
        if let Some(read) = here.probes.read.get_mut(receiver.at()) {
            read.pass(Passage { end: now, took, bits }, &mut here.probes.grids);
        }
    }
}

/// Returns true if a frame belongs to a flow, so that it is counted at the end of its path.
pub fn is_of_flow(here: &NodeView, frame: &Frame) -> bool {
    match frame.flags.kind() {
        FrameKind::Raw | FrameKind::Part => true,
        FrameKind::Data => match frame.route.heading() {
            Heading::Forward(_) | Heading::Tree(_) => true,
            Heading::Backward(_) => false,
            Heading::Destination(node) => here.routes.source_node(frame.path) != Some(node),
        },
        _ => false,
    }
}
/// Returns the counters of a flow's frame at the end of its path.
fn receiver_of(here: &NodeView, frame: &Frame) -> Option<ReceiverIx> {
    is_of_flow(here, frame).then(|| here.hosts.receiver_of(frame.path))
}
