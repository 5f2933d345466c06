//! Paths of transfers between two hosts. Each transfer has a five-tuple, so its hash at each switch is known before the
//! run.
//!
//! A source of transfers has a path, and therefore its own counters, for each set of transfers to a host that no switch
//! can distinguish. As for other flows, frames carry the number of their path: nothing is hashed while they travel.
//!
//! - If all switches hash, or route by digits of the destination, there is a set for each path through the fabric.
//!   Paths while links are down count too: transfers that a failure would separate are in two sets.
//! - If some switches choose for each frame, and at least one of them hashes or has flowlets, there is a set for each
//!   tuple.
//! - If no switch reads tuples, or UET has several contexts to a host, there is one set.
//!
//! Over TCP, each set has its own connections. A transfer that takes a free connection uses the tuple of that
//! connection, and its path.
//!
//! Not modelled: more sets than [`MOST_WAYS`] in a fabric, or [`MOST_TUPLES`] where each tuple is a set. Additional
//! transfers use the path of an earlier transfer between the same hosts.

use crate::build::fault_plan::FaultPlan;
use crate::build::reroute::outages;
use crate::run::state::spreading::chooses_by_frame;
use crate::spec::digits::Digits;
use crate::spec::forwarding::ForwardingTable;
use crate::spec::routing::{Routes, Wiring, scale};
use crate::spec::tuple::Tuple;
use crate::spec::{FlowSpec, Spec, Way};
use engine::stream;
use frame::{NodeId, PortId};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use workload::{Arrivals, Destinations, TransferList};

/// Maximum number of sets of transfers; each takes 0.2 kB.
const MOST_WAYS: usize = 1 << 20;
/// Maximum number of sets where each tuple is a set: the number of entries in the flowlet table of a switch (CONGA,
/// SIGCOMM 2014, section 3.4).
const MOST_TUPLES: usize = 1 << 16;

impl Spec {
    /// Draws the ports of transfers that have none, and gives each source of transfers a destination for each path that
    /// its transfers take. Idempotent.
    pub fn distinguish_paths(&mut self) {
        let is_new = |flow: &FlowSpec| flow.source.transfers().is_some() && flow.tuples.is_empty();
        let new: Vec<usize> = (0..self.flows.len()).filter(|&nth| is_new(&self.flows[nth])).collect();
        if new.is_empty() {
            return;
        }
        for &nth in &new {
            let mut random = stream(self.seed, &format!("transfers/{}/ports", self.flows[nth].name));
            if let Arrivals::Transfers(list) = &mut self.flows[nth].source.arrivals {
                Arc::make_mut(list).draw_ports(&mut random);
            }
        }
        let wiring = self.wiring();
        let parted: Vec<Parted> = {
            let mut ways = Ways::new(self, &wiring, &new);
            new.iter().filter_map(|&nth| ways.part(&self.flows[nth])).collect()
        };
        for (nth, Parted { destinations, tuples, numbers }) in new.into_iter().zip(parted) {
            let flow = &mut self.flows[nth];
            if let Arrivals::Transfers(list) = &mut flow.source.arrivals {
                let mut number = numbers.into_iter();
                Arc::make_mut(list).renumber_each(|transfer| number.next().unwrap_or(transfer.destination));
            }
            if destinations.len() > flow.source.destinations.count() {
                flow.source.destinations = Destinations::Uniform(destinations);
            }
            flow.tuples = tuples;
        }
    }

    /// Returns the spec with the paths of transfers separated.
    pub(crate) fn with_ways(&self) -> Cow<'_, Spec> {
        let mut own = Cow::Borrowed(self);
        if self.flows.iter().any(|flow| flow.source.transfers().is_some() && flow.tuples.is_empty()) {
            own.to_mut().distinguish_paths();
        }
        own
    }
}

/// Transfers of a source, separated into sets.
struct Parted {
    /// Destination of each set; a node may be present several times.
    destinations: Vec<NodeId>,
    /// By destination, the tuple of the first transfer that goes there.
    tuples: Vec<Tuple>,
    /// Index of the destination of each transfer.
    numbers: Vec<u32>,
}

/// Property that distinguishes transfers to one host.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Apart {
    ByWay,
    ByTuple,
    Never,
}

/// Computes the paths of transfers.
struct Ways<'a> {
    spec: &'a Spec,
    wiring: &'a Wiring,
    apart: Apart,
    /// Forwarding tables: with all links, then with each set of links that are known to be down at some time.
    tables: Vec<(Routes<'a>, ForwardingTable)>,
    /// Number of further sets that are allowed.
    left: usize,
}

