//! Time series, a row a bin.

use super::View;
use super::pauses::ingress_name;
use crate::run::probes::Probes;
use frame::PRIORITIES;
use measure::{BinnedMax, BinnedSum, Table};
use units::Time;

/// Metric of the series of flows.
pub const FLOW_SERIES: &str = "flow_throughput_bps";

/// A time series: metric, entity, values a bin.
pub struct Series {
    pub metric: &'static str,
    pub entity: String,
    pub bin: Time,
    pub values: Vec<f64>,
}

impl View<'_> {
    pub fn series(&self) -> Vec<Series> {
        let Some(bin) = self.s.spec.probes.bin else { return Vec::new() };
        let mut series = Vec::new();
        // The last bin may be cut short by the end: its rate is taken over the time there was.
        let rates = |bins: Vec<u64>| -> Vec<f64> {
            let width = |index: usize| {
                let start = bin * index as u64;
                (start + bin).min(self.end).saturating_sub(start).as_secs_f64()
            };
            let rate = |(index, bytes): (usize, u64)| {
                if width(index) > 0.0 { bytes as f64 * 8.0 / width(index) } else { 0.0 }
            };
            bins.into_iter().enumerate().map(rate).collect()
        };
        let mut flow_bins: Vec<Option<Vec<u64>>> = vec![None; self.s.spec.flows.len()];
        for path in 0..self.s.path_flow.len() {
            let Some(binned) = self.s.delivered(path) else { continue };
            let bins = binned.clone().finish(self.end);
            let sum = &mut flow_bins[self.s.path_flow[path] as usize];
            match sum {
                None => *sum = Some(bins),
                Some(sum) => sum.iter_mut().zip(bins).for_each(|(total, more)| *total += more),
            }
        }
        for (flow, bins) in self.s.spec.flows.iter().zip(flow_bins) {
            if let Some(bins) = bins {
                series.push(Series {
                    metric: FLOW_SERIES,
                    entity: flow.name.clone(),
                    bin,
                    values: rates(bins),
                });
            }
        }
        let received: fn(&Probes) -> &[BinnedSum] = |probes| &probes.received;
        let sent: fn(&Probes) -> &[BinnedSum] = |probes| &probes.sent;
        for (metric, of_ports) in [("port_rx_bps", received), ("port_tx_bps", sent)] {
            for (port, binned) in (0..).zip(self.s.parts().flat_map(|part| of_ports(&part.probes))) {
                let values = rates(binned.clone().finish(self.end));
                series.push(Series { metric, entity: self.s.port_name(port), bin, values });
            }
        }
        if self.s.parts().any(|part| !part.probes.queues.is_empty()) {
            for (port, class, _) in self.used_queues() {
                let levels = self.s.queue_levels(port, class);
                self.level_series(&mut series, levels, bin, self.queue_name(port, class));
            }
        }
        for (counter, levels) in self.s.parts().flat_map(|part| &part.probes.counters).enumerate() {
            let (port, group) = ((counter / PRIORITIES) as u32, counter % PRIORITIES);
            if levels.0.is_used() {
                self.level_series(&mut series, levels, bin, ingress_name(self, port, group));
            }
        }
        self.congestion_series(&mut series, bin);
        series
    }

    /// Windows and round trips of connections over TCP.
    fn congestion_series(&self, series: &mut Vec<Series>, bin: Time) {
        let noted = self.s.parts().flat_map(|part| part.hosts.endpoints.iter().zip(&part.probes.congestion));
        let mut noted: Vec<_> = noted.collect();
        noted.retain(|(_, (windows, _))| windows.is_used());
        // In the order of flows, whichever thread has them.
        noted.sort_by_key(|(state, _)| state.number);
        for (state, (windows, trips)) in noted {
            let flow = self.s.path_flow[state.path as usize] as usize;
            let entity = &self.s.spec.flows[flow].name;
            for (metric, levels, unit) in [("window_bytes", windows, 1.0), ("round_trip_ns", trips, 1e3)] {
                let values = levels.clone().finish(self.end).into_iter().map(|level| level as f64 / unit);
                series.push(Series { metric, entity: entity.clone(), bin, values: values.collect() });
            }
        }
    }

    fn level_series(
        &self,
        series: &mut Vec<Series>,
        (bytes, frames): &(BinnedMax, BinnedMax),
        bin: Time,
        entity: String,
    ) {
        for (metric, binned) in [("queue_bytes", bytes), ("queue_frames", frames)] {
            let values = binned.clone().finish(self.end).into_iter().map(|level| level as f64).collect();
            series.push(Series { metric, entity: entity.clone(), bin, values });
        }
    }
}

/// All series as one table.
pub fn series_table(series: Vec<Series>) -> Table {
    let rows =
        || series.iter().flat_map(|series| (0..series.values.len() as u64).map(move |bin| (series, bin)));
    Table::new("series", "One row a bin of a time series.")
        .texts("metric", "flow_throughput_bps, port_rx_bps, port_tx_bps (mean over the bin), queue_bytes or queue_frames (most in the bin; of a queue or an ingress counter), window_bytes or round_trip_ns (most in the bin; of a connection over TCP).", rows().map(|(series, _)| series.metric.to_string()))
        .texts("entity", "The flow, port or queue.", rows().map(|(series, _)| series.entity.clone()))
        .reals("time_ns", "ns", "Start of the bin.", rows().map(|(series, bin)| (series.bin * bin).as_ns_f64()))
        .reals("value", "", "The value, in the unit that the metric's name ends in.", series.iter().flat_map(|series| series.values.iter().copied()))
}
