//! The position of a rate limiter in the wait queue of its host's NIC: at the port and class where its next frame
//! leaves.
//!
//! Frames from the near end of a path leave at its first port. Frames from its far end leave through the port at which
//! the last frame from the near end arrived.

use crate::run::state::event::EventQueue;
use crate::run::state::index::{EndpointIx, LimiterIx, PortIx};
use crate::run::state::limiter_line::Next;
use crate::run::state::limiter_places::NextFrame;
use crate::run::state::nic::InLine;
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::endpoint_ways;
use crate::run::steps::limiter_calls;
use crate::run::steps::replies;
use frame::{Heading, PathId, Priority, Route, TrafficClass};
use units::Time;

/// Appends a limiter that may send to the wait queue of its class, at the port where its next frame leaves.
#[inline(always)]
pub fn limiter_in_line(here: &mut NodeView, nth: LimiterIx, now: Time) -> Option<(PortIx, TrafficClass)> {
    let is_held = here.hosts.limiters[nth].is_held(now);
    if is_held { None } else { open_limiter_in_line(here, nth, now) }
}

#[inline(never)]
fn open_limiter_in_line(here: &mut NodeView, nth: LimiterIx, now: Time) -> Option<(PortIx, TrafficClass)> {
    let (_, place) = next_to_leave(here, nth, now)?;
    join_line_of(here, nth, place, now);
    Some(place)
}

/// Returns the next frame of a limiter that may send, and the port and class where it leaves; `None` if the limiter is
/// already in the wait queue there. If it is in another wait queue, because its next frame has changed, it is removed
/// from that queue.
#[inline(always)]
pub fn next_to_leave(
    here: &mut NodeView,
    nth: LimiterIx,
    now: Time,
) -> Option<(NextFrame, (PortIx, TrafficClass))> {
    let limiter = &mut here.hosts.limiters[nth];
    limiter.gate.pacer.handle_timeout(now);
    if limiter.is_held(now) {
        return None;
    }
    let stands = limiter.stands;
    let next = next_of_limiter(here, nth)?;
    if stands.is_some_and(|place| leaves_at(here, &next, place)) {
        return None;
    }
    let egress = egress_of_next(here, &next)?;
    let class = here.links.ports[egress].classes.class(next.priority);
    if let Some((old, _)) = stands {
        take_out_of_lines(here, nth, old);
        limiter_left_line(here, nth);
    }
    Some((next, (egress, class)))
}

/// Appends a limiter to a wait queue.
pub fn join_line_of(here: &mut NodeView, nth: LimiterIx, (egress, class): (PortIx, TrafficClass), now: Time) {
    let limiter = &mut here.hosts.limiters[nth];
    (limiter.stands, limiter.in_line_since) = (Some((egress, class)), now);
    if let Some(nic) = &mut here.links.nics[egress] {
        nic.join(class, InLine::Limiter(nth));
    }
}

/// Returns the frame that leaves a limiter next.
#[inline]
pub fn next_of_limiter(here: &NodeView, nth: LimiterIx) -> Option<NextFrame> {
    let line = &here.hosts.limiters[nth].line;
    let next = line.next()?;
    let priority = next.priority();
    let (path, far) = match next {
        Next::Endpoint(_, endpoint) => {
            let state = &here.hosts.endpoints[endpoint];
            (PathId(state.path), state.behind.and(Some(endpoint)))
        }
        Next::Frame(priority) => (here.buffers.pool.iter(line.list(priority)).next()?.frame.path, None),
    };
    Some(NextFrame { path, priority, far })
}

/// Returns the port of the next frame of a limiter, and its route from there, unless a link is down.
pub fn way_of_next(here: &NodeView, next: &NextFrame) -> Option<(PortIx, Route)> {
    let behind = next.far.and_then(|far| here.hosts.endpoints[far].behind);
    replies::way_from(here, next.path.0, behind)
}

/// Returns the egress port of the next frame of a limiter.
#[inline]
fn egress_of_next(here: &mut NodeView, next: &NextFrame) -> Option<PortIx> {
    let Some(far) = next.far else { return Some(here.routes.first_port(next.path.0)) };
    endpoint_ways::egress_of(here, far).or_else(|| Some(way_of_next(here, next)?.0))
}

/// Returns true if the next frame of a limiter can leave through a port and class.
#[inline]
pub fn leaves_at(here: &NodeView, next: &NextFrame, (egress, class): (PortIx, TrafficClass)) -> bool {
    here.links.ports[egress].classes.class(next.priority) == class
        && if next.far.is_none() {
            here.routes.first_port(next.path.0) == egress
        } else {
            answer_leaves_at(here, next, egress)
        }
}

/// Variant of `leaves_at` for a frame from a far end. If switches choose its path, it may take any port that is up
/// while its own is down.
fn answer_leaves_at(here: &NodeView, next: &NextFrame, egress: PortIx) -> bool {
    let Some((planned, route)) = way_of_next(here, next) else { return false };
    let is_down = |port: PortIx| here.links.ports[port].features.has(PortFeatures::DOWN);
    let is_chosen = matches!(route.heading(), Heading::Destination(_));
    planned == egress || is_chosen && is_down(planned) && !is_down(egress)
}

/// Records that a limiter is in no wait queue.
pub fn limiter_left_line(here: &mut NodeView, nth: LimiterIx) {
    here.hosts.limiters[nth].stands = None;
}

/// Removes a limiter from all wait queues at the host of a port.
pub fn take_out_of_lines(here: &mut NodeView, nth: LimiterIx, port: PortIx) {
    for port in here.ports_beside(port) {
        if let Some(nic) = &mut here.links.nics[port] {
            nic.leave(InLine::Limiter(nth));
        }
    }
}

/// Returns the frame that an entry of a wait queue represents: its path, its priority, and the start of its wait.
pub fn stands_for(here: &NodeView, entry: InLine) -> Option<(PathId, Priority, Time)> {
    match entry {
        InLine::Endpoint(nth) => {
            let state = &here.hosts.endpoints[nth];
            Some((PathId(state.path), state.priority, state.since))
        }
        InLine::Limiter(limiter) => {
            let NextFrame { path, priority, .. } = next_of_limiter(here, limiter)?;
            Some((path, priority, here.hosts.limiters[limiter].in_line_since))
        }
    }
}

/// Adds an endpoint with a frame to send to its limiter. Returns the port and class whose wait queue the limiter now
/// joins.
#[inline(never)]
pub fn stand_at_limiter(
    here: &mut NodeView,
    nth: LimiterIx,
    endpoint: EndpointIx,
    now: Time,
    events: &mut EventQueue,
) -> Option<(PortIx, TrafficClass)> {
    let state = &mut here.hosts.endpoints[endpoint];
    state.in_line = true;
    let priority = state.priority;
    let limiter = &mut here.hosts.limiters[nth];
    limiter.holds_from(now);
    limiter.line.come(priority, endpoint);
    limiter_calls::wake_limiter(here, nth, now, events);
    limiter_in_line(here, nth, now)
}
