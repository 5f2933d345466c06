//! The output of a crossbar, where a frame that leaves makes room.

use super::Stage;
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::pool::Waiting;
use crate::run::state::world::Fabric;
use frame::Occupancy;
use units::Time;

pub(super) struct CrossbarOutput;

impl Stage for CrossbarOutput {
    #[inline(always)]
    fn left(
        fabric: &mut Fabric,
        at: &AtEgress,
        _waited: Option<(&Waiting, Occupancy)>,
        now: Time,
        events: &mut EventQueue,
    ) {
        fabric.output_left(at.egress, at.class, &at.frame, now, events);
    }

    #[inline]
    fn dropped(fabric: &mut Fabric, at: &AtEgress, now: Time, events: &mut EventQueue) {
        fabric.output_left(at.egress, at.class, &at.frame, now, events);
    }
}
