//! Which frames share a rate limiter.

use super::{Part, Plan};
use crate::run::limiters::{Limiter, Planned};
use crate::run::pool::NIL;
use crate::run::world::Fabric;
use crate::spec::{FlowSpec, LimiterSpec, Spec};
use engine::stream;
use queueing::LimiterScope;
use std::collections::BTreeMap;

/// The limiters of all hosts.
#[derive(Debug, Default)]
pub(crate) struct LimiterPlan {
    pub limiters: Vec<Planned>,
    /// By path, the limiter that its frames pass, or [`NIL`]; empty if there is none.
    pub of_path: Vec<u32>,
}

impl LimiterPlan {
    pub fn new(spec: &Spec) -> LimiterPlan {
        let mut plan = LimiterPlan::default();
        if spec.nodes.iter().all(|node| node.host().is_none_or(|host| host.limiters.is_none())) {
            return plan;
        }
        let mut numbers: BTreeMap<(u32, String), u32> = BTreeMap::new();
        for flow in &spec.flows {
            let limiters = spec.nodes[flow.from.at()].host().and_then(|host| host.limiters.as_ref());
            let limiters = limiters.filter(|limiters| limiters.priorities >> flow.priority.0 & 1 != 0);
            for to in flow.path_ends() {
                let number = limiters.map(|limiters| {
                    let name = name(limiters, flow, to.map_or("any", |to| &spec.nodes[to.at()].name));
                    let number = *numbers.entry((flow.from.0, name.clone())).or_insert_with(|| {
                        plan.limiters.push(Planned { host: flow.from, priority: flow.priority, name });
                        plan.limiters.len() as u32 - 1
                    });
                    let planned = &mut plan.limiters[number as usize];
                    planned.priority = planned.priority.max(flow.priority);
                    number
                });
                plan.of_path.push(number.unwrap_or(NIL));
            }
        }
        plan
    }
}

fn name(limiters: &LimiterSpec, flow: &FlowSpec, to: &str) -> String {
    let priority = flow.priority.0;
    match limiters.per {
        LimiterScope::Flow => flow.name.clone(),
        LimiterScope::Destination => format!("to {to}, priority {priority}"),
        LimiterScope::Path => format!("to {to}"),
        LimiterScope::Priority => format!("priority {priority}"),
    }
}

/// The limiters of the part's hosts.
pub fn add_limiters(part: &Part, fabric: &mut Fabric) {
    let (plan, spec): (&Plan, &Spec) = (part.plan, part.plan.spec);
    let mut own = vec![NIL; plan.limiters.limiters.len()];
    for (number, limiter) in (0..).zip(&plan.limiters.limiters) {
        let node = &spec.nodes[limiter.host.at()];
        let Some(limiters) = node.host().and_then(|host| host.limiters.as_ref()) else { continue };
        let Some(port) = plan.wiring.ports(limiter.host).next().filter(|_| part.owns(limiter.host)) else {
            continue;
        };
        let random = stream(spec.seed, &format!("node/{}/limiter/{}", node.name, limiter.name));
        own[number as usize] = fabric.hosts.limiters.len() as u32;
        fabric.hosts.limiters.push(Limiter::new(number, limiter, limiters, plan.link(port.0).rate, random));
        fabric.node_of.push(part.node(limiter.host));
        super::traffic::set_feeds(part, fabric, limiter.host);
    }
    let here = |&number: &u32| if number == NIL { NIL } else { own[number as usize] };
    fabric.hosts.limiter_of_path = plan.limiters.of_path.iter().map(here).collect();
    let hosts = &mut fabric.hosts;
    for state in hosts.endpoints.iter_mut().filter(|state| state.behind.is_none()) {
        state.limiter = hosts.limiter_of_path.get(state.path as usize).copied().unwrap_or(NIL);
    }
    for source in &mut hosts.sources {
        // Of a flow with several destinations all pass limiters, or none does.
        let first = hosts.limiter_of_path.get(source.first_path as usize);
        source.limited = first.is_some_and(|&nth| nth != NIL);
        source.plain &= !source.limited;
    }
}
