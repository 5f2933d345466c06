//! In-network reduction units of jobs: endpoints linked to switches, and the tree of units that a job uses.
//!
//! A unit is modelled as an additional host, so that switches need no transport. Scenarios cannot name it. Its link to
//! the switch has the rate of the unit, half of its latency, and no length.

use super::Context;
use super::placements::leaf;
use super::topology::Fabric;
use crate::model::Job;
use crate::place::Place;
use ::jobs::{AggregationTree, InNetworkSpec};
use fabric::spec::{HostSpec, LinkSpec, NodeSpec, Role};
use frame::NodeId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use units::{BitRate, ClockTolerance, Time};

/// Reduction units of all jobs.
#[derive(Default)]
pub struct Units {
    /// Switches of the units, in the order of the units' nodes, which follow those of the topology.
    switches: Vec<NodeId>,
    /// Rate and latency of each unit, and the first job that set them.
    settings: Option<(Option<BitRate>, Time, String)>,
}

/// The default rate of a unit is rounded up to a multiple of this many bits per second.
const STEP: u64 = 1_000_000_000;

impl Units {
    /// Returns the unit at a switch.
    fn at(&mut self, switch: NodeId, fabric: &Fabric) -> NodeId {
        let place = self.switches.iter().position(|&own| own == switch).unwrap_or_else(|| {
            self.switches.push(switch);
            self.switches.len() - 1
        });
        NodeId((fabric.graph.nodes.len() + place) as u32)
    }
    /// Returns the name of a node, which may be a unit.
    pub fn name(&self, node: NodeId, fabric: &Fabric) -> String {
        match node.at().checked_sub(fabric.graph.nodes.len()) {
            Some(unit) => format!("{}.reduction", fabric.name(self.switches[unit])),
            None => fabric.name(node).to_string(),
        }
    }
    /// Number of units.
    pub fn count(&self) -> usize {
        self.switches.len()
    }

    /// Appends the units to the nodes and links of a topology.
    pub fn attach(&self, fabric: &Fabric, nodes: &mut Vec<NodeSpec>, links: &mut Vec<LinkSpec>) {
        let Some((rate, latency, _)) = &self.settings else { return };
        let Some(host) = nodes.iter().find_map(NodeSpec::host) else { return };
        let role = Role::Host(Arc::new(HostSpec {
            queue_limit: None,
            receive: None,
            send: None,
            limiters: None,
            nic_limits: None,
            ..host.clone()
        }));
        for (place, &switch) in self.switches.iter().enumerate() {
            let unit = NodeId((fabric.graph.nodes.len() + place) as u32);
            let own: Vec<&LinkSpec> =
                links.iter().filter(|link| link.a == switch || link.b == switch).collect();
            let sum: u64 = own.iter().map(|link| link.fastest().bps()).sum();
            let rate = rate.unwrap_or(BitRate::from_bps(sum.div_ceil(STEP) * STEP));
            let overhead = own.iter().map(|link| link.overhead).max().unwrap_or_default();
            links.push(LinkSpec {
                a: unit,
                b: switch,
                rates: [rate; 2],
                wire_rates: [rate; 2],
                delay: Time::from_ps(latency.ps() / 2),
                cable: Time::ZERO,
                overhead,
                response_time: None,
                cost: 1,
                llr: None,
            });
            nodes.push(NodeSpec {
                name: self.name(unit, fabric),
                mtu: None,
                clock_tolerance: ClockTolerance::EXACT,
                role: role.clone(),
            });
        }
    }
}

