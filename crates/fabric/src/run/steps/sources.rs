//! Sources and the NIC through which they send.
//!
//! A NIC has a queue for each class and port. A class that is full or paused holds back only the sources that wait for
//! it.

use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::{LimiterIx, PortIx, SourceIx};
use crate::run::state::view::NodeView;
use crate::run::steps::cores;
use crate::run::steps::forward;
use crate::run::steps::limiter_calls;
use crate::run::steps::limiter_passing;
use frame::{Frame, PathId, Route, TrafficClass};
use queueing::Refusal;
use units::{Amount, Time};
use workload::{Made, Wake};

/// Handles a due source.
pub fn source_due(here: &mut NodeView, source: SourceIx, now: Time, events: &mut EventQueue) {
    loop {
        if here.hosts.sources[source].limit.is_some() && is_held_back(here, source) {
            let (egress, class) = next_place(here, source);
            if let Some(nic) = &mut here.links.nics[egress] {
                nic.block(class, source);
            }
            return;
        }
        let own = &mut here.hosts.sources[source].source;
        let wake = own.wake(now);
        let mut next = own.next_wake();
        match wake {
            Wake::Nothing => {}
            Wake::Emit(made) => submit(here, source, made, now, events),
            Wake::Fill => {
                fill(here, source, now, events);
                next = here.hosts.sources[source].source.next_wake();
            }
        }
        match next {
            Some(at) if at <= now => {}
            Some(at) => {
                let place = here.place_of_source(source);
                events.push(Event::bare(Kind::Source, at, place));
                return;
            }
            None => return,
        }
    }
}

/// Starts a greedy source.
#[cold]
#[inline(never)]
pub fn fill(here: &mut NodeView, source: SourceIx, now: Time, events: &mut EventQueue) {
    for _ in 0..here.hosts.sources[source].keeps {
        refill(here, source, now, events);
    }
}

/// Returns the port and class of the next frame of a source.
fn next_place(here: &mut NodeView, source: SourceIx) -> (PortIx, TrafficClass) {
    let state = &mut here.hosts.sources[source];
    let nth = if state.several_ports { state.source.next_destination() } else { 0 };
    let egress = here.routes.first_port(state.first_path + nth);
    let classes = here.links.ports[egress].classes;
    (egress, classes.class(state.priority))
}

/// Returns true if the NIC has no space for the next frame of a source. Greedy sources have been checked before.
fn is_held_back(here: &mut NodeView, source: SourceIx) -> bool {
    !here.hosts.sources[source].source.is_greedy() && nic_is_full(here, source)
}

/// Returns true if the queue of the next frame of a source is at the limit at which the source blocks.
fn nic_is_full(here: &mut NodeView, source: SourceIx) -> bool {
    let state = &here.hosts.sources[source];
    let Some(limit) = state.limit else { return false };
    if state.limited {
        return limiter_is_full(here, source, limit);
    }
    let plain = state.plain;
    let (egress, class) = next_place(here, source);
    if !plain {
        return cores::waits_before_nic(here, Refusal::Queue, egress, class).reaches(limit);
    }
    let queue = here.links.ports[egress].queue(class);
    here.buffers.queues[queue].occupancy.reaches(limit)
}

/// Variant of `nic_is_full` for a rate limiter in front of the NIC, whose queued frames count.
#[inline(never)]
fn limiter_is_full(here: &mut NodeView, source: SourceIx, limit: Amount) -> bool {
    let state = &mut here.hosts.sources[source];
    let destination = state.source.next_destination();
    let path = PathId(state.path(destination));
    let limiter = limiter_calls::limiter_of(here, path).map(|nth| &here.hosts.limiters[nth]);
    limiter.is_some_and(|limiter| limiter.occupancy.reaches(limit))
}

/// Passes a frame of a source to its NIC (or, for an ideal injector, to its switch).
#[inline(always)]
fn submit(here: &mut NodeView, source: SourceIx, made: Made, now: Time, events: &mut EventQueue) {
    let state = &mut here.hosts.sources[source];
    state.count(made);
    here.ledger.made += 1;
    if !state.plain {
        return match state.limiter {
            None => submit_slow(here, source, made, now, events),
            Some(limiter) => submit_limited(here, source, limiter, made, now, events),
        };
    }
    let (start, frame) = state.frame(made, &here.routes, now);
    let egress = here.routes.port_at(start);
    forward::forward(here, egress, frame, None, now, events);
}

/// Variant of `submit` for a plain frame that passes this rate limiter.
#[inline(never)]
fn submit_limited(
    here: &mut NodeView,
    source: SourceIx,
    limiter: LimiterIx,
    made: Made,
    now: Time,
    events: &mut EventQueue,
) {
    let state = &here.hosts.sources[source];
    let (start, frame) = state.frame(made, &here.routes, now);
    limiter_passing::limit(here, limiter, (start, state.in_nic > 0), frame, now, events);
}

