//! Which time series are recorded.

use crate::spec::Spec;
use crate::world::{Fabric, Node};
use frame::PRIORITIES;
use measure::{BinnedMax, BinnedSum};

/// Series are recorded for at most this many flows, ports or queues; beyond, totals only. The key `bin` of a
/// scenario names this limit and the next.
pub const MAX_SERIES: usize = 256;
/// Bins of all series of one kind together; each becomes a row of some hundred bytes in the result.
pub const MAX_BINS: u64 = 1_000_000;

/// Prepares what is recorded; returns what is too much, in words.
pub fn record(spec: &Spec, fabric: &mut Fabric) -> Vec<String> {
    fabric.recorded.pauses = spec.probes.pauses.then(Vec::new);
    let Some(bin) = spec.probes.bin else { return Vec::new() };
    let bins = spec.duration.ps().div_ceil(bin.ps());
    let mut left_out = Vec::new();
    let mut fits = |what: &str, series: usize| {
        let fits = series <= MAX_SERIES && bins * series as u64 <= MAX_BINS;
        if !fits {
            left_out.push(format!(
                "time series of {series} {what} with {bins} bins are not recorded: at most {MAX_SERIES} with {MAX_BINS} \
                 bins together are; totals are complete"
            ));
        }
        fits
    };
    let sums = |series: usize| vec![BinnedSum::new(bin, spec.duration); series];
    if fits("pairs of source and destination", fabric.receivers.len()) {
        fabric.recorded.delivered = sums(fabric.receivers.len());
    }
    if fits("ports", fabric.ports.len()) {
        fabric.recorded.received = sums(fabric.ports.len());
        fabric.recorded.sent = sums(fabric.ports.len());
    }
    // The queues of priorities that no flow has stay empty and take no memory.
    let priorities =
        spec.flows.iter().fold(0u8, |set, flow| set | 1 << flow.priority.0).count_ones() as usize;
    let levels = |series: usize| {
        let level = BinnedMax::new(bin, spec.duration);
        vec![(level.clone(), level); series]
    };
    if fits("queues", fabric.ports.len() * priorities) {
        fabric.recorded.queues = levels(fabric.queues.len());
        let by_ingress =
            |node: &Node| node.station.as_ref().is_some_and(|station| !station.ingress.is_empty());
        if fabric.nodes.iter().any(by_ingress) || !fabric.receiving.is_empty() {
            fabric.recorded.meters = levels(fabric.ports.len() * PRIORITIES);
        }
    }
    left_out
}
