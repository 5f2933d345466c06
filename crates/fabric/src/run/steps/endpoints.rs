//! Endpoints at work: where the machines of `transport` meet NICs and frames.
//!
//! A connection has an endpoint at each end of its path. One that has something to send stands in line at the class
//! of its NIC, which pulls from those in line by turns as long as less than a frame or two of theirs wait: so a
//! hundred connections do not stand in one queue, a paused priority stops its own endpoints only, and an endpoint
//! decides what to send when the wire wants it. One that is idle stands nowhere and costs nothing.
//!
//! Sources that push frames share the queue of the class with them: a frame of an endpoint waits behind theirs, one at
//! a time. Beside a greedy source all endpoints of the class together have the turns of one.
//!
//! Frames towards the far end follow the path; its replies take the same links back, of the way that the last frame
//! from the near end took.

use crate::run::state::endpoint_state::EndpointState;
use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::headers::Carried;
use crate::run::state::index::{EndpointIx, PortIx};
use crate::run::state::nic::InLine;
use crate::run::state::world::Fabric;
use frame::{Ecn, Frame, FrameKind, Header, PathId, TrafficClass};
use queueing::Feedback;
use std::num::NonZeroU32;
use transport::{Endpoint, Protocol, RdmaWord, Received, Requests};
use units::Time;

impl Fabric {
    /// The endpoints' first events.
    pub fn start_endpoints(&mut self, events: &mut EventQueue) {
        let first = self.place_of_endpoint(EndpointIx::new(0));
        for (nth, state) in self.hosts.endpoints.iter_mut_enumerated() {
            if let Some(at) = state.endpoint.poll_timeout() {
                state.wakes_at = at;
                events.push(Event::bare(Kind::Timeout, at, first.plus(nth.number())));
            }
        }
    }

    /// A frame of a connection has come to its end.
    #[inline(always)]
    pub fn deliver_to_endpoint(&mut self, frame: &Frame, now: Time, events: &mut EventQueue) {
        self.ledger.delivered += 1;
        let to_far = self.goes_to_far_end(frame);
        if frame.flags.is_wide() {
            return self.deliver_wide(frame, to_far, now, events);
        }
        self.deliver_to_transport(frame, to_far, (frame.word, None), now, events);
    }

    /// As `deliver_to_endpoint`, of a frame with a header.
    #[inline(never)]
    fn deliver_wide(&mut self, frame: &Frame, to_far: bool, now: Time, events: &mut EventQueue) {
        let header = match self.headers.release(frame) {
            Some(Carried::Header(header)) => Some(header),
            _ => None,
        };
        if let Some(rdma) = header.as_ref().and_then(Header::rdma)
            && rdma.telemetry.has_stamps()
        {
            self.deliver_stamps(frame, to_far, rdma.pair);
        }
        self.deliver_to_transport_slow(frame, to_far, (0, header), now, events);
    }

    /// What a congestion point, or a tag that comes back, tells the source of a frame: its limiter, or else its endpoint.
    #[inline(never)]
    pub fn deliver_message(&mut self, frame: &Frame, now: Time, events: &mut EventQueue) {
        self.ledger.delivered += 1;
        let to_far = self.goes_to_far_end(frame);
        let told = self.feedback_of(frame);
        if let Some(told) = told
            && let Some(limiter) = self.limiter_at(frame.path, to_far)
        {
            return self.on_limiter_message(limiter, told, frame.created, now, events);
        }
        let word = match told {
            Some(Feedback::Message(notice)) => notice.feedback,
            _ => frame.word,
        };
        self.deliver_to_transport_slow(frame, to_far, (word, None), now, events);
    }

    /// [`Fabric::deliver_to_transport`] where it is seldom needed.
    #[inline(never)]
    fn deliver_to_transport_slow(
        &mut self,
        frame: &Frame,
        to_far: bool,
        carried: (u32, Option<Header>),
        now: Time,
        events: &mut EventQueue,
    ) {
        self.deliver_to_transport(frame, to_far, carried, now, events);
    }

