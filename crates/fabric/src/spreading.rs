//! Path choice at work: frames whose next port each switch chooses (`choice`), among those of its forwarding table
//! (`forwarding`).
//!
//! Where some switch chooses by more than a hash, frames of flows without a route of their own carry their
//! destination; switches that hash choose for them what they would have chosen before the run. A switch knows which
//! of its own links are down and passes them over; that a path is dead further on it does not know.

use crate::build::Plan;
use crate::choice::{Chooser, Chosen, PathChoice};
use crate::forwarding::ForwardingTable;
use crate::paths::route_hash;
use crate::port::Hooks;
use crate::routing::Routes;
use crate::spec::Spec;
use crate::world::Fabric;
use engine::stream;
use frame::{NodeId, PRIORITIES, PortId};
use units::Time;

/// What switches need to choose for each frame.
#[derive(Debug)]
pub(crate) struct Spreading {
    pub table: ForwardingTable,
    /// By node.
    pub choosers: Vec<Chooser>,
    /// By path: both ends, and the hash of the flow; `None` if the flow has a route of its own.
    pub ends: Vec<Option<Ends>>,
}

/// Both ends of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub from: NodeId,
    pub to: NodeId,
    hash: u64,
}

impl Spreading {
    /// `None` if all switches hash.
    pub fn new(plan: &Plan) -> Option<Box<Spreading>> {
        let spec = plan.spec;
        let choice =
            |node: u32| spec.nodes[node as usize].switch().map_or(PathChoice::Hash, |own| own.path_choice);
        let nodes = 0..spec.nodes.len() as u32;
        if nodes.clone().all(|node| choice(node) == PathChoice::Hash) {
            return None;
        }
        let ends = ends(spec);
        let routes = Routes::new(plan.wiring, |node| spec.nodes[node.at()].host().is_some());
        // Replies go to the sources.
        let destinations = ends.iter().flatten().flat_map(|ends| [ends.from, ends.to]);
        let table = ForwardingTable::new(&routes, destinations);
        let chooser = |node: u32| {
            let random = stream(spec.seed, &format!("node/{}/path_choice", spec.nodes[node as usize].name));
            Chooser::new(choice(node), table.lists(NodeId(node)), random)
        };
        let choosers = nodes.map(chooser).collect();
        Some(Box::new(Spreading { table, choosers, ends }))
    }

    pub fn memory_bytes(&self) -> usize {
        self.table.memory_bytes()
            + self.choosers.iter().map(|own| size_of::<Chooser>() + own.memory_bytes()).sum::<usize>()
            + self.ends.capacity() * size_of::<Option<Ends>>()
    }
}

fn ends(spec: &Spec) -> Vec<Option<Ends>> {
    let of_flow = |flow: &crate::spec::FlowSpec| -> Vec<Option<Ends>> {
        let to = flow.source.destinations.nodes().into_iter();
        let free = flow.route.is_none();
        to.map(|to| free.then(|| Ends { from: flow.from, to, hash: route_hash(spec, flow, to) })).collect()
    };
    spec.flows.iter().flat_map(of_flow).collect()
}

impl Fabric {
    /// The port that a node chooses for a frame of a path; `None` if the frame has arrived.
    #[inline(never)]
    pub fn choose_egress(&mut self, node: u32, path: u32, destination: NodeId, now: Time) -> Option<u32> {
        if node == destination.0 {
            return None;
        }
        let Spreading { table, choosers, ends } = self.routes.spreading.as_deref_mut()?;
        let flow = ends[path as usize].map_or(0, |ends| ends.hash);
        let candidates = table.lookup(NodeId(node), destination);
        let (ports, queues, cold_ports) = (&self.links.ports, &self.buffers.queues, &self.links.cold);
        let backlog = |port: PortId| {
            let own = &ports[port.at()];
            let waiting: u64 = (0..PRIORITIES)
                .filter(|class| own.waiting >> class & 1 != 0)
                .map(|class| queues[own.first_queue as usize + class].occupancy.bytes)
                .sum();
            // What is still on its way to the link counts as well: an idle port is better than a busy one.
            waiting + cold_ports[port.at()].rate.bits_in_ceil(own.busy_until.saturating_sub(now)).div_ceil(8)
        };
        let picked =
            choosers[node as usize].pick(candidates, Chosen { node: NodeId(node), flow, now }, backlog)?;
        if !ports[picked.at()].hooks.has(Hooks::DEAD) {
            return Some(picked.0);
        }
        let alive = |port: &&PortId| !ports[port.at()].hooks.has(Hooks::DEAD);
        let after = candidates.ports.iter().skip_while(|&&port| port != picked).find(alive);
        Some(after.or_else(|| candidates.ports.iter().find(alive)).unwrap_or(&picked).0)
    }
}
