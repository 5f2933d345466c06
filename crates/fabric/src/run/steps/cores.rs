//! Processing of received and sent frames by the cores of a host.

use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::view::NodeView;
use crate::run::steps::forward;
use crate::run::steps::losses;
use frame::{Frame, Occupancy, TrafficClass};
use queueing::Refusal;
use units::Time;

/// Starts processing the next frame of a core, if the core is idle, awake and not stopped.
pub fn take_in(here: &mut NodeView, port: PortIx, at: usize, now: Time, events: &mut EventQueue) {
    let Some(receiving) = here.hosts.receiving[port].as_deref_mut() else { return };
    let core = &mut receiving.cores[at];
    if core.serving.is_some() || !receiving.reading || core.waiting.is_empty() {
        return;
    }
    let next = match core.wake(now, &receiving.interrupt) {
        Ok(interrupt) => {
            let waiting = here.buffers.pool.pop(&mut core.waiting);
            let per_frame = receiving.time_for(&waiting);
            Some(receiving.cores[at].begin(waiting, interrupt, per_frame, now))
        }
        Err(wakes) => wakes,
    };
    if let Some(next) = next {
        events.push(Event::bare(Kind::Served, next, port));
    }
}

/// Sends a frame of a host through a port. If sending takes time there, a core processes the frame first.
#[inline(never)]
pub fn depart(here: &mut NodeView, egress: PortIx, frame: Frame, now: Time, events: &mut EventQueue) {
    let receiving = here.hosts.receiving.get(egress).and_then(Option::as_deref);
    if receiving.is_none_or(|receiving| receiving.time_per_sent.is_none()) {
        return forward::forward(here, egress, frame, None, now, events);
    }
    let class = here.links.ports[egress].classes.class(frame.priority());
    let memory = here.nodes[here.node_of[egress]].memory();
    let waits = |limit| waits_before_nic(here, limit, egress, class);
    if memory.limited && memory.buffer.admit(frame.bytes, waits).is_err() {
        return losses::lose(here, egress, class, &frame, None, Cause::NicFull, now);
    }
    let Some(receiving) = here.hosts.receiving[egress].as_deref_mut() else { return };
    receiving.prepared[class.at()].add(frame.bytes);
    let at = receiving.core_of(frame.path);
    let core = &mut receiving.cores[at];
    core.sleeps_until = None;
    core.count += 1;
    here.buffers.pool.push(&mut core.waiting, &frame, now, None);
    take_in(here, egress, at, now, events);
}

/// Returns the occupancy that counts against a limit for a frame of this class at an egress port of a host. For a
/// queue, this includes frames in the cores.
pub fn waits_before_nic(here: &NodeView, limit: Refusal, egress: PortIx, class: TrafficClass) -> Occupancy {
    let mut waits = here.waits_within(limit, egress, class);
    if limit == Refusal::Queue
        && let Some(receiving) = here.hosts.receiving.get(egress).and_then(Option::as_deref)
    {
        waits.join(receiving.prepared(class));
    }
    waits
}
