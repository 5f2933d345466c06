//! NICs: how a host's port pulls from the endpoints and rate limiters in the wait queues of its classes.
//!
//! Each class pulls while it holds less than a frame or two from them. A frame that finds the link idle occupies no
//! place.

use crate::run::state::event::EventQueue;
use crate::run::state::headers::Carried;
use crate::run::state::index::{EndpointIx, LimiterIx, PortIx};
use crate::run::state::limiter_line::Next;
use crate::run::state::limiter_places::NextFrame;
use crate::run::state::nic::InLine;
use crate::run::state::port::PortFeatures;
use crate::run::state::telemetry::begin_stamps;
use crate::run::state::view::NodeView;
use crate::run::steps::cores;
use crate::run::steps::endpoint_queueing;
use crate::run::steps::endpoint_ways;
use crate::run::steps::limiter_calls;
use crate::run::steps::limiter_places;
use crate::run::steps::nic_places;
use crate::run::steps::transmission;
use frame::{Frame, FrameKind, Priority, Route, Tag, TrafficClass};
use queueing::Refusal;
use transport::{HostEvent, Protocol, Segment};
use units::Time;

/// Fills a class of a NIC from its wait queue, round-robin.
pub fn pull(here: &mut NodeView, egress: PortIx, class: TrafficClass, now: Time, events: &mut EventQueue) {
    loop {
        let Some(nic) = &here.links.nics[egress] else { return };
        if !nic.has_line(class) || !has_a_turn(here, egress, class) {
            return;
        }
        let Some(nic) = &mut here.links.nics[egress] else { return };
        let Some(next) = nic.next_in_line(class) else { return };
        let place = match next {
            InLine::Endpoint(nth) => {
                let state = &mut here.hosts.endpoints[nth];
                let stopped = state.stopped(nic, class, now);
                if stopped > state.stopped {
                    state.endpoint.on_event(now, &HostEvent::Stopped(stopped - state.stopped));
                }
                (state.stopped, state.in_line) = (stopped, false);
                let stripes = state.stripes;
                if let Some((port, route)) = state.way
                    && port == egress
                    && state.limiter.is_none()
                    && here.probes.congestion.is_empty()
                {
                    pull_own(here, nth, (egress, class), route, now, events);
                    None
                } else if stripes && endpoint_ways::egress_of(here, nth) != Some(egress) {
                    // Another frame has become due meanwhile, which leaves through another link.
                    endpoint_queueing::stand_in_line(here, nth, now, events)
                } else {
                    pull_segment(here, nth, (egress, class), now, events)
                }
            }
            InLine::Limiter(limiter) => pull_limited(here, limiter, (egress, class), now, events),
        };
        pull_elsewhere(here, (egress, class), place, now, events);
    }
}

/// Enqueues a pulled endpoint or limiter in another wait queue than the one it left: its link has come up, or the next
/// frame of a limiter is of another class.
#[inline(always)]
fn pull_elsewhere(
    here: &mut NodeView,
    pulled_at: (PortIx, TrafficClass),
    place: Option<(PortIx, TrafficClass)>,
    now: Time,
    events: &mut EventQueue,
) {
    if let Some((other, others)) = place.filter(|&place| place != pulled_at) {
        pull(here, other, others, now, events);
    }
}

/// Resumes filling a NIC class after an endpoint was pulled that was not in its wait queue.
#[inline(always)]
pub fn pull_on(
    here: &mut NodeView,
    (egress, class): (PortIx, TrafficClass),
    place: Option<(PortIx, TrafficClass)>,
    now: Time,
    events: &mut EventQueue,
) {
    pull_elsewhere(here, (egress, class), place, now, events);
    if let Some(nic) = &here.links.nics[egress]
        && nic.has_line(class)
    {
        pull(here, egress, class, now, events);
    }
}

/// Returns true if a class of a NIC may pull a frame from its wait queue.
#[inline(always)]
fn has_a_turn(here: &NodeView, egress: PortIx, class: TrafficClass) -> bool {
    let port = &here.links.ports[egress];
    let nic = here.links.nics[egress].as_ref();
    nic.is_some_and(|nic| nic.has_a_turn(class, port.more_in_nic()))
        && !port.features.has(PortFeatures::DOWN)
        && (!port.features.has(PortFeatures::BOUNDED) || has_room(here, egress, class))
}

