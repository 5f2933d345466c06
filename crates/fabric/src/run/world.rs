//! The fabric at work: what happens to a frame between its source and its destination.
//!
//! The way of a frame, in order: [`Fabric::forward`] at each port on its way: straight to the link if the port is
//! free and nothing waits, else [`Fabric::enqueue`] in `egress`; [`Fabric::decide`] in `selection` when the
//! port is free again; [`Fabric::transmit`] onto the link; and [`Fabric::deliver`] at the end. Sources are in
//! `sources`, pauses in `pausing`.
//!
//! One event a frame-hop: a free port sends at once and needs no event for the end of the transmission; a
//! decision is scheduled only while something waits.
//!
//! A frame waits from its entry into an egress queue to the start of its transmission, and only as long
//! does it occupy memory. Line overhead goes ahead of the frame: the last bit of the frame is the last
//! that the link carries of it.

use crate::run::buffers::Buffers;
use crate::run::copies::Copies;
use crate::run::event::{Event, Kind, Queued, What};
use crate::run::faults::Faults;
use crate::run::headers::{Carried, Headers};
use crate::run::hosts::Hosts;
use crate::run::index::{NodeIx, PauseSenderIx, PortIx};
use crate::run::ingress::IngressPort;
use crate::run::ledger::Ledger;
use crate::run::links::Links;
use crate::run::node::{Node, NodeOf};
use crate::run::numbering::Numbering;
use crate::run::own::Own;
use crate::run::pause_sender::PauseSender;
use crate::run::port::{HEAD_BYTES, Hooks};
use crate::run::probes::Probes;
use crate::run::releases::End;
use crate::run::route_table::RouteTable;
use crate::run::stages::{When, asked};
use crate::run::telemetry::PortTelemetry;
use engine::World;
use frame::{Frame, FrameKind, PathId, Route};
use typed_index_collections::TiVec;
use units::Time;

/// Who is asked before a frame goes straight to the link.
const WHEN_FREE: Hooks = asked(When::FREE);

/// All state of a simulation, or of the nodes that one thread runs. Each of its parts is a file of its own and keeps its
/// own invariants; what is here and in the files of the way of a frame leads from one to the other.
#[derive(Debug)]
pub(crate) struct Fabric {
    /// Where its numbers begin in those of the whole.
    pub numbering: Numbering,
    /// Node of each place: ports, then sources, then endpoints, then rate limiters.
    pub node_of: NodeOf,
    /// Hosts and switches.
    pub nodes: Own<NodeIx, Node>,
    /// Those parts of them that send pauses.
    pub pause_senders: TiVec<PauseSenderIx, PauseSender>,
    /// Transmitters and the links behind them.
    pub links: Links,
    /// What waits.
    pub buffers: Buffers,
    /// By port, what came in through it and waits; empty if no node counts that.
    pub ingress: Own<PortIx, IngressPort>,
    /// What wide frames carry.
    pub headers: Headers,
    /// By port, what it tells packets that ask; empty if none does.
    pub telemetry: TiVec<PortIx, PortTelemetry>,
    /// Where frames go.
    pub routes: RouteTable,
    /// Who sends and receives them.
    pub hosts: Hosts,
    /// What goes wrong, and when.
    pub faults: Faults,
    /// What is known of frames for several receivers.
    pub copies: Copies,
    /// Frames made, copied, delivered and lost.
    pub ledger: Ledger,
    /// What is observed.
    pub probes: Probes,
    /// When the run comes back: nobody looks before, so that some things may be done ahead of their time.
    pub comes_back_at: Time,
    /// A decision is handled: what takes effect now has not done so yet.
    pub deciding: bool,
}

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
    fn handle(&mut self, event: Event, windows: &mut Queued) {
        self.looks_at_own(&event);
        self.happens(event, windows);
        self.looks_at_all();
    }
}

impl Fabric {
    /// An event, at its node.
    #[inline(always)]
    fn happens(&mut self, event: Event, windows: &mut Queued) {
        if event.is(Kind::Frame) {
            self.arrive(event, windows);
        } else if event.is_decision() {
            // Decisions and looks are no part of the fingerprint: a lazy port omits some, and looking changes
            // nothing. Arrivals and timers cover all that can be seen.
            if self.links.ports[event.port()].decision.fires(event.time) {
                self.deciding = true;
                self.decide(event.port(), event.time, windows);
                self.deciding = false;
            }
        } else if event.is(Kind::Source) {
            let (place, now) = (event.place(), event.time);
            let source = self.source_at(place);
            let flow = self.hosts.sources[source].flow;
            // Written out, as it has no frame to be looked at.
            self.note(&Event::bare(Kind::Source, now, place), Kind::Source, self.numbering.source(flow));
            self.source_due(source, now, windows);
        } else if event.is(Kind::Limiter) {
            self.limiter_called(event.called_limiter(), event.time, windows);
        } else {
            self.handle_others(event, windows);
        }
    }

