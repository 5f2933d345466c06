//! What queue pairs have sent and heard.

use super::View;
use crate::run::endpoint_state::EndpointState;
use measure::Table;
use transport::{Endpoint, PairReceived, QueuePair};
use units::Time;

struct Row<'a> {
    flow: usize,
    destination: usize,
    number: u64,
    control: &'static str,
    line: f64,
    pair: &'a QueuePair,
    received: PairReceived,
}

impl View<'_> {
    /// Queue pairs of flows and transfers over RDMA.
    pub(super) fn queue_pairs(&self) -> Table {
        let ends = self.s.connections();
        let rows: Vec<Row<'_>> = ends.iter().flat_map(|&(near, far)| self.pairs_between(near, far)).collect();
        let integers = |of: fn(&Row<'_>) -> u64| rows.iter().map(of).collect::<Vec<_>>();
        let flows = &self.s.spec.flows;
        let nodes = &self.s.spec.nodes;
        let end = self.end;
        let table = Table::new(
            "queue_pairs",
            "One row per queue pair, over the whole run: `warmup` does not count anew.",
        )
        .texts("flow", "Name of the flow.", rows.iter().map(|row| flows[row.flow].name.clone()))
        .texts("source", "Sending host.", rows.iter().map(|row| nodes[flows[row.flow].from.at()].name.clone()))
        .texts("destination", "Receiving host.", rows.iter().map(|row| nodes[row.destination].name.clone()))
        .integers("queue_pair", "", "Its number among those of the flow to this host, from 0.", integers(|row| row.number))
        .texts("control", "Its congestion control.", rows.iter().map(|row| row.control.into()))
        .reals(
            "rate_bps",
            "b/s",
            "The rate that its control allows at the end, in bits of frames (DA to FCS): that of the link if nothing else limits it.",
            rows.iter().map(|row| row.pair.rate(end).min(row.line)),
        )
        .reals(
            "window_bytes",
            "B",
            "Bytes of frames that it may have in flight at the end; not a number without limit.",
            rows.iter().map(|row| match row.pair.window() {
                u64::MAX => f64::NAN,
                bytes => bytes as f64,
            }),
        );
        with_hearing(with_packets(table, &rows), &rows).reals(
            "failed_ns",
            "ns",
            "When it came to be in error, after which it sends nothing; not a number if it is not.",
            rows.iter().map(|row| row.pair.failed().map_or(f64::NAN, Time::as_ns_f64)),
        )
    }

    fn pairs_between<'a>(&self, near: &'a EndpointState, far: &'a EndpointState) -> Vec<Row<'a>> {
        let (Endpoint::RdmaSender(sender), Endpoint::RdmaReceiver(receiver)) =
            (&near.endpoint, &far.endpoint)
        else {
            return Vec::new();
        };
        let flow = self.s.path_flow[near.path as usize] as usize;
        let nth = near.path - self.s.source(flow).first_path;
        let destination = self.s.spec.flows[flow].source.destinations.nth(nth).at();
        let row = |(number, pair)| Row {
            flow,
            destination,
            number,
            control: sender.control(),
            line: sender.line_rate(),
            pair,
            received: receiver.received(number as u32),
        };
        (0..).zip(sender.queue_pairs()).map(row).collect()
    }
}

fn with_packets(table: Table, rows: &[Row<'_>]) -> Table {
    let integers = |of: fn(&Row<'_>) -> u64| rows.iter().map(of).collect::<Vec<_>>();
    table
        .integers("messages", "", "Messages that are acknowledged.", integers(|row| row.pair.counts.messages))
        .integers(
            "messages_delivered",
            "",
            "Messages that the receiver has whole.",
            integers(|row| row.received.messages),
        )
        .integers(
            "application_bytes",
            "B",
            "Bytes of the acknowledged messages.",
            integers(|row| row.pair.counts.bytes),
        )
        .integers(
            "packets_sent",
            "",
            "Packets sent, those sent again included.",
            integers(|row| row.pair.counts.sent),
        )
        .integers(
            "packets_sent_again",
            "",
            "Packets that were retransmitted.",
            integers(|row| row.pair.counts.retransmitted),
        )
        .integers(
            "packets_delivered",
            "",
            "Packets that the receiver has delivered, in order.",
            integers(|row| row.received.packets),
        )
        .integers(
            "packets_outstanding",
            "",
            "Packets that were not acknowledged at the end.",
            integers(|row| row.pair.outstanding()),
        )
}

fn with_hearing(table: Table, rows: &[Row<'_>]) -> Table {
    let integers = |of: fn(&Row<'_>) -> u64| rows.iter().map(of).collect::<Vec<_>>();
    table
        .integers(
            "packets_marked",
            "",
            "Packets that arrived marked (ECN).",
            integers(|row| row.received.marked),
        )
        .integers(
            "cnps_sent",
            "",
            "Congestion notification packets that the receiver has sent for it.",
            integers(|row| row.received.cnps),
        )
        .integers(
            "cnps_received",
            "",
            "Those that have come to the sender.",
            integers(|row| row.pair.counts.cnps),
        )
        .integers(
            "marks_echoed",
            "",
            "Acknowledgements that told the sender of a mark.",
            integers(|row| row.pair.counts.marks),
        )
        .integers(
            "naks_sent",
            "",
            "NAKs that the receiver has sent for it.",
            integers(|row| row.received.naks),
        )
        .integers(
            "naks_received",
            "",
            "Those that have come to the sender.",
            integers(|row| row.pair.counts.naks),
        )
        .integers("timeouts", "", "Timeouts of the sender.", integers(|row| row.pair.counts.timeouts))
}
