//! A fabric in parts, one a thread.
//!
//! Every part has the whole fabric in memory and runs the nodes it owns; what belongs to the others stays
//! untouched. At the beginning, and whenever somebody looks at the whole, all state is with the first part: [`exchange`]
//! swaps each node's state between the first part and its owner.

use crate::BuildError;
use crate::build::{Built, build};
use crate::event::Event;
use crate::routing::Wiring;
use crate::spec::Spec;
use crate::world::Fabric;
use engine::Shard;
use frame::NodeId;

/// Builds a fabric so many times, at the same time.
pub(crate) fn build_parts(spec: &Spec, parts: usize) -> Result<(Built, Vec<Fabric>), BuildError> {
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..parts).map(|_| scope.spawn(|| Ok(build(spec)?.fabric))).collect();
        let first = build(spec)?;
        let join = |other: std::thread::ScopedJoinHandle<'_, _>| {
            other.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
        };
        let others: Result<Vec<Fabric>, BuildError> = others.into_iter().map(join).collect();
        Ok((first, others?))
    })
}

/// Which part runs each node: contiguous ranges of nodes (topologies number neighbours close together), cut
/// so that each part has about the same number of frame-hops to expect.
pub(crate) fn split(wiring: &Wiring, path_flow: &[u32], fabric: &Fabric, parts: usize) -> Vec<u8> {
    let mut load: Vec<u64> = vec![1; wiring.nodes()];
    for path in 0..path_flow.len() {
        let start = fabric.routes.path_start[path] as usize;
        for &port in
            fabric.routes.hops[start..].iter().take_while(|&&port| port != crate::route_table::DELIVER)
        {
            load[wiring.node_of[port as usize].at()] += 1;
            load[wiring.neighbour(frame::PortId(port)).at()] += 1;
        }
    }
    let total: u64 = load.iter().sum();
    let mut before = 0;
    let part_of = |node_load: &u64| {
        let part = before * parts as u64 / total;
        before += node_load;
        part as u8
    };
    load.iter().map(part_of).collect()
}

/// Swaps the state of nodes between the first part and their owners, there or back.
pub(crate) fn exchange(shards: &mut [Shard<Fabric>], owner_of: &[u8], wiring: &Wiring, path_flow: &[u32]) {
    let Some((first, others)) = shards.split_first_mut() else { return };
    let here = &mut first.world;
    for (home, shard) in (1..).zip(others) {
        let there = &mut shard.world;
        let mine = |node: u32| owner_of[node as usize] == home;
        // The pool of waiting frames goes with the queues of its part: lists stay where they are, so what
        // is swapped of a queue are its counts only; its voqs remain with the owner.
        for node in (0..wiring.nodes() as u32).filter(|&node| mine(node)) {
            std::mem::swap(&mut here.nodes[node as usize], &mut there.nodes[node as usize]);
            if let (Some(here), Some(there)) = (&mut here.routes.spreading, &mut there.routes.spreading) {
                std::mem::swap(&mut here.choosers[node as usize], &mut there.choosers[node as usize]);
            }
            for port in wiring.ports(NodeId(node)).map(frame::PortId::at) {
                std::mem::swap(&mut here.links.ports[port], &mut there.links.ports[port]);
                std::mem::swap(&mut here.links.sent[port], &mut there.links.sent[port]);
                std::mem::swap(&mut here.links.cold[port], &mut there.links.cold[port]);
                swap_in(&mut here.probes.received, &mut there.probes.received, port);
                swap_in(&mut here.probes.sent, &mut there.probes.sent, port);
                let first_queue = here.links.ports[port].first_queue as usize;
                let classes = here.nodes[node as usize].classes.classes();
                for queue in first_queue..first_queue + classes {
                    std::mem::swap(&mut here.buffers.queues[queue], &mut there.buffers.queues[queue]);
                    swap_in(&mut here.probes.queues, &mut there.probes.queues, queue);
                }
                for counter in port * frame::PRIORITIES..(port + 1) * frame::PRIORITIES {
                    swap_in(&mut here.probes.meters, &mut there.probes.meters, counter);
                }
            }
        }
        for source in
            (0..here.hosts.sources.len()).filter(|source| mine(here.node_of[here.links.len() + source]))
        {
            std::mem::swap(&mut here.hosts.sources[source], &mut there.hosts.sources[source]);
        }
        let first = here.links.len() + here.hosts.sources.len();
        for endpoint in
            (0..here.hosts.endpoints.len()).filter(|endpoint| mine(here.node_of[first + endpoint]))
        {
            std::mem::swap(&mut here.hosts.endpoints[endpoint], &mut there.hosts.endpoints[endpoint]);
        }
        for path in 0..path_flow.len() {
            if mine(destination(here, wiring, path)) {
                std::mem::swap(&mut here.hosts.receivers[path], &mut there.hosts.receivers[path]);
                swap_in(&mut here.probes.delivered, &mut there.probes.delivered, path);
            }
        }
    }
}

fn swap_in<T>(here: &mut [T], there: &mut [T], at: usize) {
    if let (Some(here), Some(there)) = (here.get_mut(at), there.get_mut(at)) {
        std::mem::swap(here, there);
    }
}

/// The node that a path ends at.
fn destination(fabric: &Fabric, wiring: &Wiring, path: usize) -> u32 {
    let hops = &fabric.routes.hops[fabric.routes.path_start[path] as usize..];
    let last = hops.iter().take_while(|&&port| port != crate::route_table::DELIVER).last();
    last.map_or(0, |&port| wiring.neighbour(frame::PortId(port)).0)
}

/// Moves what is counted for the whole fabric to the first part.
pub(crate) fn gather_counts(shards: &mut [Shard<Fabric>]) {
    let Some((first, others)) = shards.split_first_mut() else { return };
    let here = &mut first.world;
    for shard in others {
        let there = &mut shard.world;
        here.ledger.absorb(&mut there.ledger);
        if let (Some(here), Some(there)) = (&mut here.probes.pauses, &mut there.probes.pauses) {
            here.append(there);
        }
    }
}

const _: () = {
    // Parts move between threads.
    const fn can_be_sent<T: Send>() {}
    can_be_sent::<Shard<Fabric>>();
    can_be_sent::<Event>();
};
