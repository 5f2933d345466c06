//! Credits at run time: connects the counters of a link's ends (`flow_control::credit`) with ports and queues.
//!
//! A class of a port is stopped while its next frame needs more credits than its channel has. This is checked when a
//! frame becomes the next one, when another frame of the channel leaves, and when credits arrive. A frame holds the
//! credits of its ingress link until it starts to leave on the next link; at a host, until the host has processed it.

pub(crate) mod balance;
pub(crate) mod bypass_waits;
pub(crate) mod leaks;
pub(crate) mod updates;

use crate::run::state::credits::CreditState;
use crate::run::state::event::EventQueue;
use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::outcome::{CreditFault, Failure};
use crate::run::state::view::NodeView;
use crate::run::steps::credit_waits;
use crate::run::steps::decision;
use crate::run::steps::stops;
use flow_control::credit::{channel_of_count, is_bypass};
use frame::{Frame, TrafficClass};
use units::Time;

/// Handles a frame that enters the queue of a port: it occupies the buffer of its ingress port, and may lack credits
/// for the next link.
#[inline(always)]
pub fn meets_credits(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    frame: &Frame,
    ingress: Option<PortIx>,
    now: Time,
    events: &mut EventQueue,
) {
    let port = &here.links.ports[egress];
    let (queue, waiting) = (port.queue(class), port.waiting);
    let bit = 1 << class.0;
    if let Some(ingress) = ingress {
        credits_arrived(here, ingress, frame, Some(queue), now);
    }
    if waiting & bit != 0 {
        return;
    }
    let Some(credits) = here.links.cold[egress].control.credits() else { return };
    let lacks = credits.lacks(frame);
    if lacks || credits.short & bit != 0 {
        meets_none(here, egress, bit, frame, now, events);
    }
}

/// Slow path of `meets_credits`, for frames that may lack credits.
#[inline(never)]
fn meets_none(
    here: &mut NodeView,
    egress: PortIx,
    bit: u32,
    frame: &Frame,
    now: Time,
    events: &mut EventQueue,
) {
    let polls = |credits: &mut CreditState| credits.polls() && credits.lacks(frame);
    if balance::credits_mut(here, egress).is_some_and(polls) {
        updates::read_updates(here, egress, now);
    }
    let Some(credits) = balance::credits_mut(here, egress) else { return };
    let short = if credits.lacks(frame) { credits.short | bit } else { credits.short & !bit };
    change_short(here, egress, short, now, events);
}

/// Handles a frame that starts to leave: it consumes credits of its egress link, and returns those of its ingress link.
#[inline(always)]
pub fn credits_used(
    here: &mut NodeView,
    egress: PortIx,
    frame: &Frame,
    ingress: Option<PortIx>,
    now: Time,
    events: &mut EventQueue,
) {
    if let Some(credits) = balance::credits_mut(here, egress) {
        let (count, need) = credits.need(frame);
        let taken = credits.sender.take(count, need);
        let carries = credits.spec.piggyback.is_some() && credits.receiver.owes();
        let others = credits.of_channels[channel_of_count(count)];
        let may_lack = credits.short != 0 || credits.sender.available(count) < credits.plenty;
        if let Err(why) = taken {
            let number = here.numbering.port(egress);
            balance::overdraft(here, number, why, now);
        }
        if carries {
            updates::send_along(here, egress, now, events);
        }
        if may_lack {
            look_at_heads(here, egress, others, now, events);
        }
    }
    if let Some(ingress) = ingress {
        updates::credits_free(here, ingress, frame, now, events);
    }
}

/// Checks the next frame of each of these classes; other classes keep their state.
#[inline(always)]
pub fn look_at_heads(here: &mut NodeView, egress: PortIx, among: u32, now: Time, events: &mut EventQueue) {
    let Some(credits) = here.links.cold[egress].control.credits() else { return };
    if credits.spec.bypassable != 0 {
        return look_at_bypasses(here, egress, among, now, events);
    }
    let short = short_among(here, egress, among);
    if short | credits.short != 0 {
        short_heads(here, egress, among, short, now, events);
    }
}

/// Returns the classes whose next frame lacks credits by the present counts. Only those in `among` are checked; the
/// others keep their state.
#[inline(always)]
fn short_among(here: &NodeView, egress: PortIx, among: u32) -> u32 {
    let Some(credits) = here.links.cold[egress].control.credits() else { return 0 };
    let port = &here.links.ports[egress];
    let (mut short, mut left) = (credits.short & port.waiting & !among, port.waiting & among);
    while left != 0 {
        let class = left.trailing_zeros();
        left &= left - 1;
        let head = here.buffers.head(port.queue(TrafficClass(class as u8)));
        short |= u32::from(head.is_some_and(|frame| credits.lacks(frame))) << class;
    }
    short
}

