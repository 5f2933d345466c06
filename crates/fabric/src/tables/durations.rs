//! Columns of latencies and waits.

use measure::{LatencySummary, Table};

/// A column: its name, what it is, and its value.
type Statistic = (&'static str, &'static str, fn(&LatencySummary) -> f64);

/// From a frame's making to its arrival.
const LATENCY: [Statistic; 6] = [
    (
        "latency_mean_ns",
        "Mean latency, from the creation of the frame to the arrival of its last bit, or until a receiving host has taken it in.",
        |s| s.mean,
    ),
    ("latency_p50_ns", "Median latency.", |s| s.p50),
    ("latency_p90_ns", "90th percentile of the latency.", |s| s.p90),
    ("latency_p99_ns", "99th percentile of the latency.", |s| s.p99),
    ("latency_p999_ns", "99.9th percentile of the latency.", |s| s.p999),
    ("latency_max_ns", "Longest latency.", |s| s.max),
];

/// In a queue, without transmission.
const WAIT: [Statistic; 6] = [
    ("wait_mean_ns", "Mean wait in the queue, without transmission.", |s| s.mean),
    ("wait_p50_ns", "Median wait.", |s| s.p50),
    ("wait_p90_ns", "90th percentile of the wait.", |s| s.p90),
    ("wait_p99_ns", "99th percentile of the wait.", |s| s.p99),
    ("wait_p999_ns", "99.9th percentile of the wait.", |s| s.p999),
    ("wait_max_ns", "Longest wait.", |s| s.max),
];

/// Appends the statistics of latencies.
pub fn with_latency(table: Table, rows: impl Iterator<Item = LatencySummary> + Clone) -> Table {
    append(table, &LATENCY, rows)
}

/// Appends the statistics of waits.
pub fn with_wait(table: Table, rows: impl Iterator<Item = LatencySummary> + Clone) -> Table {
    append(table, &WAIT, rows)
}

fn append(
    table: Table,
    statistics: &[Statistic],
    rows: impl Iterator<Item = LatencySummary> + Clone,
) -> Table {
    statistics.iter().fold(table, |table, &(name, about, value)| {
        table.reals(name, "ns", about, rows.clone().map(|summary| value(&summary)))
    })
}
