//! Prefetches memory into the cache before the event that needs it, in large fabrics.
//!
//! A frame or a decision touches a chain of places: the event names a port, the port a queue, the queue its first
//! frame, and the creation time of that frame selects a histogram bin. Each step here reads what the previous step
//! fetched, and fetches the next place. The engine runs the step some events later (`engine::World::fetch`). Fetching
//! changes no state. A guess may be wrong, because other frames arrive at the port before the event runs.

use crate::run::fabric::Fabric;
use crate::run::state::event::{Event, Kind};
use crate::run::state::hosts::Receiver;
use crate::run::state::index::{EndpointIx, PlaceIx, PortIx};
use crate::run::state::nic::InLine;
use crate::run::state::port::{Port, PortFeatures};
use crate::run::steps::endpoint_ways;
use frame::{Frame, Heading, PathId, Priority};
use memory::{fetch, fetch_all, fetch_all_at, fetch_at};
use units::Time;

/// Minimum size of the tables of a large fabric, in bytes: they exceed the caches, so memory accesses are slow and
/// worth prefetching. The limit is low in tests, whose fabrics are small.
const LARGE: usize = if cfg!(debug_assertions) { 1 << 16 } else { 24 << 20 };
/// Limit with queue pairs or contexts of UET, whose packets, headers and acknowledgements are not part of the tables.
/// With 14.5 MB of tables (1,024 hosts that each send to another), prefetching makes runs 1.3 times as fast (1.13 times
/// with queue pairs); with 6.1 MB (432 hosts), up to a tenth slower.
const LARGE_WITH_CONTEXTS: usize = if cfg!(debug_assertions) { 1 << 16 } else { 12 << 20 };

/// In place of an egress port: the frame has reached its destination.
const END: u32 = u32::MAX;

/// Returns true if the tables that grow with ports, flows and connections exceed the cache, so that prefetching is
/// worthwhile.
pub fn is_large(here: &Fabric) -> bool {
    let ports =
        size_of_val(here.links.ports.all(here.whole())) + size_of_val(here.links.cold.all(here.whole()));
    let hosts = size_of_val(here.hosts.sources.all(here.whole()))
        + size_of_val(here.hosts.endpoints.all(here.whole()));
    let receivers = size_of_val(&*here.hosts.receivers);
    let tables = ports + size_of_val(here.buffers.queues.all(here.whole())) + hosts + receivers;
    let has_contexts = || {
        let mut endpoints = here.hosts.endpoints.all(here.whole()).iter();
        endpoints
            .any(|own| own.endpoint.sending_contexts().is_some() || own.endpoint.sending_pairs().is_some())
    };
    tables > LARGE || tables > LARGE_WITH_CONTEXTS && has_contexts()
}

/// Runs one step of the prefetches for an event.
#[inline(always)]
pub fn fetch_for(here: &Fabric, step: usize, event: &Event, found: u32) -> u32 {
    if event.is(Kind::Frame) || event.is(Kind::Head) {
        fetch_for_frame(here, step, event, found)
    } else if event.is_decision() {
        fetch_for_decision(here, step, event.port(here.whole()), event.time);
        0
    } else if event.is(Kind::Source) {
        fetch_for_source(here, step, event.place(here.whole()), event.time);
        0
    } else if event.is(Kind::Timeout) {
        let first = here.links.len() + here.hosts.sources.len();
        if let Some(state) =
            here.hosts.endpoints.all(here.whole()).get(event.place(here.whole()).at().wrapping_sub(first))
        {
            match step {
                0 => fetch(&state.wakes_at),
                // Skipped if the call has been rescheduled.
                2 if state.wakes_at == { event.time } => fetch_all(state),
                _ => {}
            }
        }
        0
    } else {
        0
    }
}

