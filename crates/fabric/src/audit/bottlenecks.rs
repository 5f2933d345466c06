//! Bottleneck ports of greedy senders, and the round-trip time of the paths through them: the conditions for a
//! congestion control that responds to marks.
//!
//! Greedy flows, and transfers that begin together and are longer than a round trip, share links by max-min fairness:
//! the port with the smallest share per flow limits its flows, and the others share the rest (D. Bertsekas and R.
//! Gallager, Data Networks, section 6.5.2).
//!
//! Not modelled: other kinds of traffic, weights of classes, links whose rate changes, and, where switches choose a
//! path for each frame, ports that only some of the frames take.

use crate::build::Plan;
use crate::build::paths::{Paths, find_paths};
use crate::build::traffic::one_way;
use crate::run::state::route_table::DELIVER;
use crate::spec::choice::PathChoice;
use crate::spec::{FlowSpec, Spec};
use frame::{NodeId, PortId};
use std::collections::{BTreeMap, BinaryHeap};
use transport::{QueuePairSpec, QueuePairs};
use units::{Amount, Time};

/// Maximum number of groups of transfers that begin together; only the largest groups are computed.
const MOST_GROUPS: usize = 100;

/// A port of a switch, and the queue pairs that it limits.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    /// The switch.
    pub switch: NodeId,
    /// Name of the port.
    pub port: String,
    /// Number of queue pairs that it limits.
    pub many: u64,
    /// Number of hosts that they send to.
    pub receivers: u64,
    /// Their total rate, in bit/s.
    pub bps: f64,
    /// The flow of one of them.
    pub flow: usize,
    /// Rate of the first link of that flow, in bit/s.
    pub nic_bps: f64,
    /// Mean round-trip time of a full packet and its CNP over links and switches, without queueing.
    pub round_trip: Time,
}

/// Returns the bottlenecks of these flows, which have queue pairs, in ascending order of the share per queue pair.
pub fn bottlenecks(spec: &Spec, is_one: impl Fn(&FlowSpec) -> bool) -> Vec<Bottleneck> {
    let (spec, wiring) = (&*spec.with_ways(), spec.wiring());
    let plan = Plan::new(spec, &wiring);
    let Ok(paths) = find_paths(&plan) else { return Vec::new() };
    let pairs = Pair::all(&plan, &paths, is_one);
    let mut groups: BTreeMap<Option<Time>, Vec<usize>> = BTreeMap::new();
    for (first, pair) in pairs.iter().enumerate().filter(|(_, pair)| pair.nth == 0) {
        let flow = &spec.flows[pair.flow];
        match flow.source.transfers() {
            None => groups.entry(None).or_default().extend(first..first + flow.paths()),
            // The start of transfers that wait for others is not known. A transfer within a round trip has left before
            // a mark returns.
            Some(list) => list.iter().filter(|one| one.start < Time::NEVER).for_each(|one| {
                let pair = first + one.destination as usize;
                if pairs[pair].fills_path(one.bytes) {
                    groups.entry(Some(one.start)).or_default().push(pair);
                }
            }),
        }
    }
    let always = groups.remove(&None).unwrap_or_default();
    let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > 1).collect();
    for group in &mut groups {
        group.sort_unstable();
        // A queue pair sends its messages one after the other.
        let mut last = None;
        group.retain(|&pair| {
            let again = last.replace(pair) == Some(pair);
            !again || pairs[pair].spec.queue_pairs != QueuePairs::One
        });
        group.extend(&always);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups.dedup();
    groups.truncate(MOST_GROUPS);
    groups.push(always);
    let of_group = |group: &Vec<usize>| {
        let found = Shares::new(&plan, group.iter().map(|&pair| pairs[pair]).collect()).bottlenecks();
        found.collect::<Vec<_>>()
    };
    groups.iter().flat_map(of_group).collect()
}

/// Round-trip times of a full packet and its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// Without queueing.
    pub empty: Time,
    /// With the slowest queue on the packet's path as full as the limits of its switch allow. Queues without a limit
    /// count as empty.
    pub full: Time,
}

/// Returns the longest round-trip times of each selected flow with queue pairs: a full packet there and a CNP back.
pub fn round_trips(spec: &Spec, is_one: impl Fn(&FlowSpec) -> bool) -> BTreeMap<usize, RoundTrips> {
    let (spec, wiring) = (&*spec.with_ways(), spec.wiring());
    let plan = Plan::new(spec, &wiring);
    let mut longest = BTreeMap::new();
    let Ok(paths) = find_paths(&plan) else { return longest };
    for pair in Pair::all(&plan, &paths, is_one) {
        let known: &mut RoundTrips = longest.entry(pair.flow).or_default();
        let waits = pair.path.iter().map(|&port| longest_wait(&plan, port)).max().unwrap_or_default();
        known.empty = pair.round_trip.max(known.empty);
        known.full = pair.round_trip.saturating_add(waits).max(known.full);
    }
    longest
}

/// Time to drain a full queue of a switch port; zero if its memory has no limit.
fn longest_wait(plan: &Plan<'_>, port: u32) -> Time {
    let limits = plan.node(port).switch().map(|switch| {
        let buffer = &switch.buffer;
        [buffer.queue, buffer.port, buffer.class, buffer.total]
    });
    let bytes = limits.into_iter().flatten().flatten().map(|limit| match limit {
        Amount::Bytes(bytes) => bytes,
        Amount::Frames(frames) => frames.saturating_mul(frame::MAX_TAGGED_FRAME_BYTES.into()),
    });
    bytes.min().map_or(Time::ZERO, |bytes| plan.rate(port).time_for_bits_ceil(bytes.saturating_mul(8)))
}

