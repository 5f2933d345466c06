//! Tables of losses and faults.

use super::View;
use crate::run::state::losses::Cause;
use measure::table::{integer, real, real_or_null, text};
use measure::{TableBuilder, TableSpec};

/// Columns of `drops`.
pub(super) static DROPS: TableSpec = TableSpec {
    name: "drops",
    about: "One row per port, class, flow, destination, part of the flow and cause of lost frames.",
    columns: &[&[
        text(
            "port",
            "Egress port of the frames; for frames lost on a link or in a receiving host, the port at which they arrive.",
        ),
        integer("class", "", "Traffic class."),
        text("flow", "Flow of the frames."),
        text(
            "part",
            "sent: frames counted in `frames_sent` of the flow; beside: accompanying and reverse frames, such as acknowledgements, responses, tags and messages.",
        ),
        text(
            "cause",
            "Limit that was exceeded: queue_limit, port_limit, class_limit, total_limit, shared_memory (its dynamic threshold), ingress_limit or egress_limit (of a pool, for a priority group or a queue), headroom_violation (a group used up its own headroom), shared_headroom_exhausted (others used up the headroom that a pool shares), queue_manager (RED), trimming (the queue of trimmed frames is longer than `header_limit`), nic_full, headroom, receive_buffer (of a receiving host), watchdog (in a pause storm). Or the fault: link_down (on the link, or waiting for it), restart (queued in a switch that restarts, or arriving there during the restart), bit_error (a wrong checksum), link_loss (`frame_loss` of a link), llr_flush (link-level retry flushed its replay buffer).",
        ),
        text("pool", "Pool of the switch whose limit was exceeded; empty for other causes."),
        integer("frames", "", "Frames lost."),
        integer("bytes", "B", "Bytes lost."),
    ]],
};

/// Columns of `faults`.
pub(super) static FAULTS: TableSpec = TableSpec {
    name: "faults",
    about: "One row per fault of the scenario, and one for its end; random faults at the times that were drawn.",
    columns: &[&[
        real("time_ns", "ns", "Time of the event."),
        text(
            "what",
            "link_down, link_up, rate, bit_errors_begin, bit_errors_end, pause_loss_begins, pause_loss_ends, frame_loss_begins, frame_loss_ends, control_frame (injected), control_frame_ignored, restart, restarted, scheduler (a port gets another), reading_stops or reading_starts (of a receiving host), sending_changes (of a sending host).",
        ),
        text(
            "where",
            "Link, switch or host. A link is named by the nodes at its ends, or from one to the other if only frames of that direction are lost, and by its number if there are several.",
        ),
        real_or_null(
            "value",
            "",
            "New rate in b/s, or probability of a bit error, of losing a pause frame or of losing a frame; otherwise null.",
        ),
    ]],
};

impl View<'_> {
    pub fn drops(&self) -> TableBuilder {
        let drops: Vec<_> = self.s.ledger().drops.into_iter().collect();
        let flow = |path: frame::PathId| self.s.spec.flows[self.s.path_flow[path.at()] as usize].name.clone();
        let cause = |cause: Cause| cause.name().to_string();
        DROPS
            .builder()
            .texts("port", drops.iter().map(|((port, ..), _)| self.s.port_name(port.0)))
            .integers("class", drops.iter().map(|((_, class, ..), _)| class.0.into()))
            .texts("flow", drops.iter().map(|((_, _, path, ..), _)| flow(*path)))
            .texts("part", drops.iter().map(|((_, _, _, part, _), _)| part.name().to_string()))
            .texts("cause", drops.iter().map(|((.., c), _)| cause(*c)))
            .texts("pool", drops.iter().map(|((port, .., c), _)| self.pool_name(*port, *c)))
            .integers("frames", drops.iter().map(|(_, (frames, _))| *frames))
            .integers("bytes", drops.iter().map(|(_, (_, bytes))| *bytes))
    }

    fn pool_name(&self, port: frame::PortId, cause: Cause) -> String {
        let Cause::Pool { pool, .. } = cause else { return String::new() };
        let node = self.s.wiring.node_of[port.at()];
        self.s.spec.nodes[node.at()].pool_name(pool).to_string()
    }

    pub fn faults(&self) -> TableBuilder {
        let notes: Vec<_> = self.s.notes.iter().filter(|note| note.at < self.end).collect();
        FAULTS
            .builder()
            .reals("time_ns", notes.iter().map(|note| note.at.as_ns_f64()))
            .texts("what", notes.iter().map(|note| note.what.to_string()))
            .texts("where", notes.iter().map(|note| note.place.clone()))
            .reals("value", notes.iter().map(|note| note.value))
    }
}
