//! The table of packet delivery contexts (UET).

use super::View;
use crate::run::state::endpoint_state::EndpointState;
use frame::NodeId;
use measure::table::{integer, real_or_null, text};
use measure::{TableBuilder, TableSpec};
use transport::{DeliveryContext, ReceivingContext, UetSender};
use units::Time;

/// Columns of `delivery_contexts`.
pub(super) static DELIVERY_CONTEXTS: TableSpec = TableSpec {
    name: "delivery_contexts",
    about: "One row per packet delivery context of UET, or connection of MRC, over the whole run, including `warmup`.",
    columns: &[&[
        text("flow", "Name of the flow; where both ends send, each has a row."),
        text("source", "Sending host."),
        text("destination", "Receiving host."),
        integer("context", "", "Number of the context among those of its flow between these hosts, from 0."),
        text("mode", "Delivery mode."),
        text("control", "Congestion control."),
        real_or_null(
            "window_bytes",
            "B",
            "Bytes of frames that the control allows in flight at the end; null without limit.",
        ),
        integer(
            "in_flight_bytes",
            "B",
            "Bytes of frames in flight at the end, by the counter of the receiver.",
        ),
        integer("messages", "", "Messages acknowledged."),
        integer("messages_delivered", "", "Messages of which all packets have arrived."),
        integer("application_bytes", "B", "Bytes of acknowledged messages."),
        integer("packets_sent", "", "Packets sent, retransmissions included."),
        integer("packets_retransmitted", "", "Packets that were retransmitted."),
        integer("packets_delivered", "", "Packets placed at the receiver."),
        integer("packets_outstanding", "", "Packets sent and not acknowledged at the end."),
        integer("packets_marked", "", "Packets that arrived marked (ECN)."),
        integer("packets_out_of_order", "", "Packets that arrived while one before them was missing."),
        integer(
            "reorder_distance_max",
            "",
            "Maximum distance of such a packet from the first missing one, in sequence numbers.",
        ),
        integer(
            "reorder_buffer_max",
            "",
            "Maximum number of packets that had arrived after the first missing one.",
        ),
        integer(
            "packets_trimmed",
            "",
            "Packets that arrived trimmed, each of which was answered with a NACK.",
        ),
        integer("packets_duplicate", "", "Packets that arrived more than once."),
        integer("acks_sent", "", "Acknowledgements sent by the receiver."),
        integer("acks_received", "", "Acknowledgements received by the sender."),
        integer("marks_echoed", "", "Acknowledgements received with an ECN echo."),
        integer("nacks_sent", "", "NACKs sent by the receiver."),
        integer("nacks_received", "", "NACKs received by the sender."),
        integer("timeouts", "", "Expirations of the retransmission timer."),
        integer("grants_sent", "", "Grants of credit sent by the receiver (pulls)."),
        integer("grants_received", "", "Grants of credit received by the sender."),
        integer("credit_requests", "", "Requests for credit that the sender sent without data."),
        integer("probes_sent", "", "Probes sent by the sender."),
        integer(
            "losses_inferred",
            "",
            "Losses inferred from acknowledgements or probes, without a NACK or a timeout.",
        ),
        integer(
            "quick_adapts",
            "",
            "Number of quick adapts: the control set the window to the bytes that had arrived.",
        ),
        real_or_null(
            "failed_ns",
            "ns",
            "Time at which the context failed after too many timeouts; null if it has not.",
        ),
    ]],
};

/// Both ends of a context.
pub(super) struct Row<'a> {
    flow: usize,
    source: usize,
    destination: usize,
    number: u64,
    sender: &'a UetSender,
    pub context: &'a DeliveryContext,
    receiver: &'a ReceivingContext,
}

type Count = (&'static str, fn(&Row<'_>) -> u64);

