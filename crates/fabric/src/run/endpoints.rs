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

use crate::run::endpoint_state::EndpointState;
use crate::run::event::{Event, Kind, Queued};
use crate::run::headers::Carried;
use crate::run::limiter_places::NextFrame;
use crate::run::pool::NIL;
use crate::run::port::Hooks;
use crate::run::world::Fabric;
use frame::{Ecn, Frame, FrameKind, Header, Heading, PathId, Priority, Route, TrafficClass};
use queueing::Told;
use std::num::NonZeroU32;
use transport::{Protocol, Received, Requests};
use units::Time;

/// A path that no endpoint uses.
pub(crate) const RAW: u32 = u32::MAX;

impl Fabric {
    /// The endpoints' first events.
    pub fn start_endpoints(&mut self, windows: &mut Queued) {
        let first = self.links.len() + self.hosts.sources.len();
        for (place, state) in (first as u32..).zip(&mut self.hosts.endpoints) {
            if let Some(at) = state.endpoint.poll_timeout() {
                state.wakes_at = at;
                windows.push(Event::bare(Kind::Timeout, at, place));
            }
        }
    }

    /// A frame of a connection has come to its end.
    #[inline(always)]
    pub fn deliver_to_endpoint(&mut self, frame: &Frame, now: Time, windows: &mut Queued) {
        self.ledger.delivered += 1;
        let to_far = self.goes_to_far_end(frame);
        if frame.flags.is_wide() {
            return self.deliver_wide(frame, to_far, now, windows);
        }
        self.hand_over(frame, to_far, (frame.word, None), now, windows);
    }

    /// As `deliver_to_endpoint`, of a frame with a header.
    #[inline(never)]
    fn deliver_wide(&mut self, frame: &Frame, to_far: bool, now: Time, windows: &mut Queued) {
        let header = match self.headers.release(frame) {
            Some(Carried::Header(header)) => Some(header),
            _ => None,
        };
        if let Some(rdma) = header.as_ref().and_then(Header::rdma)
            && rdma.telemetry.has_stamps()
        {
            self.hand_over_stamps(frame, to_far, rdma.pair);
        }
        self.hand_over_apart(frame, to_far, (0, header), now, windows);
    }

    /// Whether a frame has come to the far end of its path.
    #[inline(always)]
    pub fn goes_to_far_end(&self, frame: &Frame) -> bool {
        match frame.route.heading() {
            Heading::Forward(_) | Heading::Tree(_) => true,
            Heading::Backward(_) => false,
            Heading::Destination(node) => self.routes.source_node(frame.path) != Some(node),
        }
    }

    /// What a congestion point, or a tag that comes back, tells the source of a frame: its limiter, or else its endpoint.
    #[inline(never)]
    pub fn deliver_message(&mut self, frame: &Frame, now: Time, windows: &mut Queued) {
        self.ledger.delivered += 1;
        let to_far = self.goes_to_far_end(frame);
        let told = self.told_by(frame);
        if let Some(told) = told
            && let Some(limiter) = self.limiter_at(frame.path, to_far)
        {
            return self.on_limiter_message(limiter, told, frame.created, now, windows);
        }
        let word = match told {
            Some(Told::Message(notice)) => notice.feedback,
            _ => frame.word,
        };
        self.hand_over_apart(frame, to_far, (word, None), now, windows);
    }

    /// [`Fabric::hand_over`] where it is seldom needed.
    #[inline(never)]
    fn hand_over_apart(
        &mut self,
        frame: &Frame,
        to_far: bool,
        carried: (u32, Option<Header>),
        now: Time,
        windows: &mut Queued,
    ) {
        self.hand_over(frame, to_far, carried, now, windows);
    }

