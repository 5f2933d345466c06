//! What the time of queue pairs and of messages over RDMA was spent on.

use measure::Table;
use transport::{MessageTimes, Spent, TimesSpent};
use units::Time;

/// A column, and what it says.
type Part = (&'static str, Spent, &'static str);

/// What the time of a queue pair is spent on, while it has messages.
const SPENT: [Part; 8] = [
    (
        "sending_ns",
        Spent::Sending,
        "Time with a packet on its wire that was not sent before, at the rate of the link.",
    ),
    (
        "again_ns",
        Spent::Again,
        "Time in which packets that had been sent were sent again, or a timeout for that was waited for.",
    ),
    (
        "rate_ns",
        Spent::Rate,
        "Time in which the rate of its control held the next packet back, beyond that of the link.",
    ),
    ("window_ns", Spent::Window, "Time in which its window held the next packet back."),
    ("receiver_ns", Spent::Receiver, "Time in which it waited for a receiver that was not ready."),
    (
        "pause_ns",
        Spent::Pause,
        "Time with a packet ready in which a pause stopped its NIC, or credits were missing.",
    ),
    (
        "host_ns",
        Spent::Host,
        "Time with a packet ready in which its NIC was busy with others, or fetched a context.",
    ),
    ("under_way_ns", Spent::UnderWay, "Time in which all was sent, and not yet acknowledged."),
];

/// A table of queue pairs, with what their time was spent on.
pub(super) fn with_spent(table: Table, spent: &[TimesSpent]) -> Table {
    SPENT.iter().fold(table, |table, &(name, what, says)| {
        table.reals(name, "ns", says, spent.iter().map(|own| own.on(what).as_ns_f64()))
    })
}

/// A message.
pub(super) struct Message {
    /// The row of its transfer.
    pub transfer: u64,
    pub queue_pair: u32,
    /// Of a READ, how long its request took.
    pub request: Time,
    pub times: MessageTimes,
}

const HEARD: [(&str, &str); 3] = [
    (
        "cnps",
        "CNPs that came to its queue pair from when it was its turn until it was acknowledged; of a READ, until its responder could tell that it was whole, by requests that followed or at the end of the run.",
    ),
    ("marks", "Acknowledgements that came meanwhile and told of a mark."),
    ("naks", "NAKs that came meanwhile."),
];

/// One row per message.
pub(super) fn message_times(messages: &[Message]) -> Table {
    let of = |value: fn(&MessageTimes) -> u64| messages.iter().map(move |message| value(&message.times));
    let table = Table::new(
        "message_times",
        "One row per transfer over RDMA that is acknowledged or, of READs, whole: what its time was spent on. Times add up to `acknowledged_ns` of its transfer, to the nanosecond.",
    )
    .integers("transfer", "", "Its transfer, as a row of the table `transfers`, counted from 0.", messages.iter().map(|message| message.transfer))
    .integers("queue_pair", "", "Its queue pair, a number of the table `queue_pairs`.", messages.iter().map(|message| message.queue_pair.into()))
    .reals("request_ns", "ns", "Of a READ, time until its request had come to the responder, at which all that follows is counted; else 0.", messages.iter().map(|message| message.request.as_ns_f64()))
    .reals("behind_ns", "ns", "Time in which packets of other messages before it were next at its queue pair.", messages.iter().map(|message| message.times.behind.into()));
    let table = SPENT.iter().fold(table, |table, &(name, what, says)| {
        table.reals(name, "ns", says, messages.iter().map(move |message| message.times.on(what).into()))
    });
    let heard: [fn(&MessageTimes) -> u64; 3] =
        [|own| own.heard[0].into(), |own| own.heard[1].into(), |own| own.heard[2].into()];
    HEARD
        .iter()
        .zip(heard)
        .fold(table, |table, (&(name, says), heard)| table.integers(name, "", says, of(heard)))
}
