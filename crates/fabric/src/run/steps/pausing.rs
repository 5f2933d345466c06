//! Link-level flow control: connects its state machines (crate `flow_control`) to ports and queues.

use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::{PauseSenderIx, PortIx};
use crate::run::state::pause_sender::{PauseCause, PauseSender, Search};
use crate::run::state::pausing::{NO_QUANTA, RenewalsDue};
use crate::run::state::pool::Waiting;
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::culprits;
use crate::run::steps::ingress;
use crate::run::steps::signals;
use crate::run::steps::ties;
use flow_control::Drain;
use flow_control::pause::PauseSignal;
use flow_control::pfc::Counted;
use flow_control::tpfc::{Aim, XonSent};
use frame::{Frame, Occupancy, PRIORITIES, TrafficClass};
use rand_xoshiro::rand_core::Rng;
use units::Time;

/// Handles a frame that is about to be enqueued: XOFF may be due. Returns false if the frame does not fit the headroom
/// of its ingress port. Pauses are decided on the queue without the frame (Hagen 2012, Appendices A and B), or on the
/// ingress counter with it.
#[must_use]
#[inline(always)]
pub fn before_enqueue(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    frame: &Frame,
    ingress: Option<PortIx>,
    now: Time,
    events: &mut EventQueue,
) -> bool {
    let port = &here.links.ports[egress];
    if port.features.has(PortFeatures::EGRESS_ACCOUNTING) {
        count_egress(here, egress, class, (ingress, frame.bytes), now, events);
    } else {
        let queue = port.queue(class);
        match ingress::count_in(here, frame, ingress, now) {
            Counted::Fits => {}
            Counted::AtXoff => ingress::send_xoff_to(here, frame, ingress, queue, now, events),
            Counted::Full => return false,
        }
    }
    true
}

/// Counts a frame that is about to be enqueued, if its queue is a root of pauses.
#[inline(always)]
pub fn note_at_root(here: &mut NodeView, egress: PortIx, class: TrafficClass, frame: &Frame) {
    if here.links.ports[egress].features.has(PortFeatures::BLAMED) {
        culprits::enters_root(here, egress, class, frame);
    }
}

/// Handles a frame that is about to be enqueued with egress accounting: XOFF may be due.
#[inline(never)]
pub fn count_egress(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    (ingress, bytes): (Option<PortIx>, u16),
    now: Time,
    events: &mut EventQueue,
) {
    let node = &here.nodes[here.node_of[egress]];
    let Some(at) = node.pause_sender else { return };
    let sender = &mut here.pause_senders[at];
    let (local, bits) = (sender.local(egress), node.classes.priorities(class) & sender.controlled());
    let queue_id = here.links.ports[egress].queue(class);
    let before = held_for(here, egress, class);
    let bar = here.nodes[here.node_of[egress]].architecture.crossbar().is_some();
    let sender = &mut here.pause_senders[at];
    let first_port = sender.first_port;
    let PauseSender { egress: counters, random, target, levels, ports, searches, .. } = sender;
    let (xoff, port_count) = (levels[local].xoff, levels.len() as u32);
    let counter = &mut counters[local * PRIORITIES + class.at()];
    let buffers = &here.buffers;
    // During a search, only the high watermark is checked.
    let searched = searches.iter().any(|search| search.queue == (local, class));
    let aim = counter.aim(
        xoff,
        target.as_ref().filter(|_| !searched),
        before,
        now,
        |n| ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64,
        (!bar).then_some(|nth| {
            let frame = buffers.frames(queue_id).nth(nth as usize)?;
            frame.across.map(|ingress| ingress.since(first_port))
        }),
    );
    ports.clear();
    match aim {
        Aim::None => {}
        Aim::Targets => ports.extend(counter.targets()),
        Aim::All => ports.extend((0..port_count).filter(|&port| port as usize != local)),
    }
    let rising_since = counter.rising_since(before, levels[local].xon, now);
    counter.add(ingress.map(|ingress| ingress.since(first_port)), bytes);
    if bits == 0 || ports.is_empty() {
        return;
    }
    let takes = target.filter(|_| aim == Aim::Targets).map(|it| it.search(before.frames));
    if aim == Aim::Targets {
        ties::note_tied_pause(here, egress, class, ingress, now);
    }
    let cause = signals::cause(here, aim == Aim::Targets, Some(queue_id), rising_since, before.count(xoff));
    if let Some(takes) = takes.filter(|&takes| takes > Time::ZERO) {
        let sender = &mut here.pause_senders[at];
        let targets = sender.ports.clone();
        let search = Search { ends: now + takes, queue: (local, class), priorities: bits, cause, targets };
        sender.schedule(local, search.ends, events);
        sender.searches.push(search);
        return;
    }
    let drain = egress_drain(here, at, (local, class), bytes);
    pause_ports(here, at, (local, class), (bits, drain), cause, now, events);
}