    /// Hands a frame over to the endpoint where it has come to, if there is one, with what it carries.
    #[inline(always)]
    fn hand_over(
        &mut self,
        frame: &Frame,
        to_far: bool,
        (word, header): (u32, Option<Header>),
        now: Time,
        windows: &mut Queued,
    ) {
        // Messages come to sources that do not listen, too.
        let Some(ends) = self.hosts.endpoints_of_path.get(frame.path.at()) else { return };
        let nth = ends[usize::from(to_far)];
        if nth == RAW {
            return;
        }
        let kind = frame.flags.kind();
        if to_far && kind == FrameKind::Data {
            let receiver = self.hosts.receiver_of_path[frame.path.at()] as usize;
            self.hosts.receivers[receiver].count(frame, now);
        }
        let mut state = &mut self.hosts.endpoints[nth as usize];
        if to_far {
            // Of a frame whose path was chosen on the way nothing is known; the planned path leads back as well.
            let behind = frame.route.next_hop().and_then(|next| NonZeroU32::new(next - 1));
            if behind.is_some() && behind != state.behind {
                self.answer_along(nth, behind);
                state = &mut self.hosts.endpoints[nth as usize];
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
            self.notify_peer(nth, &received, now, windows);
            state = &mut self.hosts.endpoints[nth as usize];
        }
        let alone = state.is_alone() && self.hosts.receiving.is_empty() && self.probes.congestion.is_empty();
        let way = state.way.unwrap_or((u32::MAX, Route::default()));
        let free = alone && self.links.takes_past_nic(way.0, state.priority, now);
        let answer = &state.endpoint.answer(now, &received, free);
        let Some(segment) = &answer.sent else { return self.grant(nth, answer.then, now, windows) };
        let (egress, route) = way;
        let calls = [answer.requests, answer.then].map(|requests| state.wake(requests.call_at, now));
        let (frame, near) = (state.frame(segment, route, now), state.behind.is_none());
        if answer.requests.has_records {
            state.collect();
        }
        self.leave_past_nic(egress, frame, (segment, nth, near), now, windows);
        self.after_leaving((egress, nth), calls, answer.then.has_work, now, windows);
    }

    /// A marked frame has come to the far end of a path: what its NIC tells the sender at once goes to the queue of its class,
    /// past the endpoints that stand in line.
    #[inline(never)]
    fn notify_peer(&mut self, nth: u32, received: &Received, now: Time, windows: &mut Queued) {
        let Some((egress, route)) = self.way_of(nth) else { return };
        let state = &mut self.hosts.endpoints[nth as usize];
        let Some(priority) = state.notifies else { return };
        let node = self.node_of[egress as usize] as usize;
        if self.hosts.next_cnp.len() <= node {
            self.hosts.next_cnp.resize(node + 1, Time::ZERO);
        }
        let Some(segment) = state.endpoint.notify(now, received, &mut self.hosts.next_cnp[node]) else {
            return;
        };
        let mut frame = Frame { priority, ..state.frame(&segment, route, now) };
        if let Some(header) = segment.header {
            self.headers.attach(&mut frame, Carried::Header(header));
        }
        self.originate(egress, frame, now, windows);
    }

    /// An endpoint asked to be called now.
    #[inline(never)]
    pub fn endpoint_due(&mut self, nth: u32, now: Time, windows: &mut Queued) {
        let state = &mut self.hosts.endpoints[nth as usize];
        // An event that a later wish has overtaken.
        if state.wakes_at != now {
            return;
        }
        state.called(now);
        if state.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            state.endpoint.handle_timeout(now);
        }
        self.update_endpoint(nth, now, windows);
    }

    /// Something has happened to an endpoint.
    #[inline(never)]
    pub fn update_endpoint(&mut self, nth: u32, now: Time, windows: &mut Queued) {
        let requests = self.hosts.endpoints[nth as usize].endpoint.requests();
        self.grant(nth, requests, now, windows);
    }

    /// Takes an endpoint's records, and gives it what it requests.
    #[inline(never)]
    fn grant(&mut self, nth: u32, requests: Requests, now: Time, windows: &mut Queued) {
        let peers = self.hosts.endpoints[nth as usize].peers;
        if requests.has_records || peers != NIL || !self.probes.congestion.is_empty() {
            return self.take_notes(nth, requests, now, windows);
        }
        self.serve_endpoint(nth, requests, now, windows);
    }

    /// Takes what an endpoint has measured, and lets those begin that its steps wait for.
    #[inline(never)]
    fn take_notes(&mut self, nth: u32, mut requests: Requests, now: Time, windows: &mut Queued) {
        let state = &mut self.hosts.endpoints[nth as usize];
        if requests.has_records {
            state.collect();
        }
        if state.peers != NIL {
            requests = self.begin_steps(nth, now, windows);
        }
        self.note_congestion(nth, now);
        self.serve_endpoint(nth, requests, now, windows);
    }

    /// Sets an endpoint's timer, and lets it send, or stand in line, if it has something to send.
    #[inline(always)]
    fn serve_endpoint(&mut self, nth: u32, requests: Requests, now: Time, windows: &mut Queued) {
        self.wake_in_time(nth, requests.call_at, now, windows);
        let EndpointState { in_line, limiter, .. } = self.hosts.endpoints[nth as usize];
        if in_line || !requests.has_work || limiter == NIL && self.send_past_nic(nth, now, windows) {
            return;
        }
        let place = if limiter == NIL {
            self.send_or_stand(nth, now, windows)
        } else {
            self.stand_at_limiter(limiter, nth, now, windows)
        };
        if let Some((egress, class)) = place {
            self.pull(egress, class, now, windows);
        }
    }

