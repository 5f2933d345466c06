//! Ingress counters of queued frames, for pauses by ingress port (`flow_control::pfc`).
//!
//! The counters of all ports are in one table by port, and the watermarks of a port are next to its counters: a frame
//! that is enqueued or leaves finds them by its ingress port, without a look-up of its node.

use crate::run::state::event::EventQueue;
use crate::run::state::index::{PauseSenderIx, PortIx, QueueIx};
use crate::run::state::ingress::IngressPort;
use crate::run::state::pausing::{NO_QUANTA, RenewalsDue};
use crate::run::state::pool::Waiting;
use crate::run::state::view::NodeView;
use crate::run::steps::blame;
use crate::run::steps::culprits;
use crate::run::steps::signals;
use flow_control::Drain;
use flow_control::pause::PauseSignal;
use flow_control::pfc::{Counted, Levels};
use frame::{Frame, Occupancy, PRIORITIES};
use units::{Amount, Time};

/// Returns the current dynamic watermarks of a counter.
#[inline(never)]
fn moved(here: &NodeView, ingress: PortIx, group: usize) -> Levels {
    let node = &here.nodes[here.node_of[ingress]];
    let fixed = here.ingress[ingress].levels;
    let sharing = node.memory().sharing.as_ref();
    sharing.map_or(fixed, |sharing| sharing.levels(ingress.since(node.first_port) as usize, group))
}

/// Records the level of a counter after a change.
#[inline(always)]
fn counter_changes(here: &mut NodeView, ingress: PortIx, group: usize, now: Time) {
    let level = || here.ingress[ingress].counters[group].occupancy;
    here.probes.counter_holds(ingress, group, now, level);
}

/// Counts a frame that is about to be enqueued at its ingress port. The caller acts on the returned value.
#[must_use]
#[inline(always)]
pub fn count_in(here: &mut NodeView, frame: &Frame, ingress: Option<PortIx>, now: Time) -> Counted {
    // A frame that originates here has no ingress port.
    let Some(ingress) = ingress else { return Counted::Fits };
    let Some(port) = here.ingress.get_mut(ingress) else { return Counted::Fits };
    let Some(group) = port.kind.group(frame.priority().0) else { return Counted::Fits };
    let counter = &mut port.counters[group];
    let counted = if counter.occupancy.bytes + u64::from(frame.bytes) < port.calm_below {
        counter.add_calm(frame.bytes, port.levels.xon, now);
        Counted::Fits
    } else if port.moving {
        let levels = moved(here, ingress, group);
        here.ingress[ingress].counters[group].admit(frame.bytes, &levels, now)
    } else {
        counter.admit(frame.bytes, &port.levels, now)
    };
    counter_changes(here, ingress, group, now);
    counted
}

/// Variant of `send_xoff` for a frame of a queue and its ingress port. A frame that originates here has none, and is
/// not counted.
pub fn send_xoff_to(
    here: &mut NodeView,
    frame: &Frame,
    ingress: Option<PortIx>,
    queue: QueueIx,
    now: Time,
    events: &mut EventQueue,
) {
    if let Some(ingress) = ingress {
        send_xoff(here, frame, ingress, Some(queue), now, events);
    }
}

/// Handles a counter that has reached its high watermark by a frame for `queue`.
#[inline(never)]
pub fn send_xoff(
    here: &mut NodeView,
    frame: &Frame,
    ingress: PortIx,
    queue: Option<QueueIx>,
    now: Time,
    events: &mut EventQueue,
) {
    let Some(group) = here.ingress[ingress].kind.group(frame.priority().0) else { return };
    let Some(at) = here.nodes[here.node_of[ingress]].pause_sender else { return };
    let IngressPort { levels, counters, .. } = &here.ingress[ingress];
    let counter = &counters[group];
    let (counted, since) = (counter.occupancy, counter.rising_since);
    let occupancy = counted.count(levels.xoff);
    let sender = &here.pause_senders[at];
    let (local, priorities) = (sender.local(ingress), sender.bits(group));
    let queue = blame::to_blame(here, sender, queue, (ingress, group), counted);
    let drain = sender.timing.is_computed().then(|| ingress_drain(here, (ingress, group), queue));
    let (quanta, after) = sender.timing.of(local, priorities, drain.as_ref());
    here.ingress[ingress].counters[group].pause.set(now + after);
    let cause = signals::cause(here, false, queue, since, occupancy);
    if !cause.inherited {
        culprits::root_begins(here, ingress, group as u8, queue);
    }
    here.pause_senders[at].schedule_renewal(local, now + after, events);
    let signal = PauseSignal { xoff: priorities, xon: 0 };
    signals::signal(here, ingress, signal, &quanta, cause.pack(), now, events);
}

