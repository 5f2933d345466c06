//! Crossbars among the other mechanisms: what cannot work with frames that wait at inputs is refused.

use super::{Audit, Subject};
use crate::build::headroom::frame_bounds;
use crate::spec::{FaultSpec, NodeSpec, SwitchSpec};
use flow_control::Accounting;
use frame::NodeId;
use keys::Remark;
use queueing::{MOST_PORTS, ManagerSpec};

pub fn check(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let Some(first) = spec.nodes.iter().position(|node| node.crossbar().is_some()) else { return };
    let longest = u64::from(frame_bounds(spec).1);
    let mut ports = vec![0; spec.nodes.len()];
    spec.links.iter().flat_map(|link| [link.a, link.b]).for_each(|end| ports[end.at()] += 1);
    for (at, node) in spec.nodes.iter().enumerate() {
        let (Some(keys), Some(switch)) = (node.crossbar(), node.switch()) else { continue };
        let room = keys.output_buffer.get();
        if room < longest {
            let message =
                format!("an output buffer of {room} B at \"{}\", and frames of {longest} B", node.name);
            let help = format!("expected at least \"{longest} B\", or no frame could cross");
            let remark = Remark::about("output_buffer", message, help).within("crossbar").within("queueing");
            audit.error(Subject::Node(NodeId(at as u32)), remark);
            break;
        }
        let node_id = NodeId(at as u32);
        if ports[at] > MOST_PORTS {
            let message = format!("\"{}\" has a crossbar and {} ports", node.name, ports[at]);
            let remark = Remark::about("queueing", message, format!("expected at most {MOST_PORTS} ports"));
            audit.error(Subject::Node(node_id), remark);
            break;
        }
        if let Some(remark) = together(node, switch) {
            audit.error(Subject::Node(NodeId(at as u32)), remark);
            break;
        }
    }
    let restart = |fault: &FaultSpec| matches!(fault, FaultSpec::Restart { .. });
    if let Some(fault) = spec.faults.iter().position(restart) {
        let name = &spec.nodes[first].name;
        let message = format!(
            "\"{name}\" has a crossbar, and what a restart does to what waits in it is not simulated"
        );
        let help = "crossbars can have all other faults";
        audit.error(Subject::Fault(fault), Remark::new(message, help));
    }
}

/// Reports the first setting that excludes a crossbar.
fn together(node: &NodeSpec, switch: &SwitchSpec) -> Option<Remark> {
    let name = &node.name;
    if switch.pauses().is_some_and(|pauses| pauses.accounting == Accounting::Egress) {
        let message = format!("\"{name}\" has a crossbar, and its pauses count what waits at outputs");
        let help = "expected accounting = \"ingress\", or queueing = \"virtual_output\"";
        return Some(Remark::about("queueing", message, help));
    }
    if !switch.buffer.is_unlimited() || switch.shares_memory() {
        let message = format!("a limit of the buffer at \"{name}\", which has a crossbar");
        let help = "credits limit inputs, and `output_buffer` limits outputs: leave it out";
        return Some(Remark::about("buffer", message, help));
    }
    let along_paths = |manager: &ManagerSpec| matches!(manager, ManagerSpec::PathPoint(_));
    switch.managers.iter().flatten().any(along_paths).then(|| {
        let message = format!(
            "path rate control at \"{name}\", which has a crossbar: what comes back is stamped at inputs"
        );
        let help = "expected another queue manager, or queueing = \"output\" or \"virtual_output\"";
        Remark::about("queue_managers", message, help)
    })
}
