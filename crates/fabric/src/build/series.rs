//! Selects the time series that are recorded.

use crate::build::distributions::choice;
use crate::build::headroom::frame_bounds;
use crate::build::whole::WHOLE;
use crate::run::fabric::Fabric;
use crate::run::state::congestion_series::{CongestionSeries, PairsSeries};
use crate::run::state::culprits::Culprits;
use crate::run::state::index::PortIx;
use crate::run::state::levels::Levels;
use crate::run::state::link_control::LinkControl;
use crate::run::state::link_series::{BitSeries, LevelSeries, LinkSeries, grid_of};
use crate::run::state::pause_sender::PauseSender;
use crate::run::state::port::PortFeatures;
use crate::run::state::probes::ClassSeries;
use crate::run::state::victims::Victims;
use crate::spec::routing::Wiring;
use crate::spec::{FlowSpec, LinkSpec, Pattern, Spec, Watched};
use frame::{PortId, TrafficClass};
use std::sync::Arc;
use transport::Transport;
use units::Time;

/// Maximum memory of all series of a kind, in bytes. If they need more, none is recorded.
pub const MEMORY: u64 = 64 << 20;
/// Maximum number of series of each kind, chosen by load, if the scenario selects none. The key `bin` names this limit
/// and the next.
pub const MAX_SERIES: usize = 256;
/// Maximum number of bins of all series of one metric; each becomes a row of some hundred bytes in the result.
pub const MAX_BINS: u64 = 1_000_000;

/// Minimum number of bins of a run by default.
const MIN_BINS: u64 = 50;
/// Maximum number of bins of a run by default: enough to fill a plot.
const BINS: u64 = 500;
/// Minimum width of a default bin, in longest frames on the slowest link. A narrower bin shows single frames rather
/// than rates, and recording it takes longer than the run.
const FRAMES: u64 = 12;

/// Default width of bins: a 500th of the duration, or the time of twelve of the longest frames on the slowest link if
/// that is longer, but at most a 50th of the duration; rounded up to whole nanoseconds.
pub fn default_bin(spec: &Spec) -> Time {
    let longest = u64::from(frame_bounds(spec).1);
    let of_link = |link: &LinkSpec| {
        u128::from((longest + u64::from(link.overhead)) * 8) * 1_000_000_000_000
            / u128::from(link.slowest().bps().max(1))
    };
    let frame = spec.links.iter().map(of_link).max().unwrap_or_default() as u64;
    let of_run = |bins: u64| spec.duration.ps().div_ceil(bins);
    let width = of_run(BINS).max(frame.saturating_mul(FRAMES).min(of_run(MIN_BINS)));
    Time::from_ns(width.div_ceil(1_000).max(1))
}

/// Prepares the recordings of each part; returns descriptions of those that are too large.
pub fn record(spec: &Spec, wiring: &Wiring, parts: &mut [Fabric], path_flow: &Arc<[u32]>) -> Vec<String> {
    record_pauses(spec, parts, path_flow);
    let mut recording = Recording { spec, wiring, left_out: Vec::new() };
    recording.flows(parts, path_flow);
    recording.ports(parts);
    recording.classes(parts);
    recording.queues(parts);
    recording.connections(parts, path_flow);
    recording.limiters(parts);
    recording.occupancies(parts);
    recording.frames(parts);
    recording.left_out
}

/// The recordings of a scenario, and the omitted ones that are too large.
pub struct Recording<'a> {
    pub spec: &'a Spec,
    pub wiring: &'a Wiring,
    left_out: Vec<String>,
}

