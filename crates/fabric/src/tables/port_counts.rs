//! Counts of ports.

use super::View;
use measure::table::{integer, real, text};
use measure::{TableBuilder, TableSpec};

/// Columns of `ports`.
pub(super) static PORTS: TableSpec = TableSpec {
    name: "ports",
    about: "One row per port: one end of a link, with its transmitter and egress queues.",
    columns: &[&[
        text("port", "Name of the port: node, number of the port, node at the other end."),
        text("node", "Node of the port."),
        text("peer", "Node at the other end."),
        real("rate_bps", "b/s", "Rate of the link; if it changes, the rate at the end."),
        integer("overhead_bytes", "B", "Bytes around each frame on the link: preamble and inter-frame gap."),
        real(
            "utilisation",
            "",
            "Fraction of measured time in which the transmitter was busy, including line overhead and pause frames.",
        ),
        integer("frames_sent", "", "Frames sent, pause frames not counted."),
        integer("bytes_sent", "B", "Bytes sent, DA to FCS."),
        integer("frames_received", "", "Frames received, pause frames not counted."),
        integer("bytes_received", "B", "Bytes received, DA to FCS."),
        real("queue_bytes_mean", "B", "Mean over time of all bytes waiting at the port."),
        integer("queue_bytes_max", "B", "Maximum bytes in any of its queues."),
        integer("drops", "", "Frames lost at this port."),
        integer("pauses_sent", "", "Pause frames with an XOFF sent through this port."),
        integer(
            "pauses_received",
            "",
            "Pause frames with an XOFF received; a `control_frame` of `[[faults]]` counts once for each pause time that it contains.",
        ),
        integer("resumes_sent", "", "Pause frames with an XON sent through this port."),
        real("paused_s", "s", "Time during which at least one priority of this port was paused."),
        integer(
            "headroom_violations",
            "",
            "Frames of lossless classes lost at this port because of a limit.",
        ),
        integer(
            "ties",
            "",
            "Losses and targeted pauses at this port that depended on the order of two frames of different sources with the same arrival time, or with arrival times closer together than `clock_tolerance` can move them. Real hosts would not keep such an order.",
        ),
        integer(
            "bit_errors",
            "",
            "Frames that arrived at this port with a wrong checksum and were discarded.",
        ),
        integer("pauses_lost", "", "Pause frames sent through this port that were lost or corrupted."),
    ]],
};

impl View<'_> {
    pub(super) fn ports(&self) -> TableBuilder {
        let each = || 0..self.s.ports() as u32;
        let id = |port: u32| frame::PortId(port);
        let sent = |port: u32| self.s.sent(port, u32::MAX).1;
        let counts = |port: u32| self.s.cold(port).counts;
        // Bits received: those that the peer sent, plus those on the link at the start, minus those on the link at the
        // end.
        let received = |port: u32| {
            let lost = self.in_flight[port as usize].0 + counts(port).broken.0;
            (sent(self.s.peer(port)) + self.s.in_flight_at_warmup[port as usize].0).saturating_sub(lost)
        };
        let bytes_received = |port: u32| {
            let lost = self.in_flight[port as usize].1 + counts(port).broken.1;
            let (sent, _) = self.s.sent(self.s.peer(port), u32::MAX);
            (sent + self.s.in_flight_at_warmup[port as usize].1).saturating_sub(lost)
        };
        let utilisation = |port: u32| {
            let beyond = self.s.on_link_until(port).saturating_sub(self.end).as_secs_f64();
            let before = counts(port).begun_before.as_secs_f64();
            let busy = before + self.s.time_on_wire(port) - beyond;
            if self.seconds() > 0.0 { (busy / self.seconds()).clamp(0.0, 1.0) } else { 0.0 }
        };
        let paused = |port: u32| self.s.cold(port).control.paused_time(self.end).as_secs_f64();
        let max_bytes = |port: u32| {
            self.s.port_queues(port).iter().map(|queue| queue.sojourns.max()[0]).max().unwrap_or(0)
        };
        let mut mean_bytes = vec![0.0; self.s.ports()];
        for queue in self.used_queues() {
            mean_bytes[queue.port as usize] += queue.mean[0];
        }
        let node_names = || self.s.spec.nodes.iter().map(|node| node.name.clone()).collect();
        PORTS
            .builder()
            .texts("port", each().map(|p| self.s.port_name(p)))
            .named("node", node_names(), each().map(|p| self.s.wiring.node_of[p as usize].0))
            .named("peer", node_names(), each().map(|p| self.s.wiring.neighbour(id(p)).0))
            .reals("rate_bps", each().map(|p| self.s.cold(p).rate.bps_f64()))
            .integers("overhead_bytes", each().map(|p| self.overhead(p as usize)))
            .reals("utilisation", each().map(utilisation))
            .integers("frames_sent", each().map(sent))
            .integers("bytes_sent", each().map(|p| self.s.sent(p, u32::MAX).0))
            .integers("frames_received", each().map(received))
            .integers("bytes_received", each().map(bytes_received))
            .reals("queue_bytes_mean", mean_bytes)
            .integers("queue_bytes_max", each().map(max_bytes))
            .integers("drops", each().map(|p| counts(p).drops))
            .integers("pauses_sent", each().map(|p| counts(p).pauses_sent))
            .integers("pauses_received", each().map(|p| counts(p).pauses_received))
            .integers("resumes_sent", each().map(|p| counts(p).resumes_sent))
            .reals("paused_s", each().map(paused))
            .integers("headroom_violations", each().map(|p| counts(p).violations))
            .integers("ties", each().map(|p| counts(p).ties))
            .integers("bit_errors", each().map(|p| counts(p).bit_errors))
            .integers("pauses_lost", each().map(|p| counts(p).pauses_lost))
    }
}
