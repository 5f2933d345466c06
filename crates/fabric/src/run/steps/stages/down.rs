//! A link that is down, or a switch that is off: frames may not even wait.

use super::{Stage, Verdict};
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::losses::Cause;
use crate::run::state::world::Fabric;
use units::Time;

pub(super) struct Down;

impl Stage for Down {
    #[inline(always)]
    fn enter(_fabric: &mut Fabric, _at: &mut AtEgress, _now: Time, _events: &mut EventQueue) -> Verdict {
        Verdict::Wait
    }

    #[inline(always)]
    fn take_room(
        fabric: &mut Fabric,
        at: &AtEgress,
        now: Time,
        _events: &mut EventQueue,
    ) -> Result<(), Cause> {
        let Some(cause) = fabric.links.cold[at.egress].refuses() else { return Ok(()) };
        fabric.note_tied_loss(at.egress, at.class, &at.frame, cause, now);
        Err(cause)
    }
}
