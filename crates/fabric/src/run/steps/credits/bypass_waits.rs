//! Waits of bypass queues.

use crate::run::state::event::EventQueue;
use crate::run::state::index::PortIx;
use crate::run::state::view::NodeView;
use crate::run::steps::credits::updates;
use crate::run::steps::victims;
use frame::{TrafficClass, members};
use units::Time;

/// Records which bypass queues among these classes lack credits. The classes in `before` waited as a whole until now.
#[inline(never)]
pub fn note_bypasses(
    here: &mut NodeView,
    egress: PortIx,
    among: u32,
    before: u32,
    now: Time,
    events: &mut EventQueue,
) {
    let credits = here.links.cold[egress].control.credits();
    if credits.is_none_or(|credits| credits.bypass_waits.is_none()) {
        return;
    }
    let (first, had) = (here.probes.pauses_ended(), credits.map_or(0, |credits| credits.held));
    let free = here.links.ports[egress].busy_until;
    for class in members(among) {
        let Some(credits) = here.links.cold[egress].control.credits_mut() else { return };
        let lacks =
            here.buffers.held_in_bypass(here.links.ports[egress].queue(TrafficClass(class as u8)), |frame| {
                credits.lacks(frame)
            });
        let over = credits.note_bypass(class, lacks, before >> class & 1 != 0, free, now);
        over.into_iter().for_each(|over| here.probes.pause_ended(egress, over));
    }
    victims::note_held(here, egress, first, now);
    let Some(credits) = here.links.cold[egress].control.credits() else { return };
    if had == 0 && credits.held != 0 && credits.polls() {
        updates::await_update(here, egress, events);
    }
}
