//! NICs: how a host's port pulls from the endpoints and rate limiters in the wait queues of its classes.
//!
//! Each class pulls while it holds less than a frame or two of theirs. A frame that finds the link free occupies no place.

use crate::run::state::event::EventQueue;
use crate::run::state::headers::Carried;
use crate::run::state::index::{EndpointIx, LimiterIx, PortIx};
use crate::run::state::limiter_line::Next;
use crate::run::state::limiter_places::NextFrame;
use crate::run::state::nic::InLine;
use crate::run::state::port::PortFeatures;
use crate::run::state::telemetry::begin_stamps;
use crate::run::state::world::Fabric;
use frame::{Frame, FrameKind, Priority, Tag, TrafficClass};
use queueing::Refusal;
use transport::{Protocol, Segment};
use units::Time;

impl Fabric {
    /// Fills a class of a NIC from those in line, by turns.
    pub fn pull(&mut self, egress: PortIx, class: TrafficClass, now: Time, events: &mut EventQueue) {
        loop {
            let Some(nic) = &self.links.nics[egress] else { return };
            if !nic.has_line(class) || !self.has_a_turn(egress, class) {
                return;
            }
            let Some(nic) = &mut self.links.nics[egress] else { return };
            let Some(next) = nic.next_in_line(class) else { return };
            let place = match next {
                InLine::Endpoint(nth) => {
                    let state = &mut self.hosts.endpoints[nth];
                    let stopped = state.stopped(nic, class, now);
                    if stopped > state.stopped {
                        state.endpoint.on_stopped(stopped - state.stopped, now);
                    }
                    (state.stopped, state.in_line) = (stopped, false);
                    self.pull_segment(nth, (egress, class), now, events)
                }
                InLine::Limiter(limiter) => self.pull_limited(limiter, (egress, class), now, events),
            };
            self.pull_elsewhere((egress, class), place, now, events);
        }
    }

    /// Who was pulled stands in line again: if its link is up again, or the next frame of a limiter is of another class, at
    /// another place, where nothing else may happen.
    #[inline(always)]
    fn pull_elsewhere(
        &mut self,
        pulled_at: (PortIx, TrafficClass),
        place: Option<(PortIx, TrafficClass)>,
        now: Time,
        events: &mut EventQueue,
    ) {
        if let Some((other, others)) = place.filter(|&place| place != pulled_at) {
            self.pull(other, others, now, events);
        }
    }

    /// Goes on filling a class of a NIC, after one who did not stand in line there has been pulled.
    #[inline(always)]
    pub fn pull_on(
        &mut self,
        (egress, class): (PortIx, TrafficClass),
        place: Option<(PortIx, TrafficClass)>,
        now: Time,
        events: &mut EventQueue,
    ) {
        self.pull_elsewhere((egress, class), place, now, events);
        if let Some(nic) = &self.links.nics[egress]
            && nic.has_line(class)
        {
            self.pull(egress, class, now, events);
        }
    }

    /// Whether a class of a NIC has room for a frame of those in line.
    #[inline(always)]
    fn has_a_turn(&self, egress: PortIx, class: TrafficClass) -> bool {
        let port = &self.links.ports[egress];
        let nic = self.links.nics[egress].as_ref();
        nic.is_some_and(|nic| nic.has_a_turn(class, port.more_in_nic()))
            && !port.features.has(PortFeatures::DOWN)
            && (!port.features.has(PortFeatures::BOUNDED) || self.has_room(egress, class))
    }

    /// A segment of an endpoint, through a class of a NIC where it is in no line.
    #[inline(always)]
    pub fn pull_segment(
        &mut self,
        nth: EndpointIx,
        (egress, class): (PortIx, TrafficClass),
        now: Time,
        events: &mut EventQueue,
    ) -> Option<(PortIx, TrafficClass)> {
        let (segment, requests) = self.hosts.endpoints[nth].endpoint.transmit(now);
        // Back in line before the frame goes: sending it may pull the next one.
        let place = self.endpoint_was_pulled(nth, requests, now, events);
        if let Some(segment) = &segment
            && let Some(frame) = self.frame_of(nth, segment, now)
        {
            self.count_pulled(egress, class);
            self.depart(egress, frame, now, events);
        }
        place
    }

