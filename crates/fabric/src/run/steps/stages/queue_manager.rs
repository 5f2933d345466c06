//! The queue manager of a class: marks, drops, or sends a congestion message.

use super::{Stage, Verdict};
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::view::NodeView;
use crate::run::steps::managed;
use units::Time;

pub(super) struct QueueManager;

impl Stage for QueueManager {
    #[inline(always)]
    fn enter(here: &mut NodeView, at: &mut AtEgress, now: Time, _events: &mut EventQueue) -> Verdict {
        if managed::needs_no_update(here, at.egress, at.class, &at.frame, now) {
            return Verdict::Pass;
        }
        managed::enter_manager(here, at, now)
    }

    #[inline(always)]
    fn leaves(here: &mut NodeView, at: &mut AtEgress, _waited: bool, now: Time) {
        at.frame = managed::manager_on_dequeue(here, at.egress, at.class, at.frame, now);
    }
}
