//! Checks that receive buffers have room for the bytes in flight after an XOFF, and for at least one frame.

use super::{Audit, Subject, worst};
use frame::NodeId;
use keys::Remark;
use units::Amount;

/// A receive buffer that is too small.
struct Small {
    node: NodeId,
    buffer: u64,
    needed: u64,
    sends_pauses: bool,
}

pub(super) fn check(audit: &mut Audit<'_>) {
    let spec = audit.spec;
    let longest = if spec.flows.is_empty() { 0 } else { crate::frame_bounds(spec).1 };
    let mut rooms: Vec<Option<u64>> = vec![None; spec.nodes.len()];
    for need in audit.needs {
        let room = &mut rooms[need.node.at()];
        *room = (*room).max(Some(need.room.get()));
    }
    let small = (0..).map(NodeId).zip(&spec.nodes).zip(rooms).filter_map(|((id, node), room)| {
        let buffer = node.host()?.receive.as_ref()?.buffer?;
        let needed = room.unwrap_or(0) + u64::from(longest);
        let small = Small { node: id, buffer, needed, sends_pauses: room.is_some() };
        (buffer < needed).then(|| (audit.settings(node, "receive"), small))
    });
    for (_, Small { node, buffer, needed, sends_pauses }) in
        worst(small, |one, known| one.needed > known.needed)
    {
        let name = &spec.nodes[node.at()].name;
        let [has, needed] = Amount::alike([buffer, needed].map(Amount::Bytes));
        let message = format!("a receive buffer of {has} in \"{name}\" is too small");
        let why =
            if sends_pauses { ": a frame, and what is on the way after XOFF" } else { ", the longest frame" };
        let help = format!("expected at least \"{needed}\"{why}");
        let remark = Remark::about("buffer", message, help).within("receive");
        if sends_pauses {
            audit.loses(Subject::Node(node), remark)
        } else {
            audit.warn(Subject::Node(node), remark)
        }
    }
}