    /// Hands a frame over to the endpoint where it has come to, if there is one, with what it carries.
    #[inline(always)]
    fn deliver_to_transport(
        &mut self,
        frame: &Frame,
        to_far: bool,
        (word, header): (u32, Option<Header>),
        now: Time,
        events: &mut EventQueue,
    ) {
        // Messages come to sources that do not listen, too.
        let Some(ends) = self.hosts.endpoints_of_path.get(frame.path.at()) else { return };
        let Some(nth) = ends[usize::from(to_far)] else { return };
        let kind = frame.flags.kind();
        if to_far && kind == FrameKind::Data {
            self.hosts.receiver(frame.path).count(frame, now);
        }
        let mut state = &mut self.hosts.endpoints[nth];
        if to_far {
            // Of a frame whose path was chosen on the way nothing is known; the planned path leads back as well.
            let behind = frame.route.next_hop().and_then(|next| NonZeroU32::new(next - 1));
            if behind.is_some() && behind != state.behind {
                self.answer_along(nth, behind);
                state = &mut self.hosts.endpoints[nth];
            }
        }
        if kind == FrameKind::Cnm {
            state.measured.messages.record(now - frame.created);
        }
        let received = Received {
            kind,
            word,
            header,
            bytes: frame.bytes,
            congestion_experienced: frame.flags.ecn() == Ecn::Experienced,
            created: frame.created,
        };
        if to_far && received.congestion_experienced {
            self.notify_peer(nth, &received, now, events);
            state = &mut self.hosts.endpoints[nth];
        }
        let alone = state.is_alone() && self.hosts.receiving.is_empty() && self.probes.congestion.is_empty();
        let way = state.way;
        let free =
            alone && way.is_some_and(|(egress, _)| self.links.takes_past_nic(egress, state.priority, now));
        let answer = &state.endpoint.answer(now, &received, free);
        let (Some(segment), Some((egress, route))) = (&answer.sent, way) else {
            return self.grant(nth, answer.then, now, events);
        };
        let calls = [answer.requests, answer.then].map(|requests| state.wake(requests.call_at, now));
        let (frame, near) = (state.frame(segment, route, now), state.behind.is_none());
        if answer.requests.has_records {
            state.collect();
        }
        self.leave_past_nic(egress, frame, (segment, nth, near), now, events);
        self.after_leaving((egress, nth), calls, answer.then.has_work, now, events);
    }

    /// A marked frame has come to the far end of a path: what its NIC tells the sender at once goes to the queue of its class,
    /// past the endpoints that stand in line.
    #[inline(never)]
    fn notify_peer(&mut self, nth: EndpointIx, received: &Received, now: Time, events: &mut EventQueue) {
        let Some((egress, route)) = self.way_of(nth) else { return };
        let state = &mut self.hosts.endpoints[nth];
        let Some(priority) = state.notifies else { return };
        let node = self.node_of[egress];
        if self.hosts.next_cnp.len() <= node.at() {
            self.hosts.next_cnp.resize(node.at() + 1, Time::ZERO);
        }
        let Some(segment) = state.endpoint.notify(now, received, &mut self.hosts.next_cnp[node]) else {
            return;
        };
        let mut frame = state.frame(&segment, route, now).at(priority);
        if let Some(header) = segment.header {
            self.headers.attach(&mut frame, Carried::Header(header));
        }
        self.originate(egress, frame, now, events);
    }

