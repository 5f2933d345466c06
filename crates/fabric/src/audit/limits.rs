//! Checks for limits too small to hold a frame.

use super::{Audit, Subject, of_buffer};
use crate::spec::WhenFull;
use frame::NodeId;
use keys::{Remark, unused};
use units::Amount;

pub(super) fn check(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let longest = spec.flows.iter().max_by_key(|flow| flow.frame_bounds().1);
    let mut reported = Vec::new();
    for (at, node) in spec.nodes.iter().enumerate() {
        let settings = (node.host().is_some(), audit.settings(node, ""));
        if reported.contains(&settings) {
            continue;
        }
        reported.push(settings);
        let subject = Subject::Node(NodeId(at as u32));
        let limits = match (node.switch(), node.host()) {
            (Some(switch), _) => {
                let of = &switch.buffer;
                let all = [("total", of.total), ("port", of.port), ("class", of.class), ("queue", of.queue)];
                all.map(|(key, limit)| (of_buffer(key, "", ""), key, limit)).to_vec()
            }
            (None, Some(host)) => {
                if host.when_full == WhenFull::Drop && host.queue_limit.is_none() {
                    audit.warn(subject, unused("when_full", "a `queue_limit`: the NIC is never full"));
                }
                vec![(Remark::about("queue_limit", "", ""), "queue_limit", host.queue_limit)]
            }
            (None, None) => continue,
        };
        for (place, key, limit) in limits {
            let (Some(Amount::Bytes(limit)), Some(flow)) = (limit, longest) else { continue };
            let bytes = u64::from(flow.frame_bounds().1);
            if limit < bytes {
                let message = format!("{key} {limit} B holds no frame of \"{}\" ({bytes} B)", flow.name);
                let help =
                    format!("each that does not find its link free is lost: expected at least \"{bytes} B\"");
                audit.warn(subject, Remark { message, help, ..place });
            }
        }
    }
}
