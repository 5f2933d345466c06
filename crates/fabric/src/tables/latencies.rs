//! Distributions of latencies: the histograms that percentiles are read from.

use super::{FlowRow, View};
use crate::build::MAX_SERIES;
use measure::Table;
use units::Time;

impl View<'_> {
    /// One row a bin of a flow that is not empty, of the flows with most frames.
    pub(super) fn latencies(&self, flows: &[FlowRow]) -> Table {
        let mut busiest: Vec<usize> = (0..flows.len()).collect();
        busiest.sort_by_key(|&flow| (std::cmp::Reverse(flows[flow].received.frames), flow));
        busiest.truncate(MAX_SERIES);
        busiest.sort_unstable();
        let mut rows: Vec<(usize, Time, Time, u64, f64)> = Vec::new();
        for flow in busiest {
            let latency = &flows[flow].received.latency;
            let (all, mut below) = (latency.count() as f64, 0);
            for (from, to, frames) in latency.histogram() {
                below += frames;
                rows.push((flow, from, to, frames, below as f64 / all));
            }
        }
        let name = |row: &(usize, Time, Time, u64, f64)| self.s.spec.flows[row.0].name.clone();
        Table::new("latencies", "One row a bin of the distribution of a flow's latency that is not empty, of the 256 flows with most frames. Bins are a 32nd of an octave wide.")
            .texts("flow", "Name of the flow.", rows.iter().map(name))
            .reals("from_ns", "ns", "Where the bin begins.", rows.iter().map(|row| row.1.as_ns_f64()))
            .reals("to_ns", "ns", "Where it ends; what is as long is in the next bin.", rows.iter().map(|row| row.2.as_ns_f64()))
            .integers("frames", "", "Frames with such a latency.", rows.iter().map(|row| row.3))
            .reals("share_below", "", "Share of the flow's frames in this bin and those before: its cumulative distribution at `to_ns`.", rows.iter().map(|row| row.4))
    }
}
