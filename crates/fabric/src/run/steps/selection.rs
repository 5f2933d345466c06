//! Transmission selection: which frame a port sends next.
//!
//! A class may send if and only if it has frames and its bit in `stopped` is clear. That bit may outlive a pause, until
//! the port examines it again (see `stops`). `decision` schedules decisions and notifies the scheduler.

use crate::run::state::admitted::AtEgress;
use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::PortIx;
use crate::run::state::port::PortFeatures;
use crate::run::state::stages::{When, called_at};
use crate::run::state::view::NodeView;
use crate::run::steps::ahead::queues;
use crate::run::steps::ahead::sole_source;
use crate::run::steps::decision;
use crate::run::steps::egress;
use crate::run::steps::ingress;
use crate::run::steps::managed;
use crate::run::steps::pause_frames;
use crate::run::steps::retry;
use crate::run::steps::stages;
use crate::run::steps::stops;
use crate::run::steps::transmission;
use frame::{TrafficClass, members};
use scheduling::SchedulerSpec;
use units::Time;

/// Returns true if the scheduler keeps state, so that it has to be notified of arrivals and departures.
pub(crate) fn needs_scheduler(spec: &SchedulerSpec) -> bool {
    !matches!(spec, SchedulerSpec::Fifo | SchedulerSpec::StrictPriority)
}

/// Stages that are called before a frame is sent.
const WHEN_CHOOSING: PortFeatures = called_at(When::CHOOSES);

/// Selects and sends the next frame of a port.
pub fn decide(here: &mut NodeView, egress: PortIx, now: Time, events: &mut EventQueue) {
    let port = &here.links.ports[egress];
    let may_go = || port.busy_until <= now && port.waiting != 0 && port.waiting & port.stopped == 0;
    if !port.features.has(WHEN_CHOOSING) && may_go() {
        if port.features.has(PortFeatures::FEEDS)
            && let Some(&lone) = here.links.cold[egress].sole_source.as_deref()
        {
            return sole_source::decide_lone_ahead(here, egress, lone, now, events);
        }
        send_next(here, egress, now, events);
    } else {
        decide_asking(here, egress, now, events);
    }
}

/// Slow path of [`decide`] for ports with stages that are consulted. Pause frames go first: they wait only for the
/// frame on the link.
#[inline(never)]
fn decide_asking(here: &mut NodeView, egress: PortIx, now: Time, events: &mut EventQueue) {
    let port = &here.links.ports[egress];
    let busy_until = port.busy_until;
    if port.features.has(PortFeatures::AHEAD) {
        return queues::decide_ahead(here, egress, now, events);
    }
    if busy_until > now {
        return decision::arm(here, egress, busy_until, events);
    }
    if port.features.has(PortFeatures::PAUSE_WAITING) {
        pause_frames::transmit_pause(here, egress, now, events);
    } else if port.features.has(PortFeatures::RETRY) && retry::is_replaying(here, egress) {
        retry::replay(here, egress, now, events);
    } else if let Some(class) = pick(here, egress, now) {
        serve(here, egress, class, now, events);
    } else {
        return arm_next_eligible(here, egress, now, events);
    }
    let port = &here.links.ports[egress];
    let repeats = port.features.has(PortFeatures::RETRY) && retry::is_replaying(here, egress);
    if port.waiting != 0 || port.features.has(PortFeatures::PAUSE_WAITING) || repeats {
        let at = port.busy_until;
        decision::arm(here, egress, at, events);
    }
}

