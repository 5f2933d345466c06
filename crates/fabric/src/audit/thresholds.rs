//! Switch memory thresholds before a run, in bytes: XOFF and XON of each lossless counter, its headroom above XOFF
//! compared with the bytes in flight on its link, the queue levels at which marking begins, and which of these cannot
//! be reached.
//!
//! A dynamic threshold is given twice: with one busy counter, and with all counters of the switch busy.

use super::pools::{egress_limits, most_of_ingress};
use crate::PauseNeeds;
use crate::build::pool_profiles;
use crate::spec::routing::Wiring;
use crate::spec::{NodeSpec, Spec, SwitchSpec, with_port};
use flow_control::Accounting;
use frame::{NodeId, PRIORITIES, PortId};
use queueing::{Action, ManagerSpec, PoolsSpec, PortProfiles, StepParams};
use units::Amount;

/// Thresholds of a counter of lossless frames, or of an egress queue, at one port or several identical ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// Name of the switch.
    pub node: String,
    /// Names of the ports.
    pub ports: Vec<String>,
    /// "group 3" or "queue 3".
    pub what: String,
    /// Name of its profile, if it has one.
    pub profile: String,
    /// Name of its pool, if it has one.
    pub pool: String,
    /// Memory reserved for it, in bytes.
    pub reserved: u64,
    /// XOFF, or the limit of a lossy queue; `None`: there is none.
    pub xoff: Option<Amount>,
    /// XOFF with all counters of the switch busy, if less than `xoff`.
    pub xoff_all_busy: Option<Amount>,
    /// XON.
    pub xon: Option<Amount>,
    /// Headroom above XOFF.
    pub headroom: Option<Amount>,
    /// Bytes in flight on the link after XOFF.
    pub in_flight: Option<u64>,
    /// Level at which marking begins, and level from which every frame is marked.
    pub marks: Option<(Amount, Amount)>,
    /// Summary of the row in words.
    pub verdict: String,
}

/// Returns the thresholds of a fabric, and notes about its switches.
pub fn thresholds(spec: &Spec, needs: &[PauseNeeds]) -> (Vec<Threshold>, Vec<String>) {
    let wiring = spec.wiring();
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    for (id, node) in (0..).map(NodeId).zip(&spec.nodes) {
        let Some(switch) = node.switch() else { continue };
        let needs: Vec<&PauseNeeds> = needs.iter().filter(|need| need.node == id).collect();
        let station = Station { spec, wiring: &wiring, id, node, switch, needs };
        let found = station.rows();
        // Switches that differ only in their names are reported once.
        let alike = rows.iter().any(|(known, _): &(Vec<Threshold>, u64)| same(known, &found));
        match rows.iter_mut().find(|(known, _)| same(known, &found)) {
            Some((_, times)) => *times += 1,
            None => rows.push((found, 1)),
        }
        if !alike {
            notes.extend(station.notes());
        }
    }
    let several = rows.iter().filter(|(found, times)| *times > 1 && !found.is_empty());
    let several: Vec<String> = several
        .map(|(found, times)| format!("{} stands for {times} switches that are alike", found[0].node))
        .collect();
    notes.extend(several);
    (rows.into_iter().flat_map(|(found, _)| found).collect(), notes)
}

/// Returns the queue length at which a manager begins to mark in a class of a switch, and the maximum length of the
/// queue once flow control has paused all its senders. `None` if the queue can reach the former.
pub fn paused_before_marks(
    spec: &Spec,
    needs: &[PauseNeeds],
    id: NodeId,
    (class, manager): (usize, ManagerSpec),
) -> Option<(u64, u64)> {
    let node = spec.nodes.get(id.at())?;
    let switch = node.switch()?;
    let (Amount::Bytes(least), _) = marks(manager)? else { return None };
    let needs: Vec<&PauseNeeds> = needs.iter().filter(|need| need.node == id).collect();
    let wiring = spec.wiring();
    let station = Station { spec, wiring: &wiring, id, node, switch, needs };
    let lossless = station.lossless_of(class);
    if lossless == 0 || station.needs.is_empty() {
        return None;
    }
    let (_, all) = station.most_there(lossless)?;
    (least >= all).then_some((least, all))
}

