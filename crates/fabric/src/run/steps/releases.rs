//! Transfers that begin when others have ended, as far as their host hears of it.

use crate::run::state::event::EventQueue;
use crate::run::state::index::EndpointIx;
use crate::run::state::releases::{End, Starter, Waiting};
use crate::run::state::world::Fabric;
use transport::{HostEvent, Protocol};
use units::Time;

impl Fabric {
    /// Takes the ends that an endpoint tells of.
    #[inline(never)]
    pub fn take_ends(&mut self, nth: EndpointIx, now: Time, events: &mut EventQueue) {
        while let Some(transfer) = self.hosts.endpoints[nth].endpoint.poll_ended() {
            self.transfer_ended(End::Endpoint(nth, transfer), now, events);
        }
    }

    /// A transfer has ended that others may wait for.
    #[inline(never)]
    pub fn transfer_ended(&mut self, end: End, now: Time, events: &mut EventQueue) {
        for Waiting { starter, nth: transfer, .. } in self.hosts.releases.ended(end, now) {
            match starter {
                Starter::Endpoint(nth) => {
                    self.hosts.endpoints[nth].endpoint.on_event(now, &HostEvent::Release(transfer));
                    self.update_endpoint(nth, now, events);
                }
                Starter::Source(source, row) => {
                    self.hosts.sources[source].source.release(row as usize, transfer);
                    self.fill(source, now, events);
                }
            }
        }
    }
}
