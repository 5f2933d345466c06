//! Whether queue managers meet those who understand them: marks need endpoints, drops lossy classes.

use super::Context;
use crate::model::Model;
use crate::place::Place;
use fabric::PauseNeeds;
use fabric::spec::{FlowSpec, Role, Spec, SwitchSpec};
use frame::{NodeId, TrafficClass};
use queueing::{Configuration, ManagerEntry};
use std::collections::BTreeSet;
use transport::{Application, ApplicationSpec};
use units::{Amount, Bytes};

/// Checks the managers of each table of settings once, at the first switch that has them.
pub fn check(model: &Model, spec: &Spec, needs: &[PauseNeeds], context: &mut Context<'_>) {
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
            format!("{instead}: expected {}", Application::MARKED),
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
    let by_egress = switch.pauses().is_some_and(|own| !own.counts_at_ingress());
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

fn understands_marks(flow: &FlowSpec) -> bool {
    flow.transport.as_ref().is_some_and(|connection| connection.application.understands_marks())
}

/// Priorities that flow control of a switch keeps from loss.
fn lossless(switch: &SwitchSpec) -> u8 {
    switch.pauses().map_or(0, |control| control.kind.priorities())
}
