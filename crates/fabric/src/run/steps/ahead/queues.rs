//! Queued frames that are sent ahead of their time.
//!
//! At many ports, the departure time of a queued frame is certain: nothing can pause the port, no other class can go
//! first, and no stage is consulted. Such a frame is scheduled when it is enqueued, and needs no decision event, which
//! is one of the two events of a queued frame. Its arrival at the peer is scheduled for the time at which it would have
//! arrived anyway. The frame stays in its queue, *committed*, until its transmission starts; its departure is then
//! applied, as of that time, before the queue is read: [`settle`].
//!
//! The builder selects these ports (`build/ahead.rs`). Ports of a node that sends pauses are excluded: an XON is due at
//! a departure, and cannot be sent afterwards. So are ports that receive pauses, obeyed or not: each pause makes the
//! port read its queue.
//!
//! A queue may have a limit: committed frames count until they leave.
//!
//! A queue manager may observe the frames that arrive at such a port. It is notified of departures late, if it only
//! records them. A value that it writes into the tag of a departing frame is not known in advance, so such a frame
//! waits for a decision.

use crate::run::state::admitted::AtEgress;
use crate::run::state::ahead::MOST;
use crate::run::state::event::EventQueue;
use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::losses::Cause;
use crate::run::state::pool::Waiting;
use crate::run::state::port::{Port, PortFeatures};
use crate::run::state::view::NodeView;
use crate::run::steps::decision;
use crate::run::steps::losses;
use crate::run::steps::managed;
use crate::run::steps::stages::Verdict;
use crate::run::steps::ties;
use crate::run::steps::transmission;
use frame::{Frame, TrafficClass};
use units::Time;

/// Applies the departures of a port up to `now`.
#[inline(always)]
pub fn settle(here: &mut NodeView, egress: PortIx, now: Time) {
    let port = &here.links.ports[egress];
    if port.waiting == 0 {
        return;
    }
    let class = TrafficClass(port.waiting.trailing_zeros() as u8);
    if port.features.has(PortFeatures::MANAGED) && observes_departures(here, egress, class, now) {
        settle_noting(here, egress, now);
    } else {
        settle_deferred(here, egress, now);
    }
}

/// Returns true if the queue manager of a class may have to be notified of departures up to `now`. This is rare, unless
/// it observes every departure.
#[inline(always)]
fn observes_departures(here: &NodeView, egress: PortIx, class: TrafficClass, now: Time) -> bool {
    here.links.passed.of(egress, class.at()).heard_from() <= now && here.links.cold[egress].notes_departures
}

/// Variant of `settle` for departures that no queue manager has to observe.
#[inline(always)]
fn settle_deferred(here: &mut NodeView, egress: PortIx, now: Time) {
    let port = &mut here.links.ports[egress];
    if port.waiting == 0 {
        return;
    }
    // At most one class is in use here.
    let queue = &mut here.buffers.queues[port.waiting_queue()];
    while queue.committed > 0
        && let Some(waiting) = here.buffers.pool.pop_left(&mut queue.list, now)
    {
        queue.committed -= 1;
        queue.leave(waiting.frame.bytes, waiting.leaves - waiting.since, true);
        here.links.passed.count(egress, &waiting.frame);
    }
    if queue.occupancy.frames == 0 {
        port.waiting = 0;
    }
}

/// Variant of `settle` for a queue manager that records departures and may have to be notified of these.
#[inline(never)]
fn settle_noting(here: &mut NodeView, egress: PortIx, now: Time) {
    loop {
        let port = &mut here.links.ports[egress];
        let class = TrafficClass(port.waiting.trailing_zeros() as u8);
        let queue = &mut here.buffers.queues[port.queue(class)];
        if queue.committed == 0 {
            return;
        }
        let Some(&Waiting { frame, since, leaves, .. }) = here.buffers.pool.pop_left(&mut queue.list, now)
        else {
            return;
        };
        queue.committed -= 1;
        queue.leave(frame.bytes, leaves - since, true);
        here.links.passed.count(egress, &frame);
        let empty = queue.occupancy.frames == 0;
        if empty {
            port.waiting = 0;
        }
        managed::manager_on_departure(here, egress, class, frame, leaves);
        if empty {
            return;
        }
    }
}

