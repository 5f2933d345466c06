//! Queue managers and shared memories of switches.

use super::{Context, maps, names};
use crate::model::CODE_POINTS;
use crate::place::Place;
use fabric::spec::LimiterSpec;
use frame::ClassMap;
use queueing::{
    Configuration, DynamicThreshold, ManagerAssignment, ManagerEntry, MemoryKeys, PoolsSpec, RateLimiters,
    SharedMemorySpec, TrimmingKeys, TrimmingSpec, assign,
};
use std::sync::Arc;
use units::Amount;

/// Converts the queue managers of a switch.
pub fn managers(
    entries: &[ManagerEntry],
    classes: ClassMap,
    at: &Place,
    context: &mut Context<'_>,
) -> ManagerAssignment {
    let (managers, wrong) = assign(entries, classes.classes());
    wrong.into_iter().for_each(|why| context.refuse(why, at));
    for (index, entry) in entries.iter().enumerate() {
        if let Ok(manager) = entry.manager() {
            context.unused(manager.unused(), &at.index(index));
        }
    }
    managers
}

/// Converts the rate limiters of a host.
pub fn limiters(keys: Option<&RateLimiters>, at: &Place, context: &mut Context<'_>) -> Option<LimiterSpec> {
    let keys = keys?;
    match keys.spec() {
        Ok((control, priorities)) => {
            context.unused(keys.unused(), at);
            let (per, mark_after) = (keys.per, keys.mark_after.value());
            Some(LimiterSpec { control, per, priorities, mark_after, priority_burst: keys.priority_burst })
        }
        Err(why) => {
            context.refuse(why, at);
            None
        }
    }
}

/// Converts the packet trimming of a switch.
pub fn trimming(
    keys: Option<&TrimmingKeys>,
    at: &Place,
    settings: &maps::Settings<'_>,
    context: &mut Context<'_>,
) -> Option<TrimmingSpec> {
    let keys = keys?;
    context.unused(keys.unused(), at);
    let class_of = maps::classes_of_dscp(settings);
    let of = (settings.switches, settings.at != &Place::of("switch"));
    let spec = keys.spec(
        |dscp| class_of[dscp as usize % CODE_POINTS],
        |nth, names| {
            let at = at.key("dscp_to").index(nth).key("to");
            names::neighbours(names, of, &at, settings.fabric, context)
        },
    );
    match spec {
        Ok(spec) => Some(spec),
        Err(why) => {
            context.refuse(why, at);
            None
        }
    }
}

/// Converts the memory of a switch in pools.
pub fn pools(keys: Option<&MemoryKeys>, at: &Place, context: &mut Context<'_>) -> Option<Arc<PoolsSpec>> {
    let (keys, at) = (keys?, at.key("memory"));
    match keys.spec() {
        Ok(spec) => {
            keys.idle().into_iter().for_each(|why| context.beware(why, &at));
            Some(Arc::new(spec))
        }
        Err(wrong) => {
            wrong.into_iter().for_each(|why| context.refuse(why, &at));
            None
        }
    }
}

/// Converts the shared memory of a switch with this limit of its total.
pub fn shared_memory(
    keys: Option<&DynamicThreshold>,
    total: Option<Amount>,
    has_lossless_queues: bool,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<SharedMemorySpec> {
    let at = at.key("dynamic_threshold");
    match keys?.spec(total, has_lossless_queues) {
        Ok((spec, warnings)) => {
            warnings.into_iter().for_each(|why| context.beware(why, &at));
            Some(spec)
        }
        Err(why) => {
            context.refuse(why, &at);
            None
        }
    }
}