    /// The other kinds, compiled apart from those that every frame needs.
    #[inline(never)]
    fn handle_others(&mut self, event: Event, windows: &mut Queued) {
        let (place, port, now) = (event.place(), event.port(), event.time);
        // Like decisions these are no part of the fingerprint: what they lead to is.
        match event.what() {
            What::Crossed => return self.crossed(port, now, windows),
            What::Match => return self.match_due(port, now, windows),
            What::LookForCredits => return self.look_for_credits(port, now, windows),
            What::Credits(freed) => return self.receive_credits(port, freed, now, windows),
            What::UpdateDue => return self.update_due(port, now, windows),
            What::Watchdog => return self.watch_due(port, now, windows),
            _ => self.note(&event, event.kind(), self.number_of_place(place)),
        }
        match event.what() {
            What::Head(frame) => self.head_arrives(port, frame, now, windows),
            What::Pause(pause) => self.receive_pause(port, pause, now, windows),
            What::Renew => self.renew_pauses(port, now, windows),
            What::Broken(frame, cause) => self.broken(port, &frame, cause, now),
            What::Served => self.served(port, now, windows),
            What::Fault(actions) => self.fault(port, actions, now, windows),
            What::News(news) => self.news_due(port, news, now, windows),
            What::Timeout => self.endpoint_due(self.endpoint_at(place), now, windows),
            _ => unreachable!("handled before"),
        }
    }

    /// Adds an event to the fingerprint of its node; `place` is the number of its place in the whole fabric.
    #[inline(always)]
    fn note(&mut self, event: &Event, kind: Kind, place: u32) {
        let fingerprint = &mut self.probes.fingerprints[self.node_of[event.place()]];
        *fingerprint = (fingerprint.rotate_left(5) ^ event.digest(kind, place, &self.headers))
            .wrapping_mul(0xff51_afd7_ed55_8ccd);
    }

