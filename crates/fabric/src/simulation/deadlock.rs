//! Deadlock: queues that wait for each other in a cycle, detected while the simulation runs.
//!
//! A stopped queue is deadlocked (dead) if the counter that keeps it stopped cannot fall to its low watermark, because
//! too much of the counted data waits in queues that are themselves dead. The largest such set of queues is found by
//! starting from all stopped queues and removing those that can still be released, until nothing changes. The remaining
//! set contains a cycle, which closed when the last of its pauses took effect.
//!
//! With credits, a queue is dead if its next frame needs more credits than its channel would have if all credits were
//! returned except those held by frames in dead queues. In a switch with a crossbar, these frames wait at inputs, for
//! outputs without space.
//!
//! The state is checked periodically in simulated time, and once more at the end. The time at which a cycle closed does
//! not depend on when it is detected. A fabric whose graph of buffer dependencies has no cycle is not checked.
//!
//! If pauses are renewed, a deadlock lasts for ever. Without renewal they expire: the blocked frames then move on, into
//! the headroom and possibly into losses, and the cycle closes again. A watchdog that drops or forwards also ends a
//! deadlock.
//!
//! Source: Dally and Seitz 1987; Hu et al., Deadlocks in datacenter networks, HotNets 2016 (cyclic buffer dependency is
//! necessary, and sufficient only with the traffic for it).
//!
//! Not modelled: starvation under strict priority, which can hold a queue as long but is no cycle.

use crate::run::state::ingress::IngressPort;
use crate::run::state::node::Node;
use crate::simulation::Simulation;
use flow_control::Accounting;
use frame::{Frame, NodeId, Occupancy, PRIORITIES, TrafficClass, members};
use std::collections::BTreeMap;
use units::Time;

type QueuePlace = (u32, u8);

/// Progress of the search for deadlocks.
#[derive(Debug)]
pub(crate) struct DeadlockWatch {
    /// Time of the next check; [`Time::NEVER`] if no deadlock can occur.
    pub next: Time,
    pub interval: Time,
    pub found: Vec<Deadlock>,
}

/// A cycle of queues, each of which waits for the next.
#[derive(Clone, Debug)]
pub(crate) struct Deadlock {
    pub closed: Time,
    pub seen: Time,
    /// Time at which it was found to have ended; `None` while it lasts.
    pub ended: Option<Time>,
    pub members: Vec<Member>,
}

/// A queue of a deadlock, in the state in which it was detected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub queue: QueuePlace,
    pub waiting: Occupancy,
    /// Time since which it has been stopped.
    pub since: Time,
    /// Frames in the next queue that count towards the counter that stops this one.
    pub counted: Occupancy,
}

/// A stopped queue: the time since which it is stopped, and the data that its counter holds in each dead queue.
struct Dead {
    since: Time,
    waits_for: BTreeMap<QueuePlace, Occupancy>,
}

/// Frames in a stopped queue, by ingress port and priority.
type Content = BTreeMap<(u32, u8), Occupancy>;

impl Simulation {
    /// Searches for a deadlock now. Returns true if there is one, whether new or known.
    pub fn look_for_deadlock(&mut self) -> bool {
        let dead = self.dead_queues();
        let now = self.now();
        for deadlock in self.watch.found.iter_mut().filter(|deadlock| deadlock.ended.is_none()) {
            if deadlock.members.iter().any(|member| !dead.contains_key(&member.queue)) {
                deadlock.ended = Some(now);
            }
        }
        for cycle in cycles(&dead) {
            let known = |deadlock: &Deadlock| {
                deadlock.ended.is_none()
                    && deadlock.members.iter().any(|member| cycle.contains(&member.queue))
            };
            if self.watch.found.iter().any(known) {
                continue;
            }
            let member = |at: usize| {
                let (queue, next) = (cycle[at], cycle[(at + 1) % cycle.len()]);
                let waiting = self.queue(queue.0, queue.1).occupancy;
                Member { queue, waiting, since: dead[&queue].since, counted: dead[&queue].waits_for[&next] }
            };
            let members: Vec<Member> = (0..cycle.len()).map(member).collect();
            let closed = members.iter().map(|member| member.since).max().unwrap_or(now);
            self.watch.found.push(Deadlock { closed, seen: now, ended: None, members });
        }
        !dead.is_empty()
    }

    /// Describes the first deadlock that has not ended.
    pub fn deadlock(&self) -> Option<String> {
        let deadlock = self.watch.found.iter().find(|deadlock| deadlock.ended.is_none())?;
        let name = |member: &Member| format!("{}/{}", self.port_name(member.queue.0), member.queue.1);
        let waits = |(at, member): (usize, &Member)| {
            let next = &deadlock.members[(at + 1) % deadlock.members.len()];
            format!(
                "{} ({} frames, paused since {}) waits for {}",
                name(member),
                member.waiting.frames,
                member.since,
                name(next)
            )
        };
        let waits: Vec<String> = deadlock.members.iter().enumerate().map(waits).collect();
        Some(format!(
            "a deadlock of {} queues closed at {}: {}",
            waits.len(),
            deadlock.closed,
            waits.join("; ")
        ))
    }

