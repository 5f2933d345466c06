//! Pauses, one by one.

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
    about: "One row per pause: an interval in which a port had to stop a priority, or in which a class waited for credits although its link was free, or its bypass queue while others of the class went on.",
    columns: &[&[
        text("port", "The port that was paused."),
        integer(
            "priority",
            "",
            "The priority that was stopped, 0 to 7, or the channel, 0 to 19; of a class that waited for credits its lowest.",
        ),
        real("start_ns", "ns", "When it took effect."),
        real("end_ns", "ns", "When it ended, by XON or by timeout; or when credits arrived."),
        text("sent_by", "The port that sent it, or the credits."),
        text(
            "reason",
            "xoff: the high watermark; target: the target watermark; credits: a wait of a class for them; bypass_credits: of its bypass queue, while ordered frames of the class went on.",
        ),
        text(
            "counter",
            "The queue or ingress counter that had reached it; of credits the ingress port and the channel.",
        ),
        text(
            "queue",
            "The egress queue to blame: that of the frame which made it so, or, if that one held less than half of what was counted, the one that held most; empty if a host sent the pause or had no credits, or if credits were on their way.",
        ),
        integer(
            "occupancy",
            "",
            "What the counter held then, in the unit of the watermark; 0 if credits were on their way.",
        ),
        integer("watermark", "", "The watermark; of credits all that the channel has."),
        text("unit", "Unit of occupancy and watermark: B, frames or credits."),
        integer(
            "because_of",
            "",
            "Row of this table, counted from 1, of the pause that this one is a consequence of: it held back the queue's own port while the counter rose. 0: its queue is a root, or that pause was over before measuring began, or `[[probes]]` does not choose it.",
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

    /// The room that a class waited for.
    fn room_name(&self, waiting: u32, priority: u8) -> String {
        let port = self.s.peer(waiting);
        let channel = self.s.cold(port).control.credits().map_or(0, |own| own.channel(priority));
        ingress_name(self, port, channel)
    }

    /// The pauses that the scenario chooses; and of all the row of the table, counted from 1, or 0.
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
        // Simultaneous pauses are in the order of ports.
        chosen.sort_by_key(|&at| all[at].record.start);
        chosen.truncate(probe.max_rows.try_into().unwrap_or(usize::MAX));
        chosen
    }
}

/// An ingress counter: what came in through a port in a group of priorities.
pub fn ingress_name(view: &View, port: u32, group: usize) -> String {
    format!("{} in/{group}", view.s.port_name(port))
}
