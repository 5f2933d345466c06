//! Occupancy counters by ingress port or by egress queue, which determine pauses.

use super::Stage;
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::losses::Cause;
use crate::run::state::pool::Waiting;
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::pausing;
use frame::Occupancy;
use units::Time;

pub(super) struct Accounting;

impl Stage for Accounting {
    #[inline(always)]
    fn take_room(
        here: &mut NodeView,
        at: &AtEgress,
        now: Time,
        events: &mut EventQueue,
    ) -> Result<(), Cause> {
        // With a crossbar, the frame is charged at the input.
        if here.links.ports[at.egress].features.has(PortFeatures::CROSSBAR)
            || pausing::before_enqueue(here, at.egress, at.class, &at.frame, at.ingress, now, events)
        {
            Ok(())
        } else {
            Err(Cause::Headroom)
        }
    }

    #[inline(always)]
    fn left(
        here: &mut NodeView,
        at: &AtEgress,
        waited: Option<(&Waiting, Occupancy)>,
        now: Time,
        events: &mut EventQueue,
    ) {
        // The output of a crossbar counts all departing frames.
        if let Some((waiting, before)) = waited
            && !here.links.ports[at.egress].features.has(PortFeatures::CROSSBAR)
        {
            pausing::after_dequeue(here, at.egress, at.class, waiting, before, now, events);
        }
    }
}