/// Pulls a segment of an endpoint through a class of a NIC, in whose wait queue the endpoint is not.
#[inline(always)]
pub fn pull_segment(
    here: &mut NodeView,
    nth: EndpointIx,
    (egress, class): (PortIx, TrafficClass),
    now: Time,
    events: &mut EventQueue,
) -> Option<(PortIx, TrafficClass)> {
    let (segment, requests) = here.hosts.endpoints[nth].endpoint.transmit(now);
    // Enqueued again before the frame is sent, since sending it may pull the next one.
    let place = endpoint_queueing::endpoint_was_pulled(here, nth, requests, now, events);
    if let Some(segment) = &segment
        && let Some(frame) = frame_of(here, nth, segment, now)
    {
        nic_places::count_pulled(here, egress, class);
        cores::depart(here, egress, frame, now, events);
    }
    place
}

/// Variant of `pull_segment` for an endpoint that sends only through this port, without a limiter, and without a
/// recorded series.
#[inline(always)]
fn pull_own(
    here: &mut NodeView,
    nth: EndpointIx,
    (egress, class): (PortIx, TrafficClass),
    route: Route,
    now: Time,
    events: &mut EventQueue,
) {
    let Some(nic) = &mut here.links.nics[egress] else { return };
    let state = &mut here.hosts.endpoints[nth];
    let (segment, then) = &state.endpoint.transmit(now);
    let call = state.wake(then.call_at, now);
    if then.has_work {
        nic.join(class, InLine::Endpoint(nth));
        state.join(nic, class, now);
    }
    let Some(segment) = segment else {
        call.into_iter().for_each(|at| endpoint_queueing::schedule_call(here, nth, at, events));
        return;
    };
    nic.count_pulled(class);
    let (mut frame, near) = (state.frame(segment, route, now), state.behind.is_none());
    if let Some(at) = call {
        endpoint_queueing::schedule_call(here, nth, at, events);
    }
    count_made(here, &mut frame, segment, (nth, near));
    cores::depart(here, egress, frame, now, events);
}

/// Sends a segment of an endpoint that is in no wait queue directly to the link, if the link is idle and no other entry
/// waits. Returns false, without side effects, otherwise.
#[inline(always)]
pub fn send_past_nic(here: &mut NodeView, nth: EndpointIx, now: Time, events: &mut EventQueue) -> bool {
    let state = &mut here.hosts.endpoints[nth];
    let Some((egress, route)) = state.way else { return false };
    if !here.hosts.receiving.is_empty() || !here.links.takes_past_nic(egress, state.priority, now) {
        return false;
    }
    let (segment, then) = &state.endpoint.transmit(now);
    let call = state.wake(then.call_at, now);
    if let Some(segment) = segment {
        let (frame, near) = (state.frame(segment, route, now), state.behind.is_none());
        leave_past_nic(here, egress, frame, (segment, nth, near), now, events);
    }
    after_leaving(here, (egress, nth), [call, None], then.has_work, now, events);
    true
}

/// Sends the frame of a segment, from a `near` or far end, to an idle link.
#[inline(always)]
pub fn leave_past_nic(
    here: &mut NodeView,
    egress: PortIx,
    mut frame: Frame,
    (segment, nth, near): (&Segment, EndpointIx, bool),
    now: Time,
    events: &mut EventQueue,
) {
    count_made(here, &mut frame, segment, (nth, near));
    transmission::transmit_unfed(here, egress, frame, now, events);
    nic_places::note_departure(here, egress, &frame, now);
}

/// Handles the departure of a segment that has bypassed its NIC: schedules the calls of its endpoint, and enqueues it
/// if it has more to send.
#[inline(always)]
pub fn after_leaving(
    here: &mut NodeView,
    (egress, nth): (PortIx, EndpointIx),
    calls: [Option<Time>; 2],
    has_more: bool,
    now: Time,
    events: &mut EventQueue,
) {
    if let Some(at) = calls[0] {
        endpoint_queueing::schedule_call(here, nth, at, events);
    }
    if let Some(at) = calls[1] {
        endpoint_queueing::schedule_call(here, nth, at, events);
    }
    if has_more {
        stand_behind(here, egress, nth, now, events);
    }
}

