//! Limits of queues, and shared memory.

use super::Stage;
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::losses::Cause;
use crate::run::state::view::NodeView;
use crate::run::steps::egress;
use crate::run::steps::sharing;
use crate::run::steps::ties;
use units::Time;

pub(super) struct Memory;

impl Stage for Memory {
    #[inline(always)]
    fn take_room(
        here: &mut NodeView,
        at: &AtEgress,
        now: Time,
        _events: &mut EventQueue,
    ) -> Result<(), Cause> {
        let AtEgress { ref frame, egress, class, ingress, .. } = *at;
        if let Some(cause) = egress::refusal(here, egress, class, frame) {
            ties::note_tied_loss(here, egress, class, frame, cause, now);
            return Err(cause);
        }
        if here.nodes[here.node_of[egress]].memory().sharing.is_some() {
            sharing::share_in(here, here.node_of[egress], egress, class, frame, ingress, now)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn admitted(here: &mut NodeView, at: &AtEgress, now: Time) {
        let memory = here.nodes[here.node_of[at.egress]].memory_mut();
        if memory.limited {
            memory.add(at.class.at(), at.frame.bytes, now);
            if memory.buffer.port.is_some() {
                here.links.cold[at.egress].occupancy.add(at.frame.bytes);
            }
        }
    }
}
