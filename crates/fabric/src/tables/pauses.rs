//! The table of individual pauses.

use super::View;
use crate::run::state::pause_sender::{PauseCause, unit_of};
use crate::run::state::probes::PauseRecord;
use crate::spec::{Probe, Watched, Which};
use crate::tables::forensics::Pause;
use flow_control::Accounting;
use measure::table::{integer, real, text};
use measure::{TableBuilder, TableSpec};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Columns of `pauses`.
pub(super) static PAUSES: TableSpec = TableSpec {
    name: "pauses",
    about: "One row per pause: an interval in which a port had to stop a priority, in which a class waited for credits although its link was idle, or in which a bypass queue did so while other frames of its class were sent.",
    columns: &[&[
        text("port", "Port that was paused."),
        integer(
            "priority",
            "",
            "Priority that was stopped, 0 to 7, or channel, 0 to 19; for a class that waited for credits, its lowest priority.",
        ),
        real("start_ns", "ns", "Time at which it took effect."),
        real("end_ns", "ns", "Time at which it ended, by XON or timeout, or by the arrival of credits."),
        text("sent_by", "Port that sent the pause, or that returns the credits."),
        text(
            "reason",
            "xoff: the high watermark; target: the target watermark; credits: a class waited for credits; bypass_credits: a bypass queue waited for credits, while ordered frames of the class were sent.",
        ),
        text(
            "counter",
            "Queue or ingress counter that reached the watermark; for credits, the ingress port and the channel.",
        ),
        text(
            "queue",
            "Egress queue that caused it: the queue of the frame that reached the watermark, or, if that queue had less than half of the counted bytes, the one with the most of them. Empty if a host sent the pause or returned no credits, or if credits were in flight.",
        ),
        integer(
            "occupancy",
            "",
            "Occupancy of the counter at that time, in the unit of the watermark; 0 if credits were in flight.",
        ),
        integer("watermark", "", "The watermark; for credits, all credits of the channel."),
        text("unit", "Unit of occupancy and watermark: B, frames or credits."),
        integer(
            "because_of",
            "",
            "Row of this table, from 1, of the pause that caused this one, because it stopped the port of the queue while the counter rose. 0 if the queue is a root, or if that pause ended before measuring began or is not selected by `[[probes]]`.",
        ),
        integer("tree", "", "Number of its tree in `congestion`."),
    ]],
};

