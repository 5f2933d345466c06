//! Whether rate limiters and congestion points meet: each needs the other, and tags need receivers that return them.

use super::{Audit, Subject};
use crate::spec::{FlowSpec, HostSpec, LimiterSpec, Spec, SwitchSpec, Way};
use frame::{NodeId, Priority};
use keys::Remark;
use queueing::{LimiterScope, ManagerSpec, RateConfiguration, RateControlSpec};

/// A control of rate limiters, and the first host that has it.
type Limited = (&'static str, NodeId);

pub(super) fn check(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let mut limited: Vec<Limited> = Vec::new();
    for (id, node) in (0..).map(NodeId).zip(&spec.nodes) {
        let Some(limiters) = node.host().and_then(|host| host.limiters.as_ref()) else { continue };
        let control = limiters.control.name();
        if !limited.iter().any(|&(name, _)| name == control) {
            limited.push((control, id));
            let doubt = limiters.control.doubt().or_else(|| doubt_with_points(&limiters.control, spec));
            if let Some(doubt) = doubt {
                audit.warn(Subject::Node(id), about_limiters(doubt.message, doubt.help));
            }
        }
    }
    let managers = spec.nodes.iter().filter_map(|node| node.switch()).flat_map(|switch| &switch.managers);
    let mut telling: Vec<&str> = managers.flatten().map(ManagerSpec::name).collect();
    telling.sort_unstable();
    telling.dedup();
    for &(control, host) in limited.iter().filter(|(control, _)| !telling.contains(control)) {
        let message = format!("rate limiters of {control}, but no switch tells them of congestion");
        let help = format!("they limit nothing: expected {control} among the queue_managers of a switch");
        audit.warn(Subject::Node(host), about_limiters(message, help));
    }
    let is_told = |name: &&&str| !limited.iter().any(|(control, _)| control == *name);
    for name in telling.iter().filter(|name| RateControlSpec::NAMES.contains(name)).filter(is_told) {
        let message = format!("{name} tells sources of congestion, but no host has rate limiters of it");
        let help = format!("messages have no effect: expected rate_limiters = {{ {name} = {{}} }} in [host]");
        let remark = Remark::about("queue_managers", message, help).within("switch");
        audit.warn(Subject::Scenario, remark);
    }
    check_classes(&limited, audit);
    check_returns(audit);
    check_listed(audit);
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
    let is_limited = |flow: &&FlowSpec| {
        let own = spec.nodes[flow.from.at()].host().and_then(|host| host.limiters.as_ref());
        own.is_some_and(|own| {
            matches!(own.per, LimiterScope::Destination | LimiterScope::Path)
                && own.priorities >> flow.priority.0 & 1 != 0
        })
    };
    let mut unlisted = spec.flows.iter().filter(|flow| flow.way == Way::ByDestination);
    let Some(flow) = unlisted.find(is_limited) else { return };
    let message = format!("rate limiters for each destination of \"{}\", which has too many", flow.name);
    let help = "expected per = \"flow\" or \"priority\", or fewer senders and destinations".to_string();
    audit.error(Subject::Node(flow.from), about_limiters(message, help).key("per"));
}

fn about_limiters(message: String, help: String) -> Remark {
    Remark::about("rate_limiters", message, help)
}

/// A priority whose frames pass limiters needs congestion points of the same scheme in its class somewhere.
fn check_classes(limited: &[Limited], audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let switches: Vec<&SwitchSpec> = spec.nodes.iter().filter_map(|node| node.switch()).collect();
    let manages = |switch: &&SwitchSpec, control: &str, priority: Option<Priority>| {
        let own = switch.managers.iter().enumerate();
        let mut own = own.filter(|(_, manager)| manager.as_ref().is_some_and(|it| it.name() == control));
        own.any(|(class, _)| priority.is_none_or(|p| switch.classes.class(p).at() == class))
    };
    for &(control, host) in limited {
        let told = |priority| switches.iter().any(|switch| manages(switch, control, priority));
        let left_out = spec.flows.iter().find(|flow| {
            let limiters = spec.nodes[flow.from.at()].host().and_then(|host| host.limiters.as_ref());
            let passes = limiters.is_some_and(|own| {
                own.control.name() == control && own.priorities >> flow.priority.0 & 1 != 0
            });
            passes && told(None) && !told(Some(flow.priority))
        });
        if let Some(flow) = left_out {
            let priority = flow.priority.0;
            let message = format!(
                "priority {priority} passes rate limiters of {control}, but no class of it has its switch part"
            );
            let help = format!(
                "expected {control} in the class of priority {priority}, or other priorities in rate_limiters"
            );
            audit.warn(Subject::Node(host), about_limiters(message, help));
        }
    }
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
