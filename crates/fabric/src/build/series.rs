//! Which time series are recorded.

use crate::node::Node;
use crate::spec::Spec;
use crate::world::Fabric;
use frame::PRIORITIES;
use measure::{BinnedMax, BinnedSum};

/// Series are recorded for at most this many flows, ports or queues; beyond, totals only. The key `bin` of a
/// scenario names this limit and the next.
pub const MAX_SERIES: usize = 256;
/// Bins of all series of one kind together; each becomes a row of some hundred bytes in the result.
pub const MAX_BINS: u64 = 1_000_000;

/// Prepares what is recorded; returns what is too much, in words.
pub fn record(spec: &Spec, fabric: &mut Fabric) -> Vec<String> {
    fabric.probes.pauses = spec.probes.pauses.then(Vec::new);
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
    if fits("pairs of source and destination", fabric.hosts.receivers.len()) {
        fabric.probes.delivered = sums(fabric.hosts.receivers.len());
    }
    if fits("ports", fabric.links.len()) {
        fabric.probes.received = sums(fabric.links.len());
        fabric.probes.sent = sums(fabric.links.len());
    }
    // The queues of priorities that no flow has stay empty and take no memory.
    let priorities =
        spec.flows.iter().fold(0u8, |set, flow| set | 1 << flow.priority.0).count_ones() as usize;
    let levels = |series: usize| {
        let level = BinnedMax::new(bin, spec.duration);
        vec![(level.clone(), level); series]
    };
    if fits("queues", fabric.links.len() * priorities) {
        fabric.probes.queues = levels(fabric.buffers.queues.len());
        let by_ingress = |node: &Node| {
            node.pause_sender.as_ref().is_some_and(|pause_sender| !pause_sender.ingress.is_empty())
        };
        if fabric.nodes.iter().any(by_ingress) || !fabric.hosts.receiving.is_empty() {
            fabric.probes.meters = levels(fabric.links.len() * PRIORITIES);
        }
    }
    left_out
}