/// A queue pair that sends.
#[derive(Clone, Copy)]
struct Pair<'a> {
    flow: usize,
    /// Index among the queue pairs of the flow.
    nth: usize,
    /// Egress ports on its path.
    path: &'a [u32],
    spec: &'a QueuePairSpec,
    /// Rate of its first link, in bit/s.
    bps: f64,
    round_trip: Time,
}

impl<'a> Pair<'a> {
    /// Returns the queue pairs of these flows, in order.
    fn all(plan: &Plan<'a>, paths: &'a Paths, is_one: impl Fn(&FlowSpec) -> bool) -> Vec<Pair<'a>> {
        let (mut pairs, mut first) = (Vec::new(), 0);
        for (number, flow) in plan.spec.flows.iter().enumerate() {
            let starts = &paths.starts[first..first + flow.paths()];
            first += flow.paths();
            let connection = flow.transport.as_deref().filter(|_| is_one(flow));
            let Some(spec) = connection.and_then(|connection| connection.queue_pairs()) else { continue };
            for (nth, &start) in starts.iter().enumerate() {
                let hops = &paths.hops[start as usize..];
                let end = hops.iter().position(|&hop| hop == DELIVER).unwrap_or(hops.len());
                pairs.push(Pair::new(plan, (number, nth), &hops[..end], spec));
            }
        }
        pairs
    }

    fn new(plan: &Plan, (flow, nth): (usize, usize), path: &'a [u32], spec: &'a QueuePairSpec) -> Pair<'a> {
        let back = &mut path.iter().rev().map(|&port| plan.wiring.peer[port as usize].0);
        let there = one_way(plan, &mut path.iter().copied(), spec.frame_bytes(spec.mtu));
        let bps = path.first().map_or(0.0, |&port| plan.rate(port).bps_f64());
        Pair { flow, nth, path, spec, bps, round_trip: there + one_way(plan, back, spec.cnp_bytes()) }
    }

    /// Returns true if this many bytes take longer to send than a round trip.
    fn fills_path(&self, bytes: u64) -> bool {
        8.0 * bytes as f64 > self.bps * self.round_trip.as_secs_f64()
    }
}

/// Max-min fair shares of the links.
struct Shares<'a> {
    plan: &'a Plan<'a>,
    pairs: Vec<Pair<'a>>,
    /// By port, the unassigned part of its rate, and the pairs that share it.
    left: BTreeMap<u32, (f64, Vec<usize>)>,
}

impl<'a> Shares<'a> {
    fn new(plan: &'a Plan<'a>, pairs: Vec<Pair<'a>>) -> Shares<'a> {
        let mut left: BTreeMap<u32, (f64, Vec<usize>)> = BTreeMap::new();
        for (number, pair) in pairs.iter().enumerate() {
            for &port in pair.path {
                let is_chosen = plan
                    .node(port)
                    .switch()
                    .is_some_and(|own| !matches!(own.path_choice, PathChoice::Hash(_)));
                if is_chosen && Some(&port) != pair.path.last() {
                    continue;
                }
                let rate = plan.rate(port).bps_f64();
                left.entry(port).or_insert((rate, Vec::new())).1.push(number);
            }
        }
        Shares { plan, pairs, left }
    }

    /// Ports of switches that limit at least one pair.
    fn bottlenecks(mut self) -> impl Iterator<Item = Bottleneck> {
        // Shares only grow, so the recorded share of a port is never too high.
        let share = |(left, who): &(f64, Vec<usize>)| left / who.len() as f64;
        let mut line: BinaryHeap<Least> =
            self.left.iter().map(|(&port, own)| Least { share: share(own), port }).collect();
        let mut held = vec![false; self.pairs.len()];
        let mut found = Vec::new();
        while let Some(Least { share: known, port }) = line.pop() {
            let Some(own) = self.left.get_mut(&port) else { continue };
            own.1.retain(|&pair| !held[pair]);
            if own.1.is_empty() {
                continue;
            }
            let now = share(own);
            if now > known {
                line.push(Least { share: now, port });
                continue;
            }
            let Some((bps, who)) = self.left.remove(&port) else { continue };
            for &pair in &who {
                held[pair] = true;
                for other in self.pairs[pair].path {
                    if let Some((left, _)) = self.left.get_mut(other) {
                        *left -= now;
                    }
                }
            }
            if self.plan.node(port).switch().is_some() {
                found.push(self.bottleneck(port, bps, &who));
            }
        }
        found.into_iter()
    }

    fn bottleneck(&self, port: u32, bps: f64, who: &[usize]) -> Bottleneck {
        let (spec, wiring) = (self.plan.spec, self.plan.wiring);
        let mut ends: Vec<_> = who.iter().filter_map(|&pair| self.pairs[pair].path.last()).collect();
        ends.sort_unstable();
        ends.dedup();
        let sum: u128 = who.iter().map(|&pair| u128::from(self.pairs[pair].round_trip.ps())).sum();
        Bottleneck {
            switch: wiring.node_of[port as usize],
            port: wiring.port_name(PortId(port), |node| &spec.nodes[node.at()].name),
            many: who.len() as u64,
            receivers: ends.len() as u64,
            bps,
            flow: self.pairs[who[0]].flow,
            nic_bps: self.pairs[who[0]].bps,
            round_trip: Time::from_ps((sum / who.len() as u128) as u64),
        }
    }
}

/// A port in a heap that yields the smallest share first.
struct Least {
    share: f64,
    port: u32,
}

impl Ord for Least {
    fn cmp(&self, other: &Least) -> std::cmp::Ordering {
        other.share.total_cmp(&self.share).then(other.port.cmp(&self.port))
    }
}
impl PartialOrd for Least {
    fn partial_cmp(&self, other: &Least) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Least {
    fn eq(&self, other: &Least) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Least {}
