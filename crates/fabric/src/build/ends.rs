//! The links at both ends of the paths of a flow, found before a run.

use crate::build::Plan;
use crate::build::fault_plan::FaultPlan;
use crate::build::paths::find_paths;
use crate::build::reroute;
use crate::run::state::faults::Action;
use crate::run::state::route_table::path_from;
use crate::spec::{FlowSpec, Spec};
use frame::NodeId;
use std::collections::BTreeSet;

/// Returns, for each selected flow, its number and the links of each of its hosts that its paths use, including the
/// paths used during faults. Empty for a description that cannot be run.
pub fn links_at_ends(spec: &Spec, of: impl Fn(&FlowSpec) -> bool) -> Vec<(usize, NodeId, u32)> {
    let (spec, wiring) = (&*spec.with_ways(), spec.wiring());
    let (Ok(mut paths), Ok(faults)) = (find_paths(&Plan::new(spec, &wiring)), FaultPlan::new(spec)) else {
        return vec![];
    };
    let changes = reroute::changes(spec, &wiring, &faults, &mut paths);
    let later = changes.iter().filter_map(|(_, _, action)| match *action {
        Action::Path { path, start } => Some((paths.flows[path as usize], start)),
        _ => None,
    });
    let starts = paths.flows.iter().copied().zip(paths.starts.iter().copied()).chain(later);
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for (flow, start) in starts.filter(|&(flow, _)| of(&spec.flows[flow as usize])) {
        let path = path_from(&paths.hops, start);
        let ends = [path.first().copied(), path.last().map(|&port| wiring.peer[port as usize].0)];
        for port in ends.into_iter().flatten() {
            let end = (flow as usize, wiring.node_of[port as usize], wiring.link_of[port as usize]);
            if seen.insert(end) {
                found.push(end);
            }
        }
    }
    found
}
