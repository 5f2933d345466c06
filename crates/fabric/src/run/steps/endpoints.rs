//! Endpoints at run time: connects the state machines of `transport` with NICs and frames.
//!
//! A connection has an endpoint at each end of its path. An endpoint with data waits in the wait queue of its class at
//! the NIC, which pulls from these endpoints in turn while less than a frame or two of theirs are queued. A hundred
//! connections therefore do not share one FIFO, a paused priority stops only its own endpoints, and an endpoint chooses
//! its segment at the time of transmission. An idle endpoint is in no wait queue and costs nothing.
//!
//! Sources that push frames share the queue of the class: a frame of an endpoint waits behind theirs, one at a time.
//! Beside a greedy source, all endpoints of the class together have one share.
//!
//! Frames towards the far end follow the path. Its replies take the same links back, along the path that the last frame
//! from the near end took.

use crate::run::state::endpoint_state::EndpointState;
use crate::run::state::event::EventQueue;
use crate::run::state::headers::Carried;
use crate::run::state::index::{EndpointIx, PortIx};
use crate::run::state::nic::InLine;
use crate::run::state::view::NodeView;
use crate::run::steps::endpoint_queueing;
use crate::run::steps::endpoint_ways;
use crate::run::steps::forward;
use crate::run::steps::limiter_calls;
use crate::run::steps::limiter_places;
use crate::run::steps::limiters;
use crate::run::steps::nics;
use crate::run::steps::releases;
use crate::run::steps::tags;
use crate::run::steps::telemetry;
use frame::{Ecn, Frame, FrameKind, Header, PathId, TrafficClass, Trim};
use queueing::Feedback;
use std::num::NonZeroU32;
use transport::{Endpoint, HostEvent, Protocol, Received, Requests};
use units::Time;

/// Handles a frame of a connection that has reached its destination.
#[inline(always)]
pub fn deliver_to_endpoint(here: &mut NodeView, frame: &Frame, now: Time, events: &mut EventQueue) {
    here.ledger.delivered += 1;
    let to_far = endpoint_ways::goes_to_far_end(here, frame);
    if frame.flags.is_wide() {
        return deliver_wide(here, frame, to_far, now, events);
    }
    deliver_to_transport(here, frame, to_far, (frame.word, None), now, events);
}

/// Variant of `deliver_to_endpoint` for a frame with a header.
#[inline(never)]
fn deliver_wide(here: &mut NodeView, frame: &Frame, to_far: bool, now: Time, events: &mut EventQueue) {
    let header = match here.headers.release(frame) {
        Some(Carried::Header(header)) => Some(header),
        _ => None,
    };
    if let Some(pair) = header.as_ref().and_then(Header::stamped) {
        telemetry::deliver_stamps(here, frame, to_far, pair, now);
    }
    deliver_to_transport_slow(here, frame, to_far, (0, header), now, events);
}

/// Delivers a congestion message, or a returned tag, to the source of a frame: its rate limiter, or else its endpoint.
#[inline(never)]
pub fn deliver_message(here: &mut NodeView, frame: &Frame, now: Time, events: &mut EventQueue) {
    here.ledger.delivered += 1;
    let to_far = endpoint_ways::goes_to_far_end(here, frame);
    let feedback = tags::feedback_of(here, frame);
    if let Some(feedback) = feedback
        && let Some(limiter) = limiter_calls::limiter_at(here, frame.path, to_far)
    {
        return limiters::on_limiter_message(here, limiter, feedback, frame.created, now, events);
    }
    let word = match feedback {
        Some(Feedback::Message(notice)) => notice.feedback,
        _ => frame.word,
    };
    deliver_to_transport_slow(here, frame, to_far, (word, None), now, events);
}

/// Variant of [`deliver_to_transport`], not inlined.
#[inline(never)]
fn deliver_to_transport_slow(
    here: &mut NodeView,
    frame: &Frame,
    to_far: bool,
    carried: (u32, Option<Header>),
    now: Time,
    events: &mut EventQueue,
) {
    deliver_to_transport(here, frame, to_far, carried, now, events);
}

