//! Which ports send frames ahead of their time: where only the clock decides when a waiting frame leaves.

use super::Plan;
use crate::build::headroom::receive_buffer;
use crate::run::port::Hooks;
use crate::run::world::Fabric;
use crate::spec::NodeSpec;
use crate::spec::choice::PathChoice;

/// With one of these somebody is asked, or has to be told, when a frame leaves.
const OTHERS: [Hooks; 9] = [
    Hooks::SCHEDULER,
    Hooks::FAULTED,
    Hooks::FEEDS,
    Hooks::COUNTED,
    Hooks::BOUNDED,
    Hooks::WATCHED,
    Hooks::MANAGED,
    Hooks::CREDITS,
    Hooks::CROSSBAR,
];

/// Sets the bit of these ports. Called when everything else is known.
pub fn mark(plan: &Plan, fabric: &mut Fabric) {
    let spec = plan.spec;
    if !spec.faults.is_empty() || fabric.probes.any_levels() {
        return;
    }
    let in_use = spec.priorities_in_use();
    for port in 0..fabric.links.len() as u32 {
        let number = fabric.numbering.port(port);
        let node = plan.node(number);
        // A pause that comes is looked at, and the port with it, also where nobody obeys it.
        let paused = sends_pauses(plan.node(plan.wiring.peer[number as usize].0));
        let hot = &mut fabric.links.ports[port as usize];
        let one_class = hot.classes.classes_of(in_use).count_ones() <= 1;
        let one_list = fabric.buffers.queues[hot.first_queue as usize].voqs == 1;
        let asks = OTHERS.iter().any(|&other| hot.hooks.has(other));
        // A switch that compares its queues looks at all of them for every frame.
        let switch = node.switch().filter(|own| own.path_choice != PathChoice::LeastQueued);
        hot.hooks.set(Hooks::AHEAD, switch.is_some() && one_class && one_list && !paused && !asks);
    }
}

/// Whether a node pauses its neighbours. Hosts do if they have a receive buffer.
fn sends_pauses(node: &NodeSpec) -> bool {
    node.pauses().is_some() && (node.switch().is_some() || receive_buffer(node).is_some())
}
