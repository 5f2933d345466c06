//! Which ports lead to hosts that only count what comes to them.

use crate::build::Plan;
use crate::run::port::Hooks;
use crate::run::world::Fabric;

/// Sets the bit of these ports.
pub fn mark(plan: &Plan, fabric: &mut Fabric) {
    if fabric.probes.watches_arrivals {
        return;
    }
    let (first, ports) = (fabric.numbering.first_port, fabric.links.len() as u32);
    for port in 0..ports {
        let number = fabric.numbering.port(port);
        let peer = plan.wiring.peer[number as usize];
        let node = plan.wiring.node_of[peer.at()];
        // Through two links frames of a receiver would come in another order than they are sent.
        let has_one_link = plan.wiring.ports(node).len() == 1;
        let host = plan.node(peer.0).host();
        let takes_no_time = host.is_some_and(|host| host.receive.is_none() && host.send.is_none());
        let is_here = (first..first + ports).contains(&peer.0);
        let hot = &mut fabric.links.ports[port as usize];
        let others = Hooks::FAULTED.or(Hooks::CREDITS);
        let only_counts = has_one_link && takes_no_time && is_here && !hot.hooks.has(others);
        hot.hooks.set(Hooks::COUNTED_THERE, only_counts);
    }
}
