//! Queue managers and shared memories of switches.

use super::Context;
use crate::model::{DynamicThreshold, Model, QueueManagerEntry};
use crate::place::Place;
use fabric::spec::{LinkSpec, NodeSpec, SwitchSpec};
use frame::ClassMap;
use queueing::{Configuration, ManagerSpec, SharedMemorySpec};
use std::collections::BTreeSet;
use units::Amount;

/// The manager of each traffic class; empty if no class has one.
pub fn managers(
    entries: &[QueueManagerEntry],
    classes: ClassMap,
    at: &Place,
    context: &mut Context<'_>,
) -> Vec<Option<ManagerSpec>> {
    let mut managers = vec![None; classes.classes()];
    let mut rest = None;
    for (index, entry) in entries.iter().enumerate() {
        let at = at.index(index);
        let Some(spec) = manager(entry, &at, context) else { continue };
        let Some(named) = &entry.classes else {
            if rest.replace(spec).is_some() {
                let help = "expected classes in all entries but one, which then has all others";
                context.error(&at, "a second queue manager without classes", help);
            }
            continue;
        };
        for (place, &class) in named.iter().enumerate() {
            let at = at.key("classes").index(place);
            match usize::try_from(class).ok().and_then(|class| managers.get_mut(class)) {
                None => context.error(
                    &at,
                    format!("class {class}"),
                    format!("expected a traffic class, 0 to {}", classes.classes() - 1),
                ),
                Some(Some(_)) => context.error(
                    &at,
                    format!("class {class} has two queue managers"),
                    "expected each class once",
                ),
                Some(free) => *free = Some(spec),
            }
        }
        if named.is_empty() {
            let help = "expected traffic classes, like [3], or no key for all that no other entry names";
            context.error(&at.key("classes"), "a queue manager of no class", help);
        }
    }
    for free in managers.iter_mut().filter(|manager| manager.is_none()) {
        *free = rest;
    }
    if managers.iter().all(Option::is_none) { Vec::new() } else { managers }
}

/// The one manager of an entry.
fn manager(entry: &QueueManagerEntry, at: &Place, context: &mut Context<'_>) -> Option<ManagerSpec> {
    let red = entry.red.as_ref().map(|keys| ManagerSpec::Red(keys.params()));
    let step = entry.step.as_ref().map(|keys| ManagerSpec::Step(keys.params()));
    let sampling = entry.sampling.as_ref().map(|keys| ManagerSpec::Sampling(keys.params()));
    let given: Vec<ManagerSpec> = [red, step, sampling].into_iter().flatten().collect();
    let one_of = format!("expected exactly one of {}", ManagerSpec::NAMES.join(", "));
    match given[..] {
        [spec] => {
            if let Err((key, why)) = spec.check() {
                let (message, help) = why.split_once("; ").unwrap_or((&why, "expected another value"));
                context.error(&at.key(spec.name()).key(key), message, help);
            }
            Some(spec)
        }
        [] => {
            context.error(at, "an entry without a queue manager", one_of);
            None
        }
        [first, second, ..] => {
            let (first, second) = (first.name(), second.name());
            context.error(&at.key(second), format!("both {first} and {second}"), one_of);
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
    let Some(spec) = keys.spec(bytes) else {
        let alpha = keys.alpha.unwrap_or(1.0);
        let nearest = ((alpha * 1024.0).round() / 1024.0).clamp(1.0 / 1024.0, 1024.0);
        let nearest = if nearest.is_nan() { 1.0 } else { nearest };
        context.error(
            &at.key("alpha"),
            format!("alpha is {alpha}"),
            format!("expected 1/1024 to 1024 in steps of 1/1024, such as {nearest}"),
        );
        return None;
    };
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
