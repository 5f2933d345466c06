//! Scripted control frames that no station of the fabric sends: from a tester, or an attacker.
//!
//! The last bit of the frame arrives at the port at the given time. A pause takes effect a response time later, like
//! all pauses; a congestion message takes effect at once.
//!
//! Source: IEEE 802.3 annexes 31B and 31D, IEEE 802.1Q clause 33.
//!
//! Not modelled: the time that the frame takes on the link, and the frames that it delays there.

use crate::run::state::event::{Event, EventQueue, PauseFrame};
use crate::run::state::index::PortIx;
use crate::run::state::pause_sender::PauseCause;
use crate::run::state::view::NodeView;
use crate::run::steps::limiter_calls;
use crate::run::steps::limiters;
use crate::run::steps::pause_frames;
use flow_control::pause::PauseSignal;
use frame::{Notice, PathId};
use queueing::Feedback;
use units::Time;

/// Handles a pause frame with a single pause time for all its priorities.
pub fn hear_pause(
    here: &mut NodeView,
    port: PortIx,
    signal: PauseSignal,
    quanta: u16,
    now: Time,
    events: &mut EventQueue,
) {
    let Some(pauses) = here.links.cold[port].control.pauses() else { return };
    let cause = PauseCause { targeted: false, inherited: false, down: false, queue: None, occupancy: 0 };
    let at = now + pauses.response;
    let pause = PauseFrame { signal, quanta, note: cause.pack(), more: false };
    if at == now {
        pause_frames::receive_pause(here, port, pause, now, events);
    } else {
        events.push(Event::pause(at, port, pause));
    }
}

/// Handles a congestion message for the source of a path. The rate cut is attributed to no congestion point, as the
/// message comes from none of the fabric.
pub fn hear_congestion(here: &mut NodeView, path: u32, feedback: u8, now: Time, events: &mut EventQueue) {
    let Some(limiter) = limiter_calls::limiter_of(here, PathId(path)) else { return };
    let notice = Notice { feedback: feedback.into(), ..Notice::default() };
    here.hosts.limiters[limiter].measured.foreign += 1;
    limiter_calls::notify_limiter(here, limiter, Feedback::Message(notice), now);
    limiters::update_limiter(here, limiter, now, events);
}