    /// Lets an endpoint that stands in no line send past its NIC, where it takes no place: if the link is free, and nobody is
    /// before it. False: nothing is done.
    #[inline(always)]
    pub fn send_past_nic(&mut self, nth: EndpointIx, now: Time, events: &mut EventQueue) -> bool {
        let state = &mut self.hosts.endpoints[nth];
        let Some((egress, route)) = state.way else { return false };
        if !self.hosts.receiving.is_empty() || !self.links.takes_past_nic(egress, state.priority, now) {
            return false;
        }
        let (segment, then) = &state.endpoint.transmit(now);
        let call = state.wake(then.call_at, now);
        if let Some(segment) = segment {
            let (frame, near) = (state.frame(segment, route, now), state.behind.is_none());
            self.leave_past_nic(egress, frame, (segment, nth, near), now, events);
        }
        self.after_leaving((egress, nth), [call, None], then.has_work, now, events);
        true
    }

    /// The frame of a segment, from a `near` end or a far one, goes to a link that is free.
    #[inline(always)]
    pub fn leave_past_nic(
        &mut self,
        egress: PortIx,
        mut frame: Frame,
        (segment, nth, near): (&Segment, EndpointIx, bool),
        now: Time,
        events: &mut EventQueue,
    ) {
        self.count_made(&mut frame, segment, (nth, near));
        self.transmit_unfed(egress, frame, now, events);
    }

    /// A segment has left past its NIC: schedules the calls of its endpoint, which stands in line if it has more.
    #[inline(always)]
    pub fn after_leaving(
        &mut self,
        (egress, nth): (PortIx, EndpointIx),
        calls: [Option<Time>; 2],
        has_more: bool,
        now: Time,
        events: &mut EventQueue,
    ) {
        if let Some(at) = calls[0] {
            self.schedule_call(nth, at, events);
        }
        if let Some(at) = calls[1] {
            self.schedule_call(nth, at, events);
        }
        if has_more {
            self.stand_behind(egress, nth, now, events);
        }
    }

    /// An endpoint stands in line at its NIC, where nobody else does.
    #[inline(never)]
    fn stand_behind(&mut self, egress: PortIx, nth: EndpointIx, now: Time, events: &mut EventQueue) {
        let priority = self.hosts.endpoints[nth].priority;
        let class = self.links.ports[egress].classes.class(priority);
        self.join_line(nth, (egress, class), now);
        self.pull(egress, class, now, events);
    }

    /// A segment leaves, with the tag of its limiter and, if that marks it, a mark.
    pub fn send_segment(
        &mut self,
        egress: PortIx,
        nth: EndpointIx,
        segment: &Segment,
        (tag, marked): (Option<(Tag, u8)>, bool),
        now: Time,
        events: &mut EventQueue,
    ) {
        let Some(mut frame) = self.frame_of(nth, segment, now) else { return };
        let _ = marked && frame.flags.mark();
        if let Some((tag, bytes)) = tag {
            self.headers.tag(&mut frame, tag, bytes);
        }
        self.depart(egress, frame, now, events);
    }

    /// Whether a class of a NIC takes a frame now, and nobody is before it.
    #[inline(always)]
    pub fn takes_at_once(&self, egress: PortIx, class: TrafficClass) -> bool {
        let nic = self.links.nics[egress].as_ref();
        nic.is_some_and(|nic| !nic.has_line(class)) && self.has_a_turn(egress, class)
    }

