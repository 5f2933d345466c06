//! Path choice at work: frames whose next port each switch chooses (`choice`), among those of its forwarding table
//! (`forwarding`).

use crate::run::state::index::{NodeIx, PortIx};
use crate::run::state::port::PortFeatures;
use crate::run::state::spreading::Spreading;
use crate::run::state::view::NodeView;
use crate::spec::choice::{Backlog, Chosen};
use crate::spec::tuple::Tuple;
use frame::{NodeId, PortId, TrafficClass, members};
use units::Time;

/// The port that a node chooses for a frame of a path; `None` if the frame has arrived.
#[inline(never)]
pub fn choose_egress(
    here: &mut NodeView,
    node: NodeIx,
    path: u32,
    (destination, entropy): (NodeId, u16),
    now: Time,
) -> Option<PortIx> {
    let id = NodeId(here.numbering.first_node + node.number());
    if id == destination {
        return None;
    }
    let Spreading { table, choosers, ends, .. } = here.routes.spreading.as_deref_mut()?;
    // The table speaks of ports of the whole.
    let candidates = table.lookup(id, destination);
    let numbering = here.numbering;
    let local = |port: PortId| numbering.port_here(port);
    if let [only] = candidates.ports {
        return Some(local(*only));
    }
    let flow = ends[path as usize].map_or(Tuple::from(0), |ends| ends.tuple_to(destination));
    let (ports, queues, cold_ports) = (&here.links.ports, &here.buffers.queues, &here.links.cold);
    let backlog = |port: PortId| {
        let own = &ports[local(port)];
        let waiting: u64 = members(own.waiting)
            .map(|class| queues[own.queue(TrafficClass(class as u8))].occupancy.bytes)
            .sum();
        // What is still on its way to the link counts as well: an idle port is better than a busy one.
        let on_link =
            cold_ports[local(port)].rate.bits_in_ceil(own.busy_until.saturating_sub(now)).div_ceil(8);
        Backlog { bytes: waiting + on_link, paused: own.waiting & own.stopped != 0 }
    };
    let picked =
        choosers[node].pick(candidates, Chosen { node: id, flow, entropy, destination, now }, backlog)?;
    let is_up = |port: PortId| !ports[local(port)].features.has(PortFeatures::DOWN);
    if is_up(picked) {
        return Some(local(picked));
    }
    let up = |port: &&PortId| is_up(**port);
    let after = candidates.ports.iter().skip_while(|&&port| port != picked).find(up);
    let port = *after.or_else(|| candidates.ports.iter().find(up)).unwrap_or(&picked);
    Some(local(port))
}
