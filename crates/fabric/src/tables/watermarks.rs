//! The thresholds with which occupancies are compared.

use super::pauses::ingress_name;
use super::{UsedQueue, View};
use crate::build::Plan;
use crate::run::state::pause_sender::unit_of;
use frame::{PRIORITIES, TrafficClass};
use measure::table::{integer, text};
use measure::{TableBuilder, TableSpec};
use units::Amount;

/// Columns of `watermarks`.
pub(super) static WATERMARKS: TableSpec = TableSpec {
    name: "watermarks",
    about: "One row per threshold of an occupancy.",
    columns: &[&[
        text("entity", "Queue, or ingress counter of a port and priority."),
        text("watermark", "xoff, xon, target, limit, or headroom_needed (above xoff)."),
        integer("value", "", "Value of the threshold."),
        text("unit", "B or frames."),
    ]],
};

/// Rows of the table: index of the name, level, and its value.
#[derive(Default)]
struct Rows {
    names: Vec<String>,
    rows: Vec<(u32, &'static str, Amount)>,
}

impl Rows {
    /// Adds the levels of a queue or counter.
    fn add(&mut self, name: String, levels: impl IntoIterator<Item = (&'static str, Amount)>) {
        let number = self.names.len() as u32;
        self.names.push(name);
        self.rows.extend(levels.into_iter().map(|(level, value)| (number, level, value)));
    }
}

impl View<'_> {
    pub fn watermarks(&self) -> TableBuilder {
        let mut found = Rows::default();
        self.add_queues(&mut found);
        self.add_counters(&mut found);
        let Rows { names, rows } = found;
        WATERMARKS
            .builder()
            .named("entity", names, rows.iter().map(|row| row.0))
            .named_by("watermark", rows.iter().map(|row| row.1), str::to_string)
            .integers("value", rows.iter().map(|row| unit_of(row.2).1))
            .named_by("unit", rows.iter().map(|row| unit_of(row.2).0), str::to_string)
    }

    fn add_queues(&self, found: &mut Rows) {
        for &UsedQueue { port, class, .. } in self.used_queues() {
            let node = self.s.node_at(port);
            let limit = node.memory().buffer.queue.map(|limit| ("limit", limit));
            let sender = self.s.pause_sender_at(port).filter(|sender| {
                !sender.by_ingress()
                    && node.classes.priorities(TrafficClass(class)) & sender.controlled() != 0
            });
            let levels = sender.map(|sender| {
                let levels = sender.levels[(port - self.s.first_port_beside(port)) as usize];
                [("xoff", levels.xoff), ("xon", levels.xon)]
            });
            let target = sender.and_then(|sender| sender.target.as_ref());
            let target = target.map(|target| ("target", target.watermark));
            let all = limit.into_iter().chain(levels.into_iter().flatten()).chain(target);
            found.add(self.queue_name(port, class), all);
        }
    }

    fn add_counters(&self, found: &mut Rows) {
        let plan = Plan::new(&self.s.spec, &self.s.wiring);
        for (first_port, sender) in self.s.pause_senders().filter(|(_, sender)| sender.by_ingress()) {
            // Watermarks of a shared memory are dynamic.
            let ports = first_port..first_port + sender.renewals.len() as u32;
            for port in ports.filter(|&port| self.s.node_at(port).memory().sharing.is_none()) {
                let levels = self.s.ingress_port(port).levels;
                // PAUSE has one counter per port, PFC one per controlled priority.
                let paused = plan.paused(port);
                let counts = |&g: &usize| sender.group(g as u8) == Some(g) && paused >> g & 1 != 0;
                for group in (0..PRIORITIES).filter(counts) {
                    let all = [
                        ("xoff", levels.xoff),
                        ("xon", levels.xon),
                        ("limit", levels.capacity),
                        ("headroom_needed", Amount::Bytes(plan.room(port))),
                    ];
                    found.add(ingress_name(self, port, group), all);
                }
            }
        }
    }
}