/// Handles classes that lack credits by the present counts, or have lacked them.
#[inline(never)]
fn short_heads(
    here: &mut NodeView,
    egress: PortIx,
    among: u32,
    mut short: u32,
    now: Time,
    events: &mut EventQueue,
) {
    let polls = balance::credits_mut(here, egress).is_some_and(|credits| credits.polls());
    if polls && short & among != 0 && updates::read_updates(here, egress, now) {
        short = short_among(here, egress, among);
    }
    change_short(here, egress, short, now, events);
}

/// Variant of `short_heads` for classes with bypass queues.
#[inline(never)]
fn look_at_bypasses(here: &mut NodeView, egress: PortIx, among: u32, now: Time, events: &mut EventQueue) {
    if balance::credits_mut(here, egress).is_some_and(|credits| credits.polls()) {
        updates::read_updates(here, egress, now);
    }
    let Some(credits) = here.links.cold[egress].control.credits() else { return };
    let port = &here.links.ports[egress];
    let (mut short, mut left) = (credits.short & port.waiting & !among, port.waiting & among);
    let mut other_head = 0;
    while left != 0 {
        let class = left.trailing_zeros();
        left &= left - 1;
        let (lacks, other) = here.buffers.bypass(port.queue(TrafficClass(class as u8)), |frame| {
            (credits.lacks(frame), is_bypass(credits.spec.count_of(frame)))
        });
        short |= u32::from(lacks) << class;
        other_head |= u32::from(other) << class;
    }
    let before = credits.short;
    change_short(here, egress, short, now, events);
    bypass_waits::note_bypasses(here, egress, among, before, now, events);
    // Includes classes that were stopped until now: the scheduler is not notified of a stop that ends before its next
    // decision.
    let active = other_head & !here.links.ports[egress].stopped;
    if active != 0 {
        decision::notify_heads(here, egress, active, now);
    }
}

/// Sets the classes whose next frame lacks credits.
#[inline(never)]
fn change_short(here: &mut NodeView, egress: PortIx, short: u32, now: Time, events: &mut EventQueue) {
    let free = here.links.ports[egress].busy_until;
    let Some(credits) = balance::credits_mut(here, egress) else { return };
    let polls = credits.polls() && credits.short == 0;
    if credits.set_short(short, free, now) {
        if polls {
            updates::await_update(here, egress, events);
        }
        stops::update_stopped(here, egress, now);
    }
}

/// Handles a frame that enters a queue with a bypass queue: it may leave even if those before it may not.
#[inline(never)]
pub fn may_be_passed(
    here: &mut NodeView,
    egress: PortIx,
    class: TrafficClass,
    now: Time,
    events: &mut EventQueue,
) {
    let Some(credits) = here.links.cold[egress].control.credits() else { return };
    if credits.spec.bypassable != 0 && credits.short >> class.0 & 1 != 0 {
        look_at_heads(here, egress, 1 << class.0, now, events);
    }
}

/// Handles a frame that has arrived over a link and occupies the buffer there. `queue`: its egress queue; `None` at its
/// destination.
#[inline(always)]
pub fn credits_arrived(
    here: &mut NodeView,
    ingress: PortIx,
    frame: &Frame,
    queue: Option<QueueIx>,
    now: Time,
) {
    // All copies share one slot.
    if frame.route.is_tree() && !here.copies.takes_room(ingress, frame.word) {
        return;
    }
    let Some(credits) = balance::credits_mut(here, ingress) else { return };
    let (channel, need) = credits.need(frame);
    if need == 0 {
        return;
    }
    if let Err(why) = credits.receiver.arrive(channel, need) {
        let sender = sender_of(here, ingress);
        balance::overdraft(here, sender, why, now);
    } else if credits.fills.is_some() {
        credit_waits::note_fill(here, ingress, channel, queue, now);
    }
}

/// Handles the loss of a frame that has consumed credits, in flight to `port`.
pub fn credits_lost(here: &mut NodeView, port: PortIx, frame: &Frame, now: Time, events: &mut EventQueue) {
    let Some(credits) = here.links.cold[port].control.credits() else { return };
    let (channel, need) = credits.need(frame);
    if need == 0 {
        return;
    }
    if credits.leaks.is_some() {
        return leaks::note(here, port, (channel, need), now, events);
    }
    let (port, what) = (sender_of(here, port), CreditFault::Lost(need));
    here.ledger.fail(Failure::Credits { at: now, port, channel: channel as u8, what });
}

/// Returns the number in the whole fabric of the port at the other end of a port's link.
fn sender_of(here: &NodeView, port: PortIx) -> u32 {
    here.routes.peers[here.numbering.port(port) as usize]
}