/// Passes a frame, with its payload, to the endpoint at its destination, if there is one.
#[inline(always)]
fn deliver_to_transport(
    here: &mut NodeView,
    frame: &Frame,
    to_far: bool,
    (word, header): (u32, Option<Header>),
    now: Time,
    events: &mut EventQueue,
) {
    // Messages may also arrive for sources that ignore them.
    let Some(ends) = here.hosts.endpoints_of_path.get(frame.path.at()) else { return };
    let Some(nth) = ends[usize::from(to_far)] else { return };
    let kind = frame.flags.kind();
    let is_trimmed = frame.flags.is_trimmed();
    if is_trimmed {
        if !takes_trimmed(here, frame, (nth, to_far)) {
            return;
        }
    } else if to_far && kind == FrameKind::Data {
        here.hosts.receiver(frame.path).count(frame, now);
    }
    let mut state = &mut here.hosts.endpoints[nth];
    if to_far {
        // For a frame whose path was chosen hop by hop, no path is recorded; the planned path leads back as well.
        let behind = frame.route.next_hop().and_then(|next| NonZeroU32::new(next - 1));
        if behind.is_some() && behind != state.behind {
            answer_along(here, nth, behind);
            state = &mut here.hosts.endpoints[nth];
        }
    }
    if kind == FrameKind::Cnm {
        state.measured.messages.record(now - frame.created);
    }
    let mut received = Received {
        kind,
        word,
        header,
        bytes: frame.bytes,
        congestion_experienced: frame.flags.ecn() == Ecn::Experienced,
        created: frame.created,
        trim: Trim::Whole,
        entropy: frame.route.entropy(),
    };
    if is_trimmed {
        received.trim = frame.flags.trim();
    }
    if received.congestion_experienced && state.notifies.is_some() {
        notify_peer(here, nth, &received, now, events);
        state = &mut here.hosts.endpoints[nth];
    }
    let alone = state.is_alone() && here.hosts.receiving.is_empty() && here.probes.congestion.is_empty();
    let way = state.way;
    let free = alone && way.is_some_and(|(egress, _)| here.links.takes_past_nic(egress, state.priority, now));
    let answer = &state.endpoint.answer(now, &received, free);
    let (Some(segment), Some((egress, route))) = (&answer.sent, way) else {
        let Requests { call_at, has_work, has_records } = answer.then;
        if alone && !has_work && !has_records && call_at >= state.wakes_at {
            return;
        }
        return grant(here, nth, answer.then, now, events);
    };
    let calls = [answer.requests, answer.then].map(|requests| state.wake(requests.call_at, now));
    let (frame, near) = (state.frame(segment, route, now), state.behind.is_none());
    if answer.requests.has_records {
        state.collect();
    }
    nics::leave_past_nic(here, egress, frame, (segment, nth, near), now, events);
    nics::after_leaving(here, (egress, nth), calls, answer.then.has_work, now, events);
}

/// Passes a frame without its payload to an endpoint. Returns false if the endpoint does not use it.
#[cold]
fn takes_trimmed(here: &mut NodeView, frame: &Frame, (nth, to_far): (EndpointIx, bool)) -> bool {
    if to_far && frame.flags.kind() == FrameKind::Data {
        here.ledger.count_trimmed(frame);
    }
    here.hosts.endpoints[nth].endpoint.accepts_trimmed()
}

/// Handles a marked frame at an end of a path. The notification that its NIC sends back goes directly to the queue of
/// its class, bypassing the endpoints in the wait queue.
#[inline(never)]
fn notify_peer(
    here: &mut NodeView,
    nth: EndpointIx,
    received: &Received,
    now: Time,
    events: &mut EventQueue,
) {
    let Some((egress, route)) = endpoint_ways::way_of(here, nth) else { return };
    let state = &mut here.hosts.endpoints[nth];
    let Some(priority) = state.notifies else { return };
    let node = here.node_of[egress];
    let Some(segment) = state.endpoint.notify(now, received, here.hosts.next_cnp.or_default(node)) else {
        return;
    };
    let mut frame = state.frame(&segment, route, now).at(priority);
    if let Some(header) = segment.header {
        here.headers.attach(&mut frame, Carried::Header(header));
    }
    forward::originate(here, egress, frame, now, events);
}

