//! Time series, with one row per bin.

use super::pauses::ingress_name;
use super::{UsedQueue, View};
use crate::build::{MAX_BINS, MAX_SERIES};
use crate::run::state::congestion_series::{ALPHA_UNIT, CongestionSeries, PairSeries};
use crate::run::state::endpoint_state::EndpointState;
use crate::spec::{FlowSpec, Watched, Which};
use measure::table::{real, text};
use measure::{Grid, Passage, TableBuilder, TableSpec};
use std::collections::BTreeMap;
use units::Time;

/// Columns of `series`.
pub(super) static SERIES: TableSpec = TableSpec {
    name: "series",
    about: "One row per bin of a time series.",
    columns: &[&[
        text(
            "metric",
            "flow_throughput_bps (bits that arrive at the destination), group_throughput_bps (the sum over all flows of a name, such as incast for incast[h1] and incast[h2]), flow_read_bps (bits processed by a receiving host with `receive`), port_rx_bps, port_tx_bps, class_tx_bps (bits sent by a class of a port): mean over the bin, with each frame spread over its transmission time; queue_bytes or queue_frames: maximum in the bin, of a queue or an ingress counter; queue_marks: frames marked in the bin; occupancy_bytes: maximum in the bin, of an occupancy selected by a probe; window_bytes or round_trip_ns: maximum in the bin, of a connection over TCP; queue_pair_rate_bps, queue_pair_window_bytes and queue_pair_in_flight_bytes: maximum in the bin of rate, window and unacknowledged bytes, for the first eight queue pairs from one host to another; queue_pair_alpha: maximum alpha in the bin, 0 to 1, of DCQCN or DCTCP, as of the last packet; queue_pair_cnps and queue_pair_sent_again: CNPs received and packets retransmitted in the bin, if there were any; limiter_rate_bps: maximum rate in the bin of a rate limiter, wire bits.",
        ),
        text(
            "entity",
            "Flow, name of several flows, port, class of a port, or queue. A rate limiter is named by its flow, or by its host and priority. A queue pair is named by its flow, `->` and the destination if the flow has several, a slash and its number.",
        ),
        real("time_ns", "ns", "Start of the bin."),
        real("value", "", "Value, in the unit at the end of the name of the metric."),
    ]],
};

/// Metric of the series of flows.
pub const FLOW_SERIES: &str = "flow_throughput_bps";
/// Metric of the sums of flows by name.
const GROUP_SERIES: &str = "group_throughput_bps";

