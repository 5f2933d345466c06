//! The classes of a port that are stopped.
//!
//! Each reason is stored with its mechanism: pauses in the control of the link, a failed link or switch with the port,
//! a storm with its watchdog, a full replay buffer with link-level retry. Only [`update_stopped`] writes their union,
//! and notifies the scheduler. A reason that has ended is removed, even if no frame is queued.

use crate::run::state::index::PortIx;
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::decision;
use crate::run::steps::victims;
use units::Time;

/// Recomputes which classes of a port may not send.
#[inline(never)]
pub fn update_stopped(here: &mut NodeView, port_id: PortIx, now: Time) {
    let classes = here.nodes[here.node_of[port_id]].classes;
    let cold = &mut here.links.cold[port_id];
    let port = &here.links.ports[port_id];
    let mut stopped = cold.control.stopped(classes, now);
    if let Some(watch) = &mut cold.watch {
        watch.free(!stopped);
        stopped = watch.stopped(stopped);
    }
    let retry = cold.retry.as_ref().map_or(0, |retry| retry.stopped(classes));
    stopped |= retry;
    if cold.down != 0 {
        stopped = u32::MAX;
    }
    // A watchdog checks the queues as well.
    let changes = cold.watch.is_some() || retry != 0 || cold.down != 0;
    cold.stops_until = if changes { Time::ZERO } else { cold.control.unchanged_until(now) };
    let free = port.stopped & !stopped != 0;
    if port.features.has(PortFeatures::SCHEDULER) {
        decision::on_stopped(here, port_id, stopped, now);
    }
    if free {
        // Read before a frame leaves: the queued flows have been held back.
        let before = here.probes.pauses_ended();
        let cold = &mut here.links.cold[port_id];
        cold.control.run_out(now, |ended| here.probes.pause_ended(port_id, ended));
        victims::note_held(here, port_id, before, now);
    }
    here.links.ports[port_id].stopped = stopped;
    if let Some(nic) = &mut here.links.nics[port_id] {
        nic.note_stopped(stopped, now);
    }
}

/// Variant of `update_stopped` that first checks whether a pause may have expired.
#[inline(always)]
pub fn look_at_stops(here: &mut NodeView, port_id: PortIx, now: Time) {
    if here.links.cold[port_id].stops_until <= now {
        return update_stopped(here, port_id, now);
    }
    debug_assert_eq!(
        here.links.cold[port_id].control.stopped(here.nodes[here.node_of[port_id]].classes, now),
        here.links.ports[port_id].stopped,
        "the stopped classes changed without an update"
    );
}
