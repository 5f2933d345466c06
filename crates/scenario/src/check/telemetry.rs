//! Checks controls that use telemetry. The number of queue pairs at a link must leave free the share that the control
//! keeps in reserve, and packets must have room for the stamps of all switches on their path.

use super::Context;
use super::unused::place_of;
use crate::model::Model;
use fabric::spec::{FlowSpec, Spec};
use frame::NodeId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use transport::QueuePairControlSpec;
use units::{BitRate, Time};

/// Warns once per entry of the scenario.
pub fn check(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let (mut crowded, mut far) = (BTreeSet::new(), BTreeSet::new());
    if spec.flows.iter().all(|flow| control(flow).is_none()) {
        return;
    }
    let crowds = crowds(spec, |flow| control(flow).is_some());
    let mut distances = Distances::new(spec);
    for flow in &spec.flows {
        let Some(control) = control(flow) else { continue };
        let Some((name, tables)) = place_of(model, flow) else { continue };
        let own = [control.name()];
        let keys = |key: &'static str| {
            let within = tables.iter().map(move |table| table.key(own[0]).key(key));
            within.chain(tables.iter().cloned()).collect::<Vec<_>>()
        };
        let destinations = flow.source.destinations.nodes();
        let to = || destinations.iter().copied();
        let most = to().filter_map(|node| Some((crowds.get(&node)?, node))).max();
        if let Some((&many, node)) = most
            && let Some(rate) = rate_of(spec, node)
            && let Some((rests, most)) = control.rest(many, rate)
            && rests > 1.0
            && crowded.insert(name)
        {
            let (pairs, are) = if many == 1 { ("pair", "is") } else { ("pairs", "are") };
            let message = format!(
                "{many} queue {pairs} with telemetry, \"{name}\" among them, {are} in equilibrium with a queue of {:.2} base round trips at \"{}\"",
                rests - 1.0,
                spec.nodes[node.at()].name
            );
            let help = format!(
                "their increases exceed the headroom of eta: expected an ai_rate of at most \"{most}\", or a lower eta"
            );
            context.warn(&context.first_written(&keys("ai_rate")).unwrap_or_default(), message, help);
        }
        if let Some(room) = control.stamps()
            && let Some((switches, node)) = to().map(|node| (distances.switches(flow.from, node), node)).max()
            && switches > usize::from(room)
            && far.insert(name)
        {
            let message = format!(
                "{switches} switches are on the path of \"{name}\" to \"{}\", and its packets have room for the telemetry of {room}",
                spec.nodes[node.at()].name
            );
            let help = match switches {
                1..=8 => {
                    format!("the last ones do not write any: expected int_bytes = \"{} B\"", 2 + 8 * switches)
                }
                _ => "the last ones do not write any: expected hpcc_pint, which needs one byte on any path"
                    .to_string(),
            };
            context.warn(&context.first_written(&keys("int_bytes")).unwrap_or_default(), message, help);
        }
    }
}

/// Returns the control of a flow, if it uses telemetry.
fn control(flow: &FlowSpec) -> Option<&QueuePairControlSpec> {
    let pairs = flow.transport.as_ref().and_then(|connection| connection.queue_pairs())?;
    Some(&pairs.control).filter(|control| control.uses_telemetry())
}

/// Returns for each host the maximum number of simultaneous senders of these flows: those that always send, and
/// transfers that start together.
fn crowds(spec: &Spec, is_one: impl Fn(&FlowSpec) -> bool) -> BTreeMap<NodeId, u64> {
    let mut begins: BTreeMap<NodeId, BTreeMap<Option<Time>, u64>> = BTreeMap::new();
    for flow in spec.flows.iter().filter(|flow| is_one(flow)) {
        let destinations = flow.source.destinations.nodes();
        match flow.source.transfers() {
            None => {
                for &to in destinations.iter() {
                    *begins.entry(to).or_default().entry(None).or_default() += 1;
                }
            }
            Some(list) => {
                // A queue pair sends its messages one after the other.
                let mut warned = BTreeSet::new();
                // The start times of transfers that wait for others are not known in advance.
                for one in list.iter().filter(|one| one.start < Time::NEVER) {
                    let to = destinations[one.destination as usize];
                    if warned.insert((to, one.start)) {
                        *begins.entry(to).or_default().entry(Some(one.start)).or_default() += 1;
                    }
                }
            }
        }
    }
    let many = |by_time: BTreeMap<Option<Time>, u64>| {
        let always = by_time.get(&None).copied().unwrap_or_default();
        always
            + by_time.iter().filter(|(at, _)| at.is_some()).map(|(_, &many)| many).max().unwrap_or_default()
    };
    begins.into_iter().map(|(node, by_time)| (node, many(by_time))).collect()
}

/// Returns the total rate of a node's links.
pub fn rate_of(spec: &Spec, node: NodeId) -> Option<BitRate> {
    let own = spec.links.iter().filter(|link| link.a == node || link.b == node);
    let bps = own.map(|link| link.rate_from(node).bps()).sum();
    (bps > 0).then(|| BitRate::from_bps(bps))
}

/// Minimum number of switches between two nodes.
pub(super) struct Distances<'s> {
    spec: &'s Spec,
    neighbours: Vec<Vec<NodeId>>,
    /// Distances from each of the switches looked up so far to all nodes.
    known: BTreeMap<NodeId, Vec<usize>>,
}

impl Distances<'_> {
    pub fn new(spec: &Spec) -> Distances<'_> {
        let mut neighbours = vec![Vec::new(); spec.nodes.len()];
        for link in &spec.links {
            neighbours[link.a.at()].push(link.b);
            neighbours[link.b.at()].push(link.a);
        }
        Distances { spec, neighbours, known: BTreeMap::new() }
    }

    pub fn switches(&mut self, from: NodeId, to: NodeId) -> usize {
        let first = self.neighbours[from.at()].clone();
        let through = first.into_iter().filter(|&first| first != to);
        through.map(|first| self.from(first)[to.at()]).min().unwrap_or_default()
    }

    fn from(&mut self, first: NodeId) -> &[usize] {
        let (neighbours, spec) = (&self.neighbours, self.spec);
        self.known.entry(first).or_insert_with(|| {
            let mut far = vec![0; neighbours.len()];
            let mut line = VecDeque::from([first]);
            let mut seen = vec![false; neighbours.len()];
            seen[first.at()] = true;
            while let Some(at) = line.pop_front() {
                if spec.nodes[at.at()].switch().is_none() {
                    continue;
                }
                for &next in &neighbours[at.at()] {
                    if !std::mem::replace(&mut seen[next.at()], true) {
                        far[next.at()] = far[at.at()] + 1;
                        line.push_back(next);
                    }
                }
            }
            far
        })
    }
}