impl Recording<'_> {
    /// Returns true if series of one kind fit its memory limit; `bytes` per bin, bins as wide as `widths`.
    fn fits(&mut self, what: &str, bytes: u64, widths: impl Iterator<Item = Time>) -> bool {
        let (mut series, mut all) = (0u64, 0u64);
        for width in widths {
            series += 1;
            all = all.saturating_add(bytes * (self.spec.duration.ps().div_ceil(width.ps()) + 1));
        }
        let fits = self.fits_bytes(&format!("time series of {series} {what}"), all);
        series > 0 && fits
    }

    /// Returns true if this many bytes fit the memory limit of a kind of recording; otherwise notes that the recording
    /// is omitted.
    pub fn fits_bytes(&mut self, what: &str, bytes: u64) -> bool {
        if bytes > MEMORY {
            self.left_out.push(format!(
                "{what} would take {} MiB and are not recorded: {} MiB are for them; totals are complete. Wider bins (bin), \
                 or fewer of them (probes), fit",
                bytes.div_ceil(1 << 20),
                MEMORY >> 20
            ));
        }
        bytes <= MEMORY
    }

    pub fn port_name(&self, port: u32) -> String {
        self.wiring.port_name(PortId(port), |node| &self.spec.nodes[node.at()].name)
    }

    /// Bin width at a port; `None` if the port is not recorded.
    fn at_port(&self, what: Watched, port: u32) -> Option<Time> {
        width(self.spec, what, |pattern| pattern.names_port(&self.port_name(port)))
    }
    /// Bin width of series of a class of a port; `None` if it is not recorded.
    fn at_class(&self, what: Watched, port: u32, class: u32) -> Option<Time> {
        let names = |pattern: &Pattern| pattern.names_queue(&self.port_name(port), &class.to_string());
        width(self.spec, what, names)
    }

    fn flows(&mut self, parts: &mut [Fabric], path_flow: &[u32]) {
        let of_flow: Vec<Option<Time>> = self
            .spec
            .flows
            .iter()
            .map(|flow| width(self.spec, Watched::Flow, |pattern| pattern.names_flow(&flow.name)))
            .collect();
        let widths = path_flow.iter().filter_map(|&flow| of_flow[flow as usize]);
        if !self.fits("pairs of source and destination", 8, widths) {
            return;
        }
        for part in parts {
            let part = &mut **part;
            let grids = &mut part.probes.grids;
            let mut series = vec![BitSeries::new(None); part.hosts.receivers.len()];
            for (&receiver, &flow) in part.hosts.receiver_of_path.iter().zip(path_flow) {
                if let (Some(receiver), Some(width)) = (receiver, of_flow[flow as usize]) {
                    let grid = grid_of(grids, width, self.spec.duration);
                    series[receiver.at()] = BitSeries::new(Some(grid));
                }
            }
            part.probes.read = if part.hosts.receiving.is_empty() { Vec::new() } else { series.clone() };
            part.probes.arrived = series;
            part.probes.watches_arrivals = true;
        }
    }

    fn ports(&mut self, parts: &mut [Fabric]) {
        let widths: Vec<Option<Time>> =
            (0..self.wiring.peer.len() as u32).map(|port| self.at_port(Watched::Port, port)).collect();
        if !self.fits("ports", 16, widths.iter().copied().flatten()) {
            return;
        }
        for part in parts {
            let part = &mut **part;
            // The peer of a port records what the port receives.
            let mut links = Vec::with_capacity(part.links.len());
            for port in part.links.ports.keys(WHOLE) {
                let own = part.numbering.port(port);
                let ends = [own, self.wiring.peer[own as usize].0].map(|end| widths[end as usize]);
                let grids = &mut part.probes.grids;
                let ends = ends.map(|width| width.map(|width| grid_of(grids, width, self.spec.duration)));
                links.push(LinkSeries::new(ends, part.links.cold[port].delay));
            }
            part.probes.links = links;
            part.links
                .ports
                .all_mut(WHOLE)
                .iter_mut()
                .for_each(|port| port.features.set(PortFeatures::RECORDED, true));
        }
    }

    fn classes(&mut self, parts: &mut [Fabric]) {
        let widths: Vec<Vec<Option<Time>>> = parts
            .iter()
            .map(|part| by_queue(part, |port, class| self.at_class(Watched::Class, port, class)))
            .collect();
        let used = self.spec.priorities_in_use();
        let some = parts.iter().zip(&widths).flat_map(|(part, widths)| used_only(part, widths, used));
        if !self.fits("classes of ports", 8, some) {
            return;
        }
        for (part, widths) in parts.iter_mut().zip(widths) {
            let of_ports = by_queue(part, |port, _| self.lone_class_series(part, port, used));
            let grids = &mut part.probes.grids;
            let class = |(width, of_port): (Option<Time>, Option<Time>)| match width {
                Some(width) if of_port == Some(width) => ClassSeries::OfPort,
                Some(width) => {
                    let grid = grid_of(grids, width, self.spec.duration);
                    ClassSeries::Own(BitSeries::new(Some(grid)))
                }
                None => ClassSeries::Off,
            };
            part.probes.classes = widths.into_iter().zip(of_ports).map(class).collect();
            let is_apart = |class: &ClassSeries| matches!(class, ClassSeries::Own(_));
            part.probes.distinguishes_classes = part.probes.classes.iter().any(is_apart);
            part.links
                .ports
                .all_mut(WHOLE)
                .iter_mut()
                .for_each(|port| port.features.set(PortFeatures::RECORDED, true));
        }
    }

    /// Returns the bin width of the bits sent by a port, if it is recorded and exactly one class is in use there.
    fn lone_class_series(&self, part: &Fabric, port: u32, used: u32) -> Option<Time> {
        let local = PortIx::of(port - part.numbering.first_port, WHOLE);
        let alone = part.links.ports[local].classes.classes_of(used).count_ones() == 1;
        part.probes.links.get(local.at()).filter(|_| alone)?.sent().width(&part.probes.grids)
    }

    fn queues(&mut self, parts: &mut [Fabric]) {
        let widths: Vec<Vec<Option<Time>>> = parts
            .iter()
            .map(|part| by_queue(part, |port, class| self.at_class(Watched::Queue, port, class)))
            .collect();
        let used = self.spec.priorities_in_use();
        let some = parts.iter().zip(&widths).flat_map(|(part, widths)| used_only(part, widths, used));
        if !self.fits("queues", 16, some) {
            return;
        }
        let counts = parts.iter().any(|part| {
            part.pause_senders.all(WHOLE).iter().any(PauseSender::by_ingress)
                || !part.hosts.receiving.is_empty()
        });
        for (part, widths) in parts.iter_mut().zip(widths) {
            let mut grids = std::mem::take(&mut part.probes.grids);
            if !part.links.managers.is_empty() {
                let mut marks = |width: &Option<Time>| {
                    let grid = width.map(|width| grid_of(&mut grids, width, self.spec.duration));
                    BitSeries::new(grid)
                };
                part.probes.marks = widths.iter().map(&mut marks).collect();
            }
            let mut level = |width: Option<Time>| {
                let grid = width.map(|width| grid_of(&mut grids, width, self.spec.duration));
                Levels::new(&grids, grid)
            };
            part.probes.queues = widths.into_iter().map(&mut level).collect();
            if counts {
                let ports = part.links.ports.keys(WHOLE);
                let numbers = self.spec.numbers();
                part.probes.groups = numbers;
                let groups = ports.flat_map(|port| (0..numbers as u32).map(move |group| (port, group)));
                let of =
                    |(port, group)| level(self.at_class(Watched::Queue, part.numbering.port(port), group));
                part.probes.counters = groups.map(of).collect();
            }
            part.probes.grids = grids;
        }
    }

    /// Prepares the path state of connections over TCP and queue pairs, by endpoint.
    fn connections(&mut self, parts: &mut [Fabric], path_flow: &[u32]) {
        let of_flow = |flow: &FlowSpec| {
            width(self.spec, Watched::Flow, |pattern| pattern.names_flow(&flow.name)).zip(of_kind(flow))
        };
        let flows: Vec<Option<(Time, EndKind)>> = self.spec.flows.iter().map(of_flow).collect();
        for (kind, what, bytes) in
            [(EndKind::Tcp, "connections over TCP", 32), (EndKind::Pairs, "queue pairs", 80)]
        {
            let of_paths = path_flow.iter().filter_map(|&flow| flows[flow as usize]);
            let widths = of_paths.filter(|&(_, own)| own == kind).map(|(width, _)| width);
            if self.fits(what, bytes, widths) {
                self.record_ends(kind, &flows, parts, path_flow);
            }
        }
    }

    fn record_ends(
        &self,
        kind: EndKind,
        flows: &[Option<(Time, EndKind)>],
        parts: &mut [Fabric],
        path_flow: &[u32],
    ) {
        for part in parts {
            let part = &mut **part;
            let endpoints = &part.hosts.endpoints;
            part.probes.congestion.resize(endpoints.len(), CongestionSeries::Off);
            for (state, series) in endpoints.all(WHOLE).iter().zip(&mut part.probes.congestion) {
                let own = flows[path_flow[state.path as usize] as usize];
                let Some((width, _)) = own.filter(|&(_, of)| of == kind) else { continue };
                let grid = grid_of(&mut part.probes.grids, width, self.spec.duration);
                *series = match kind {
                    EndKind::Pairs if state.endpoint.sending_pairs().is_some() => {
                        CongestionSeries::Pairs(Box::new(PairsSeries::new(grid)))
                    }
                    EndKind::Pairs => CongestionSeries::Off,
                    EndKind::Tcp => CongestionSeries::Tcp(LevelSeries::new(&part.probes.grids, Some(grid))),
                };
            }
        }
    }

    /// Prepares the rates of limiters, as series of flows. All flows of a shared limiter have a series, or none has.
    fn limiters(&mut self, parts: &mut [Fabric]) {
        let own = |name: &str| width(self.spec, Watched::Flow, |pattern| pattern.names_flow(name));
        let widths: Vec<Vec<Option<Time>>> = parts
            .iter()
            .map(|part| part.hosts.limiters.all(WHOLE).iter().map(|limiter| own(&limiter.name)).collect())
            .collect();
        if !self.fits("rate limiters", 16, widths.iter().flatten().copied().flatten()) {
            return;
        }
        for (part, widths) in parts.iter_mut().zip(widths) {
            let part = &mut **part;
            let grids = &mut part.probes.grids;
            let rates = part.hosts.limiters.all(WHOLE).iter().zip(widths).map(|(limiter, width)| {
                let grid = width.map(|width| grid_of(grids, width, self.spec.duration));
                let mut rates = LevelSeries::new(grids, grid);
                rates.set(Time::ZERO, [limiter.rate().bps(), 0], grids);
                rates
            });
            part.probes.limiter_rates = rates.collect();
        }
    }
}

