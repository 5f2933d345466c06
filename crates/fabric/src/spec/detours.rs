//! Detours over a third group: Valiant and UGAL routing in fabrics of groups, such as a dragonfly.
//!
//! A group is a set of switches connected by links of cost 1; links of a higher cost are global. A frame between two
//! groups takes a global link from its group to that of its destination (minimal path), or goes over a random third
//! group (Valiant), from which its path is minimal. The first switch decides for each frame:
//!
//! - `valiant`: always over a third group.
//! - `ugal` (UGAL-L): minimal if q_min H_min <= q_val H_val + `threshold`, with the bytes q queued at the first
//!   switch's port of each path, and the number of links H between switches on the path. A detour is therefore taken if
//!   the queue of the minimal path is more than about twice as long.
//!
//! A frame carries the group of its detour in its label until it has arrived there. Frames within a group go directly.
//!
//! Each switch chooses among its own global links to the group at random, otherwise among the switches of its group
//! that have one.
//!
//! With PFC or credits, a detour needs a class of its own for each global link that a frame has passed (three classes),
//! which `maps.remap` of the switches provides: links are then ordered (local and global of each class), so no cycle
//! remains.
//!
//! Source: Valiant, A scheme for fast parallel communication (SIAM J. Computing 1982); Kim, Dally, Scott and Abts,
//! Technology-driven, highly-scalable dragonfly topology (ISCA 2008, §4: Valiant over groups, UGAL-L, virtual
//! channels).
//!
//! Not modelled: UGAL with queues of other switches (UGAL-G), with a discount for shared ports (UGAL-L_VC), or with
//! credit round trips (UGAL-L_CR); a decision after the first switch (PAR).

use super::routing::{Wiring, scale};
use super::{NodeSpec, Spec};
use engine::Stream;
use frame::{NodeId, PortId, Route};
use keys::Remark;
use rand_xoshiro::rand_core::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::Bytes;

/// Keys of UGAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ugal {
    /// Bias towards the minimal path: bytes by which its queue length times its number of links may exceed those of the detour. A size in bytes. Default: "0 B".
    pub threshold: Bytes,
}

impl Default for Ugal {
    fn default() -> Ugal {
        Ugal { threshold: Bytes::new(0) }
    }
}

/// Maximum number of groups: the number of label values minus one, which means no detour.
const MAX_GROUPS: usize = Route::ENTROPIES as usize - 1;
const NO_GROUP: u16 = u16::MAX;

/// Groups of switches, and the links between them.
#[derive(Clone, Debug)]
pub struct Detours {
    /// Group of each node; hosts are in the group of their switch.
    group_of: Box<[u16]>,
    /// By host, its first switch.
    switch_of: Box<[NodeId]>,
    groups: u16,
    /// By source and destination group, the switches of the former that have a global link to the latter.
    gateways: BTreeMap<(u16, u16), Vec<Gateway>>,
    /// Ports between switches of one group, by both ends.
    local: BTreeMap<(NodeId, NodeId), PortId>,
}

/// A switch with a global link, its port, and the switch at the other end.
type Gateway = (NodeId, PortId, NodeId);

/// A detour over a third group.
#[derive(Clone, Copy, Debug)]
pub struct Detour {
    /// The third group.
    pub group: u16,
    /// The egress port of the first switch.
    pub port: PortId,
}