/// Sends XOFF through the ports to be paused for a queue, except those where it is in force.
fn pause_ports(
    here: &mut NodeView,
    at: PauseSenderIx,
    (local, class): (usize, TrafficClass),
    (xoff, drain): (u8, Option<Drain>),
    cause: PauseCause,
    now: Time,
    events: &mut EventQueue,
) {
    for nth in 0..here.pause_senders[at].ports.len() {
        let sender = &mut here.pause_senders[at];
        let local_port = sender.ports[nth] as usize;
        let (quanta, after) = sender.timing.of(local_port, xoff, drain.as_ref());
        let pause = sender.egress[local * PRIORITIES + class.at()].pause_mut(local_port as u32);
        if !pause.is_due(now) {
            continue;
        }
        let fresh = !pause.in_force();
        pause.set(now + after);
        sender.pause_counts[local_port * PRIORITIES + class.at()] += u32::from(fresh);
        sender.schedule_renewal(local_port, now + after, events);
        let port = sender.port(local_port);
        if fresh && !cause.inherited {
            let queue = cause.queue.map(|queue| here.numbering.queue_here(queue));
            culprits::root_begins(here, port, class.0, queue);
        }
        signals::signal(here, port, PauseSignal { xoff, xon: 0 }, &quanta, cause.pack(), now, events);
    }
}

/// Returns the occupancy that counts for an egress queue: the frames in it, and at a crossbar those that wait at inputs
/// for it or cross.
fn held_for(here: &NodeView, egress: PortIx, class: TrafficClass) -> Occupancy {
    let bar = here.nodes[here.node_of[egress]].architecture.crossbar();
    let in_queue = || here.buffers.queues[here.links.ports[egress].queue(class)].occupancy;
    bar.map_or_else(in_queue, |bar| bar.held_for(egress, class))
}

/// Bytes that must drain from a queue before its pauses may end, including an arriving frame of `bytes`; `None` unless
/// they determine the duration of pauses.
fn egress_drain(
    here: &NodeView,
    at: PauseSenderIx,
    (local, class): (usize, TrafficClass),
    bytes: u16,
) -> Option<Drain> {
    let sender = &here.pause_senders[at];
    sender.timing.is_computed().then(|| {
        let egress = sender.port(local);
        let mut held = held_for(here, egress, class);
        if bytes > 0 {
            held.add(bytes);
        }
        let levels = sender.levels[local];
        ingress::what_drains(here, egress, held, (levels.xoff, levels.xon), held.bytes)
    })
}

/// Ends the searches for targets that are due in the queues of a port.
#[inline(never)]
fn end_searches(here: &mut NodeView, at: PauseSenderIx, local: usize, now: Time, events: &mut EventQueue) {
    let over = |search: &mut Search| search.ends <= now && search.queue.0 == local;
    let ended: Vec<Search> = here.pause_senders[at].searches.extract_if(.., over).collect();
    for Search { queue: (local, class), priorities, cause, targets, .. } in ended {
        let sender = &mut here.pause_senders[at];
        let (egress, xon) = (sender.port(local), sender.levels[local].xon);
        // No departure would end the pauses.
        if held_for(here, egress, class).within(xon) {
            continue;
        }
        let sender = &mut here.pause_senders[at];
        sender.ports = targets;
        let drain = egress_drain(here, at, (local, class), 0);
        pause_ports(here, at, (local, class), (priorities, drain), cause, now, events);
    }
}

/// Handles a frame that has left its queue, which held `before` including the frame: XON may be due.
#[inline(always)]
pub fn after_dequeue(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    waiting: &Waiting,
    before: Occupancy,
    now: Time,
    events: &mut EventQueue,
) {
    if here.links.ports[egress].features.has(PortFeatures::EGRESS_ACCOUNTING) {
        // At a crossbar, the output releases the space of departing frames.
        if !here.links.ports[egress].features.has(PortFeatures::CROSSBAR) {
            let left = (waiting.across, waiting.frame.bytes);
            release_egress(here, (egress, class), left, before, now, events);
        }
    } else {
        ingress::count_out(here, waiting, now, events);
    }
}