/// A series of queue pairs: metric, unit of its values, and a function that returns width and values of its bins
/// (`None` without data).
type PairMetric = (&'static str, f64, fn(&PairSeries, &[Grid], Time) -> Option<(Time, Vec<u64>)>);

const PAIR_SERIES: [PairMetric; 6] = [
    ("queue_pair_rate_bps", 1.0, |pair, grids, end| pair.rate_and_window.bins(0, grids, end)),
    ("queue_pair_window_bytes", 1.0, |pair, grids, end| pair.rate_and_window.bins(1, grids, end)),
    ("queue_pair_in_flight_bytes", 1.0, |pair, grids, end| pair.in_flight_and_alpha.bins(0, grids, end)),
    ("queue_pair_alpha", ALPHA_UNIT, |pair, grids, end| pair.in_flight_and_alpha.bins(1, grids, end)),
    ("queue_pair_cnps", 1.0, |pair, grids, end| counts(pair.cnps.bins(grids, end))),
    ("queue_pair_sent_again", 1.0, |pair, grids, end| counts(pair.again.bins(grids, end))),
];

/// Returns the width and counts of bins, if any count is above zero.
fn counts(bins: Option<(Time, Vec<u64>)>) -> Option<(Time, Vec<u64>)> {
    bins.filter(|(_, counts)| counts.iter().any(|&count| count > 0))
}

/// A time series: metric, entity, and values of bins.
pub struct Series {
    pub metric: &'static str,
    pub entity: String,
    pub bin: Time,
    pub values: Vec<f64>,
}

impl View<'_> {
    /// Returns all series in the result.
    pub fn series(&self) -> &[Series] {
        self.series.get_or_init(|| self.record_series())
    }

    fn record_series(&self) -> Vec<Series> {
        let mut series = Vec::new();
        for (nth, metric) in [FLOW_SERIES, "flow_read_bps"].into_iter().enumerate() {
            let bits = self.bits_by_flow(nth);
            let sums = if nth == 0 { self.sums_by_name(&bits) } else { Vec::new() };
            let flows = self.s.spec.flows.iter().zip(bits);
            let found = flows
                .filter_map(|(flow, bits)| Some((flow.name.clone(), self.arriving_at(flow, nth, bits?))));
            let rates = |metric, (entity, (bin, bits))| self.rates(metric, entity, bin, bits);
            self.keep(&mut series, Watched::Flow, found.map(|found| rates(metric, found)));
            self.keep(&mut series, Watched::Flow, sums.into_iter().map(|sum| rates(GROUP_SERIES, sum)));
        }
        let received = |port: u32| {
            let sender = self.s.peer(port);
            let (bin, bits) = self.s.received_series(sender, self.whole_end())?;
            Some((bin, self.carried_by(&[sender], bin, bits)))
        };
        let sent = |port: u32| {
            let (bin, bits) = self.s.sent_series(port, self.whole_end())?;
            Some((bin, self.carried_by(&[port], bin, bits)))
        };
        let ports = 0..self.s.ports() as u32;
        let rates = |metric, (port, (bin, bits))| self.rates(metric, self.s.port_name(port), bin, bits);
        let found = ports.clone().filter_map(|port| Some((port, received(port)?)));
        self.keep(&mut series, Watched::Port, found.map(|found| rates("port_rx_bps", found)));
        let found = ports.filter_map(|port| Some((port, sent(port)?)));
        self.keep(&mut series, Watched::Port, found.map(|found| rates("port_tx_bps", found)));
        let classes = self.used_queues().iter().filter_map(|&UsedQueue { port, class, .. }| {
            let (bin, bits) = self.s.class_series(port, class, self.whole_end())?;
            let bits = self.carried_by(&[port], bin, bits);
            Some(self.rates("class_tx_bps", self.queue_name(port, class), bin, bits))
        });
        self.keep(&mut series, Watched::Class, classes);
        let numbers = self.s.spec.numbers();
        for nth in 0..2 {
            let queues = self.used_queues().iter().filter_map(|&UsedQueue { port, class, .. }| {
                let bins = self.s.queue_levels(port, class, nth, self.whole_end())?;
                Some(level_series(bins, nth, self.queue_name(port, class)))
            });
            self.keep(&mut series, Watched::Queue, queues);
            let all = self
                .s
                .parts()
                .flat_map(|part| part.probes.counters.iter().map(|levels| (&part.probes.grids, levels)));
            let counters = all.enumerate().filter(|(_, (_, levels))| levels.is_used());
            let counters = counters.filter_map(|(counter, (grids, levels))| {
                let (port, group) = ((counter / numbers) as u32, counter % numbers);
                let bins = levels.bins(nth, grids, self.whole_end())?;
                Some(level_series(bins, nth, ingress_name(self, port, group)))
            });
            self.keep(&mut series, Watched::Queue, counters);
        }
        self.mark_series(&mut series);
        self.occupancy_series(&mut series);
        self.congestion_series(&mut series);
        self.limiter_series(&mut series);
        series
    }

    /// Adds the frames marked per bin, for queues with any mark.
    fn mark_series(&self, series: &mut Vec<Series>) {
        let marks = self.used_queues().iter().filter_map(|&UsedQueue { port, class, .. }| {
            let (bin, marks) = counts(self.s.queue_marks(port, class, self.whole_end()))?;
            let values = marks.into_iter().map(|marks| marks as f64).collect();
            Some(Series { metric: "queue_marks", entity: self.queue_name(port, class), bin, values })
        });
        self.keep(series, Watched::Queue, marks);
    }

    /// Adds the occupancies that probes name.
    fn occupancy_series(&self, series: &mut Vec<Series>) {
        let tallies = self.s.parts().filter_map(|part| part.probes.tallies.as_deref());
        let all = tallies.flat_map(|own| own.tallies.iter().map(|tally| (tally, &own.grids)));
        let occupancies = all.filter_map(|(tally, grids)| {
            let (bin, levels) = tally.series.bins(0, grids, self.whole_end())?;
            let values = levels.into_iter().map(|level| level as f64).collect();
            let entity = tally.place.name(&self.s.spec, &self.s.wiring);
            Some(Series { metric: "occupancy_bytes", entity, bin, values })
        });
        self.keep(series, Watched::Occupancy, occupancies);
    }

    /// Returns the bits of a flow limited to the capacity of its links (0), or the bits that a host has read, unlimited
    /// (1).
    fn arriving_at(&self, flow: &FlowSpec, nth: usize, (bin, bits): (Time, Vec<u64>)) -> (Time, Vec<u64>) {
        let ends = if nth == 0 { flow.source.destinations.nodes() } else { Vec::new() };
        let ports = ends.into_iter().flat_map(|end| self.s.wiring.ports(end));
        let links: Vec<u32> = ports.map(|port| self.s.peer(port.0)).collect();
        (bin, self.carried_by(&links, bin, bits))
    }

    /// Limits the bits of bins to the capacity of these ports' links. Times are whole picoseconds, so a bit may appear
    /// to end up to two picoseconds early: at the end of a bin, it is moved to the next one. A larger excess would be a
    /// defect. Bits that end after the last bin are dropped.
    fn carried_by(&self, ports: &[u32], bin: Time, mut bits: Vec<u64>) -> Vec<u64> {
        if ports.is_empty() {
            return bits;
        }
        let most = |time: Time| {
            let of_port = |&port: &u32| {
                let former = self.s.cold(port).former.iter().map(|former| former.sent_by.most_bits(time));
                former.fold(self.s.port(port).clock.most_bits(time), u64::max)
            };
            ports.iter().map(of_port).fold(0, u64::saturating_add)
        };
        // Capacities are differences between bin boundaries, so that fractions of a bit do not accumulate.
        let (mut before, mut early) = (0, 0);
        for (nth, bits) in (1..).zip(&mut bits) {
            let until = most(self.whole_end().min(bin * nth));
            let most = until - std::mem::replace(&mut before, until);
            let all = *bits + early;
            *bits = all.min(most);
            early = all - *bits;
            // A bit of the fastest link takes less than two picoseconds.
            let spare = most_early(ports.len());
            debug_assert!(
                early <= spare,
                "{all} bits within {bin} over links that carry {most}: {early} too many"
            );
        }
        bits
    }

    /// Adds the path state of connections over TCP and queue pairs.
    fn congestion_series(&self, series: &mut Vec<Series>) {
        let noted = self.s.parts().flat_map(|part| {
            let states = part.hosts.endpoints.all(part.whole()).iter().zip(&part.probes.congestion);
            states.map(|(state, of)| (state, of, &part.probes.grids[..]))
        });
        let mut noted: Vec<_> = noted.collect();
        // In the order of flows, regardless of the thread.
        noted.sort_by_key(|(state, ..)| state.number);
        let name = |state: &EndpointState| {
            let flow = self.s.path_flow[state.path as usize] as usize;
            self.s.spec.flows[flow].name.clone()
        };
        for (nth, (metric, unit)) in [("window_bytes", 1.0), ("round_trip_ns", 1e3)].into_iter().enumerate() {
            let found = noted.iter().filter_map(|(state, of, grids)| {
                let CongestionSeries::Tcp(levels) = of else { return None };
                let (bin, windows) = levels.bins(0, grids, self.whole_end())?;
                let levels =
                    levels.bins(nth, grids, self.whole_end()).map_or(vec![0; windows.len()], |own| own.1);
                let values = levels.into_iter().map(|level| level as f64 / unit).collect();
                Some(Series { metric, entity: name(state), bin, values })
            });
            self.keep(series, Watched::Flow, found);
        }
        let pairs = noted.iter().filter_map(|&(state, of, grids)| match of {
            CongestionSeries::Pairs(of) => Some((state, of, grids)),
            _ => None,
        });
        let pairs = pairs.flat_map(|(state, of, grids)| {
            (0..).zip(&of.pairs).map(move |(nth, own)| (state, nth, own, grids))
        });
        let pairs: Vec<_> = pairs.collect();
        for (metric, unit, of) in PAIR_SERIES {
            let found = pairs.iter().filter_map(|&(state, nth, own, grids)| {
                let (bin, values) = of(own, grids, self.whole_end())?;
                let entity = self.pair_entity(state, name(state), nth);
                let values = values.into_iter().map(|value| value as f64 * unit).collect();
                Some(Series { metric, entity, bin, values })
            });
            self.keep(series, Watched::Flow, found);
        }
    }

    /// Returns the name of a queue pair: flow, destination if there are several, and its number.
    fn pair_entity(&self, state: &EndpointState, flow: String, nth: u32) -> String {
        let of = self.s.path_flow[state.path as usize] as usize;
        let destinations = &self.s.spec.flows[of].source.destinations;
        // True at the far end, for a connection with senders at both ends.
        let is_back = state.behind.is_some();
        if !is_back && destinations.count() < 2 {
            return format!("{flow}/{nth}");
        }
        let to = destinations.nth(state.path - self.s.source(of).first_path).at();
        let arrow = if is_back { "<-" } else { "->" };
        format!("{flow}{arrow}{}/{nth}", self.s.spec.nodes[to].name)
    }

    /// Adds the rates of limiters through which at least one frame has passed.
    fn limiter_series(&self, series: &mut Vec<Series>) {
        let noted = self.s.parts().flat_map(|part| {
            let rates = part.hosts.limiters.all(part.whole()).iter().zip(&part.probes.limiter_rates);
            rates.map(|(limiter, rates)| (limiter, rates, &part.probes.grids[..]))
        });
        let mut noted: Vec<_> = noted.filter(|(limiter, ..)| limiter.sent().0 > 0).collect();
        noted.sort_by_key(|(limiter, ..)| limiter.number);
        let found = noted.into_iter().filter_map(|(limiter, rates, grids)| {
            let (bin, rates) = rates.bins(0, grids, self.whole_end())?;
            let values = rates.into_iter().map(|rate| rate as f64).collect();
            Some(Series { metric: "limiter_rate_bps", entity: self.limiter_entity(limiter), bin, values })
        });
        self.keep(series, Watched::Flow, found);
    }

    /// Adds series of one metric and kind; if there are more than the limit, only those with the largest sums.
    fn keep(&self, series: &mut Vec<Series>, what: Watched, found: impl Iterator<Item = Series>) {
        let probes = self.s.spec.probes.chosen.iter().flatten().filter(|probe| probe.what == what);
        let most = probes.map(|probe| match probe.which {
            Which::Busiest(most) => most as usize,
            _ => usize::MAX,
        });
        let most = most.max().unwrap_or(MAX_SERIES);
        let mut kept: Vec<(f64, Series)> = Vec::new();
        let mut longest = 1;
        for one in found {
            longest = longest.max(one.values.len());
            kept.push((one.values.iter().sum(), one));
            // Most series of a large fabric are discarded while they are still in the cache.
            let room = most.min(MAX_BINS as usize / longest).max(1);
            if kept.len() >= 2 * room {
                keep_largest(&mut kept, room);
            }
        }
        keep_largest(&mut kept, most.min(MAX_BINS as usize / longest).max(1));
        series.extend(kept.into_iter().map(|(_, one)| one));
    }

    /// Converts bits per bin to rates. If the end of the run cuts the last bin short, its rate is computed over the
    /// shorter time.
    fn rates(&self, metric: &'static str, entity: String, bin: Time, bits: Vec<u64>) -> Series {
        let whole = bin.as_secs_f64();
        let mut values: Vec<f64> = bits.iter().map(|&bits| bits as f64 / whole).collect();
        for (index, value) in values.iter_mut().enumerate().skip((self.whole_end().ps() / bin.ps()) as usize)
        {
            let left = self.whole_end().saturating_sub(bin * index as u64).as_secs_f64();
            *value = if left > 0.0 { bits[index] as f64 / left } else { 0.0 };
        }
        Series { metric, entity, bin, values }
    }

    /// By flow, width and bits of each bin: arrived (0), or read by hosts that take time to read (1).
    fn bits_by_flow(&self, nth: usize) -> Vec<Option<(Time, Vec<u64>)>> {
        let mut of_flows: Vec<Option<(Time, Vec<u64>)>> = vec![None; self.s.spec.flows.len()];
        for path in 0..self.s.path_flow.len() {
            if nth == 1 && !self.s.is_read_slowly(path) {
                continue;
            }
            for (width, bits) in self.s.arrived(path, nth, self.whole_end()) {
                match &mut of_flows[self.s.path_flow[path] as usize] {
                    sum @ None => *sum = Some((width, bits)),
                    Some((_, sum)) => sum.iter_mut().zip(bits).for_each(|(total, more)| *total += more),
                }
            }
        }
        if nth == 0 {
            self.add_arriving(&mut of_flows);
        }
        of_flows
    }

    /// Returns sums over the flows of a name, such as `incast[h1]` and `incast[h2]`, if all their bins have equal
    /// widths. The sums are complete even if not all flows have a series.
    fn sums_by_name(&self, of_flows: &[Option<(Time, Vec<u64>)>]) -> Vec<(String, (Time, Vec<u64>))> {
        let names = self.s.spec.flows.iter().map(|flow| flow.name.split_once('[').map(|(name, _)| name));
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (flow, name) in names.enumerate() {
            name.into_iter().for_each(|name| groups.entry(name).or_default().push(flow));
        }
        let sum = |(name, flows): (&str, Vec<usize>)| {
            let (width, mut sum) = of_flows[flows[0]].clone()?;
            for &flow in &flows[1..] {
                let (own, bits) = of_flows[flow].as_ref()?;
                (*own == width).then(|| sum.iter_mut().zip(bits).for_each(|(total, more)| *total += more))?;
            }
            (flows.len() > 1).then(|| (name.to_string(), (width, sum)))
        };
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, flows)| flows[0]);
        groups.into_iter().filter_map(sum).collect()
    }

    /// Adds frames that are arriving at the end: totals count a frame when it has arrived completely, series count its
    /// bits before the end.
    fn add_arriving(&self, of_flows: &mut [Option<(Time, Vec<u64>)>]) {
        for &(path, passage) in &self.arriving {
            let flow = self.s.path_flow[path as usize] as usize;
            let Some((width, bits)) = &mut of_flows[flow] else { continue };
            let passage = Passage { end: self.s.whole_time(passage.end), ..passage };
            passage.add_to(bits, *width, self.whole_end());
        }
    }
}

