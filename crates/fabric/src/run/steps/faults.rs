//! Faults at run time: failed links, restarts of switches, bit errors, lost frames, lost pause frames.
//!
//! All faults are known before the run, random ones included: they follow from the description and the seed. The sender
//! of a frame therefore determines its outcome, and puts it into the event for the other end; no node reads the state
//! of another. A frame is lost if its link is down at any moment while a bit of it is on the link, or if a switch at
//! one end restarts while it sends or receives a part of it.
//!
//! Reaction of stations to a failed link: pauses that were received or sent through it are discarded, and frames queued
//! for it are either lost at once or kept. A new rate applies from the next frame on; the frame on the wire completes
//! at the old rate. A new scheduler gets all queued frames as if they arrived at that time; the state of the old one is
//! discarded. A switch that restarts loses all frames that it holds, discards all pauses, and neither receives nor
//! sends for a while; its neighbours are not notified.
//!
//! Scope: single links and switches. Losses by faults are counted by their cause and do not stop a run, even in
//! lossless classes.
//!
//! A link with random loss drops each frame independently, with the same probability for any length, in each direction
//! by its own stream. The probability applies to frames of flows; pause frames have a probability of their own.
//!
//! Not modelled: burst losses; errors in the line overhead, or error propagation by the line code; a damaged or cut
//! frame that a cut-through switch has already started to forward (here it ends at the switch); a transmitter that
//! detects the cut before its frame has ended; negotiation when a link comes back; headroom and response times that
//! follow a change of rate (they remain those of the fastest rate, and of the first); guarantees that follow a new
//! scheduler.

use crate::run::state::event::{EventQueue, LossCause};
use crate::run::state::faults::Action;
use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::port::{LINK_DOWN, PortFeatures, SWITCH_OFF};
use crate::run::state::view::NodeView;
use crate::run::steps::control_frames;
use crate::run::steps::credits;
use crate::run::steps::crossbar::outputs;
use crate::run::steps::culprits;
use crate::run::steps::decision;
use crate::run::steps::egress;
use crate::run::steps::endpoints;
use crate::run::steps::frame_log;
use crate::run::steps::limiters;
use crate::run::steps::link_changes;
use crate::run::steps::losses;
use crate::run::steps::nics;
use crate::run::steps::path_change;
use crate::run::steps::pausing;
use crate::run::steps::receive;
use crate::run::steps::retry;
use crate::run::steps::sources;
use crate::run::steps::stops;
use crate::run::steps::victims;
use frame::{Frame, NodeId, PRIORITIES, TrafficClass, members};
use queueing::QueueManager;
use scheduling::{Scheduler, Selector};
use std::ops::Range;
use transport::{HostEvent, Protocol};
use units::{BitRate, Time};

/// Handles a frame that is lost on its link or arrives with a wrong checksum.
#[cold]
#[inline(never)]
pub fn broken(
    here: &mut NodeView,
    port: PortIx,
    frame: &Frame,
    cause: LossCause,
    now: Time,
    events: &mut EventQueue,
) {
    let cause = match cause {
        LossCause::LinkDown => Cause::LinkDown,
        LossCause::Restart => Cause::Restart,
        LossCause::BitError => Cause::BitError,
        LossCause::Loss => Cause::LinkLoss,
        LossCause::Retry => Cause::LinkRetry,
    };
    let class = here.nodes[here.node_of[port]].classes.class(frame.priority());
    frame_log::log_drop(here, port, true, frame, cause, now);
    losses::count_loss(here, port, class, frame, cause);
    credits::credits_lost(here, port, frame, now, events);
    let counts = &mut here.links.cold[port].counts;
    counts.broken.0 += 1;
    counts.broken.1 += u64::from(frame.bytes);
    counts.bit_errors += u64::from(cause == Cause::BitError);
}

/// Handles the start or the end of faults.
#[cold]
#[inline(never)]
pub fn fault(here: &mut NodeView, port: PortIx, actions: Range<usize>, now: Time, events: &mut EventQueue) {
    for at in actions {
        match here.faults.actions[at] {
            Action::Down { keep } => link_down(here, port, keep, now, events),
            Action::Up => revive(here, port, LINK_DOWN, now, events),
            Action::Rate { sends, arrives } => change_rate(here, port, (sends, arrives), now, events),
            Action::Off => switch_off(here, port, now, events),
            Action::On => {
                for port in here.ports_beside(port) {
                    revive(here, port, SWITCH_OFF, now, events);
                }
            }
            Action::Receive(change) => receive::change_receiving(here, port, change, now, events),
            Action::Path { path, start } => path_change::change_path(here, path, start, now, events),
            Action::Pause { signal, quanta } => {
                control_frames::hear_pause(here, port, signal, quanta, now, events)
            }
            Action::Scheduler { nth } => change_scheduler(here, port, nth, now, events),
            Action::Domain { nth } => {
                let new = here.faults.domains[nth as usize];
                here.links.cold[port].domain.iter_mut().for_each(|own| **own = new);
            }
            Action::Congestion { path, feedback } => {
                control_frames::hear_congestion(here, path, feedback, now, events)
            }
        }
    }
}