impl Detours {
    /// Finds the groups of a fabric.
    ///
    /// # Errors
    /// If the fabric has no groups that are linked to each other; the remark states what is expected.
    pub fn new(spec: &Spec, wiring: &Wiring) -> Result<Detours, Remark> {
        let nodes = spec.nodes.len();
        let is_switch = |node: NodeId| spec.nodes[node.at()].host().is_none();
        let mut group_of = vec![NO_GROUP; nodes];
        let mut groups = 0_usize;
        for first in (0..nodes as u32).map(NodeId).filter(|&node| is_switch(node)) {
            if group_of[first.at()] != NO_GROUP {
                continue;
            }
            let mut open = vec![first];
            group_of[first.at()] = groups as u16;
            while let Some(node) = open.pop() {
                for port in wiring.ports(node).filter(|&port| wiring.cost(port) == 1) {
                    let next = wiring.neighbour(port);
                    if is_switch(next) && group_of[next.at()] == NO_GROUP {
                        group_of[next.at()] = groups as u16;
                        open.push(next);
                    }
                }
            }
            groups += 1;
        }
        let needs = "expected topology.dragonfly, or links whose `cost` above 1 separates 3 to 1023 groups";
        if !(3..=MAX_GROUPS).contains(&groups) {
            return Err(Remark::new(format!("detours over a third group in a fabric of {groups}"), needs));
        }
        let mut switch_of: Vec<NodeId> = (0..nodes as u32).map(NodeId).collect();
        let (mut gateways, mut local) = (BTreeMap::<_, Vec<_>>::new(), BTreeMap::new());
        for node in (0..nodes as u32).map(NodeId) {
            for port in wiring.ports(node) {
                let next = wiring.neighbour(port);
                if !is_switch(node) {
                    if group_of[node.at()] == NO_GROUP {
                        (group_of[node.at()], switch_of[node.at()]) = (group_of[next.at()], next);
                    }
                } else if is_switch(next) && group_of[node.at()] == group_of[next.at()] {
                    local.entry((node, next)).or_insert(port);
                } else if is_switch(next) {
                    let ends = (group_of[node.at()], group_of[next.at()]);
                    gateways.entry(ends).or_default().push((node, port, next));
                }
            }
        }
        let it = Detours {
            group_of: group_of.into(),
            switch_of: switch_of.into(),
            groups: groups as u16,
            gateways,
            local,
        };
        it.check(spec)?;
        Ok(it)
    }

    /// Checks that every group is linked to every other, and that the switches of a group are linked to each other.
    fn check(&self, spec: &Spec) -> Result<(), Remark> {
        let ends = (0..self.groups).flat_map(|one| (0..self.groups).map(move |other| (one, other)));
        if let Some((one, other)) =
            ends.clone().find(|ends| ends.0 != ends.1 && !self.gateways.contains_key(ends))
        {
            let name = |group: u16| {
                let first = self.group_of.iter().position(|&of| of == group);
                first.map_or("", |node| &spec.nodes[node].name)
            };
            let message = format!("no link between the groups of \"{}\" and \"{}\"", name(one), name(other));
            return Err(Remark::new(message, "expected a link between each two groups, as in a dragonfly"));
        }
        let switches = || (0..spec.nodes.len()).filter(|&node| spec.nodes[node].host().is_none());
        for one in switches() {
            for other in switches().filter(|&other| other > one && self.group_of[other] == self.group_of[one])
            {
                if !self.local.contains_key(&(NodeId(one as u32), NodeId(other as u32))) {
                    let name = |node: usize| &spec.nodes[node].name;
                    let message =
                        format!("no link between \"{}\" and \"{}\" of one group", name(one), name(other));
                    return Err(Remark::new(
                        message,
                        "expected groups of fully linked switches, as in a dragonfly",
                    ));
                }
            }
        }
        Ok(())
    }

    fn group(&self, node: NodeId) -> u16 {
        self.group_of[node.at()]
    }
    /// Returns true if a node is the first switch of a host.
    pub fn is_first(&self, node: NodeId, host: NodeId) -> bool {
        self.switch_of[host.at()] == node
    }
    /// Returns true if frames between two nodes leave their group.
    pub fn crosses(&self, from: NodeId, to: NodeId) -> bool {
        self.group(from) != self.group(to)
    }

    /// Returns the port of a switch towards another group, drawn at random.
    fn port_to(&self, node: NodeId, group: u16, random: &mut Stream) -> Option<PortId> {
        let all = self.gateways.get(&(self.group(node), group))?;
        let own = all.iter().filter(|(gateway, ..)| *gateway == node).count();
        let draw =
            |count: usize, random: &mut Stream| if count > 1 { scale(random.next_u64(), count) } else { 0 };
        if own > 0 {
            let nth = draw(own, random);
            return all.iter().filter(|(gateway, ..)| *gateway == node).nth(nth).map(|&(_, port, _)| port);
        }
        let (gateway, ..) = all[draw(all.len(), random)];
        self.local.get(&(node, gateway)).copied()
    }

