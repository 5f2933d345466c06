//! What connections have measured.

use super::View;
use measure::{LatencySummary, Table};
use transport::Protocol;
use units::Time;

impl View<'_> {
    /// Round trips, exchanges and transfers of connections.
    pub(super) fn connections(&self) -> Table {
        let ends = self.s.connections();
        let rows: Vec<Row> = ends
            .into_iter()
            .map(|(near, far)| {
                let flow = self.s.path_flow[near.path as usize] as usize;
                Row {
                    flow: self.s.spec.flows[flow].name.clone(),
                    kind: near.endpoint.name(),
                    round_trips: near.measured.round_trips.summary(),
                    exchanges: near.measured.exchanges.summary(),
                    bytes: near.measured.bytes,
                    completed: near.measured.completed.map_or(f64::NAN, Time::as_ns_f64),
                    messages: near.measured.messages.summary(),
                    sent_again: near.endpoint.retransmitted() + far.endpoint.retransmitted(),
                    discarded: near.endpoint.discarded() + far.endpoint.discarded(),
                }
            })
            .collect();
        let each = |of: fn(&Row) -> f64| rows.iter().map(of).collect::<Vec<_>>();
        Table::new("connections", "One row a connection: a flow whose two ends answer each other.")
            .texts("flow", "Name of the flow.", rows.iter().map(|row| row.flow.clone()))
            .texts(
                "endpoint",
                "What opens it: window_sender or requester.",
                rows.iter().map(|row| row.kind.into()),
            )
            .integers(
                "round_trips",
                "",
                "Segments that were timed until their acknowledgement.",
                rows.iter().map(|row| row.round_trips.count),
            )
            .reals("round_trip_min_ns", "ns", "Shortest round trip.", each(|row| row.round_trips.min))
            .reals("round_trip_mean_ns", "ns", "Mean round trip.", each(|row| row.round_trips.mean))
            .reals(
                "round_trip_p99_ns",
                "ns",
                "99th percentile of round trips.",
                each(|row| row.round_trips.p99),
            )
            .reals("round_trip_max_ns", "ns", "Longest round trip.", each(|row| row.round_trips.max))
            .integers(
                "exchanges",
                "",
                "Requests whose whole response has arrived.",
                rows.iter().map(|row| row.exchanges.count),
            )
            .reals(
                "exchange_min_ns",
                "ns",
                "Shortest time from a request to its whole response.",
                each(|row| row.exchanges.min),
            )
            .reals("exchange_mean_ns", "ns", "Mean of it.", each(|row| row.exchanges.mean))
            .reals("exchange_p99_ns", "ns", "99th percentile of it.", each(|row| row.exchanges.p99))
            .reals("exchange_max_ns", "ns", "Longest of it.", each(|row| row.exchanges.max))
            .integers(
                "application_bytes",
                "B",
                "Bytes of the application in complete exchanges and transfers.",
                rows.iter().map(|row| row.bytes),
            )
            .reals(
                "completed_ns",
                "ns",
                "When the transfer was complete; not a number if it was not, or has no end.",
                each(|row| row.completed),
            )
            .integers(
                "messages",
                "",
                "Congestion messages of switches that the opening end has received.",
                rows.iter().map(|row| row.messages.count),
            )
            .reals(
                "message_delay_min_ns",
                "ns",
                "Shortest time from a congestion message to its arrival.",
                each(|row| row.messages.min),
            )
            .reals("message_delay_max_ns", "ns", "Longest of it.", each(|row| row.messages.max))
            .integers(
                "segments_sent_again",
                "",
                "Segments that were sent more than once.",
                rows.iter().map(|row| row.sent_again),
            )
            .integers(
                "frames_discarded",
                "",
                "Frames that arrived and were of no use: out of order, twice, too late.",
                rows.iter().map(|row| row.discarded),
            )
    }
}

struct Row {
    flow: String,
    kind: &'static str,
    round_trips: LatencySummary,
    exchanges: LatencySummary,
    bytes: u64,
    completed: f64,
    messages: LatencySummary,
    sent_again: u64,
    discarded: u64,
}
