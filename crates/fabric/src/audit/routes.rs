//! Whether queues can come to wait for each other in a circle.

use super::{Audit, Subject};
use crate::spec::{OnDeadlock, Way};
use flow_control::Accounting;
use keys::Remark;

pub(super) fn check(layered: bool, audit: &mut Audit<'_>) {
    let spec = audit.spec;
    if layered && cannot_deadlock(audit) {
        return;
    }
    let has_credits = spec.nodes.iter().any(|node| node.credits().is_some());
    let refused = has_credits && spec.guards.on_deadlock == OnDeadlock::Stop;
    // Where it is only a warning it is not worth building a large fabric for.
    if !refused && crate::simulation::dependencies::takes_long(spec) {
        return;
    }
    let Ok(Some(cycle)) = crate::dependency_cycle(spec) else { return };
    let then = if refused {
        "a circle of credits is run only with on_deadlock = \"count\""
    } else {
        "a run tells when a circle closes"
    };
    let help = format!("no deadlock can occur if every route goes up first and then down; {then}");
    let remark = Remark::about("flow_control", crate::simulation::credits::circle(&cycle), help);
    if refused { audit.error(Subject::Scenario, remark) } else { audit.warn(Subject::Scenario, remark) }
}

/// Shortest paths in trees and layered fabrics go up, then down; with pauses that go only to where frames came
/// from, no circle is possible, and the paths of large fabrics need not be looked at. Where links fail, shortest
/// paths may turn up again.
fn cannot_deadlock(audit: &Audit<'_>) -> bool {
    let spec = audit.spec;
    let by_egress = spec
        .nodes
        .iter()
        .filter_map(|node| node.switch())
        .any(|switch| switch.pauses().is_some_and(|control| control.accounting == Accounting::Egress));
    !by_egress && spec.faults.is_empty() && spec.flows.iter().all(|flow| !matches!(flow.way, Way::Along(_)))
}
