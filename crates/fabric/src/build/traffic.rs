//! What sends, and the first events of it.

use super::Plan;
use crate::endpoints::{EndpointState, RAW};
use crate::event::{Event, Kind, Queued};
use crate::port::Hooks;
use crate::route_table::DELIVER;
use crate::sources::SourceState;
use crate::spec::WhenFull;
use crate::world::Fabric;
use engine::stream;
use units::Time;
use workload::Source;

pub fn add_sources(plan: &Plan, fabric: &mut Fabric) {
    let spec = plan.spec;
    let mut first_path = 0;
    for flow in &spec.flows {
        let egress = fabric.routes.first_port(first_path);
        let link = plan.link(egress);
        let rng = stream(spec.seed, &format!("flow/{}", flow.name));
        let clock = plan.clock(flow.from);
        let mut source = Source::new(&flow.source, link.rate, link.overhead, clock, rng);
        if flow.source.jitter > Time::ZERO {
            let rng = stream(spec.seed, &format!("flow/{}/jitter", flow.name));
            source = source.with_jitter(flow.source.jitter, rng);
        }
        let host = spec.nodes[flow.from.at()].host();
        let limit = host.and_then(|host| host.queue_limit.filter(|_| host.when_full == WhenFull::Block));
        if host.is_some() && (source.is_greedy() || limit.is_some()) {
            for port in plan.wiring.ports(flow.from) {
                fabric.links.ports[port.at()].hooks.set(Hooks::FEEDS, true);
            }
        }
        fabric.node_of.push(flow.from.0);
        fabric.hosts.sources.push(SourceState {
            source,
            first_path,
            priority: flow.priority,
            limit,
            several_ports: host.is_some() && plan.wiring.ports(flow.from).len() > 1,
            // A scheduler that is told of every frame must not see a queue run empty between two.
            keeps: if fabric.links.ports[egress as usize].hooks.has(Hooks::SCHEDULER) { 2 } else { 1 },
            silent: flow.transport.is_some(),
            in_nic: 0,
            frames: 0,
            bytes: 0,
        });
        first_path += flow.source.destinations.nodes().len() as u32;
    }
}

/// Both ends of every connection.
pub fn add_endpoints(plan: &Plan, fabric: &mut Fabric) {
    let spec = plan.spec;
    if spec.flows.iter().all(|flow| flow.transport.is_none()) {
        return;
    }
    fabric.hosts.endpoint_of_path = vec![RAW; fabric.routes.path_start.len()];
    let mut path = 0;
    for flow in &spec.flows {
        let destinations = flow.source.destinations.nodes();
        if let (Some(connection), [to, ..]) = (&flow.transport, &destinations[..]) {
            let random = |end: &str| stream(spec.seed, &format!("flow/{}/{end}", flow.name));
            let (near, far) = connection.start(random("near"), random("far"));
            let start = fabric.routes.path_start[path] as usize;
            let hops = fabric.routes.hops[start..].iter().take_while(|&&port| port != DELIVER).count();
            let behind = (start + hops) as u32;
            fabric.hosts.endpoint_of_path[path] = fabric.hosts.endpoints.len() as u32;
            for (endpoint, node, behind) in [(near, flow.from, None), (far, *to, Some(behind))] {
                let state = EndpointState::new(endpoint, path as u32, behind, flow.priority);
                fabric.hosts.endpoints.push(state);
                fabric.node_of.push(node.0);
                for port in plan.wiring.ports(node) {
                    fabric.links.ports[port.at()].hooks.set(Hooks::FEEDS, true);
                }
            }
        }
        path += destinations.len();
    }
}

/// The first events of the nodes that are `mine`: each source and endpoint at its first time, and all faults.
pub(crate) fn start(fabric: &mut Fabric, windows: &mut Queued, mine: impl Fn(u32) -> bool) {
    fabric.start_endpoints(windows, &mine);
    for (place, state) in (fabric.links.len()..).zip(&fabric.hosts.sources).filter(|(_, state)| !state.silent)
    {
        if let Some(at) = state.source.next_wake().filter(|_| mine(fabric.node_of[place])) {
            windows.push(Event::bare(Kind::Source, at, place as u32));
        }
    }
    for event in fabric.faults.events.iter().filter(|event| mine(fabric.node_of[event.place() as usize])) {
        windows.push(*event);
    }
}
