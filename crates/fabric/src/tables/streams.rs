//! Streams that are counted individually.

use super::View;
use crate::run::state::stream_counts::StreamCount;
use measure::table::{integer, real, text};
use measure::{TableBuilder, TableSpec};

/// Columns of `streams`.
pub(super) static STREAMS: TableSpec = TableSpec {
    name: "streams",
    about: "One row per destination and stream of sources `streams` and `video` with `counted = true`.",
    columns: &[&[
        text("flow", "Name of the flow."),
        text("destination", "Receiving host; their number if the paths to them are not listed."),
        integer("stream", "", "Number of the stream, from 0."),
        integer("frames_delivered", "", "Frames delivered."),
        integer("bytes_delivered", "B", "Bytes delivered (DA to FCS)."),
        real("latency_min_ns", "ns", "Shortest latency; 0 if nothing was delivered."),
        real("latency_mean_ns", "ns", "Mean latency."),
        real("latency_max_ns", "ns", "Longest latency."),
    ]],
};

/// A stream at a destination.
struct Row {
    flow: u32,
    to: String,
    stream: u64,
    count: StreamCount,
}

impl View<'_> {
    fn stream_rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut path = 0;
        for (flow, spec) in (0..).zip(&self.s.spec.flows) {
            let first = path;
            path += spec.paths();
            if spec.source.counted_streams().is_none() {
                continue;
            }
            for (nth, path) in (0..).zip(first..path) {
                let to = match (self.s.is_listed(path), spec.source.destinations.count()) {
                    (false, several @ 2..) => format!("{several} hosts"),
                    _ => self.node_name(spec.source.destinations.nth(nth)),
                };
                let counts = (0..).zip(self.s.stream_counts(path));
                rows.extend(counts.map(|(stream, count)| Row { flow, to: to.clone(), stream, count }));
            }
        }
        rows
    }

    pub fn streams(&self) -> TableBuilder {
        let rows = self.stream_rows();
        let ns = |row: &Row, ps: f64| if row.count.frames == 0 { 0.0 } else { ps / 1e3 };
        let mean = |row: &Row| ns(row, row.count.sum_ps as f64 / row.count.frames as f64);
        STREAMS
            .builder()
            .texts("flow", rows.iter().map(|row| self.s.spec.flows[row.flow as usize].name.clone()))
            .texts("destination", rows.iter().map(|row| row.to.clone()))
            .integers("stream", rows.iter().map(|row| row.stream))
            .integers("frames_delivered", rows.iter().map(|row| row.count.frames))
            .integers("bytes_delivered", rows.iter().map(|row| row.count.bytes))
            .reals("latency_min_ns", rows.iter().map(|row| ns(row, row.count.least.ps() as f64)))
            .reals("latency_mean_ns", rows.iter().map(mean))
            .reals("latency_max_ns", rows.iter().map(|row| ns(row, row.count.most.ps() as f64)))
    }
}
