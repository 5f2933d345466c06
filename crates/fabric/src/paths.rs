//! The way of each flow to each of its destinations: found once, kept as egress ports.

use crate::BuildError;
use crate::build::Plan;
use crate::routing::{Distances, Routes};
use crate::spec::{FlowSpec, Role, Spec};
use crate::world::{DELIVER, Fabric, Receiver};
use engine::stream;
use frame::{NodeId, PortId};
use rand_xoshiro::rand_core::Rng;

/// Finds all paths; the flow of each.
pub(crate) fn add_paths(plan: &Plan, fabric: &mut Fabric) -> Result<Vec<u32>, BuildError> {
    let spec = plan.spec;
    let routes = Routes::new(plan.wiring, |node| matches!(spec.nodes[node.at()].role, Role::Host(_)));
    // Paths are searched destination by destination, so that distances are computed once for each.
    let mut wanted: Vec<(NodeId, u32, u32)> = Vec::new();
    let mut path_flow = Vec::new();
    for (flow_id, flow) in (0..).zip(&spec.flows) {
        for destination in flow.source.destinations.nodes() {
            wanted.push((destination, flow_id, path_flow.len() as u32));
            path_flow.push(flow_id);
        }
    }
    wanted.sort_unstable();
    fabric.path_start = vec![0; wanted.len()];
    fabric.path_source = path_flow.clone();
    let (mut distances, mut path) = (Distances::default(), Vec::<PortId>::new());
    for (destination, flow_id, path_id) in wanted {
        let flow = &spec.flows[flow_id as usize];
        let hash = route_hash(spec, flow, destination);
        path.clear();
        let found = match &flow.route {
            Some(nodes) => {
                path = routes
                    .along(flow.from, nodes, hash)
                    .map_err(|error| BuildError(format!("flow \"{}\": {error}", flow.name)))?;
                true
            }
            None => {
                if distances.destination() != destination {
                    routes.distances_into(destination, &mut distances);
                }
                routes.path_onto(&distances, flow.from, hash, &mut path)
            }
        };
        if !found {
            let (from, to) = (&spec.nodes[flow.from.at()].name, &spec.nodes[destination.at()].name);
            return Err(BuildError(format!("flow \"{}\": no way from {from} to {to}", flow.name)));
        }
        fabric.path_start[path_id as usize] = fabric.hops.len() as u32;
        fabric.hops.extend(path.iter().map(|port| port.0));
        fabric.hops.push(DELIVER);
    }
    fabric.receivers = vec![Receiver::default(); path_flow.len()];
    Ok(path_flow)
}

/// What picks one of several shortest paths for a flow and destination.
pub(crate) fn route_hash(spec: &Spec, flow: &FlowSpec, destination: NodeId) -> u64 {
    let to = &spec.nodes[destination.at()].name;
    stream(spec.seed, &format!("route/{}/{to}", flow.name)).next_u64()
}
