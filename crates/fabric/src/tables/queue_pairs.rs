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
    about: "One row per queue pair, over the whole run: `warmup` does not count anew.",
    columns: &[
        &[
            text("flow", "Name of the flow; where both ends send, either has a row."),
            text("source", "Sending host."),
            text("destination", "Receiving host."),
            integer("queue_pair", "", "Its number among those of the flow to this host, from 0."),
            text("verb", "What its messages are: send, write or read."),
            text("control", "Its congestion control."),
            real(
                "rate_bps",
                "b/s",
                "The rate that its control allows at the end, in bits of frames (DA to FCS): that of the link if nothing else limits it.",
            ),
            real_or_null(
                "window_bytes",
                "B",
                "Bytes of frames that it may have in flight at the end; null without limit.",
            ),
            integer("messages", "", "Messages that are acknowledged, and READs that are whole."),
            integer("messages_delivered", "", "Messages that the receiver has whole."),
            integer("application_bytes", "B", "Bytes of these messages."),
            integer("packets_sent", "", "Packets sent, those sent again included."),
            integer("packets_sent_again", "", "Packets that were retransmitted."),
            integer("packets_delivered", "", "Packets that the receiver has delivered, in order."),
            integer(
                "packets_outstanding",
                "",
                "Packets that were not acknowledged at the end; of READs, those that were asked for and had not come.",
            ),
            integer("packets_marked", "", "Packets that arrived marked (ECN)."),
            integer("cnps_sent", "", "Congestion notification packets that the receiver has sent for it."),
            integer("cnps_received", "", "Those that have come to the sender."),
            integer("marks_echoed", "", "Acknowledgements that told the sender of a mark."),
            integer(
                "naks_sent",
                "",
                "NAKs that the receiver has sent for it; of READs, requests for what was missing, after timeouts too.",
            ),
            integer("naks_received", "", "Those that have come to the sender."),
            integer("rnr_naks_sent", "", "NAKs that the receiver has sent because it was not ready."),
            integer("rnr_naks_received", "", "Those that have come to the sender."),
            integer(
                "packets_out_of_order",
                "",
                "Packets that arrived at the receiver while one before them was missing, dropped ones included.",
            ),
            integer(
                "reorder_distance_max",
                "",
                "Numbers by which such a packet was ahead of the one that the receiver expected, at most.",
            ),
            integer(
                "reorder_buffer_max",
                "",
                "Packets that the receiver held at once because one before them was missing, at most: bits set in its bitmap.",
            ),
            integer(
                "packets_duplicate",
                "",
                "Packets that arrived and had arrived before. Without losses of acknowledgements each is a spurious retransmission.",
            ),
            integer("timeouts", "", "Timeouts of the sender; of READs, of the receiver."),
            integer(
                "context_fetches",
                "",
                "Times that its NIC had to fetch its context (`context_fetch` of its host).",
            ),
        ],
        &SPENT,
        &[real_or_null(
            "failed_ns",
            "ns",
            "When it came to be in error, after which it sends nothing, and of READs asks for nothing; null if it is not.",
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
    /// Counts of the receiver, for READs.
    read: Option<ReadCounts>,
}

impl View<'_> {
    /// Queue pairs of flows and transfers, those that send from the far end behind those that send from the near one.
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

    /// The queue pairs of one end that sends to another.
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

/// A count of each queue pair: its column, and where it comes from.
type Count = (&'static str, fn(&Row<'_>) -> u64);

const COUNTS: [Count; 21] = [
    ("messages", |row| row.read.map_or(row.pair.counts.messages, |read| read.messages)),
    // A long message may be read in several READs.
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