/// Handles a frame that has left its queue: XON may be due at its ingress port.
#[inline(always)]
pub fn count_out(here: &mut NodeView, waiting: &Waiting, now: Time, events: &mut EventQueue) {
    let Some(ingress) = waiting.across else { return };
    let Some(port) = here.ingress.get_mut(ingress) else { return };
    let Some(group) = port.kind.group(waiting.frame.priority().0) else { return };
    let counter = &mut port.counters[group];
    let is_paused = counter.remove(waiting.frame.bytes);
    let may_resume = is_paused && (port.moving || counter.occupancy.within(port.levels.xon));
    counter_changes(here, ingress, group, now);
    if may_resume {
        end_pause(here, ingress, group, now, events);
    }
}

/// Sends XON if an ingress counter is back at its low watermark.
#[inline(never)]
fn end_pause(here: &mut NodeView, ingress: PortIx, group: usize, now: Time, events: &mut EventQueue) {
    let port = &here.ingress[ingress];
    let levels = if port.moving { moved(here, ingress, group) } else { port.levels };
    if !here.ingress[ingress].counters[group].release(&levels) {
        return;
    }
    culprits::root_ends(here, ingress, group as u8, None, now);
    let sender = here.pause_sender_of(ingress).filter(|sender| sender.spec.resume);
    if let Some(bits) = sender.map(|sender| sender.bits(group)) {
        signals::signal(here, ingress, PauseSignal { xoff: 0, xon: bits }, &NO_QUANTA, 0, now, events);
    }
}

/// Adds to `due` the pauses to be renewed through `port` because of its ingress counters.
pub fn renew_by_ingress(
    here: &mut NodeView,
    at: PauseSenderIx,
    port: PortIx,
    now: Time,
    due: &mut RenewalsDue,
) {
    for group in 0..PRIORITIES {
        let sender = &here.pause_senders[at];
        let local = sender.local(port);
        let levels = moved(here, port, group);
        let counter = &here.ingress[port].counters[group];
        let (mut renew, occupancy) = (counter.renew(&levels, now), counter.occupancy);
        let queue = if renew { blame::to_blame(here, sender, None, (port, group), occupancy) } else { None };
        let drain = (renew && sender.timing.is_computed()).then(|| ingress_drain(here, (port, group), queue));
        renew &= drain.is_none_or(|drain| !drain.may_end(sender.timing.link(local)));
        if renew {
            let bits = sender.bits(group);
            let (quanta, after) = sender.timing.of(local, bits, drain.as_ref());
            here.ingress[port].counters[group].pause.set(now + after);
            due.add(
                bits,
                &quanta,
                signals::cause(here, false, queue, now, occupancy.count(levels.xoff)).pack(),
            );
        }
        // A pause that may end is not renewed, and must not hide those that are.
        let pause = here.ingress[port].counters[group].pause;
        if pause.in_force() && !pause.is_due(now) {
            due.next = due.next.min(pause.renew_at());
        }
    }
}

/// Bytes that must drain from `queue` before this counter may send XON. The drain rate of a host is not known; the rate
/// of its link is used.
fn ingress_drain(here: &NodeView, (ingress, group): (PortIx, usize), queue: Option<QueueIx>) -> Drain {
    let levels = moved(here, ingress, group);
    let held = here.ingress[ingress].counters[group].occupancy;
    let egress = queue.map_or(ingress, |queue| here.links.place_of_queue(queue).0);
    let waiting = queue.map_or(0, |queue| here.buffers.queues[queue].occupancy.bytes);
    what_drains(here, egress, held, (levels.xoff, levels.xon), waiting)
}

/// Bytes that must drain through a port, and the rate of the port.
pub fn what_drains(
    here: &NodeView,
    egress: PortIx,
    held: Occupancy,
    marks: (Amount, Amount),
    queue: u64,
) -> Drain {
    let (rate, overhead) = (here.links.cold[egress].rate, here.links.ports[egress].timing.overhead());
    Drain { held, marks, queue, rate, overhead }
}