    /// Returns the queues between switches that can never send again without an external change.
    fn dead_queues(&self) -> BTreeMap<QueuePlace, Dead> {
        let mut stopped = self.stopped_queues();
        // The cheap condition first: a queue can be dead only if a queue at the other end of its link is also stopped.
        let node_of = |port: u32| self.wiring.node_of[port as usize];
        loop {
            let nodes: std::collections::BTreeSet<NodeId> =
                stopped.iter().map(|queue| node_of(queue.0)).collect();
            let before = stopped.len();
            stopped.retain(|queue| nodes.contains(&node_of(self.peer(queue.0))));
            if stopped.len() == before {
                break;
            }
        }
        let mut contents: BTreeMap<QueuePlace, Content> =
            stopped.iter().map(|&queue| (queue, self.content(queue))).collect();
        loop {
            let dead: BTreeMap<QueuePlace, Dead> =
                contents.keys().filter_map(|&queue| Some((queue, self.death(queue, &contents)?))).collect();
            if dead.len() == contents.len() {
                return dead;
            }
            contents.retain(|queue, _| dead.contains_key(queue));
        }
    }

    /// Returns the queues between switches that have frames and are stopped.
    fn stopped_queues(&self) -> Vec<QueuePlace> {
        let now = self.now();
        let mut stopped = Vec::new();
        for id in 0..self.ports() as u32 {
            let port = self.port(id);
            let classes = port.stopped & port.waiting;
            if classes == 0 || self.node_at(id).is_host || self.node_at(self.peer(id)).is_host {
                continue;
            }
            let (map, cold) = (self.node_at(id).classes, self.cold(id));
            let paused = |class: u8| cold.control.until(map.numbers_of(TrafficClass(class))) > now;
            stopped.extend(
                members(classes)
                    .map(|class| class as u8)
                    .filter(|&class| paused(class))
                    .map(|class| (id, class)),
            );
        }
        stopped
    }

    fn content(&self, (port, class): QueuePlace) -> Content {
        let mut content = Content::new();
        self.kept_by((port, class), |ingress, frame| {
            content.entry((ingress, frame.priority().0)).or_default().add(frame.bytes);
        });
        content
    }

    /// Calls a function for each frame that is blocked while a queue is, with its ingress port.
    fn kept_by(&self, (port, class): QueuePlace, mut each: impl FnMut(u32, &Frame)) {
        let (part, local) = self.part_at(port);
        if let Some(bar) = self.node_at(port).architecture.crossbar() {
            let stuck = bar.stuck_behind(local, TrafficClass(class), &part.buffers.pool);
            return stuck.for_each(|(ingress, one)| each(part.numbering.port(ingress), &one.frame));
        }
        let came_in = self.frames_with_ingress(port, class);
        came_in.for_each(|(one, ingress)| ingress.into_iter().for_each(|ingress| each(ingress, &one.frame)));
    }

    /// Returns the reason why a queue cannot be released, given the frames in queues that may be dead; `None` if it can
    /// be.
    fn death(&self, (port, class): QueuePlace, contents: &BTreeMap<QueuePlace, Content>) -> Option<Dead> {
        let now = self.now();
        let sender = self.peer(port);
        let (node, first_port) = (self.node_at(sender), self.first_port_beside(sender));
        let priorities = self.node_at(port).classes.numbers_of(TrafficClass(class));
        let cold = self.cold(port);
        let next_node = self.wiring.first_port.get(self.wiring.node_of[sender as usize].at() + 1);
        let ports = first_port..next_node.map_or(self.ports() as u32, |&port| port);
        let there: Vec<_> = contents.range((ports.start, 0)..(ports.end, 0)).collect();
        let mut dead: Option<Dead> = None;
        for priority in members(priorities).map(|priority| priority as u8) {
            let Some((since, _)) = cold.control.in_force(priority) else { continue };
            if cold.control.until(1_u32 << priority) <= now {
                continue;
            }
            let accounting = self.pause_sender_at(sender).map(|pause_sender| pause_sender.spec.accounting);
            let takes_credits = cold.control.credits_of(priority).is_some();
            let waits_for = match accounting.filter(|_| !takes_credits) {
                None => self.waits_by_credits((port, class), sender, &there),
                Some(Accounting::Ingress) => {
                    waits_by_ingress(self.ingress_port(sender), sender, priority, &there)
                }
                Some(Accounting::Egress) => {
                    self.waits_by_egress(node, (first_port, sender), priority, &there)
                }
            };
            if !waits_for.is_empty() && dead.as_ref().is_none_or(|dead| since < dead.since) {
                dead = Some(Dead { since, waits_for });
            }
        }
        dead
    }

