//! Pauses, and the levels that they are decided by.

use super::{UsedQueue, View};
use crate::build::Plan;
use crate::run::pause_sender::{PauseCause, unit_of};
use crate::run::pool::NIL;
use crate::run::probes::PauseRecord;
use crate::spec::{Probe, Watched, Which};
use crate::tables::forensics::{Forensics, Pause};
use flow_control::Accounting;
use frame::{PRIORITIES, TrafficClass};
use measure::Table;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use units::Amount;

impl View<'_> {
    pub fn pauses(&self, forensics: &Forensics) -> Table {
        let (pauses, row_of) = self.chosen_pauses(&forensics.pauses);
        let sender = |pause: &Pause| self.s.peer(pause.record.port);
        let queue = |pause: &Pause| match pause.cause.queue {
            NIL => String::new(),
            queue => {
                let (port, class) = self.s.place_of_queue(queue);
                self.queue_name(port, class)
            }
        };
        let counter = |pause: &Pause| {
            let pause_sender = &self.s.node_at(sender(pause)).pause_sender;
            match pause_sender {
                Some(pause_sender) if pause_sender.spec.accounting == Accounting::Egress => queue(pause),
                Some(pause_sender) => {
                    ingress_name(self, sender(pause), pause_sender.group(pause.record.priority).unwrap_or(0))
                }
                None if pause.waits => self.room_name(pause),
                None => String::new(),
            }
        };
        let reason = |pause: &Pause| match pause {
            Pause { waits: true, .. } => "credits",
            Pause { cause: PauseCause { targeted: true, .. }, .. } => "target",
            _ => "xoff",
        };
        let mark = |pause: &Pause| match self.s.cold(pause.record.port).control.credits() {
            Some(credits) => ("credits", credits.sender.granted().into()),
            None => unit_of(self.watermark(pause)),
        };
        Table::new("pauses", "One row a pause: an interval in which a port had to stop a priority, or in which a class waited for credits though its link was free.")
            .texts("port", "The port that had to stop.", pauses.iter().map(|p| self.s.port_name(p.record.port)))
            .integers("priority", "", "The priority that was stopped, 0 to 7, or the channel, 0 to 19; of a class that waited for credits its lowest.", pauses.iter().map(|p| p.record.priority.into()))
            .reals("start_ns", "ns", "When it took effect.", pauses.iter().map(|p| p.record.start.as_ns_f64()))
            .reals("end_ns", "ns", "When it ended, by XON or because its time was over; or when credits came.", pauses.iter().map(|p| p.record.end.as_ns_f64()))
            .texts("sent_by", "The port that sent it, or the credits.", pauses.iter().map(|p| self.s.port_name(sender(p))))
            .texts("reason", "xoff: the high watermark; target: the target watermark; credits: a wait for them.", pauses.iter().map(|p| reason(p).to_string()))
            .texts("counter", "The queue or ingress counter that had reached it; of credits the ingress port and the channel.", pauses.iter().map(counter))
            .texts("queue", "The egress queue to blame: that of the frame which made it so, or, if that one held less than half of what was counted, the one that held most; empty if a host sent the pause or had no credits, or if credits were on their way.", pauses.iter().map(queue))
            .integers("occupancy", "", "What the counter held then, in the unit of the watermark; 0 if credits were on their way.", pauses.iter().map(|p| p.cause.occupancy))
            .integers("watermark", "", "The watermark; of credits all that the channel has.", pauses.iter().map(|p| mark(p).1))
            .texts("unit", "Unit of occupancy and watermark: B, frames or credits.", pauses.iter().map(|p| mark(p).0.to_string()))
            .integers("because_of", "", "Row of this table, counted from 1, of the pause that this one is a consequence of: it held back the queue's own port while the counter rose. 0: its queue is a root, or that pause was over before measuring began, or `[[probes]]` does not choose it.", pauses.iter().map(|p| p.because_of.map_or(0, |row| row_of[row])))
            .integers("tree", "", "Number of its tree in `congestion`.", pauses.iter().map(|p| p.tree as u64 + 1))
    }

    /// The room that a class waited for.
    fn room_name(&self, pause: &Pause) -> String {
        let port = self.s.peer(pause.record.port);
        let channel = self.s.cold(port).control.credits().map_or(0, |own| own.channel(pause.record.priority));
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

    /// Which pauses an entry of the scenario chooses.
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
        // Those of one time are in the order of ports.
        chosen.sort_by_key(|&at| all[at].record.start);
        chosen.truncate(probe.most.try_into().unwrap_or(usize::MAX));
        chosen
    }

    pub fn watermarks(&self) -> Table {
        let mut rows: Vec<(String, &str, Amount)> = Vec::new();
        for &UsedQueue { port, class, .. } in &self.used_queues {
            let node = self.s.node_at(port);
            let name = self.queue_name(port, class);
            if let Some(limit) = node.memory().buffer.queue {
                rows.push((name.clone(), "limit", limit));
            }
            let Some(pause_sender) =
                node.pause_sender.as_ref().filter(|pause_sender| !pause_sender.by_ingress())
            else {
                continue;
            };
            if node.classes.priorities(TrafficClass(class)) & pause_sender.controlled() == 0 {
                continue;
            }
            let levels = pause_sender.levels[(port - self.s.first_port_beside(port)) as usize];
            rows.push((name.clone(), "xoff", levels.xoff));
            rows.push((name.clone(), "xon", levels.xon));
            if let Some(target) = &pause_sender.spec.target {
                rows.push((name, "target", target.watermark));
            }
        }
        let plan = Plan::new(&self.s.spec, &self.s.wiring);
        for (first_port, node) in self.s.nodes() {
            let Some(pause_sender) =
                node.pause_sender.as_ref().filter(|pause_sender| pause_sender.by_ingress())
            else {
                continue;
            };
            // Those of a shared memory move.
            if node.memory().sharing.is_some() {
                continue;
            }
            for (port, levels) in (first_port..).zip(&pause_sender.levels) {
                // PAUSE has one counter a port, PFC one a controlled priority.
                let paused = plan.paused(port);
                let counts = |&g: &usize| pause_sender.group(g as u8) == Some(g) && paused >> g & 1 != 0;
                for group in (0..PRIORITIES).filter(counts) {
                    let name = ingress_name(self, port, group);
                    rows.push((name.clone(), "xoff", levels.xoff));
                    rows.push((name.clone(), "xon", levels.xon));
                    rows.push((name.clone(), "limit", levels.capacity));
                    rows.push((name, "headroom_needed", Amount::Bytes(plan.room(port))));
                }
            }
        }
        Table::new("watermarks", "One row a level that an occupancy is held against.")
            .texts(
                "entity",
                "The queue, or the ingress counter of a port and priority.",
                rows.iter().map(|row| row.0.clone()),
            )
            .texts(
                "watermark",
                "xoff, xon, target, limit, or headroom_needed (above xoff).",
                rows.iter().map(|row| row.1.to_string()),
            )
            .integers("value", "", "The level.", rows.iter().map(|row| unit_of(row.2).1))
            .texts("unit", "B or frames.", rows.iter().map(|row| unit_of(row.2).0.to_string()))
    }
}

/// An ingress counter: what came in through a port in a group of priorities.
pub fn ingress_name(view: &View, port: u32, group: usize) -> String {
    format!("{} in/{group}", view.s.port_name(port))
}