/// Variant of `submit_limited` for frames with several possible limiters, processing time at their host, an unlisted
/// path, a stream label, or several receivers.
#[inline(never)]
fn submit_slow(here: &mut NodeView, source: SourceIx, made: Made, now: Time, events: &mut EventQueue) {
    let state = &here.hosts.sources[source];
    let path = state.path(made.destination);
    let start = here.routes.path_start[path as usize];
    let route = match &state.targets {
        Some(targets) => Route::to(targets.nth(made.destination)),
        None => here.routes.route_of(path, Route::forward(start + 1)),
    };
    let route = if state.multicast { Route::tree(start + 1) } else { route };
    let word = state.source.stream().unwrap_or(made.word);
    let (bytes, flags) = (made.bytes, state.flags);
    let counted = state.in_nic > 0;
    let frame = Frame { created: now, path: PathId(path), route, word, bytes, flags };
    match limiter_calls::limiter_of(here, frame.path) {
        Some(limiter) => limiter_passing::limit(here, limiter, (start, counted), frame, now, events),
        None => {
            let egress = here.routes.port_at(start);
            cores::depart(here, egress, frame, now, events)
        }
    }
}

/// Sends the next frame of a greedy source to its NIC, unless its limit of one or two frames is reached.
#[inline(never)]
pub fn refill(here: &mut NodeView, source: SourceIx, now: Time, events: &mut EventQueue) {
    let state = &mut here.hosts.sources[source];
    if state.limit.is_some() && state.source.has_transfers() && waits_for_room(here, source) {
        return;
    }
    let state = &mut here.hosts.sources[source];
    if state.in_nic < state.keeps
        && let Some(made) = state.source.take(now)
    {
        state.in_nic += 1;
        submit(here, source, made, now, events);
    }
}

/// Blocks a source of transfers if its NIC has no space: a lost frame would be missing from a transfer. Returns true if
/// the source is blocked.
#[cold]
fn waits_for_room(here: &mut NodeView, source: SourceIx) -> bool {
    if !here.hosts.sources[source].source.is_active() || !nic_is_full(here, source) {
        return false;
    }
    let (egress, class) = next_place(here, source);
    if let Some(nic) = &mut here.links.nics[egress]
        && !nic.blocked(class).contains(&source)
    {
        nic.block(class, source);
    }
    true
}

/// Lets sources fill the place of a frame that has left a NIC. The source that pushed the frame is first, if it has a
/// path here.
#[inline(always)]
pub fn feed_sources(
    here: &mut NodeView,
    (egress, class): (PortIx, TrafficClass),
    pushed: Option<PathId>,
    now: Time,
    events: &mut EventQueue,
) {
    if let Some(path) = pushed {
        let source = here.routes.path_source[path.at()];
        let state = &mut here.hosts.sources[source];
        if state.source.is_greedy() {
            state.in_nic = state.in_nic.saturating_sub(1);
            refill(here, source, now, events);
        }
    }
    let Some(nic) = &here.links.nics[egress] else { return };
    if nic.has_blocked(class) {
        unblock(here, egress, class, true, now, events);
    }
}

/// Resumes the blocked sources of a port, in all classes; greedy sources only if `greedy`.
pub fn unblock_all(here: &mut NodeView, egress: PortIx, greedy: bool, now: Time, events: &mut EventQueue) {
    let classes = here.links.ports[egress].classes.classes();
    for class in (0..classes as u8).map(TrafficClass) {
        unblock(here, egress, class, greedy, now, events);
    }
}

/// Resumes the blocked sources of a class of a port while there is space; greedy sources only if `greedy`.
#[inline(never)]
fn unblock(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    greedy: bool,
    now: Time,
    events: &mut EventQueue,
) {
    let waiting =
        |here: &NodeView| here.links.nics[egress].as_ref().map_or(0, |nic| nic.blocked(class).len());
    for _ in 0..waiting(here) {
        let Some(nic) = &mut here.links.nics[egress] else { return };
        let Some(source) = nic.unblock(class) else { return };
        if is_held_back(here, source) {
            let limited = here.hosts.sources[source].limited;
            let Some(nic) = &mut here.links.nics[egress] else { return };
            if limited {
                // The limiter of another source may have space.
                nic.block(class, source);
                continue;
            }
            // There is still no space, or its next frame now leaves elsewhere.
            nic.block_again(class, source);
            return;
        }
        if !here.hosts.sources[source].source.is_greedy() {
            source_due(here, source, now, events);
        } else if greedy {
            refill(here, source, now, events);
        } else if let Some(nic) = &mut here.links.nics[egress] {
            nic.block(class, source);
        }
    }
}

/// Removes a source from those that wait for space at a port. Returns true if it was present.
pub fn stop_waiting(here: &mut NodeView, egress: PortIx, source: SourceIx) -> bool {
    let Some(nic) = &mut here.links.nics[egress] else { return false };
    nic.forget(source)
}
