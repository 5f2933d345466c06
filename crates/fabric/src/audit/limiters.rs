//! Whether rate limiters and congestion points meet: each needs the other, and tags need receivers that return them.

use super::{Audit, Subject};
use crate::build::paths::nodes_passed;
use crate::spec::{FlowSpec, HostSpec, LimiterSpec, Spec, SwitchSpec, Way};
use frame::{NodeId, Priority};
use keys::Remark;
use queueing::{LimiterScope, ManagerSpec, RateConfiguration, RateControlSpec};
use std::collections::BTreeMap;

pub(super) fn check(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let mut limited: Vec<&str> = Vec::new();
    for (id, node) in (0..).map(NodeId).zip(&spec.nodes) {
        let Some(limiters) = node.host().and_then(|host| host.limiters.as_ref()) else { continue };
        let control = limiters.control.name();
        if limited.contains(&control) {
            continue;
        }
        limited.push(control);
        let doubt = limiters.control.doubt().or_else(|| doubt_with_points(&limiters.control, spec));
        if let Some(doubt) = doubt {
            audit.warn(Subject::Node(id), about_limiters(doubt.message, doubt.help));
        }
    }
    check_listeners(&limited, audit);
    check_points(audit);
    check_returns(audit);
    check_listed(audit);
}

/// Congestion points whose messages no limiter understands.
fn check_listeners(limited: &[&str], audit: &mut Audit<'_>) {
    let managers =
        audit.spec.nodes.iter().filter_map(|node| node.switch()).flat_map(|switch| &switch.managers);
    let mut telling: Vec<&str> = managers.flatten().map(ManagerSpec::name).collect();
    telling.sort_unstable();
    telling.dedup();
    for name in telling.iter().filter(|name| RateControlSpec::NAMES.contains(name) && !limited.contains(name))
    {
        let message = format!("{name} tells sources of congestion, but no host has rate limiters of it");
        let help = format!("messages have no effect: expected rate_limiters = {{ {name} = {{}} }} in [host]");
        let remark = Remark::about("queue_managers", message, help).within("switch");
        audit.warn(Subject::Scenario, remark);
    }
}

/// What to beware of in a control together with the congestion points of its scheme. Gains that suit the slowest link are
/// right for one place at least.
fn doubt_with_points(control: &RateControlSpec, spec: &Spec) -> Option<Remark> {
    let link = spec.links.iter().map(|link| link.rate).min()?;
    let switches = spec.nodes.iter().filter_map(|node| node.switch());
    let points = switches.flat_map(|switch| switch.managers.iter().flatten());
    points.filter(|point| point.name() == control.name()).find_map(|point| control.doubt_with(point, link))
}

/// A limiter for each destination needs destinations that are listed.
fn check_listed(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let by_destination = [LimiterScope::Destination, LimiterScope::Path];
    let is_limited =
        |flow: &&FlowSpec| limiters_of(spec, flow).is_some_and(|own| by_destination.contains(&own.per));
    let mut unlisted = spec.flows.iter().filter(|flow| flow.way == Way::ByDestination);
    let Some(flow) = unlisted.find(is_limited) else { return };
    let message = format!("rate limiters for each destination of \"{}\", which has too many", flow.name);
    let help = "expected per = \"flow\" or \"priority\", or fewer senders and destinations".to_string();
    audit.error(Subject::Node(flow.from), about_limiters(message, help).key("per"));
}

fn about_limiters(message: String, help: String) -> Remark {
    Remark::about("rate_limiters", message, help)
}

/// The limiters that the frames of a flow pass at its sender.
fn limiters_of<'a>(spec: &'a Spec, flow: &FlowSpec) -> Option<&'a LimiterSpec> {
    let own = spec.nodes[flow.from.at()].host().and_then(|host| host.limiters.as_ref());
    own.filter(|own| own.priorities >> flow.priority.0 & 1 != 0)
}

/// A priority whose frames pass limiters needs congestion points of the same scheme in its class, somewhere on a path of
/// its flows: nobody else tells the limiters anything.
fn check_points(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let mut told: BTreeMap<(&str, Priority), bool> = BTreeMap::new();
    let needs = |flow: &&FlowSpec| limiters_of(spec, flow).is_some_and(|own| own.control.needs_points());
    for flow in spec.flows.iter().filter(needs) {
        let Some(own) = limiters_of(spec, flow) else { continue };
        let (control, priority) = (own.control.name(), flow.priority);
        told.entry((control, priority)).or_insert_with(|| meets_points(spec, control, priority));
    }
    for ((control, priority), _) in told.into_iter().filter(|&(_, is_told)| !is_told) {
        let of = |flow: &&FlowSpec| {
            flow.priority == priority
                && limiters_of(spec, flow).is_some_and(|own| own.control.name() == control)
        };
        let Some(flow) = spec.flows.iter().find(of) else { continue };
        let message = format!(
            "priority {0} passes rate limiters of {control}, but no switch on a path of it tells them of congestion",
            priority.0
        );
        let help = format!(
            "they limit nothing: expected {control} among the queue_managers in the class of priority {0}, or rate_limiters with other priorities",
            priority.0
        );
        audit.error(Subject::Node(flow.from), about_limiters(message, help));
    }
}

/// Whether frames of a priority that pass limiters of this control can meet a congestion point of it.
fn meets_points(spec: &Spec, control: &str, priority: Priority) -> bool {
    let manages = |switch: &SwitchSpec| {
        let own = switch.managers.get(switch.classes.class(priority).at()).and_then(Option::as_ref);
        own.is_some_and(|own| own.name() == control)
    };
    let switches: Vec<&SwitchSpec> = spec.nodes.iter().filter_map(|node| node.switch()).collect();
    let fixed = switches.iter().all(|switch| switch.path_choice.is_static())
        && spec.faults.is_empty()
        && spec.flows.iter().all(|flow| flow.way != Way::ByDestination);
    let some = switches.iter().any(|switch| manages(switch));
    if !some || !fixed || switches.iter().all(|switch| manages(switch)) {
        return some;
    }
    let passes = |flow: &FlowSpec| {
        flow.priority == priority && limiters_of(spec, flow).is_some_and(|own| own.control.name() == control)
    };
    let meets = |node: NodeId| spec.nodes[node.at()].switch().is_some_and(manages);
    // What cannot be built is reported when it is run.
    nodes_passed(spec, passes).is_none_or(|nodes| nodes.into_iter().any(meets))
}

/// Who sends rate-discovery tags needs a receiver that returns them.
fn check_returns(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let limiters = |id: NodeId| spec.nodes[id.at()].host().and_then(|host: &HostSpec| host.limiters.as_ref());
    let tags = |own: &&LimiterSpec| own.control.return_priority().is_some();
    for flow in &spec.flows {
        let own = limiters(flow.from).filter(|own| own.priorities >> flow.priority.0 & 1 != 0).filter(tags);
        let Some(own) = own else { continue };
        let to = flow.source.destinations.nodes();
        let Some(mute) = to.into_iter().find(|&to| limiters(to).filter(tags).is_none()) else { continue };
        let (control, name) = (own.control.name(), &spec.nodes[mute.at()].name);
        let message = format!(
            "flow \"{}\" sends tags of {control}, but its receiver \"{name}\" cannot return them",
            flow.name
        );
        let help = format!("expected rate_limiters = {{ {control} = {{}} }} at \"{name}\", too");
        return audit.error(Subject::Node(flow.from), about_limiters(message, help));
    }
}
