//! The table of connections: round-trip times, exchanges, transfers and congestion state.

use super::View;
use crate::run::state::endpoint_state::EndpointState;
use measure::{LatencySummary, TableBuilder, TableSpec};
use transport::{Congestion, Endpoint, Protocol};

use measure::table::{integer, real, real_or_null, text};
use units::Time;

/// Columns of `connections`.
pub(super) static CONNECTIONS: TableSpec = TableSpec {
    name: "connections",
    about: "One row per connection, a flow with traffic in both directions. Connections of `[[transfers]]` are in the table `transfers`.",
    columns: &[&[
        text("flow", "Name of the flow."),
        text(
            "endpoint",
            "Mechanism of the initiating endpoint, such as window_sender or tcp_sender, or the application if both ends send messages.",
        ),
        integer("round_trips", "", "Number of round-trip samples."),
        real("round_trip_min_ns", "ns", "Shortest round trip."),
        real("round_trip_mean_ns", "ns", "Mean round trip."),
        real("round_trip_p99_ns", "ns", "99th percentile of round trips."),
        real("round_trip_max_ns", "ns", "Longest round trip."),
        integer(
            "exchanges",
            "",
            "Complete requests and responses, exchanges of a conversation, steps of MPI, or transfers over TCP.",
        ),
        real(
            "exchange_min_ns",
            "ns",
            "Shortest time from a request to the end of its response, or shortest duration of an exchange of a conversation, a step of MPI or a transfer over TCP.",
        ),
        real("exchange_mean_ns", "ns", "Mean of these times."),
        real("exchange_p99_ns", "ns", "99th percentile of these times."),
        real("exchange_max_ns", "ns", "Longest of these times."),
        integer("application_bytes", "B", "Bytes of the application in complete exchanges and transfers."),
        real_or_null(
            "completed_ns",
            "ns",
            "Time at which the transfer was complete; null if it was not, or is unlimited.",
        ),
        integer("messages", "", "Congestion messages of switches received by the initiating end."),
        real("message_delay_min_ns", "ns", "Shortest time from a congestion message to its arrival."),
        real("message_delay_max_ns", "ns", "Longest of these times."),
        integer("segments_sent_again", "", "Segments that were retransmitted."),
        integer(
            "frames_discarded",
            "",
            "Frames that arrived but were discarded: out of order, duplicate, or too late.",
        ),
        real_or_null(
            "congestion_window_bytes",
            "B",
            "Congestion window at the end, bytes of data; null without TCP.",
        ),
        real_or_null(
            "round_trip_smoothed_ns",
            "ns",
            "Smoothed round-trip time of the sender at the end; null without TCP.",
        ),
        integer("timeouts", "", "Timeouts of a sender over TCP."),
        integer("marks_echoed", "", "Acknowledgements with an ECN echo received by a sender over TCP."),
        real_or_null(
            "held_by_application",
            "",
            "Share of the time of a sender over TCP, from its start until all data are acknowledged, in which it had no data to send; null without TCP. The five shares add up to 1.",
        ),
        real_or_null(
            "held_by_receive_window",
            "",
            "Share of this time in which the receive window or the send buffer was full; null without TCP.",
        ),
        real_or_null(
            "held_by_congestion_control",
            "",
            "Share of this time in which its congestion control (window, pacing, handshake or loss recovery) did not permit sending; null without TCP.",
        ),
        real_or_null(
            "held_by_pause",
            "",
            "Share of this time in which a segment was ready, and a pause or a link that was down stopped its class at the NIC; null without TCP.",
        ),
        real_or_null(
            "held_by_host",
            "",
            "Share of this time in which a segment was ready, and the NIC was sending other frames or a rate limiter delayed it; null without TCP.",
        ),
        integer(
            "exchanges_aborted",
            "",
            "Exchanges over FCoE that were aborted after `ulp_tov`, to be repeated.",
        ),
        text(
            "withheld_at",
            "Ports of its route at which an FCoE end node withheld its frames, because no flow control is in force there for its priority; names, separated by spaces.",
        ),
    ]],
};