/// Calls an endpoint whose timer has expired.
#[inline(never)]
pub fn endpoint_due(here: &mut NodeView, nth: EndpointIx, now: Time, events: &mut EventQueue) {
    let state = &mut here.hosts.endpoints[nth];
    // A later request has superseded this event.
    if state.wakes_at != now {
        return;
    }
    state.called(now);
    if state.endpoint.poll_timeout().is_some_and(|at| at <= now) {
        let egresses = endpoint_ways::links_of(here, nth);
        let NodeView { hosts, links, buffers, headers, .. } = here;
        let state = &mut hosts.endpoints[nth];
        let (path, priority) = (PathId(state.path), state.priority);
        let receiving =
            egresses.clone().next().and_then(|egress| hosts.receiving.get(egress)).and_then(Option::as_deref);
        // Called only for an expired timer: searches the frames of the endpoint in the NIC.
        let is_queued = |pair: u32, number: Option<u32>| {
            let queued = egresses.clone().flat_map(|egress| {
                let port = &links.ports[egress];
                buffers.frames(port.queue(port.classes.class(priority)))
            });
            let queued = queued.map(|waiting| &waiting.frame);
            let prepared = receiving.into_iter().flat_map(|own| own.preparing(&buffers.pool));
            queued.chain(prepared).filter(|frame| frame.path == path).any(|frame| {
                let (word, in_header) = headers.word_of(frame);
                transport::is_packet((word, in_header), frame.flags.kind(), pair, number)
            })
        };
        state.endpoint.handle_timeout_at(now, &is_queued);
    }
    update_endpoint(here, nth, now, events);
}

/// Handles a change of an endpoint's state.
#[inline(never)]
pub fn update_endpoint(here: &mut NodeView, nth: EndpointIx, now: Time, events: &mut EventQueue) {
    let requests = here.hosts.endpoints[nth].endpoint.requests();
    grant(here, nth, requests, now, events);
}

/// Collects an endpoint's records, and serves its requests.
#[inline(never)]
fn grant(here: &mut NodeView, nth: EndpointIx, requests: Requests, now: Time, events: &mut EventQueue) {
    let EndpointState { peers, awaited, .. } = here.hosts.endpoints[nth];
    if requests.has_records || peers.is_some() || awaited || !here.probes.congestion.is_empty() {
        return take_notes(here, nth, requests, now, events);
    }
    serve_endpoint(here, nth, requests, now, events);
}

/// Collects the measurements of an endpoint, and starts the steps and transfers that wait for it.
#[inline(never)]
fn take_notes(
    here: &mut NodeView,
    nth: EndpointIx,
    mut requests: Requests,
    now: Time,
    events: &mut EventQueue,
) {
    let state = &mut here.hosts.endpoints[nth];
    if requests.has_records {
        state.collect();
    }
    if state.peers.is_some() {
        requests = begin_steps(here, nth, now, events);
    }
    if here.hosts.endpoints[nth].awaited {
        releases::take_ends(here, nth, now, events);
        requests = here.hosts.endpoints[nth].endpoint.requests();
    }
    endpoint_queueing::note_congestion(here, nth, now);
    serve_endpoint(here, nth, requests, now, events);
}

/// Sets an endpoint's timer. If the endpoint has something to send, sends it or adds the endpoint to a wait queue.
#[inline(always)]
fn serve_endpoint(
    here: &mut NodeView,
    nth: EndpointIx,
    requests: Requests,
    now: Time,
    events: &mut EventQueue,
) {
    endpoint_queueing::wake_in_time(here, nth, requests.call_at, now, events);
    let EndpointState { in_line, limiter, .. } = here.hosts.endpoints[nth];
    if in_line || !requests.has_work || limiter.is_none() && nics::send_past_nic(here, nth, now, events) {
        return;
    }
    let place = match limiter {
        None => send_or_stand(here, nth, now, events),
        Some(limiter) => limiter_places::stand_at_limiter(here, limiter, nth, now, events),
    };
    if let Some((egress, class)) = place {
        nics::pull(here, egress, class, now, events);
    }
}

