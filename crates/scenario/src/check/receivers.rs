//! Senders and receivers: names, "all", patterns, permutations, hot spots.

use super::topology::Fabric;
use super::{Context, names};
use crate::place::Place;
use fabric::topology::NodeRole;
use frame::NodeId;
use rand_xoshiro::rand_core::Rng;
use std::sync::Arc;
use workload::{Destinations, Nodes, Others, Permutation, Receivers, ReceiversTable, no_probability};

/// A sender and the destinations of its frames.
pub struct Pair {
    pub from: NodeId,
    pub to: Destinations,
}

/// Senders and receivers, as an entry gives them.
pub struct Ends<'a> {
    /// Name of the entry.
    pub name: &'a str,
    pub from: &'a Nodes,
    /// True if switches may send.
    pub from_switches: bool,
    pub to: &'a Receivers,
}

/// A choice of nodes.
pub struct Selection {
    pub nodes: Vec<NodeId>,
    /// True if each node was given by name; omitting one would then be unexpected.
    named: bool,
}

/// Returns the senders of a flow with their destinations, in the order of the nodes.
pub fn lower(
    ends: &Ends<'_>,
    seed: u64,
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Option<Vec<Pair>> {
    context.clean(|context| {
        let senders = select(ends.from, ends.from_switches, &at.key("from"), fabric, context);
        let at_to = at.key("to");
        match ends.to {
            Receivers::Nodes(nodes) | Receivers::Table(ReceiversTable::Uniform(nodes)) => {
                let at = if matches!(ends.to, Receivers::Table(_)) { at_to.key("uniform") } else { at_to };
                let receivers = select(nodes, false, &at, fabric, context);
                if senders.nodes.len() < 2 || receivers.nodes.len() < 3 {
                    uniform(&senders, &receivers, &at, fabric, context)
                } else {
                    shared(&senders, &receivers, &at, fabric, context)
                }
            }
            Receivers::Table(ReceiversTable::HotSpot(spot)) => {
                let at = at_to.key("hot_spot");
                no_probability("share", spot.share).into_iter().for_each(|why| context.refuse(why, &at));
                let hot = host(&spot.host, false, &at.key("host"), fabric, context);
                let cost = senders.nodes.len().saturating_add(fabric.graph.nodes.len());
                match hot.filter(|_| context.spend(cost, &at)) {
                    Some(hot) => hot_spot(&senders, hot, spot.share, fabric),
                    None => Vec::new(),
                }
            }
            Receivers::Table(ReceiversTable::Multicast(nodes)) => {
                let at = at_to.key("multicast");
                let receivers = select(nodes, false, &at, fabric, context);
                multicast(&senders, &receivers, &at, fabric, context)
            }
            Receivers::Table(ReceiversTable::Permutation(how)) => {
                let at = at_to.key("permutation");
                permutation(&senders, how, seed, ends.name, &at, fabric, context)
            }
        }
    })
}

/// Returns the nodes that a text selects, without repetition, in the order of the text and then of the fabric.
pub fn select(
    nodes: &Nodes,
    senders: bool,
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Selection {
    let (list, single): (&[String], bool) = match nodes {
        Nodes::One(one) => (std::slice::from_ref(one), true),
        Nodes::Several(list) => (list, false),
    };
    if list.is_empty() {
        context.error(at, "an empty list", "expected at least one host");
    }
    let mut chosen = vec![false; fabric.graph.nodes.len()];
    let mut selection = Selection { nodes: Vec::new(), named: true };
    for (i, text) in list.iter().enumerate() {
        if context.full() {
            break;
        }
        let at = if single { at.clone() } else { at.index(i) };
        let found: Vec<NodeId> = if names::is_several(text) && fabric.find(text).is_none() {
            selection.named = false;
            names::find(text, NodeRole::Host, &at, fabric, context)
        } else {
            let Some(node) = host(text, senders, &at, fabric, context) else { continue };
            if chosen[node.at()] && selection.named {
                context.error(&at, format!("\"{text}\" is listed twice"), "expected each host once");
            }
            vec![node]
        };
        selection
            .nodes
            .extend(found.into_iter().filter(|node| !std::mem::replace(&mut chosen[node.at()], true)));
    }
    selection
}

/// Returns the host with this name, or the switch if switches may send.
fn host(
    name: &str,
    switches: bool,
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Option<NodeId> {
    match fabric.find(name) {
        Some(node) if switches || fabric.is_host(node) => Some(node),
        Some(_) => {
            context.error(
                at,
                format!("\"{name}\" is a switch"),
                format!("frames end at hosts; {}", fabric.hint(name, Some(NodeRole::Host))),
            );
            None
        }
        None => {
            context.error(at, format!("unknown host \"{name}\""), fabric.hint(name, Some(NodeRole::Host)));
            None
        }
    }
}

/// Creates uniform destinations for few senders or receivers. A sender may be the only receiver.
fn uniform(
    senders: &Selection,
    receivers: &Selection,
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Vec<Pair> {
    if !context.spend(senders.nodes.len().saturating_mul(receivers.nodes.len()), at) {
        return Vec::new();
    }
    let mut pairs = Vec::new();
    for &from in &senders.nodes {
        let others: Vec<NodeId> = receivers.nodes.iter().copied().filter(|&to| to != from).collect();
        match others.as_slice() {
            [] if senders.named && !receivers.nodes.is_empty() => {
                context.error(
                    at,
                    format!("\"{}\" sends to itself", fabric.name(from)),
                    "expected another host",
                );
            }
            [] => {}
            [one] => pairs.push(Pair { from, to: Destinations::Fixed(*one) }),
            _ => pairs.push(Pair { from, to: Destinations::Uniform(others) }),
        }
    }
    if pairs.is_empty() && !senders.nodes.is_empty() && !receivers.nodes.is_empty() && context.errors == 0 {
        context.error(at, "no sender has a destination beside itself", "expected another host");
    }
    pairs
}

/// Creates destinations that are all addressed at once (multicast).
fn multicast(
    senders: &Selection,
    receivers: &Selection,
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Vec<Pair> {
    if !context.spend(senders.nodes.len().saturating_mul(receivers.nodes.len()), at) {
        return Vec::new();
    }
    let others = |from: NodeId| receivers.nodes.iter().copied().filter(|&to| to != from).collect();
    let pair = |&from: &NodeId| Pair { from, to: Destinations::Multicast(others(from)) };
    let pairs: Vec<Pair> = senders.nodes.iter().map(pair).collect();
    if let Some(few) = pairs.iter().find(|pair| pair.to.count() < 2 && context.errors == 0) {
        let message = format!("copies for {} host beside \"{}\"", few.to.count(), fabric.name(few.from));
        context.error(at, message, "expected at least two receivers for each sender, or to = \"NAME\"");
        return Vec::new();
    }
    pairs
}

/// Creates destinations of several senders that share one list.
fn shared(
    senders: &Selection,
    receivers: &Selection,
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Vec<Pair> {
    let hosts: Arc<[NodeId]> = receivers.nodes.clone().into();
    let place = places(&hosts, fabric);
    let strangers = senders.nodes.iter().filter(|from| place[from.at()].is_none()).count();
    if !context.spend(strangers.saturating_mul(hosts.len()).saturating_add(senders.nodes.len()), at) {
        return Vec::new();
    }
    let to = |from: NodeId| match place[from.at()] {
        without @ Some(_) => Destinations::Others(Others { hosts: Arc::clone(&hosts), without }),
        None => Destinations::Uniform(hosts.to_vec()),
    };
    senders.nodes.iter().map(|&from| Pair { from, to: to(from) }).collect()
}

/// Returns the index of each node in a list.
fn places(hosts: &[NodeId], fabric: &Fabric) -> Vec<Option<u32>> {
    let mut place = vec![None; fabric.graph.nodes.len()];
    (0..).zip(hosts).for_each(|(n, host)| place[host.at()] = Some(n));
    place
}

fn hot_spot(senders: &Selection, hot: NodeId, share: f64, fabric: &Fabric) -> Vec<Pair> {
    let hosts: Arc<[NodeId]> = fabric.graph.hosts().filter(|&host| host != hot).collect();
    let place = places(&hosts, fabric);
    let to = |from: NodeId| {
        let others = Others { hosts: Arc::clone(&hosts), without: place[from.at()] };
        match others.count() {
            0 if from == hot => None,
            0 => Some(Destinations::Fixed(hot)),
            1 if from == hot => Some(Destinations::Fixed(others.nth(0))),
            _ if from == hot => Some(Destinations::Others(others)),
            _ => Some(Destinations::HotSpot { hot, share, others }),
        }
    };
    senders.nodes.iter().filter_map(|&from| to(from).map(|to| Pair { from, to })).collect()
}

fn permutation(
    senders: &Selection,
    how: &Permutation,
    seed: u64,
    name: &str,
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Vec<Pair> {
    let nodes = &senders.nodes;
    if let Some(&switch) = nodes.iter().find(|&&node| !fabric.is_host(node)) {
        context.error(
            at,
            format!("\"{}\" is a switch", fabric.name(switch)),
            "expected hosts: each sender is also a destination",
        );
        return Vec::new();
    }
    if nodes.len() < 2 {
        context.error(
            at,
            "a permutation of fewer than two hosts",
            "expected from = \"all\", a pattern or a list",
        );
        return Vec::new();
    }
    let shift = match how {
        Permutation::Word(_) => {
            let targets = derangement(nodes.len(), seed, name);
            let pair = |(&from, to): (&NodeId, usize)| Pair { from, to: Destinations::Fixed(nodes[to]) };
            return nodes.iter().zip(targets).map(pair).collect();
        }
        Permutation::Shift(it) => (it.shift % nodes.len() as u64) as usize,
    };
    if shift == 0 {
        context.error(
            &at.key("shift"),
            format!("with this shift each of the {} hosts sends to itself", nodes.len()),
            format!("expected a number that is no multiple of {}", nodes.len()),
        );
        return Vec::new();
    }
    let to = |i: usize| Destinations::Fixed(nodes[(i + shift) % nodes.len()]);
    nodes.iter().enumerate().map(|(i, &from)| Pair { from, to: to(i) }).collect()
}

/// Draws a random permutation of `0..n` without fixed points. Permutations are drawn until one has none, about e times
/// on average. The random stream depends only on seed and name, so that other flows do not affect it.
fn derangement(n: usize, seed: u64, name: &str) -> Vec<usize> {
    let mut random = engine::stream(seed, &format!("flow/{name}/permutation"));
    let mut below = |bound: u64| loop {
        // Rejects the part of the range beyond the largest multiple of the bound, which would favour small numbers.
        let drawn = random.next_u64();
        if drawn < u64::MAX - u64::MAX % bound {
            return (drawn % bound) as usize;
        }
    };
    loop {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, below(i as u64 + 1));
        }
        if order.iter().enumerate().all(|(i, &to)| i != to) {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derangements_have_no_fixed_point_and_depend_on_seed_and_name() {
        for n in 2..50 {
            let mut order = derangement(n, 7, "flow");
            assert!(order.iter().enumerate().all(|(i, &to)| i != to));
            order.sort_unstable();
            assert_eq!(order, (0..n).collect::<Vec<_>>());
        }
        assert_eq!(derangement(20, 1, "a"), derangement(20, 1, "a"));
        assert_ne!(derangement(20, 1, "a"), derangement(20, 2, "a"));
        assert_ne!(derangement(20, 1, "a"), derangement(20, 1, "b"));
    }
}
