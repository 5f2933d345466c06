//! The return route along a path.
//!
//! A node that holds a frame of a path can answer its sender: the reply takes the links of the path in the other
//! direction, so it needs no table of its own. The reply is counted like every other frame and is part of the
//! fingerprint.

use crate::run::state::index::{NodeIx, PortIx};
use crate::run::state::view::NodeView;
use crate::run::steps::spreading;
use frame::{Frame, Heading, PathId, Route};
use std::num::NonZeroU32;
use std::sync::Arc;
use units::Time;

/// Returns the next egress port of a frame that does not follow a path forward (`None` if it has arrived), and the rest
/// of its route.
#[inline(never)]
pub fn routed_slow(
    here: &mut NodeView,
    ingress: PortIx,
    path: PathId,
    route: Route,
    now: Time,
) -> (Option<PortIx>, Route) {
    match route.heading() {
        Heading::Backward(hops) => match here.routes.step_back(hops) {
            Some((egress, rest)) => (Some(egress), rest),
            None => (None, route),
        },
        // A separate function, so that the other cases need not save registers.
        Heading::Destination(_) => routed_by_choice(here, ingress, path, route, now),
        // At the end of its path, or at a switch that may copy it.
        Heading::Tree(hop) if here.routes.egress(hop).is_none() => (None, Route::forward(hop + 1)),
        Heading::Tree(_) | Heading::Forward(_) => (None, route),
    }
}

/// Variant of `routed_slow` for a frame whose port each switch chooses.
#[inline(never)]
fn routed_by_choice(
    here: &mut NodeView,
    ingress: PortIx,
    path: PathId,
    route: Route,
    now: Time,
) -> (Option<PortIx>, Route) {
    let Heading::Destination(to) = route.heading() else { return (None, route) };
    let node = here.node_of[ingress];
    let detours = here.routes.spreading.as_deref().and_then(|spreading| spreading.detours.as_ref());
    if let Some(detours) = detours.map(Arc::clone) {
        return spreading::onward(here, node, path.0, (to, route.entropy()), &detours, now);
    }
    (spreading::choose_egress(here, node, path.0, (to, route.entropy()), now), route)
}

/// Returns the port through which one end of a path sends, and the route from there. `behind`: as in
/// [`EndpointState`](crate::run::state::endpoint_state::EndpointState).
pub fn way_from(here: &NodeView, path: u32, behind: Option<NonZeroU32>) -> Option<(PortIx, Route)> {
    match behind {
        None => {
            let start = here.routes.path_start[path as usize];
            Some((here.routes.port_at(start), here.routes.route_of(path, Route::forward(start + 1))))
        }
        Some(behind) => {
            let (egress, back) = here.routes.step_back(behind.get())?;
            Some((egress, here.routes.route_back(path, back)))
        }
    }
}

/// Routes `reply` back to the sender of a frame that follows its path forward and has passed `hops` entries of the
/// table of hops. `None` if the frame originates here.
fn reply(here: &NodeView, hops: u32, reply: Frame, now: Time) -> Option<(PortIx, Frame)> {
    let (egress, back) = here.routes.step_back(hops)?;
    let route = here.routes.route_back(reply.path.0, back);
    Some((egress, Frame { route, created: now, ..reply }))
}

/// Routes the answer of a switch to the sender, at either end of the path, of a frame that the switch is about to
/// forward. Returns its egress port; `None` if the frame originates here.
pub fn answer(
    here: &mut NodeView,
    node: NodeIx,
    passing: &Frame,
    answer: Frame,
    now: Time,
) -> Option<(PortIx, Frame)> {
    match passing.route.heading() {
        // The next hop is the one that the frame takes now.
        Heading::Forward(next) | Heading::Tree(next) => reply(here, next - 1, answer, now),
        // The frame came back along this hop, which leads on to its sender.
        Heading::Backward(hop) => {
            let egress = here.routes.port_at(hop + 1);
            let planned = Route::forward(hop + 2);
            Some((egress, Frame { route: planned, created: now, ..answer }))
        }
        Heading::Destination(to) => {
            let path = passing.path.0;
            let ends = here.routes.spreading.as_ref().and_then(|spreading| spreading.ends[path as usize]);
            let ends = ends?;
            // The path of a frame towards a sender with unlisted paths does not record the frame's own sender.
            let back = if to == ends.from { ends.to? } else { ends.from };
            let egress = spreading::choose_egress(here, node, path, (back, 0), now)?;
            Some((egress, Frame { route: Route::to(back), created: now, ..answer }))
        }
    }
}
