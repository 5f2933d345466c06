//! Packet trimming: a frame that does not fit its queue loses its payload, and continues in the queue of trimmed
//! frames.
//!
//! Keys, sources and limits of the model are in `queueing::TrimmingKeys`. No memory is charged for a frame before it is
//! trimmed. The trimmed frame is charged and released like any frame of its length and priority.

use super::{Stage, Verdict};
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::losses::Cause;
use crate::run::state::port::PortFeatures;
use crate::run::state::stages::StageId;
use crate::run::state::view::NodeView;
use crate::run::steps::egress;
use crate::run::steps::pausing;
use crate::spec::NodeSpec;
use units::Time;

pub(super) struct Trimming;

/// Cause of the loss of a trimmed frame that does not fit the queue of trimmed frames.
pub(crate) const NO_ROOM_TRIMMED: Cause = Cause::Stage(StageId::of(PortFeatures::TRIMMING));
const NO_ROOM: Verdict = Verdict::Drop(NO_ROOM_TRIMMED);

impl Stage for Trimming {
    fn is_at(node: &NodeSpec) -> bool {
        node.switch().is_some_and(|switch| switch.trimming.is_some())
    }

    #[inline(always)]
    fn enter(here: &mut NodeView, at: &mut AtEgress, now: Time, events: &mut EventQueue) -> Verdict {
        let Some(trimming) = here.links.cold[at.egress].trimming.as_deref_mut() else { return Verdict::Pass };
        let queue = here.links.ports[at.egress].queue(at.class);
        let would_hold = here.buffers.queues[queue].occupancy.bytes + u64::from(at.frame.bytes);
        if at.class == trimming.class {
            let is_full =
                at.frame.flags.is_trimmed() && trimming.header_limit.is_some_and(|limit| would_hold > limit);
            return if is_full { NO_ROOM } else { Verdict::Pass };
        }
        if !trimming.trims(at.class) || trimming.threshold.is_none_or(|threshold| would_hold <= threshold) {
            return Verdict::Pass;
        }
        if trimming.takes_last() {
            take_place_of_last(here, at, now, events);
        }
        if trim(here, at) { Verdict::Pass } else { NO_ROOM }
    }

    fn dropped(here: &mut NodeView, at: &AtEgress, _now: Time, _events: &mut EventQueue) {
        if let Some(class) = at.trimmed_from {
            here.ledger.trims_at(here.numbering.port(at.egress), class, at.frame.path).dropped += 1;
        }
    }
}

/// Returns true if a frame that was refused for this cause may be trimmed: a queue, a memory or a queue manager had no
/// space for it.
pub(crate) fn rescues(here: &NodeView, at: &AtEgress, cause: Cause) -> bool {
    let has_no_room = match cause {
        Cause::Queue
        | Cause::Port
        | Cause::Class
        | Cause::Total
        | Cause::SharedMemory
        | Cause::Pool { .. } => true,
        Cause::Stage(stage) => stage == StageId::of(PortFeatures::MANAGED),
        _ => false,
    };
    let trimming = here.links.cold[at.egress].trimming.as_deref();
    has_no_room && at.trimmed_from.is_none() && trimming.is_some_and(|trimming| trimming.trims(at.class))
}

/// Trims a frame. Returns false if the queue of trimmed frames exceeds its limit.
pub(crate) fn trim(here: &mut NodeView, at: &mut AtEgress) -> bool {
    let Some(trimming) = here.links.cold[at.egress].trimming.as_deref() else { return true };
    let cut = trimming.cut(&mut at.frame);
    let from = std::mem::replace(&mut at.class, trimming.class);
    at.trimmed_from = Some(from);
    let queue = here.links.ports[at.egress].queue(at.class);
    let would_hold = here.buffers.queues[queue].occupancy.bytes + u64::from(at.frame.bytes);
    let has_room = trimming.header_limit.is_none_or(|limit| would_hold <= limit);
    let counts = here.ledger.trims_at(here.numbering.port(at.egress), from, at.frame.path);
    counts.frames += 1;
    counts.bytes += u64::from(cut);
    has_room
}

/// Replaces the last frame of a queue, which is to be trimmed, by the new frame. Requires that the former is at least
/// as long, at a port whose queues have no other limit (`audit/trimming.rs`).
fn take_place_of_last(here: &mut NodeView, at: &mut AtEgress, now: Time, events: &mut EventQueue) {
    let queue = here.links.ports[at.egress].queue(at.class);
    let before = here.buffers.queues[queue].occupancy;
    let Some(last) = here.buffers.replace_last(queue, &at.frame, at.ingress, now) else { return };
    let counts = here.links.ports[at.egress].features.has(PortFeatures::INGRESS_ACCOUNTING);
    let new = at.frame;
    let ingress = std::mem::replace(&mut at.ingress, last.across);
    at.frame = last.frame;
    if counts {
        pausing::after_dequeue(here, at.egress, at.class, &last, before, now, events);
        // Its priority is lossy, so no limit applies to its ingress counter.
        let _ = pausing::before_enqueue(here, at.egress, at.class, &new, ingress, now, events);
    }
    egress::note_level(here, queue, now);
}