impl View<'_> {
    pub fn pauses(&self) -> TableBuilder {
        let forensics = self.forensics();
        let (pauses, row_of) = self.chosen_pauses(&forensics.pauses);
        let sender = |port: u32| self.s.peer(port);
        let queue = |queue: Option<u32>| match queue.map(|queue| self.s.place_of_queue(queue)) {
            None => String::new(),
            Some((port, class)) => self.queue_name(port, class),
        };
        let counter = |(port, priority, blamed, waits): (u32, u8, Option<u32>, bool)| {
            let sender = sender(port);
            match self.s.pause_sender_at(sender).filter(|_| !waits) {
                Some(pause_sender) if pause_sender.spec.accounting == Accounting::Egress => queue(blamed),
                Some(pause_sender) => ingress_name(self, sender, pause_sender.group(priority).unwrap_or(0)),
                None if waits => self.room_name(port, priority),
                None => String::new(),
            }
        };
        let counted =
            |pause: &Pause| (pause.record.port, pause.record.priority, pause.cause.queue, pause.waits);
        let reason = |pause: &Pause| match pause {
            Pause { record: PauseRecord { bypass: true, .. }, .. } => "bypass_credits",
            Pause { waits: true, .. } => "credits",
            Pause { cause: PauseCause { targeted: true, .. }, .. } => "target",
            _ => "xoff",
        };
        let credits =
            |pause: &Pause| self.s.cold(pause.record.port).control.credits_of(pause.record.priority);
        let mark = |pause: &Pause| match credits(pause) {
            Some(credits) => ("credits", credits.sender.granted().into()),
            None => unit_of(self.watermark(pause)),
        };
        let ports = || pauses.iter().map(|p| p.record.port);
        PAUSES
            .builder()
            .named_by("port", ports(), |port| self.s.port_name(port))
            .integers("priority", pauses.iter().map(|p| p.record.priority.into()))
            .reals("start_ns", pauses.iter().map(|p| p.record.start.as_ns_f64()))
            .reals("end_ns", pauses.iter().map(|p| p.record.end.as_ns_f64()))
            .named_by("sent_by", ports(), |port| self.s.port_name(sender(port)))
            .named_by("reason", pauses.iter().map(reason), str::to_string)
            .named_by("counter", pauses.iter().map(counted), counter)
            .named_by("queue", pauses.iter().map(|p| p.cause.queue), queue)
            .integers("occupancy", pauses.iter().map(|p| p.cause.occupancy))
            .integers("watermark", pauses.iter().map(|p| mark(p).1))
            .named_by("unit", pauses.iter().map(|p| mark(p).0), str::to_string)
            .integers("because_of", pauses.iter().map(|p| p.because_of.map_or(0, |row| row_of[row])))
            .integers("tree", pauses.iter().map(|p| p.tree as u64 + 1))
    }

    /// Name of the buffer for whose credits a class waited.
    fn room_name(&self, waiting: u32, priority: u8) -> String {
        let port = self.s.peer(waiting);
        let channel = self.s.cold(port).control.credits().map_or(0, |own| own.channel(priority));
        ingress_name(self, port, channel)
    }

    /// Returns the pauses that the scenario selects, and for each pause of `all` its row in the table, counted from 1;
    /// 0 if it is not in the table.
    fn chosen_pauses(&self, all: &[Pause]) -> (Vec<Pause>, Vec<u64>) {
        let probes = self.s.spec.probes.chosen.iter().flatten();
        let own: Vec<&Probe> = probes.filter(|probe| probe.what == Watched::Pauses).collect();
        let mut row_of = vec![u64::from(own.is_empty()); all.len()];
        for probe in own {
            for pause in self.pauses_of(probe, all) {
                row_of[pause] = 1;
            }
        }
        let chosen = all.iter().zip(&row_of).filter(|(_, row)| **row > 0).map(|(pause, _)| *pause).collect();
        let mut rows = 0;
        for row in row_of.iter_mut().filter(|row| **row > 0) {
            rows += 1;
            *row = rows;
        }
        (chosen, row_of)
    }

    /// Returns the pauses that an entry of the scenario selects.
    fn pauses_of(&self, probe: &Probe, all: &[Pause]) -> Vec<usize> {
        let mut chosen: Vec<usize> = (0..all.len()).collect();
        match &probe.which {
            Which::All => {}
            Which::Busiest(most) => {
                let lasted = |&at: &usize| Reverse(all[at].record.end - all[at].record.start);
                chosen.sort_by_key(lasted);
                chosen.truncate(*most as usize);
            }
            Which::Named(patterns) => {
                let mut named = BTreeMap::new();
                chosen.retain(|&at| {
                    let PauseRecord { port, priority, .. } = all[at].record;
                    *named.entry((port, priority)).or_insert_with(|| {
                        let name = self.s.port_name(port);
                        patterns.iter().any(|pattern| pattern.names_queue(&name, &priority.to_string()))
                    })
                });
            }
        }
        // Simultaneous pauses are sorted by port.
        chosen.sort_by_key(|&at| all[at].record.start);
        chosen.truncate(probe.max_rows.try_into().unwrap_or(usize::MAX));
        chosen
    }
}

/// Name of an ingress counter: a port and a group of priorities.
pub fn ingress_name(view: &View, port: u32, group: usize) -> String {
    format!("{} in/{group}", view.s.port_name(port))
}
