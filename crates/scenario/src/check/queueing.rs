//! Queue managers and shared memories of switches.

use super::Context;
use crate::model::Model;
use crate::place::Place;
use fabric::spec::{LimiterSpec, LinkSpec, NodeSpec, SwitchSpec};
use frame::ClassMap;
use queueing::{DynamicThreshold, ManagerEntry, ManagerSpec, RateLimiters, SharedMemorySpec, assign};
use std::collections::BTreeSet;
use units::Amount;

/// The manager of each traffic class; empty if no class has one.
pub fn managers(
    entries: &[ManagerEntry],
    classes: ClassMap,
    at: &Place,
    context: &mut Context<'_>,
) -> Vec<Option<ManagerSpec>> {
    let (managers, wrong) = assign(entries, classes.classes());
    wrong.into_iter().for_each(|why| context.refuse(why, at));
    managers
}

/// The rate limiters of a host.
pub fn limiters(keys: Option<&RateLimiters>, at: &Place, context: &mut Context<'_>) -> Option<LimiterSpec> {
    let keys = keys?;
    match keys.spec() {
        Ok((control, priorities)) => Some(LimiterSpec { control, per: keys.per, priorities }),
        Err(why) => {
            context.refuse(why, at);
            None
        }
    }
}

/// The shared memory of a switch with this limit of its total.
pub fn shared_memory(
    keys: Option<&DynamicThreshold>,
    total: Option<Amount>,
    has_lossless_queues: bool,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<SharedMemorySpec> {
    let keys = keys?;
    let at = at.key("dynamic_threshold");
    let Some(Amount::Bytes(bytes)) = total else {
        let help = "expected a total of the same buffer in bytes, like total = \"12 MB\": what queues share";
        let given = total.map_or("unlimited".to_string(), |total| total.to_string());
        context.error(&at, format!("a dynamic threshold without a shared memory: total is {given}"), help);
        return None;
    };
    let spec = keys.of(bytes);
    if spec.headroom > 0 && !has_lossless_queues {
        let help = "they have no flow control that counts at the ingress: nobody uses it";
        context.warn(&at.key("headroom"), "headroom for lossless classes of these switches", help);
    }
    Some(spec)
}

/// Whether the memories of all switches hold the minima of their queues.
pub fn rooms(model: &Model, nodes: &[NodeSpec], links: &[LinkSpec], context: &mut Context<'_>) {
    let mut ports = vec![0u64; nodes.len()];
    for end in links.iter().flat_map(|link| [link.a, link.b]) {
        ports[end.at()] += 1;
    }
    let mut seen = BTreeSet::new();
    for (node, ports) in nodes.iter().zip(ports) {
        let fabric::spec::Role::Switch(switch) = &node.role else { continue };
        let SwitchSpec { shared_memory: Some(memory), .. } = &**switch else { continue };
        let queues = switch.queues_of_memory(ports);
        if memory.shared(queues).is_some_and(|shared| shared > 0) {
            continue;
        }
        let own = model.switches.get(&node.name).and_then(|own| own.buffer.as_ref());
        let own = own.is_some_and(|buffer| buffer.dynamic_threshold.is_some());
        let place = if own { Place::of("switches").key(&node.name) } else { Place::of("switch") };
        if !seen.insert(own.then_some(&node.name)) {
            continue;
        }
        let needs = memory.minimum.saturating_mul(queues).saturating_add(memory.headroom);
        context.error(
            &place.key("buffer").key("dynamic_threshold").key("minimum"),
            format!(
                "{}: {queues} queues with {} B each and {} B of headroom take {needs} B of {} B",
                node.name, memory.minimum, memory.headroom, memory.total
            ),
            "expected less than the total, so that something is shared",
        );
    }
}
