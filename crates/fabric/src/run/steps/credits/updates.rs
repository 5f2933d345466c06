//! Updates of credits: how one end of a link learns what has come free at the other.
//!
//! An update that takes time on the link, that faults may hit, or that goes to another thread is sent: an event where it
//! is due, and one where it takes effect. All others are read, and no event tells of them. The end that grants credits keeps
//! what it would have told, and when that takes effect. The other end reads that when a frame lacks credits by what it
//! knows, and while one does, it looks whenever the next update takes effect: nobody else could see a difference.
//!
//! Both come to the same. An update that takes effect before a time was due a look-ahead earlier, so that whoever reads it
//! finds all that had come free by then, and it tells nothing of what came free later: that has closed it.

use crate::run::across::ahead;
use crate::run::state::credits::updates::NEXT;
use crate::run::state::event::{Event, EventQueue};
use crate::run::state::index::PortIx;
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::credit_waits;
use crate::run::steps::credits;
use crate::run::steps::credits::balance;
use crate::run::steps::decision;
use crate::run::steps::transmission;
use flow_control::credit::Freed;
use frame::Frame;
use units::Time;

/// A frame has left the room at the end of a link: its sender will be told, with an update that is due now as well.
#[inline(always)]
pub fn credits_free(here: &mut NodeView, ingress: PortIx, frame: &Frame, now: Time, events: &mut EventQueue) {
    let at = free(here, ingress, frame, now, now);
    if at != Time::NEVER {
        update_later(here, ingress, at, events);
    }
}

/// As `credits_free`, after all updates that are due now, where no other frame can leave that room at the same time: an update that it
/// makes due need not wait for them.
#[inline(always)]
pub fn credits_free_last(
    here: &mut NodeView,
    ingress: PortIx,
    frame: &Frame,
    now: Time,
    events: &mut EventQueue,
) {
    let at = free(here, ingress, frame, now + NEXT, now);
    if at != Time::NEVER {
        update_at_last(here, ingress, at, now, events);
    }
}

#[inline(never)]
fn update_at_last(here: &mut NodeView, port: PortIx, at: Time, now: Time, events: &mut EventQueue) {
    let Some(credits) = balance::credits_mut(here, port) else { return };
    if at == now && !credits.told.is_read && credits.updates_cost_nothing() {
        send_update(here, port, now, now, events);
    } else {
        update_later(here, port, at, events);
    }
}

/// Room becomes free, after the updates that were due before a time; when an update is due, [`Time::NEVER`] if one will
/// be sent by then.
#[inline(always)]
fn free(here: &mut NodeView, ingress: PortIx, frame: &Frame, told: Time, now: Time) -> Time {
    if frame.route.is_tree() && !here.copies.leaves_room(ingress, frame.word) {
        return Time::NEVER;
    }
    let Some(credits) = balance::credits_mut(here, ingress) else { return Time::NEVER };
    let need = credits.need(frame);
    free_counted(here, ingress, need, told, now)
}

/// Credits of lost frames become free.
pub fn counted_free(
    here: &mut NodeView,
    ingress: PortIx,
    need: (usize, u32),
    now: Time,
    events: &mut EventQueue,
) {
    let at = free_counted(here, ingress, need, now, now);
    if at != Time::NEVER {
        update_later(here, ingress, at, events);
    }
}

/// As `free`, of so many credits of a count.
#[inline(always)]
fn free_counted(
    here: &mut NodeView,
    ingress: PortIx,
    (channel, need): (usize, u32),
    told: Time,
    now: Time,
) -> Time {
    let Some(credits) = balance::credits_mut(here, ingress) else { return Time::NEVER };
    if credits.told.is_read {
        credits.tell(told);
    }
    let at = credits.receiver.free(&credits.spec, channel, need, now);
    let known = at >= credits.update.due();
    if credits.fills.is_some() {
        credit_waits::note_room(here, ingress, channel, now);
    }
    if known { Time::NEVER } else { at }
}

#[inline(always)]
fn update_later(here: &mut NodeView, port: PortIx, at: Time, events: &mut EventQueue) {
    let Some(credits) = balance::credits_mut(here, port) else { return };
    let (fresh, told) = (credits.update.arm(at), &credits.told);
    if !told.is_read {
        if fresh {
            events.push(Event::update_due(at, port));
        }
    } else if told.awaited {
        let at = at + credits.takes;
        ahead::peer_looks_at(here, port, at, events);
    }
}

/// A port looks then whether the other end of its link has told of credits, if it does not look before.
#[inline(never)]
fn look_at(here: &mut NodeView, port: PortIx, at: Time, events: &mut EventQueue) {
    if balance::credits_mut(here, port).is_some_and(|credits| credits.looks_at(at)) {
        events.push(Event::look_for_credits(at, port));
    }
}

/// A frame of a port lacks credits: when does it look again?
#[inline(never)]
pub fn await_update(here: &mut NodeView, port: PortIx, events: &mut EventQueue) {
    let Some(other) = ahead::credits_across(here, port) else { return };
    other.told.awaited = true;
    let at = other.next_effect();
    if at != Time::NEVER {
        look_at(here, port, at, events);
    }
}

/// Reads what has taken effect; false: nothing has. What does so now comes before all else but decisions.
#[inline(never)]
pub fn read_updates(here: &mut NodeView, port: PortIx, now: Time) -> bool {
    let before = if here.deciding { now } else { now + NEXT };
    let mut any = false;
    while let Some(freed) = ahead::credits_across(here, port).and_then(|other| other.next_told(before)) {
        any = true;
        let Some(credits) = balance::credits_mut(here, port) else { break };
        if let Err(why) = credits.sender.learn(freed) {
            let number = here.numbering.port(port);
            balance::overdraft(here, number, why, now);
        }
    }
    any
}