/// Enqueues an endpoint at its NIC, whose wait queue is empty.
#[inline(never)]
fn stand_behind(here: &mut NodeView, egress: PortIx, nth: EndpointIx, now: Time, events: &mut EventQueue) {
    let priority = here.hosts.endpoints[nth].priority;
    let class = here.links.ports[egress].classes.class(priority);
    endpoint_queueing::join_line(here, nth, (egress, class), now);
    pull(here, egress, class, now, events);
}

/// Sends a segment, with the tag of its limiter, and with a mark if the limiter sets one.
pub fn send_segment(
    here: &mut NodeView,
    egress: PortIx,
    nth: EndpointIx,
    segment: &Segment,
    (tag, marked): (Option<(Tag, u8)>, bool),
    now: Time,
    events: &mut EventQueue,
) {
    let Some(mut frame) = frame_of(here, nth, segment, now) else { return };
    let _ = marked && frame.flags.mark();
    if let Some((tag, bytes)) = tag {
        here.headers.tag(&mut frame, tag, bytes);
    }
    cores::depart(here, egress, frame, now, events);
}

/// Returns true if a class of a NIC accepts a frame now and its wait queue is empty.
#[inline(always)]
pub fn takes_at_once(here: &NodeView, egress: PortIx, class: TrafficClass) -> bool {
    let nic = here.links.nics[egress].as_ref();
    nic.is_some_and(|nic| !nic.has_line(class)) && has_a_turn(here, egress, class)
}

/// Returns true if a NIC that drops excess frames has space for one more frame. If not, the next departure makes space.
fn has_room(here: &NodeView, egress: PortIx, class: TrafficClass) -> bool {
    let buffer = &here.nodes[here.node_of[egress]].memory().buffer;
    let waits = |limit| cores::waits_before_nic(here, limit, egress, class);
    waits(Refusal::Queue).frames == 0 || buffer.admit(frame::MAX_TAGGED_FRAME_BYTES, waits).is_ok()
}

/// Pulls from the wait queues of all classes of a port that can send again.
pub fn pull_all(here: &mut NodeView, egress: PortIx, now: Time, events: &mut EventQueue) {
    let classes = here.nodes[here.node_of[egress]].classes.classes();
    for class in 0..classes as u8 {
        pull(here, egress, TrafficClass(class), now, events);
    }
}

/// Creates the frame of a segment that is sent now.
fn frame_of(here: &mut NodeView, nth: EndpointIx, segment: &Segment, now: Time) -> Option<Frame> {
    let (_, route) = endpoint_ways::way_of(here, nth)?;
    let state = &here.hosts.endpoints[nth];
    let (mut frame, near) = (state.frame(segment, route, now), state.behind.is_none());
    count_made(here, &mut frame, segment, (nth, near));
    Some(frame)
}

/// Counts the frame of a segment of an endpoint, from a `near` or far end, and attaches its header.
#[inline(always)]
fn count_made(here: &mut NodeView, frame: &mut Frame, segment: &Segment, (nth, near): (EndpointIx, bool)) {
    if let Some(header) = segment.header {
        here.headers.attach(frame, Carried::Header(header));
        if let Some(pair) = header.stamped() {
            let endpoint = &here.hosts.endpoints[nth].endpoint;
            begin_stamps(&mut here.headers, frame, endpoint, pair);
        }
    }
    if near && segment.kind == FrameKind::Data {
        let source = &mut here.hosts.sources[here.routes.path_source[frame.path.at()]];
        source.frames += 1;
        source.bytes += u64::from(segment.bytes);
    }
    here.ledger.made += 1;
}

/// Removes the next frame from a limiter that waited for a class of a port, if it leaves there and the limiter is not
/// stopped. Returns the wait queue in which the limiter waits next, if it has more.
#[inline(never)]
pub fn pull_limited(
    here: &mut NodeView,
    nth: LimiterIx,
    place: (PortIx, TrafficClass),
    now: Time,
    events: &mut EventQueue,
) -> Option<(PortIx, TrafficClass)> {
    limiter_places::limiter_left_line(here, nth);
    let is_held = here.hosts.limiters[nth].is_held(now);
    match limiter_places::next_of_limiter(here, nth)
        .filter(|next| !is_held && limiter_places::leaves_at(here, next, place))
    {
        Some(next) => leave_limiter(here, nth, next, place, false, now, events),
        None => limiter_places::limiter_in_line(here, nth, now),
    }
}

