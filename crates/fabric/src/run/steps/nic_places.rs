//! Places in NICs: the frames that occupy them, and their successors.

use crate::run::state::deferred::Deferred;
use crate::run::state::index::PortIx;
use crate::run::state::view::NodeView;
use crate::run::steps::limiter_calls;
use frame::{Frame, TrafficClass};
use transport::{HostEvent, Protocol};
use units::Time;

/// Defers the refill of a NIC that a frame has left, if a source or endpoint waits for space.
#[inline(always)]
pub fn feed(here: &mut NodeView, egress: PortIx, frame: &Frame, now: Time) {
    note_departure(here, egress, frame, now);
    let class = here.links.ports[egress].classes.class(frame.priority());
    let is_pushed = frame.flags.is_pushed();
    let was_pulled = was_pulled(here, frame, is_pushed);
    let Some(nic) = &mut here.links.nics[egress] else { return };
    if was_pulled {
        nic.pulled_left(class);
    }
    let has_wait_queue = nic.has_line(class);
    if has_wait_queue || is_pushed || nic.has_blocked(class) {
        let pushed = is_pushed.then_some(frame.path);
        here.deferred.push(Deferred::Refill { egress, class, has_wait_queue, pushed });
    }
}

/// Notifies the sender of a message without a transport of the departure of its last frame, which is now on the link of
/// this port.
#[inline(always)]
pub fn note_departure(here: &mut NodeView, egress: PortIx, frame: &Frame, now: Time) {
    if here.hosts.ranks.over_frames && frame.flags.is_wide() {
        notify_of_departure(here, egress, frame, now);
    }
}

#[inline(never)]
fn notify_of_departure(here: &mut NodeView, egress: PortIx, frame: &Frame, now: Time) {
    let Some(message) = here.headers.message_of(frame).filter(|own| own.is_last()) else { return };
    let Some(nth) = here.hosts.endpoints_of_path[frame.path.at()][0] else { return };
    let leaves = HostEvent::Leaves { message: message.number, until: here.links.ports[egress].busy_until };
    here.hosts.endpoints[nth].endpoint.on_event(now, &leaves);
    here.deferred.push(Deferred::Endpoint(nth));
}

/// Handles the departure to the link of a frame that occupied no place of endpoints and limiters: sources may send
/// next.
#[inline(always)]
pub fn refill_from_sources(here: &mut NodeView, egress: PortIx, class: TrafficClass, frame: &Frame) {
    let pushed = frame.flags.is_pushed().then_some(frame.path);
    here.deferred.push(Deferred::Refill { egress, class, has_wait_queue: false, pushed });
}

/// Returns true if the NIC pulled a frame from an endpoint or a rate limiter. Frames that the host originates itself
/// enter the queue without being pulled.
#[inline(always)]
pub fn was_pulled(here: &NodeView, frame: &Frame, pushed: bool) -> bool {
    if pushed { limiter_calls::limiter_of(here, frame.path).is_some() } else { !frame.flags.is_originated() }
}

/// Handles a pulled frame that is no longer queued, because it is on the link or lost.
pub fn pulled_frame_left(here: &mut NodeView, egress: PortIx, class: TrafficClass) {
    if let Some(nic) = &mut here.links.nics[egress] {
        nic.pulled_left(class);
    }
}

/// Handles a frame that a full NIC has dropped: a greedy source tries again when a frame of its class has left.
pub fn nic_refused(here: &mut NodeView, egress: PortIx, class: TrafficClass, frame: &Frame) {
    let pushed = frame.flags.is_pushed();
    if was_pulled(here, frame, pushed) {
        pulled_frame_left(here, egress, class);
    }
    if !pushed {
        return;
    }
    let source = here.routes.path_source[frame.path.at()];
    let state = &mut here.hosts.sources[source];
    if state.source.is_greedy() {
        // Frames left at another port when its path changed are no longer counted.
        state.in_nic = state.in_nic.saturating_sub(1);
        if let Some(nic) = &mut here.links.nics[egress] {
            nic.block(class, source);
        }
    }
}

pub fn count_pulled(here: &mut NodeView, egress: PortIx, class: TrafficClass) {
    if let Some(nic) = &mut here.links.nics[egress] {
        nic.count_pulled(class);
    }
}