/// Returns the frames of a port that have been sent ahead and have not left.
pub fn committed(here: &NodeView, port: PortIx) -> impl Iterator<Item = &Waiting> {
    let state = &here.links.ports[port];
    let waiting = state.features.has(PortFeatures::AHEAD) && state.waiting != 0;
    let queue = waiting.then(|| state.waiting_queue());
    let committed =
        |queue: QueueIx| here.buffers.frames(queue).take(here.buffers.queues[queue].committed as usize);
    queue.into_iter().flat_map(committed)
}

/// Returns the end of the frame on the link of a port. Frames sent ahead follow it without a gap.
pub fn on_link_until(here: &NodeView, port: PortIx) -> Time {
    let next = committed(here, port).next().map(|waiting| waiting.leaves);
    next.unwrap_or(here.links.ports[port].busy_until)
}

/// Handles a frame at a port that sends ahead and has, or appears to have, queued frames.
#[inline(never)]
pub fn enqueue_ahead(
    here: &mut NodeView,
    egress: PortIx,
    frame: Frame,
    ingress: Option<PortIx>,
    now: Time,
    events: &mut EventQueue,
) {
    settle_deferred(here, egress, now);
    let class = here.links.ports[egress].classes.class(frame.priority());
    go_ahead(here, (egress, class), frame, ingress, now, events);
}

/// Variant of `enqueue_ahead` for a port with a queue manager.
#[inline(never)]
pub fn enqueue_managed_ahead(
    here: &mut NodeView,
    egress: PortIx,
    frame: Frame,
    ingress: Option<PortIx>,
    now: Time,
    events: &mut EventQueue,
) {
    // The class of the queued frames, if there are any: no other class is in use here.
    let class = here.links.ports[egress].classes.class(frame.priority());
    if observes_departures(here, egress, class, now) {
        settle(here, egress, now);
    } else {
        settle_deferred(here, egress, now);
    }
    if managed::needs_no_update(here, egress, class, &frame, now) {
        go_ahead(here, (egress, class), frame, ingress, now, events);
    } else {
        enqueue_observed_ahead(here, egress, frame, ingress, now, events);
    }
}

/// Sends a frame immediately, or commits it for a known time.
#[inline(always)]
fn go_ahead(
    here: &mut NodeView,
    (egress, class): (PortIx, TrafficClass),
    frame: Frame,
    ingress: Option<PortIx>,
    now: Time,
    events: &mut EventQueue,
) {
    let port = &here.links.ports[egress];
    if port.waiting == 0 && port.busy_until <= now {
        transmission::transmit(here, egress, frame, now, events);
    } else {
        stand_ahead(here, (egress, class), frame, ingress, true, now, events);
    }
}

/// Variant of `go_ahead` for a frame that the queue manager has to observe.
#[inline(never)]
fn enqueue_observed_ahead(
    here: &mut NodeView,
    egress: PortIx,
    frame: Frame,
    ingress: Option<PortIx>,
    now: Time,
    events: &mut EventQueue,
) {
    let class = here.links.ports[egress].classes.class(frame.priority());
    let mut at = AtEgress::new(frame, egress, class, ingress);
    match managed::enter_manager(here, &mut at, now) {
        Verdict::Pass | Verdict::Wait => enqueue_admitted_ahead(here, at, now, events),
        Verdict::Drop(cause) => losses::lose(here, egress, class, &at.frame, ingress, cause, now),
        Verdict::Notify => managed::defer_behind(here, PortFeatures::MANAGED, &at),
    }
}