/// Fetches the route; then the egress port or the receiver; then the queue of that port.
#[inline(always)]
fn fetch_for_frame(here: &Fabric, step: usize, event: &Event, found: u32) -> u32 {
    let frame = event.frame();
    match (step, found) {
        (0, _) => {
            let hop = match frame.route.heading() {
                Heading::Forward(hop) => hop,
                Heading::Backward(hops) => hops.wrapping_sub(1),
                Heading::Destination(_) | Heading::Tree(_) => return 0,
            };
            fetch_at(&here.routes.hops, hop as usize);
            if let Some(ingress) = here.ingress.get(event.port(here.whole())) {
                fetch(&ingress.levels);
                fetch_at(&ingress.counters, frame.priority().at());
            }
            0
        }
        (1, _) => {
            let egress = leaves_through(here, &frame);
            if egress == END {
                fetch_at(&here.hosts.receiver_of_path, frame.path.at());
                fetch_at(&here.hosts.endpoints_of_path, frame.path.at());
            } else {
                fetch_at(here.links.ports.all(here.whole()), egress as usize);
            }
            egress
        }
        (2, END) => {
            fetch_receiver(here, frame.path);
            if let Some(ends) = here.hosts.endpoints_of_path.get(frame.path.at()) {
                fetch_endpoint(here, ends[usize::from(endpoint_ways::goes_to_far_end(here, &frame))]);
            }
            END
        }
        (3, END) => {
            fetch_latency(here, &frame, event.time);
            END
        }
        (2, egress) => {
            fetch_queue_for(here, PortIx::of(egress, here.whole()), frame.priority(), event.time);
            if leads_to_receiver(here, PortIx::of(egress, here.whole())) {
                fetch_at(&here.hosts.receiver_of_path, frame.path.at());
            }
            egress
        }
        (3, egress) => {
            fetch_waiting(here, PortIx::of(egress, here.whole()), &frame);
            egress
        }
        (4, egress) if egress != END => {
            fetch_waits(here, PortIx::of(egress, here.whole()), &frame, event.time);
            egress
        }
        (_, found) => found,
    }
}

/// Returns the egress port of a frame, or [`END`].
#[inline(always)]
fn leaves_through(here: &Fabric, frame: &Frame) -> u32 {
    match frame.route.heading() {
        Heading::Forward(hop) => here.routes.egress(hop).map_or(END, PortIx::number),
        Heading::Backward(hops) => here.routes.step_back(hops).map_or(END, |(egress, _)| egress.number()),
        Heading::Destination(_) | Heading::Tree(_) => END,
    }
}

/// Returns the receiver that counts the frames of a path, if it ends in this part.
#[inline(always)]
fn receiver_at(here: &Fabric, path: PathId) -> Option<&Receiver> {
    let receiver = here.hosts.receiver_of_path.get(path.at()).copied().flatten()?;
    here.hosts.receivers.get(receiver)
}
#[inline(always)]
fn fetch_receiver(here: &Fabric, path: PathId) {
    if let Some(receiver) = receiver_at(here, path) {
        fetch_all(receiver);
    }
}

/// Fetches the latency bin of a frame that arrives at this time.
#[inline(always)]
fn fetch_latency(here: &Fabric, frame: &Frame, arrives: Time) {
    if let Some(receiver) = receiver_at(here, frame.path) {
        receiver.latency.fetch(arrives.saturating_sub(frame.created));
    }
}

/// Prefetches the queue of a frame at a port, and the counters of passing frames there.
#[inline(always)]
fn fetch_queue_for(here: &Fabric, egress: PortIx, priority: Priority, now: Time) {
    let Some(port) = here.links.ports.get(egress) else { return };
    fetch(here.links.passed.of(egress, priority.at()));
    let queue = port.queue(port.classes.class(priority));
    if port.waiting != 0 || port.busy_until > now {
        fetch_all_at(here.buffers.queues.all(here.whole()), queue.at());
    }
}

/// Returns true if frames that leave through a port are counted at their destination immediately.
#[inline(always)]
fn leads_to_receiver(here: &Fabric, egress: PortIx) -> bool {
    here.links.ports.get(egress).is_some_and(|port| port.features.has(PortFeatures::COUNTED_AHEAD))
}

/// Fetches the queued frames that an arrival touches: the last frame, which the new one follows, and, where frames are
/// sent ahead, the first frame, which may have left.
#[inline(always)]
fn fetch_waiting(here: &Fabric, egress: PortIx, frame: &Frame) {
    let Some(port) = here.links.ports.get(egress) else { return };
    let queue = port.queue(port.classes.class(frame.priority()));
    if port.waiting != 0
        && let Some(queue) = here.buffers.queues.get(queue)
    {
        here.buffers.pool.fetch_last(&queue.list);
        if port.features.has(PortFeatures::AHEAD) {
            here.buffers.pool.fetch_first(&queue.list);
        }
    }
    if port.features.has(PortFeatures::COUNTED_AHEAD) {
        fetch_receiver(here, frame.path);
    }
}

/// Fetches the waiting-time bin of the first queued frame, and the latency bin of the frame at its receiver.
#[inline(always)]
fn fetch_waits(here: &Fabric, egress: PortIx, frame: &Frame, now: Time) {
    let Some(port) = here.links.ports.get(egress) else { return };
    if port.waiting != 0 && port.features.has(PortFeatures::AHEAD) {
        fetch_first_wait(here, port, now);
    }
    if port.features.has(PortFeatures::COUNTED_AHEAD) {
        let bytes = u64::from(frame.bytes) + u64::from(port.timing.overhead());
        let takes = port.clock.span_floor(bytes) + port.timing.arrives_after();
        let arrives = now.max(port.busy_until).saturating_add(takes);
        fetch_latency(here, frame, arrives);
    }
}

