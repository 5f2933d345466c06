//! Selects the ports to hosts that do nothing but count arrivals.

use crate::build::Plan;
use crate::build::whole::WHOLE;
use crate::run::fabric::Fabric;
use crate::run::state::port::PortFeatures;
use crate::spec::Spec;
use frame::NodeId;
use std::collections::BTreeSet;

/// Sets the bit of these ports.
pub fn mark(plan: &Plan, fabric: &mut Fabric) {
    // A trimmed frame overtakes others, and does not count as reordered.
    if fabric.hosts.overtaking.is_some() || super::trims(plan.spec) {
        return;
    }
    let answers = ends_of_connections(plan.spec);
    let (first, ports) = (fabric.numbering.first_port, fabric.links.len() as u32);
    for port in fabric.links.ports.keys(WHOLE) {
        let number = fabric.numbering.port(port);
        let peer = plan.wiring.peer[number as usize];
        let node = plan.wiring.node_of[peer.at()];
        // Over two links, frames of a receiver would not arrive in the order of sending.
        let has_one_link = plan.wiring.ports(node).len() == 1;
        let host = plan.node(peer.0).host();
        let takes_no_time = host.is_some_and(|host| host.receive.is_none() && host.send.is_none());
        let has_nothing_to_say = !answers.contains(&node);
        // A frame that leaves a rate limiter may go directly to the link, without an event that announces it.
        let limits = plan.node(number).host().is_some_and(|own| own.limiters.is_some());
        let is_here = (first..first + ports).contains(&peer.0);
        let hot = &mut fabric.links.ports[port];
        let others = PortFeatures::FAULTED.or(PortFeatures::CREDITS);
        let only_counts = has_one_link
            && takes_no_time
            && has_nothing_to_say
            && is_here
            && !limits
            && !hot.features.has(others);
        hot.features.set(PortFeatures::COUNTED_AHEAD, only_counts);
    }
}

/// The hosts at either end of connections, which respond to nearly all that arrives.
fn ends_of_connections(spec: &Spec) -> BTreeSet<NodeId> {
    let connections = spec.flows.iter().filter(|flow| flow.transport.is_some());
    // A host that starts transfers at the end of others has to observe that end on time.
    let waits = spec.waits.iter().filter_map(|wait| spec.transfer(wait.transfer));
    let waits: Vec<NodeId> = waits.map(|own| own.ends.begins_at().0).collect();
    let ends = connections.flat_map(|flow| flow.source.destinations.nodes().into_iter().chain([flow.from]));
    ends.chain(waits).collect()
}
