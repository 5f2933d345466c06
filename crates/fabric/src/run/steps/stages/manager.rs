//! The queue manager of a class: marks, drops, or sends a congestion message.

use super::{Stage, Verdict};
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::world::Fabric;
use units::Time;

pub(super) struct Manager;

impl Stage for Manager {
    #[inline(always)]
    fn enter(fabric: &mut Fabric, at: &mut AtEgress, now: Time, _events: &mut EventQueue) -> Verdict {
        if fabric.needs_no_update(at.egress, at.class, &at.frame, now) {
            return Verdict::Pass;
        }
        fabric.enter_manager(at, now)
    }

    #[inline(always)]
    fn leaves(fabric: &mut Fabric, at: &mut AtEgress, _waited: bool, now: Time) {
        at.frame = fabric.manager_on_dequeue(at.egress, at.class, at.frame, now);
    }
}
