//! The path of each flow to each of its destinations: computed once, and stored as a list of egress ports.

use crate::BuildError;
use crate::build::Plan;
use crate::run::state::route_table::DELIVER;
use crate::spec::digits::Digits;
use crate::spec::forwarding::EdgeGroups;
use crate::spec::routing::{Distances, Routes};
use crate::spec::{FlowSpec, Role, Spec, Subject, Way};
use frame::{NodeId, PortId};
use keys::Remark;
use std::collections::BTreeSet;
use std::sync::Arc;

/// All paths of a fabric.
pub(crate) struct Paths {
    /// The columns of [`RouteTable`](crate::run::state::route_table::RouteTable).
    pub hops: Vec<u32>,
    pub starts: Vec<u32>,
    /// Flow (and source) of each path. `destinations` holds the node where the path ends; `None`: any destination of
    /// the flow.
    pub flows: Vec<u32>,
    pub destinations: Vec<Option<NodeId>>,
}

/// Finds all paths.
pub(crate) fn find_paths(plan: &Plan) -> Result<Paths, BuildError> {
    let mut wanted: Vec<Wanted> = Vec::new();
    let (mut flows, mut destinations) = (Vec::new(), Vec::new());
    for (flow, from) in (0..).zip(&plan.spec.flows) {
        for (nth, destination) in (0..).zip(from.path_ends()) {
            wanted.push(Wanted { destination, flow, path: flows.len() as u32, nth });
            flows.push(flow);
            destinations.push(destination);
        }
    }
    // This is the order of the table of hops. It affects every fingerprint, because frames carry their position in the
    // table.
    wanted.sort_unstable();
    let found = find(plan, &wanted)?;
    let mut starts = vec![0; wanted.len()];
    let mut hops = Vec::with_capacity(found.ports.len() + wanted.len());
    for (index, wanted) in wanted.iter().enumerate() {
        starts[wanted.path as usize] = hops.len() as u32;
        hops.extend(found.path(index).iter().map(|port| port.0));
        hops.push(DELIVER);
    }
    Ok(Paths { hops, starts, flows, destinations })
}

/// Longest frame that passes each node on a planned path, in either direction, with the first flow that sends a frame
/// of this length. Tags of rate limiters are not included.
pub(crate) fn longest_frames(spec: &Spec) -> Result<Vec<Option<(u16, u32)>>, BuildError> {
    let wiring = spec.wiring();
    let paths = find_paths(&Plan::new(spec, &wiring))?;
    let mut longest = vec![None; spec.nodes.len()];
    for (&start, &flow) in paths.starts.iter().zip(&paths.flows) {
        let bytes = spec.flows[flow as usize].frame_bounds().1;
        let hops = paths.hops[start as usize..].iter().take_while(|&&hop| hop != DELIVER);
        let passed = hops.map(|&hop| wiring.neighbour(PortId(hop)));
        for node in passed.chain([spec.flows[flow as usize].from]) {
            let known: &mut Option<(u16, u32)> = &mut longest[node.at()];
            if known.is_none_or(|(most, _)| most < bytes) {
                *known = Some((bytes, flow));
            }
        }
    }
    Ok(longest)
}

/// The nodes after the senders of these flows on their planned paths; `None` if there are no such paths.
pub(crate) fn nodes_passed(spec: &Spec, of: impl Fn(&FlowSpec) -> bool) -> Option<BTreeSet<NodeId>> {
    let wiring = spec.wiring();
    let paths = find_paths(&Plan::new(spec, &wiring)).ok()?;
    let starts = paths.starts.iter().zip(&paths.flows);
    let hops = starts
        .filter(|&(_, &flow)| of(&spec.flows[flow as usize]))
        .flat_map(|(&start, _)| paths.hops[start as usize..].iter().take_while(|&&hop| hop != DELIVER));
    Some(hops.map(|&hop| wiring.neighbour(PortId(hop))).collect())
}

/// Returns the port of a sender whose paths are not listed.
fn only_link(plan: &Plan, flow: &FlowSpec) -> Option<PortId> {
    let mut ports = plan.wiring.ports(flow.from);
    let is_host = plan.spec.nodes[flow.from.at()].host().is_some();
    let pushes = flow.transport.is_none() && flow.source.transfers().is_none();
    ports.next().filter(|_| ports.next().is_none() && is_host && pushes)
}

/// A requested path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    destination: Option<NodeId>,
    flow: u32,
    path: u32,
    /// Index of the path within its flow.
    nth: u32,
}

/// Paths, one after the other, in the order in which they were found.
struct Found {
    ports: Vec<PortId>,
    /// Start and end of the ports of each requested path.
    spans: Vec<(usize, usize)>,
}

impl Found {
    fn path(&self, wanted: usize) -> &[PortId] {
        let (begin, end) = self.spans[wanted];
        &self.ports[begin..end]
    }
}

/// Searches edge group by edge group, to compute distances once for all hosts of a switch.
fn find(plan: &Plan, wanted: &[Wanted]) -> Result<Found, BuildError> {
    let spec = plan.spec;
    let routes = Routes::new(plan.wiring, |node| matches!(spec.nodes[node.at()].role, Role::Host(_)))
        .with_digits(Digits::of(spec, plan.wiring).map(Arc::new))
        .with_hashing(spec.hashing());
    let groups = EdgeGroups::new(&routes, wanted.iter().filter_map(|wanted| wanted.destination));
    let group_of = |destination: Option<NodeId>| groups.of(destination?);
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|&index| group_of(wanted[index].destination));
    let mut found = Found { ports: Vec::new(), spans: vec![(0, 0); wanted.len()] };
    let (mut distances, mut group_at_hand) = (Distances::default(), None);
    for index in order {
        let Wanted { destination, flow, nth, .. } = wanted[index];
        let (about, flow) = (Subject::Flow(flow as usize), &spec.flows[flow as usize]);
        let begin = found.ports.len();
        let Some(destination) = destination else {
            found.ports.push(only_link(plan, flow).ok_or_else(|| {
                let why = "paths that are not listed";
                let help =
                    "expected hosts with one link, which push frames, or fewer senders or destinations";
                BuildError::new(about, Remark::about("from", why, help))
            })?);
            found.spans[index] = (begin, found.ports.len());
            continue;
        };
        let tuple = spec.tuple(flow, Some(nth));
        let is_found = match &flow.way {
            Way::Along(nodes) => {
                let path = routes.along(flow.from, nodes, tuple).map_err(|error| {
                    let help = "expected nodes that are linked, from the first switch to the destination";
                    BuildError::new(about, Remark::about("route", error.to_string(), help))
                })?;
                found.ports.extend(path);
                true
            }
            Way::Shortest | Way::ByDestination => {
                let group = groups.of(destination);
                if let Some(group) = group.filter(|_| group != group_at_hand) {
                    routes.distances_beyond(groups.neighbours(group), &mut distances);
                }
                group_at_hand = group;
                distances.redirect(destination);
                routes.path_onto(&distances, flow.from, &tuple, &mut found.ports)
            }
        };
        if !is_found {
            let (from, to) = (&spec.nodes[flow.from.at()].name, &spec.nodes[destination.at()].name);
            let message = format!("\"{to}\" cannot be reached from \"{from}\"");
            let help = "expected a way through switches: hosts do not forward";
            return Err(BuildError::new(about, Remark::about("to", message, help)));
        }
        found.spans[index] = (begin, found.ports.len());
    }
    Ok(found)
}
