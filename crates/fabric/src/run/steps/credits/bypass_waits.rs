//! Waits of bypass queues.

use crate::run::state::event::Queued;
use crate::run::state::index::PortIx;
use crate::run::state::world::Fabric;
use frame::members;
use units::Time;

impl Fabric {
    /// Notes which bypass queues among these classes lack credits. The classes of `before` waited as a whole until now.
    #[inline(never)]
    pub(super) fn note_bypasses(
        &mut self,
        egress: PortIx,
        among: u32,
        before: u32,
        now: Time,
        windows: &mut Queued,
    ) {
        let credits = self.links.cold[egress].control.credits();
        if credits.is_none_or(|credits| credits.bypass_waits.is_none()) {
            return;
        }
        let (first, had) = (self.probes.pauses_ended(), credits.map_or(0, |credits| credits.held));
        let port = &self.links.ports[egress];
        let (queues, free) = (port.first_queue, port.busy_until);
        for class in members(among) {
            let Some(credits) = self.links.cold[egress].control.credits_mut() else { return };
            let lacks = self.buffers.held_in_bypass(queues.plus(class as u32), |frame| credits.lacks(frame));
            let over = credits.note_bypass(class, lacks, before >> class & 1 != 0, free, now);
            over.into_iter().for_each(|over| self.probes.pause_ended(egress, over));
        }
        self.note_held(egress, first, now);
        let Some(credits) = self.links.cold[egress].control.credits() else { return };
        if had == 0 && credits.held != 0 && credits.reads() {
            self.await_update(egress, windows);
        }
    }
}
