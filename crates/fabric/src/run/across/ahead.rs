//! Updates of the far end of a link that take effect without an event.
//!
//! Two mechanisms act ahead of simulated time where both ends of a link are in the same part and no observer can see the difference
//! (`ahead::lone_source`, `credits::updates`). Their accesses to the far end are here, and no others are allowed. Frames to hosts that only
//! count are counted by path instead (`ahead::arrivals`).

use crate::run::across::peer::PeerIx;
use crate::run::state::credits::CreditState;
use crate::run::state::event::{Event, Queued};
use crate::run::state::index::PortIx;
use crate::run::state::world::Fabric;
use units::Time;

impl Fabric {
    /// Records with a sole greedy source at the far end when a pause sent through this port takes effect.
    pub fn tell_of_pause(&mut self, egress: PortIx, acts: Time) {
        let node = self.links.neighbours[egress].wrapping_sub(self.numbering.first_node);
        let PeerIx(peer) = self.links.ports[egress].arrives_as.peer();
        if (node as usize) < self.nodes.len()
            && let Some(lone) = &mut self.links.cold.across(peer).lone_source
        {
            lone.pause_sent(acts);
        }
    }

    /// Credit state at the far end of a link, for an end that polls updates.
    pub(in crate::run) fn credits_across(&mut self, port: PortIx) -> Option<&mut CreditState> {
        let PeerIx(peer) = self.links.ports[port].arrives_as.peer();
        self.links.cold.across(peer).control.credits_mut()
    }

    /// Schedules a poll for credit updates at the far end of a link at `at`, unless it polls earlier.
    pub(in crate::run) fn peer_looks_at(&mut self, port: PortIx, at: Time, windows: &mut Queued) {
        let peer = self.links.ports[port].arrives_as.peer();
        if self.credits_across(port).is_some_and(|credits| credits.looks_at(at)) {
            windows.push(Event::look_for_credits(at, peer));
        }
    }
}