    /// Endpoints of a host whose steps wait for each other begin theirs as far as that is known. What this one requests then.
    #[inline(never)]
    fn begin_steps(&mut self, nth: u32, now: Time, windows: &mut Queued) -> Requests {
        let group = self.hosts.endpoints[nth as usize].peers as usize;
        let peers = std::mem::take(&mut self.hosts.peers[group]);
        let progress = |fabric: &Fabric, of: u32| fabric.hosts.endpoints[of as usize].endpoint.progress();
        for &own in &peers {
            let Some(at) = progress(self, own).filter(|step| step.waits && step.done).and_then(|step| {
                let others = peers.iter().filter(|&&other| other != own);
                others
                    .filter_map(|&other| progress(self, other))
                    .try_fold(now, |at, other| Some(at.max(step.after(&other, now)?)))
            }) else {
                continue;
            };
            let endpoint = &mut self.hosts.endpoints[own as usize].endpoint;
            endpoint.begin_step(at);
            let call_at = endpoint.requests().call_at;
            self.wake_in_time(own, call_at, now, windows);
        }
        self.hosts.peers[group] = peers;
        self.hosts.endpoints[nth as usize].endpoint.requests()
    }

    /// Lets an endpoint send that has something if nobody is before it at its NIC, and the NIC takes it; else it stands in
    /// line. Port and class at which it stands then, because it must wait or has more.
    #[inline(never)]
    fn send_or_stand(&mut self, nth: u32, now: Time, windows: &mut Queued) -> Option<(u32, TrafficClass)> {
        let (egress, class) = self.place_of(nth)?;
        if self.takes_at_once(egress, class) {
            return self.pull_segment(nth, (egress, class), now, windows);
        }
        self.join_line(nth, (egress, class), now);
        Some((egress, class))
    }

    /// Notes window and round trip of an endpoint that knows them, where series are recorded.
    #[inline]
    fn note_congestion(&mut self, nth: u32, now: Time) {
        let Some((windows, trips)) = self.probes.congestion.get_mut(nth as usize) else { return };
        if let Some(known) = self.hosts.endpoints[nth as usize].endpoint.congestion() {
            windows.set(now, known.window);
            trips.set(now, known.round_trip.unwrap_or_default().ps());
        }
    }

    /// Schedules the next call of an endpoint, unless one is pending that is not later: then it is looked at anew. A
    /// timer that each acknowledgement moves costs no event for it.
    #[inline(always)]
    fn wake_in_time(&mut self, nth: u32, call_at: Time, now: Time, windows: &mut Queued) {
        if let Some(at) = self.hosts.endpoints[nth as usize].wake(call_at, now) {
            self.schedule_call(nth, at, windows);
        }
    }

    #[inline(never)]
    pub fn schedule_call(&mut self, nth: u32, at: Time, windows: &mut Queued) {
        let place = (self.links.len() + self.hosts.sources.len()) as u32 + nth;
        windows.push(Event::bare(Kind::Timeout, at, place));
    }

    /// Puts an endpoint that has something to send at the end of its line: port and class.
    #[inline(never)]
    fn stand_in_line(&mut self, nth: u32, now: Time, windows: &mut Queued) -> Option<(u32, TrafficClass)> {
        let limiter = self.hosts.endpoints[nth as usize].limiter;
        if limiter != NIL {
            return self.stand_at_limiter(limiter, nth, now, windows);
        }
        let place = self.place_of(nth)?;
        self.join_line(nth, place, now);
        Some(place)
    }

    /// The port and class that an endpoint sends through.
    #[inline(always)]
    fn place_of(&mut self, nth: u32) -> Option<(u32, TrafficClass)> {
        let egress = self.egress_of(nth)?;
        let priority = self.hosts.endpoints[nth as usize].priority;
        Some((egress, self.links.ports[egress as usize].classes.class(priority)))
    }

    /// An endpoint stands at the end of its line.
    pub fn join_line(&mut self, nth: u32, (egress, class): (u32, TrafficClass), now: Time) {
        let Some(nic) = &mut self.links.nics[egress as usize] else { return };
        nic.join(class, nth);
        self.hosts.endpoints[nth as usize].join(nic, class, now);
    }

    /// Whose frame an entry of a line stands for: its path, its priority, and since when.
    pub fn stands_for(&self, entry: u32) -> Option<(PathId, Priority, Time)> {
        let Some(limiter) = Fabric::limiter_in(entry) else {
            let state = &self.hosts.endpoints[entry as usize];
            return Some((PathId(state.path), state.priority, state.since));
        };
        let NextFrame { path, priority, .. } = self.next_of_limiter(limiter)?;
        Some((path, priority, self.hosts.limiters[limiter as usize].in_line_since))
    }