/// Variant of `after_dequeue` with egress accounting, for a frame with this ingress port and length.
#[inline(never)]
pub fn release_egress(
    here: &mut NodeView,
    (egress, class): (PortIx, TrafficClass),
    (ingress, bytes): (Option<PortIx>, u16),
    before: Occupancy,
    now: Time,
    events: &mut EventQueue,
) {
    let node = &here.nodes[here.node_of[egress]];
    let Some(at) = node.pause_sender else { return };
    let sender = &mut here.pause_senders[at];
    let local = sender.local(egress);
    let signal = PauseSignal { xoff: 0, xon: node.classes.priorities(class) & sender.controlled() };
    let levels = sender.levels[local];
    let queue = here.links.ports[egress].queue(class);
    let after = held_for(here, egress, class);
    let sender = &mut here.pause_senders[at];
    let first_port = sender.first_port;
    let PauseSender { egress: counters, ports, target, .. } = sender;
    let counter = &mut counters[local * PRIORITIES + class.at()];
    let from = ingress.map(|ingress| ingress.since(first_port));
    counter.remove(from, bytes, target.as_ref(), after);
    ports.clear();
    counter.release(&levels, target.as_ref(), before, after, |port| ports.push(port));
    for nth in 0..here.pause_senders[at].ports.len() {
        let sender = &mut here.pause_senders[at];
        let local_port = sender.ports[nth];
        // Another queue may keep it paused.
        let pause_count = &mut sender.pause_counts[local_port as usize * PRIORITIES + class.at()];
        *pause_count -= 1;
        let is_last = *pause_count == 0 && sender.spec.resume;
        let port = sender.port(local_port as usize);
        culprits::root_ends(here, port, class.0, Some(queue), now);
        if is_last {
            signals::signal(here, port, signal, &NO_QUANTA, 0, now, events);
        }
    }
    let target = here.pause_senders[at].target;
    if before.within(levels.xon) && target.is_some_and(|target| target.xon_sent == XonSent::EveryDequeue) {
        repeat_xon(here, at, (local, class), signal, now, events);
    }
}

/// Sends XON for a queue through every port except its own, unless another queue keeps the port paused or this dequeue
/// has already sent an XON there.
fn repeat_xon(
    here: &mut NodeView,
    at: PauseSenderIx,
    (local, class): (usize, TrafficClass),
    signal: PauseSignal,
    now: Time,
    events: &mut EventQueue,
) {
    for other in 0..here.pause_senders[at].levels.len() {
        let sender = &here.pause_senders[at];
        let is_paused = sender.pause_counts[other * PRIORITIES + class.at()] > 0;
        if other == local || is_paused || sender.ports.contains(&(other as u32)) {
            continue;
        }
        let port = sender.port(other);
        signals::signal(here, port, signal, &NO_QUANTA, 0, now, events);
    }
}

/// Renews pauses that are about to expire and still needed.
#[inline(never)]
pub fn renew_pauses(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let Some(at) = here.nodes[here.node_of[port]].pause_sender else { return };
    let sender = &mut here.pause_senders[at];
    let local = sender.local(port);
    if sender.renewals[local].fires(now) {
        end_searches(here, at, local, now, events);
        renew_due(here, at, port, now, events);
    }
}

fn renew_due(here: &mut NodeView, at: PauseSenderIx, port: PortIx, now: Time, events: &mut EventQueue) {
    let sender = &here.pause_senders[at];
    let local = sender.local(port);
    let searched = sender.searches.iter().filter(|search| search.queue.0 == local);
    let next = searched.map(|search| search.ends).min().unwrap_or(Time::NEVER);
    let mut due = RenewalsDue { bits: 0, quanta: NO_QUANTA, note: 0, next };
    if !sender.spec.refresh {
        // Only searches are pending.
    } else if sender.by_ingress() {
        ingress::renew_by_ingress(here, at, port, now, &mut due);
    } else {
        renew_by_egress(here, at, port, now, &mut due);
    }
    let RenewalsDue { bits, quanta, note, next } = due;
    if next > now && next != Time::NEVER && here.pause_senders[at].renewals[local].arm(next) {
        events.push(Event::bare(Kind::Renew, next, port));
    }
    if bits != 0 {
        signals::signal(here, port, PauseSignal { xoff: bits, xon: 0 }, &quanta, note, now, events);
    }
}

fn renew_by_egress(here: &mut NodeView, at: PauseSenderIx, port: PortIx, now: Time, due: &mut RenewalsDue) {
    let local = here.pause_senders[at].local(port);
    let classes = here.links.ports[port].classes;
    for nth in 0..here.pause_senders[at].egress.len() {
        let (queue_port, class) = (nth / PRIORITIES, TrafficClass((nth % PRIORITIES) as u8));
        if class.at() >= classes.classes() {
            continue;
        }
        let sender = &here.pause_senders[at];
        let egress = sender.port(queue_port);
        let queue = here.links.ports[egress].queue(class);
        let occupancy = held_for(here, egress, class);
        let levels = sender.levels[queue_port];
        let bits = classes.priorities(class) & sender.controlled();
        if sender.egress[nth].renew(local as u32, levels.xon, occupancy, now) {
            let drain = egress_drain(here, at, (queue_port, class), 0);
            if drain.is_none_or(|drain| !drain.may_end(sender.timing.link(local))) {
                let (quanta, after) = sender.timing.of(local, bits, drain.as_ref());
                let cause = signals::cause(here, false, Some(queue), now, occupancy.count(levels.xoff));
                due.add(bits, &quanta, cause.pack());
                here.pause_senders[at].egress[nth].pause_mut(local as u32).set(now + after);
            }
        }
        let counter = &here.pause_senders[at].egress[nth];
        // A queue that stays at its low watermark needs no renewal, and must not hide the queues that do.
        let pause = counter.pause(local as u32);
        if pause.in_force() && !pause.is_due(now) {
            due.next = due.next.min(pause.renew_at());
        }
    }
}
