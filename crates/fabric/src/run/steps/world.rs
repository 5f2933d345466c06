//! The fabric at work: its state, and which part an event goes to.
//!
//! The way of a frame is a file a step, in this order: `sources` and `nics` at its host; `forward`, at each port on its way: straight to
//! the link if the port is free and nothing waits; `egress`, its queue; `selection`, when the port is free again; `transmission`,
//! onto the link; `arrival`, where its route leads on; `delivery`, at the end.
//!
//! One event a frame-hop: a free port sends at once and needs no event for the end of the transmission; a
//! decision is scheduled only while something waits.
//!
//! A frame waits from its entry into an egress queue to the start of its transmission, and only as long
//! does it occupy memory. Line overhead goes ahead of the frame: the last bit of the frame is the last
//! that the link carries of it.

use crate::run::state::admitted::AtEgress;
use crate::run::state::deferred::Deferred;
use crate::run::state::event::{Event, EventQueue, Kind, What};
use crate::run::state::headers::Carried;
use crate::run::state::port::PortFeatures;
use crate::run::state::world::Fabric;
use engine::World;
use units::Time;

impl World for Fabric {
    type Event = Event;
    type Cargo = Carried;

    fn nodes(&self) -> usize {
        self.nodes.len()
    }
    fn places(&self) -> usize {
        // Windows are as wide in all parts.
        self.numbering.all_places as usize
    }
    #[inline]
    fn node_of(&self, event: &Event) -> u32 {
        self.node_of[event.place()].number()
    }
    #[inline(always)]
    fn is_common(&self, event: &Event) -> bool {
        event.is_plain()
    }
    fn is_far(&self) -> bool {
        self.is_large()
    }
    #[inline(always)]
    fn fetch<const STEP: usize>(&self, event: &Event, found: u32) -> u32 {
        self.fetch_for(STEP, event, found)
    }
    fn stopped(&self) -> bool {
        self.ledger.failure.is_some()
    }
    fn pack(&mut self, mail: &mut [Event], cargo: &mut Vec<Carried>) {
        if self.headers.in_use() == 0 {
            return;
        }
        for header in mail.iter_mut().filter_map(Event::header_mut) {
            self.headers.pack(*header, cargo);
        }
    }
    fn unpack(&mut self, mail: &mut [Event], cargo: &mut Vec<Carried>) {
        if cargo.is_empty() {
            return;
        }
        let mut cargo = cargo.drain(..).peekable();
        for header in mail.iter_mut().filter_map(Event::header_mut) {
            if let Some(slot) = self.headers.unpack(&mut cargo) {
                *header = slot;
            }
        }
    }

    #[inline(always)]
    fn handle(&mut self, event: Event, events: &mut EventQueue) {
        self.restrict_to(&event);
        self.dispatch(event, events);
        if !self.deferred.is_empty() {
            self.run_deferred(event.time, events);
        }
        self.deciding = false;
        self.unrestrict();
    }
}

impl Fabric {
    /// An event, at its node.
    #[inline(always)]
    fn dispatch(&mut self, event: Event, events: &mut EventQueue) {
        if event.is(Kind::Frame) {
            self.arrive(event, events);
        } else if event.is_decision() {
            // Decisions and looks are no part of the fingerprint: a lazy port omits some, and looking changes
            // nothing. Arrivals and timers cover all that can be seen.
            if self.links.ports[event.port()].decision.fires(event.time) {
                self.deciding = true;
                self.decide(event.port(), event.time, events);
            }
        } else if event.is(Kind::Source) {
            let (place, now) = (event.place(), event.time);
            let source = self.source_at(place);
            let flow = self.hosts.sources[source].flow;
            // Written out, as it has no frame to be looked at.
            self.note(&Event::bare(Kind::Source, now, place), Kind::Source, self.numbering.source(flow));
            self.source_due(source, now, events);
        } else if event.is(Kind::Limiter) {
            self.limiter_called(event.called_limiter(), event.time, events);
        } else {
            self.dispatch_slow(event, events);
        }
    }

    /// Runs the steps that a step has deferred, and those that they defer, depth first.
    #[inline(never)]
    fn run_deferred(&mut self, now: Time, events: &mut EventQueue) {
        while let Some(step) = self.deferred.next() {
            match step {
                Deferred::Decide(port) => self.decide(port, now, events),
                Deferred::Refill { egress, class, has_wait_queue, pushed } => {
                    if has_wait_queue {
                        self.pull(egress, class, now, events);
                    }
                    self.feed_sources((egress, class), pushed, now, events);
                }
                Deferred::Originate(port, frame) => {
                    self.originate(port, self.deferred.frame(frame), now, events);
                }
                Deferred::Behind { stage, egress, class, ingress, frame } => {
                    let at = AtEgress { frame: self.deferred.frame(frame), egress, class, ingress };
                    self.goes_on_behind(PortFeatures::nth(stage), at, now, events);
                }
                Deferred::Stuck(port, classes) => self.note_still_stuck(port, classes, now, events),
            }
            if self.deferred.have_run() {
                return;
            }
        }
    }

    /// The other kinds, compiled apart from those that every frame needs.
    #[inline(never)]
    fn dispatch_slow(&mut self, event: Event, events: &mut EventQueue) {
        let (place, port, now) = (event.place(), event.port(), event.time);
        // Like decisions these are no part of the fingerprint: what they lead to is.
        match event.what() {
            What::Crossed => return self.crossed(port, now, events),
            What::Match => return self.match_due(port, now, events),
            What::LookForCredits => return self.look_for_credits(port, now, events),
            What::Credits(freed) => return self.receive_credits(port, freed, now, events),
            What::UpdateDue => return self.update_due(port, now, events),
            What::Watchdog => return self.watch_due(port, now, events),
            _ => self.note(&event, event.kind(), self.number_of_place(place)),
        }
        match event.what() {
            What::Head(frame) => self.head_arrives(port, frame, now, events),
            What::Pause(pause) => self.receive_pause(port, pause, now, events),
            What::Renew => self.renew_pauses(port, now, events),
            What::Broken(frame, cause) => self.broken(port, &frame, cause, now),
            What::Served => self.served(port, now, events),
            What::Fault(actions) => self.fault(port, actions, now, events),
            What::News(news) => self.news_due(port, news, now, events),
            What::Timeout => self.endpoint_due(self.endpoint_at(place), now, events),
            _ => unreachable!("handled before"),
        }
    }
}
