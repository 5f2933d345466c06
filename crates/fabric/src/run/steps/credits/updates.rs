//! Credit updates: advertise freed credits to the sending end of a link.
//!
//! An update is sent if it takes time on the link, if faults may affect it, or if the other end is in another thread.
//! It then has an event when it is due and another when it takes effect. All other updates are polled and have no
//! events. The granting end stores each update with the time at which it takes effect. The sending end polls when a
//! frame lacks credits by its own count, and again at the effect of each further update while a frame lacks credits.
//!
//! Both variants give the same trajectory. An update that takes effect before a given time was due at least one
//! look-ahead earlier, so a poll finds every credit freed by then. Credits freed later belong to the next update.

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

/// Frees the credits of a frame that has left the buffer of `ingress`. An update that is due now also advertises them.
#[inline(always)]
pub fn credits_free(here: &mut NodeView, ingress: PortIx, frame: &Frame, now: Time, events: &mut EventQueue) {
    let at = free(here, ingress, frame, now, now);
    if at != Time::NEVER {
        update_later(here, ingress, at, events);
    }
}

/// Variant of `credits_free`, called after all updates that are due now, for a buffer that no other frame can leave at
/// the same time. An update that becomes due is sent without an event.
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
    if at == now && !credits.published.is_polled && credits.updates_cost_nothing() {
        send_update(here, port, now, now, events);
    } else {
        update_later(here, port, at, events);
    }
}

/// Frees the buffer space of a frame, after publishing the updates that were due before `published`.
///
/// Returns the time at which an update is due, or [`Time::NEVER`] if one is already due by then.
#[inline(always)]
fn free(here: &mut NodeView, ingress: PortIx, frame: &Frame, published: Time, now: Time) -> Time {
    if frame.route.is_tree() && !here.copies.leaves_room(ingress, frame.word) {
        return Time::NEVER;
    }
    let Some(credits) = balance::credits_mut(here, ingress) else { return Time::NEVER };
    let need = credits.need(frame);
    if need.1 == 0 {
        return Time::NEVER;
    }
    free_counted(here, ingress, need, published, now)
}

/// Frees the credits of lost frames.
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

