//! Arrivals at hosts that only count them.
//!
//! If no endpoint answers and no processing takes time, a frame is only counted at its destination, and in the series
//! of its flow. It needs no event for that: it is counted with its arrival time when its transmission begins, if the
//! arrival is before the end of the run window ([`NodeView::horizon`]). No state of the host is read before that time.
//! The frames of a receiver arrive over one link and are counted in order: while one of them is in flight as an event,
//! later ones become events as well.
//!
//! The builder selects the ports to such hosts (`build/ahead/arrivals.rs`).

use crate::run::state::index::PortIx;
use crate::run::state::view::NodeView;
use frame::{Flags, Frame, PathId};
use measure::Passage;
use units::Time;

/// Counts a frame to a host that only counts arrivals, ahead of its arrival. Returns false if the frame needs an event.
/// The arguments are fields of the frame, which therefore need not be in memory.
#[inline(never)]
pub fn count_ahead(
    here: &mut NodeView,
    egress: PortIx,
    path: PathId,
    created: Time,
    arrives: Time,
    (bytes, flags): (u16, Flags),
) -> bool {
    let (is_plain, in_time) = (flags.is_plain(), arrives < here.horizon);
    let receiver = here.hosts.receiver(path);
    if is_plain && in_time && receiver.expected == 0 {
        let frame = Frame { created, path, bytes, flags, ..Frame::default() };
        receiver.note(&frame, arrives);
        receiver.count(&frame, arrives);
        here.ledger.delivered += 1;
        if !here.probes.arrived.is_empty() {
            let took = here.links.ports[egress].clock.span_ceil(u64::from(bytes));
            let receiver = here.hosts.receiver_of(path);
            here.probes.arrives(receiver, Passage { end: arrives, took, bits: u64::from(bytes) * 8 });
        }
        return true;
    }
    // Other frames of its receiver must not overtake it.
    receiver.expected += u32::from(is_plain || flags.is_tagged());
    false
}

/// Adds the arrival of a frame that is only counted to the hash of its receiver. The result does not depend on when it
/// is counted.
#[inline(always)]
pub fn note_received(here: &mut NodeView, frame: &Frame, now: Time) {
    is_here(here, frame);
    here.hosts.receiver(frame.path).note(frame, now);
}

/// Records the arrival of a frame that later frames of its receiver were not allowed to overtake.
#[inline(always)]
pub fn is_here(here: &mut NodeView, frame: &Frame) {
    let receiver = here.hosts.receiver(frame.path);
    receiver.expected = receiver.expected.saturating_sub(1);
}
