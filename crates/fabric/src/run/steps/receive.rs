//! Hosts that take time to process each received frame, and send pauses when their receive buffers fill.

use crate::run::state::event::EventQueue;
use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::receive::is_sent;
use crate::run::state::view::NodeView;
use crate::run::steps::cores;
use crate::run::steps::credits;
use crate::run::steps::credits::updates;
use crate::run::steps::culprits;
use crate::run::steps::delivery;
use crate::run::steps::forward;
use crate::run::steps::frame_log;
use crate::run::steps::ingress;
use crate::run::steps::losses;
use crate::run::steps::probes;
use crate::run::steps::receiver_messages;
use crate::spec::CoreChange;
use flow_control::pfc::Counted;
use frame::Frame;
use units::{Amount, Time};

/// Handles a frame at a host that may take time to process it.
#[inline(never)]
pub fn receive(here: &mut NodeView, ingress: PortIx, frame: Frame, now: Time, events: &mut EventQueue) {
    let Some(receiving) = here.hosts.receiving[ingress].as_deref_mut() else {
        delivery::deliver(here, &frame, now, events);
        credits::credits_arrived(here, ingress, &frame, None, now);
        return updates::credits_free(here, ingress, &frame, now, events);
    };
    let group = receiving.group(frame.priority());
    if receiving.point.is_some() {
        receiver_messages::notify_source(here, ingress, group, &frame, now, events);
    }
    let Some(receiving) = here.hosts.receiving[ingress].as_deref_mut() else { return };
    let occupancy = &mut receiving.occupancy[group];
    if receiving.buffer.is_some_and(|buffer| !occupancy.has_room(Amount::Bytes(buffer), frame.bytes)) {
        lose_received(here, ingress, &frame, now);
        return;
    }
    occupancy.add(frame.bytes);
    let level = *occupancy;
    credits::credits_arrived(here, ingress, &frame, None, now);
    let Some(receiving) = here.hosts.receiving[ingress].as_deref_mut() else { return };
    let at = receiving.core_of(frame.path);
    let core = &mut receiving.cores[at];
    here.buffers.pool.push(&mut core.waiting, &frame, now, Some(ingress));
    core.count += 1;
    let node = here.node_of[ingress];
    if here.nodes[node].pause_sender.is_some() {
        // A pause that begins with this frame counts it together with all queued frames.
        culprits::notify_receiver(here, ingress, group, &frame);
        let counted = ingress::count_in(here, &frame, Some(ingress), now);
        if counted == Counted::AtXoff {
            ingress::send_xoff(here, &frame, ingress, None, now, events);
        }
        assert!(
            counted != Counted::Full,
            "a receive buffer and its counter differ: this is a bug in the simulator"
        );
    } else {
        culprits::notify_receiver(here, ingress, group, &frame);
        here.probes.counter_holds(ingress, group, now, || level);
    }
    cores::take_in(here, ingress, at, now, events);
}

/// Handles cores of a port that have finished a frame, or have been woken.
#[inline(never)]
pub fn served(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let cores = here.hosts.receiving[port].as_deref().map_or(0, |all| all.cores.len());
    for at in 0..cores {
        finish(here, port, at, now, events);
        cores::take_in(here, port, at, now, events);
    }
}

/// Ends the processing of a core's current frame, if it is due.
fn finish(here: &mut NodeView, port: PortIx, at: usize, now: Time, events: &mut EventQueue) {
    let Some(receiving) = here.hosts.receiving[port].as_deref_mut() else { return };
    let core = &mut receiving.cores[at];
    let took = core.takes;
    let Some(waiting) = core.serving.take_if(|_| core.busy_until <= now) else { return };
    if core.waiting.is_empty() {
        core.sleeps_until = Some(Time::NEVER);
    }
    let frame = waiting.frame;
    if is_sent(&waiting) {
        let class = here.links.ports[port].classes.class(frame.priority());
        receiving.prepared[class.at()].remove(frame.bytes);
        return forward::forward(here, port, frame, None, now, events);
    }
    let group = receiving.group(frame.priority());
    receiving.occupancy[group].remove(frame.bytes);
    let level = receiving.occupancy[group];
    if !here.probes.read.is_empty() {
        probes::record_read(here, &frame, now, took);
    }
    delivery::deliver(here, &frame, now, events);
    let node = here.node_of[port];
    if here.nodes[node].pause_sender.is_some() {
        ingress::count_out(here, &waiting, now, events);
    } else {
        here.probes.counter_holds(port, group, now, || level);
    }
    updates::credits_free_last(here, port, &frame, now, events);
}

/// Applies a scripted change of the cores.
pub fn change_receiving(
    here: &mut NodeView,
    port: PortIx,
    change: CoreChange,
    now: Time,
    events: &mut EventQueue,
) {
    let Some(receiving) = here.hosts.receiving.get_mut(port).and_then(Option::as_deref_mut) else {
        return;
    };
    receiving.change(change);
    let cores = receiving.cores.len();
    for at in 0..cores {
        cores::take_in(here, port, at, now, events);
    }
}

#[cold]
fn lose_received(here: &mut NodeView, ingress: PortIx, frame: &Frame, now: Time) {
    let node = &here.nodes[here.node_of[ingress]];
    let class = node.classes.class(frame.priority());
    let lossless = node.pause_sender.is_some() && losses::is_lossless(here, node, frame, Some(ingress));
    frame_log::log_drop(here, ingress, true, frame, Cause::ReceiveBuffer, now);
    losses::count_loss(here, ingress, class, frame, Cause::ReceiveBuffer);
    if lossless {
        losses::violate(here, ingress, class, frame, Some(ingress), Cause::ReceiveBuffer, now);
    }
}
