//! A memory that the queues of a switch share (`queueing::SharedMemory`).

use crate::run::state::index::{NodeIx, PortIx};
use crate::run::state::losses::Cause;
use crate::run::state::view::NodeView;
use frame::{Frame, TrafficClass};
use units::Time;

/// Charges a frame that is about to be enqueued to the shared memory of its switch, or returns the limit that refuses
/// it.
pub fn share_in(
    here: &mut NodeView,
    node: NodeIx,
    egress: PortIx,
    class: TrafficClass,
    frame: &Frame,
    ingress: Option<PortIx>,
    now: Time,
) -> Result<(), Cause> {
    let Some(sharing) = &mut here.nodes[node].memory_mut().sharing else { return Ok(()) };
    let is_in = sharing.add(egress, class, frame, ingress);
    tally_memory(here, node, now);
    is_in
}

/// Releases the memory of a frame that has left its queue.
pub fn share_out(
    here: &mut NodeView,
    node: NodeIx,
    egress: PortIx,
    class: TrafficClass,
    frame: &Frame,
    ingress: Option<PortIx>,
    now: Time,
) {
    if let Some(sharing) = &mut here.nodes[node].memory_mut().sharing {
        sharing.remove(egress, class, frame, ingress);
        tally_memory(here, node, now);
    }
}

/// Updates tallies of a shared memory whose occupancy may have changed.
fn tally_memory(here: &mut NodeView, node: NodeIx, now: Time) {
    if let Some(tallies) = &mut here.probes.tallies
        && let Some(sharing) = &here.nodes[node].memory().sharing
    {
        tallies.memory_changes(node, now, sharing.in_use());
    }
}
