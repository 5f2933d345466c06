//! Whether queue managers meet flows that understand them: marks need endpoints, drops need lossy classes.

use super::Context;
use crate::model::{Model, QueueManagerEntry, RedAction};
use crate::place::Place;
use fabric::spec::{FlowSpec, Role, Spec, SwitchSpec};
use frame::TrafficClass;
use std::collections::BTreeSet;
use transport::Application;

/// Checks the managers of each table of settings once, at the first switch that has them.
pub fn check(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let mut seen = BTreeSet::new();
    for node in &spec.nodes {
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
        }
    }
}

fn check_entry(
    entry: &QueueManagerEntry,
    entries: &[QueueManagerEntry],
    switch: &SwitchSpec,
    spec: &Spec,
    at: &Place,
    context: &mut Context<'_>,
) {
    let class = |flow: &FlowSpec| u64::from(switch.classes.class(flow.priority).0);
    let named = |entry: &QueueManagerEntry, class: u64| {
        entry.classes.as_ref().is_some_and(|classes| classes.contains(&class))
    };
    let manages = |flow: &&FlowSpec| match &entry.classes {
        Some(_) => named(entry, class(flow)),
        None => !entries.iter().any(|other| named(other, class(flow))),
    };
    let flows: Vec<&FlowSpec> = spec.flows.iter().filter(manages).collect();
    let red_marks = entry.red.as_ref().map(|red| red.action == Some(RedAction::Mark));
    let marks = entry.step.is_some() || red_marks == Some(true);
    let key = if entry.red.is_some() { "red" } else { "step" };
    if marks && !flows.is_empty() && !flows.iter().any(|flow| understands_marks(flow)) {
        let instead = if red_marks.is_some() { "it drops frames instead" } else { "it has no effect" };
        context.warn(
            &at.key(key),
            format!("{key} marks frames, but no flow in its classes understands marks"),
            format!(
                "{instead}: expected ecn = true in the source of a connection (window, request_response)"
            ),
        );
    }
    let kept = flows.iter().find(|flow| lossless(switch) >> flow.priority.0 & 1 != 0);
    if let (Some(marks), Some(flow)) = (red_marks, kept) {
        let priority = flow.priority.0;
        let TrafficClass(class) = switch.classes.class(flow.priority);
        let what = if marks { "drops what it cannot mark, such as acknowledgements" } else { "drops frames" };
        context.warn(
            &at.key("red"),
            format!("red {what} in class {class}, whose priority {priority} flow control keeps lossless"),
            "expected step, which never drops, or classes without flow control",
        );
    }
}

fn understands_marks(flow: &FlowSpec) -> bool {
    flow.transport.as_ref().is_some_and(|connection| match &connection.application {
        Application::Window(spec) => spec.ecn_capable,
        Application::RequestResponse(spec) => spec.ecn_capable,
    })
}

/// Priorities that flow control of a switch keeps from loss.
fn lossless(switch: &SwitchSpec) -> u8 {
    switch.flow_control.as_ref().map_or(0, super::pauses::priorities)
}
