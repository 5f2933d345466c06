//! Updates of the far end of a link that take effect without an event.
//!
//! Two mechanisms act ahead of simulated time where both ends of a link are in the same part and no observer can see
//! the difference (`ahead::sole_source`, `credits::updates`). Their accesses to the far end are here, and no others are
//! allowed. Frames to hosts that only count are counted by path instead (`ahead::arrivals`).

use crate::run::across::peer::PeerIx;
use crate::run::state::credits::CreditState;
use crate::run::state::event::{Event, EventQueue};
use crate::run::state::index::PortIx;
use crate::run::state::view::NodeView;
use units::Time;

/// Notifies a sole greedy source at the far end of the time at which a pause sent through this port takes effect.
pub fn notify_of_pause(here: &mut NodeView, egress: PortIx, acts: Time) {
    let node = here.links.neighbours[egress].wrapping_sub(here.numbering.first_node);
    let PeerIx(peer) = here.links.ports[egress].arrives_as.peer();
    if (node as usize) < here.nodes.len()
        && let Some(lone) = &mut here.links.cold[peer].sole_source
    {
        lone.pause_sent(acts);
    }
}

/// Credit state at the far end of a link, for an end that polls updates.
pub fn credits_across(here: &mut NodeView, port: PortIx) -> Option<&mut CreditState> {
    let PeerIx(peer) = here.links.ports[port].arrives_as.peer();
    here.links.cold[peer].control.credits_mut()
}

/// Schedules a poll for credit updates at the far end of a link at `at`, unless it polls earlier.
pub fn poll_at_peer(here: &mut NodeView, port: PortIx, at: Time, events: &mut EventQueue) {
    let peer = here.links.ports[port].arrives_as.peer();
    if credits_across(here, port).is_some_and(|credits| credits.poll_at(at)) {
        events.push(Event::look_for_credits(at, peer));
    }
}
