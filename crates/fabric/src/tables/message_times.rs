//! Breakdown of the time of queue pairs and of their messages.

use measure::table::{integer, real};
use measure::{ColumnSpec, TableBuilder, TableSpec};
use transport::{MessageTimes, Spent, TimesSpent};
use units::Time;

/// Columns of `message_times`.
pub(super) static MESSAGE_TIMES: TableSpec = TableSpec {
    name: "message_times",
    about: "One row per transfer over a queue pair that is acknowledged or, of READs, whole: what its time was spent on. Times add up to `acknowledged_ns` of its transfer, to the nanosecond.",
    columns: &[
        &[
            integer("transfer", "", "Its transfer, as a row of the table `transfers`, counted from 0."),
            integer("queue_pair", "", "Its queue pair, a number of the table `queue_pairs`."),
            real(
                "request_ns",
                "ns",
                "Of a READ, time until its request had come to the responder, at which all that follows is counted; else 0.",
            ),
            real(
                "behind_ns",
                "ns",
                "Time in which packets of other messages before it were next at its queue pair.",
            ),
        ],
        &SPENT,
        &[
            integer(
                "cnps",
                "",
                "CNPs that came to its queue pair from when it was its turn until it was acknowledged; of a READ, until its responder could tell that it was whole, by requests that followed or at the end of the run.",
            ),
            integer("marks", "", "Acknowledgements that came meanwhile and told of a mark."),
            integer("naks", "", "NAKs that came meanwhile."),
        ],
    ],
};

/// Breakdown of the time of a queue pair while it has messages.
pub(super) static SPENT: [ColumnSpec; 8] = [
    real(
        "sending_ns",
        "ns",
        "Time with a packet on its wire that was not sent before, at the rate of the link.",
    ),
    real(
        "again_ns",
        "ns",
        "Time in which packets that had been sent were sent again, or a timeout for that was waited for.",
    ),
    real(
        "rate_ns",
        "ns",
        "Time in which the rate of its control held the next packet back, beyond that of the link.",
    ),
    real("window_ns", "ns", "Time in which its window held the next packet back."),
    real("receiver_ns", "ns", "Time in which it waited for a receiver that was not ready."),
    real(
        "pause_ns",
        "ns",
        "Time with a packet ready in which a pause stopped its NIC, or credits were missing.",
    ),
    real(
        "host_ns",
        "ns",
        "Time with a packet ready in which its NIC was busy with others, or fetched a context.",
    ),
    real("under_way_ns", "ns", "Time in which all was sent, and not yet acknowledged."),
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

/// One row per message.
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
        .integers("cnps", of(|own| own.heard[0].into()))
        .integers("marks", of(|own| own.heard[1].into()))
        .integers("naks", of(|own| own.heard[2].into()))
}
