//! Which time series are recorded.

use crate::run::culprits::Culprits;
use crate::run::node::Node;
use crate::run::port::Hooks;
use crate::run::victims::Victims;
use crate::run::world::Fabric;
use crate::spec::{FlowSpec, Spec};
use frame::PRIORITIES;
use measure::{BinnedMax, BinnedSum};
use std::sync::Arc;
use transport::Application;

/// Series are recorded for at most this many flows, ports or queues; beyond, totals only. The key `bin` of a
/// scenario names this limit and the next.
pub const MAX_SERIES: usize = 256;
/// Bins of all series of one kind together; each becomes a row of some hundred bytes in the result.
pub const MAX_BINS: u64 = 1_000_000;

/// Prepares what is recorded in each part; returns what is too much of the whole, in words.
pub fn record(spec: &Spec, parts: &mut [Fabric], path_flow: &Arc<[u32]>) -> Vec<String> {
    record_pauses(spec, parts, path_flow);
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
    let all = |of: fn(&Fabric) -> usize| parts.iter().map(of).sum::<usize>();
    let ports = all(|part| part.links.len());
    // The queues of priorities that no frame has stay empty and take no memory.
    let priorities = spec.priorities_in_use().count_ones() as usize;
    let of_paths = fits("pairs of source and destination", all(|part| part.hosts.receivers.len()));
    let of_ports = fits("ports", ports);
    let of_queues = fits("queues", ports * priorities);
    let by_ingress =
        |node: &Node| node.pause_sender.as_ref().is_some_and(|pause_sender| !pause_sender.ingress.is_empty());
    let counts_ingress =
        |part: &Fabric| part.nodes.iter().any(by_ingress) || !part.hosts.receiving.is_empty();
    let of_counters = of_queues && parts.iter().any(counts_ingress);
    let over_tcp = spec.flows.iter().filter(|flow| is_tcp(flow)).count();
    let of_connections = over_tcp > 0 && fits("connections over TCP", over_tcp);
    let sums = |wanted: bool, series: usize| {
        if wanted { vec![BinnedSum::new(bin, spec.duration); series] } else { Vec::new() }
    };
    let levels = |wanted: bool, series: usize| {
        let level = BinnedMax::new(bin, spec.duration);
        if wanted { vec![(level.clone(), level); series] } else { Vec::new() }
    };
    for part in parts {
        let ports = part.links.len();
        part.probes.delivered = sums(of_paths, part.hosts.receivers.len());
        part.probes.received = sums(of_ports, ports);
        part.probes.sent = sums(of_ports, ports);
        part.links.ports.iter_mut().for_each(|port| port.hooks.set(Hooks::RECORDED, of_ports));
        part.probes.queues = levels(of_queues, part.buffers.queues.len());
        part.probes.counters = levels(of_counters, ports * PRIORITIES);
        part.probes.congestion = levels(of_connections, part.hosts.endpoints.len());
    }
    left_out
}

/// Prepares what is recorded of pauses, and of those who stand where they begin and act.
fn record_pauses(spec: &Spec, parts: &mut [Fabric], path_flow: &Arc<[u32]>) {
    let sends = |part: &Fabric| part.nodes.iter().any(|node| node.pause_sender.is_some());
    let any = spec.probes.pauses && parts.iter().any(sends);
    for part in parts {
        part.probes.pauses = spec.probes.pauses.then(Vec::new);
        part.probes.culprits = any.then(|| Box::new(Culprits::new(Arc::clone(path_flow))));
        part.probes.victims = any.then(|| Box::new(Victims::new(Arc::clone(path_flow))));
    }
}

fn is_tcp(flow: &FlowSpec) -> bool {
    flow.transport.as_ref().is_some_and(|connection| matches!(connection.application, Application::Tcp(_)))
}
