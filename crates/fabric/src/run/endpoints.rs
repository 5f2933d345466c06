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
use frame::{Ecn, Flags, Frame, FrameKind, Heading, PathId, Priority, Route, Tag, TrafficClass};
use queueing::Told;
use std::num::NonZeroU32;
use transport::{Protocol, Received, Segment, Wishes};
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
    #[inline(never)]
    pub fn deliver_to_endpoint(&mut self, frame: &Frame, now: Time, windows: &mut Queued) {
        self.ledger.delivered += 1;
        let ends = self.hosts.endpoints_of_path.get(frame.path.at()).copied().unwrap_or([RAW; 2]);
        let to_far = match frame.route.heading() {
            Heading::Forward(_) => true,
            Heading::Backward(_) => false,
            Heading::Destination(node) => self.routes.source_node(frame.path) != Some(node),
        };
        let kind = frame.flags.kind();
        let told = if matches!(kind, FrameKind::Cnm | FrameKind::Tag) { self.told_by(frame) } else { None };
        if let Some(told) = told
            && let Some(limiter) = self.limiter_at(frame.path, to_far)
        {
            return self.on_limiter_message(limiter, told, frame.created, now, windows);
        }
        let header = if told.is_some() { None } else { self.headers.release(frame) };
        let nth = ends[usize::from(to_far)];
        // A message for a source that does not listen.
        if nth == RAW {
            return;
        }
        if to_far {
            // Of a frame whose path was chosen on the way nothing is known; the planned path leads back as well.
            if let Some(next) = frame.route.next_hop() {
                self.answer_along(nth, next - 1);
            }
            if kind == FrameKind::Data {
                let receiver = self.hosts.receiver_of_path[frame.path.at()] as usize;
                self.hosts.receivers[receiver].count(frame, now);
            }
        }
        let state = &mut self.hosts.endpoints[nth as usize];
        if kind == FrameKind::Cnm {
            state.measured.messages.record(now - frame.created);
        }
        let (word, header) = match (told, header) {
            (Some(Told::Message(notice)), _) => (notice.feedback, None),
            (_, Some(Carried::Header(header))) => (0, Some(header)),
            _ => (frame.word, None),
        };
        let received = Received {
            kind,
            word,
            header,
            bytes: frame.bytes,
            congestion_experienced: frame.flags.ecn() == Ecn::Experienced,
            created: frame.created,
        };
        state.endpoint.handle_frame(now, &received);
        self.update_endpoint(nth, now, windows);
    }

    /// An endpoint asked to be called now.
    #[inline(never)]
    pub fn endpoint_due(&mut self, nth: u32, now: Time, windows: &mut Queued) {
        let state = &mut self.hosts.endpoints[nth as usize];
        // An event that a later wish has overtaken.
        if state.wakes_at != now {
            return;
        }
        state.wakes_at = Time::NEVER;
        if state.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            state.endpoint.handle_timeout(now);
        }
        self.update_endpoint(nth, now, windows);
    }

    /// Something has happened to an endpoint: takes its records, sets its timer, and lets it stand in line if it has
    /// something to send.
    fn update_endpoint(&mut self, nth: u32, now: Time, windows: &mut Queued) {
        let state = &mut self.hosts.endpoints[nth as usize];
        let mut wishes = state.endpoint.wishes();
        if wishes.has_records {
            state.collect();
        }
        if state.peers != NIL {
            wishes = self.begin_steps(nth, now, windows);
        }
        self.note_congestion(nth, now);
        self.wake_in_time(nth, wishes.call_at, now, windows);
        let state = &self.hosts.endpoints[nth as usize];
        if state.in_line || !wishes.has_work {
            return;
        }
        let place = if state.limiter == NIL {
            self.send_or_stand(nth, now, windows)
        } else {
            self.stand_at_limiter(state.limiter, nth, now, windows)
        };
        if let Some((egress, class)) = place {
            self.pull(egress, class, now, windows);
        }
    }

    /// Endpoints of a host whose steps wait for each other begin theirs as far as that is known. What this one wishes then.
    #[inline(never)]
    fn begin_steps(&mut self, nth: u32, now: Time, windows: &mut Queued) -> Wishes {
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
            let call_at = endpoint.wishes().call_at;
            self.wake_in_time(own, call_at, now, windows);
        }
        self.hosts.peers[group] = peers;
        self.hosts.endpoints[nth as usize].endpoint.wishes()
    }

    /// Lets an endpoint send that has something if nobody is before it at its NIC, and the NIC takes it; else it stands in
    /// line. Port and class at which it stands then, because it must wait or has more.
    fn send_or_stand(&mut self, nth: u32, now: Time, windows: &mut Queued) -> Option<(u32, TrafficClass)> {
        let (egress, class) = self.place_of(nth)?;
        let nic = self.links.cold[egress as usize].nic.as_ref()?;
        if nic.ready[class.at()].is_empty() && self.has_a_turn(egress, class) {
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
        let at = call_at.max(now);
        let state = &mut self.hosts.endpoints[nth as usize];
        if at < state.wakes_at {
            state.wakes_at = at;
            let place = (self.links.len() + self.hosts.sources.len()) as u32 + nth;
            windows.push(Event::bare(Kind::Timeout, at, place));
        }
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
    fn join_line(&mut self, nth: u32, (egress, class): (u32, TrafficClass), now: Time) {
        let Some(nic) = &mut self.links.cold[egress as usize].nic else { return };
        nic.ready[class.at()].push_back(nth);
        let state = &mut self.hosts.endpoints[nth as usize];
        (state.in_line, state.since) = (true, now);
        state.stopped_before = nic.stopped_for(class, now);
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

    /// A segment of an endpoint has been pulled: sets its timer, and lets it stand in line again if it has more, at which
    /// port and class.
    #[inline(always)]
    pub fn endpoint_was_pulled(
        &mut self,
        nth: u32,
        now: Time,
        windows: &mut Queued,
    ) -> Option<(u32, TrafficClass)> {
        let state = &self.hosts.endpoints[nth as usize];
        let (wishes, in_line) = (state.endpoint.wishes(), state.in_line);
        self.wake_in_time(nth, wishes.call_at, now, windows);
        if wishes.has_work && !in_line { self.stand_in_line(nth, now, windows) } else { None }
    }

    /// The port that an endpoint sends through.
    pub fn egress_of(&mut self, nth: u32) -> Option<u32> {
        let EndpointState { path, behind, .. } = self.hosts.endpoints[nth as usize];
        let (egress, route) = self.way_from(path, behind)?;
        if behind.is_none() || !self.links.ports[egress as usize].hooks.has(Hooks::DOWN) {
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
    fn answer_along(&mut self, nth: u32, behind: u32) {
        let behind = NonZeroU32::new(behind);
        let old = std::mem::replace(&mut self.hosts.endpoints[nth as usize].behind, behind);
        if old == behind || !self.hosts.endpoints[nth as usize].in_line {
            return;
        }
        if let Some((egress, _)) = old.and_then(|old| self.routes.step_back(old.get())) {
            self.leave_line(egress, nth);
        }
    }

    /// Those in line at a port whose link goes down stand where they can send now, if there is such a place.
    pub fn change_lines(&mut self, port: u32, now: Time, windows: &mut Queued) {
        let Some(nic) = &mut self.links.cold[port as usize].nic else { return };
        let waiting: Vec<u32> = nic.ready.iter_mut().flat_map(|line| line.drain(..)).collect();
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

    /// Fills a class of a NIC from those in line, by turns.
    pub fn pull(&mut self, egress: u32, class: TrafficClass, now: Time, windows: &mut Queued) {
        loop {
            let Some(nic) = &self.links.cold[egress as usize].nic else { return };
            if nic.ready[class.at()].is_empty() || !self.has_a_turn(egress, class) {
                return;
            }
            let Some(nic) = &mut self.links.cold[egress as usize].nic else { return };
            let Some(nth) = nic.ready[class.at()].pop_front() else { return };
            let place = match Fabric::limiter_in(nth) {
                None => {
                    let state = &mut self.hosts.endpoints[nth as usize];
                    state.stopped = state.stopped(nic, class, now);
                    state.in_line = false;
                    self.pull_segment(nth, (egress, class), now, windows)
                }
                Some(limiter) => self.pull_limited(limiter, (egress, class), now, windows),
            };
            self.pull_elsewhere((egress, class), place, now, windows);
        }
    }

    /// Who was pulled stands in line again: if its link is up again, or the next frame of a limiter is of another class, at
    /// another place, where nothing else may happen.
    #[inline(always)]
    fn pull_elsewhere(
        &mut self,
        pulled_at: (u32, TrafficClass),
        place: Option<(u32, TrafficClass)>,
        now: Time,
        windows: &mut Queued,
    ) {
        if let Some((other, others)) = place.filter(|&place| place != pulled_at) {
            self.pull(other, others, now, windows);
        }
    }

    /// Goes on filling a class of a NIC, after one who did not stand in line there has been pulled.
    #[inline(always)]
    pub fn pull_on(
        &mut self,
        (egress, class): (u32, TrafficClass),
        place: Option<(u32, TrafficClass)>,
        now: Time,
        windows: &mut Queued,
    ) {
        self.pull_elsewhere((egress, class), place, now, windows);
        let nic = self.links.cold[egress as usize].nic.as_ref();
        if nic.is_some_and(|nic| !nic.ready[class.at()].is_empty()) {
            self.pull(egress, class, now, windows);
        }
    }

    /// Whether a class of a NIC has room for a frame of those in line.
    #[inline(always)]
    fn has_a_turn(&self, egress: u32, class: TrafficClass) -> bool {
        let hooks = self.links.ports[egress as usize].hooks;
        // A scheduler that is told of every frame must not see a queue run empty between two.
        let more = u32::from(hooks.has(Hooks::SCHEDULER));
        let nic = self.links.cold[egress as usize].nic.as_ref();
        nic.is_some_and(|nic| nic.pulled[class.at()] < nic.keeps + more)
            && !hooks.has(Hooks::DOWN)
            && (!hooks.has(Hooks::BOUNDED) || self.has_room(egress, class))
    }

    /// A segment of an endpoint, through a class of a NIC where it is in no line.
    #[inline(always)]
    fn pull_segment(
        &mut self,
        nth: u32,
        (egress, class): (u32, TrafficClass),
        now: Time,
        windows: &mut Queued,
    ) -> Option<(u32, TrafficClass)> {
        let segment = self.hosts.endpoints[nth as usize].endpoint.poll_transmit(now);
        // Back in line before the frame goes: sending it may pull the next one.
        let place = self.endpoint_was_pulled(nth, now, windows);
        if let Some(segment) = &segment {
            self.count_pulled(egress, class);
            self.send_segment(egress, nth, segment, (None, false), now, windows);
        }
        place
    }

    /// Whether a class of a NIC takes a frame now, and nobody is before it.
    pub fn takes_at_once(&self, egress: u32, class: TrafficClass) -> bool {
        let nic = self.links.cold[egress as usize].nic.as_ref();
        nic.is_some_and(|nic| nic.ready[class.at()].is_empty()) && self.has_a_turn(egress, class)
    }

    pub fn count_pulled(&mut self, egress: u32, class: TrafficClass) {
        if let Some(nic) = &mut self.links.cold[egress as usize].nic {
            nic.pulled[class.at()] += 1;
        }
    }

    /// Whether a NIC that drops what it cannot hold has room for one more frame. If not, one that leaves makes some.
    fn has_room(&self, egress: u32, class: TrafficClass) -> bool {
        let node = &self.nodes[self.node_of[egress as usize] as usize];
        let waiting = self.before_nic(egress, class);
        waiting.queue.frames == 0
            || node.memory().buffer.admit(&waiting, frame::MAX_TAGGED_FRAME_BYTES).is_ok()
    }

    /// A frame that a NIC has pulled waits no longer: it is on the link, or lost.
    #[inline(always)]
    pub fn pulled_frame_left(&mut self, egress: u32, class: TrafficClass) {
        if let Some(nic) = &mut self.links.cold[egress as usize].nic {
            nic.pulled[class.at()] = nic.pulled[class.at()].saturating_sub(1);
        }
    }

    /// Pulls for all classes of a port that can send again.
    pub fn pull_all(&mut self, egress: u32, now: Time, windows: &mut Queued) {
        let classes = self.nodes[self.node_of[egress as usize] as usize].classes.classes();
        for class in 0..classes as u8 {
            self.pull(egress, TrafficClass(class), now, windows);
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
            if let Some(nic) = &mut self.links.cold[port as usize].nic {
                nic.ready.iter_mut().for_each(|line| line.retain(|&other| other != nth));
            }
        }
        let state = &mut self.hosts.endpoints[nth as usize];
        state.in_line = false;
        if state.limiter != NIL {
            self.hosts.limiters[state.limiter as usize].leave(nth);
        }
    }

    /// A segment leaves, with the tag of its limiter and, if that marks it, a mark.
    pub fn send_segment(
        &mut self,
        egress: u32,
        nth: u32,
        segment: &Segment,
        (tag, marked): (Option<(Tag, u8)>, bool),
        now: Time,
        windows: &mut Queued,
    ) {
        let state = &self.hosts.endpoints[nth as usize];
        let ecn = match (segment.ecn_capable, marked) {
            (false, _) => Ecn::NotCapable,
            (true, false) => Ecn::Capable,
            (true, true) => Ecn::Experienced,
        };
        let mut frame = Frame {
            created: now,
            path: PathId(state.path),
            route: Route::default(),
            word: segment.word,
            bytes: segment.bytes,
            priority: state.priority,
            flags: Flags::new(segment.kind, ecn).bypassable(state.bypassable),
        };
        if let Some(header) = segment.header {
            self.headers.attach(&mut frame, Carried::Header(header));
        }
        if let Some((tag, bytes)) = tag {
            self.headers.tag(&mut frame, tag, bytes);
        }
        let EndpointState { path, behind, .. } = *state;
        if behind.is_none() && segment.kind == FrameKind::Data {
            let source = &mut self.hosts.sources[self.routes.path_source[path as usize] as usize];
            source.frames += 1;
            source.bytes += u64::from(segment.bytes);
        }
        // Through the port where it stood in line.
        let Some((_, route)) = self.way_from(path, behind) else { return };
        self.ledger.made += 1;
        self.depart(egress, Frame { route, ..frame }, now, windows);
    }
}
