//! Checks that rate limiters and congestion points match: each needs the other, and tags need receivers that return
//! them.

use super::{Audit, Subject};
use crate::build::paths::nodes_passed;
use crate::spec::{ControlContent, FaultSpec, FlowSpec, LimiterSpec, LinkSpec, Spec, SwitchSpec, Way};
use frame::{NodeId, Priority};
use keys::Remark;
use queueing::{LimiterScope, ManagerSpec, RateConfiguration, RateControlSpec};
use std::collections::BTreeMap;
use units::Bytes;

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
        for remark in unused_with_points(&limiters.control, spec) {
            audit.warn(Subject::Node(id), remark.within("rate_limiters"));
        }
    }
    check_listeners(&limited, audit);
    check_points(audit);
    check_returns(audit);
    check_listed(audit);
}

/// Reports congestion points whose messages no limiter handles.
fn check_listeners(limited: &[&str], audit: &mut Audit<'_>) {
    let mut feedback: Vec<&str> = audit.spec.managers().map(ManagerSpec::name).collect();
    feedback.sort_unstable();
    feedback.dedup();
    for name in
        feedback.iter().filter(|name| RateControlSpec::NAMES.contains(name) && !limited.contains(name))
    {
        let message = format!("{name} sends feedback to sources, but no host has rate limiters for it");
        let help = format!("messages have no effect: expected rate_limiters = {{ {name} = {{}} }} in [host]");
        let remark = Remark::about("queue_managers", message, help).within("switch");
        audit.warn(Subject::Scenario, remark);
    }
}

/// Warns about a control combined with a congestion point of its scheme. Gains are compared with the slowest link, so
/// that gains that suit it are right for at least one place.
fn doubt_with_points(control: &RateControlSpec, spec: &Spec) -> Option<Remark> {
    let link = spec.links.iter().map(LinkSpec::slowest).min()?;
    spec.managers()
        .filter(|point| point.name() == control.name())
        .find_map(|point| control.doubt_with(point, link))
}

/// Returns the keys of a control that have no effect with any congestion point of its scheme.
fn unused_with_points(control: &RateControlSpec, spec: &Spec) -> Vec<Remark> {
    let mut each = spec
        .managers()
        .filter(|point| point.name() == control.name())
        .map(|point| control.unused_with(point));
    let first = each.next().unwrap_or_default();
    each.fold(first, |all, own| all.into_iter().filter(|one| own.contains(one)).collect())
}

/// Checks that a limiter per destination has listed destinations.
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

/// Returns the limiters that the frames of a flow pass at this host.
fn limiters_at<'a>(spec: &'a Spec, host: NodeId, flow: &FlowSpec) -> Option<&'a LimiterSpec> {
    let own = spec.nodes[host.at()].host().and_then(|host| host.limiters.as_ref());
    own.filter(|own| own.priorities >> flow.priority.0 & 1 != 0)
}

/// Returns the limiters of a flow at its sender.
fn limiters_of<'a>(spec: &'a Spec, flow: &FlowSpec) -> Option<&'a LimiterSpec> {
    limiters_at(spec, flow.from, flow)
}

/// Returns the limiters that frames of a flow pass at either end, with their hosts. Connections send in both
/// directions.
fn limiters_on<'a>(spec: &'a Spec, flow: &FlowSpec) -> Vec<(&'a LimiterSpec, NodeId)> {
    let answers = if flow.transport.is_some() { flow.source.destinations.nodes() } else { Vec::new() };
    let hosts = [flow.from].into_iter().chain(answers);
    hosts.filter_map(|host| Some((limiters_at(spec, host, flow)?, host))).collect()
}

/// Checks that the path of each limited priority has a congestion point of the limiter's scheme in its class. Without
/// one, only scheduled control frames that no station sends can notify the limiter.
fn check_points(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let gets_messages = |fault: &FaultSpec| {
        matches!(fault, FaultSpec::ControlFrame { content: ControlContent::Congestion { .. }, .. })
    };
    if spec.faults.iter().any(gets_messages) {
        return;
    }
    let mut limited: BTreeMap<(&str, Priority), NodeId> = BTreeMap::new();
    for flow in &spec.flows {
        for (own, host) in limiters_on(spec, flow).into_iter().filter(|(own, _)| own.control.needs_points()) {
            limited.entry((own.control.name(), flow.priority)).or_insert(host);
        }
    }
    for ((control, priority), host) in limited {
        if meets_points(spec, control, priority) {
            continue;
        }
        let message = format!(
            "priority {0} passes rate limiters of {control}, but no switch on its paths has congestion points for them",
            priority.0
        );
        let help = format!(
            "the limiters have no effect: expected {control} among the queue_managers in the class of priority {0}, or rate_limiters with other priorities",
            priority.0
        );
        audit.error(Subject::Node(host), about_limiters(message, help));
    }
}

/// Returns true if limited frames of a priority can meet a congestion point of this control.
fn meets_points(spec: &Spec, control: &str, priority: Priority) -> bool {
    let receives = |node: NodeId| {
        let host = spec.nodes[node.at()].host();
        let buffer = host.and_then(|host| host.receive.as_ref()?.buffer);
        let limiters = host.and_then(|host| host.limiters.as_ref());
        buffer.zip(limiters).is_some_and(|(buffer, own)| {
            own.control.name() == control && own.control.receiver_point(Bytes::new(buffer)).is_some()
        })
    };
    let mut to = spec.flows.iter().filter(|flow| flow.priority == priority);
    if to.any(|flow| flow.source.destinations.nodes().into_iter().any(receives)) {
        return true;
    }
    let manages = |switch: &SwitchSpec| {
        switch.managers.of_class(switch.classes.class(priority).at()).any(|own| own.name() == control)
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
        flow.priority == priority
            && limiters_on(spec, flow).into_iter().any(|(own, _)| own.control.name() == control)
    };
    let meets = |node: NodeId| spec.nodes[node.at()].switch().is_some_and(manages);
    // A path that cannot be built is reported by the run.
    nodes_passed(spec, passes).is_none_or(|nodes| nodes.into_iter().any(meets))
}

/// Checks that receivers return the tags of senders that use rate-discovery tags. These receivers include the far ends
/// of connections, which send answers.
fn check_returns(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let tags = |own: &&LimiterSpec| own.control.return_priority().is_some();
    let returns = |id: NodeId| {
        let host = spec.nodes[id.at()].host();
        host.and_then(|host| host.limiters.as_ref()).filter(tags).is_some()
    };
    for flow in &spec.flows {
        let sends_tags = |from: NodeId| limiters_at(spec, from, flow).filter(tags);
        let to = flow.source.destinations.nodes();
        let near = sends_tags(flow.from).and_then(|own| {
            Some((own, flow.from, "its receiver", to.iter().copied().find(|&to| !returns(to))?))
        });
        let answers = flow.transport.is_some() && !returns(flow.from);
        let far = || {
            let found = to.iter().filter(|_| answers).find_map(|&to| Some((sends_tags(to)?, to)));
            found.map(|(own, to)| (own, to, "who opens it", flow.from))
        };
        let Some((own, host, whose, mute)) = near.or_else(far) else { continue };
        let (control, name) = (own.control.name(), &spec.nodes[mute.at()].name);
        let message = format!(
            "flow \"{}\" sends tags of {control}, but {whose} \"{name}\" cannot return them",
            flow.name
        );
        let help = format!("expected rate_limiters = {{ {control} = {{}} }} at \"{name}\", too");
        return audit.error(Subject::Node(host), about_limiters(message, help));
    }
}
