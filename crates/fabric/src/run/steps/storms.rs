//! Watchdogs for PFC storms: apply their state machine (`flow_control::watchdog`) to the queues of a port.

use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::port::{ColdPort, PortFeatures};
use crate::run::state::storms::Storm;
use crate::run::state::view::NodeView;
use crate::run::steps::crossbar::outputs;
use crate::run::steps::decision;
use crate::run::steps::egress;
use crate::run::steps::losses;
use crate::run::steps::pausing;
use crate::run::steps::stops;
use flow_control::watchdog::{StormAction, Verdict};
use frame::{PRIORITIES, TrafficClass, members};
use units::Time;

/// Starts detection for classes of a port that have frames and are stopped.
#[cold]
pub fn note_stuck(here: &mut NodeView, port: PortIx, classes: u32, now: Time, events: &mut EventQueue) {
    let cold = &mut here.links.cold[port];
    let Some(watch) = &mut cold.watch else { return };
    let map = here.links.ports[port].classes;
    for class in (0..PRIORITIES as u8).filter(|class| classes >> class & 1 != 0) {
        if cold.control.until(map.priorities(TrafficClass(class))) <= now {
            continue;
        }
        let look_at = watch.queues[usize::from(class)].stuck(&watch.spec, now);
        if look_at.is_some_and(|at| watch.arm(at)) {
            events.push(Event::bare(Kind::Watchdog, watch.look.due(), port));
        }
    }
}

/// Calls `note_stuck` for the classes that are still stopped.
#[cold]
pub fn note_still_stuck(here: &mut NodeView, port: PortIx, classes: u32, now: Time, events: &mut EventQueue) {
    let stuck = classes & here.links.ports[port].stopped;
    if stuck != 0 {
        note_stuck(here, port, stuck, now, events);
    }
}

/// Handles a pause frame that changes the end of pauses: a storm may be over earlier than scheduled.
#[cold]
pub fn note_change(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let cold = &mut here.links.cold[port];
    let Some(watch) = &mut cold.watch else { return };
    let map = here.links.ports[port].classes;
    for class in (0..map.classes() as u8).map(TrafficClass) {
        // A pause ended by a failed link may have expired long ago.
        let at = (cold.control.until(map.priorities(class)) + watch.spec.restoration).max(now);
        if watch.queues[class.at()].is_storming() && watch.arm(at) {
            events.push(Event::bare(Kind::Watchdog, at, port));
        }
    }
}

/// Handles a scheduled check of the queues of a port.
#[inline(never)]
pub fn watch_due(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let ColdPort { watch, control, .. } = &mut here.links.cold[port];
    let Some(watch) = watch else { return };
    if !watch.look.fires(now) {
        return;
    }
    let map = here.links.ports[port].classes;
    let mut drops = 0u32;
    for class in 0..map.classes() as u8 {
        let paused_until = control.until(map.priorities(TrafficClass(class)));
        let spec = watch.spec;
        match watch.queues[usize::from(class)].look(&spec, now, paused_until) {
            Verdict::Quiet => {}
            Verdict::LookAt(at) => {
                if watch.arm(at) {
                    events.push(Event::bare(Kind::Watchdog, at, port));
                }
            }
            Verdict::Storm(began) => {
                let storm =
                    Storm { class, began, detected: now, over: None, frames_dropped: 0, bytes_dropped: 0 };
                watch.storms.push(storm);
                match spec.action {
                    StormAction::Report => {}
                    StormAction::Drop => drops |= 1 << class,
                    StormAction::Forward => watch.forwarding |= 1 << class,
                }
                let at = paused_until + spec.restoration;
                if watch.arm(at) {
                    events.push(Event::bare(Kind::Watchdog, at, port));
                }
            }
            Verdict::Over => {
                watch.dropping &= !(1 << class);
                watch.forwarding &= !(1 << class);
                if let Some(storm) = watch.storms.iter_mut().rev().find(|storm| storm.class == class) {
                    storm.over = Some(now);
                }
            }
        }
    }
    watch.dropping |= drops;
    stops::update_stopped(here, port, now);
    members(drops).for_each(|class| drain(here, port, TrafficClass(class as u8), now, events));
    if here.links.ports[port].waiting != 0 {
        decision::try_transmit(here, port, now, events);
    }
}

/// Drops the frames of a class. The scheduler is notified of an empty queue, not of service.
#[inline(never)]
fn drain(here: &mut NodeView, egress: PortIx, class: TrafficClass, now: Time, events: &mut EventQueue) {
    while here.links.ports[egress].waiting >> class.0 & 1 != 0 {
        let (waiting, before) = egress::take(here, egress, class, now);
        if let Some(watch) = &mut here.links.cold[egress].watch {
            watch.count(class, waiting.frame.bytes);
        }
        if here.links.ports[egress].waiting >> class.0 & 1 == 0
            && here.links.ports[egress].features.has(PortFeatures::SCHEDULER)
        {
            here.links.cold[egress].scheduler.discard(u32::from(class.0), now);
        }
        losses::lose(here, egress, class, &waiting.frame, waiting.across, Cause::Watchdog, now);
        pausing::after_dequeue(here, egress, class, &waiting, before, now, events);
        outputs::output_left(here, egress, class, (&waiting.frame, waiting.across), now, events);
    }
}
