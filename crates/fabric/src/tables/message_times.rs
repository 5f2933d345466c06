//! Breakdown of the time of queue pairs and of their messages.

use measure::table::{integer, real};
use measure::{ColumnSpec, TableBuilder, TableSpec};
use transport::{MessageTimes, Spent, TimesSpent};
use units::Time;

/// Columns of `message_times`.
pub(super) static MESSAGE_TIMES: TableSpec = TableSpec {
    name: "message_times",
    about: "One row per acknowledged transfer (for READs, complete transfer) over a queue pair, with a breakdown of its time. Times add up to `acknowledged_ns` of its transfer, to the nanosecond.",
    columns: &[
        &[
            integer("transfer", "", "Row of its transfer in the table `transfers`, from 0."),
            integer("queue_pair", "", "Number of its queue pair in the table `queue_pairs`."),
            real(
                "request_ns",
                "ns",
                "For a READ, time until its request arrived at the responder, where the following times are measured; otherwise 0.",
            ),
            real(
                "behind_ns",
                "ns",
                "Time in which its queue pair sent packets of other messages ahead of it.",
            ),
        ],
        &SPENT,
        &[
            integer(
                "cnps",
                "",
                "CNPs received by its queue pair from the start of its transmission until it was acknowledged; for a READ, until the responder could infer its completion from later requests, or until the end of the run.",
            ),
            integer("marks", "", "Acknowledgements with an ECN echo received in that time."),
            integer("naks", "", "NAKs received in that time."),
        ],
    ],
};

/// Breakdown of the time of a queue pair while it has messages.
pub(super) static SPENT: [ColumnSpec; 8] = [
    real("sending_ns", "ns", "Time of transmitting new packets, at the rate of the link."),
    real("again_ns", "ns", "Time of retransmitting packets, and of waiting for the timeouts before that."),
    real(
        "rate_ns",
        "ns",
        "Time in which the rate of its control delayed the next packet beyond the rate of the link.",
    ),
    real("window_ns", "ns", "Time in which its window delayed the next packet."),
    real("receiver_ns", "ns", "Time of waiting for a receiver that was not ready."),
    real(
        "pause_ns",
        "ns",
        "Time in which a packet was ready, and a pause or a lack of credits stopped its NIC.",
    ),
    real(
        "host_ns",
        "ns",
        "Time in which a packet was ready, and its NIC was sending other frames or fetching a context.",
    ),
    real("under_way_ns", "ns", "Time in which all data were sent and not yet acknowledged."),
];

/// Values of [`SPENT`], in its order.
const SPENT_ON: [Spent; 8] = [
    Spent::Sending,
    Spent::Again,
    Spent::Rate,
    Spent::Window,
    Spent::Receiver,
    Spent::Pause,
    Spent::Host,
    Spent::UnderWay,
];

/// Sets the columns of [`SPENT`] in a table of queue pairs.
pub(super) fn with_spent(table: TableBuilder, spent: &[TimesSpent]) -> TableBuilder {
    SPENT.iter().zip(SPENT_ON).fold(table, |table, (column, what)| {
        table.reals(column.name, spent.iter().map(|own| own.on(what).as_ns_f64()))
    })
}

/// A message.
pub(super) struct Message {
    /// The row of its transfer.
    pub transfer: u64,
    pub queue_pair: u32,
    /// Duration of the request of a READ.
    pub request: Time,
    pub times: MessageTimes,
}

/// Returns the table, with one row per message.
pub(super) fn message_times(messages: &[Message]) -> TableBuilder {
    let of = |value: fn(&MessageTimes) -> u64| messages.iter().map(move |message| value(&message.times));
    let table = MESSAGE_TIMES
        .builder()
        .integers("transfer", messages.iter().map(|message| message.transfer))
        .integers("queue_pair", messages.iter().map(|message| message.queue_pair.into()))
        .reals("request_ns", messages.iter().map(|message| message.request.as_ns_f64()))
        .reals("behind_ns", messages.iter().map(|message| message.times.behind.into()));
    let table = SPENT.iter().zip(SPENT_ON).fold(table, |table, (column, what)| {
        table.reals(column.name, messages.iter().map(move |message| message.times.on(what).into()))
    });
    table
        .integers("cnps", of(|own| own.feedback[0].into()))
        .integers("marks", of(|own| own.feedback[1].into()))
        .integers("naks", of(|own| own.feedback[2].into()))
}
