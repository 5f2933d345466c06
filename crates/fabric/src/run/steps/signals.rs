//! Pause signals: why a node pauses a neighbour, and the pause frame that is to be sent.

use crate::run::state::event::EventQueue;
use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::link_control::LinkControl;
use crate::run::state::pause_sender::{PauseCause, Quanta};
use crate::run::state::port::PortFeatures;
use crate::run::state::world::Fabric;
use flow_control::pause::PauseSignal;
use frame::TrafficClass;
use units::Time;

impl Fabric {
    /// Sends a pause frame through `port` as soon as the frame on the link allows; one that waits already
    /// says both.
    #[inline(never)]
    pub fn signal(
        &mut self,
        port: PortIx,
        signal: PauseSignal,
        quanta: &Quanta,
        cause: u64,
        now: Time,
        events: &mut EventQueue,
    ) {
        // A link that is down carries no pause frame, and a port that comes back sends none of those missed.
        if self.links.ports[port].features.has(PortFeatures::DOWN) {
            return;
        }
        let LinkControl::Pause(pauses) = &mut self.links.cold[port].control else { return };
        // A port pauses what it obeys pauses of: its node may have PFC for more, at other ports.
        let signal = PauseSignal { xoff: signal.xoff & pauses.obeys, xon: signal.xon & pauses.obeys };
        if signal.is_empty() {
            return;
        }
        pauses.say(signal, quanta, cause);
        self.links.ports[port].features.set(PortFeatures::PAUSE_WAITING, true);
        self.try_transmit(port, now, events);
    }

    /// Why a pause is sent: a queue fills a counter, that has risen since then.
    pub fn cause(&self, targeted: bool, queue: Option<QueueIx>, since: Time, occupancy: u64) -> PauseCause {
        let inherited = queue.is_some_and(|queue| self.has_been_paused(queue, since));
        let down = queue.is_some_and(|queue| {
            let port = self.links.place_of_queue(queue).0;
            self.links.ports[port].features.has(PortFeatures::DOWN)
        });
        let queue = queue.map(|queue| self.numbering.queue(queue));
        PauseCause { targeted, inherited, down, queue, occupancy }
    }

    /// Whether the port of a queue has been paused for it at any time since then.
    fn has_been_paused(&self, queue: QueueIx, since: Time) -> bool {
        let (port, class) = self.links.place_of_queue(queue);
        let classes = self.links.ports[port].classes;
        self.links.cold[port].control.until(classes.priorities(TrafficClass(class))) > since
    }
}
