//! Credits of the link: a frame consumes them when it leaves, and returns those of its ingress link.

use super::{Stage, Verdict};
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::pool::Waiting;
use crate::run::state::view::NodeView;
use crate::run::steps::credits;
use crate::run::steps::credits::updates;
use frame::Occupancy;
use units::Time;

pub(super) struct Credits;

impl Stage for Credits {
    #[inline(always)]
    fn enter(here: &mut NodeView, at: &mut AtEgress, now: Time, events: &mut EventQueue) -> Verdict {
        credits::meets_credits(here, at.egress, at.class, &at.frame, at.ingress, now, events);
        Verdict::Pass
    }

    #[inline(always)]
    fn left(
        here: &mut NodeView,
        at: &AtEgress,
        _waited: Option<(&Waiting, Occupancy)>,
        now: Time,
        events: &mut EventQueue,
    ) {
        credits::credits_used(here, at.egress, &at.frame, at.ingress, now, events);
    }

    #[inline]
    fn dropped(here: &mut NodeView, at: &AtEgress, now: Time, events: &mut EventQueue) {
        if let Some(ingress) = at.ingress {
            updates::credits_free(here, ingress, &at.frame, now, events);
        }
    }
}