/// Returns the reduction of a job with ranks at these hosts, and the nodes of its units.
pub fn lower(
    job: &Job,
    hosts: &[NodeId],
    at: &Place,
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Option<(InNetworkSpec, Vec<NodeId>)> {
    let leaves: Vec<NodeId> = hosts.iter().map(|&host| leaf(fabric, host)).collect();
    if let Some(host) = leaves.iter().find(|&&leaf| fabric.is_host(leaf)) {
        let message = format!("\"{}\" is not connected to a switch, and switches reduce", fabric.name(*host));
        context.error(&at.key("algorithm"), message, "expected hosts at switches, or another algorithm");
        return None;
    }
    let Some(parents) = tree(&leaves, fabric) else {
        let message = "no switch reaches those of all ranks";
        context.error(&at.key("algorithm"), message, "expected a way between them, or another algorithm");
        return None;
    };
    same_settings(job, at, context)?;
    let switches: Vec<NodeId> = parents.keys().copied().collect();
    let number =
        |switch: &NodeId| switches.binary_search(switch).ok().map(|unit| (hosts.len() + unit) as u32);
    let above: Vec<Option<u32>> = leaves
        .iter()
        .map(number)
        .chain(parents.values().map(|parent| parent.as_ref().and_then(number)))
        .collect();
    let nodes: Vec<NodeId> = switches.iter().map(|&switch| context.units.at(switch, fabric)).collect();
    let taken =
        nodes.iter().map(|&unit| context.units.name(unit, fabric)).find(|name| fabric.find(name).is_some());
    if let Some(name) = taken {
        let message = format!("the unit of a switch would be called \"{name}\", like a node of the topology");
        context.error(&at.key("algorithm"), message, "expected another name of that node");
        return None;
    }
    Some((job.workload.in_network(AggregationTree::new(hosts.len() as u32, &above)), nodes))
}

/// Reports settings of units that differ from those of another job: jobs share the units.
fn same_settings(job: &Job, at: &Place, context: &mut Context<'_>) -> Option<()> {
    let (rate, latency) = (job.workload.reduction_rate, job.workload.reduction_latency());
    let Some((other_rate, other_latency, name)) = &context.units.settings else {
        context.units.settings = Some((rate, latency, job.name.clone()));
        return Some(());
    };
    let text = |rate: Option<BitRate>| rate.map_or("the default".to_string(), |rate| rate.to_string());
    let (key, own, other) = if rate != *other_rate {
        ("reduction_rate", text(rate), text(*other_rate))
    } else if latency != *other_latency {
        ("reduction_latency", latency.to_string(), other_latency.to_string())
    } else {
        return Some(());
    };
    let message = format!("units with a {key} of {own}, and of {other} in the job \"{name}\"");
    context.error(&at.key(key), message, "jobs share the units of switches; expected the same in all jobs");
    None
}

/// Returns the switches whose units take part, each with its parent: the switches with ranks, and those at which paths
/// to the root meet.
///
/// The root is the switch with the smallest maximum distance to these leaves, and the first one if there are several.
/// Returns `None` if no switch reaches all of them.
fn tree(leaves: &[NodeId], fabric: &Fabric) -> Option<BTreeMap<NodeId, Option<NodeId>>> {
    let leaves: BTreeSet<NodeId> = leaves.iter().copied().collect();
    let mut farthest = vec![0u32; fabric.graph.nodes.len()];
    for &leaf in &leaves {
        let distances = distances(leaf, fabric);
        farthest.iter_mut().zip(distances).for_each(|(most, own)| *most = own.max(*most));
    }
    let root = fabric.graph.switches().min_by_key(|switch| (farthest[switch.at()], *switch))?;
    if farthest[root.at()] == u32::MAX {
        return None;
    }
    let to_root = distances(root, fabric);
    let up = |switch: NodeId| {
        let nearer = |node: &&NodeId| to_root[node.at()] < to_root[switch.at()];
        fabric.neighbours(switch).iter().filter(nearer).min().copied()
    };
    let mut below: BTreeMap<NodeId, BTreeSet<NodeId>> = BTreeMap::new();
    for &leaf in &leaves {
        let mut at = leaf;
        while let Some(next) = up(at) {
            if !below.entry(next).or_default().insert(at) {
                break;
            }
            at = next;
        }
    }
    let takes_part =
        |switch: &NodeId| leaves.contains(switch) || below.get(switch).is_some_and(|all| all.len() > 1);
    let above = |switch: NodeId| std::iter::successors(up(switch), |&at| up(at)).find(takes_part);
    let all = leaves.iter().chain(below.keys()).copied().filter(takes_part);
    Some(all.map(|switch| (switch, above(switch))).collect())
}

/// Returns the distance of each node from a switch, via switches; the maximum for hosts and unreachable nodes.
fn distances(from: NodeId, fabric: &Fabric) -> Vec<u32> {
    let mut distances = vec![u32::MAX; fabric.graph.nodes.len()];
    distances[from.at()] = 0;
    let mut next = VecDeque::from([from]);
    while let Some(node) = next.pop_front() {
        for &other in fabric.neighbours(node) {
            if !fabric.is_host(other) && distances[other.at()] == u32::MAX {
                distances[other.at()] = distances[node.at()] + 1;
                next.push_back(other);
            }
        }
    }
    distances
}