    /// Whether a NIC that drops what it cannot hold has room for one more frame. If not, one that leaves makes some.
    fn has_room(&self, egress: PortIx, class: TrafficClass) -> bool {
        let buffer = &self.nodes[self.node_of[egress]].memory().buffer;
        let waits = |limit| self.waits_before_nic(limit, egress, class);
        waits(Refusal::Queue).frames == 0 || buffer.admit(frame::MAX_TAGGED_FRAME_BYTES, waits).is_ok()
    }

    /// Checks that each NIC counts the pulled frames that wait there, and that no class holds more of them than it may.
    ///
    /// # Panics
    /// If a NIC counts wrong: a fault of the simulator.
    pub fn check_nics(&self) {
        for (egress, nic) in self.links.nics.iter_enumerated() {
            let Some(nic) = nic else { continue };
            let port = &self.links.ports[egress];
            let receiving = self.hosts.receiving.get(egress).and_then(Option::as_deref);
            let preparing = || receiving.into_iter().flat_map(|own| own.preparing(&self.buffers.pool));
            for class in (0..port.classes.classes() as u8).map(TrafficClass) {
                let queued = self.buffers.frames(port.queue(class)).map(|waiting| &waiting.frame);
                let prepared = preparing().filter(|frame| port.classes.class(frame.priority()) == class);
                let waiting = queued.chain(prepared);
                let waiting = waiting.filter(|frame| self.was_pulled(frame, frame.flags.is_pushed())).count();
                let (pulled, most) = nic.pulled(class, port.more_in_nic());
                assert!(
                    waiting as u32 == pulled && pulled <= most,
                    "a NIC holds {waiting} frames of endpoints and limiters, counts {pulled} and may hold {most}: this is a fault of the \
                     simulator"
                );
            }
        }
    }

    /// Pulls for all classes of a port that can send again.
    pub fn pull_all(&mut self, egress: PortIx, now: Time, events: &mut EventQueue) {
        let classes = self.nodes[self.node_of[egress]].classes.classes();
        for class in 0..classes as u8 {
            self.pull(egress, TrafficClass(class), now, events);
        }
    }

    /// The frame of a segment that leaves now.
    fn frame_of(&mut self, nth: EndpointIx, segment: &Segment, now: Time) -> Option<Frame> {
        let (_, route) = self.way_of(nth)?;
        let state = &self.hosts.endpoints[nth];
        let (mut frame, near) = (state.frame(segment, route, now), state.behind.is_none());
        self.count_made(&mut frame, segment, (nth, near));
        Some(frame)
    }

    /// Counts the frame of a segment of an endpoint, from a `near` end or a far one, and gives it its header.
    #[inline(always)]
    fn count_made(&mut self, frame: &mut Frame, segment: &Segment, (nth, near): (EndpointIx, bool)) {
        if let Some(header) = segment.header {
            self.headers.attach(frame, Carried::Header(header));
            if let Some(rdma) = header.rdma().filter(|rdma| rdma.telemetry.has_stamps()) {
                let endpoint = &self.hosts.endpoints[nth].endpoint;
                begin_stamps(&mut self.headers, frame, endpoint, rdma.pair);
            }
        }
        if near && segment.kind == FrameKind::Data {
            let source = &mut self.hosts.sources[self.routes.path_source[frame.path.at()]];
            source.frames += 1;
            source.bytes += u64::from(segment.bytes);
        }
        self.ledger.made += 1;
    }

    /// Takes the next frame out of a limiter that stood in line for a class of a port, as long as that is the one that leaves
    /// there now, and nothing has stopped the limiter. Where it stands in line again, if it may.
    #[inline(never)]
    pub fn pull_limited(
        &mut self,
        nth: LimiterIx,
        place: (PortIx, TrafficClass),
        now: Time,
        events: &mut EventQueue,
    ) -> Option<(PortIx, TrafficClass)> {
        self.limiter_left_line(nth);
        let is_held = self.hosts.limiters[nth].is_held(now);
        match self.next_of_limiter(nth).filter(|next| !is_held && self.leaves_at(next, place)) {
            Some(next) => self.leave_limiter(nth, next, place, false, now, events),
            None => self.limiter_in_line(nth, now),
        }
    }

