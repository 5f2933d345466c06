//! A frame, or its head, is there: its route says what comes next.

use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::PortIx;
use crate::run::state::port::{HEAD_BYTES, PortFeatures};
use crate::run::state::world::Fabric;
use frame::{Frame, PathId, Route};
use units::Time;

impl Fabric {
    /// A frame is there as a whole.
    #[inline(always)]
    pub fn arrive(&mut self, event: Event, events: &mut EventQueue) {
        let (ingress, mut frame, now) = (event.port(), event.frame(), event.time);
        let (egress, rest_of_way) = self.next_egress(ingress, frame.path, frame.route, now);
        let Some(egress) = egress else {
            return self.arrive_at_end(event, rest_of_way, events);
        };
        self.note(&event, Kind::Frame, self.numbering.port(ingress));
        frame.route = rest_of_way;
        self.forward(egress, frame, Some(ingress), now, events);
    }

    /// As `arrive`, at the end of its way, or where it may be copied.
    #[inline(always)]
    pub(super) fn arrive_at_end(&mut self, event: Event, rest_of_way: Route, events: &mut EventQueue) {
        let (ingress, mut frame, now) = (event.port(), event.frame(), event.time);
        if frame.flags.is_plain() && self.routes.has_one_receiver(frame.path, frame.route) {
            self.note_received(&frame, now);
        } else {
            self.note(&event, Kind::Frame, self.numbering.port(ingress));
        }
        frame.route = rest_of_way;
        self.arrived(ingress, frame, now, events);
    }

    /// The head of a frame is there. It may go on at once unless the way out is faster than the way in:
    /// then the link would run dry in the middle of the frame.
    #[inline(never)]
    pub fn head_arrives(&mut self, ingress: PortIx, mut frame: Frame, now: Time, events: &mut EventQueue) {
        let (egress, rest_of_way) = self.next_egress(ingress, frame.path, frame.route, now);
        let Some(egress) = egress else {
            frame.route = rest_of_way;
            if rest_of_way.is_tree() {
                return self.copy_head(ingress, frame, now, events);
            }
            // A message for an ideal injector at this switch.
            self.arrived(ingress, frame, now, events);
            return;
        };
        if self.links.is_faster(egress, ingress) {
            let rest = u64::from(frame.bytes - frame.bytes.min(HEAD_BYTES));
            let at = now + self.links.ports[ingress].clock.span_floor(rest);
            events.push(Event::arrival(Kind::Frame, at, ingress, frame));
            return;
        }
        frame.route = rest_of_way;
        let port = &self.links.ports[egress];
        if port.features.has(PortFeatures::CROSSBAR) {
            let class = port.classes.class(frame.priority());
            return self.enter_crossbar(egress, class, frame, Some(ingress), now, events);
        }
        self.forward(egress, frame, Some(ingress), now, events);
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
        let Some(hop) = route.next_hop() else { return self.routed_slow(ingress, path, route, now) };
        (self.routes.egress(hop), Route::forward(hop + 1))
    }

    /// A frame has come to its end: a host takes it in. Or to where it may be copied.
    #[inline(always)]
    pub(super) fn arrived(&mut self, ingress: PortIx, frame: Frame, now: Time, events: &mut EventQueue) {
        if frame.route.is_tree() {
            return self.copy_on(ingress, frame, now, events);
        }
        if self.probes.watches_arrivals {
            self.record_arrived(ingress, &frame, now);
        }
        if self.hosts.receiving.is_empty() {
            self.deliver(&frame, now, events);
        } else {
            self.receive(ingress, frame, now, events);
        }
    }
}
