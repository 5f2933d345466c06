//! Distributions of latencies: the histograms from which percentiles are computed.

use super::View;
use super::flows::FlowRow;
use crate::build::MAX_SERIES;
use crate::spec::{Probe, Watched, Which};
use measure::table::{integer, real, text};
use measure::{TableBuilder, TableSpec};
use std::cmp::Reverse;
use units::Time;

/// Columns of `latencies`.
pub(super) static LATENCIES: TableSpec = TableSpec {
    name: "latencies",
    about: "One row per non-empty bin of the latency distribution of a flow, for the flows selected by `[[probes]]`, or for the 256 with most frames. Bins are a 32nd of an octave wide.",
    columns: &[&[
        text("flow", "Name of the flow."),
        real("from_ns", "ns", "Lower end of the bin."),
        real("to_ns", "ns", "Upper end of the bin, exclusive."),
        integer("frames", "", "Frames with a latency in this bin."),
        real(
            "share_below",
            "",
            "Share of the flow's frames in this and all lower bins: the cumulative distribution at `to_ns`.",
        ),
    ]],
};

impl View<'_> {
    /// Returns one row per non-empty bin of the flows with most frames.
    pub(super) fn latencies(&self) -> TableBuilder {
        let flows = self.flow_rows();
        let mut rows: Vec<(usize, Time, Time, u64, f64)> = Vec::new();
        for flow in self.selected_flows(flows) {
            let latency = &flows[flow].received.latency;
            let (all, mut below) = (latency.count() as f64, 0);
            for (from, to, frames) in latency.histogram() {
                below += frames;
                rows.push((flow, from, to, frames, below as f64 / all));
            }
        }
        let name = |row: &(usize, Time, Time, u64, f64)| self.s.spec.flows[row.0].name.clone();
        LATENCIES
            .builder()
            .texts("flow", rows.iter().map(name))
            .reals("from_ns", rows.iter().map(|row| row.1.as_ns_f64()))
            .reals("to_ns", rows.iter().map(|row| row.2.as_ns_f64()))
            .integers("frames", rows.iter().map(|row| row.3))
            .reals("share_below", rows.iter().map(|row| row.4))
    }

    /// Returns the flows whose distributions are in the result.
    fn selected_flows(&self, flows: &[FlowRow]) -> Vec<usize> {
        let probes = self.s.spec.probes.chosen.iter().flatten();
        let own: Vec<&Probe> = probes.filter(|probe| probe.what == Watched::Latency).collect();
        let mut selected = if own.is_empty() { busiest(flows, MAX_SERIES) } else { Vec::new() };
        for probe in own {
            match &probe.which {
                Which::All => selected.extend(0..flows.len()),
                Which::Busiest(most) => selected.extend(busiest(flows, *most as usize)),
                Which::Named(patterns) => selected.extend((0..flows.len()).filter(|&flow| {
                    let name = &self.s.spec.flows[flow].name;
                    patterns.iter().any(|pattern| pattern.names_flow(name))
                })),
            }
        }
        selected.sort_unstable();
        selected.dedup();
        selected
    }
}

/// The flows with most frames.
fn busiest(flows: &[FlowRow], most: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..flows.len()).collect();
    all.sort_by_key(|&flow| (Reverse(flows[flow].received.frames()), flow));
    all.truncate(most);
    all
}
