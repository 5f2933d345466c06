//! Path choice at work: frames whose next port each switch chooses (`choice`), among those of its forwarding table
//! (`forwarding`).
//!
//! Where some switch chooses by more than a hash, frames of flows without a route of their own carry their
//! destination; switches that hash choose for them what they would have chosen before the run. A switch knows which
//! of its own links are down and passes them over; that a path is down further on it does not know.

use crate::run::port::Hooks;
use crate::run::world::Fabric;
use crate::spec::Spec;
use crate::spec::choice::{Chooser, Chosen, PathChoice};
use crate::spec::forwarding::ForwardingTable;
use crate::spec::routing::{Routes, Wiring};
use engine::stream;
use frame::{NodeId, PRIORITIES, PortId};
use std::sync::Arc;
use units::Time;

/// What switches need to choose for each frame.
#[derive(Debug)]
pub(crate) struct Spreading {
    /// The same for all parts of a fabric, in numbers of the whole.
    pub table: Arc<ForwardingTable>,
    /// By path: both ends, and the hash of the flow; `None` if the flow has a route of its own. The same for all parts.
    pub ends: Arc<[Option<Ends>]>,
    /// By node of this part.
    pub choosers: Vec<Chooser>,
}

/// Both ends of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub from: NodeId,
    pub to: NodeId,
    hash: u64,
}

impl Spreading {
    /// That of the whole fabric, without choosers; `None` if all switches hash.
    pub fn new(spec: &Spec, wiring: &Wiring) -> Option<Spreading> {
        if (0..spec.nodes.len()).all(|node| choice(spec, node) == PathChoice::Hash) {
            return None;
        }
        let ends = ends(spec);
        let routes = Routes::new(wiring, |node| spec.nodes[node.at()].host().is_some());
        // Replies go to the sources.
        let destinations = ends.iter().flatten().flat_map(|ends| [ends.from, ends.to]);
        let table = Arc::new(ForwardingTable::new(&routes, destinations));
        Some(Spreading { table, ends: ends.into(), choosers: Vec::new() })
    }

    /// That of the part with these nodes.
    pub fn part(&self, spec: &Spec, nodes: std::ops::Range<u32>) -> Box<Spreading> {
        let chooser = |node: u32| {
            let random = stream(spec.seed, &format!("node/{}/path_choice", spec.nodes[node as usize].name));
            Chooser::new(choice(spec, node as usize), self.table.lists(NodeId(node)), random)
        };
        let choosers = nodes.map(chooser).collect();
        Box::new(Spreading { table: self.table.clone(), ends: self.ends.clone(), choosers })
    }

    /// Bytes of the choosers.
    pub fn memory_bytes(&self) -> usize {
        self.choosers.iter().map(|own| size_of::<Chooser>() + own.memory_bytes()).sum()
    }

    /// Bytes of what all parts have together.
    pub fn shared_bytes(&self) -> usize {
        self.table.memory_bytes() + self.ends.len() * size_of::<Option<Ends>>()
    }
}

fn choice(spec: &Spec, node: usize) -> PathChoice {
    spec.nodes[node].switch().map_or(PathChoice::Hash, |own| own.path_choice)
}

fn ends(spec: &Spec) -> Vec<Option<Ends>> {
    let of_flow = |flow: &crate::spec::FlowSpec| -> Vec<Option<Ends>> {
        let to = flow.source.destinations.nodes().into_iter();
        let free = flow.route.is_none();
        to.map(|to| free.then(|| Ends { from: flow.from, to, hash: spec.route_hash(flow, to) })).collect()
    };
    spec.flows.iter().flat_map(of_flow).collect()
}

impl Fabric {
    /// The port that a node chooses for a frame of a path; `None` if the frame has arrived.
    #[inline(never)]
    pub fn choose_egress(&mut self, node: u32, path: u32, destination: NodeId, now: Time) -> Option<u32> {
        let id = NodeId(self.numbering.first_node + node);
        if id == destination {
            return None;
        }
        let Spreading { table, choosers, ends } = self.routes.spreading.as_deref_mut()?;
        let flow = ends[path as usize].map_or(0, |ends| ends.hash);
        // The table speaks of ports of the whole.
        let candidates = table.lookup(id, destination);
        let first = self.numbering.first_port;
        let local = |port: PortId| (port.0 - first) as usize;
        let (ports, queues, cold_ports) = (&self.links.ports, &self.buffers.queues, &self.links.cold);
        let backlog = |port: PortId| {
            let own = &ports[local(port)];
            let waiting: u64 = (0..PRIORITIES)
                .filter(|class| own.waiting >> class & 1 != 0)
                .map(|class| queues[own.first_queue as usize + class].occupancy.bytes)
                .sum();
            // What is still on its way to the link counts as well: an idle port is better than a busy one.
            waiting
                + cold_ports[local(port)].rate.bits_in_ceil(own.busy_until.saturating_sub(now)).div_ceil(8)
        };
        let picked = choosers[node as usize].pick(candidates, Chosen { node: id, flow, now }, backlog)?;
        let is_up = |port: PortId| !ports[local(port)].hooks.has(Hooks::DOWN);
        if is_up(picked) {
            return Some(local(picked) as u32);
        }
        let up = |port: &&PortId| is_up(**port);
        let after = candidates.ports.iter().skip_while(|&&port| port != picked).find(up);
        let port = *after.or_else(|| candidates.ports.iter().find(up)).unwrap_or(&picked);
        Some(local(port) as u32)
    }
}