/// Kind of recording of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndKind {
    /// Window and round-trip time.
    Tcp,
    /// State of queue pairs.
    Pairs,
}

/// Returns the kind of recording for the ends of a flow; `None`: not recorded.
fn of_kind(flow: &FlowSpec) -> Option<EndKind> {
    let connection = flow.transport.as_ref()?;
    match connection.transport()? {
        // Transfers over TCP have one row each.
        Transport::Tcp(_) if flow.source.transfers().is_some() => None,
        Transport::Tcp(_) => Some(EndKind::Tcp),
        Transport::Uet(_) if flow.source.transfers().is_some() => None,
        Transport::Uet(_) => Some(EndKind::Tcp),
        _ => Some(EndKind::Pairs),
    }
}

/// Returns the bin width of a series: that of the first probe whose pattern `names` it. `None`: not recorded.
pub fn width(spec: &Spec, what: Watched, names: impl Fn(&Pattern) -> bool) -> Option<Time> {
    if spec.probes.chosen.is_none() {
        return spec.probes.bin;
    }
    choice(spec, what, names).and_then(|(_, probe)| probe.every.or(spec.probes.bin))
}

/// Calls a function for each queue of a part, with the port number in the whole fabric and the class.
fn by_queue<T>(part: &Fabric, of: impl Fn(u32, u32) -> T) -> Vec<T> {
    let mut all = Vec::with_capacity(part.buffers.queues.len());
    for port in part.links.ports.keys(WHOLE) {
        let classes = part.nodes[part.node_of[port]].classes.classes() as u32;
        all.extend((0..classes).map(|class| of(part.numbering.port(port), class)));
    }
    all
}