    /// Draws a detour for a frame that enters at a switch.
    pub fn draw(&self, from: NodeId, to: NodeId, random: &mut Stream) -> Option<Detour> {
        let mut ends = [self.group(from), self.group(to)];
        ends.sort_unstable();
        let mut group = scale(random.next_u64(), usize::from(self.groups) - 2) as u16;
        for end in ends {
            group += u16::from(group >= end);
        }
        Some(Detour { group, port: self.port_to(from, group, random)? })
    }

    /// Returns the port of a frame towards the group in its label; `None` if the frame is in that group.
    pub fn onward(&self, node: NodeId, label: u16, random: &mut Stream) -> Option<PortId> {
        let group = label.checked_sub(1)?;
        if group == self.group(node) { None } else { self.port_to(node, group, random) }
    }

    /// Number of links between switches on the path from a switch to the switch of a host: minimal, or over a group.
    pub fn links(&self, from: NodeId, over: Option<u16>, host: NodeId) -> u64 {
        let to = self.switch_of[host.at()];
        let (mut at, mut links) = (from, 0);
        for group in over.into_iter().chain([self.group(to)]) {
            let Some(all) = self.gateways.get(&(self.group(at), group)) else { continue };
            let own = all.iter().find(|(gateway, ..)| *gateway == at);
            let gateway = own.unwrap_or(&all[0]);
            links += 1 + u64::from(own.is_none());
            at = gateway.2;
        }
        links + u64::from(at != to)
    }

    /// Returns all possible paths over global links, as lists of egress ports of switches: up to two global links, with
    /// local links before, between and after them.
    pub fn ways(&self) -> Vec<Vec<u32>> {
        let mut into: BTreeMap<NodeId, Vec<PortId>> = BTreeMap::new();
        let mut beside: BTreeMap<NodeId, Vec<(PortId, NodeId)>> = BTreeMap::new();
        let mut out: BTreeMap<NodeId, Vec<(PortId, NodeId)>> = BTreeMap::new();
        for (&(from, to), &port) in &self.local {
            beside.entry(from).or_default().push((port, to));
            into.entry(to).or_default().push(port);
        }
        for &(gateway, port, to) in self.gateways.values().flatten() {
            out.entry(gateway).or_default().push((port, to));
        }
        let mut ways = Vec::new();
        for (gateway, own) in &out {
            for &(first, arrival) in own {
                let before = into.get(gateway).into_iter().flatten();
                ways.extend(before.map(|port| vec![port.0, first.0]));
                let within = beside.get(&arrival).into_iter().flatten();
                let within = within.map(|&(port, to)| (vec![first.0, port.0], to));
                for (way, at) in within.chain([(vec![first.0], arrival)]) {
                    for &(second, end) in out.get(&at).into_iter().flatten() {
                        let further = [&way[..], &[second.0]].concat();
                        let last = beside.get(&end).into_iter().flatten();
                        ways.extend(last.map(|(port, _)| [&further[..], &[port.0]].concat()));
                        ways.push(further);
                    }
                    ways.push(way);
                }
            }
        }
        ways
    }

    /// Bytes of heap memory.
    pub fn memory_bytes(&self) -> usize {
        let gateways = self.gateways.values().map(|all| all.capacity() * size_of::<Gateway>());
        self.group_of.len() * size_of::<u16>()
            + self.switch_of.len() * size_of::<NodeId>()
            + gateways.sum::<usize>()
            + self.local.len() * size_of::<((NodeId, NodeId), PortId)>()
    }
}

/// Returns true if a switch sends frames over third groups.
pub fn takes_detours(node: &NodeSpec) -> bool {
    node.switch().is_some_and(|switch| switch.path_choice.takes_detours())
}
