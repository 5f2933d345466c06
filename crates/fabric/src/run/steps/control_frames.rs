//! Control frames that no station of the fabric sends: a tester, or somebody who attacks.
//!
//! The last bit of the frame is at the port at the time that is given. Pauses act a response time later, as all do;
//! a congestion message acts at once.
//!
//! Source: IEEE 802.3 annexes 31B and 31D, IEEE 802.1Q clause 33.
//!
//! Not modelled: the time that the frame takes on the link, and the frames that it delays there.

use crate::run::state::event::{Event, PauseFrame, Queued};
use crate::run::state::index::PortIx;
use crate::run::state::link_control::LinkControl;
use crate::run::state::pause_sender::PauseCause;
use crate::run::state::world::Fabric;
use flow_control::pause::PauseSignal;
use frame::{Notice, PathId};
use queueing::Feedback;
use units::Time;

impl Fabric {
    /// A pause frame with one time for all priorities that it names has come in.
    pub fn hear_pause(
        &mut self,
        port: PortIx,
        signal: PauseSignal,
        quanta: u16,
        now: Time,
        windows: &mut Queued,
    ) {
        let LinkControl::Pause(pauses) = &self.links.cold[port].control else { return };
        let cause = PauseCause { targeted: false, inherited: false, down: false, queue: None, occupancy: 0 };
        let at = now + pauses.response;
        let pause = PauseFrame { signal, quanta, note: cause.pack(), more: false };
        if at == now {
            self.receive_pause(port, pause, now, windows);
        } else {
            windows.push(Event::pause(at, port, pause));
        }
    }

    /// A congestion message for the source of a path has come in. No congestion point of the fabric has sent it, so that
    /// the cut counts for none.
    pub fn hear_congestion(&mut self, path: u32, feedback: u8, now: Time, windows: &mut Queued) {
        let Some(limiter) = self.limiter_of(PathId(path)) else { return };
        let notice = Notice { feedback: feedback.into(), ..Notice::default() };
        self.hosts.limiters[limiter].measured.foreign += 1;
        self.tell_limiter(limiter, Feedback::Message(notice), now);
        self.update_limiter(limiter, now, windows);
    }
}
