//! NICs: what a host's port pulls from the endpoints and limiters that stand in line there.
//!
//! Each class pulls while fewer than a frame or two of theirs wait. A frame that finds the link free takes no place.

use crate::run::state::event::Queued;
use crate::run::state::headers::Carried;
use crate::run::state::index::{EndpointIx, PortIx};
use crate::run::state::nic::InLine;
use crate::run::state::port::Hooks;
use crate::run::state::telemetry::begin_stamps;
use crate::run::state::world::Fabric;
use frame::{Frame, FrameKind, Tag, TrafficClass};
use queueing::Refusal;
use transport::{Protocol, Segment};
use units::Time;

impl Fabric {
    /// Fills a class of a NIC from those in line, by turns.
    pub fn pull(&mut self, egress: PortIx, class: TrafficClass, now: Time, windows: &mut Queued) {
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
                    self.pull_segment(nth, (egress, class), now, windows)
                }
                InLine::Limiter(limiter) => self.pull_limited(limiter, (egress, class), now, windows),
            };
            self.pull_elsewhere((egress, class), place, now, windows);
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
        (egress, class): (PortIx, TrafficClass),
        place: Option<(PortIx, TrafficClass)>,
        now: Time,
        windows: &mut Queued,
    ) {
        self.pull_elsewhere((egress, class), place, now, windows);
        if let Some(nic) = &self.links.nics[egress]
            && nic.has_line(class)
        {
            self.pull(egress, class, now, windows);
        }
    }

    /// Whether a class of a NIC has room for a frame of those in line.
    #[inline(always)]
    fn has_a_turn(&self, egress: PortIx, class: TrafficClass) -> bool {
        let port = &self.links.ports[egress];
        let nic = self.links.nics[egress].as_ref();
        nic.is_some_and(|nic| nic.has_a_turn(class, port.more_in_nic()))
            && !port.hooks.has(Hooks::DOWN)
            && (!port.hooks.has(Hooks::BOUNDED) || self.has_room(egress, class))
    }

    /// A segment of an endpoint, through a class of a NIC where it is in no line.
    #[inline(always)]
    pub fn pull_segment(
        &mut self,
        nth: EndpointIx,
        (egress, class): (PortIx, TrafficClass),
        now: Time,
        windows: &mut Queued,
    ) -> Option<(PortIx, TrafficClass)> {
        let (segment, requests) = self.hosts.endpoints[nth].endpoint.transmit(now);
        // Back in line before the frame goes: sending it may pull the next one.
        let place = self.endpoint_was_pulled(nth, requests, now, windows);
        if let Some(segment) = &segment
            && let Some(frame) = self.frame_of(nth, segment, now)
        {
            self.count_pulled(egress, class);
            self.depart(egress, frame, now, windows);
        }
        place
    }

    /// Lets an endpoint that stands in no line send past its NIC, where it takes no place: if the link is free, and nobody is
    /// before it. False: nothing is done.
    #[inline(always)]
    pub fn send_past_nic(&mut self, nth: EndpointIx, now: Time, windows: &mut Queued) -> bool {
        let state = &mut self.hosts.endpoints[nth];
        let Some((egress, route)) = state.way else { return false };
        if !self.hosts.receiving.is_empty() || !self.links.takes_past_nic(egress, state.priority, now) {
            return false;
        }
        let (segment, then) = &state.endpoint.transmit(now);
        let call = state.wake(then.call_at, now);
        if let Some(segment) = segment {
            let (frame, near) = (state.frame(segment, route, now), state.behind.is_none());
            self.leave_past_nic(egress, frame, (segment, nth, near), now, windows);
        }
        self.after_leaving((egress, nth), [call, None], then.has_work, now, windows);
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
        windows: &mut Queued,
    ) {
        self.count_made(&mut frame, segment, (nth, near));
        self.transmit_untold(egress, frame, now, windows);
    }

    /// A segment has left past its NIC: schedules the calls of its endpoint, which stands in line if it has more.
    #[inline(always)]
    pub fn after_leaving(
        &mut self,
        (egress, nth): (PortIx, EndpointIx),
        calls: [Option<Time>; 2],
        has_more: bool,
        now: Time,
        windows: &mut Queued,
    ) {
        if let Some(at) = calls[0] {
            self.schedule_call(nth, at, windows);
        }
        if let Some(at) = calls[1] {
            self.schedule_call(nth, at, windows);
        }
        if has_more {
            self.stand_behind(egress, nth, now, windows);
        }
    }

    /// An endpoint stands in line at its NIC, where nobody else does.
    #[inline(never)]
    fn stand_behind(&mut self, egress: PortIx, nth: EndpointIx, now: Time, windows: &mut Queued) {
        let priority = self.hosts.endpoints[nth].priority;
        let class = self.links.ports[egress].classes.class(priority);
        self.join_line(nth, (egress, class), now);
        self.pull(egress, class, now, windows);
    }

    /// A segment leaves, with the tag of its limiter and, if that marks it, a mark.
    pub fn send_segment(
        &mut self,
        egress: PortIx,
        nth: EndpointIx,
        segment: &Segment,
        (tag, marked): (Option<(Tag, u8)>, bool),
        now: Time,
        windows: &mut Queued,
    ) {
        let Some(mut frame) = self.frame_of(nth, segment, now) else { return };
        let _ = marked && frame.flags.mark();
        if let Some((tag, bytes)) = tag {
            self.headers.tag(&mut frame, tag, bytes);
        }
        self.depart(egress, frame, now, windows);
    }

    /// Whether a class of a NIC takes a frame now, and nobody is before it.
    #[inline(always)]
    pub fn takes_at_once(&self, egress: PortIx, class: TrafficClass) -> bool {
        let nic = self.links.nics[egress].as_ref();
        nic.is_some_and(|nic| !nic.has_line(class)) && self.has_a_turn(egress, class)
    }

    pub fn count_pulled(&mut self, egress: PortIx, class: TrafficClass) {
        if let Some(nic) = &mut self.links.nics[egress] {
            nic.count_pulled(class);
        }
    }

    /// Whether a NIC that drops what it cannot hold has room for one more frame. If not, one that leaves makes some.
    fn has_room(&self, egress: PortIx, class: TrafficClass) -> bool {
        let buffer = &self.nodes[self.node_of[egress]].memory().buffer;
        let waits = |limit| self.waits_before_nic(limit, egress, class);
        waits(Refusal::Queue).frames == 0 || buffer.admit(frame::MAX_TAGGED_FRAME_BYTES, waits).is_ok()
    }

    /// A frame that a NIC has pulled waits no longer: it is on the link, or lost.
    pub fn pulled_frame_left(&mut self, egress: PortIx, class: TrafficClass) {
        if let Some(nic) = &mut self.links.nics[egress] {
            nic.pulled_left(class);
        }
    }

    /// Checks that each NIC counts the pulled frames that wait there, and that no class holds more of them than it may.
    ///
    /// # Panics
    /// If a NIC counts wrong: a fault of the simulator.
    pub(super) fn check_nics(&self) {
        for (egress, nic) in self.links.nics.iter_enumerated() {
            let Some(nic) = nic else { continue };
            let port = &self.links.ports[egress];
            let receiving = self.hosts.receiving.get(egress).and_then(Option::as_deref);
            let preparing = || receiving.into_iter().flat_map(|own| own.preparing(&self.buffers.pool));
            for class in (0..port.classes.classes() as u8).map(TrafficClass) {
                let queued = self.buffers.frames(port.queue(class)).map(|waiting| &waiting.frame);
                let prepared = preparing().filter(|frame| port.classes.class(frame.priority) == class);
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
    pub fn pull_all(&mut self, egress: PortIx, now: Time, windows: &mut Queued) {
        let classes = self.nodes[self.node_of[egress]].classes.classes();
        for class in 0..classes as u8 {
            self.pull(egress, TrafficClass(class), now, windows);
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
}