fn link_down(here: &mut NodeView, port: PortIx, keep: bool, now: Time, events: &mut EventQueue) {
    here.links.set_down(port, |down| down | LINK_DOWN);
    here.links.cold[port].keeps = keep;
    forget_pauses(here, port, now);
    if !keep {
        flush(here, port, Cause::LinkDown, now, events);
        // Sources that waited for space have it now. A greedy source has lost its frame and waits for the link.
        sources::unblock_all(here, port, false, now, events);
    }
    endpoints::change_lines(here, port, now, events);
    retry::link_down(here, port, LossCause::LinkDown, now, events);
    link_changes::report_links(here, port, now, events);
}

fn switch_off(here: &mut NodeView, place: PortIx, now: Time, events: &mut EventQueue) {
    for port in here.ports_beside(place) {
        here.links.set_down(port, |down| down | SWITCH_OFF);
        forget_pauses(here, port, now);
    }
    for port in here.ports_beside(place) {
        flush(here, port, Cause::Restart, now, events);
        retry::link_down(here, port, LossCause::Restart, now, events);
    }
}

/// Replaces the scheduler of a port; the new one gets all waiting frames as if they arrived now.
fn change_scheduler(here: &mut NodeView, port: PortIx, nth: u32, now: Time, events: &mut EventQueue) {
    let scheduler = here.faults.schedulers[nth as usize].clone();
    if let Some(Some(schedule)) = here.faults.schedules.get_mut(port.at()) {
        schedule.fresh = schedule.fresh.is_some().then(|| scheduler.clone());
    }
    begin_scheduler(here, port, scheduler, now);
    let state = &here.links.ports[port];
    for class in members(state.waiting as u8) {
        let queue = state.queue(TrafficClass(class as u8));
        let scheduler = &mut here.links.cold[port].scheduler;
        for waiting in here.buffers.frames(queue) {
            scheduler.arrive(class as u32, u32::from(waiting.frame.bytes), false, now);
        }
        if let Some(head) = here.buffers.head_bytes(queue)
            && state.stopped >> class & 1 == 0
        {
            scheduler.go(class as u32, head, now);
        }
    }
    if state.waiting & !state.stopped != 0 {
        decision::try_transmit(here, port, now, events);
    }
}

/// Installs a scheduler that was created for the initial rate and has served nothing yet.
fn begin_scheduler(here: &mut NodeView, port: PortIx, scheduler: Scheduler, now: Time) {
    let cold = &mut here.links.cold[port];
    cold.scheduler = Selector::new(scheduler);
    cold.scheduler.on_link_rate(cold.rate, now);
}

/// Changes the rate of a link from the next frame on, in one direction or both. Everything derived from the old rate is
/// updated here and in the two functions below: first the state that depends on the rate of arrivals, then that which
/// depends on the rate of departures.
fn change_rate(
    here: &mut NodeView,
    port: PortIx,
    (sends, arrives): (Option<BitRate>, Option<BitRate>),
    now: Time,
    events: &mut EventQueue,
) {
    here.links.change_rate(port, (sends, arrives), now);
    let (node, beside) = (here.node_of[port], here.ports_beside(port));
    if let Some(crossbar) = here.nodes[node].architecture.crossbar_mut() {
        let rates = beside.map(|port| here.links.cold[port].rate.max(here.links.cold[port].arrival_rate));
        rates.max().into_iter().for_each(|fastest| crossbar.on_link_rate(fastest));
    }
    if let Some(rate) = arrives {
        arrivals_change_rate(here, port, rate, now, events);
    }
    if let Some(rate) = sends {
        departures_change_rate(here, port, rate, now, events);
    }
}

/// Applies a new rate of arrivals at a port: updates the congestion point of its receive buffer, and receivers that
/// grant credit.
fn arrivals_change_rate(
    here: &mut NodeView,
    port: PortIx,
    rate: BitRate,
    now: Time,
    events: &mut EventQueue,
) {
    if let Some(receiving) = here.hosts.receiving.get_mut(port).and_then(Option::as_mut) {
        receiving.point.iter_mut().for_each(|point| point.manager.on_link_rate(rate));
    }
    let (number, links) = (here.numbering.port(port), here.ports_beside(port).collect::<Vec<_>>());
    for nth in here.hosts.endpoints_through((port, number), &links, &here.routes) {
        let stripes = here.hosts.endpoints[nth].stripes;
        let rate = if stripes { link_changes::arrival_rate_of_all(here, port) } else { rate };
        if here.hosts.endpoints[nth].endpoint.on_event(now, &HostEvent::ArrivalRate(rate)) {
            endpoints::update_endpoint(here, nth, now, events);
        }
    }
}

