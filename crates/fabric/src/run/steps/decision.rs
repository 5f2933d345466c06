//! Scheduling of a port's next decision, and notification of its scheduler.
//!
//! FIFO and strict priority need only the set of classes that may send, which the port stores as bits. The other
//! schedulers observe every arrival, every class that starts or ceases to be eligible, and every frame sent;
//! `scheduling::Selector` defines when.

use crate::run::state::deferred::Deferred;
use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::PortIx;
use crate::run::state::port::PortFeatures;
use crate::run::state::stages::{When, called_at};
use crate::run::state::view::NodeView;
use frame::TrafficClass;
use units::Time;

/// Features whose stages observe every decision of the port that finds nothing to send.
const WHEN_STALLING: PortFeatures = called_at(When::STALLS);

/// Schedules a decision of a port with a queued frame: now if the port is idle, otherwise when it becomes idle.
#[inline(always)]
pub fn try_transmit(here: &mut NodeView, egress: PortIx, now: Time, events: &mut EventQueue) {
    let busy_until = here.links.ports[egress].busy_until;
    if busy_until <= now {
        here.deferred.push(Deferred::Decide(egress));
    } else {
        arm(here, egress, busy_until, events);
    }
}

/// Schedules the decision of a port where a frame is queued. It is due when the port is idle. If all queued classes are
/// stopped for some time and other frames of this class were queued before, it is due when the port would have decided
/// without this frame.
#[inline(always)]
pub fn decide_when_free(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    now: Time,
    events: &mut EventQueue,
) {
    let port = &here.links.ports[egress];
    let is_stuck = port.busy_until <= now
        && port.waiting & !port.stopped == 0
        && !port.features.has(WHEN_STALLING)
        && now < here.links.cold[egress].stops_until
        && here.buffers.queues[port.queue(class)].occupancy.frames > 1;
    if !is_stuck {
        try_transmit(here, egress, now, events);
    }
}

/// Schedules the decision of the port for this time.
#[inline(always)]
pub fn arm(here: &mut NodeView, egress: PortIx, at: Time, events: &mut EventQueue) {
    if here.links.ports[egress].decision.arm(at) {
        events.push(Event::bare(Kind::Decide, at, egress));
    }
}

/// Returns true if the scheduler of an idle port, at which no queued frame may leave, lets an arriving frame go at
/// once.
pub fn may_pass(here: &mut NodeView, egress: PortIx, class: TrafficClass, bytes: u16, now: Time) -> bool {
    let scheduler = &mut here.links.cold[egress].scheduler;
    if here.links.ports[egress].waiting == 0 {
        scheduler.idle(now);
    }
    scheduler.pass(u32::from(class.0), u32::from(bytes), now)
}

/// Notifies the scheduler of a frame that has entered the queue of its class; `waiting` does not include the frame yet.
#[inline(always)]
pub fn on_arrival(here: &mut NodeView, egress: PortIx, class: TrafficClass, bytes: u16, now: Time) {
    let port = &here.links.ports[egress];
    let scheduler = &mut here.links.cold[egress].scheduler;
    if port.waiting == 0 && port.busy_until <= now {
        scheduler.idle(now);
    }
    let may_send = (port.waiting | port.stopped) >> class.0 & 1 == 0;
    scheduler.arrive(u32::from(class.0), u32::from(bytes), may_send, now);
}

/// Notifies the scheduler of the transmission of a class's head, which has left its queue.
#[inline(always)]
pub fn on_sent(here: &mut NodeView, egress: PortIx, class: TrafficClass, bytes: u16, now: Time) {
    let port = &here.links.ports[egress];
    let could = port.waiting & !port.stopped | 1 << class.0;
    let cold = &mut here.links.cold[egress];
    cold.scheduler.sent(u32::from(class.0), u32::from(bytes), now);
    if let Some(contention) = &mut cold.contention {
        contention.add(could, class, bytes);
    }
}

/// Notifies the scheduler before the set of stopped classes becomes `stopped`.
pub fn on_stopped(here: &mut NodeView, egress: PortIx, stopped: u32, now: Time) {
    let port = &here.links.ports[egress];
    let mut free = port.waiting & port.stopped & !stopped;
    while free != 0 {
        let class = TrafficClass(free.trailing_zeros() as u8);
        free &= free - 1;
        if let Some(head) = head_bytes(here, egress, class) {
            here.links.cold[egress].scheduler.go(u32::from(class.0), head, now);
        }
    }
}

/// Notifies the scheduler of new head frames of these classes, which remain active.
pub fn notify_heads(here: &mut NodeView, egress: PortIx, mut classes: u32, now: Time) {
    if !here.links.ports[egress].features.has(PortFeatures::SCHEDULER) {
        return;
    }
    while classes != 0 {
        let class = TrafficClass(classes.trailing_zeros() as u8);
        classes &= classes - 1;
        let Some(head) = head_bytes(here, egress, class) else { continue };
        here.links.cold[egress].scheduler.replace_head(u32::from(class.0), head, now);
    }
}

#[inline]
fn head_bytes(here: &NodeView, egress: PortIx, class: TrafficClass) -> Option<u32> {
    here.buffers.head_bytes(here.links.ports[egress].queue(class))
}
