//! Transfers that start at the end of others, as observed by their host.

use crate::run::state::deferred::Deferred;
use crate::run::state::event::EventQueue;
use crate::run::state::index::EndpointIx;
use crate::run::state::releases::{End, Starter, Waiting};
use crate::run::state::view::NodeView;
use crate::run::steps::endpoints;
use crate::run::steps::sources;
use transport::{HostEvent, Protocol};
use units::Time;

/// Polls an endpoint for ended transfers.
#[inline(never)]
pub fn take_ends(here: &mut NodeView, nth: EndpointIx, now: Time, events: &mut EventQueue) {
    while let Some((transfer, times)) = here.hosts.endpoints[nth].endpoint.poll_ended_with_times() {
        let Some(notified) = here.hosts.ranks.notified(nth) else {
            transfer_ended(here, End::Endpoint(nth, transfer), now, events);
            continue;
        };
        if here.hosts.ranks.notify(notified, (transfer, times), now) {
            here.deferred.push(Deferred::Rank(notified.rank));
        }
    }
}

/// Handles the end of a transfer that others may wait for.
#[inline(never)]
pub fn transfer_ended(here: &mut NodeView, end: End, now: Time, events: &mut EventQueue) {
    for Waiting { starter, nth: transfer, .. } in here.hosts.releases.ended(end, now) {
        match starter {
            Starter::Endpoint(nth) => {
                here.hosts.endpoints[nth].endpoint.on_event(now, &HostEvent::Release(transfer));
                endpoints::update_endpoint(here, nth, now, events);
            }
            Starter::Source(source, row) => {
                here.hosts.sources[source].source.release(row as usize, transfer);
                sources::fill(here, source, now, events);
            }
        }
    }
}
