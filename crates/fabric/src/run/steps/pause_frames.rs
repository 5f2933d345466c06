//! Pause frames on the link of a port: transmission, and effect at the receiving transmitter.

use crate::run::across::ahead;
use crate::run::state::event::{Event, EventQueue, PauseFrame};
use crate::run::state::index::PortIx;
use crate::run::state::pause_sender::{Parts, cause_of};
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::credits::updates;
use crate::run::steps::decision;
use crate::run::steps::frame_log;
use crate::run::steps::stops;
use crate::run::steps::storms;
use crate::run::steps::transmission;
use crate::run::steps::victims;
use flow_control::pause::pause_time;
use frame::{CONTROL_FRAME_BYTES, ClassMap, TrafficClass, members};
use units::Time;

/// Sends the pending pause frame on the link; the transmitter is idle.
#[inline(never)]
pub fn transmit_pause(here: &mut NodeView, egress: PortIx, now: Time, events: &mut EventQueue) {
    let cold = &mut here.links.cold[egress];
    let update_waits = cold.control.credits().is_some_and(|credits| credits.update_waits);
    let Some(pauses) = cold.control.pauses_mut().filter(|pauses| !update_waits || pauses.has_signal()) else {
        return updates::transmit_update(here, egress, now, events);
    };
    let (signal, causes, times) = pauses.take_signal();
    cold.counts.pause_frames += 1;
    cold.counts.pauses_sent += u64::from(signal.xoff != 0);
    cold.counts.resumes_sent += u64::from(signal.xon != 0);
    // Each pause time in the frame is an event, which carries one cause. If it stops several priorities with different
    // causes, the other causes are stored here with their times.
    let parts = Parts::of(signal, &times);
    let (delay, peer_response) = (cold.delay, pauses.peer_response);
    let port = &mut here.links.ports[egress];
    port.features.set(PortFeatures::PAUSE_WAITING, update_waits);
    if port.busy_until < now {
        port.clock.restart();
    }
    port.busy_until =
        now + port.clock.advance(u64::from(CONTROL_FRAME_BYTES) + u64::from(port.timing.overhead()));
    let (ends_at, peer) = (port.busy_until + delay, port.arrives_as.peer());
    let at = ends_at + peer_response;
    for priority in members(signal.xoff).filter(|_| here.probes.pauses.is_some()) {
        let carried = parts.iter().find(|(part, _)| part.xoff >> priority & 1 != 0);
        if carried.is_some_and(|(part, _)| cause_of(part, &causes) != causes[priority]) {
            pauses.other_causes.0.push((at + here.probes.left_out, priority as u8, causes[priority]));
        }
    }
    let faulted = here.links.ports[egress].features.has(PortFeatures::FAULTED);
    let lost = faulted && transmission::pause_is_lost(here, egress, (now, at), CONTROL_FRAME_BYTES.into());
    if here.probes.frames.is_some() {
        for (part, quanta) in parts.iter() {
            frame_log::log_pause(here, egress, part, quanta, now, lost);
        }
    }
    if lost {
        here.links.cold[egress].counts.pauses_lost += 1;
        return;
    }
    if signal.xoff != 0 {
        ahead::notify_of_pause(here, egress, at);
    }
    for (number, (part, quanta)) in parts.iter().enumerate() {
        let pause = PauseFrame { signal: part, quanta, note: cause_of(part, &causes), more: number != 0 };
        events.send(Event::pause(at, peer, pause), || here.links.neighbours[egress]);
    }
}

/// Applies a pause frame at the transmitter that receives it.
#[inline(never)]
pub fn receive_pause(
    here: &mut NodeView,
    port_id: PortIx,
    pause: PauseFrame,
    now: Time,
    events: &mut EventQueue,
) {
    let PauseFrame { signal, quanta, note: cause, more } = pause;
    let cold = &mut here.links.cold[port_id];
    if signal.xoff != 0
        && let Some(lone) = &mut cold.sole_source
    {
        lone.pause_acts(now);
    }
    let Some(pauses) = cold.control.pauses_mut() else { return };
    cold.counts.pauses_received += u64::from(signal.xoff != 0 && !more);
    // A pause time that has expired before it takes effect ends the pause in force at that moment.
    let until = ((now - pauses.response) + pause_time(quanta, cold.rate)).max(now);
    let shortens = until < pauses.timers.until(signal.xoff);
    if let Some(watch) = &mut cold.watch {
        // An expired pause leaves a gap even if the next one follows immediately.
        let classes = here.nodes[here.node_of[port_id]].classes;
        watch.free(classes_where(classes, |priorities| pauses.timers.until(priorities) < now));
    }
    let before = here.probes.pauses_ended();
    pauses.receive(signal, until, cause, now, |ended| here.probes.pause_ended(port_id, ended));
    victims::note_held(here, port_id, before, now);
    stops::update_stopped(here, port_id, now);
    let port = &here.links.ports[port_id];
    let (stopped, watched) = (port.stopped, port.features.has(PortFeatures::WATCHED));
    let stuck = stopped & port.waiting;
    // An XON for one of several priorities of a queue, or a shorter time, may bring forward the end of its pause.
    if port.waiting & !stopped != 0 || (signal.xon != 0 || shortens) && port.waiting != 0 {
        decision::try_transmit(here, port_id, now, events);
    }
    if watched {
        storms::note_change(here, port_id, now, events);
    }
    if stuck != 0 {
        storms::note_stuck(here, port_id, stuck, now, events);
    }
}

/// Returns the classes with a priority that satisfies the predicate, as a bit set.
fn classes_where(classes: ClassMap, holds: impl Fn(u8) -> bool) -> u32 {
    let all = (0..classes.classes() as u8).map(TrafficClass);
    all.filter(|&class| holds(classes.priorities(class))).fold(0, |set, class| set | 1 << class.0)
}
