//! Pause signals: the cause of a pause, and the pause frame to be sent.

use crate::run::state::event::EventQueue;
use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::pause_sender::{PauseCause, Quanta};
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::decision;
use flow_control::pause::PauseSignal;
use frame::TrafficClass;
use units::Time;

/// Sends a pause frame through `port` as soon as the frame on the link allows. If a pause frame is already pending, the
/// signal is merged into it.
#[inline(never)]
pub fn signal(
    here: &mut NodeView,
    port: PortIx,
    signal: PauseSignal,
    quanta: &Quanta,
    cause: u64,
    now: Time,
    events: &mut EventQueue,
) {
    // A failed link carries no pause frames, and a port that comes back does not make up for them.
    if here.links.ports[port].features.has(PortFeatures::DOWN) {
        return;
    }
    let Some(pauses) = here.links.cold[port].control.pauses_mut() else { return };
    // A port sends pauses only for the priorities for which it obeys them: its node may have PFC for more priorities at
    // other ports.
    let signal = PauseSignal { xoff: signal.xoff & pauses.obeys, xon: signal.xon & pauses.obeys };
    if signal.is_empty() {
        return;
    }
    pauses.say(signal, quanta, cause);
    here.links.ports[port].features.set(PortFeatures::PAUSE_WAITING, true);
    decision::try_transmit(here, port, now, events);
}

/// Returns the cause of a pause: a queue that fills a counter, which has risen since `since`.
pub fn cause(
    here: &NodeView,
    targeted: bool,
    queue: Option<QueueIx>,
    since: Time,
    occupancy: u64,
) -> PauseCause {
    let inherited = queue.is_some_and(|queue| has_been_paused(here, queue, since));
    let down = queue.is_some_and(|queue| {
        let port = here.links.place_of_queue(queue).0;
        here.links.ports[port].features.has(PortFeatures::DOWN)
    });
    let queue = queue.map(|queue| here.numbering.queue(queue));
    PauseCause { targeted, inherited, down, queue, occupancy }
}

/// Returns true if the port of a queue has been paused for the queue's class at any time since `since`.
fn has_been_paused(here: &NodeView, queue: QueueIx, since: Time) -> bool {
    let (port, class) = here.links.place_of_queue(queue);
    let classes = here.links.ports[port].classes;
    here.links.cold[port].control.until(classes.priorities(TrafficClass(class))) > since
}