/// Starts those steps of a host's interdependent endpoints whose times are determined. Returns the requests of this
/// endpoint.
#[inline(never)]
fn begin_steps(here: &mut NodeView, nth: EndpointIx, now: Time, events: &mut EventQueue) -> Requests {
    let Some(group) = here.hosts.endpoints[nth].peers else {
        return here.hosts.endpoints[nth].endpoint.requests();
    };
    let peers = std::mem::take(&mut here.hosts.peers[group]);
    let progress = |here: &NodeView, of: EndpointIx| here.hosts.endpoints[of].endpoint.progress();
    for &own in &peers {
        let Some(at) = progress(here, own).filter(|step| step.waits && step.done).and_then(|step| {
            let others = peers.iter().filter(|&&other| other != own);
            others
                .filter_map(|&other| progress(here, other))
                .try_fold(now, |at, other| Some(at.max(step.after(&other, now)?)))
        }) else {
            continue;
        };
        let endpoint = &mut here.hosts.endpoints[own].endpoint;
        endpoint.on_event(now, &HostEvent::Step(at));
        let call_at = endpoint.requests().call_at;
        endpoint_queueing::wake_in_time(here, own, call_at, now, events);
    }
    here.hosts.peers[group] = peers;
    here.hosts.endpoints[nth].endpoint.requests()
}

/// Sends a segment of an endpoint if its wait queue is empty and the NIC accepts it; otherwise enqueues the endpoint.
/// Returns the port and class at which the endpoint waits, if it does.
#[inline(never)]
fn send_or_stand(
    here: &mut NodeView,
    nth: EndpointIx,
    now: Time,
    events: &mut EventQueue,
) -> Option<(PortIx, TrafficClass)> {
    let (egress, class) = endpoint_queueing::place_of(here, nth)?;
    if nics::takes_at_once(here, egress, class) {
        return nics::pull_segment(here, nth, (egress, class), now, events);
    }
    endpoint_queueing::join_line(here, nth, (egress, class), now);
    Some((egress, class))
}

/// Sets the return route of the far end of a path, which leads back over `behind` entries of the table of hops. The
/// endpoint may be waiting at a port of another path, whose link may stay down.
#[inline(never)]
fn answer_along(here: &mut NodeView, nth: EndpointIx, behind: Option<NonZeroU32>) {
    let state = &mut here.hosts.endpoints[nth];
    let old = std::mem::replace(&mut state.behind, behind);
    state.way = None;
    let in_line = state.in_line;
    tell_port(here, nth);
    if !in_line {
        return;
    }
    if let Some((egress, _)) = old.and_then(|old| here.routes.step_back(old.get())) {
        leave_line(here, egress, nth);
    }
}

/// Passes the sending port to an end of a connection over FCoE.
pub fn tell_port(here: &mut NodeView, nth: EndpointIx) {
    if here.hosts.lossless.is_empty() {
        return;
    }
    let Some((egress, _)) = endpoint_ways::way_of(here, nth) else { return };
    let (port, lossless) = (here.numbering.port(egress), here.hosts.lossless[egress]);
    let state = &mut here.hosts.endpoints[nth];
    if let Endpoint::Fcoe(end) = &mut state.endpoint {
        end.moved_to(port, lossless >> state.priority.0 & 1 != 0);
    }
}

/// Moves the wait queue of a port whose link goes down to ports that can send now, if there are any.
pub fn change_lines(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let Some(nic) = &mut here.links.nics[port] else { return };
    let waiting = nic.leave_all();
    for &entry in &waiting {
        match entry {
            InLine::Endpoint(nth) => here.hosts.endpoints[nth].in_line = false,
            InLine::Limiter(limiter) => limiter_places::limiter_left_line(here, limiter),
        }
    }
    for entry in waiting {
        match entry {
            InLine::Endpoint(nth) => update_endpoint(here, nth, now, events),
            InLine::Limiter(limiter) => limiters::update_limiter(here, limiter, now, events),
        }
    }
}

/// Handles a change of the first port of an endpoint's path.
pub fn change_line(here: &mut NodeView, old: PortIx, nth: EndpointIx, now: Time, events: &mut EventQueue) {
    leave_line(here, old, nth);
    update_endpoint(here, nth, now, events);
}

/// Removes an endpoint from its wait queue at any port of the host: a failed link may have moved it.
fn leave_line(here: &mut NodeView, port: PortIx, nth: EndpointIx) {
    for port in here.ports_beside(port) {
        if let Some(nic) = &mut here.links.nics[port] {
            nic.leave(InLine::Endpoint(nth));
        }
    }
    let state = &mut here.hosts.endpoints[nth];
    state.in_line = false;
    if let Some(limiter) = state.limiter {
        here.hosts.limiters[limiter].leave(nth);
    }
}
