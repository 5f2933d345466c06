//! Passage of frames through a rate limiter: immediate if nothing waits there and nothing holds them back, otherwise at
//! their scheduled time.
//!
//! If the link is idle and the wait queue empty, a frame goes from its limiter directly to the link; if the control
//! needs no update, it is not notified. Such a frame costs only a few comparisons more than one without a limiter.

use crate::run::state::event::EventQueue;
use crate::run::state::index::{LimiterIx, PortIx};
use crate::run::state::straight::WayOut;
use crate::run::state::view::NodeView;
use crate::run::steps::forward;
use crate::run::steps::limiter_calls;
use crate::run::steps::limiters;
use crate::run::steps::nic_places;
use crate::run::steps::nics;
use frame::{Frame, PathId, TrafficClass};
use units::Time;

/// Passes a frame from a source to a limiter. Its route starts at this hop unless its path changes meanwhile.
/// `counted`: the source counts the frames that it has in the NIC.
#[inline(always)]
pub fn limit(
    here: &mut NodeView,
    nth: LimiterIx,
    (start, counted): (u32, bool),
    frame: Frame,
    now: Time,
    events: &mut EventQueue,
) {
    let egress = here.routes.port_at(start);
    let limiter = &mut here.hosts.limiters[nth];
    if limiter.gate.is_open(now) {
        debug_assert!(limiter.is_idle() && !limiter.is_held(now), "the frame has to take the slow path");
        if here.hosts.receiving.is_empty()
            && let Some(straight) = here.links.straight(egress, frame.priority(), now)
            && limiter.gate.passes(frame.bytes, straight.overhead(), now)
        {
            // The limiter is not called: it needs only the calls that its control has requested.
            debug_assert!(limiter.wakes_at <= limiter.next_call(now), "a call without a request");
            if straight.transmit(frame, now, events) || counted {
                let class = here.links.ports[egress].classes.class(frame.priority());
                nic_places::refill_from_sources(here, egress, class, &frame);
            }
            return;
        }
    } else if limiter.is_held(now) && limiter.is_held_by_rate(now) {
        return hold(here, nth, &frame, now, events);
    } else if limiter.has_before(frame.priority(), now) {
        return limiter.push(&mut here.buffers.pool, &frame, now);
    }
    limit_slow(here, nth, egress, &frame, now, events);
}

/// Queues a frame until the rate of its limiter allows it to leave.
#[inline(always)]
fn hold(here: &mut NodeView, nth: LimiterIx, frame: &Frame, now: Time, events: &mut EventQueue) {
    let limiter = &mut here.hosts.limiters[nth];
    limiter.gate.close();
    limiter.push(&mut here.buffers.pool, frame, now);
    let at = limiter.next_call_unless_stopped();
    debug_assert_eq!(at, limiter.next_call(now), "nothing else holds it");
    if at < limiter.wakes_at || !here.probes.limiter_rates.is_empty() {
        limiter_calls::call_limiter(here, nth, at.max(now), now, events);
    }
}

/// Slow path of `hold`, for a frame that waits for something other than the rate, or that some stage has to observe.
#[inline(never)]
fn limit_slow(
    here: &mut NodeView,
    nth: LimiterIx,
    egress: PortIx,
    frame: &Frame,
    now: Time,
    events: &mut EventQueue,
) {
    let limiter = &here.hosts.limiters[nth];
    let is_held = limiter.is_held(now);
    if !is_held && limiter.is_idle() {
        let class = here.links.ports[egress].classes.class(frame.priority());
        if passes_slow(here, nth, (egress, class), *frame, now, events) {
            return;
        }
    }
    let limiter = &mut here.hosts.limiters[nth];
    limiter.holds_from(now);
    limiter.push(&mut here.buffers.pool, frame, now);
    if is_held && limiter.is_held(now) && limiter.rate_limit.next_probe > now {
        limiter_calls::wake_limiter(here, nth, now, events);
    } else {
        limiters::update_limiter(here, nth, now, events);
    }
}

/// Passes a frame through an empty limiter to a link or NIC that accepts it. The result is that of entering, joining
/// the wait queue and being pulled, without these steps. Returns false, without side effects, if this is not possible.
fn passes_slow(
    here: &mut NodeView,
    nth: LimiterIx,
    (egress, class): (PortIx, TrafficClass),
    mut frame: Frame,
    now: Time,
    events: &mut EventQueue,
) -> bool {
    let straight = nics::goes_straight(here, egress, class, now);
    if !straight && !nics::takes_at_once(here, egress, class) {
        return false;
    }
    let overhead = here.links.ports[egress].timing.overhead();
    let limiter = &mut here.hosts.limiters[nth];
    limiter.enters_empty(frame.bytes, now);
    if let Some((tag, bytes)) = limiter.leaves(frame.priority(), frame.bytes, overhead, now) {
        here.headers.tag(&mut frame, tag, bytes);
    }
    here.hosts.limiters[nth].look();
    limiter_calls::wake_limiter(here, nth, now, events);
    nics::frame_departs(here, (egress, class), straight, frame, now, events);
    true
}

/// Sends the next pushed frame of a limiter that may send, directly to the link or to a NIC that accepts it, if the
/// wait queue there is empty and no stage has to be consulted or notified. Returns false, without side effects,
/// otherwise.
#[inline(always)]
pub fn sends_next(here: &mut NodeView, nth: LimiterIx, now: Time, events: &mut EventQueue) -> bool {
    let limiter = &mut here.hosts.limiters[nth];
    // A later frame may leave ahead of the rate.
    if limiter.has_burst() || !here.hosts.receiving.is_empty() {
        return false;
    }
    let Some(priority) = limiter.next_pushed(now) else { return false };
    let head = here.buffers.pool.head(limiter.line.list(priority));
    let path = match limiter.line.only_path() {
        Some(path) => path,
        None => path_of(head),
    };
    debug_assert_eq!(path, head.path, "sources push frames of other paths");
    let start = here.routes.path_start[path.at()];
    let egress = here.routes.port_at(start);
    let Some(way) = here.links.way_out(egress, priority, now) else { return false };
    if !limiter.leaves_deferred(head.bytes, way.overhead(), now) {
        return false;
    }
    let mut frame = limiter.pop(&mut here.buffers.pool, priority, start, now);
    limiter.marks_if_late(&mut frame, now);
    limiter.look();
    let class = way.class();
    match way {
        WayOut::Link(straight, _) => {
            straight.transmit(frame, now, events);
            nic_places::refill_from_sources(here, egress, class, &frame);
        }
        WayOut::Nic(nic, ..) => {
            nic.count_pulled(class);
            forward::forward(here, egress, frame, None, now, events);
        }
    }
    let limiter = &here.hosts.limiters[nth];
    let at = limiter.next_call_unless_stopped();
    debug_assert_eq!(at, limiter.next_call(now), "nothing else holds it");
    limiter_calls::call_limiter(here, nth, at.max(now), now, events);
    nics::pull_on(here, (egress, class), None, now, events);
    true
}

/// A separate function, so that callers that already know the path need not load the frame.
#[cold]
#[inline(never)]
fn path_of(frame: &Frame) -> PathId {
    frame.path
}
