//! Transfers: when each began, how long it took, and how long it would have taken alone.

use super::View;
use super::idle::IdlePath;
use measure::Table;
use units::Time;
use workload::Transfer;

/// A transfer of the result.
struct Row {
    flow: u32,
    path: u32,
    transfer: Transfer,
    missing: u64,
    took: Option<Time>,
    ideal: Time,
}

impl View<'_> {
    /// All that have begun, in order of their starts.
    fn transfer_rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for (flow, spec) in (0..).zip(&self.s.spec.flows) {
            let Some(list) = spec.source.transfers() else { continue };
            let first_path = self.s.source(flow as usize).first_path;
            let destinations = spec.source.destinations.count();
            let mut begun = vec![0u32; destinations];
            let mut idle: Vec<Option<IdlePath>> = (0..destinations).map(|_| None).collect();
            for transfer in list.iter().take_while(|transfer| transfer.start <= self.end) {
                let at = transfer.destination as usize;
                let path = first_path + transfer.destination;
                let (missing, done) = self.s.completion(path as usize, begun[at]);
                begun[at] += 1;
                let idle = idle[at].get_or_insert_with(|| self.idle_path(path as usize));
                let ideal = idle.time(list.framing(), transfer.bytes);
                let took = done.map(|done| done - transfer.start);
                rows.push(Row { flow, path, transfer, missing, took, ideal });
            }
        }
        // Stable: those of one time are in the order of the flows.
        rows.sort_by_key(|row| row.transfer.start);
        rows
    }

    pub fn transfers(&self) -> Table {
        let rows = self.transfer_rows();
        let flows = &self.s.spec.flows;
        let spec = |row: &Row| &flows[row.flow as usize];
        let frames = |row: &Row| {
            let list = spec(row).source.transfers();
            list.map_or(0, |list| list.framing().frames(row.transfer.bytes))
        };
        let nodes = || {
            if rows.is_empty() {
                Vec::new()
            } else {
                self.s.spec.nodes.iter().map(|node| node.name.clone()).collect()
            }
        };
        let names = flows.iter().map(|flow| flow.name.split('[').next().unwrap_or_default().to_string());
        let names = if rows.is_empty() { Vec::new() } else { names.collect() };
        let to = |row: &Row| spec(row).source.destinations.nth(row.transfer.destination).0;
        let ns = |time: Option<Time>| time.map_or(f64::NAN, Time::as_ns_f64);
        let slowdown =
            |row: &Row| row.took.map_or(f64::NAN, |took| took.ps() as f64 / row.ideal.ps().max(1) as f64);
        Table::new("transfers", "One row a transfer that has begun, in the order of starts, those before the end of `warmup` included.")
            .named("name", "Name of the entry of the scenario that it is from.", names, rows.iter().map(|row| row.flow))
            .named("source", "Sending host.", nodes(), rows.iter().map(|row| spec(row).from.0))
            .named("destination", "Receiving host.", nodes(), rows.iter().map(to))
            .integers("class", "", "Priority of its frames, 0 to 7.", rows.iter().map(|row| spec(row).priority.0.into()))
            .integers("bytes", "B", "Its bytes, without the headers of its frames.", rows.iter().map(|row| row.transfer.bytes))
            .integers("frames", "", "Frames that carry it.", rows.iter().map(frames))
            .integers("frames_missing", "", "Frames of these that had not arrived at the end of the run.", rows.iter().map(|row| row.missing))
            .reals("start_ns", "ns", "When it began.", rows.iter().map(|row| row.transfer.start.as_ns_f64()))
            .reals("completion_ns", "ns", "Time from its start to the delivery of its last byte; not a number if it was not complete at the end of the run.", rows.iter().map(|row| ns(row.took)))
            .reals("ideal_ns", "ns", "What that takes on its path without other traffic, exact; on the planned path where switches choose a path for each frame.", rows.iter().map(|row| row.ideal.as_ns_f64()))
            .reals("slowdown", "", "`completion_ns` over `ideal_ns`; not a number if it was not complete.", rows.iter().map(slowdown))
            .integers("path", "", "Its path, as a row of the table `paths`, counted from 0.", rows.iter().map(|row| row.path.into()))
    }
}
