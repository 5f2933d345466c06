//! Congestion notification domains: the settings of each station, and keys without effect.

use super::topology::Fabric;
use super::{Context, names};
use crate::model::Model;
use crate::place::Place;
use fabric::spec::{ControlContent, Domain, FaultSpec, NodeSpec, Role, Spec};
use frame::{NodeId, PRIORITIES, Priority, members};
use keys::{Remark, unused};
use queueing::{Defence, DomainKeys, PortDefence};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the settings of each node; empty if no node has any.
pub fn lower(
    model: &Model,
    nodes: &[NodeSpec],
    fabric: &Fabric,
    context: &mut Context<'_>,
) -> Vec<Option<Domain>> {
    let mut stations = BTreeSet::new();
    let of_node = |(id, node): (u32, &NodeSpec)| {
        let (keys, at) = settings(model, node)?;
        // Stations without settings of their own share common ones, whose errors are reported once.
        let first = stations.insert(format!("{at:?}"));
        let (priorities, becomes) = match keys.spec() {
            Ok(spec) => spec,
            Err(why) => {
                if first {
                    context.refuse(why, &at);
                }
                return None;
            }
        };
        let own = [NodeId(id)];
        let sharing: Vec<NodeId> = if is_own(model, node) {
            own.to_vec()
        } else {
            (0..)
                .map(NodeId)
                .zip(nodes)
                .filter(|(_, other)| shares(model, node, other))
                .map(|it| it.0)
                .collect()
        };
        let mut ports = Vec::new();
        for (text, &choice) in &keys.ports {
            let place = at.key("ports").key(text);
            let of = if first { (&sharing[..], true) } else { (&own[..], false) };
            let all = names::neighbours(std::slice::from_ref(text), of, &place, fabric, context);
            ports.extend(all.into_iter().filter(|&to| fabric.linked(NodeId(id), to)).map(|to| (to, choice)));
        }
        Some(Domain { priorities, becomes, defence: keys.defence, at: ports })
    };
    let found: Vec<Option<Domain>> = (0..).zip(nodes).map(of_node).collect();
    if found.iter().all(Option::is_none) { Vec::new() } else { found }
}

/// Returns the settings of a node, and their place in the scenario.
fn settings<'m>(model: &'m Model, node: &NodeSpec) -> Option<(&'m DomainKeys, Place)> {
    let (all, each, of_all, own) = match node.role {
        Role::Host(_) => {
            let own = model.hosts.get(&node.name).and_then(|own| own.congestion_domain.as_ref());
            ("host", "hosts", model.host.congestion_domain.as_ref(), own)
        }
        Role::Switch(_) => {
            let own = model.switches.get(&node.name).and_then(|own| own.congestion_domain.as_ref());
            ("switch", "switches", model.switch.congestion_domain.as_ref(), own)
        }
    };
    const KEY: &str = "congestion_domain";
    let here = |keys| (keys, Place::of(each).key(&node.name).key(KEY));
    own.map(here).or_else(|| of_all.map(|keys| (keys, Place::of(all).key(KEY))))
}

/// Returns true if a node has settings under its own name.
fn is_own(model: &Model, node: &NodeSpec) -> bool {
    match node.role {
        Role::Host(_) => model.hosts.get(&node.name).is_some_and(|own| own.congestion_domain.is_some()),
        Role::Switch(_) => model.switches.get(&node.name).is_some_and(|own| own.congestion_domain.is_some()),
    }
}

/// Returns true if another node uses the same settings as this one.
fn shares(model: &Model, node: &NodeSpec, other: &NodeSpec) -> bool {
    !is_own(model, other) && node.host().is_some() == other.host().is_some()
}

/// Checks the domains of a simulation against its flows. Reports an alternate priority that no frame gets, and one
/// whose pauses do not stop the senders.
pub fn check(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    if spec.domains.is_empty() {
        return;
    }
    let changes = spec
        .faults
        .iter()
        .any(|fault| matches!(fault, FaultSpec::ControlFrame { content: ControlContent::Domain(_), .. }));
    // Shared settings by place: true if `alternate_priority` has an effect at any of the stations, and the first error.
    let mut sharing: BTreeMap<String, (Place, bool, Option<Remark>)> = BTreeMap::new();
    for (node, ports) in spec.nodes.iter().zip(spec.defences_by_node()) {
        let Some((keys, at)) = settings(model, node) else { continue };
        let Ok((priorities, becomes)) = keys.spec() else { continue };
        let kept_out = |&priority: &usize| {
            let is_edge = |own: &PortDefence| own.of(Priority(priority as u8)) == Defence::Edge;
            node.switch().is_some() && ports.iter().any(is_edge)
        };
        let edges: Vec<usize> = members(priorities).filter(kept_out).collect();
        let stations =
            sharing.entry(format!("{at:?}")).or_insert((at, keys.alternate_priority.is_none(), None));
        stations.1 |= !edges.is_empty() || changes && node.switch().is_some();
        if stations.2.is_none() {
            stations.2 = unstoppable(node, &edges, becomes);
        }
    }
    for (at, matters, wrong) in sharing.into_values() {
        if !matters {
            let needs = "a port of a switch at the edge of the domain";
            context.beware(unused("alternate_priority", needs), &at);
        }
        if let Some(why) = wrong {
            context.beware(why, &at);
        }
    }
}

/// Detects that the neighbour sends frames with their original priority, so that a pause of the alternate priority does
/// not stop them.
fn unstoppable(node: &NodeSpec, edges: &[usize], becomes: [Priority; PRIORITIES]) -> Option<Remark> {
    let paused = node.switch()?.pauses()?.kind.priorities();
    let &old = edges.iter().find(|&&old| paused >> becomes[old].0 & 1 != 0)?;
    let new = becomes[old].0;
    let message = format!(
        "frames of priority {old} from outside become priority {new}, which \"{}\" pauses",
        node.name
    );
    let help = "a pause for it does not stop their sender: expected an alternate_priority without PFC";
    Some(Remark::about("alternate_priority", message, help))
}
