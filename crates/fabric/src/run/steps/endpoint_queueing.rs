//! Timers of endpoints, and their positions in the wait queues of NICs.

use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::{EndpointIx, PortIx};
use crate::run::state::nic::InLine;
use crate::run::state::view::NodeView;
use crate::run::steps::endpoint_ways;
use crate::run::steps::limiter_places;
use frame::TrafficClass;
use transport::Requests;
use units::Time;

/// Records the path state of an endpoint, if its series are recorded.
#[inline]
pub fn note_congestion(here: &mut NodeView, nth: EndpointIx, now: Time) {
    let Some(series) = here.probes.congestion.get_mut(nth.at()) else { return };
    series.note(&here.hosts.endpoints[nth].endpoint, now, &mut here.probes.grids);
}

/// Schedules the next call of an endpoint, unless a call at the same time or earlier is pending, which then checks the
/// schedule again. A timer that each acknowledgement moves therefore costs no event.
#[inline(always)]
pub fn wake_in_time(here: &mut NodeView, nth: EndpointIx, call_at: Time, now: Time, events: &mut EventQueue) {
    if let Some(at) = here.hosts.endpoints[nth].wake(call_at, now) {
        schedule_call(here, nth, at, events);
    }
}

#[inline(never)]
pub fn schedule_call(here: &mut NodeView, nth: EndpointIx, at: Time, events: &mut EventQueue) {
    events.push(Event::bare(Kind::Timeout, at, here.place_of_endpoint(nth)));
}

/// Appends an endpoint that has something to send to its wait queue. Returns its port and class.
#[inline(never)]
pub fn stand_in_line(
    here: &mut NodeView,
    nth: EndpointIx,
    now: Time,
    events: &mut EventQueue,
) -> Option<(PortIx, TrafficClass)> {
    let limiter = here.hosts.endpoints[nth].limiter;
    if let Some(limiter) = limiter {
        return limiter_places::stand_at_limiter(here, limiter, nth, now, events);
    }
    let place = place_of(here, nth)?;
    join_line(here, nth, place, now);
    Some(place)
}

/// The port and class through which an endpoint sends.
#[inline(always)]
pub fn place_of(here: &mut NodeView, nth: EndpointIx) -> Option<(PortIx, TrafficClass)> {
    let egress = endpoint_ways::egress_of(here, nth)?;
    let priority = here.hosts.endpoints[nth].priority;
    Some((egress, here.links.ports[egress].classes.class(priority)))
}

/// Appends an endpoint to the wait queue of its class.
pub fn join_line(here: &mut NodeView, nth: EndpointIx, (egress, class): (PortIx, TrafficClass), now: Time) {
    let Some(nic) = &mut here.links.nics[egress] else { return };
    nic.join(class, InLine::Endpoint(nth));
    here.hosts.endpoints[nth].join(nic, class, now);
}

/// Handles the requests of an endpoint after a segment has been pulled: sets its timer, and enqueues it again if it has
/// more to send. Returns the port and class of that wait queue.
#[inline(always)]
pub fn endpoint_was_pulled(
    here: &mut NodeView,
    nth: EndpointIx,
    requests: Requests,
    now: Time,
    events: &mut EventQueue,
) -> Option<(PortIx, TrafficClass)> {
    note_congestion(here, nth, now);
    wake_in_time(here, nth, requests.call_at, now, events);
    let in_line = here.hosts.endpoints[nth].in_line;
    if requests.has_work && !in_line { stand_in_line(here, nth, now, events) } else { None }
}
