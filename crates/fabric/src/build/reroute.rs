//! Routes that avoid failed links and nodes. They are computed before the run, and each source applies its own changes
//! at their times.
//!
//! The delay after a failure is the time of convergence. Flows whose path contains the failed link then take a shortest
//! path without failed links; the same delay after the repair, they return to their old path. A flow without another
//! path keeps its path and loses its frames at the failed link. Frames in flight when the routes change keep their path
//! too.
//!
//! Not modelled: the routing protocol and its messages, and differences between switches during convergence. Flows with
//! an explicit route keep it. Flows whose paths are not listed are not rerouted either: each switch excludes its own
//! failed links.

use crate::build::fault_plan::FaultPlan;
use crate::build::paths::Paths;
use crate::run::state::faults::Action;
use crate::run::state::route_table::{DELIVER, path_from};
use crate::spec::digits::Digits;
use crate::spec::routing::{Routes, Wiring};
use crate::spec::{Role, Spec, Way};
use frame::PortId;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Time;

/// Returns all route changes: time, place of the source, and new path. Appends new routes to the table of hops.
pub(crate) fn changes(
    spec: &Spec,
    wiring: &Wiring,
    plan: &FaultPlan,
    paths: &mut Paths,
) -> Vec<(Time, u32, Action)> {
    let mut changes = Vec::new();
    let steps = outages(spec, wiring, plan);
    if steps.is_empty() {
        return changes;
    }
    let mut paths_in_use = PathsInUse::new(spec, wiring, paths);
    for (at, reasons) in steps {
        for (path, start) in paths_in_use.without(&reasons, paths) {
            let place = wiring.peer.len() as u32 + paths.flows[path as usize];
            changes.push((at, place, Action::Path { path, start }));
        }
    }
    changes
}

/// Returns the times at which routing detects a change of failed links, with the number of failures that affect each
/// link.
pub(crate) fn outages(spec: &Spec, wiring: &Wiring, plan: &FaultPlan) -> Vec<(Time, Vec<u32>)> {
    let mut steps: BTreeMap<Time, Vec<(u32, bool)>> = BTreeMap::new();
    let mut view = |link: u32, (from, until): (Time, Time), after: Option<Time>| {
        let Some(after) = after else { return };
        steps.entry(from.saturating_add(after)).or_default().push((link, true));
        steps.entry(until.saturating_add(after)).or_default().push((link, false));
    };
    for (link, outage) in plan.outages() {
        view(link, outage.span, outage.reaction.reroute);
    }
    for (node, restart) in plan.restarts() {
        for port in wiring.ports(node) {
            view(wiring.link_of[port.at()], restart.span, restart.reroute);
        }
    }
    let mut reasons = vec![0u32; spec.links.len()];
    let steps = steps.into_iter().take_while(|&(at, _)| at < spec.duration);
    let known = steps.map(|(at, step)| {
        for (link, down) in step {
            let count = &mut reasons[link as usize];
            *count = if down { *count + 1 } else { count.saturating_sub(1) };
        }
        (at, reasons.clone())
    });
    known.collect()
}

/// The routes of all paths known so far.
struct PathsInUse<'a> {
    spec: &'a Spec,
    wiring: &'a Wiring,
    /// By path: the starts in the table of hops of the first route and of those added later.
    known: Vec<Vec<u32>>,
    used: Vec<u32>,
    /// The first path of each flow.
    first: Vec<u32>,
}

impl<'a> PathsInUse<'a> {
    fn new(spec: &'a Spec, wiring: &'a Wiring, paths: &Paths) -> PathsInUse<'a> {
        let known = paths.starts.iter().map(|&start| vec![start]).collect();
        let mut next = 0;
        let first = spec.flows.iter().map(|flow| {
            let first = next;
            next += flow.paths() as u32;
            first
        });
        PathsInUse { spec, wiring, known, used: paths.starts.clone(), first: first.collect() }
    }

    /// Returns the paths that change when these links are down, with their new starts in the table of hops.
    fn without(&mut self, down: &[u32], paths: &mut Paths) -> Vec<(u32, u32)> {
        let is_down = |link: u32| down[link as usize] != 0;
        let is_host = |node: frame::NodeId| matches!(self.spec.nodes[node.at()].role, Role::Host(_));
        let routes = Routes::without(self.wiring, is_host, is_down)
            .with_digits(Digits::of(self.spec, self.wiring).map(Arc::new))
            .with_hashing(self.spec.hashing());
        let mut distances = BTreeMap::new();
        let mut changed = Vec::new();
        for path in 0..paths.flows.len() {
            let flow = &self.spec.flows[paths.flows[path] as usize];
            let Some(to) = paths.destinations[path].filter(|_| !matches!(flow.way, Way::Along(_))) else {
                continue;
            };
            let first = self.known[path][0];
            let lives = path_from(&paths.hops, first)
                .iter()
                .all(|&port| !is_down(self.wiring.link_of[port as usize]));
            let start = if lives {
                first
            } else {
                let distances = distances.entry(to).or_insert_with(|| routes.distances(to));
                let nth = path as u32 - self.first[paths.flows[path] as usize];
                let tuple = self.spec.tuple(flow, Some(nth));
                let Some(ports) = routes.path(distances, flow.from, tuple) else { continue };
                self.start_of(path, &ports, &mut paths.hops)
            };
            if start != self.used[path] {
                self.used[path] = start;
                changed.push((path as u32, start));
            }
        }
        changed
    }

    /// Returns the start of this route of a path in the table of hops; appends the route if it is new.
    fn start_of(&mut self, path: usize, ports: &[PortId], hops: &mut Vec<u32>) -> u32 {
        let same =
            |&&start: &&u32| path_from(hops, start).iter().copied().eq(ports.iter().map(|port| port.0));
        if let Some(&start) = self.known[path].iter().find(same) {
            return start;
        }
        let start = hops.len() as u32;
        hops.extend(ports.iter().map(|port| port.0));
        hops.push(DELIVER);
        self.known[path].push(start);
        start
    }
}
