//! Assigns frames to rate limiters.

use super::{Part, Plan};
use crate::build::whole::WHOLE;
use crate::run::fabric::Fabric;
use crate::run::state::index::LimiterIx;
use crate::run::state::limiters::{Limiter, Planned};
use crate::spec::{FlowSpec, Spec};
use engine::stream;
use frame::{NodeId, PathId};
use queueing::LimiterScope;
use std::collections::BTreeMap;

/// The limiters of all hosts.
#[derive(Debug, Default)]
pub(crate) struct LimiterPlan {
    pub limiters: Vec<Planned>,
    /// By path, the limiters of the frames sent from its near end and from its far end; empty if there are no limiters.
    pub of_path: Vec<[Option<u32>; 2]>,
}

impl LimiterPlan {
    pub fn new(spec: &Spec) -> LimiterPlan {
        let mut plan = LimiterPlan::default();
        if spec.nodes.iter().all(|node| node.host().is_none_or(|host| host.limiters.is_none())) {
            return plan;
        }
        let mut numbers = BTreeMap::new();
        for flow in &spec.flows {
            for to in flow.path_ends() {
                let near = Passing { host: flow.from, to, flow, is_far: false };
                // The far end of a path sends only on connections.
                let far = to.filter(|_| flow.transport.is_some());
                let far = far.map(|host| Passing { host, to: Some(flow.from), flow, is_far: true });
                let ends = [Some(near), far].map(|end| plan.number(spec, &end?, &mut numbers));
                plan.of_path.push(ends);
            }
        }
        plan.find_lowest(spec);
        plan
    }

    /// Sets the lowest priority of limiters by path, which depends on all paths of their host.
    fn find_lowest(&mut self, spec: &Spec) {
        let by_path = |host: NodeId| {
            let limiters = spec.nodes[host.at()].host().and_then(|host| host.limiters.as_ref());
            limiters.is_some_and(|limiters| limiters.per == LimiterScope::Path)
        };
        let mut lowest = BTreeMap::new();
        for limiter in &self.limiters {
            let of_host = lowest.entry(limiter.host).or_insert(limiter.lowest);
            *of_host = limiter.lowest.min(*of_host);
        }
        for limiter in self.limiters.iter_mut().filter(|limiter| by_path(limiter.host)) {
            limiter.lowest = lowest[&limiter.host];
        }
    }

    /// Returns the number of the limiter that frames pass, if any.
    fn number(
        &mut self,
        spec: &Spec,
        passing: &Passing<'_>,
        numbers: &mut BTreeMap<(NodeId, String), u32>,
    ) -> Option<u32> {
        let Passing { host, flow, .. } = *passing;
        let limiters = spec.nodes[host.at()].host()?.limiters.as_ref()?;
        if limiters.priorities >> flow.priority.0 & 1 == 0 {
            return None;
        }
        let name = passing.limiter(limiters.per, spec);
        let number = *numbers.entry((host, name.clone())).or_insert_with(|| {
            self.limiters.push(Planned { host, priority: flow.priority, lowest: flow.priority, name });
            self.limiters.len() as u32 - 1
        });
        let planned = &mut self.limiters[number as usize];
        planned.priority = planned.priority.max(flow.priority);
        planned.lowest = planned.lowest.min(flow.priority);
        Some(number)
    }
}

/// Frames of a host for one destination of a flow, or for any destination.
struct Passing<'a> {
    host: NodeId,
    to: Option<NodeId>,
    flow: &'a FlowSpec,
    /// True if the host is the far end of a connection.
    is_far: bool,
}

impl Passing<'_> {
    /// Name of the limiter that the frames share.
    fn limiter(&self, per: LimiterScope, spec: &Spec) -> String {
        let to = self.to.map_or("any", |to| &spec.nodes[to.at()].name);
        let priority = self.flow.priority.0;
        match per {
            LimiterScope::Flow if self.is_far => format!("answers of {}", self.flow.name),
            LimiterScope::Flow => self.flow.name.clone(),
            LimiterScope::Destination => format!("to {to}, priority {priority}"),
            LimiterScope::Path => format!("to {to}"),
            LimiterScope::Priority => format!("priority {priority}"),
        }
    }
}

/// Adds the limiters of the part's hosts.
pub fn add_limiters(part: &Part, fabric: &mut Fabric) {
    let (plan, spec): (&Plan, &Spec) = (part.plan, part.plan.spec);
    let mut own = vec![None; plan.limiters.limiters.len()];
    for (number, limiter) in (0..).zip(&plan.limiters.limiters) {
        let node = &spec.nodes[limiter.host.at()];
        let Some(limiters) = node.host().and_then(|host| host.limiters.as_ref()) else { continue };
        let Some(port) = plan.wiring.ports(limiter.host).next().filter(|_| part.owns(limiter.host)) else {
            continue;
        };
        let random = stream(spec.seed, &format!("node/{}/limiter/{}", node.name, limiter.name));
        own[number as usize] = Some(fabric.hosts.limiters.next_key(WHOLE));
        let (place, rate) = (fabric.node_of.0.next_key(WHOLE), plan.rate(port.0));
        fabric.hosts.limiters.push(Limiter::new((number, place), limiter, limiters, rate, random), WHOLE);
        fabric.node_of.0.push(part.node(limiter.host), WHOLE);
        super::traffic::set_feeds(part, fabric, limiter.host);
    }
    let here = |number: &Option<u32>| own[(*number)? as usize];
    fabric.hosts.limiters_of_path =
        plan.limiters.of_path.iter().map(|ends| ends.each_ref().map(here)).collect();
    let hosts = &mut fabric.hosts;
    for (path, &[near, _]) in (0..).zip(&hosts.limiters_of_path) {
        if let Some(near) = near {
            hosts.limiters[near].line.add_path(PathId(path));
        }
    }
    for state in hosts.endpoints.all_mut(WHOLE) {
        let ends = hosts.limiters_of_path.get(state.path as usize);
        state.limiter = ends.and_then(|ends| ends[usize::from(state.behind.is_some())]);
    }
    for source in hosts.sources.all_mut(WHOLE) {
        // Either all destinations of a flow pass limiters, or none does.
        let first = hosts.limiters_of_path.get(source.first_path as usize);
        source.limited = first.is_some_and(|ends| ends[0].is_some());
        if source.limited && source.plain {
            source.plain = false;
            let paths = source.first_path as usize..;
            let paths = paths.take(spec.flows[source.flow as usize].paths());
            source.limiter = only_one(paths.map(|path| hosts.limiters_of_path[path][0]));
        }
    }
}

/// Returns the limiter if all of them are equal.
fn only_one(mut limiters: impl Iterator<Item = Option<LimiterIx>>) -> Option<LimiterIx> {
    let first = limiters.next()?;
    if limiters.all(|limiter| limiter == first) { first } else { None }
}
