//! Frames that nodes send themselves, and the way back along a path.
//!
//! A node that has a frame of a path in its hands can answer its sender: the reply takes the path's links in the
//! other direction, so that it needs no table of its own. It is booked, counted and made part of the fingerprint like
//! every other frame.

use crate::run::state::event::Queued;
use crate::run::state::index::{NodeIx, PortIx};
use crate::run::state::world::Fabric;
use frame::{Frame, Heading, PathId, Route};
use std::num::NonZeroU32;
use units::Time;

impl Fabric {
    /// The next egress port of a frame that does not follow a path forward, `None` if it has come to its end, and the
    /// rest of its way.
    #[inline(never)]
    pub fn routed_otherwise(
        &mut self,
        ingress: PortIx,
        path: PathId,
        route: Route,
        now: Time,
    ) -> (Option<PortIx>, Route) {
        match route.heading() {
            Heading::Backward(hops) => match self.routes.step_back(hops) {
                Some((egress, rest)) => (Some(egress), rest),
                None => (None, route),
            },
            // Apart, so that the others need nothing saved.
            Heading::Destination(_) => self.routed_by_choice(ingress, path, route, now),
            // At its end, or where it may be copied.
            Heading::Tree(hop) if self.routes.egress(hop).is_none() => (None, Route::forward(hop + 1)),
            Heading::Tree(_) | Heading::Forward(_) => (None, route),
        }
    }

    /// As `routed_otherwise`, of a frame for which each switch chooses.
    #[inline(never)]
    fn routed_by_choice(
        &mut self,
        ingress: PortIx,
        path: PathId,
        route: Route,
        now: Time,
    ) -> (Option<PortIx>, Route) {
        let Heading::Destination(to) = route.heading() else { return (None, route) };
        (self.choose_egress(self.node_of[ingress], path.0, to, now), route)
    }

    /// The port through which one end of a path sends, and the way from there. `behind`: as in
    /// [`EndpointState`](crate::run::state::endpoint_state::EndpointState).
    pub fn way_from(&self, path: u32, behind: Option<NonZeroU32>) -> Option<(PortIx, Route)> {
        match behind {
            None => {
                let start = self.routes.path_start[path as usize];
                Some((self.routes.port_at(start), self.routes.route_of(path, Route::forward(start + 1))))
            }
            Some(behind) => {
                let (egress, back) = self.routes.step_back(behind.get())?;
                Some((egress, self.routes.route_back(path, back)))
            }
        }
    }

    /// A node answers the sender of a frame that follows its path forward and of which `hops` entries of the table of
    /// hops are behind it: `reply` goes back along the path. `None` if the frame began its way here.
    fn reply(&self, hops: u32, reply: Frame, now: Time) -> Option<(PortIx, Frame)> {
        let (egress, back) = self.routes.step_back(hops)?;
        let route = self.routes.route_back(reply.path.0, back);
        Some((egress, Frame { route, created: now, ..reply }))
    }

    /// The answer of a switch to the sender of a frame that it is about to pass on, whichever end of the path that is, and the port that
    /// it leaves through. `None` if the frame began its way here.
    pub fn answer(
        &mut self,
        node: NodeIx,
        passing: &Frame,
        answer: Frame,
        now: Time,
    ) -> Option<(PortIx, Frame)> {
        match passing.route.heading() {
            // The next hop is the one that it takes now.
            Heading::Forward(next) | Heading::Tree(next) => self.reply(next - 1, answer, now),
            // It has come back along this hop, which leads on to its sender.
            Heading::Backward(hop) => {
                let egress = self.routes.port_at(hop + 1);
                let planned = Route::forward(hop + 2);
                Some((egress, Frame { route: planned, created: now, ..answer }))
            }
            Heading::Destination(to) => {
                let path = passing.path.0;
                let ends = self.routes.spreading.as_ref().and_then(|spreading| spreading.ends[path as usize]);
                let ends = ends?;
                // A frame to a sender none of whose paths is listed has no known sender itself.
                let back = if to == ends.from { ends.to? } else { ends.from };
                let egress = self.choose_egress(node, path, back, now)?;
                Some((egress, Frame { route: Route::to(back), created: now, ..answer }))
            }
        }
    }

    /// A node sends a frame of its own through one of its ports.
    pub fn originate(&mut self, egress: PortIx, frame: Frame, now: Time, windows: &mut Queued) {
        self.ledger.made += 1;
        self.forward(egress, frame, None, now, windows);
    }
}
