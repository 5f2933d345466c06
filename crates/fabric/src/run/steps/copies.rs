//! Multicast: switches copy frames where the paths to their receivers diverge.

use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::PortIx;
use crate::run::state::port::HEAD_BYTES;
use crate::run::state::view::NodeView;
use crate::run::steps::forward;
use frame::{Frame, Heading, Route};
use units::Time;

/// Forwards a whole frame at a switch that may copy it.
#[inline(never)]
pub fn copy_on(here: &mut NodeView, ingress: PortIx, frame: Frame, now: Time, events: &mut EventQueue) {
    let Heading::Tree(hop) = frame.route.heading() else { return };
    let fork = here.copies.forks.of(hop);
    let ways = fork.as_ref().map_or(1, ExactSizeIterator::len);
    let word = here.copies.inputs[ingress].enter(ways as u32);
    here.ledger.copied += ways as u64 - 1;
    here.copies.made[frame.path.at()] += ways as u64 - 1;
    for way in 0..ways {
        let (path, hop) = match &fork {
            Some(fork) => here.copies.forks.branches[fork.start + way],
            None => (frame.path, hop),
        };
        let copy = Frame { path, route: Route::tree(hop + 1), word, ..frame };
        let egress = here.routes.port_at(hop);
        forward::forward(here, egress, copy, Some(ingress), now, events);
    }
}

/// Variant of `copy_on` for a frame whose head has arrived.
#[inline(never)]
pub fn copy_head(here: &mut NodeView, ingress: PortIx, frame: Frame, now: Time, events: &mut EventQueue) {
    if !is_outrun(here, ingress, frame.route) {
        return copy_on(here, ingress, frame, now, events);
    }
    let rest = u64::from(frame.bytes - frame.bytes.min(HEAD_BYTES));
    let at = now + here.links.cold[ingress].arrives_by.span_floor(rest);
    events.push(Event::arrival(Kind::Frame, at, ingress, frame));
}

/// Returns true if any egress link of a frame is faster than its ingress link.
fn is_outrun(here: &NodeView, ingress: PortIx, route: Route) -> bool {
    let Heading::Tree(hop) = route.heading() else { return false };
    let arrives = here.links.cold[ingress].arrival_rate;
    let outruns = |hop: u32| here.links.cold[here.routes.port_at(hop)].rate > arrives;
    match here.copies.forks.of(hop) {
        Some(fork) => here.copies.forks.branches[fork].iter().any(|&(_, hop)| outruns(hop)),
        None => outruns(hop),
    }
}
