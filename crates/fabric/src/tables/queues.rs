//! Egress queues, one by one.

use super::durations::with_wait;
use super::{UsedQueue, View};
use frame::TrafficClass;
use measure::Table;

impl View<'_> {
    pub(super) fn queues(&self) -> Table {
        let used = self.used_queues();
        let queue = |row: &UsedQueue| self.s.queue(row.port, row.class);
        let bytes = |row: &UsedQueue| {
            let classes = &self.s.port(row.port).classes;
            self.s.sent(row.port, classes.numbers_of(TrafficClass(row.class))).0
        };
        let waits = |row: &UsedQueue| {
            let queue = queue(row);
            queue.waits.summary_with_zeros(row.frames.saturating_sub(queue.waits.count()))
        };
        let managed = |row: &UsedQueue| {
            let managed = self.s.managed(row.port, row.class);
            managed.map_or_else(Default::default, |own| own.counts(row.class.into()))
        };
        let table =
            Table::new("queues", "One row per egress queue (a traffic class of a port) that carried frames.")
                .texts("port", "Name of the port.", used.iter().map(|row| self.s.port_name(row.port)))
                .integers(
                    "class",
                    "",
                    "Traffic class, 0 to 7; with `channels = \"all\"` 0 to 19.",
                    used.iter().map(|row| row.class.into()),
                )
                .integers(
                    "frames",
                    "",
                    "Frames that left the queue, those that did not wait included.",
                    used.iter().map(|row| row.frames),
                )
                .integers("bytes", "B", "Their bytes, DA to FCS.", used.iter().map(bytes));
        let waits: Vec<_> = used.iter().map(waits).collect();
        self.with_levels(with_wait(table, waits.into_iter()), used)
            .integers(
                "drops",
                "",
                "Frames refused by the queue, by its manager or by a limit around it.",
                used.iter().map(|row| queue(row).drops),
            )
            .integers(
                "marks",
                "",
                "Frames that the queue's manager marked.",
                used.iter().map(|row| managed(row).marks),
            )
            .integers(
                "messages",
                "",
                "Congestion messages that the queue's manager sent to sources.",
                used.iter().map(|row| managed(row).messages),
            )
    }

    /// What waited in these queues.
    fn with_levels(&self, table: Table, used: &[UsedQueue]) -> Table {
        let max = |row: &UsedQueue| self.s.queue(row.port, row.class).sojourns.max();
        table
            .reals(
                "queue_bytes_mean",
                "B",
                "Mean over time of the bytes that wait.",
                used.iter().map(|row| row.mean[0]),
            )
            .integers("queue_bytes_max", "B", "Most bytes that waited.", used.iter().map(|row| max(row)[0]))
            .reals(
                "queue_frames_mean",
                "",
                "Mean over time of the frames that wait.",
                used.iter().map(|row| row.mean[1]),
            )
            .integers("queue_frames_max", "", "Most frames that waited.", used.iter().map(|row| max(row)[1]))
    }
}