/// Creates the series of bytes (0) or frames (1) of a queue.
fn level_series((bin, levels): (Time, Vec<u64>), nth: usize, entity: String) -> Series {
    let values = levels.into_iter().map(|level| level as f64).collect();
    Series { metric: ["queue_bytes", "queue_frames"][nth], entity, bin, values }
}

/// Maximum number of bits that may appear to end in the previous bin, over this many links.
fn most_early(links: usize) -> u64 {
    2 * links as u64
}

/// Keeps the `most` series with the largest sums, the first of equal ones; the order is preserved.
fn keep_largest(kept: &mut Vec<(f64, Series)>, most: usize) {
    if kept.len() <= most {
        return;
    }
    let mut sums: Vec<f64> = kept.iter().map(|(sum, _)| *sum).collect();
    sums.sort_by(f64::total_cmp);
    let least = sums[sums.len() - most];
    let mut equal = most - sums.iter().filter(|&&sum| sum > least).count();
    kept.retain(|&(sum, _)| {
        let stays = sum > least || sum == least && equal > 0;
        equal -= usize::from(stays && sum == least);
        stays
    });
}

/// All series as one table.
pub fn series_table(series: &[Series]) -> TableBuilder {
    let mut metrics: Vec<String> = Vec::new();
    let mut metric_of = Vec::with_capacity(series.len());
    for one in series {
        if metrics.last().is_none_or(|last| last != one.metric) {
            metrics.push(one.metric.to_string());
        }
        metric_of.push(metrics.len() as u32 - 1);
    }
    let rows = || series.iter().enumerate().flat_map(|(nth, one)| std::iter::repeat_n(nth, one.values.len()));
    let starts = |one: &Series| {
        let bin = one.bin;
        (0..one.values.len() as u64).map(move |nth| (bin * nth).as_ns_f64())
    };
    let entities = series.iter().map(|one| one.entity.clone()).collect();
    SERIES
        .builder()
        .named("metric", metrics, rows().map(|nth| metric_of[nth]))
        .named("entity", entities, rows().map(|nth| nth as u32))
        .reals("time_ns", series.iter().flat_map(starts))
        .reals("value", series.iter().flat_map(|series| series.values.iter().copied()))
}
