//! Whether the routes that a fault is to change are there to be changed.

use super::{Audit, Subject};
use crate::spec::{FaultSpec, Way};
use keys::Remark;

/// Flows whose paths are not listed are not rerouted.
pub(super) fn check(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let reroutes = |fault: &FaultSpec| match fault {
        FaultSpec::LinkDown { reaction, .. } | FaultSpec::Random { reaction, .. } => reaction.reroute,
        FaultSpec::Restart { reroute, .. } => *reroute,
        _ => None,
    };
    let Some(fault) = spec.faults.iter().position(|fault| reroutes(fault).is_some()) else { return };
    let Some(flow) = spec.flows.iter().find(|flow| flow.way == Way::ByDestination) else { return };
    let message =
        format!("\"{}\" is not rerouted: it has too many destinations to list their paths", flow.name);
    let help = "each switch passes over links of its own that are down, and frames that come to a switch without \
                another way are lost; split the flow by senders, or leave reroute out";
    audit.warn(Subject::Fault(fault), Remark::about("reroute", message, help));
}
