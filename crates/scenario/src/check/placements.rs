//! Placement of the ranks of a job at its hosts.

use super::Context;
use super::topology::Fabric;
use crate::model::Job;
use crate::place::Place;
use ::jobs::Placement;
use frame::NodeId;
use std::collections::BTreeMap;

/// Sorts the hosts of a job in the order of its ranks.
pub fn place(
    hosts: &mut [NodeId],
    job: &Job,
    seed: u64,
    (fabric, at, context): (&Fabric, &Place, &mut Context<'_>),
) {
    match job.placement {
        Placement::Linear => {}
        Placement::Packed => hosts.sort_by_key(|&host| leaf(fabric, host)),
        Placement::Spread => {
            let mut turns: BTreeMap<NodeId, u32> = BTreeMap::new();
            let turn_of = |host: &NodeId| {
                let turn = turns.entry(leaf(fabric, *host)).or_default();
                *turn += 1;
                (*turn, *host)
            };
            let turns: BTreeMap<NodeId, u32> =
                hosts.iter().map(turn_of).map(|(turn, host)| (host, turn)).collect();
            hosts.sort_by_key(|host| (turns[host], leaf(fabric, *host)));
        }
        Placement::ByPod => {
            let pods = pods(fabric);
            hosts.sort_by_key(|&host| pods[leaf(fabric, host).at()]);
        }
        Placement::ByRail => match hosts.iter().find(|&&host| rail(fabric, host).is_none()) {
            Some(&host) => {
                let message = format!("\"{}\" has no rail", fabric.name(host));
                let help = "expected hosts with the number of their rail behind a point, like h3.0, as [topology.rails] has them";
                context.error(at, message, help);
            }
            None => hosts.sort_by_key(|&host| rail(fabric, host)),
        },
        Placement::Random => {
            let mut random = engine::stream(seed, &format!("jobs/{}/placement", job.name));
            for last in (1..hosts.len()).rev() {
                let other = workload::below(&mut random, last as u64 + 1) as usize;
                hosts.swap(last, other);
            }
        }
    }
}

/// Returns the first switch of a host; the host itself if it has none.
pub fn leaf(fabric: &Fabric, host: NodeId) -> NodeId {
    let switches = fabric.neighbours(host).iter().filter(|&&node| !fabric.is_host(node));
    switches.min().copied().unwrap_or(host)
}

/// Returns the number after the dot in the name of a host.
fn rail(fabric: &Fabric, host: NodeId) -> Option<u32> {
    fabric.name(host).rsplit_once('.')?.1.parse().ok()
}

/// Returns the pod of each node: the first of the switches that are connected without those of the highest level.
fn pods(fabric: &Fabric) -> Vec<u32> {
    let levels = fabric.levels();
    let nodes = || (0..levels.len() as u32).map(NodeId);
    let top = levels.iter().max().copied().unwrap_or_default();
    let lowest = nodes().filter(|&node| !fabric.is_host(node)).map(|node| levels[node.at()]).min();
    // If all switches are on one level, each is a pod.
    let joins = |node: NodeId| !fabric.is_host(node) && (levels[node.at()] < top || lowest == Some(top));
    let mut pods: Vec<u32> = nodes().map(|node| node.0).collect();
    let mut seen = vec![false; levels.len()];
    for first in nodes().filter(|&node| joins(node)) {
        let mut next = vec![first];
        while let Some(node) = next.pop() {
            if std::mem::replace(&mut seen[node.at()], true) {
                continue;
            }
            pods[node.at()] = first.0;
            if lowest != Some(top) {
                next.extend(fabric.neighbours(node).iter().filter(|&&other| joins(other)));
            }
        }
    }
    pods
}
