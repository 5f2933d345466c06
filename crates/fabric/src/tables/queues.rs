//! The table of egress queues.

use super::durations::{WAIT, with_durations};
use super::{UsedQueue, View};
use crate::run::state::trimming::Trims;
use frame::TrafficClass;
use measure::table::{integer, real, text};
use measure::{TableBuilder, TableSpec};
use std::collections::BTreeMap;

/// Columns of `queues`.
pub(super) static QUEUES: TableSpec = TableSpec {
    name: "queues",
    about: "One row per egress queue (a traffic class of a port) that carried frames.",
    columns: &[
        &[
            text("port", "Name of the port."),
            integer("class", "", "Traffic class, 0 to 7; with `channels = \"all\"` 0 to 19."),
            integer("frames", "", "Frames that left the queue, including those that did not wait."),
            integer("bytes", "B", "Bytes of these frames, DA to FCS."),
        ],
        &WAIT,
        &[
            real("queue_bytes_mean", "B", "Time-weighted mean of the bytes in the queue."),
            integer("queue_bytes_max", "B", "Maximum bytes in the queue."),
            real("queue_frames_mean", "", "Time-weighted mean of the frames in the queue."),
            integer("queue_frames_max", "", "Maximum frames in the queue."),
            integer(
                "drops",
                "",
                "Frames dropped at the queue by its length limit, its queue manager or another buffer limit.",
            ),
            integer("marks", "", "Frames that the queue's manager marked."),
            integer("messages", "", "Congestion messages that the queue's manager sent to sources."),
            integer(
                "trims",
                "",
                "Frames trimmed because the queue had no room, including those not longer than a trimmed frame (TRIM_PACKETS of SONiC).",
            ),
            integer("trimmed_bytes", "B", "Bytes trimmed from these frames."),
            integer(
                "trim_drops",
                "",
                "Trimmed frames that were dropped because the queue of trimmed frames had no room either; they are also counted in `drops` of that queue (DROPPED_TRIM of SONiC).",
            ),
        ],
    ],
};

impl View<'_> {
    pub(super) fn queues(&self) -> TableBuilder {
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
        let trims = self.trims_of_queues();
        let trimmed = |row: &UsedQueue| trims.get(&(row.port, row.class)).copied().unwrap_or_default();
        let table = QUEUES
            .builder()
            .texts("port", used.iter().map(|row| self.s.port_name(row.port)))
            .integers("class", used.iter().map(|row| row.class.into()))
            .integers("frames", used.iter().map(|row| row.frames))
            .integers("bytes", used.iter().map(bytes));
        let waits: Vec<_> = used.iter().map(waits).collect();
        self.with_levels(with_durations(table, &WAIT, waits.into_iter()), used)
            .integers("drops", used.iter().map(|row| queue(row).drops))
            .integers("marks", used.iter().map(|row| managed(row).marks))
            .integers("messages", used.iter().map(|row| managed(row).messages))
            .integers("trims", used.iter().map(|row| trimmed(row).frames))
            .integers("trimmed_bytes", used.iter().map(|row| trimmed(row).bytes))
            .integers("trim_drops", used.iter().map(|row| trimmed(row).dropped))
    }

    /// Counts of trimmed frames by port and class.
    fn trims_of_queues(&self) -> BTreeMap<(u32, u8), Trims> {
        let mut all = BTreeMap::<_, Trims>::new();
        for (&(port, class, _), trims) in &self.s.ledger().trims {
            all.entry((port.0, class.0)).or_default().add(trims);
        }
        all
    }

    /// Adds the occupancy columns of these queues.
    fn with_levels(&self, table: TableBuilder, used: &[UsedQueue]) -> TableBuilder {
        let max = |row: &UsedQueue| self.s.queue(row.port, row.class).sojourns.max();
        table
            .reals("queue_bytes_mean", used.iter().map(|row| row.mean[0]))
            .integers("queue_bytes_max", used.iter().map(|row| max(row)[0]))
            .reals("queue_frames_mean", used.iter().map(|row| row.mean[1]))
            .integers("queue_frames_max", used.iter().map(|row| max(row)[1]))
    }
}
