//! Credits of the link: a frame consumes them when it leaves, and returns those of the link that it came over.

use super::{Stage, Verdict};
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::pool::Waiting;
use crate::run::state::world::Fabric;
use frame::Occupancy;
use units::Time;

pub(super) struct Credits;

impl Stage for Credits {
    #[inline(always)]
    fn enter(fabric: &mut Fabric, at: &mut AtEgress, now: Time, events: &mut EventQueue) -> Verdict {
        fabric.meets_credits(at.egress, at.class, &at.frame, at.ingress, now, events);
        Verdict::Pass
    }

    #[inline(always)]
    fn left(
        fabric: &mut Fabric,
        at: &AtEgress,
        _waited: Option<(&Waiting, Occupancy)>,
        now: Time,
        events: &mut EventQueue,
    ) {
        fabric.credits_used(at.egress, &at.frame, at.ingress, now, events);
    }

    #[inline]
    fn dropped(fabric: &mut Fabric, at: &AtEgress, now: Time, events: &mut EventQueue) {
        if let Some(ingress) = at.ingress {
            fabric.credits_free(ingress, &at.frame, now, events);
        }
    }
}
