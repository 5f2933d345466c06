//! Frames and notifications sent and received by queue pairs.

use super::View;
use super::message_times::{SPENT, with_spent};
use crate::run::state::endpoint_state::EndpointState;
use frame::NodeId;
use measure::table::{integer, real, real_or_null, text};
use measure::{TableBuilder, TableSpec};
use transport::{PairReceived, QueuePair, ReadCounts, TimesSpent};
use units::Time;

/// Columns of `queue_pairs`.
pub(super) static QUEUE_PAIRS: TableSpec = TableSpec {
    name: "queue_pairs",
    about: "One row per queue pair, over the whole run, including `warmup`.",
    columns: &[
        &[
            text("flow", "Name of the flow; where both ends send, either has a row."),
            text("source", "Sending host."),
            text("destination", "Receiving host."),
            integer(
                "queue_pair",
                "",
                "Number of the queue pair among those of the flow to this host, from 0.",
            ),
            text("verb", "Operation of its messages: send, write or read."),
            text("control", "Its congestion control."),
            real(
                "rate_bps",
                "b/s",
                "Rate that its control allows at the end, in bits of frames (DA to FCS); the rate of the link if it is not limited.",
            ),
            real_or_null("window_bytes", "B", "Window at the end, in bytes of frames; null without limit."),
            integer("messages", "", "Acknowledged messages, and complete READs."),
            integer("messages_delivered", "", "Messages that the receiver has received completely."),
            integer("application_bytes", "B", "Bytes of these messages."),
            integer("packets_sent", "", "Packets sent, including retransmissions."),
            integer("packets_sent_again", "", "Packets that were retransmitted."),
            integer("packets_delivered", "", "Packets that the receiver has delivered, in order."),
            integer(
                "packets_outstanding",
                "",
                "Packets not acknowledged at the end; for READs, packets requested and not received.",
            ),
            integer("packets_marked", "", "Packets that arrived marked (ECN)."),
            integer("cnps_sent", "", "Congestion notification packets sent by the receiver."),
            integer("cnps_received", "", "Congestion notification packets received by the sender."),
            integer("marks_echoed", "", "Acknowledgements with an ECN echo received by the sender."),
            integer(
                "naks_sent",
                "",
                "NAKs sent by the receiver; for READs, repeated requests for missing data, including those after timeouts.",
            ),
            integer("naks_received", "", "NAKs received by the sender."),
            integer("rnr_naks_sent", "", "NAKs sent by the receiver because it was not ready."),
            integer("rnr_naks_received", "", "Those of `rnr_naks_sent` received by the sender."),
            integer(
                "packets_out_of_order",
                "",
                "Packets that arrived while an earlier packet was missing, including those that the receiver discarded.",
            ),
            integer(
                "reorder_distance_max",
                "",
                "Maximum distance of such a packet from the expected one, in sequence numbers.",
            ),
            integer(
                "reorder_buffer_max",
                "",
                "Maximum number of packets buffered at the receiver because an earlier packet was missing: bits set in its bitmap.",
            ),
            integer(
                "packets_duplicate",
                "",
                "Packets that arrived more than once. Without losses of acknowledgements each is a spurious retransmission.",
            ),
            integer("timeouts", "", "Timeouts of the sender; for READs, of the receiver."),
            integer(
                "context_fetches",
                "",
                "Fetches of its context by its NIC (`context_fetch` of the host).",
            ),
        ],
        &SPENT,
        &[real_or_null(
            "failed_ns",
            "ns",
            "Time at which the queue pair entered the error state, after which it sends no packets and no READ requests; null if it has not.",
        )],
    ],
};

struct Row<'a> {
    flow: usize,
    source: usize,
    destination: usize,
    number: u64,
    control: &'static str,
    line: f64,
    pair: &'a QueuePair,
    received: PairReceived,
    verb: &'static str,
    /// Counts at the receiver, for READs.
    read: Option<ReadCounts>,
}

