//! Columns of latencies and waits.

use measure::table::real;
use measure::{ColumnSpec, LatencySummary, TableBuilder};

/// Time from the creation of a frame to its arrival.
pub(super) static LATENCY: [ColumnSpec; 6] = [
    real(
        "latency_mean_ns",
        "ns",
        "Mean latency, from the creation of the frame to the arrival of its last bit, or to the end of its processing by a receiving host with `receive`.",
    ),
    real("latency_p50_ns", "ns", "Median latency."),
    real("latency_p90_ns", "ns", "90th percentile of the latency."),
    real("latency_p99_ns", "ns", "99th percentile of the latency."),
    real("latency_p999_ns", "ns", "99.9th percentile of the latency."),
    real("latency_max_ns", "ns", "Longest latency."),
];

/// Waiting time in a queue, without transmission.
pub(super) static WAIT: [ColumnSpec; 6] = [
    real("wait_mean_ns", "ns", "Mean wait in the queue, not including transmission."),
    real("wait_p50_ns", "ns", "Median wait."),
    real("wait_p90_ns", "ns", "90th percentile of the wait."),
    real("wait_p99_ns", "ns", "99th percentile of the wait."),
    real("wait_p999_ns", "ns", "99.9th percentile of the wait."),
    real("wait_max_ns", "ns", "Longest wait."),
];

/// Values of the columns of [`LATENCY`] and of [`WAIT`], in their order.
const STATISTICS: [fn(&LatencySummary) -> f64; 6] =
    [|s| s.mean, |s| s.p50, |s| s.p90, |s| s.p99, |s| s.p999, |s| s.max];

/// Sets the statistics that `columns` declares: [`LATENCY`] or [`WAIT`].
pub(super) fn with_durations(
    table: TableBuilder,
    columns: &[ColumnSpec; 6],
    rows: impl Iterator<Item = LatencySummary> + Clone,
) -> TableBuilder {
    columns.iter().zip(STATISTICS).fold(table, |table, (column, value)| {
        table.reals(column.name, rows.clone().map(|summary| value(&summary)))
    })
}
