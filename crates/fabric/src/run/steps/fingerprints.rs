//! Fingerprints of nodes: a digest of every event that a node handles, in order.

use crate::run::state::event::{Event, Kind};
use crate::run::state::index::NodeIx;
use crate::run::state::view::NodeView;

/// Adds an event to the fingerprint of its node `node`. `place` is the number of its place in the whole fabric.
#[inline(always)]
pub fn note(here: &mut NodeView, node: NodeIx, event: &Event, kind: Kind, place: u32) {
    let contents = event.digest(kind, place, &here.headers);
    here.probes.fingerprints[node].note(event.time + here.probes.left_out, contents);
}
