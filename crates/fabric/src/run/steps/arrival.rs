//! A frame, or its head, is there: its route says what comes next.

use crate::run::state::event::{Event, Kind, Queued};
use crate::run::state::index::PortIx;
use crate::run::state::port::{HEAD_BYTES, Hooks};
use crate::run::state::world::Fabric;
use frame::{Frame, PathId, Route};
use units::Time;

impl Fabric {
    /// A frame is there as a whole.
    #[inline(always)]
    pub(super) fn arrive(&mut self, event: Event, windows: &mut Queued) {
        let (ingress, mut frame, now) = (event.port(), event.frame(), event.time);
        let (egress, rest_of_way) = self.next_egress(ingress, frame.path, frame.route, now);
        let Some(egress) = egress else {
            return self.arrive_at_end(event, rest_of_way, windows);
        };
        self.note(&event, Kind::Frame, self.numbering.port(ingress));
        frame.route = rest_of_way;
        self.forward(egress, frame, Some(ingress), now, windows);
    }

    /// As `arrive`, at the end of its way, or where it may be copied.
    #[inline(always)]
    pub(super) fn arrive_at_end(&mut self, event: Event, rest_of_way: Route, windows: &mut Queued) {
        let (ingress, mut frame, now) = (event.port(), event.frame(), event.time);
        if frame.flags.is_plain() && self.routes.has_one_receiver(frame.path, frame.route) {
            self.note_received(&frame, now);
        } else {
            self.note(&event, Kind::Frame, self.numbering.port(ingress));
        }
        frame.route = rest_of_way;
        self.arrived(ingress, frame, now, windows);
    }

    /// The head of a frame is there. It may go on at once unless the way out is faster than the way in:
    /// then the link would run dry in the middle of the frame.
    #[inline(never)]
    pub(super) fn head_arrives(
        &mut self,
        ingress: PortIx,
        mut frame: Frame,
        now: Time,
        windows: &mut Queued,
    ) {
        let (egress, rest_of_way) = self.next_egress(ingress, frame.path, frame.route, now);
        let Some(egress) = egress else {
            frame.route = rest_of_way;
            if rest_of_way.is_tree() {
                return self.copy_head(ingress, frame, now, windows);
            }
            // A message for an ideal injector at this switch.
            self.arrived(ingress, frame, now, windows);
            return;
        };
        if self.links.is_faster(egress, ingress) {
            let rest = u64::from(frame.bytes - frame.bytes.min(HEAD_BYTES));
            let at = now + self.links.ports[ingress].clock.span_floor(rest);
            windows.push(Event::arrival(Kind::Frame, at, ingress, frame));
            return;
        }
        frame.route = rest_of_way;
        let port = &self.links.ports[egress];
        if port.hooks.has(Hooks::CROSSBAR) {
            let class = port.classes.class(frame.priority);
            return self.enter_crossbar(egress, class, frame, Some(ingress), now, windows);
        }
        self.forward(egress, frame, Some(ingress), now, windows);
    }

    /// The port that a frame leaves through, `None` if it has come to its end, and the rest of its way. Not told of the
    /// frame as a whole, so that it need not lie in memory.
    #[inline(always)]
    pub(super) fn next_egress(
        &mut self,
        ingress: PortIx,
        path: PathId,
        route: Route,
        now: Time,
    ) -> (Option<PortIx>, Route) {
        let Some(hop) = route.next_hop() else { return self.routed_otherwise(ingress, path, route, now) };
        (self.routes.egress(hop), Route::forward(hop + 1))
    }
}