/// Sends the first frame of the highest class that has any. This implements strict priority, and FIFO, which has a
/// single class.
#[inline(always)]
pub fn send_next(here: &mut NodeView, egress: PortIx, now: Time, events: &mut EventQueue) {
    let port = &mut here.links.ports[egress];
    let class = TrafficClass((u32::BITS - 1 - port.waiting.leading_zeros()) as u8);
    let queue_id = port.queue(class);
    let mut waiting = here.buffers.leave(queue_id, now, true);
    here.probes.queue_holds(queue_id, now, || here.buffers.queues[queue_id].occupancy);
    if here.buffers.queues[queue_id].occupancy.frames == 0 {
        port.waiting &= !(1 << class.0);
    }
    let features = port.features;
    if features.has(PortFeatures::BOUNDED.or(PortFeatures::MANAGED)) {
        if features.has(PortFeatures::BOUNDED) {
            egress::count_leaving(here, egress, class, &waiting, now);
        }
        if features.has(PortFeatures::MANAGED) {
            waiting.frame = managed::manager_on_dequeue(here, egress, class, waiting.frame, now);
        }
    }
    transmission::put_on_link(here, egress, waiting.frame, now, events);
    let port = &mut here.links.ports[egress];
    let at = port.busy_until;
    if port.waiting != 0 && port.decision.arm(at) {
        events.push(Event::bare(Kind::Decide, at, egress));
    }
    transmission::count_sent(here, egress, &waiting.frame, features, now);
    // Only after the transmission has started, since the steps below may send a pause through the same port.
    if features.has(PortFeatures::INGRESS_ACCOUNTING) {
        ingress::count_out(here, &waiting, now, events);
    }
}

/// Schedules the next decision of a port that may not send now.
#[inline(never)]
fn arm_next_eligible(here: &mut NodeView, egress: PortIx, now: Time, events: &mut EventQueue) {
    let at = next_eligible(here, egress, now);
    if at != Time::NEVER {
        decision::arm(here, egress, at, events);
    }
}

/// Removes the next frame of a class from its queue and sends it.
#[inline(always)]
fn serve(here: &mut NodeView, egress: PortIx, class: TrafficClass, now: Time, events: &mut EventQueue) {
    let (waiting, before) = egress::take_out(here, true, egress, class, now);
    let mut at = AtEgress::new(waiting.frame, egress, class, waiting.across);
    stages::leave_stages(here, &mut at, true, now);
    transmission::transmit(here, egress, at.frame, now, events);
    // Only after the transmission has started, since the steps below may send a pause through the same port.
    stages::has_left_stages(here, &at, Some((&waiting, before)), now, events);
}

/// The class to serve; `None` if no class may send now.
#[inline(always)]
pub fn pick(here: &mut NodeView, egress: PortIx, now: Time) -> Option<TrafficClass> {
    let port = &here.links.ports[egress];
    let consults = port.features.has(PortFeatures::SCHEDULER);
    if port.waiting & port.stopped != 0 {
        stops::look_at_stops(here, egress, now);
    }
    let port = &here.links.ports[egress];
    let eligible = port.waiting & !port.stopped;
    if consults {
        let (waiting, hot) = (port.waiting, port);
        let cold = &mut here.links.cold[egress];
        if eligible == 0 {
            cold.scheduler.stall(waiting, cold.control.credits().is_some(), now);
            return None;
        }
        let head = |class| here.buffers.head_bytes(hot.queue(TrafficClass(class as u8))).unwrap_or_default();
        let queue = cold.scheduler.pick(eligible, head, now)?;
        debug_assert!(eligible >> queue & 1 != 0, "the scheduler picked a class that may not send");
        return Some(TrafficClass(queue as u8));
    }
    if eligible == 0 {
        return None;
    }
    // Strict priority: the highest class; FIFO has a single class.
    Some(TrafficClass(31 - eligible.leading_zeros() as u8))
}

/// Time at which a port that may not send now checks again, unless another event comes first: the end of the first
/// pause, or the next release time of its scheduler.
pub fn next_eligible(here: &mut NodeView, egress: PortIx, now: Time) -> Time {
    let port = &here.links.ports[egress];
    if port.features.has(PortFeatures::DOWN) {
        return Time::NEVER;
    }
    // While all queued classes are stopped, the scheduler has not been notified and does not choose.
    let (mut held, eligible) = (port.waiting & port.stopped, port.waiting & !port.stopped != 0);
    let consults = port.features.has(PortFeatures::SCHEDULER);
    let classes = here.nodes[here.node_of[egress]].classes;
    let cold = &mut here.links.cold[egress];
    // An acknowledgement of link-level retry ends this stop, at a time not known in advance.
    held &= !cold.retry.as_ref().map_or(0, |retry| retry.stopped(classes));
    let held = members(held).map(|class| TrafficClass(class as u8));
    let pause_end = held.map(|class| cold.control.until(classes.priorities(class))).min();
    let allowed = if consults && eligible { cold.scheduler.wake(now) } else { None };
    pause_end.into_iter().chain(allowed).min().unwrap_or(Time::NEVER)
}
