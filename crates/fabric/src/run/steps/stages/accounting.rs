//! Counters of what waits, by ingress port or by egress queue, from which pauses follow.

use super::Stage;
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::losses::Cause;
use crate::run::state::pool::Waiting;
use crate::run::state::port::PortFeatures;
use crate::run::state::world::Fabric;
use frame::Occupancy;
use units::Time;

pub(super) struct Accounting;

impl Stage for Accounting {
    #[inline(always)]
    fn take_room(
        fabric: &mut Fabric,
        at: &AtEgress,
        now: Time,
        events: &mut EventQueue,
    ) -> Result<(), Cause> {
        // A crossbar has counted it at its input.
        if fabric.links.ports[at.egress].features.has(PortFeatures::CROSSBAR)
            || fabric.before_enqueue(at.egress, at.class, &at.frame, at.ingress, now, events)
        {
            Ok(())
        } else {
            Err(Cause::Headroom)
        }
    }

    #[inline(always)]
    fn left(
        fabric: &mut Fabric,
        at: &AtEgress,
        waited: Option<(&Waiting, Occupancy)>,
        now: Time,
        events: &mut EventQueue,
    ) {
        if let Some((waiting, before)) = waited {
            fabric.after_dequeue(at.egress, at.class, waiting, before, now, events);
        }
    }
}