impl View<'_> {
    /// Returns the queue pairs of flows and transfers; those that send from the far end follow those that send from the
    /// near end.
    pub(super) fn queue_pairs(&self) -> TableBuilder {
        let ends = self.s.connections();
        let both = |&(near, far)| [(near, far, false), (far, near, true)];
        let rows: Vec<Row<'_>> =
            ends.iter().flat_map(both).flat_map(|ends| self.pairs_between(ends)).collect();
        let integers = |of: fn(&Row<'_>) -> u64| rows.iter().map(of).collect::<Vec<_>>();
        let flows = &self.s.spec.flows;
        let nodes = &self.s.spec.nodes;
        let end = self.end;
        let table = QUEUE_PAIRS
            .builder()
            .texts("flow", rows.iter().map(|row| flows[row.flow].name.clone()))
            .texts("source", rows.iter().map(|row| nodes[row.source].name.clone()))
            .texts("destination", rows.iter().map(|row| nodes[row.destination].name.clone()))
            .integers("queue_pair", integers(|row| row.number))
            .texts("verb", rows.iter().map(|row| row.verb.into()))
            .texts("control", rows.iter().map(|row| row.control.into()))
            .reals("rate_bps", rows.iter().map(|row| row.pair.rate(end).min(row.line)))
            .reals(
                "window_bytes",
                rows.iter().map(|row| match row.pair.window() {
                    u64::MAX => f64::NAN,
                    bytes => bytes as f64,
                }),
            );
        let spent: Vec<TimesSpent> = rows.iter().map(|row| row.pair.spent(end)).collect();
        with_spent(with_counts(table, &rows), &spent).reals(
            "failed_ns",
            rows.iter().map(|row| {
                row.read.and_then(|read| read.failed).or(row.pair.failed()).map_or(f64::NAN, Time::as_ns_f64)
            }),
        )
    }

    /// Returns the queue pairs of one end that sends to another.
    fn pairs_between<'a>(
        &self,
        (sending, receiving, is_back): (&'a EndpointState, &'a EndpointState, bool),
    ) -> Vec<Row<'a>> {
        let (Some(sender), Some(receiver)) =
            (sending.endpoint.sending_pairs(), receiving.endpoint.receiving_pairs())
        else {
            return Vec::new();
        };
        let flow = self.s.path_flow[sending.path as usize] as usize;
        let nth = sending.path - self.s.source(flow).first_path;
        let mut ends = [self.s.spec.flows[flow].from, self.s.spec.flows[flow].source.destinations.nth(nth)];
        if is_back {
            ends.reverse();
        }
        let [source, destination] = ends.map(NodeId::at);
        let row = |(number, pair)| Row {
            flow,
            source,
            destination,
            number,
            control: sender.control(),
            line: sender.line_rate(),
            pair,
            received: receiver.received(number as u32),
            verb: sender.verb(),
            read: receiver.read_counts(number as u32),
        };
        (0..).zip(sender.queue_pairs()).map(row).collect()
    }
}

/// A counter of a queue pair: its column and its value.
type Count = (&'static str, fn(&Row<'_>) -> u64);

const COUNTS: [Count; 21] = [
    ("messages", |row| row.read.map_or(row.pair.counts.messages, |read| read.messages)),
    // A long message may be split into several READs.
    ("messages_delivered", |row| row.read.map_or(row.received.messages, |read| read.messages)),
    ("application_bytes", |row| row.read.map_or(row.pair.counts.bytes, |read| read.bytes)),
    ("packets_sent", |row| row.pair.counts.sent),
    ("packets_sent_again", |row| row.pair.counts.retransmitted),
    ("packets_delivered", |row| row.received.packets),
    ("packets_outstanding", |row| row.read.map_or(row.pair.outstanding(), |read| read.outstanding)),
    ("packets_marked", |row| row.received.marked),
    ("cnps_sent", |row| row.received.cnps),
    ("cnps_received", |row| row.pair.counts.cnps),
    ("marks_echoed", |row| row.pair.counts.marks),
    ("naks_sent", |row| row.received.naks),
    ("naks_received", |row| row.pair.counts.naks),
    ("rnr_naks_sent", |row| row.received.not_ready),
    ("rnr_naks_received", |row| row.pair.counts.not_ready.into()),
    ("packets_out_of_order", |row| row.received.out_of_order),
    ("reorder_distance_max", |row| row.received.reorder_distance),
    ("reorder_buffer_max", |row| row.received.reorder_buffer),
    ("packets_duplicate", |row| row.received.duplicates),
    ("timeouts", |row| row.read.map_or(row.pair.counts.timeouts.into(), |read| read.timeouts)),
    ("context_fetches", |row| row.pair.counts.fetches),
];

fn with_counts(table: TableBuilder, rows: &[Row<'_>]) -> TableBuilder {
    COUNTS
        .iter()
        .fold(table, |table, &(name, of)| table.integers(name, rows.iter().map(of).collect::<Vec<_>>()))
}
