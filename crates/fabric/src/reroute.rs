//! Routes that avoid what is dead: found before the run, taken by each source on its own at their time.
//!
//! Some time after a link goes down (until routing has converged) flows whose path leads over it take a
//! shortest path without dead links, and as long after it is back their old one. A flow that has no other
//! way stays where it is and loses its frames at the dead link. So do frames that are on their way when the
//! routes change.
//!
//! Not modelled: the protocol and the messages by which routing learns, routes that differ between switches
//! meanwhile; flows with a route of their own keep it.

use crate::endpoints::RAW;
use crate::event::Queued;
use crate::fault_plan::FaultPlan;
use crate::faults::Action;
use crate::paths::route_hash;
use crate::route_table::DELIVER;
use crate::routing::{Routes, Wiring};
use crate::spec::{Role, Spec};
use crate::world::Fabric;
use frame::PortId;
use std::collections::BTreeMap;
use units::Time;

/// All changes of routes: when, at which source's place, which path. Appends new ways to the table of hops.
pub(crate) fn changes(
    spec: &Spec,
    wiring: &Wiring,
    plan: &FaultPlan,
    fabric: &mut Fabric,
    path_flow: &[u32],
) -> Vec<(Time, u32, Action)> {
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
    let mut changes = Vec::new();
    if steps.is_empty() {
        return changes;
    }
    let mut ways = Ways::new(spec, wiring, fabric, path_flow);
    let mut dead = vec![0u32; spec.links.len()];
    for (at, step) in steps.into_iter().take_while(|&(at, _)| at < spec.duration) {
        for (link, down) in step {
            let count = &mut dead[link as usize];
            *count = if down { *count + 1 } else { count.saturating_sub(1) };
        }
        for (path, start) in ways.without(&dead, fabric) {
            let place = fabric.links.len() as u32 + path_flow[path as usize];
            changes.push((at, place, Action::Path { path, start }));
        }
    }
    changes
}

/// The ways of all paths known so far.
struct Ways<'a> {
    spec: &'a Spec,
    wiring: &'a Wiring,
    path_flow: &'a [u32],
    /// By path: the first way and those found later, as starts in the table of hops; and the one in use.
    known: Vec<Vec<u32>>,
    used: Vec<u32>,
    destinations: Vec<frame::NodeId>,
}

impl<'a> Ways<'a> {
    fn new(spec: &'a Spec, wiring: &'a Wiring, fabric: &Fabric, path_flow: &'a [u32]) -> Ways<'a> {
        let known = fabric.routes.path_start.iter().map(|&start| vec![start]).collect();
        let destinations = spec.flows.iter().flat_map(|flow| flow.source.destinations.nodes()).collect();
        Ways { spec, wiring, path_flow, known, used: fabric.routes.path_start.clone(), destinations }
    }

    /// Paths that change when these links are dead, and where they begin then.
    fn without(&mut self, dead: &[u32], fabric: &mut Fabric) -> Vec<(u32, u32)> {
        let is_dead = |link: u32| dead[link as usize] != 0;
        let is_host = |node: frame::NodeId| matches!(self.spec.nodes[node.at()].role, Role::Host(_));
        let routes = Routes::without(self.wiring, is_host, is_dead);
        let mut distances = BTreeMap::new();
        let mut changed = Vec::new();
        for path in 0..self.path_flow.len() {
            let flow = &self.spec.flows[self.path_flow[path] as usize];
            if flow.route.is_some() {
                continue;
            }
            let first = self.known[path][0];
            let lives = way(&fabric.routes.hops, first)
                .iter()
                .all(|&port| !is_dead(self.wiring.link_of[port as usize]));
            let start = if lives {
                first
            } else {
                let to = self.destinations[path];
                let distances = distances.entry(to).or_insert_with(|| routes.distances(to));
                let Some(ports) = routes.path(distances, flow.from, route_hash(self.spec, flow, to)) else {
                    continue;
                };
                self.start_of(path, &ports, &mut fabric.routes.hops)
            };
            if start != self.used[path] {
                self.used[path] = start;
                changed.push((path as u32, start));
            }
        }
        changed
    }

    /// Where this way of a path begins; appends it if it is new.
    fn start_of(&mut self, path: usize, ports: &[PortId], hops: &mut Vec<u32>) -> u32 {
        let same = |&&start: &&u32| way(hops, start).iter().copied().eq(ports.iter().map(|port| port.0));
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

/// The ports of the way that begins at `start`.
fn way(hops: &[u32], start: u32) -> &[u32] {
    let rest = &hops[start as usize..];
    &rest[..rest.iter().position(|&port| port == DELIVER).unwrap_or(rest.len())]
}

impl Fabric {
    /// From now on the frames of a path go another way.
    pub fn change_path(&mut self, path: u32, start: u32, now: Time, windows: &mut Queued) {
        let old = self.routes.first_port(path);
        let new = self.routes.hops[start as usize];
        self.routes.path_start[path as usize] = start;
        let source = self.routes.path_source[path as usize];
        if old == new {
            return;
        }
        if let Some(&near) = self.hosts.endpoint_of_path.get(path as usize).filter(|&&near| near != RAW) {
            self.change_line(old, near, now, windows);
            return;
        }
        // Another port of the host: what the source waits for may be there now.
        let waited = self.stop_waiting(old, source);
        let state = &mut self.hosts.sources[source as usize];
        if state.source.is_greedy() && path == state.first_path {
            state.in_nic = 0;
            for _ in 0..self.hosts.sources[source as usize].keeps {
                self.refill(source, now, windows);
            }
        } else if waited {
            self.source_due(source, now, windows);
        }
    }
}
