//! Checks whether queues can deadlock, that is, wait for each other in a cycle.

use super::{Audit, Subject};
use crate::spec::detours::{Detours, takes_detours};
use crate::spec::{OnDeadlock, Way};
use flow_control::Accounting;
use frame::NodeId;
use keys::Remark;

pub(super) fn check(layered: bool, audit: &mut Audit<'_>) {
    let spec = audit.spec;
    if layered && cannot_deadlock(audit) {
        return;
    }
    let has_credits = spec.nodes.iter().any(|node| node.credits().is_some());
    let refused = has_credits && spec.guards.on_deadlock == OnDeadlock::Stop;
    // Where a deadlock is only a warning, a large fabric is not worth building for it.
    if !refused && crate::simulation::dependencies::takes_long(spec) {
        return;
    }
    let Ok(Some(cycle)) = crate::dependency_cycle(spec) else { return };
    let then = if refused {
        "set on_deadlock = \"count\" to run it regardless"
    } else {
        "a run reports a deadlock if one occurs"
    };
    let help = format!("use routes that go up first and then down, which cannot deadlock; {then}");
    let remark = Remark::about("flow_control", crate::simulation::credits::circle(&cycle), help);
    if refused { audit.error(Subject::Scenario, remark) } else { audit.warn(Subject::Scenario, remark) }
}

/// Checks that detours lead through groups that are linked to each other, and that senders do not use the labels of
/// detours.
pub(super) fn check_detours(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let takes = |&node: &usize| takes_detours(&spec.nodes[node]);
    let Some(first) = (0..spec.nodes.len()).find(takes) else { return };
    let node = Subject::Node(NodeId(first as u32));
    let about = |why: Remark| why.within("path_choice");
    if let Err(why) = Detours::new(spec, &spec.wiring()) {
        return audit.error(node, about(why));
    }
    let is_missing = |&node: &usize| spec.nodes[node].switch().is_some() && !takes_detours(&spec.nodes[node]);
    if let Some(other) = (0..spec.nodes.len()).find(is_missing) {
        let message = format!(
            "\"{}\" sends frames through third groups, and \"{}\" does not",
            spec.nodes[first].name, spec.nodes[other].name
        );
        return audit
            .error(node, about(Remark::new(message, "expected the same path_choice at all switches")));
    }
    if let Some(flow) = spec.flows.iter().find(|flow| flow.gives_entropy()) {
        let message = format!("\"{}\" chooses paths at its sender, and switches do so as well", flow.name);
        let help = "expected paths = \"fixed\", or path_choice = \"hash\"";
        audit.error(node, about(Remark::new(message, help)));
    }
}

/// Returns true if no cycle is possible. Shortest paths in trees and layered fabrics go up, then down: if pauses go
/// only to the ports where frames arrived, there is no cycle, and the paths of large fabrics need not be checked. Where
/// links fail, shortest paths may turn up again.
fn cannot_deadlock(audit: &Audit<'_>) -> bool {
    let spec = audit.spec;
    let by_egress = spec
        .nodes
        .iter()
        .filter_map(|node| node.switch())
        .any(|switch| switch.pauses().is_some_and(|control| control.accounting == Accounting::Egress));
    !by_egress && spec.faults.is_empty() && spec.flows.iter().all(|flow| !matches!(flow.way, Way::Along(_)))
}
