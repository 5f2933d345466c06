//! Crossbars among the other mechanisms: what looks at frames as they wait does not know those at inputs.

use super::{Audit, Subject};
use crate::build::headroom::frame_bounds;
use crate::spec::{FaultSpec, NodeSpec, SwitchSpec};
use frame::NodeId;
use keys::Remark;

pub fn check(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let Some(first) = spec.nodes.iter().position(|node| node.crossbar().is_some()) else { return };
    let longest = u64::from(frame_bounds(spec).1);
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
        if let Some(remark) = together(node, switch) {
            audit.error(Subject::Node(NodeId(at as u32)), remark);
            break;
        }
    }
    let down = |fault: &FaultSpec| {
        matches!(fault, FaultSpec::LinkDown { .. } | FaultSpec::Restart { .. } | FaultSpec::Random { .. })
    };
    if let Some(fault) = spec.faults.iter().position(down) {
        let name = &spec.nodes[first].name;
        let message = format!(
            "\"{name}\" has a crossbar, and what an outage does to what waits in it is not simulated"
        );
        let help = "crossbars can have pause_loss, rate, bit_error_rate and frame_loss";
        audit.error(Subject::Fault(fault), Remark::new(message, help));
    }
}

/// What a switch with a crossbar cannot have beside it.
fn together(node: &NodeSpec, switch: &SwitchSpec) -> Option<Remark> {
    let name = &node.name;
    if switch.pauses().is_some() {
        let message = format!("\"{name}\" has a crossbar, and pauses count what waits at outputs");
        let help = "expected [flow_control.credit], no flow control, or queueing = \"virtual_output\"";
        return Some(Remark::about("queueing", message, help));
    }
    if !switch.buffer.is_unlimited() || switch.shared_memory.is_some() {
        let message = format!("a limit of the buffer at \"{name}\", which has a crossbar");
        let help = "credits limit inputs, and `output_buffer` limits outputs: leave it out";
        return Some(Remark::about("buffer", message, help));
    }
    let managed = switch.managers.iter().any(Option::is_some);
    managed.then(|| {
        let message =
            format!("queue managers at \"{name}\", which has a crossbar: frames wait at its inputs");
        let help = "expected queueing = \"output\" or \"virtual_output\", or no queue managers";
        Remark::about("queue_managers", message, help)
    })
}
