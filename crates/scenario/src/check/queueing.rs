//! Queue managers and shared memories of switches.

use super::Context;
use crate::place::Place;
use fabric::spec::LimiterSpec;
use frame::ClassMap;
use queueing::{
    DynamicThreshold, ManagerEntry, ManagerSpec, MemoryKeys, PoolsSpec, RateLimiters, SharedMemorySpec,
    assign,
};
use std::sync::Arc;
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
        Ok((control, priorities)) => {
            let (per, mark_after) = (keys.per, keys.mark_after.value());
            Some(LimiterSpec { control, per, priorities, mark_after, priority_burst: keys.priority_burst })
        }
        Err(why) => {
            context.refuse(why, at);
            None
        }
    }
}

/// The memory of a switch in pools.
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

/// The shared memory of a switch with this limit of its total.
pub fn shared_memory(
    keys: Option<&DynamicThreshold>,
    total: Option<Amount>,
    has_lossless_queues: bool,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<SharedMemorySpec> {
    let at = at.key("dynamic_threshold");
    match keys?.spec(total, has_lossless_queues) {
        Ok((spec, warning)) => {
            warning.into_iter().for_each(|why| context.beware(why, &at));
            Some(spec)
        }
        Err(why) => {
            context.refuse(why, &at);
            None
        }
    }
}