const COUNTS: [Count; 27] = [
    ("context", |row| row.number),
    ("in_flight_bytes", |row| row.context.bytes_in_flight()),
    ("messages", |row| row.context.counts.messages),
    ("messages_delivered", |row| row.receiver.counts.messages),
    ("application_bytes", |row| row.context.counts.bytes),
    ("packets_sent", |row| row.context.counts.sent),
    ("packets_retransmitted", |row| row.context.counts.retransmitted),
    ("packets_delivered", |row| row.receiver.counts.packets),
    ("packets_outstanding", |row| row.context.outstanding()),
    ("packets_marked", |row| row.receiver.counts.marked),
    ("packets_out_of_order", |row| row.receiver.counts.out_of_order),
    ("reorder_distance_max", |row| row.receiver.counts.reorder_distance),
    ("reorder_buffer_max", |row| row.receiver.counts.held),
    ("packets_trimmed", |row| row.receiver.counts.trimmed),
    ("packets_duplicate", |row| row.receiver.counts.duplicates),
    ("acks_sent", |row| row.receiver.counts.acks),
    ("acks_received", |row| row.context.counts.acks),
    ("marks_echoed", |row| row.context.counts.marks),
    ("nacks_sent", |row| row.receiver.counts.nacks),
    ("nacks_received", |row| row.context.counts.nacks),
    ("timeouts", |row| row.context.counts.timeouts),
    ("grants_sent", |row| row.receiver.counts.grants),
    ("grants_received", |row| row.context.counts.grants),
    ("credit_requests", |row| row.context.counts.credit_requests),
    ("probes_sent", |row| row.context.counts.probes),
    ("losses_inferred", |row| row.context.counts.inferred),
    ("quick_adapts", |row| row.context.quick_adapts()),
];

impl View<'_> {
    /// Returns the packet delivery contexts of flows and transfers; those of the far end follow those of the near end.
    pub(super) fn delivery_contexts(&self) -> TableBuilder {
        let ends = self.s.connections();
        let both = |&(near, far)| [(near, far, false), (far, near, true)];
        let rows: Vec<Row<'_>> =
            ends.iter().flat_map(both).flat_map(|ends| self.context_rows(ends)).collect();
        let (flows, nodes) = (&self.s.spec.flows, &self.s.spec.nodes);
        let windows = rows.iter().map(|row| match row.context.window() {
            u64::MAX => f64::NAN,
            bytes => bytes as f64,
        });
        let table = DELIVERY_CONTEXTS
            .builder()
            .texts("flow", rows.iter().map(|row| flows[row.flow].name.clone()))
            .texts("source", rows.iter().map(|row| nodes[row.source].name.clone()))
            .texts("destination", rows.iter().map(|row| nodes[row.destination].name.clone()))
            .texts("mode", rows.iter().map(|row| row.sender.mode().into()))
            .texts("control", rows.iter().map(|row| row.sender.control().into()))
            .reals("window_bytes", windows)
            .reals(
                "failed_ns",
                rows.iter().map(|row| row.context.failed().map_or(f64::NAN, Time::as_ns_f64)),
            );
        COUNTS
            .iter()
            .fold(table, |table, &(name, of)| table.integers(name, rows.iter().map(of).collect::<Vec<_>>()))
    }

    /// Names of the flow and of both ends of a row.
    pub(super) fn names_of(&self, row: &Row<'_>) -> [String; 3] {
        let (flows, nodes) = (&self.s.spec.flows, &self.s.spec.nodes);
        [&flows[row.flow].name, &nodes[row.source].name, &nodes[row.destination].name].map(String::clone)
    }

    /// Rows of one end that sends to another, one for each context.
    pub(super) fn context_rows<'a>(
        &self,
        (sending, receiving, is_back): (&'a EndpointState, &'a EndpointState, bool),
    ) -> Vec<Row<'a>> {
        let senders = sending.endpoint.sending_contexts();
        let Some((sender, receivers)) = senders.zip(receiving.endpoint.receiving_contexts()) else {
            return Vec::new();
        };
        let flow = self.s.path_flow[sending.path as usize] as usize;
        let nth = sending.path - self.s.source(flow).first_path;
        let mut ends = [self.s.spec.flows[flow].from, self.s.spec.flows[flow].source.destinations.nth(nth)];
        if is_back {
            ends.reverse();
        }
        let [source, destination] = ends.map(NodeId::at);
        let row = |(number, (context, receiver))| Row {
            flow,
            source,
            destination,
            number,
            sender,
            context,
            receiver,
        };
        (0..).zip(sender.contexts().zip(receivers.contexts())).map(row).collect()
    }
}
