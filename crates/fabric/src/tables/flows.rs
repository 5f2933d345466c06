//! Flows over all their destinations, individually and by priority.

use super::View;
use super::durations::{LATENCY, with_durations};
use super::series::{FLOW_SERIES, Series};
use crate::run::state::hosts::Receiver;
use crate::run::state::ledger::Part;
use crate::spec::{FlowSpec, Way};
use frame::{CHANNELS, HEADER_BYTES};
use measure::table::{integer, real, real_or_null, text};
use measure::{Latency, LatencySummary, TableBuilder, TableSpec, jain};
use std::collections::{BTreeMap, BTreeSet};
use transport::Protocol;

/// Columns of `flows`.
pub(super) static FLOWS: TableSpec = TableSpec {
    name: "flows",
    about: "One row per flow: one sending host under one name.",
    columns: &[
        &[
            text("flow", "Name of the flow."),
            integer(
                "class",
                "",
                "Priority of its frames, 0 to 7; with `channels = \"all\"` the number of their channel, 0 to 19.",
            ),
            text("source", "Sending node."),
            text(
                "destination",
                "Receiving host; if there are several, their number (each frame goes to one of them, or to all).",
            ),
            real(
                "offered_bps",
                "b/s",
                "Bits of frames (DA to FCS) that the source passed to its NIC, per second of measured time. For a connection, its segments or requests; frames in the reverse direction are not in this table.",
            ),
            real(
                "throughput_bps",
                "b/s",
                "Bits of frames (DA to FCS) received by the NIC of the receiver, per second of measured time, including duplicates and frames discarded there; for a multicast flow, the sum over its receivers. For requests and responses, requests only; the table `connections` has the bytes of whole exchanges.",
            ),
            real(
                "goodput_bps",
                "b/s",
                "Bits delivered to the application, in order and once, without Ethernet header and FCS (18 B per frame), per second of measured time. Frames that a receiver discards or buffers after a gap count only in `throughput_bps`.",
            ),
            integer("frames_sent", "", "Frames passed to the NIC."),
            integer(
                "frames_copied",
                "",
                "Copies of its frames made by switches, for a multicast flow. Frames that can be delivered are `frames_sent` plus these.",
            ),
            integer("frames_delivered", "", "Frames delivered."),
            integer(
                "frames_discarded",
                "",
                "Delivered frames that were not passed to the application: duplicates, frames discarded after a gap, and frames still buffered after a gap.",
            ),
            integer(
                "frames_dropped",
                "",
                "Lost frames among those counted in `frames_sent`; the table `drops` also has other losses, such as those of acknowledgements.",
            ),
            integer(
                "frames_trimmed",
                "",
                "Frames that arrived trimmed, without their payload; not counted in `frames_delivered`.",
            ),
            integer(
                "bytes_trimmed",
                "B",
                "Bytes that switches trimmed from its frames and from responses, including frames lost afterwards.",
            ),
            real_or_null(
                "frames_reordered",
                "",
                "Frames that arrived after a frame that the flow sent later to the same host (RFC 4737). Not a number if they are not counted, which is the case for flows without listed paths if there are more than 16777216 pairs of sender and destination.",
            ),
            integer("bytes_sent", "B", "Bytes passed to the NIC, including padding."),
            integer(
                "padding_bytes",
                "B",
                "Bytes of `bytes_sent` that exceed the limit, because the last frame of a source or transfer is padded to 64 B. 0 for a connection: see `application_bytes` in the table `connections`.",
            ),
            integer("bytes_delivered", "B", "Bytes delivered."),
        ],
        &LATENCY,
        &[
            real("latency_min_ns", "ns", "Shortest latency."),
            real("jitter_ns", "ns", "Standard deviation of the latency."),
            real_or_null(
                "throughput_stddev_bps",
                "b/s",
                "Standard deviation of the throughput over the bins of the time series; null without series.",
            ),
        ],
    ],
};

/// Columns of `classes`.
pub(super) static CLASSES: TableSpec = TableSpec {
    name: "classes",
    about: "One row per priority in use.",
    columns: &[
        &[
            integer(
                "class",
                "",
                "Priority, 0 to 7; with `channels = \"all\"` the number of the channel, 0 to 19.",
            ),
            integer("flows", "", "Flows of this priority."),
            real("offered_bps", "b/s", "Sum of the same column of `flows`."),
            real("throughput_bps", "b/s", "Sum of the same column of `flows`."),
            integer("frames_sent", "", "Frames passed to NICs."),
            integer("frames_delivered", "", "Frames delivered."),
            integer("frames_dropped", "", "Sum of the same column of `flows`."),
        ],
        &LATENCY,
        &[real("jain", "", "Jain's index of the throughputs of its flows: 1 if all are equal.")],
    ],
};

