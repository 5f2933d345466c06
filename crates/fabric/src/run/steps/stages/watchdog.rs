//! The watchdog for pause storms: drops the frames of a class that is in a storm.

use super::Stage;
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::losses::Cause;
use crate::run::state::view::NodeView;
use crate::run::steps::losses;
use crate::run::steps::ties;
use units::Time;

pub(super) struct Watchdog;

impl Stage for Watchdog {
    #[inline(always)]
    fn take_room(
        here: &mut NodeView,
        at: &AtEgress,
        now: Time,
        _events: &mut EventQueue,
    ) -> Result<(), Cause> {
        if !losses::dropped_in_storm(here, at.egress, at.class, at.frame.bytes) {
            return Ok(());
        }
        ties::note_tied_loss(here, at.egress, at.class, &at.frame, Cause::Watchdog, now);
        Err(Cause::Watchdog)
    }
}