/// Fetches the waiting-time bin of the first frame queued at a port, the frame behind it, and its ingress port.
#[inline(always)]
fn fetch_first_wait(here: &Fabric, port: &Port, now: Time) -> Option<Frame> {
    let queue = here.buffers.queues.all(here.whole()).get(first_queue(port))?;
    let first = here.buffers.pool.get(queue.list.head()?);
    let leaves = if first.leaves == Time::NEVER { now } else { first.leaves };
    queue.waits.fetch(leaves.saturating_sub(first.since));
    here.buffers.pool.fetch_second(first);
    if let Some(ingress) = first.across {
        fetch_at(here.ingress.all(here.whole()), ingress.at());
    }
    Some(first.frame)
}

/// Fetches the data for a decision: the port; its queue; the frame that leaves; the counters of its wait and of the
/// frame. At a NIC also the next entry of the wait queue.
#[inline(always)]
fn fetch_for_decision(here: &Fabric, step: usize, egress: PortIx, now: Time) {
    let Some(port) = here.links.ports.get(egress) else { return };
    if step == 0 {
        return fetch(port);
    }
    if port.waiting == 0 {
        return;
    }
    if port.features.has(PortFeatures::FEEDS) {
        fetch_line(here, step, egress, first_class(port));
    }
    match step {
        1 => fetch_all_at(here.buffers.queues.all(here.whole()), first_queue(port)),
        2 => {
            if let Some(queue) = here.buffers.queues.all(here.whole()).get(first_queue(port)) {
                here.buffers.pool.fetch_first(&queue.list);
            }
        }
        3 => {
            if let Some(frame) = fetch_first_wait(here, port, now) {
                fetch(here.links.passed.of(egress, frame.priority().at()));
                fetch_at(&here.hosts.receiver_of_path, frame.path.at());
                if let Some(hop) = frame.route.next_hop() {
                    fetch_at(&here.routes.hops, hop as usize);
                }
            }
        }
        _ if port.features.has(PortFeatures::COUNTED_AHEAD) => {
            let queue = here.buffers.queues.all(here.whole()).get(first_queue(port));
            if let Some(first) = queue.and_then(|queue| queue.list.head()) {
                let path = here.buffers.pool.get(first).frame.path;
                fetch_receiver(here, path);
            }
        }
        _ => {}
    }
}

/// Fetches the NIC; then its state of a class; then the number of the first endpoint in the wait queue; then the
/// endpoint.
#[inline(never)]
fn fetch_line(here: &Fabric, step: usize, egress: PortIx, class: usize) {
    if step == 1 {
        fetch(&here.links.cold[egress].sole_source);
        return fetch_at(here.links.nics.all(here.whole()), egress.at());
    }
    let Some(Some(nic)) = here.links.nics.get(egress) else { return };
    match step {
        2 => nic.fetch_class(class),
        3 => nic.fetch_line(class),
        _ => fetch_endpoint(here, nic.first_in_line(class).and_then(InLine::endpoint)),
    }
}

/// Fetches the source; then the start of its path, and its receiver; then the first port, and its queue. For a source
/// with several paths, the first path.
#[inline(always)]
fn fetch_for_source(here: &Fabric, step: usize, place: PlaceIx, now: Time) {
    let source = place.at().wrapping_sub(here.links.len());
    let Some(state) = here.hosts.sources.all(here.whole()).get(source) else { return };
    let path = PathId(state.first_path);
    match step {
        0 => fetch_all(state),
        1 => {
            fetch_at(&here.routes.path_start, path.at());
            fetch_at(&here.hosts.receiver_of_path, path.at());
        }
        2 => {
            fetch_at(&here.routes.hops, here.routes.path_start[path.at()] as usize);
            fetch_receiver(here, path);
        }
        3 => {
            fetch_at(here.links.ports.all(here.whole()), here.routes.first_port(path.0).at());
            if let Some(receiver) = receiver_at(here, path) {
                receiver.latency.fetch_min();
            }
        }
        _ => {
            let first = here.routes.first_port(path.0);
            fetch_queue_for(here, first, state.priority, now);
        }
    }
}

/// Returns the highest class of a port with queued frames, which strict priority sends first.
#[inline(always)]
fn first_class(port: &Port) -> usize {
    (u32::BITS - 1).wrapping_sub(port.waiting.leading_zeros()) as usize
}

#[inline(always)]
fn first_queue(port: &Port) -> usize {
    port.first_queue.at().wrapping_add(first_class(port))
}

#[inline(always)]
fn fetch_endpoint(here: &Fabric, nth: Option<EndpointIx>) {
    if let Some(nth) = nth {
        fetch_all_at(here.hosts.endpoints.all(here.whole()), nth.at());
    }
}
