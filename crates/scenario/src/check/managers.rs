//! Whether queue managers meet those who understand them: marks need endpoints, drops lossy classes, messages rate
//! limiters, and these messages.

use super::Context;
use crate::model::Model;
use crate::place::Place;
use fabric::PauseNeeds;
use fabric::spec::{FlowSpec, Role, Spec, SwitchSpec, Way};
use flow_control::Accounting;
use frame::{NodeId, Priority, TrafficClass};
use queueing::{Configuration, LimiterScope, ManagerEntry, ManagerSpec, RateConfiguration, RateControlSpec};
use std::collections::BTreeSet;
use units::{Amount, Bytes};

/// Checks the managers of each table of settings once, at the first switch that has them.
pub fn check(model: &Model, spec: &Spec, needs: &[PauseNeeds], context: &mut Context<'_>) {
    check_limiters(model, spec, context);
    let mut seen = BTreeSet::new();
    for (id, node) in (0..).map(NodeId).zip(&spec.nodes) {
        let Role::Switch(switch) = &node.role else { continue };
        let own = model.switches.get(&node.name).and_then(|own| own.queue_managers.as_ref());
        let table = match own {
            Some(_) => Place::of("switches").key(&node.name),
            None => Place::of("switch"),
        };
        let Some(entries) = own.or(model.switch.queue_managers.as_ref()) else { continue };
        if !seen.insert((own.map(|_| &node.name), lossless(switch))) {
            continue;
        }
        for (index, entry) in entries.iter().enumerate() {
            let at = table.key("queue_managers").index(index);
            check_entry(entry, entries, switch, spec, &at, context);
            if let Ok(manager) = entry.manager()
                && let Some(set_point) = manager.set_point()
            {
                let most = longest_queue(id, switch, spec, needs);
                check_set_point(set_point, most, &at.key(manager.name()), context);
            }
        }
    }
}

fn check_entry(
    entry: &ManagerEntry,
    entries: &[ManagerEntry],
    switch: &SwitchSpec,
    spec: &Spec,
    at: &Place,
    context: &mut Context<'_>,
) {
    let Ok(manager) = entry.manager() else { return };
    let class = |flow: &FlowSpec| u32::from(switch.classes.class(flow.priority).0);
    let manages = |flow: &&FlowSpec| match &entry.classes {
        Some(_) => entry.names(class(flow)),
        None => !entries.iter().any(|other| other.names(class(flow))),
    };
    let flows: Vec<&FlowSpec> = spec.flows.iter().filter(manages).collect();
    let (name, at) = (manager.name(), at.key(manager.name()));
    if let Some(instead) = manager.unmarked()
        && !flows.is_empty()
        && !flows.iter().any(|flow| understands_marks(flow))
    {
        context.warn(
            &at,
            format!("{name} marks frames, but no flow in its classes understands marks"),
            format!(
                "{instead}: expected ecn = true in the source of a connection (window, request_response), or ecn = \"rfc3168\" (tcp)"
            ),
        );
    }
    let kept = flows.iter().find(|flow| lossless(switch) >> flow.priority.0 & 1 != 0);
    if let (Some((what, instead)), Some(flow)) = (manager.drops(), kept) {
        let priority = flow.priority.0;
        let TrafficClass(class) = switch.classes.class(flow.priority);
        context.warn(
            &at,
            format!("{name} {what} in class {class}, whose priority {priority} flow control keeps lossless"),
            format!("expected {instead}, or classes without flow control"),
        );
    }
}

/// How many bytes a queue of a switch can hold, as far as a limit or XOFF at all of its ports says, and which of them.
fn longest_queue(
    id: NodeId,
    switch: &SwitchSpec,
    spec: &Spec,
    needs: &[PauseNeeds],
) -> Option<(u64, &'static str)> {
    let most = spec.flows.iter().map(|flow| u64::from(flow.frame_bounds().1)).max().unwrap_or_default();
    let bytes = |amount: Amount| match amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Frames(frames) => frames.saturating_mul(most),
    };
    let limit = switch.buffer.queue.map(|limit| (bytes(limit), "the limit of a queue"));
    let paused = spec.flows.iter().all(|flow| lossless(switch) >> flow.priority.0 & 1 != 0);
    let levels: Vec<u64> =
        needs.iter().filter(|need| need.node == id).map(|need| bytes(need.levels.xoff)).collect();
    // What comes in through all ports but the one that it leaves by; where queues are counted, one XOFF is all.
    let by_egress = switch.flow_control.as_ref().is_some_and(|own| own.accounting == Accounting::Egress);
    let others = if by_egress { 1 } else { levels.len().saturating_sub(1) };
    let highest = levels.iter().max().filter(|_| paused);
    let xoff = highest.map(|xoff| (xoff.saturating_mul(others as u64), "XOFF at all other ports"));
    limit.into_iter().chain(xoff).min_by_key(|&(bytes, _)| bytes)
}

/// A queue that cannot reach its set point tells nobody but when it grows fast.
fn check_set_point(set_point: Bytes, most: Option<(u64, &str)>, at: &Place, context: &mut Context<'_>) {
    if let Some((bytes, what)) = most.filter(|&(bytes, _)| bytes < set_point.get()) {
        context.warn(
            at,
            format!("a set point of {set_point}, but {what} keeps queues below {}", Bytes::new(bytes)),
            "sources hear of queues that grow fast alone: expected a set_point below that, or more room",
        );
    }
}