/// Applies a new transmission rate of a port: updates limiters, sources and endpoints of its host, and its scheduler.
fn departures_change_rate(
    here: &mut NodeView,
    port: PortIx,
    rate: BitRate,
    now: Time,
    events: &mut EventQueue,
) {
    let node = here.node_of[port];
    let first = here.nodes[node].first_port;
    let host = NodeId(here.numbering.first_node + node.number());
    // Limiters are configured for the first link of their host.
    for nth in if port == first { here.hosts.limiters_of(host) } else { Vec::new() } {
        here.hosts.limiters[nth].on_link_rate(rate, now);
        limiters::update_limiter(here, nth, now, events);
    }
    let number = here.numbering.port(port);
    for source in here.hosts.sources_through(number, &here.routes) {
        here.hosts.sources[source].source.on_link_rate(rate);
    }
    let links: Vec<PortIx> = here.ports_beside(port).collect();
    for nth in here.hosts.endpoints_through((port, number), &links, &here.routes) {
        let rate =
            if here.hosts.endpoints[nth].stripes { link_changes::rate_of_all(here, port) } else { rate };
        if here.hosts.endpoints[nth].endpoint.on_event(now, &HostEvent::LinkRate(rate)) {
            endpoints::update_endpoint(here, nth, now, events);
        }
    }
    // The departure time of a frame that a shaper holds may have changed.
    let state = &here.links.ports[port];
    if state.features.has(PortFeatures::SCHEDULER) && state.waiting != 0 {
        decision::try_transmit(here, port, now, events);
    }
}

/// Clears one reason for which a port cannot send.
fn revive(here: &mut NodeView, port: PortIx, reason: u8, now: Time, events: &mut EventQueue) {
    here.links.set_down(port, |down| down & !reason);
    forget_pauses(here, port, now);
    if here.links.cold[port].down != 0 {
        return;
    }
    retry::link_up(here, port, now, events);
    if here.links.ports[port].waiting != 0 {
        decision::try_transmit(here, port, now, events);
    }
    sources::unblock_all(here, port, true, now, events);
    nics::pull_all(here, port, now, events);
    link_changes::report_links(here, port, now, events);
}

/// Drops the frames queued at a port. Its scheduler is reset, because schedulers do not expect a head to leave without
/// being sent.
fn flush(here: &mut NodeView, port: PortIx, cause: Cause, now: Time, events: &mut EventQueue) {
    while here.links.ports[port].waiting != 0 {
        let class = TrafficClass(here.links.ports[port].waiting.trailing_zeros() as u8);
        let (waiting, before) = egress::take(here, port, class, now);
        losses::lose(here, port, class, &waiting.frame, waiting.across, cause, now);
        if here.links.ports[port].waiting == 0
            && let Some(schedule) = here.faults.schedules[port.at()].as_deref()
            && let Some(fresh) = schedule.fresh.clone()
        {
            begin_scheduler(here, port, fresh, now);
        }
        pausing::after_dequeue(here, port, class, &waiting, before, now, events);
        outputs::output_left(here, port, class, (&waiting.frame, waiting.across), now, events);
    }
}

/// Ends the pauses that a port obeys, and discards those that were sent through it.
fn forget_pauses(here: &mut NodeView, port: PortIx, now: Time) {
    let before = here.probes.pauses_ended();
    let cold = &mut here.links.cold[port];
    cold.control.clear(now, |ended| here.probes.pause_ended(port, ended));
    victims::note_held(here, port, before, now);
    let cold = &mut here.links.cold[port];
    cold.watch.iter_mut().for_each(|watch| watch.free(u32::MAX));
    here.links.ports[port].features.set(PortFeatures::PAUSE_WAITING, false);
    stops::update_stopped(here, port, now);
    let node = here.node_of[port];
    let Some(at) = here.nodes[node].pause_sender else { return };
    let pause_sender = &mut here.pause_senders[at];
    let local = pause_sender.local(port);
    for counter in here.ingress.get_mut(port).iter_mut().flat_map(|port| &mut port.counters) {
        counter.pause.release();
    }
    for counter in pause_sender.egress.iter_mut().filter(|counter| counter.pause(local as u32).in_force()) {
        counter.pause_mut(local as u32).release();
    }
    pause_sender.pause_counts[local * PRIORITIES..(local + 1) * PRIORITIES].fill(0);
    pause_sender.renewals[local].cancel();
    for group in 0..PRIORITIES as u8 {
        culprits::root_ends(here, port, group, None, now);
    }
}