    /// The next frame leaves a limiter that is in no line, through a class of a port, `straight` to the link if that takes
    /// it. Where the limiter stands in line again, if it may: it does before the frame goes, as that may pull the next one.
    pub fn leave_limiter(
        &mut self,
        nth: LimiterIx,
        next: NextFrame,
        (egress, class): (PortIx, TrafficClass),
        straight: bool,
        now: Time,
        events: &mut EventQueue,
    ) -> Option<(PortIx, TrafficClass)> {
        let place = match self.hosts.limiters[nth].line.next() {
            Some(Next::Endpoint(_, from)) => self.segment_leaves(nth, from, (egress, class), now, events),
            _ => {
                let frame = self.frame_leaves(nth, next.priority, egress, now);
                let place = self.limiter_in_line(nth, now);
                self.frame_departs((egress, class), straight && place.is_none(), frame, now, events);
                place
            }
        };
        self.wake_limiter(nth, now, events);
        place
    }

    /// As `leave_limiter`, if it is an endpoint's.
    fn segment_leaves(
        &mut self,
        nth: LimiterIx,
        from: EndpointIx,
        (egress, class): (PortIx, TrafficClass),
        now: Time,
        events: &mut EventQueue,
    ) -> Option<(PortIx, TrafficClass)> {
        let overhead = self.links.ports[egress].timing.overhead();
        let limiter = &mut self.hosts.limiters[nth];
        limiter.line.take_endpoint();
        let state = &mut self.hosts.endpoints[from];
        state.in_line = false;
        let marked = limiter.marks(now);
        let (segment, requests) = state.endpoint.transmit(now);
        let priority = state.priority;
        let tag = segment.as_ref().and_then(|segment| {
            limiter.measured.marks += u64::from(marked && segment.ecn_capable);
            limiter.leaves(priority, segment.bytes, overhead, now)
        });
        let place = self.endpoint_was_pulled(from, requests, now, events);
        let place = place.or_else(|| self.limiter_in_line(nth, now));
        if let Some(segment) = &segment {
            self.count_pulled(egress, class);
            self.send_segment(egress, from, segment, (tag, marked), now, events);
        }
        place
    }

    /// The first frame of a priority that waits in a limiter leaves it, with what it gets there.
    fn frame_leaves(&mut self, nth: LimiterIx, priority: Priority, egress: PortIx, now: Time) -> Frame {
        let overhead = self.links.ports[egress].timing.overhead();
        let limiter = &mut self.hosts.limiters[nth];
        let path = self.buffers.pool.head(limiter.line.list(priority)).path;
        let start = self.routes.path_start[path.at()];
        let mut frame = limiter.pop(&mut self.buffers.pool, priority, start, now);
        limiter.marks_if_late(&mut frame, now);
        if let Some((tag, bytes)) = limiter.leaves(priority, frame.bytes, overhead, now) {
            self.headers.tag(&mut frame, tag, bytes);
        }
        frame
    }

    /// A frame of a source that has left its limiter departs, `straight` to the link or through the NIC.
    #[inline(always)]
    pub fn frame_departs(
        &mut self,
        (egress, class): (PortIx, TrafficClass),
        straight: bool,
        frame: Frame,
        now: Time,
        events: &mut EventQueue,
    ) {
        if straight {
            self.transmit_unfed(egress, frame, now, events);
            self.refill_from_sources(egress, class, &frame);
        } else {
            self.count_pulled(egress, class);
            self.depart(egress, frame, now, events);
        }
    }

    /// Whether a frame of a source goes from its limiter straight to the link: it is free, and nobody waits in line there.
    #[inline(always)]
    pub fn goes_straight(&self, egress: PortIx, class: TrafficClass, now: Time) -> bool {
        self.hosts.receiving.is_empty()
            && self.links.ports[egress].is_free(now)
            && self.links.nics[egress].as_ref().is_some_and(|nic| !nic.has_line(class))
    }
}