    /// Returns the queues whose frames hold the credits that the next frame of a queue lacks. With a bypass queue,
    /// there are two candidates for the next frame.
    fn waits_by_credits(
        &self,
        (port, class): QueuePlace,
        sender: u32,
        there: &[(&QueuePlace, &Content)],
    ) -> BTreeMap<QueuePlace, Occupancy> {
        let mut waits = BTreeMap::new();
        let Some(credits) = self.cold(port).control.credits() else { return waits };
        let (part, local) = self.part_at(port);
        let queue = part.links.ports[local].queue(TrafficClass(class));
        for head in part.buffers.heads(queue) {
            let (count, need) = credits.need(head);
            let mut kept = 0;
            for &(&place, _) in there {
                let mut counted = Occupancy::default();
                self.kept_by(place, |ingress, frame| {
                    let (of, credits) = credits.need(frame);
                    if ingress == sender && of == count {
                        counted.add(frame.bytes);
                        kept += credits;
                    }
                });
                if counted.frames > 0 {
                    waits.insert(place, counted);
                }
            }
            if kept + need <= credits.sender.granted() {
                return BTreeMap::new();
            }
        }
        waits
    }

    /// Returns the queues that keep a priority of the port behind `sender` paused, with egress accounting.
    fn waits_by_egress(
        &self,
        node: &Node,
        (first_port, sender): (u32, u32),
        priority: u8,
        there: &[(&QueuePlace, &Content)],
    ) -> BTreeMap<QueuePlace, Occupancy> {
        let Some(pause_sender) = self.pause_sender_at(sender) else { return BTreeMap::new() };
        let places = there.iter().map(|&(&place, _)| place);
        let waits = places.filter_map(|(egress, class)| {
            let at = (egress - first_port) as usize;
            let counter = &pause_sender.egress[at * PRIORITIES + usize::from(class)];
            let occupancy = self.queue(egress, class).occupancy;
            let stops = node.classes.priorities(TrafficClass(class)) >> priority & 1 != 0
                && counter.pause(sender - first_port).in_force()
                && !occupancy.within(pause_sender.levels[at].xon);
            stops.then_some(((egress, class), occupancy))
        });
        waits.collect()
    }
}

/// Returns the queues that keep a priority of the port behind `sender` paused, with ingress accounting.
fn waits_by_ingress(
    port: &IngressPort,
    sender: u32,
    priority: u8,
    there: &[(&QueuePlace, &Content)],
) -> BTreeMap<QueuePlace, Occupancy> {
    let mut waits = BTreeMap::new();
    let Some(group) = port.kind.group(priority) else { return waits };
    if !port.counters[group].pause.in_force() {
        return waits;
    }
    let mut total = Occupancy::default();
    let sum = |into: &mut Occupancy, part: &Occupancy| {
        into.frames += part.frames;
        into.bytes += part.bytes;
    };
    for &(&queue, content) in there {
        let mut counted = Occupancy::default();
        for (&(ingress, priority), part) in content {
            if ingress == sender && port.kind.group(priority) == Some(group) {
                sum(&mut counted, part);
            }
        }
        if counted.frames > 0 {
            sum(&mut total, &counted);
            waits.insert(queue, counted);
        }
    }
    if total.within(port.levels.xon) { BTreeMap::new() } else { waits }
}

/// Returns the cycles found by following, from each dead queue, the queue that holds most of the frames for which it
/// waits.
fn cycles(dead: &BTreeMap<QueuePlace, Dead>) -> Vec<Vec<QueuePlace>> {
    let next = |queue: &QueuePlace| {
        let most = dead
            .get(queue)?
            .waits_for
            .iter()
            .max_by_key(|(queue, counted)| (counted.frames, std::cmp::Reverse(**queue)));
        most.map(|(&queue, _)| queue)
    };
    let mut seen = std::collections::BTreeSet::new();
    let mut cycles = Vec::new();
    for &start in dead.keys() {
        let mut way = Vec::new();
        let mut at = Some(start);
        while let Some(queue) = at.filter(|queue| seen.insert(*queue)) {
            way.push(queue);
            at = next(&queue);
        }
        if let Some(begin) = at.and_then(|queue| way.iter().position(|&passed| passed == queue)) {
            let mut cycle = way.split_off(begin);
            let lowest = (0..cycle.len()).min_by_key(|&at| cycle[at]).unwrap_or(0);
            cycle.rotate_left(lowest);
            cycles.push(cycle);
        }
    }
    cycles
}
