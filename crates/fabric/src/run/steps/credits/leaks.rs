//! Restoring the credits of frames that are lost on a link. The sending end advertises its count of consumed credits
//! periodically (CC_Update of Ultra Ethernet), and the receiving end frees the credits of frames that never arrived.
//!
//! No event is scheduled while no credits are missing. Messages leave at multiples of the period; a lost message is
//! superseded by the next.

use crate::run::state::event::{Event, EventQueue};
use crate::run::state::index::PortIx;
use crate::run::state::view::NodeView;
use crate::run::steps::credits::{balance, updates};
use crate::run::steps::transmission;
use flow_control::credit::COUNTS;
use units::Time;

/// Length in bytes of a CC_Update, sent by the transmitting end.
const MESSAGE_BYTES: u64 = 64;

/// Records the loss of a frame in flight to a port. The credits that it consumed count as held there until the next
/// message.
pub fn note(
    here: &mut NodeView,
    port: PortIx,
    (count, need): (usize, u32),
    now: Time,
    events: &mut EventQueue,
) {
    let Some(credits) = balance::credits_mut(here, port) else { return };
    if let Err(why) = credits.receiver.arrive(count, need) {
        let number = here.numbering.port(port);
        return balance::overdraft(here, number, why, now);
    }
    if let Some(leaks) = &mut credits.leaks {
        leaks.now[count] += need;
        leaks.lost[count] += u64::from(need);
    }
    await_message(here, port, now, events);
}

/// Schedules the arrival of the next message.
fn await_message(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let crossing = {
        let (hot, cold) = (&here.links.ports[port], &here.links.cold[port]);
        cold.arrives_by.span_ceil(MESSAGE_BYTES + u64::from(hot.timing.overhead())) + cold.delay
    };
    let Some(credits) = balance::credits_mut(here, port) else { return };
    let Some(leaks) = &mut credits.leaks else { return };
    let period = leaks.period;
    let sent = now.saturating_sub(crossing).ps() / period.ps() + 1;
    let at = period * sent + crossing;
    if leaks.message.due() == Time::NEVER && leaks.message.arm(at) {
        events.push(Event::credits_consumed(at, port));
    }
}

/// Handles the arrival of a message, if it was not lost: frees the credits of lost frames.
#[cold]
pub fn restore(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let fires = |here: &mut NodeView| {
        let credits = balance::credits_mut(here, port)?;
        credits.leaks.as_mut().map(|leaks| leaks.message.fires(now))
    };
    if fires(here) != Some(true) {
        return;
    }
    // Errors of the link affect both directions equally.
    if transmission::ordered_set_is_lost(here, port, MESSAGE_BYTES, (now, now)) {
        return await_message(here, port, now, events);
    }
    for count in 0..COUNTS {
        let Some(leaks) = balance::credits_mut(here, port).and_then(|credits| credits.leaks.as_mut()) else {
            return;
        };
        let need = std::mem::take(&mut leaks.now[count]);
        leaks.restored[count] += u64::from(need);
        if need > 0 {
            updates::counted_free(here, port, (count, need), now, events);
        }
    }
}