/// Continues with a frame that its queue manager has admitted.
#[inline(always)]
pub fn enqueue_admitted_ahead(here: &mut NodeView, at: AtEgress, now: Time, events: &mut EventQueue) {
    let AtEgress { frame, egress, class, ingress, .. } = at;
    let port = &here.links.ports[egress];
    if port.waiting == 0 && port.busy_until <= now {
        if here.links.cold[egress].notes_departures {
            managed::manager_on_departure(here, egress, class, frame, now);
        }
        transmission::transmit(here, egress, frame, now, events);
        return;
    }
    stand_ahead(here, (egress, class), frame, ingress, !frame.flags.is_tagged(), now, events);
}

/// Adds a frame to the queue of a port that sends ahead: with a known departure time, or, unless `known`, for a later
/// decision.
#[inline(always)]
fn stand_ahead(
    here: &mut NodeView,
    (egress, class): (PortIx, TrafficClass),
    frame: Frame,
    ingress: Option<PortIx>,
    known: bool,
    now: Time,
    events: &mut EventQueue,
) {
    let port = &mut here.links.ports[egress];
    let queue = &mut here.buffers.queues[port.queue(class)];
    if port.features.has(PortFeatures::BOUNDED) {
        // Only queues have limits here.
        let limit = here.nodes[here.node_of[egress]].memory().buffer.queue;
        if limit.is_some_and(|limit| !queue.occupancy.has_room(limit, frame.bytes)) {
            return refuse_ahead(here, egress, class, &frame, ingress, now);
        }
    }
    let commit = known && queue.committed < MOST && u64::from(queue.committed) == queue.occupancy.frames;
    let leaves = if commit { port.busy_until } else { Time::NEVER };
    queue.add(frame.bytes);
    port.waiting = 1 << class.0;
    here.buffers.pool.push_leaving(&mut queue.list, &frame, now, leaves, ingress);
    if commit {
        queue.committed += 1;
        transmission::put_on_link(here, egress, frame, leaves, events);
    } else {
        let at = port.busy_until;
        decision::arm(here, egress, at, events);
    }
}

/// Drops a frame because its queue is full.
#[inline(never)]
fn refuse_ahead(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    frame: &Frame,
    ingress: Option<PortIx>,
    now: Time,
) {
    ties::note_tied_loss(here, egress, class, frame, Cause::Queue, now);
    losses::lose(here, egress, class, frame, ingress, Cause::Queue, now);
}

/// Commits the next frames of a port, after all committed ones have left.
#[inline(never)]
pub fn decide_ahead(here: &mut NodeView, egress: PortIx, now: Time, events: &mut EventQueue) {
    settle(here, egress, now);
    let port = &mut here.links.ports[egress];
    if port.waiting == 0 {
        return;
    }
    assert!(port.busy_until == now, "queued frames are committed, or the port decides when it becomes idle");
    let queue = port.waiting_queue();
    let mut slot = here.buffers.queues[queue].list.head();
    while let Some(next) = slot
        && here.buffers.queues[queue].committed < MOST
    {
        // The tag of the first frame is known, because it leaves now.
        let Port { features, busy_until, .. } = here.links.ports[egress];
        let stamped = features.has(PortFeatures::MANAGED) && here.buffers.pool.is_tagged(next);
        if stamped && busy_until > now {
            break;
        }
        let frame;
        (frame, slot) = here.buffers.pool.commit(next, busy_until);
        here.buffers.queues[queue].committed += 1;
        transmission::put_on_link(here, egress, frame, busy_until, events);
    }
    let at = here.links.ports[egress].busy_until;
    if slot.is_some() {
        decision::arm(here, egress, at, events);
    }
    // The first frame leaves now, with its tag if any.
    if here.links.cold[egress].notes_departures {
        settle_noting(here, egress, now);
    } else {
        settle(here, egress, now);
    }
}