    /// Whether that frame may be bypassed; one that waits in a limiter is not asked for.
    pub fn may_be_bypassed(&self, entry: u32) -> bool {
        let of_endpoint = |nth: u32| self.hosts.endpoints[nth as usize].bypassable;
        Fabric::limiter_in(entry).is_none() && of_endpoint(entry)
    }

    /// A segment of an endpoint has been pulled, and this is what it requests now: sets its timer, and lets it stand in line
    /// again if it has more, at which port and class.
    #[inline(always)]
    pub fn endpoint_was_pulled(
        &mut self,
        nth: u32,
        requests: Requests,
        now: Time,
        windows: &mut Queued,
    ) -> Option<(u32, TrafficClass)> {
        self.wake_in_time(nth, requests.call_at, now, windows);
        let in_line = self.hosts.endpoints[nth as usize].in_line;
        if requests.has_work && !in_line { self.stand_in_line(nth, now, windows) } else { None }
    }

    /// The port that an endpoint sends through.
    #[inline(always)]
    pub fn egress_of(&mut self, nth: u32) -> Option<u32> {
        let (egress, route) = self.way_of(nth)?;
        if self.links.ports[egress as usize].hooks.has(Hooks::DOWN) {
            return self.egress_while_down(nth, egress, route);
        }
        Some(egress)
    }

    /// The port that an endpoint sends through by rights, and the way from there.
    #[inline(always)]
    pub fn way_of(&mut self, nth: u32) -> Option<(u32, Route)> {
        let known = self.hosts.endpoints[nth as usize].way;
        known.or_else(|| self.find_way(nth))
    }

    #[inline(never)]
    fn find_way(&mut self, nth: u32) -> Option<(u32, Route)> {
        let EndpointState { path, behind, .. } = self.hosts.endpoints[nth as usize];
        let way = self.way_from(path, behind);
        self.hosts.endpoints[nth as usize].way = way;
        way
    }

    /// The port that an endpoint sends through while the link of its own is down.
    #[cold]
    fn egress_while_down(&mut self, nth: u32, egress: u32, route: Route) -> Option<u32> {
        let EndpointState { path, behind, .. } = self.hosts.endpoints[nth as usize];
        if behind.is_none() {
            return Some(egress);
        }
        match route.heading() {
            // What switches choose a path for leaves through any link of the host that is up.
            Heading::Destination(to) => {
                self.choose_egress(self.node_of[egress as usize], path, to, Time::ZERO)
            }
            _ => Some(egress),
        }
    }

    /// The far end of a path answers along the way that leads here over `behind` entries of the table of hops. It may
    /// stand in line at a port of another way, whose link may be down for good.
    #[inline(never)]
    fn answer_along(&mut self, nth: u32, behind: Option<NonZeroU32>) {
        let state = &mut self.hosts.endpoints[nth as usize];
        let old = std::mem::replace(&mut state.behind, behind);
        state.way = None;
        if !state.in_line {
            return;
        }
        if let Some((egress, _)) = old.and_then(|old| self.routes.step_back(old.get())) {
            self.leave_line(egress, nth);
        }
    }

    /// Those in line at a port whose link goes down stand where they can send now, if there is such a place.
    pub fn change_lines(&mut self, port: u32, now: Time, windows: &mut Queued) {
        let Some(nic) = &mut self.links.nics[port as usize] else { return };
        let waiting = nic.leave_all();
        for &nth in &waiting {
            match Fabric::limiter_in(nth) {
                None => self.hosts.endpoints[nth as usize].in_line = false,
                Some(limiter) => self.limiter_left_line(limiter),
            }
        }
        for nth in waiting {
            match Fabric::limiter_in(nth) {
                None => self.update_endpoint(nth, now, windows),
                Some(limiter) => self.update_limiter(limiter, now, windows),
            }
        }
    }

    /// The path of an endpoint begins at another port now.
    pub fn change_line(&mut self, old: u32, nth: u32, now: Time, windows: &mut Queued) {
        self.leave_line(old, nth);
        self.update_endpoint(nth, now, windows);
    }

    /// Takes an endpoint out of its line, at whichever port of the host that this is one of: a failed link may have moved
    /// it.
    fn leave_line(&mut self, port: u32, nth: u32) {
        for port in self.ports_beside(port) {
            if let Some(nic) = &mut self.links.nics[port as usize] {
                nic.leave(nth);
            }
        }
        let state = &mut self.hosts.endpoints[nth as usize];
        state.in_line = false;
        if state.limiter != NIL {
            self.hosts.limiters[state.limiter as usize].leave(nth);
        }
    }
}
