//! Checks that the shared memories of switches hold the minima of their queues.

use super::{Audit, Subject, of_buffer, worst};
use frame::NodeId;

pub(super) fn check(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let mut ports = vec![0u64; spec.nodes.len()];
    for end in spec.links.iter().flat_map(|link| [link.a, link.b]) {
        ports[end.at()] += 1;
    }
    let full = (0..).map(NodeId).zip(&spec.nodes).zip(ports).filter_map(|((id, node), ports)| {
        let switch = node.switch()?;
        let (memory, queues) = (switch.shared_memory?, switch.queues_of_memory(ports));
        let is_full = memory.shared(queues).is_none_or(|shared| shared == 0);
        is_full.then(|| (audit.settings(node, "dynamic_threshold"), (id, memory, queues)))
    });
    for (_, (id, memory, queues)) in worst(full, |_, _| false) {
        let needs = memory.minimum.saturating_mul(queues).saturating_add(memory.headroom);
        let message = format!(
            "{}: {queues} queues with {} B each and {} B of headroom take {needs} B of {} B",
            spec.nodes[id.at()].name,
            memory.minimum,
            memory.headroom,
            memory.total
        );
        let help = "expected less than the total, so that something is shared";
        audit.error(Subject::Node(id), of_buffer("dynamic_threshold", message, help).key("minimum"));
    }
}