impl View<'_> {
    /// Returns the table of round-trip times, exchanges and transfers of connections.
    pub(super) fn connections(&self) -> TableBuilder {
        let rows = self.connection_rows();
        let counts = |of: fn(&Row) -> u64| rows.iter().map(of).collect::<Vec<_>>();
        let table = CONNECTIONS
            .builder()
            .texts("flow", rows.iter().map(|row| row.flow.clone()))
            .texts("endpoint", rows.iter().map(|row| row.kind.into()));
        let table = with_messages(with_exchanges(with_round_trips(table, &rows), &rows), &rows)
            .integers("segments_sent_again", counts(|row| row.sent_again))
            .integers("frames_discarded", counts(|row| row.discarded));
        with_fcoe(with_held(with_congestion(table, &rows), &rows), &rows)
    }

    /// Fractions of the time of a sender over TCP until its completion, by limiting factor, in the order of [`HELD`].
    fn held_back(&self, near: &EndpointState) -> Option<[f64; 5]> {
        let [application, window, control, ready] = near.endpoint.facts(self.end).held?.times;
        let port = *self.s.path_of(near.path as usize).first()?;
        let class = self.s.port(port).classes.class(near.priority);
        let nic = self.s.nic(port)?;
        let stopped = near.stopped(nic, class, self.end).min(ready);
        let all = [application, window, control, stopped, ready - stopped];
        let sum: Time = all.into_iter().fold(Time::ZERO, |sum, time| sum + time);
        (sum > Time::ZERO).then(|| all.map(|time| time.ps() as f64 / sum.ps() as f64))
    }

    /// Names of the ports at which ends of FCoE withheld frames.
    fn withheld_at(&self, near: &EndpointState, far: &EndpointState) -> String {
        let ports = [near, far].into_iter().flat_map(|end| match &end.endpoint {
            Endpoint::Fcoe(end) => end.withheld_at(),
            _ => &[],
        });
        ports.map(|&port| self.s.port_name(port)).collect::<Vec<_>>().join(" ")
    }

    fn connection_rows(&self) -> Vec<Row> {
        let row = |(near, far): (&EndpointState, &EndpointState)| {
            let flow = self.s.path_flow[near.path as usize] as usize;
            // The far end requests reads.
            let reads = near.endpoint.sending_pairs().is_some_and(|pairs| pairs.is_read());
            let requester = if reads { &far.measured } else { &near.measured };
            let facts = [near, far].map(|end| end.endpoint.facts(self.end));
            Row {
                flow: self.s.spec.flows[flow].name.clone(),
                kind: near.endpoint.name(),
                round_trips: near.measured.round_trips.summary(),
                exchanges: requester.exchanges.summary(),
                bytes: requester.bytes,
                completed: requester.completed.map_or(f64::NAN, |at| self.s.whole_time(at).as_ns_f64()),
                messages: near.measured.messages.summary(),
                sent_again: facts[0].retransmitted + facts[1].retransmitted,
                discarded: facts[0].discarded + facts[1].discarded,
                congestion: facts[0].congestion,
                held: self.held_back(near),
                aborted: if let Endpoint::Fcoe(initiator) = &near.endpoint { initiator.aborted() } else { 0 },
                withheld_at: self.withheld_at(near, far),
            }
        };
        // Connections of scheduled transfers have one row per transfer instead.
        let scheduled = |near: &EndpointState| match &near.endpoint {
            Endpoint::TransferSender(_) => true,
            Endpoint::UetSender(sender) => sender.is_scheduled(),
            other => other.sending_pairs().is_some_and(|pairs| pairs.is_scheduled()),
        };
        self.s.connections().into_iter().filter(|ends| !scheduled(ends.0)).map(row).collect()
    }
}

fn with_round_trips(table: TableBuilder, rows: &[Row]) -> TableBuilder {
    let each =
        |of: fn(&LatencySummary) -> f64| rows.iter().map(|row| of(&row.round_trips)).collect::<Vec<_>>();
    table
        .integers("round_trips", rows.iter().map(|row| row.round_trips.count))
        .reals("round_trip_min_ns", each(|times| times.min))
        .reals("round_trip_mean_ns", each(|times| times.mean))
        .reals("round_trip_p99_ns", each(|times| times.p99))
        .reals("round_trip_max_ns", each(|times| times.max))
}

fn with_exchanges(table: TableBuilder, rows: &[Row]) -> TableBuilder {
    let each = |of: fn(&LatencySummary) -> f64| rows.iter().map(|row| of(&row.exchanges)).collect::<Vec<_>>();
    table
        .integers("exchanges", rows.iter().map(|row| row.exchanges.count))
        .reals("exchange_min_ns", each(|times| times.min))
        .reals("exchange_mean_ns", each(|times| times.mean))
        .reals("exchange_p99_ns", each(|times| times.p99))
        .reals("exchange_max_ns", each(|times| times.max))
        .integers("application_bytes", rows.iter().map(|row| row.bytes))
        .reals("completed_ns", rows.iter().map(|row| row.completed))
}

fn with_messages(table: TableBuilder, rows: &[Row]) -> TableBuilder {
    table
        .integers("messages", rows.iter().map(|row| row.messages.count))
        .reals("message_delay_min_ns", rows.iter().map(|row| row.messages.min))
        .reals("message_delay_max_ns", rows.iter().map(|row| row.messages.max))
}

/// Adds the columns of senders over TCP: their state at the end.
fn with_congestion(table: TableBuilder, rows: &[Row]) -> TableBuilder {
    let known = |of: fn(&Congestion) -> f64| {
        rows.iter().map(|row| row.congestion.as_ref().map_or(f64::NAN, of)).collect::<Vec<_>>()
    };
    let counts = |of: fn(&Congestion) -> u64| {
        rows.iter().map(|row| row.congestion.as_ref().map_or(0, of)).collect::<Vec<_>>()
    };
    let trip = |known: &Congestion| known.round_trip.map_or(f64::NAN, Time::as_ns_f64);
    table
        .reals("congestion_window_bytes", known(|known| known.window as f64))
        .reals("round_trip_smoothed_ns", known(trip))
        .integers("timeouts", counts(|known| known.timeouts))
        .integers("marks_echoed", counts(|known| known.marks))
}

/// Columns for the factors that limit a sender over TCP.
const HELD: [&str; 5] = [
    "held_by_application",
    "held_by_receive_window",
    "held_by_congestion_control",
    "held_by_pause",
    "held_by_host",
];

/// Sets the columns of [`HELD`].
fn with_held(table: TableBuilder, rows: &[Row]) -> TableBuilder {
    HELD.iter().enumerate().fold(table, |table, (at, name)| {
        let share = |row: &Row| row.held.map_or(f64::NAN, |held| held[at]);
        table.reals(name, rows.iter().map(share))
    })
}

/// Adds the columns of exchanges over FCoE.
fn with_fcoe(table: TableBuilder, rows: &[Row]) -> TableBuilder {
    table
        .integers("exchanges_aborted", rows.iter().map(|row| row.aborted))
        .texts("withheld_at", rows.iter().map(|row| row.withheld_at.clone()))
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
    congestion: Option<Congestion>,
    held: Option<[f64; 5]>,
    aborted: u64,
    withheld_at: String,
}
