//! What one end of a link knows of the other without an event.
//!
//! A node acts on what is its own, and what it does to another one is an event over a link: where a [`PortIx`] leads into a table, it
//! is a port of the node whose event runs. The other end of a link is a [`PeerIx`], which is an index of no table, so that
//! what would touch another node's state does not compile. Two things are done ahead of their time all the same, where both ends are in this
//! part and nobody can tell (`ahead::lone_source`, `credits::updates`): they are here, and nothing else may be. What hosts that only
//! count will receive is counted by path (`ahead::arrivals`).

use crate::run::credits::CreditState;
use crate::run::event::{Event, Queued};
use crate::run::index::{PlaceIx, PortIx};
use crate::run::world::Fabric;
use units::Time;

/// The other end of a link of a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerIx(PortIx);

impl From<PeerIx> for PlaceIx {
    #[inline(always)]
    fn from(peer: PeerIx) -> PlaceIx {
        peer.0.into()
    }
}

impl PeerIx {
    /// That with this number, as its own part counts.
    #[inline(always)]
    pub fn new(number: u32) -> PeerIx {
        PeerIx(PortIx::new(number))
    }
}

impl Fabric {
    /// A pause is sent through a port: whoever sends ahead at the other end hears when it acts.
    pub fn tell_of_pause(&mut self, egress: PortIx, acts: Time) {
        let node = self.links.neighbours[egress].wrapping_sub(self.numbering.first_node);
        let PeerIx(peer) = self.links.ports[egress].arrives_as.peer();
        if (node as usize) < self.nodes.len()
            && let Some(lone) = &mut self.links.cold.across(peer).lone_source
        {
            lone.pause_sent(acts);
        }
    }

    /// The credits at the other end of a link, of which updates are read.
    pub(super) fn credits_across(&mut self, port: PortIx) -> Option<&mut CreditState> {
        let PeerIx(peer) = self.links.ports[port].arrives_as.peer();
        self.links.cold.across(peer).control.credits_mut()
    }

    /// The other end of a link looks then whether this one has told of credits, if it does not look before.
    pub(super) fn peer_looks_at(&mut self, port: PortIx, at: Time, windows: &mut Queued) {
        let peer = self.links.ports[port].arrives_as.peer();
        if self.credits_across(port).is_some_and(|credits| credits.looks_at(at)) {
            windows.push(Event::look_for_credits(at, peer));
        }
    }
}
