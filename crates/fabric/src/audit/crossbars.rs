//! Checks of crossbars: rejects mechanisms that cannot work with frames that wait at inputs.

use super::{Audit, Subject};
use crate::build::headroom::frame_bounds;
use crate::spec::{FaultSpec, NodeSpec, SwitchSpec};
use frame::NodeId;
use keys::Remark;
use queueing::MOST_PORTS;

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

/// Reports a setting that excludes a crossbar.
fn together(node: &NodeSpec, switch: &SwitchSpec) -> Option<Remark> {
    let name = &node.name;
    if switch.shares_memory() {
        let message = format!("a shared memory at \"{name}\", which has a crossbar");
        let help = "expected limits of the buffer (queue, port, class, total), or queueing = \"output\" or \"virtual_output\"";
        return Some(Remark::about("buffer", message, help));
    }
    (!switch.buffer.is_unlimited() && node.credits().is_some()).then(|| {
        let message = format!("a limit of the buffer at \"{name}\", which has a crossbar, and credits");
        let help = "credits limit inputs, and `output_buffer` limits outputs: leave it out";
        Remark::about("buffer", message, help)
    })
}
