//! Timers of endpoints, and their places in the wait queues of NICs.

use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::{EndpointIx, PortIx};
use crate::run::state::nic::InLine;
use crate::run::state::world::Fabric;
use frame::TrafficClass;
use transport::Requests;
use units::Time;

impl Fabric {
    /// Notes what an endpoint knows of its path, where series are recorded.
    #[inline]
    pub fn note_congestion(&mut self, nth: EndpointIx, now: Time) {
        let Some(series) = self.probes.congestion.get_mut(nth.at()) else { return };
        series.note(&self.hosts.endpoints[nth].endpoint, now);
    }

    /// Schedules the next call of an endpoint, unless one is pending that is not later: then it is looked at anew. A
    /// timer that each acknowledgement moves costs no event for it.
    #[inline(always)]
    pub fn wake_in_time(&mut self, nth: EndpointIx, call_at: Time, now: Time, events: &mut EventQueue) {
        if let Some(at) = self.hosts.endpoints[nth].wake(call_at, now) {
            self.schedule_call(nth, at, events);
        }
    }

    #[inline(never)]
    pub fn schedule_call(&mut self, nth: EndpointIx, at: Time, events: &mut EventQueue) {
        events.push(Event::bare(Kind::Timeout, at, self.place_of_endpoint(nth)));
    }

    /// Puts an endpoint that has something to send at the end of its line: port and class.
    #[inline(never)]
    fn stand_in_line(
        &mut self,
        nth: EndpointIx,
        now: Time,
        events: &mut EventQueue,
    ) -> Option<(PortIx, TrafficClass)> {
        let limiter = self.hosts.endpoints[nth].limiter;
        if let Some(limiter) = limiter {
            return self.stand_at_limiter(limiter, nth, now, events);
        }
        let place = self.place_of(nth)?;
        self.join_line(nth, place, now);
        Some(place)
    }

    /// The port and class that an endpoint sends through.
    #[inline(always)]
    pub fn place_of(&mut self, nth: EndpointIx) -> Option<(PortIx, TrafficClass)> {
        let egress = self.egress_of(nth)?;
        let priority = self.hosts.endpoints[nth].priority;
        Some((egress, self.links.ports[egress].classes.class(priority)))
    }

    /// An endpoint stands at the end of its line.
    pub fn join_line(&mut self, nth: EndpointIx, (egress, class): (PortIx, TrafficClass), now: Time) {
        let Some(nic) = &mut self.links.nics[egress] else { return };
        nic.join(class, InLine::Endpoint(nth));
        self.hosts.endpoints[nth].join(nic, class, now);
    }

    /// A segment of an endpoint has been pulled, and this is what it requests now: sets its timer, and lets it stand in line
    /// again if it has more, at which port and class.
    #[inline(always)]
    pub fn endpoint_was_pulled(
        &mut self,
        nth: EndpointIx,
        requests: Requests,
        now: Time,
        events: &mut EventQueue,
    ) -> Option<(PortIx, TrafficClass)> {
        self.note_congestion(nth, now);
        self.wake_in_time(nth, requests.call_at, now, events);
        let in_line = self.hosts.endpoints[nth].in_line;
        if requests.has_work && !in_line { self.stand_in_line(nth, now, events) } else { None }
    }
}
