//! Checks that every station accepts the frame lengths of the flows through it.

use super::{Audit, Subject};
use crate::build::paths::longest_frames;
use frame::NodeId;
use keys::Remark;

pub(super) fn check(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    if spec.nodes.iter().all(|node| node.mtu.is_none()) {
        return;
    }
    let Ok(longest) = longest_frames(spec) else { return };
    let mut reported = Vec::new();
    for (at, node) in spec.nodes.iter().enumerate() {
        let (Some(mtu), Some((bytes, flow))) = (node.mtu, longest[at]) else { continue };
        // Stations without their own settings share one set, whose error is reported once.
        let settings = (node.host().is_some(), audit.settings(node, "mtu"));
        if bytes <= mtu || reported.contains(&settings) {
            continue;
        }
        reported.push(settings);
        let (name, flow) = (&node.name, &spec.flows[flow as usize].name);
        let message = format!(
            "\"{name}\" takes frames of at most {mtu} B, and flow \"{flow}\" sends {bytes} B through it"
        );
        let help = format!("expected at least \"{bytes} B\", or shorter frames of the flow");
        audit.error(Subject::Node(NodeId(at as u32)), Remark::about("mtu", message, help));
    }
}