/// Frees credits of one counter; see `free`.
#[inline(always)]
fn free_counted(
    here: &mut NodeView,
    ingress: PortIx,
    (channel, need): (usize, u32),
    published: Time,
    now: Time,
) -> Time {
    let Some(credits) = balance::credits_mut(here, ingress) else { return Time::NEVER };
    if credits.published.is_polled {
        credits.publish(published);
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
    let (fresh, updates) = (credits.update.arm(at), &credits.published);
    if !updates.is_polled {
        if fresh {
            events.push(Event::update_due(at, port));
        }
    } else if updates.awaited {
        let at = at + credits.takes;
        ahead::poll_at_peer(here, port, at, events);
    }
}

/// Schedules a poll of the other end of the link, unless an earlier one is scheduled.
#[inline(never)]
fn poll_at(here: &mut NodeView, port: PortIx, at: Time, events: &mut EventQueue) {
    if balance::credits_mut(here, port).is_some_and(|credits| credits.poll_at(at)) {
        events.push(Event::look_for_credits(at, port));
    }
}

/// Schedules a poll of the port, at which a frame lacks credits, for the effect of the next update.
#[inline(never)]
pub fn await_update(here: &mut NodeView, port: PortIx, events: &mut EventQueue) {
    let Some(other) = ahead::credits_across(here, port) else { return };
    other.published.awaited = true;
    let at = other.next_effect();
    if at != Time::NEVER {
        poll_at(here, port, at, events);
    }
}

/// Applies the updates that have taken effect. Returns false if there are none. Updates that take effect now precede
/// all events except decisions.
#[inline(never)]
pub fn read_updates(here: &mut NodeView, port: PortIx, now: Time) -> bool {
    let before = if here.deciding { now } else { now + NEXT };
    let mut any = false;
    while let Some(freed) = ahead::credits_across(here, port).and_then(|other| other.next_published(before)) {
        any = true;
        let Some(credits) = balance::credits_mut(here, port) else { break };
        if let Err(why) = credits.sender.on_update(freed) {
            let number = here.numbering.port(port);
            balance::overdraft(here, number, why, now);
        }
    }
    any
}

/// Handles the due time of an update.
pub fn update_due(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let Some(credits) = balance::credits_mut(here, port) else { return };
    if !credits.update.fires(now) || !credits.receiver.owes() {
        return;
    }
    if credits.spec.update_bytes == 0 {
        return send_update(here, port, now, now, events);
    }
    credits.update_waits = true;
    here.links.ports[port].features.set(PortFeatures::PAUSE_WAITING, true);
    decision::try_transmit(here, port, now, events);
}

/// Sends an update that takes time on the link; the transmitter is idle.
pub fn transmit_update(here: &mut NodeView, egress: PortIx, now: Time, events: &mut EventQueue) {
    let Some(credits) = balance::credits_mut(here, egress) else { return };
    let bytes = u64::from(credits.spec.update_bytes);
    here.links.cold[egress].counts.update_bytes += bytes;
    update_goes(here, egress);
    let port = &mut here.links.ports[egress];
    if port.busy_until < now {
        port.clock.restart();
    }
    port.busy_until = now + port.clock.advance(bytes);
    let ends = port.busy_until;
    send_update(here, egress, now, ends, events);
}

/// Records that no update is pending at the transmitter of a port; a pause frame may be.
fn update_goes(here: &mut NodeView, port: PortIx) {
    let control = &mut here.links.cold[port].control;
    control.credits_mut().into_iter().for_each(|credits| credits.update_waits = false);
    let pause_waits = control.pauses().is_some_and(|pauses| pauses.has_signal());
    here.links.ports[port].features.set(PortFeatures::PAUSE_WAITING, pause_waits);
}

/// Attaches an update to the frame whose transmission has just started.
#[inline(never)]
pub fn send_along(here: &mut NodeView, egress: PortIx, now: Time, events: &mut EventQueue) {
    let Some(credits) = balance::credits_mut(here, egress) else { return };
    let bytes = u64::from(credits.spec.piggyback.unwrap_or_default());
    here.links.cold[egress].counts.update_bytes += bytes;
    let port = &mut here.links.ports[egress];
    port.busy_until += port.clock.advance(bytes);
    let ends = port.busy_until;
    // A pending update is superseded.
    update_goes(here, egress);
    send_update(here, egress, now, ends, events);
    if let Some(credits) = balance::credits_mut(here, egress) {
        credits.left = credits.left.max(ends);
    }
}

/// Sends an update, whose last bit leaves at `ends`.
fn send_update(here: &mut NodeView, port: PortIx, now: Time, ends: Time, events: &mut EventQueue) {
    let Some(credits) = balance::credits_mut(here, port) else { return };
    // No update overtakes one that a frame carries, nor one that was delayed by that.
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

/// Schedules a lost update again, for this time.
#[cold]
fn send_again(here: &mut NodeView, port: PortIx, lost: Freed, at: Time, events: &mut EventQueue) {
    let Some(credits) = balance::credits_mut(here, port) else { return };
    credits.receiver.lost(lost);
    if at < credits.update.due() {
        update_later(here, port, at, events);
    }
}

/// Applies an update that takes effect.
#[inline(never)]
pub fn receive_credits(here: &mut NodeView, port: PortIx, freed: Freed, now: Time, events: &mut EventQueue) {
    let Some(credits) = balance::credits_mut(here, port) else { return };
    if let Err(why) = credits.sender.on_update(freed) {
        {
            let number = here.numbering.port(port);
            balance::overdraft(here, number, why, now)
        };
    }
    retry_classes_without_credits(here, port, now, events);
}

/// Polls the other end at the time at which an update takes effect.
#[inline(never)]
pub fn look_for_credits(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    if balance::credits_mut(here, port).is_some_and(|credits| credits.published.poll.fires(now)) {
        read_updates(here, port, now);
        retry_classes_without_credits(here, port, now, events);
        poll_again(here, port, events);
    }
}

/// Re-examines the classes that lacked credits after an update.
#[inline(always)]
fn retry_classes_without_credits(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let credits = here.links.cold[port].control.credits();
    let (lacking, held) = credits.map_or((0, 0), |credits| (credits.short, credits.held & !credits.short));
    if lacking | held == 0 {
        return;
    }
    // A bypassed frame with credits precedes the frame that is next.
    credits::look_at_heads(here, port, lacking | held, now, events);
    if lacking == 0 {
        return;
    }
    let state = &here.links.ports[port];
    if state.waiting & !state.stopped != 0 {
        decision::try_transmit(here, port, now, events);
    }
}

/// Schedules the next poll if a frame still lacks credits. Otherwise, the other end stops scheduling polls.
#[inline(always)]
fn poll_again(here: &mut NodeView, port: PortIx, events: &mut EventQueue) {
    let credits = here.links.cold[port].control.credits();
    if credits.is_some_and(|credits| credits.short | credits.held != 0) {
        return await_update(here, port, events);
    }
    if let Some(other) = ahead::credits_across(here, port) {
        other.published.awaited = false;
    }
}