/// Congestion points and rate limiters of one scheme need each other, and tags need receivers that return them.
fn check_limiters(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let mut limited: Vec<(&'static str, Place)> = Vec::new();
    for node in &spec.nodes {
        let Some(limiters) = node.host().and_then(|host| host.limiters.as_ref()) else { continue };
        let control = limiters.control.name();
        if !limited.iter().any(|&(name, _)| name == control) {
            let at = limiters_at(model, &node.name);
            if let Some(doubt) = limiters.control.doubt() {
                context.warn(&at, doubt.message, doubt.help);
            }
            limited.push((control, at));
        }
    }
    let managers = spec.nodes.iter().filter_map(|node| node.switch()).flat_map(|switch| &switch.managers);
    let mut telling: Vec<&str> = managers.flatten().map(ManagerSpec::name).collect();
    telling.sort_unstable();
    telling.dedup();
    for (control, at) in limited.iter().filter(|(control, _)| !telling.contains(control)) {
        context.warn(
            at,
            format!("rate limiters of {control}, but no switch tells them of congestion"),
            format!("they limit nothing: expected {control} among the queue_managers of a switch"),
        );
    }
    let told = |name: &&&str| !limited.iter().any(|(control, _)| control == *name);
    for name in telling.iter().filter(|name| RateControlSpec::NAMES.contains(name)).filter(told) {
        context.warn(
            &Place::of("switch").key("queue_managers"),
            format!("{name} tells sources of congestion, but no host has rate limiters of it"),
            format!("messages have no effect: expected rate_limiters = {{ {name} = {{}} }} in [host]"),
        );
    }
    check_classes(spec, &limited, context);
    check_returns(model, spec, context);
    check_listed(model, spec, context);
}

/// A limiter for each destination needs destinations that are listed.
fn check_listed(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let is_limited = |flow: &&FlowSpec| {
        let own = spec.nodes[flow.from.at()].host().and_then(|host| host.limiters.as_ref());
        own.is_some_and(|own| {
            own.per == LimiterScope::Destination && own.priorities >> flow.priority.0 & 1 != 0
        })
    };
    let mut unlisted = spec.flows.iter().filter(|flow| flow.way == Way::ByDestination);
    let Some(flow) = unlisted.find(is_limited) else { return };
    context.error(
        &limiters_at(model, &spec.nodes[flow.from.at()].name).key("per"),
        format!("rate limiters for each destination of \"{}\", which has too many", flow.name),
        "expected per = \"flow\" or \"priority\", or fewer senders and destinations",
    );
}

/// Where the rate limiters of a host are written.
fn limiters_at(model: &Model, host: &str) -> Place {
    let own = model.hosts.get(host).is_some_and(|own| own.rate_limiters.is_some());
    let at = if own { Place::of("hosts").key(host) } else { Place::of("host") };
    at.key("rate_limiters")
}

/// A priority whose frames pass limiters needs congestion points of the same scheme in its class somewhere.
fn check_classes(spec: &Spec, limited: &[(&str, Place)], context: &mut Context<'_>) {
    let switches: Vec<&SwitchSpec> = spec.nodes.iter().filter_map(|node| node.switch()).collect();
    let manages = |switch: &&SwitchSpec, control: &str, priority: Option<Priority>| {
        let own = switch.managers.iter().enumerate();
        let own = own.filter(|(_, manager)| manager.as_ref().is_some_and(|it| it.name() == control));
        own.into_iter().any(|(class, _)| priority.is_none_or(|p| switch.classes.class(p).at() == class))
    };
    for (control, at) in limited {
        let told = |priority| switches.iter().any(|switch| manages(switch, control, priority));
        let left_out = spec.flows.iter().find(|flow| {
            let limiters = spec.nodes[flow.from.at()].host().and_then(|host| host.limiters.as_ref());
            let passes = limiters.is_some_and(|own| {
                own.control.name() == *control && own.priorities >> flow.priority.0 & 1 != 0
            });
            passes && told(None) && !told(Some(flow.priority))
        });
        if let Some(flow) = left_out {
            let priority = flow.priority.0;
            context.warn(
                at,
                format!("priority {priority} passes rate limiters of {control}, but no class of it has its switch part"),
                format!("expected {control} in the class of priority {priority}, or other priorities in rate_limiters"),
            );
        }
    }
}

/// Who sends rate-discovery tags needs a receiver that returns them.
fn check_returns(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let limiters = |id: NodeId| spec.nodes[id.at()].host().and_then(|host| host.limiters.as_ref());
    let returns = |id| limiters(id).is_some_and(|own| own.control.return_priority().is_some());
    for flow in &spec.flows {
        let tags = limiters(flow.from).filter(|own| own.priorities >> flow.priority.0 & 1 != 0);
        let Some(own) = tags.filter(|own| own.control.return_priority().is_some()) else { continue };
        let to = flow.source.destinations.nodes();
        let Some(mute) = to.into_iter().find(|&to| !returns(to)) else { continue };
        let (control, name) = (own.control.name(), &spec.nodes[mute.at()].name);
        context.error(
            &limiters_at(model, &spec.nodes[flow.from.at()].name),
            format!(
                "flow \"{}\" sends tags of {control}, but its receiver \"{name}\" cannot return them",
                flow.name
            ),
            format!("expected rate_limiters = {{ {control} = {{}} }} at \"{name}\", too"),
        );
        return;
    }
}

fn understands_marks(flow: &FlowSpec) -> bool {
    flow.transport.as_ref().is_some_and(|connection| connection.application.is_ecn_capable())
}

/// Priorities that flow control of a switch keeps from loss.
fn lossless(switch: &SwitchSpec) -> u8 {
    switch.flow_control.as_ref().map_or(0, |control| control.kind.priorities())
}
