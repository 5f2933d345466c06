//! The watchdog for pause storms: drops the frames of a class that is in a storm.

use super::Stage;
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::losses::Cause;
use crate::run::state::world::Fabric;
use units::Time;

pub(super) struct Watchdog;

impl Stage for Watchdog {
    #[inline(always)]
    fn take_room(
        fabric: &mut Fabric,
        at: &AtEgress,
        now: Time,
        _events: &mut EventQueue,
    ) -> Result<(), Cause> {
        if !fabric.dropped_in_storm(at.egress, at.class, at.frame.bytes) {
            return Ok(());
        }
        fabric.note_tied_loss(at.egress, at.class, &at.frame, Cause::Watchdog, now);
        Err(Cause::Watchdog)
    }
}