    /// A frame is there as a whole.
    #[inline(always)]
    fn arrive(&mut self, event: Event, windows: &mut Queued) {
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
    fn arrive_at_end(&mut self, event: Event, rest_of_way: Route, windows: &mut Queued) {
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
    fn head_arrives(&mut self, ingress: PortIx, mut frame: Frame, now: Time, windows: &mut Queued) {
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
    fn next_egress(
        &mut self,
        ingress: PortIx,
        path: PathId,
        route: Route,
        now: Time,
    ) -> (Option<PortIx>, Route) {
        let Some(hop) = route.next_hop() else { return self.routed_otherwise(ingress, path, route, now) };
        (self.routes.egress(hop), Route::forward(hop + 1))
    }

    /// A frame has come to its end: a host takes it in. Or to where it may be copied.
    #[inline(always)]
    fn arrived(&mut self, ingress: PortIx, frame: Frame, now: Time, windows: &mut Queued) {
        if frame.route.is_tree() {
            return self.copy_on(ingress, frame, now, windows);
        }
        if self.probes.watches_arrivals {
            self.record_arrived(ingress, &frame, now);
        }
        if self.hosts.receiving.is_empty() {
            self.deliver(&frame, now, windows);
        } else {
            self.receive(ingress, frame, now, windows);
        }
    }

    #[inline(always)]
    pub fn deliver(&mut self, frame: &Frame, now: Time, windows: &mut Queued) {
        if !frame.flags.is_plain() {
            // A copy: whose address is told has to lie in memory.
            let frame = *frame;
            return self.deliver_otherwise(&frame, now, windows);
        }
        self.hosts.receiver(frame.path).count(frame, now);
        self.ledger.delivered += 1;
    }

    /// A frame that means something to whoever receives it.
    #[inline(never)]
    fn deliver_otherwise(&mut self, frame: &Frame, now: Time, windows: &mut Queued) {
        if frame.flags.is_of_endpoint() {
            self.deliver_to_endpoint(frame, now, windows);
        } else {
            self.deliver_special(frame, now, windows);
        }
    }

    /// A frame that is not what endpoints send each other.
    #[inline(never)]
    fn deliver_special(&mut self, frame: &Frame, now: Time, windows: &mut Queued) {
        if frame.flags.is_tagged() {
            return self.deliver_tagged(frame, now, windows);
        }
        if frame.flags.kind() == FrameKind::Part {
            return self.deliver_part(frame, now, windows);
        }
        self.deliver_message(frame, now, windows);
    }

    /// As `deliver_special`, with a tag, which its host takes.
    #[inline(never)]
    fn deliver_tagged(&mut self, frame: &Frame, now: Time, windows: &mut Queued) {
        // A planned route leads beyond the end of its path by now.
        if self.routes.has_one_receiver(frame.path, frame.route) {
            self.is_here(frame);
        }
        match self.take_tag(frame, now, windows) {
            Some(untagged) => self.deliver(&untagged, now, windows),
            None => self.ledger.delivered += 1,
        }
    }

    /// A part of a transfer or of a stream.
    #[inline(never)]
    fn deliver_part(&mut self, frame: &Frame, now: Time, windows: &mut Queued) {
        let receiver = self.hosts.receiver_of(frame.path);
        self.hosts.receivers[receiver].count(frame, now);
        self.ledger.delivered += 1;
        let is_last = !self.hosts.stream_counts.arrived(receiver, frame, now)
            && self.hosts.completions.arrived(receiver, frame.word, now);
        if is_last && !self.hosts.releases.is_empty() {
            self.transfer_ended(End::Receiver(receiver, frame.word), now, windows);
        }
    }

    /// A frame wants to leave through `egress`; `ingress` is the port it came in through, `None` if it begins its way
    /// here.
    #[inline(always)]
    pub fn forward(
        &mut self,
        egress: PortIx,
        frame: Frame,
        ingress: Option<PortIx>,
        now: Time,
        windows: &mut Queued,
    ) {
        let port = &self.links.ports[egress];
        let hooks = port.hooks;
        let nothing_waits = port.busy_until <= now && port.waiting | port.stopped == 0;
        if nothing_waits && (!hooks.has(WHEN_FREE) || self.passes_quiet_manager(egress, &frame, now)) {
            self.transmit(egress, frame, now, windows);
        } else if hooks.has(Hooks::AHEAD) {
            if hooks.has(Hooks::MANAGED) {
                self.enqueue_managed_ahead(egress, frame, ingress, now, windows);
            } else {
                self.enqueue_ahead(egress, frame, ingress, now, windows);
            }
        } else {
            self.enqueue(egress, frame, ingress, now, windows);
        }
    }

    /// Puts a frame on the link; the transmitter is free.
    #[inline(always)]
    pub fn transmit(&mut self, egress: PortIx, frame: Frame, now: Time, windows: &mut Queued) {
        let port = &mut self.links.ports[egress];
        if port.hooks.has(Hooks::FAULTED) {
            return self.transmit_faulted(egress, frame, now, windows);
        }
        let hooks = port.hooks;
        self.put_on_link(egress, frame, now, windows);
        self.count_sent(egress, &frame, hooks, now, windows);
    }

    /// Puts a frame on the link of a port that is free, and tells nobody.
    #[inline(always)]
    pub fn transmit_untold(&mut self, egress: PortIx, frame: Frame, now: Time, windows: &mut Queued) {
        self.put_on_link(egress, frame, now, windows);
        self.links.passed.count(egress, &frame);
    }

    /// The rest of [`Fabric::transmit`] at a port that faults may hit, or where frames get another priority or tag: they are
    /// counted by the priority of the queue that they leave.
    #[cold]
    #[inline(never)]
    fn transmit_faulted(&mut self, egress: PortIx, frame: Frame, now: Time, windows: &mut Queued) {
        let frame = self.with_cn_tag(egress, frame);
        let back = !self.goes_to_far_end(&frame);
        let port = &mut self.links.ports[egress];
        let cold = &self.links.cold[egress];
        let arrival = port.transmit(Frame { priority: cold.new_priority(frame.priority), ..frame }, now);
        let arrival = self.faults.outcome_on_link(egress, port, cold, (arrival, back), now);
        let (hooks, broken) = (port.hooks, arrival.kind() == Kind::Broken);
        windows.send(arrival, || self.links.neighbours[egress]);
        self.count_sent(egress, &frame, hooks, now, windows);
        if broken {
            self.record_broken(egress);
        }
    }

    /// Puts a frame on the link of a port: its transmission begins then, when the transmitter is free.
    #[inline(always)]
    pub fn put_on_link(&mut self, egress: PortIx, frame: Frame, begins: Time, windows: &mut Queued) {
        let port = &mut self.links.ports[egress];
        let arrival = port.transmit(frame, begins);
        if port.hooks.has(Hooks::COUNTED_AHEAD) && self.routes.ends_there(frame.path, frame.route) {
            let Frame { created, path, bytes, priority, flags, .. } = frame;
            if self.count_ahead(path, created, arrival.time, (bytes, priority, flags)) {
                return windows.count(1);
            }
        }
        windows.send(arrival, || self.links.neighbours[egress]);
    }

    /// A transmission has begun: counts it, and tells the sources that wait for it.
    #[inline(always)]
    pub fn count_sent(
        &mut self,
        egress: PortIx,
        frame: &Frame,
        hooks: Hooks,
        now: Time,
        windows: &mut Queued,
    ) {
        self.links.passed.count(egress, frame);
        if hooks.has(Hooks::FEEDS.or(Hooks::RECORDED)) {
            if hooks.has(Hooks::RECORDED) {
                self.record_sent(egress, frame, now);
            }
            if hooks.has(Hooks::FEEDS) {
                self.feed(egress, frame, now, windows);
            }
        }
    }
}
