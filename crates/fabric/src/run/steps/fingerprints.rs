//! Fingerprints of nodes: a digest of every event that a node handles, in order.

use crate::run::state::event::{Event, Kind};
use crate::run::state::view::NodeView;

/// Adds an event to the fingerprint of its node; `place` is the number of its place in the whole fabric.
#[inline(always)]
pub fn note(here: &mut NodeView, event: &Event, kind: Kind, place: u32) {
    let fingerprint = &mut here.probes.fingerprints[here.node_of[event.place()]];
    *fingerprint = (fingerprint.rotate_left(5) ^ event.digest(kind, place, &here.headers))
        .wrapping_mul(0xff51_afd7_ed55_8ccd);
}
