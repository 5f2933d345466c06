//! Limits of what waits, and memory that the queues of a switch share.

use super::Stage;
use crate::run::state::admitted::AtEgress;
use crate::run::state::event::EventQueue;
use crate::run::state::losses::Cause;
use crate::run::state::world::Fabric;
use units::Time;

pub(super) struct Memory;

impl Stage for Memory {
    #[inline(always)]
    fn take_room(
        fabric: &mut Fabric,
        at: &AtEgress,
        now: Time,
        _events: &mut EventQueue,
    ) -> Result<(), Cause> {
        let AtEgress { ref frame, egress, class, ingress } = *at;
        if let Some(cause) = fabric.refusal(egress, class, frame) {
            fabric.note_tied_loss(egress, class, frame, cause, now);
            return Err(cause);
        }
        if fabric.nodes[fabric.node_of[egress]].memory().sharing.is_some() {
            fabric.share_in(fabric.node_of[egress], egress, class, frame, ingress, now)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn admitted(fabric: &mut Fabric, at: &AtEgress, now: Time) {
        let memory = fabric.nodes[fabric.node_of[at.egress]].memory_mut();
        if memory.limited {
            memory.add(at.class.at(), at.frame.bytes, now);
            if memory.buffer.port.is_some() {
                fabric.links.cold[at.egress].occupancy.add(at.frame.bytes);
            }
        }
    }
}
