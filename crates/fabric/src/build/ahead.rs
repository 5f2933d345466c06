//! Which ports may send frames ahead of their time: where nothing but the clock decides when a waiting frame leaves.

use super::Plan;
use crate::port::Hooks;
use crate::world::Fabric;
use frame::{NodeId, PortId};

/// Sets the bit of these ports. Called when everything else is known.
pub fn mark(plan: &Plan, fabric: &mut Fabric) {
    let spec = plan.spec;
    if !spec.faults.is_empty() || fabric.routes.spreading.is_some() || fabric.probes.any_levels() {
        return;
    }
    let priorities = spec.flows.iter().fold(0u8, |set, flow| set | 1 << flow.priority.0);
    let others =
        [Hooks::SCHEDULER, Hooks::EXPOSED, Hooks::FEEDS, Hooks::METERED, Hooks::WATCHED, Hooks::MANAGED];
    for (id, node) in (0..).zip(&spec.nodes).filter(|(_, node)| node.switch().is_some()) {
        if fabric.nodes[id as usize].classes.classes_of(priorities).count_ones() > 1 {
            continue;
        }
        for port in plan.wiring.ports(NodeId(id)).map(PortId::at) {
            let peer = fabric.node_of[fabric.links.ports[port].peer as usize];
            let paused = node.flow_control().is_some() && fabric.nodes[peer as usize].pause_sender.is_some();
            let first_queue = fabric.links.ports[port].first_queue as usize;
            let one_list = fabric.buffers.queues[first_queue].voqs == 1;
            let hooks = &mut fabric.links.ports[port].hooks;
            let asks = others.iter().any(|&other| hooks.has(other));
            hooks.set(Hooks::AHEAD, !asks && !paused && one_list);
        }
    }
}
