//! The table of the paths of connections that exclude failed paths (MRC).

use super::View;
use measure::table::{integer, real_or_null, text};
use measure::{TableBuilder, TableSpec};
use transport::PathCounts;
use units::Time;

/// Columns of `path_states`.
pub(super) static PATH_STATES: TableSpec = TableSpec {
    name: "path_states",
    about: "One row per connection whose path selection excludes failed paths (`paths = \"mrc\"`), over the whole run, including `warmup`.",
    columns: &[&[
        text("flow", "Name of the flow."),
        text("source", "Sending host."),
        text("destination", "Receiving host."),
        integer("paths_taken_out", "", "Entropy values excluded after the loss of a packet."),
        integer("paths_returned", "", "Entropy values restored after an answered probe."),
        integer("paths_out", "", "Entropy values excluded at the end."),
        integer(
            "losses_ignored",
            "",
            "Losses after which no value was excluded, because too few values would have remained.",
        ),
        integer("turns_skipped", "", "Turns in which a value was skipped because of a mark or a trim."),
        integer("probes_sent", "", "Probes of excluded values."),
        integer("probes_answered", "", "Probes that were answered."),
        real_or_null(
            "detection_max_ns",
            "ns",
            "Longest time from sending a lost packet until its value was excluded; null if none was.",
        ),
        real_or_null("detection_mean_ns", "ns", "Mean of this time; null if none was excluded."),
    ]],
};

struct Row {
    names: [String; 3],
    counts: PathCounts,
    detection: (Time, Time),
}

type Count = (&'static str, fn(&Row) -> u64);

const COUNTS: [Count; 7] = [
    ("paths_taken_out", |row| row.counts.taken_out),
    ("paths_returned", |row| row.counts.returned),
    ("paths_out", |row| row.counts.out),
    ("losses_ignored", |row| row.counts.kept),
    ("turns_skipped", |row| row.counts.skipped),
    ("probes_sent", |row| row.counts.probes),
    ("probes_answered", |row| row.counts.probe_answers),
];

impl View<'_> {
    /// Returns the paths of connections that exclude failed paths.
    pub(super) fn path_states(&self) -> TableBuilder {
        let ends = self.s.connections();
        let both = |&(near, far)| [(near, far, false), (far, near, true)];
        let contexts = ends.iter().flat_map(both).flat_map(|ends| self.context_rows(ends));
        let rows: Vec<Row> = contexts
            .filter_map(|row| {
                let (counts, detection) = row.context.path_counts()?;
                Some(Row { names: self.names_of(&row), counts, detection })
            })
            .collect();
        let name = |nth: usize| rows.iter().map(move |row| row.names[nth].clone());
        let time = |row: &Row, ps: u64| if row.counts.taken_out > 0 { ps as f64 / 1e3 } else { f64::NAN };
        let mean = |row: &Row| row.detection.1.ps() / row.counts.taken_out.max(1);
        let table = PATH_STATES
            .builder()
            .texts("flow", name(0))
            .texts("source", name(1))
            .texts("destination", name(2))
            .reals("detection_max_ns", rows.iter().map(|row| time(row, row.detection.0.ps())))
            .reals("detection_mean_ns", rows.iter().map(|row| time(row, mean(row))));
        COUNTS
            .iter()
            .fold(table, |table, &(name, of)| table.integers(name, rows.iter().map(of).collect::<Vec<_>>()))
    }
}