impl<'a> Ways<'a> {
    fn new(spec: &'a Spec, wiring: &'a Wiring, flows: &[usize]) -> Ways<'a> {
        let choices = || spec.nodes.iter().filter_map(|node| node.switch()).map(|switch| switch.path_choice);
        let apart = if !chooses_by_frame(spec) {
            Apart::ByWay
        } else if choices().any(|choice| choice.sees_tuples()) {
            Apart::ByTuple
        } else {
            Apart::Never
        };
        let destinations: BTreeSet<NodeId> =
            flows.iter().flat_map(|&nth| spec.flows[nth].source.destinations.nodes()).collect();
        let digits = Digits::of(spec, wiring).map(Arc::new);
        let table = |down: &[bool]| {
            let is_down = |link: u32| down.get(link as usize).is_some_and(|&down| down);
            let routes = Routes::without(wiring, |node| spec.nodes[node.at()].host().is_some(), is_down)
                .with_digits(digits.clone())
                .with_hashing(spec.hashing());
            let table = ForwardingTable::new(&routes, destinations.iter().copied());
            (routes, table)
        };
        let mut tables = Vec::new();
        if apart == Apart::ByWay {
            // A plan with errors is refused later.
            let plan = FaultPlan::new(spec).ok();
            let down = plan.map_or_else(Vec::new, |plan| outages(spec, wiring, &plan));
            let different: BTreeSet<Vec<bool>> = down
                .into_iter()
                .map(|(_, reasons)| reasons.into_iter().map(|count| count > 0).collect())
                .filter(|down: &Vec<bool>| down.contains(&true))
                .collect();
            tables.push(table(&[]));
            tables.extend(different.iter().map(|down| table(down)));
        }
        let left = if apart == Apart::ByTuple { MOST_TUPLES } else { MOST_WAYS };
        Ways { spec, wiring, apart, tables, left }
    }

    /// Separates the transfers of a flow into sets; `None` if it has no transfers.
    fn part(&mut self, flow: &FlowSpec) -> Option<Parted> {
        let list: &TransferList = flow.source.transfers()?;
        let nodes = flow.source.destinations.nodes();
        let base: Vec<Tuple> = (0..nodes.len() as u32).map(|nth| self.spec.tuple(flow, Some(nth))).collect();
        // Several contexts of UET take messages in turn, regardless of path.
        let uet = flow.transport.as_deref().and_then(|own| own.uet());
        let in_turn = uet.is_some_and(|uet| uet.contexts > 1);
        let apart = if flow.way == Way::Shortest && !in_turn { self.apart } else { Apart::Never };
        // By destination, the sets so far, and true if all its transfers form one set.
        let mut sets: Vec<BTreeMap<Vec<u32>, u32>> = vec![BTreeMap::new(); nodes.len()];
        let mut alone = vec![apart == Apart::Never; nodes.len()];
        let (mut of, mut tuples): (Vec<usize>, Vec<Tuple>) = (Vec::new(), Vec::new());
        let mut key = Vec::new();
        let numbers = list.iter().map(|transfer| {
            let nth = transfer.destination as usize;
            let tuple = base[nth].with_ports(transfer.ports);
            let known = &mut sets[nth];
            if alone[nth]
                && let Some(&only) = known.values().next()
            {
                return only;
            }
            key.clear();
            match apart {
                Apart::ByTuple => {
                    key.push(u32::from(transfer.ports.source) << 16 | u32::from(transfer.ports.destination))
                }
                Apart::ByWay => alone[nth] = !self.way(flow.from, nodes[nth], &tuple, &mut key),
                Apart::Never => {}
            }
            if let Some(&set) = known.get(&key) {
                return set;
            }
            if self.left == 0 && !known.is_empty() {
                let place = scale(tuple.all, known.len());
                return known.values().nth(place).copied().unwrap_or_default();
            }
            self.left = self.left.saturating_sub(1);
            let set = of.len() as u32;
            known.insert(key.clone(), set);
            of.push(nth);
            tuples.push(tuple);
            set
        });
        let numbers: Vec<u32> = numbers.collect();
        for nth in (0..nodes.len()).filter(|&nth| sets[nth].is_empty()) {
            of.push(nth);
            tuples.push(base[nth]);
        }
        // Sets of one host are consecutive, in the order of the hosts.
        let mut order: Vec<usize> = (0..of.len()).collect();
        order.sort_by_key(|&set| of[set]);
        let mut place = vec![0; of.len()];
        (0..).zip(&order).for_each(|(new, &set)| place[set] = new);
        Some(Parted {
            destinations: order.iter().map(|&set| nodes[of[set]]).collect(),
            tuples: order.iter().map(|&set| tuples[set]).collect(),
            numbers: numbers.into_iter().map(|set| place[set as usize]).collect(),
        })
    }

    /// Appends the ports of all paths of a tuple: with all links, and with each set of failed links that affects the
    /// path. Returns true if any switch had a choice.
    fn way(&self, from: NodeId, to: NodeId, tuple: &Tuple, ports: &mut Vec<u32>) -> bool {
        let mut chose = false;
        let mut first = 0..0;
        for (nth, (routes, table)) in self.tables.iter().enumerate() {
            let begin = ports.len();
            let mut node = from;
            while node != to {
                let equal = table.candidates(node, to);
                chose |= equal.len() > 1;
                let place = routes.choice(equal.iter().copied(), tuple, node, to);
                // No path: the flow is refused, or keeps its path while links are down.
                let Some(port) = equal.get(place) else { break };
                ports.push(port.0);
                node = self.wiring.neighbour(*port);
            }
            if nth == 0 {
                first = begin..ports.len();
            } else if ports[first.clone()].iter().all(|&port| !routes.is_dead(PortId(port))) {
                ports.truncate(begin);
            } else {
                ports.push(u32::MAX);
            }
        }
        chose
    }
}
