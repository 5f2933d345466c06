//! Arrival of a frame, or of its head: the next step on its route.

use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::PortIx;
use crate::run::state::port::{HEAD_BYTES, PortFeatures};
use crate::run::state::view::NodeView;
use crate::run::steps::ahead::arrivals;
use crate::run::steps::copies;
use crate::run::steps::crossbar::crossings;
use crate::run::steps::delivery;
use crate::run::steps::fingerprints;
use crate::run::steps::forward;
use crate::run::steps::probes;
use crate::run::steps::receive;
use crate::run::steps::replies;
use frame::{Frame, PathId, Route};
use units::Time;

/// Handles the arrival of a whole frame.
#[inline(always)]
pub fn arrive(here: &mut NodeView, ingress: PortIx, event: Event, events: &mut EventQueue) {
    let (mut frame, now) = (event.frame(), event.time);
    let (egress, rest_of_way) = next_egress(here, ingress, frame.path, frame.route, now);
    let Some(egress) = egress else {
        return arrive_at_end(here, ingress, event, rest_of_way, events);
    };
    let number = here.numbering.port(ingress);
    fingerprints::note(here, here.node_of[ingress], &event, Kind::Frame, number);
    frame.route = rest_of_way;
    forward::forward(here, egress, frame, Some(ingress), now, events);
}

/// Variant of `arrive` for a frame at the end of its path, or at a switch that may copy it.
#[inline(always)]
pub(super) fn arrive_at_end(
    here: &mut NodeView,
    ingress: PortIx,
    event: Event,
    rest_of_way: Route,
    events: &mut EventQueue,
) {
    let (mut frame, now) = (event.frame(), event.time);
    if frame.flags.is_plain() && here.routes.has_one_receiver(frame.path, frame.route) {
        arrivals::note_received(here, &frame, now);
    } else {
        let number = here.numbering.port(ingress);
        fingerprints::note(here, here.node_of[ingress], &event, Kind::Frame, number);
    }
    frame.route = rest_of_way;
    arrived(here, ingress, frame, now, events);
}

/// Handles the arrival of the head of a frame. It may be forwarded immediately unless the egress link is faster than
/// the ingress link, which would underrun in the middle of the frame.
#[inline(never)]
pub fn head_arrives(
    here: &mut NodeView,
    ingress: PortIx,
    mut frame: Frame,
    now: Time,
    events: &mut EventQueue,
) {
    let (egress, rest_of_way) = next_egress(here, ingress, frame.path, frame.route, now);
    let Some(egress) = egress else {
        frame.route = rest_of_way;
        if rest_of_way.is_tree() {
            return copies::copy_head(here, ingress, frame, now, events);
        }
        // A message for an ideal injector at this switch.
        arrived(here, ingress, frame, now, events);
        return;
    };
    if here.links.is_faster(egress, ingress) {
        let rest = u64::from(frame.bytes - frame.bytes.min(HEAD_BYTES));
        let at = now + here.links.cold[ingress].arrives_by.span_floor(rest);
        events.push(Event::arrival(Kind::Frame, at, ingress, frame));
        return;
    }
    frame.route = rest_of_way;
    let port = &here.links.ports[egress];
    if port.features.has(PortFeatures::CROSSBAR) {
        let class = port.classes.class(frame.priority());
        return crossings::enter_crossbar(here, egress, class, frame, Some(ingress), now, events);
    }
    forward::forward(here, egress, frame, Some(ingress), now, events);
}

/// Returns the egress port of a frame (`None` at the end of its path) and the rest of its path. The arguments are
/// fields of the frame, which therefore need not be in memory.
#[inline(always)]
pub(super) fn next_egress(
    here: &mut NodeView,
    ingress: PortIx,
    path: PathId,
    route: Route,
    now: Time,
) -> (Option<PortIx>, Route) {
    let Some(hop) = route.next_hop() else { return replies::routed_slow(here, ingress, path, route, now) };
    (here.routes.egress(hop), Route::forward(hop + 1))
}

/// Handles a frame at the end of its path, for processing by a host, or at a switch that may copy it.
#[inline(always)]
pub(super) fn arrived(
    here: &mut NodeView,
    ingress: PortIx,
    frame: Frame,
    now: Time,
    events: &mut EventQueue,
) {
    if frame.route.is_tree() {
        return copies::copy_on(here, ingress, frame, now, events);
    }
    if here.probes.watches_arrivals {
        probes::record_arrived(here, ingress, &frame, now);
    }
    if here.hosts.receiving.is_empty() {
        delivery::deliver(here, &frame, now, events);
    } else {
        receive::receive(here, ingress, frame, now, events);
    }
}