/// Sends the next frame of a limiter that is in no wait queue through a class of a port; with `straight`, directly to
/// the link if possible. Returns the wait queue in which the limiter waits next. The limiter is enqueued before the
/// frame leaves, since the departure may pull the next frame.
pub fn leave_limiter(
    here: &mut NodeView,
    nth: LimiterIx,
    next: NextFrame,
    (egress, class): (PortIx, TrafficClass),
    straight: bool,
    now: Time,
    events: &mut EventQueue,
) -> Option<(PortIx, TrafficClass)> {
    let place = match here.hosts.limiters[nth].line.next() {
        Some(Next::Endpoint(_, from)) => segment_leaves(here, nth, from, (egress, class), now, events),
        _ => {
            let frame = frame_leaves(here, nth, next.priority, egress, now);
            let place = limiter_places::limiter_in_line(here, nth, now);
            frame_departs(here, (egress, class), straight && place.is_none(), frame, now, events);
            place
        }
    };
    limiter_calls::wake_limiter(here, nth, now, events);
    place
}

/// Variant of `leave_limiter` for segments of an endpoint.
fn segment_leaves(
    here: &mut NodeView,
    nth: LimiterIx,
    from: EndpointIx,
    (egress, class): (PortIx, TrafficClass),
    now: Time,
    events: &mut EventQueue,
) -> Option<(PortIx, TrafficClass)> {
    let overhead = here.links.ports[egress].timing.overhead();
    let limiter = &mut here.hosts.limiters[nth];
    limiter.line.take_endpoint();
    let state = &mut here.hosts.endpoints[from];
    state.in_line = false;
    let marked = limiter.marks(now);
    let (segment, requests) = state.endpoint.transmit(now);
    let priority = state.priority;
    let tag = segment.as_ref().and_then(|segment| {
        limiter.measured.marks += u64::from(marked && segment.ecn_capable);
        limiter.leaves(priority, segment.bytes, overhead, now)
    });
    let place = endpoint_queueing::endpoint_was_pulled(here, from, requests, now, events);
    let place = place.or_else(|| limiter_places::limiter_in_line(here, nth, now));
    if let Some(segment) = &segment {
        nic_places::count_pulled(here, egress, class);
        send_segment(here, egress, from, segment, (tag, marked), now, events);
    }
    place
}

/// Removes the first frame of a priority from a limiter, and applies the limiter's tag and mark.
fn frame_leaves(here: &mut NodeView, nth: LimiterIx, priority: Priority, egress: PortIx, now: Time) -> Frame {
    let overhead = here.links.ports[egress].timing.overhead();
    let limiter = &mut here.hosts.limiters[nth];
    let path = here.buffers.pool.head(limiter.line.list(priority)).path;
    let start = here.routes.path_start[path.at()];
    let mut frame = limiter.pop(&mut here.buffers.pool, priority, start, now);
    limiter.marks_if_late(&mut frame, now);
    if let Some((tag, bytes)) = limiter.leaves(priority, frame.bytes, overhead, now) {
        here.headers.tag(&mut frame, tag, bytes);
    }
    frame
}

/// Sends a frame of a source that has left its limiter; `straight` to the link, or through the NIC.
#[inline(always)]
pub fn frame_departs(
    here: &mut NodeView,
    (egress, class): (PortIx, TrafficClass),
    straight: bool,
    frame: Frame,
    now: Time,
    events: &mut EventQueue,
) {
    if straight {
        transmission::transmit_unfed(here, egress, frame, now, events);
        nic_places::refill_from_sources(here, egress, class, &frame);
    } else {
        nic_places::count_pulled(here, egress, class);
        cores::depart(here, egress, frame, now, events);
    }
}

/// Returns true if a frame of a source may go from its limiter directly to the link: the link is idle, and all wait
/// queues are empty.
#[inline(always)]
pub fn goes_straight(here: &NodeView, egress: PortIx, class: TrafficClass, now: Time) -> bool {
    here.hosts.receiving.is_empty()
        && here.links.ports[egress].is_free(now)
        && here.links.nics[egress].as_ref().is_some_and(|nic| !nic.has_line(class))
}