    /// An endpoint asked to be called now.
    #[inline(never)]
    pub fn endpoint_due(&mut self, nth: EndpointIx, now: Time, events: &mut EventQueue) {
        let state = &mut self.hosts.endpoints[nth];
        // An event that a later wish has overtaken.
        if state.wakes_at != now {
            return;
        }
        state.called(now);
        if state.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            let Fabric { hosts, links, buffers, headers, .. } = self;
            let state = &mut hosts.endpoints[nth];
            let (path, priority) = (PathId(state.path), state.priority);
            let egress = state.way.map(|(egress, _)| egress);
            let receiving = egress.and_then(|egress| hosts.receiving.get(egress)).and_then(Option::as_deref);
            // Called for a timer that has expired only: what the NIC holds of the endpoint is looked through.
            let is_queued = |pair: u32, number: Option<u32>| {
                let Some(egress) = egress else { return false };
                let port = &links.ports[egress];
                let queued = buffers.frames(port.queue(port.classes.class(priority)));
                let queued = queued.map(|waiting| &waiting.frame);
                let prepared = receiving.into_iter().flat_map(|own| own.preparing(&buffers.pool));
                queued.chain(prepared).filter(|frame| frame.path == path).any(|frame| {
                    let (word, in_header) = headers.word_of(frame);
                    let word = RdmaWord::of(word);
                    let its_pair = if word.has_pair() { word.pair } else { in_header };
                    its_pair == pair
                        && match (number, frame.flags.kind()) {
                            (Some(number), FrameKind::Data) => word.number == number,
                            // The request of a READ.
                            (None, FrameKind::Ack) => word.flags[1] && !word.flags[0],
                            _ => false,
                        }
                })
            };
            state.endpoint.handle_timeout_at(now, &is_queued);
        }
        self.update_endpoint(nth, now, events);
    }

    /// Something has happened to an endpoint.
    #[inline(never)]
    pub fn update_endpoint(&mut self, nth: EndpointIx, now: Time, events: &mut EventQueue) {
        let requests = self.hosts.endpoints[nth].endpoint.requests();
        self.grant(nth, requests, now, events);
    }

    /// Takes an endpoint's records, and gives it what it requests.
    #[inline(never)]
    fn grant(&mut self, nth: EndpointIx, requests: Requests, now: Time, events: &mut EventQueue) {
        let EndpointState { peers, awaited, .. } = self.hosts.endpoints[nth];
        if requests.has_records || peers.is_some() || awaited || !self.probes.congestion.is_empty() {
            return self.take_notes(nth, requests, now, events);
        }
        self.serve_endpoint(nth, requests, now, events);
    }

    /// Takes what an endpoint has measured, and lets those begin that its steps wait for.
    #[inline(never)]
    fn take_notes(&mut self, nth: EndpointIx, mut requests: Requests, now: Time, events: &mut EventQueue) {
        let state = &mut self.hosts.endpoints[nth];
        if requests.has_records {
            state.collect();
        }
        if state.peers.is_some() {
            requests = self.begin_steps(nth, now, events);
        }
        if self.hosts.endpoints[nth].awaited {
            self.take_ends(nth, now, events);
            requests = self.hosts.endpoints[nth].endpoint.requests();
        }
        self.note_congestion(nth, now);
        self.serve_endpoint(nth, requests, now, events);
    }

    /// Sets an endpoint's timer, and lets it send, or stand in line, if it has something to send.
    #[inline(always)]
    fn serve_endpoint(&mut self, nth: EndpointIx, requests: Requests, now: Time, events: &mut EventQueue) {
        self.wake_in_time(nth, requests.call_at, now, events);
        let EndpointState { in_line, limiter, .. } = self.hosts.endpoints[nth];
        if in_line || !requests.has_work || limiter.is_none() && self.send_past_nic(nth, now, events) {
            return;
        }
        let place = match limiter {
            None => self.send_or_stand(nth, now, events),
            Some(limiter) => self.stand_at_limiter(limiter, nth, now, events),
        };
        if let Some((egress, class)) = place {
            self.pull(egress, class, now, events);
        }
    }

    /// Endpoints of a host whose steps wait for each other begin theirs as far as that is known. What this one requests then.
    #[inline(never)]
    fn begin_steps(&mut self, nth: EndpointIx, now: Time, events: &mut EventQueue) -> Requests {
        let Some(group) = self.hosts.endpoints[nth].peers else {
            return self.hosts.endpoints[nth].endpoint.requests();
        };
        let peers = std::mem::take(&mut self.hosts.peers[group]);
        let progress = |fabric: &Fabric, of: EndpointIx| fabric.hosts.endpoints[of].endpoint.progress();
        for &own in &peers {
            let Some(at) = progress(self, own).filter(|step| step.waits && step.done).and_then(|step| {
                let others = peers.iter().filter(|&&other| other != own);
                others
                    .filter_map(|&other| progress(self, other))
                    .try_fold(now, |at, other| Some(at.max(step.after(&other, now)?)))
            }) else {
                continue;
            };
            let endpoint = &mut self.hosts.endpoints[own].endpoint;
            endpoint.begin_step(at);
            let call_at = endpoint.requests().call_at;
            self.wake_in_time(own, call_at, now, events);
        }
        self.hosts.peers[group] = peers;
        self.hosts.endpoints[nth].endpoint.requests()
    }

    /// Lets an endpoint send that has something if nobody is before it at its NIC, and the NIC takes it; else it stands in
    /// line. Port and class at which it stands then, because it must wait or has more.
    #[inline(never)]
    fn send_or_stand(
        &mut self,
        nth: EndpointIx,
        now: Time,
        events: &mut EventQueue,
    ) -> Option<(PortIx, TrafficClass)> {
        let (egress, class) = self.place_of(nth)?;
        if self.takes_at_once(egress, class) {
            return self.pull_segment(nth, (egress, class), now, events);
        }
        self.join_line(nth, (egress, class), now);
        Some((egress, class))
    }

    /// The far end of a path answers along the way that leads here over `behind` entries of the table of hops. It may
    /// stand in line at a port of another way, whose link may be down for good.
    #[inline(never)]
    fn answer_along(&mut self, nth: EndpointIx, behind: Option<NonZeroU32>) {
        let state = &mut self.hosts.endpoints[nth];
        let old = std::mem::replace(&mut state.behind, behind);
        state.way = None;
        let in_line = state.in_line;
        self.tell_port(nth);
        if !in_line {
            return;
        }
        if let Some((egress, _)) = old.and_then(|old| self.routes.step_back(old.get())) {
            self.leave_line(egress, nth);
        }
    }

    /// An end of FCoE hears through which port it sends from now on.
    pub fn tell_port(&mut self, nth: EndpointIx) {
        if self.hosts.lossless.is_empty() {
            return;
        }
        let Some((egress, _)) = self.way_of(nth) else { return };
        let (port, lossless) = (self.numbering.port(egress), self.hosts.lossless[egress]);
        let state = &mut self.hosts.endpoints[nth];
        if let Endpoint::Fcoe(end) = &mut state.endpoint {
            end.moved_to(port, lossless >> state.priority.0 & 1 != 0);
        }
    }

    /// Those in line at a port whose link goes down stand where they can send now, if there is such a place.
    pub fn change_lines(&mut self, port: PortIx, now: Time, events: &mut EventQueue) {
        let Some(nic) = &mut self.links.nics[port] else { return };
        let waiting = nic.leave_all();
        for &entry in &waiting {
            match entry {
                InLine::Endpoint(nth) => self.hosts.endpoints[nth].in_line = false,
                InLine::Limiter(limiter) => self.limiter_left_line(limiter),
            }
        }
        for entry in waiting {
            match entry {
                InLine::Endpoint(nth) => self.update_endpoint(nth, now, events),
                InLine::Limiter(limiter) => self.update_limiter(limiter, now, events),
            }
        }
    }

    /// The path of an endpoint begins at another port now.
    pub fn change_line(&mut self, old: PortIx, nth: EndpointIx, now: Time, events: &mut EventQueue) {
        self.leave_line(old, nth);
        self.update_endpoint(nth, now, events);
    }

    /// Takes an endpoint out of its line, at whichever port of the host that this is one of: a failed link may have moved
    /// it.
    fn leave_line(&mut self, port: PortIx, nth: EndpointIx) {
        for port in self.ports_beside(port) {
            if let Some(nic) = &mut self.links.nics[port] {
                nic.leave(InLine::Endpoint(nth));
            }
        }
        let state = &mut self.hosts.endpoints[nth];
        state.in_line = false;
        if let Some(limiter) = state.limiter {
            self.hosts.limiters[limiter].leave(nth);
        }
    }
}
