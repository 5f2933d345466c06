//! A failed link, or a switch that is off: frames may not be queued.

use super::{Stage, Verdict};
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::losses::Cause;
use crate::run::state::view::NodeView;
use crate::run::steps::ties;
use units::Time;

pub(super) struct Down;

impl Stage for Down {
    #[inline(always)]
    fn enter(_here: &mut NodeView, _at: &mut AtEgress, _now: Time, _events: &mut EventQueue) -> Verdict {
        Verdict::Wait
    }

    #[inline(always)]
    fn take_room(
        here: &mut NodeView,
        at: &AtEgress,
        now: Time,
        _events: &mut EventQueue,
    ) -> Result<(), Cause> {
        let Some(cause) = here.links.cold[at.egress].refuses() else { return Ok(()) };
        ties::note_tied_loss(here, at.egress, at.class, &at.frame, cause, now);
        Err(cause)
    }
}