fn same(one: &[Threshold], other: &[Threshold]) -> bool {
    let bare = |row: &Threshold| Threshold { node: String::new(), ports: Vec::new(), ..row.clone() };
    let alike = |a: &Threshold, b: &Threshold| a.ports.len() == b.ports.len() && bare(a) == bare(b);
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| alike(a, b))
}

struct Station<'a> {
    spec: &'a Spec,
    wiring: &'a Wiring,
    id: NodeId,
    node: &'a NodeSpec,
    switch: &'a SwitchSpec,
    needs: Vec<&'a PauseNeeds>,
}

impl Station<'_> {
    fn rows(&self) -> Vec<Threshold> {
        let mut rows: Vec<Threshold> = Vec::new();
        let mut add = |row: Threshold| {
            let bare = |row: &Threshold| Threshold { ports: Vec::new(), ..row.clone() };
            match rows.iter_mut().find(|known| bare(known) == bare(&row)) {
                Some(known) => known.ports.extend(row.ports),
                None => rows.push(row),
            }
        };
        let profiles = self.profiles();
        for (local, port) in self.wiring.ports(self.id).enumerate() {
            let need = self.needs.get(local).copied();
            for priority in 0..PRIORITIES {
                if let Some(need) = need.filter(|need| need.pauses >> priority & 1 != 0) {
                    add(self.counter(port, priority, need, profiles.get(local)));
                }
            }
            for class in 0..self.switch.classes.classes() {
                if let Some(row) = self.queue(port, class, profiles.get(local)) {
                    add(row);
                }
            }
        }
        rows
    }

    fn notes(&self) -> Vec<String> {
        let name = &self.node.name;
        let mut notes = Vec::new();
        let needed: u64 =
            self.needs.iter().map(|need| need.room.get() * u64::from(need.pauses.count_ones())).sum();
        if let Some(pools) = self.switch.pools.as_deref() {
            let ports = self.profiles();
            for (pool, reserved) in pools.pools.iter().zip(pools.reserved(&ports)).filter(|(_, sum)| *sum > 0)
            {
                notes.push(match pool.headroom {
                    None => format!(
                        "{name}: groups of pool \"{}\" have {reserved} B of headroom, not shared; links have {needed} B in flight",
                        pool.name
                    ),
                    Some(shared) => {
                        let ratio = reserved as f64 / shared.max(1) as f64;
                        format!(
                            "{name}: pool \"{}\" has {shared} B of headroom for {reserved} B configured in its groups ({ratio:.1} times as much); links have {needed} B in flight",
                            pool.name
                        )
                    }
                });
            }
            let limits = egress_limits(self.switch, pools, &ports, self.lossless());
            notes.extend(limits.into_iter().map(|note| format!("{name}: {note}")));
        } else if let Some(memory) = self.switch.shared_memory.filter(|_| !self.needs.is_empty()) {
            notes.push(format!(
                "{name}: queues share {} B of headroom; links have {needed} B in flight",
                memory.headroom
            ));
        }
        notes
    }

    fn lossless(&self) -> u8 {
        self.switch.pauses().map_or(0, |own| own.kind.priorities())
    }
    /// Returns the lossless priorities of a class.
    fn lossless_of(&self, class: usize) -> u8 {
        (0..PRIORITIES as u8)
            .filter(|&priority| self.switch.classes.class(frame::Priority(priority)).at() == class)
            .fold(0, |set, priority| set | (self.lossless() & 1 << priority))
    }
    fn profiles(&self) -> Vec<PortProfiles> {
        let pools = self.switch.pools.as_deref();
        pools.map_or_else(Vec::new, |pools| pool_profiles(self.spec, self.wiring, self.id, pools))
    }
    fn ports(&self) -> u64 {
        self.wiring.ports(self.id).count() as u64
    }
    fn row(&self, port: PortId, what: String) -> Threshold {
        Threshold {
            node: self.node.name.clone(),
            ports: vec![self.wiring.port_name(port, |node| self.spec.nodes[node.at()].name.as_str())],
            what,
            profile: String::new(),
            pool: String::new(),
            reserved: 0,
            xoff: None,
            xoff_all_busy: None,
            xon: None,
            headroom: None,
            in_flight: None,
            marks: None,
            verdict: String::new(),
        }
    }

    /// Memory that lossless counters share by a dynamic threshold, and the size of its shared part.
    fn one_pool(&self) -> Option<(queueing::SharedMemorySpec, u64)> {
        let memory = self.switch.shared_memory?;
        let by_ingress = self.switch.pauses().is_some_and(|own| own.counts_at_ingress());
        let shared = memory.shared(self.switch.queues_of_memory(self.ports()))?;
        by_ingress.then_some((memory, shared))
    }

    /// Thresholds of a counter of lossless frames, or of an egress queue that sends pauses.
    fn counter(
        &self,
        port: PortId,
        priority: usize,
        need: &PauseNeeds,
        profiles: Option<&PortProfiles>,
    ) -> Threshold {
        let by_egress = self.switch.pauses().is_some_and(|own| own.accounting == Accounting::Egress);
        let in_flight = Some(need.room.get());
        let busy = self.busy();
        if let (Some(pools), Some(profiles)) = (self.switch.pools.as_deref(), profiles) {
            let group = usize::from(pools.groups[priority]);
            let row = self.row(port, format!("group {group}"));
            let Some(profile) = profiles.ingress[group] else {
                return Threshold {
                    in_flight,
                    verdict: "no profile: its sender is never paused".into(),
                    ..row
                };
            };
            let row = of_profile(row, pools, profile, busy);
            let room = pools.profiles[profile].rules.headroom;
            return Threshold {
                headroom: Some(Amount::Bytes(room)),
                in_flight,
                verdict: short(room, need),
                ..row
            };
        }
        let what = format!("{} {priority}", if by_egress { "egress, priority" } else { "priority" });
        let row = self.row(port, what);
        if let Some((memory, shared)) = self.one_pool() {
            let xoff = |busy| memory.minimum + memory.alpha.share(shared, busy);
            let xon = memory.minimum.max(xoff(1).saturating_sub(memory.resume_offset));
            return Threshold {
                reserved: memory.minimum,
                xoff: Some(Amount::Bytes(xoff(1))),
                xoff_all_busy: Some(Amount::Bytes(xoff(busy))),
                xon: Some(Amount::Bytes(xon)),
                headroom: Some(Amount::Bytes(memory.headroom)),
                in_flight,
                verdict: short(memory.headroom, need),
                ..row
            };
        }
        let levels = need.levels;
        let room = match (levels.capacity, levels.xoff) {
            (Amount::Bytes(all), Amount::Bytes(xoff)) => Some(Amount::Bytes(all - xoff)),
            (Amount::Frames(all), Amount::Frames(xoff)) => Some(Amount::Frames(all - xoff)),
            _ => None,
        };
        let verdict = match room.filter(|_| !by_egress) {
            Some(Amount::Bytes(room)) => short(room, need),
            _ => String::new(),
        };
        Threshold {
            xoff: Some(levels.xoff),
            xon: Some(levels.xon),
            headroom: room.filter(|_| !by_egress),
            in_flight,
            verdict,
            ..row
        }
    }

    /// Number of lossless counters of the switch.
    fn busy(&self) -> u64 {
        self.needs.iter().map(|need| u64::from(need.pauses.count_ones())).sum::<u64>().max(1)
    }

    /// Thresholds of an egress queue with a profile or marks.
    fn queue(&self, port: PortId, class: usize, profiles: Option<&PortProfiles>) -> Option<Threshold> {
        let mut row = self.row(port, format!("queue {class}"));
        let profile = profiles.and_then(|of| of.egress[class]);
        if let (Some(pools), Some(profile)) = (self.switch.pools.as_deref(), profile) {
            row = Threshold { xon: None, ..of_profile(row, pools, profile, self.ports()) };
        }
        let managers = with_port(self.spec, self.wiring, port, |facts| {
            self.switch.managers.of_port(facts, self.switch.classes.classes())
        });
        let rate = self.spec.links[self.wiring.link_of[port.at()] as usize].rate_from(self.id);
        row.marks = managers.get(class).copied().flatten().and_then(|own| marks(own.at_port_rate(rate)));
        if profile.is_none() && row.marks.is_none() {
            return None;
        }
        let lossless = self.lossless_of(class);
        if let Some((Amount::Bytes(least), _)) = row.marks.filter(|_| lossless != 0) {
            row.verdict = self.marks_or_pauses(least, lossless);
        }
        Some(row)
    }

    /// Bytes that a single sender can queue at these lossless priorities before it is paused, and maximum bytes of all
    /// senders together; `None` if limits are not in bytes.
    fn most_there(&self, lossless: u8) -> Option<(u64, u64)> {
        let (ports, counters) = (self.ports(), u64::from(lossless.count_ones()));
        Some(if let Some(pools) = self.switch.pools.as_deref() {
            let profiles = self.profiles();
            let groups = profiles.iter().flat_map(|port| {
                let of = |&priority: &usize| lossless >> priority & 1 != 0;
                (0..PRIORITIES)
                    .filter(of)
                    .filter_map(|priority| port.ingress[usize::from(pools.groups[priority])])
            });
            let of_one = groups.map(|profile| pools.levels(profile, 1).0).min().unwrap_or(u64::MAX);
            (of_one, most_of_ingress(pools, &profiles, lossless))
        } else if let Some((memory, shared)) = self.one_pool() {
            let one = memory.minimum + memory.alpha.share(shared, 1);
            (one, shared + memory.headroom + memory.minimum * ports * counters)
        } else {
            let level = |need: &&PauseNeeds| match (need.levels.xoff, need.levels.capacity) {
                (Amount::Bytes(xoff), Amount::Bytes(capacity)) => Some((xoff, capacity)),
                _ => None,
            };
            let levels = self.needs.iter().map(level).collect::<Option<Vec<_>>>()?;
            let least = levels.iter().map(|level| level.0).min().unwrap_or(u64::MAX);
            let by_egress = self.switch.pauses().is_some_and(|own| own.accounting == Accounting::Egress);
            if by_egress {
                let room: u64 = self.needs.iter().map(|need| need.room.get()).sum();
                (least, least.saturating_add(room))
            } else {
                (least, levels.iter().map(|level| level.1 * counters).sum())
            }
        })
    }

    /// Describes whether marking of a queue of these lossless priorities begins before its senders are paused.
    fn marks_or_pauses(&self, least: u64, lossless: u8) -> String {
        let Some((of_one, all)) = self.most_there(lossless) else { return String::new() };
        if least >= all {
            return "marks never: PFC stops the queue first".into();
        }
        if least < of_one {
            return "marks before any pause".into();
        }
        format!("marks only if {} ports or more send to it: one is paused at {of_one} B", least / of_one + 1)
    }
}

/// Adds the limits of a profile, for one busy counter and for many.
fn of_profile(row: Threshold, pools: &PoolsSpec, profile: usize, busy: u64) -> Threshold {
    let (alone, all) = (pools.levels(profile, 1), pools.levels(profile, busy));
    Threshold {
        profile: pools.profiles[profile].name.clone(),
        pool: pools.pool_of(profile).name.clone(),
        reserved: pools.profiles[profile].rules.reserved,
        xoff: Some(Amount::Bytes(alone.0)),
        xoff_all_busy: Some(Amount::Bytes(all.0)),
        xon: Some(Amount::Bytes(alone.1)),
        ..row
    }
}

fn short(room: u64, need: &PauseNeeds) -> String {
    let lacks = need.room.get().saturating_sub(room);
    if lacks == 0 { String::new() } else { format!("headroom is {lacks} B short of what is in flight") }
}

/// Returns the level at which a manager begins to mark, and the level from which it marks every frame.
fn marks(manager: ManagerSpec) -> Option<(Amount, Amount)> {
    if let ManagerSpec::Step(StepParams { threshold, .. }) = manager {
        return Some((threshold, threshold));
    }
    manager.red().filter(|red| red.action != Action::Drop).map(|red| (red.min, red.max))
}
