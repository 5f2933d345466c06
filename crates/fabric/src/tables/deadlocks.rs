//! Deadlocks that were detected.

use super::View;
use crate::simulation::deadlock::Deadlock;
use measure::table::{integer, real, real_or_null, text};
use measure::{TableBuilder, TableSpec};
use units::Time;

/// Columns of `deadlocks`.
pub(super) static DEADLOCKS: TableSpec = TableSpec {
    name: "deadlocks",
    about: "One row per queue of a deadlock: queues that wait for each other in a cycle.",
    columns: &[&[
        integer("deadlock", "", "Number of the deadlock, from 1."),
        real("closed_ns", "ns", "Time at which the last pause of the cycle took effect."),
        real("seen_ns", "ns", "Time at which it was detected."),
        real_or_null("ended_ns", "ns", "Time at which its end was detected; null if it did not end."),
        text("port", "Port of the queue."),
        integer("class", "", "Traffic class."),
        text("waits_for", "Port of the queue that it waits for: the next row of the cycle."),
        real("paused_since_ns", "ns", "Time since which it has been paused."),
        integer("frames", "", "Frames in it when the deadlock was detected."),
        integer("bytes", "B", "Bytes in it when the deadlock was detected."),
        integer("counted_frames", "", "Frames that keep it paused and are in the queue that it waits for."),
    ]],
};

impl View<'_> {
    /// Returns the deadlocks, with one row per queue.
    pub fn deadlocks(&self) -> TableBuilder {
        let found = &self.s.watch.found;
        let rows: Vec<(usize, &Deadlock, usize)> = (1..)
            .zip(found)
            .flat_map(|(number, deadlock)| (0..deadlock.members.len()).map(move |at| (number, deadlock, at)))
            .collect();
        let member = |row: &(usize, &Deadlock, usize)| row.1.members[row.2];
        let next = |row: &(usize, &Deadlock, usize)| row.1.members[(row.2 + 1) % row.1.members.len()].queue;
        DEADLOCKS
            .builder()
            .integers("deadlock", rows.iter().map(|row| row.0 as u64))
            .reals("closed_ns", rows.iter().map(|row| row.1.closed.as_ns_f64()))
            .reals("seen_ns", rows.iter().map(|row| row.1.seen.as_ns_f64()))
            .reals("ended_ns", rows.iter().map(|row| row.1.ended.map_or(f64::NAN, Time::as_ns_f64)))
            .texts("port", rows.iter().map(|row| self.s.port_name(member(row).queue.0)))
            .integers("class", rows.iter().map(|row| member(row).queue.1.into()))
            .texts("waits_for", rows.iter().map(|row| self.s.port_name(next(row).0)))
            .reals("paused_since_ns", rows.iter().map(|row| member(row).since.as_ns_f64()))
            .integers("frames", rows.iter().map(|row| member(row).waiting.frames))
            .integers("bytes", rows.iter().map(|row| member(row).waiting.bytes))
            .integers("counted_frames", rows.iter().map(|row| member(row).counted.frames))
    }
}