/// Totals of a flow over all its destinations.
pub(super) struct FlowRow {
    pub(super) received: Receiver,
    pub(super) latency: LatencySummary,
    /// NaN if not counted.
    pub(super) reordered: f64,
    pub(super) frames_sent: u64,
    pub(super) bytes_sent: u64,
    pub(super) padding: u64,
    pub(super) dropped: u64,
    /// Number of frames that arrived trimmed, and number of bytes removed from its frames.
    pub(super) trimmed: (u64, u64),
    pub(super) copied: u64,
    /// Received frames and bytes that were not delivered to the application. Negative if data received before
    /// measurement started was delivered afterwards.
    pub(super) undelivered: (i64, i64),
}

impl FlowRow {
    /// Bytes delivered to the application, without Ethernet header and FCS.
    pub(super) fn good_bytes(&self) -> u64 {
        let (frames, bytes) = (self.received.frames() as i64, self.received.bytes as i64);
        let headers = (frames - self.undelivered.0) * HEADER_BYTES as i64;
        (bytes - self.undelivered.1 - headers).max(0) as u64
    }
}

impl View<'_> {
    pub(super) fn flow_rows(&self) -> &[FlowRow] {
        self.flow_rows.get_or_init(|| self.flows_over_destinations())
    }

    fn flows_over_destinations(&self) -> Vec<FlowRow> {
        let mut dropped = vec![0; self.s.spec.flows.len()];
        for (&(_, _, path, part, _), &(frames, _)) in &self.s.ledger().drops {
            if part == Part::Sent {
                dropped[self.s.path_flow[path.at()] as usize] += frames;
            }
        }
        let trimmed = self.trimmed_of_flows();
        let mut undelivered = vec![(0, 0); self.s.spec.flows.len()];
        for (_, far) in self.s.connections() {
            let (now, before) = (far.endpoint.facts(self.end).undelivered, far.measured.undelivered_before);
            let of: &mut (i64, i64) = &mut undelivered[self.s.path_flow[far.path as usize] as usize];
            of.0 += now.frames as i64 - before.frames as i64;
            of.1 += now.bytes as i64 - before.bytes as i64;
        }
        let mut rows = Vec::with_capacity(self.s.spec.flows.len());
        for (flow, dropped) in dropped.into_iter().enumerate() {
            let source = self.s.source(flow);
            let first = source.first_path as usize;
            let spec = &self.s.spec.flows[flow];
            let mut received = Receiver::default();
            for receiver in (first..first + spec.paths()).flat_map(|path| self.s.receivers(path)) {
                received.bytes += receiver.bytes;
                received.reordered += receiver.reordered;
                received.latency.merge(&receiver.latency);
            }
            let reordered = match spec.way {
                Way::ByDestination => self.s.overtaken(first).map_or(f64::NAN, |frames| frames as f64),
                Way::Shortest | Way::Along(_) => received.reordered as f64,
            };
            let latency = received.latency.summary();
            let (frames_sent, bytes_sent) = (source.frames, source.bytes);
            let padding = source.source.padding();
            let copied = (first..first + spec.paths()).map(|path| self.s.copies_made(path)).sum();
            rows.push(FlowRow {
                received,
                latency,
                reordered,
                frames_sent,
                bytes_sent,
                padding,
                dropped,
                trimmed: trimmed[flow],
                copied,
                undelivered: undelivered[flow],
            });
        }
        rows
    }

    /// By flow, number of frames that arrived trimmed, and number of bytes removed.
    fn trimmed_of_flows(&self) -> Vec<(u64, u64)> {
        let mut trimmed = vec![(0, 0); self.s.spec.flows.len()];
        let ledger = self.s.ledger();
        for (path, (frames, _)) in &ledger.trimmed {
            trimmed[self.s.path_flow[path.at()] as usize].0 += frames;
        }
        for ((_, _, path), trims) in &ledger.trims {
            trimmed[self.s.path_flow[path.at()] as usize].1 += trims.bytes;
        }
        trimmed
    }

    /// Name of the destination host of a flow, or the number of destinations.
    fn destination(&self, flow: &FlowSpec) -> String {
        let to = &flow.source.destinations;
        let hosts = match flow.source.transfers() {
            // Transfers have one destination per path.
            Some(_) => to.nodes().into_iter().collect::<BTreeSet<_>>().len(),
            None => to.count(),
        };
        match hosts {
            1 => self.node_name(to.nth(0)),
            all if to.are_all_meant() => format!("all of {all} hosts"),
            several => format!("{several} hosts"),
        }
    }

    pub(super) fn flows(&self) -> TableBuilder {
        let (rows, series) = (self.flow_rows(), self.series());
        let flows = &self.s.spec.flows;
        let destination = |flow: &FlowSpec| self.destination(flow);
        let table = FLOWS
            .builder()
            .texts("flow", flows.iter().map(|flow| flow.name.clone()))
            .integers("class", flows.iter().map(|flow| flow.priority.0.into()))
            .texts("source", flows.iter().map(|flow| self.node_name(flow.from)))
            .texts("destination", flows.iter().map(destination))
            .reals("offered_bps", rows.iter().map(|row| self.bps(row.bytes_sent)))
            .reals("throughput_bps", rows.iter().map(|row| self.bps(row.received.bytes)))
            .reals("goodput_bps", rows.iter().map(|row| self.bps(row.good_bytes())))
            .integers("frames_sent", rows.iter().map(|row| row.frames_sent))
            .integers("frames_copied", rows.iter().map(|row| row.copied))
            .integers("frames_delivered", rows.iter().map(|row| row.received.frames()))
            .integers("frames_discarded", rows.iter().map(|row| row.undelivered.0.max(0) as u64))
            .integers("frames_dropped", rows.iter().map(|row| row.dropped))
            .integers("frames_trimmed", rows.iter().map(|row| row.trimmed.0))
            .integers("bytes_trimmed", rows.iter().map(|row| row.trimmed.1))
            .reals("frames_reordered", rows.iter().map(|row| row.reordered))
            .integers("bytes_sent", rows.iter().map(|row| row.bytes_sent))
            .integers("padding_bytes", rows.iter().map(|row| row.padding))
            .integers("bytes_delivered", rows.iter().map(|row| row.received.bytes));
        let recorded = series.iter().filter(|series| series.metric == FLOW_SERIES);
        let recorded: BTreeMap<&str, &Series> =
            recorded.map(|series| (series.entity.as_str(), series)).collect();
        let stddev =
            |flow: &FlowSpec| recorded.get(flow.name.as_str()).map_or(f64::NAN, |series| self.stddev(series));
        with_durations(table, &LATENCY, rows.iter().map(|row| row.latency))
            .reals("latency_min_ns", rows.iter().map(|row| row.latency.min))
            .reals("jitter_ns", rows.iter().map(|row| row.latency.stddev))
            .reals("throughput_stddev_bps", flows.iter().map(stddev))
    }

    /// Population standard deviation over the complete bins of the measurement.
    fn stddev(&self, series: &Series) -> f64 {
        let first = self.start.ps().div_ceil(series.bin.ps()) as usize;
        let last = (self.whole_end().ps() / series.bin.ps()) as usize;
        let values = series.values.get(first..last.min(series.values.len())).unwrap_or(&[]);
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt()
    }

    pub(super) fn classes(&self) -> TableBuilder {
        let rows = self.flow_rows();
        let flows = &self.s.spec.flows;
        let used: Vec<u8> =
            (0..CHANNELS as u8).filter(|p| flows.iter().any(|flow| flow.priority.0 == *p)).collect();
        let of = |class: u8| {
            flows.iter().zip(rows).filter(move |(flow, _)| flow.priority.0 == class).map(|(_, row)| row)
        };
        let sum = |class: u8, value: fn(&FlowRow) -> u64| of(class).map(value).sum::<u64>();
        let latency = |class: u8| {
            let mut all = Latency::default();
            of(class).for_each(|row| all.merge(&row.received.latency));
            all.summary()
        };
        let class_jain =
            |class: u8| jain(&of(class).map(|row| row.received.bytes as f64).collect::<Vec<_>>());
        let each = || used.iter().copied();
        let table = CLASSES
            .builder()
            .integers("class", each().map(u64::from))
            .integers("flows", each().map(|c| of(c).count() as u64))
            .reals("offered_bps", each().map(|c| self.bps(sum(c, |r| r.bytes_sent))))
            .reals("throughput_bps", each().map(|c| self.bps(sum(c, |r| r.received.bytes))))
            .integers("frames_sent", each().map(|c| sum(c, |r| r.frames_sent)))
            .integers("frames_delivered", each().map(|c| sum(c, |r| r.received.frames())))
            .integers("frames_dropped", each().map(|c| sum(c, |r| r.dropped)));
        let latencies: Vec<_> = each().map(latency).collect();
        with_durations(table, &LATENCY, latencies.into_iter()).reals("jain", each().map(class_jain))
    }
}
