//! The output of a crossbar, where a departing frame frees space.

use super::Stage;
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::pool::Waiting;
use crate::run::state::view::NodeView;
use crate::run::steps::crossbar::outputs;
use frame::Occupancy;
use units::Time;

pub(super) struct CrossbarOutput;

impl Stage for CrossbarOutput {
    #[inline(always)]
    fn left(
        here: &mut NodeView,
        at: &AtEgress,
        _waited: Option<(&Waiting, Occupancy)>,
        now: Time,
        events: &mut EventQueue,
    ) {
        outputs::output_left(here, at.egress, at.class, (&at.frame, at.ingress), now, events);
    }

    #[inline]
    fn dropped(here: &mut NodeView, at: &AtEgress, now: Time, events: &mut EventQueue) {
        outputs::output_left(here, at.egress, at.class, (&at.frame, at.ingress), now, events);
    }
}
