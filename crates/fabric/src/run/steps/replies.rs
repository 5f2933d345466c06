//! The way back along a path.
//!
//! A node that holds a frame of a path can answer its sender: the reply takes the links of the path in the other direction, so that it needs
//! no table of its own. It is counted like every other frame and is part of the fingerprint.

use crate::run::state::index::{NodeIx, PortIx};
use crate::run::state::view::NodeView;
use crate::run::steps::spreading;
use frame::{Frame, Heading, PathId, Route};
use std::num::NonZeroU32;
use std::sync::Arc;
use units::Time;

/// The next egress port of a frame that does not follow a path forward, `None` if it has come to its end, and the
/// rest of its way.
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
        // Apart, so that the others need nothing saved.
        Heading::Destination(_) => routed_by_choice(here, ingress, path, route, now),
        // At its end, or where it may be copied.
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

/// The port through which one end of a path sends, and the way from there. `behind`: as in
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

/// A node answers the sender of a frame that follows its path forward and of which `hops` entries of the table of
/// hops are behind it: `reply` goes back along the path. `None` if the frame began its way here.
fn reply(here: &NodeView, hops: u32, reply: Frame, now: Time) -> Option<(PortIx, Frame)> {
    let (egress, back) = here.routes.step_back(hops)?;
    let route = here.routes.route_back(reply.path.0, back);
    Some((egress, Frame { route, created: now, ..reply }))
}

/// The answer of a switch to the sender of a frame that it is about to pass on, whichever end of the path that is, and the port that
/// it leaves through. `None` if the frame began its way here.
pub fn answer(
    here: &mut NodeView,
    node: NodeIx,
    passing: &Frame,
    answer: Frame,
    now: Time,
) -> Option<(PortIx, Frame)> {
    match passing.route.heading() {
        // The next hop is the one that it takes now.
        Heading::Forward(next) | Heading::Tree(next) => reply(here, next - 1, answer, now),
        // It has come back along this hop, which leads on to its sender.
        Heading::Backward(hop) => {
            let egress = here.routes.port_at(hop + 1);
            let planned = Route::forward(hop + 2);
            Some((egress, Frame { route: planned, created: now, ..answer }))
        }
        Heading::Destination(to) => {
            let path = passing.path.0;
            let ends = here.routes.spreading.as_ref().and_then(|spreading| spreading.ends[path as usize]);
            let ends = ends?;
            // A frame to a sender none of whose paths is listed has no recorded sender itself.
            let back = if to == ends.from { ends.to? } else { ends.from };
            let egress = spreading::choose_egress(here, node, path, (back, 0), now)?;
            Some((egress, Frame { route: Route::to(back), created: now, ..answer }))
        }
    }
}
