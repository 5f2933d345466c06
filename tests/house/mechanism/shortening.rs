//! Shortening: a frame of priority 4 that finds eight frames or more in its queue goes on without its payload.
//!
//! Source: none; the example of CONTRIBUTING.md.
//!
//! Not modelled: a priority of its own for what is left.

use super::{Stage, Verdict};
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::losses::Cause;
use crate::run::state::port::PortFeatures;
use crate::run::state::stages::StageId;
use crate::run::state::view::NodeView;
use crate::spec::NodeSpec;
use frame::{MIN_FRAME_BYTES, Priority};
use units::Time;

/// Frames in a queue from which on others are shortened, and from which on they are dropped.
const SHORTENS: u64 = 8;
const DROPS: u64 = 40;

pub(super) struct Shortening;

impl Stage for Shortening {
    fn is_at(node: &NodeSpec) -> bool {
        node.switch().is_some()
    }

    fn enter(here: &mut NodeView, at: &mut AtEgress, _now: Time, _events: &mut EventQueue) -> Verdict {
        let queue = here.links.ports[at.egress].queue(at.class);
        let frames = here.buffers.queues[queue].occupancy.frames;
        if at.frame.priority() != Priority(4) || frames < SHORTENS {
            return Verdict::Pass;
        }
        if frames >= DROPS {
            return Verdict::Drop(Cause::Stage(StageId::of(PortFeatures::SHORTENING)));
        }
        at.frame.bytes = MIN_FRAME_BYTES;
        Verdict::Wait
    }
}