/// The bin widths of queues that are in use.
fn used_only(part: &Fabric, widths: &[Option<Time>], used: u32) -> Vec<Time> {
    let in_use = by_queue(part, |port, class| {
        let own = &part.links.ports[PortIx::of(port - part.numbering.first_port, WHOLE)];
        own.classes.numbers_of(TrafficClass(class as u8)) & used != 0
    });
    widths.iter().zip(in_use).filter_map(|(width, used)| width.filter(|_| used)).collect()
}

/// Prepares the recording of pauses, and of the flows present where pauses begin and take effect.
fn record_pauses(spec: &Spec, parts: &mut [Fabric], path_flow: &Arc<[u32]>) {
    let sends = |part: &Fabric| !part.pause_senders.is_empty();
    let credits = spec.nodes.iter().any(|node| node.credits().is_some());
    let any = spec.probes.pauses && (credits || parts.iter().any(sends));
    let longest = u32::from(frame_bounds(spec).1);
    for part in parts {
        let controls = part.links.cold.all_mut(WHOLE).iter_mut().map(|cold| &mut cold.control);
        controls.filter_map(LinkControl::credits_mut).for_each(|credits| credits.record(any, longest));
        part.probes.pauses = spec.probes.pauses.then(Vec::new);
        part.probes.culprits = any.then(|| Box::new(Culprits::new(Arc::clone(path_flow))));
        part.probes.victims = any.then(|| Box::new(Victims::new(Arc::clone(path_flow))));
    }
}