/// The time of an update has come.
pub fn update_due(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let Some(credits) = balance::credits_mut(here, port) else { return };
    if !credits.update.fires(now) || !credits.receiver.owes() {
        return;
    }
    if credits.spec.update_bytes == 0 {
        return send_update(here, port, now, now, events);
    }
    here.links.ports[port].features.set(PortFeatures::PAUSE_WAITING, true);
    decision::try_transmit(here, port, now, events);
}

/// Puts an update that takes time on the link; the transmitter is free.
pub fn transmit_update(here: &mut NodeView, egress: PortIx, now: Time, events: &mut EventQueue) {
    let Some(credits) = balance::credits_mut(here, egress) else { return };
    let bytes = u64::from(credits.spec.update_bytes);
    here.links.cold[egress].counts.update_bytes += bytes;
    let port = &mut here.links.ports[egress];
    port.features.set(PortFeatures::PAUSE_WAITING, false);
    if port.busy_until < now {
        port.clock.restart();
    }
    port.busy_until = now + port.clock.advance(bytes);
    let ends = port.busy_until;
    send_update(here, egress, now, ends, events);
}

/// The frame whose transmission has just begun carries an update.
#[inline(never)]
pub fn send_along(here: &mut NodeView, egress: PortIx, now: Time, events: &mut EventQueue) {
    let Some(credits) = balance::credits_mut(here, egress) else { return };
    let bytes = u64::from(credits.spec.piggyback.unwrap_or_default());
    here.links.cold[egress].counts.update_bytes += bytes;
    let port = &mut here.links.ports[egress];
    port.busy_until += port.clock.advance(bytes);
    let ends = port.busy_until;
    // One that waits is not needed any more.
    port.features.set(PortFeatures::PAUSE_WAITING, false);
    send_update(here, egress, now, ends, events);
    if let Some(credits) = balance::credits_mut(here, egress) {
        credits.left = credits.left.max(ends);
    }
}

/// An update leaves, the last bit of it at `ends`.
fn send_update(here: &mut NodeView, port: PortIx, now: Time, ends: Time, events: &mut EventQueue) {
    let Some(credits) = balance::credits_mut(here, port) else { return };
    // None overtakes the one that a frame carries, nor another that had to wait for that.
    let mut leaves = ends;
    if credits.left > Time::ZERO {
        leaves = ends.max(credits.left + NEXT);
        credits.left = leaves;
    }
    let (freed, at) = (credits.receiver.update(now), leaves + credits.takes);
    credits.update.cancel();
    let rest = credits.receiver.owes();
    let bytes = u64::from(credits.spec.update_bytes);
    let again = credits.again;
    if here.links.ports[port].features.has(PortFeatures::FAULTED)
        && transmission::pause_is_lost(here, port, (now, at), bytes)
    {
        here.links.cold[port].counts.pauses_lost += 1;
        if again != Time::NEVER {
            send_again(here, port, freed, now + again, events);
        }
    } else {
        let peer = here.links.ports[port].arrives_as.peer();
        events.send(Event::update(at, peer, freed), || here.links.neighbours[port]);
    }
    if rest {
        update_later(here, port, ends.max(now + NEXT), events);
    }
}

/// An update was lost: it is due again then.
#[cold]
fn send_again(here: &mut NodeView, port: PortIx, lost: Freed, at: Time, events: &mut EventQueue) {
    let Some(credits) = balance::credits_mut(here, port) else { return };
    credits.receiver.lost(lost);
    if at < credits.update.due() {
        update_later(here, port, at, events);
    }
}

/// An update takes effect.
#[inline(never)]
pub fn receive_credits(here: &mut NodeView, port: PortIx, freed: Freed, now: Time, events: &mut EventQueue) {
    let Some(credits) = balance::credits_mut(here, port) else { return };
    if let Err(why) = credits.sender.learn(freed) {
        {
            let number = here.numbering.port(port);
            balance::overdraft(here, number, why, now)
        };
    }
    help_those_who_lack(here, port, now, events);
}

/// An update that is read may take effect.
#[inline(never)]
pub fn look_for_credits(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    if balance::credits_mut(here, port).is_some_and(|credits| credits.told.look.fires(now)) {
        read_updates(here, port, now);
        help_those_who_lack(here, port, now, events);
        look_again(here, port, events);
    }
}

/// There may be more credits for those who lack some.
#[inline(always)]
fn help_those_who_lack(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let credits = here.links.cold[port].control.credits();
    let (lacking, held) = credits.map_or((0, 0), |credits| (credits.short, credits.held & !credits.short));
    if lacking | held == 0 {
        return;
    }
    // One that was bypassed may go now, before what is next.
    credits::look_at_heads(here, port, lacking | held, now, events);
    if lacking == 0 {
        return;
    }
    let state = &here.links.ports[port];
    if state.waiting & !state.stopped != 0 {
        decision::try_transmit(here, port, now, events);
    }
}

/// A port looks once more if a frame still lacks credits; else the other end need not care.
#[inline(always)]
fn look_again(here: &mut NodeView, port: PortIx, events: &mut EventQueue) {
    let credits = here.links.cold[port].control.credits();
    if credits.is_some_and(|credits| credits.short | credits.held != 0) {
        return await_update(here, port, events);
    }
    if let Some(other) = ahead::credits_across(here, port) {
        other.told.awaited = false;
    }
}
