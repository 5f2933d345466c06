//! Checks FCoE exchanges against losses of the fabric. Where frames may be lost, either an end does not send at all, by
//! the rule of T11, or each loss costs an exchange and its timeout.

use super::Context;
use super::queue_pairs::{may_drop, sprays};
use super::unused::place_of;
use crate::model::Model;
use fabric::links_at_ends;
use fabric::spec::{FlowSpec, Spec};
use frame::NodeId;
use std::collections::BTreeMap;
use units::Time;

/// Warns once per entry of the scenario and kind of problem.
pub fn check(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let mut warned: Vec<(&str, &str)> = Vec::new();
    let withheld = withheld(spec);
    for (number, flow) in spec.flows.iter().enumerate() {
        let Some(fcoe) = flow.transport.as_ref().and_then(|connection| connection.fcoe()) else { continue };
        let Some((name, tables)) = place_of(model, flow) else { continue };
        let switch =
            |what: &dyn Fn(&fabric::spec::NodeSpec) -> bool| spec.nodes.iter().find(|node| what(node));
        let (what, message, help) = if let Some(&(node, peer)) = withheld.get(&number) {
            let (node, peer) = (&spec.nodes[node.at()].name, &spec.nodes[peer.at()].name);
            let message = format!(
                "\"{name}\": \"{node}\" sends nothing to \"{peer}\", because no flow control is in force there for priority {}",
                flow.priority.0
            );
            let help = "T11: FCoE requires lossless Ethernet; expected flow_control.pfc with this priority at both ends, not disabled by DCBX, or requires_lossless = false";
            ("withheld", message, help)
        } else if let Some(switch) = switch(&|node| sprays(node)) {
            let message =
                format!("\"{name}\" needs frames in order, and \"{}\" chooses a path for each", switch.name);
            let help = "an exchange with a reordered frame is aborted after ulp_tov: expected path_choice = \"hash\"";
            ("sprays", message, help)
        } else if let Some(switch) = switch(&|node| may_drop(node, flow)) {
            let message = format!(
                "\"{name}\" is FCoE, and priority {} is not lossless at \"{}\"",
                flow.priority.0, switch.name
            );
            let help = "each loss costs an exchange and ulp_tov: expected flow_control for this priority";
            ("drops", message, help)
        } else if let Some(last) = last_of_all(spec, flow).filter(|&last| last >= fcoe.ulp_tov) {
            let message = format!(
                "\"{name}\": {} exchanges that begin together take at least {last}, and each is aborted after {}",
                fcoe.outstanding, fcoe.ulp_tov
            );
            ("late", message, "expected a longer ulp_tov, or fewer outstanding")
        } else {
            continue;
        };
        if !warned.contains(&(name, what)) {
            warned.push((name, what));
            let at = context.first_written(&tables).unwrap_or_default();
            context.warn(&at, message, help);
        }
    }
}

/// Returns the earliest possible end of a flow's outstanding exchanges, if all of them start at once: the time at which
/// their data have passed the slower of both ends' links.
fn last_of_all(spec: &Spec, flow: &FlowSpec) -> Option<Time> {
    let connection = flow.transport.as_ref()?;
    let links = |node: NodeId| spec.links.iter().filter(move |link| link.a == node || link.b == node);
    let sends = |node: NodeId| links(node).map(|link| link.rate_from(node)).max();
    let receives = |node: NodeId| links(node).map(|link| link.rates[1 - link.direction_from(node)]).max();
    let to = flow.source.destinations.nodes().into_iter().next()?;
    let (turn, rate) = (connection.turn(), sends(flow.from)?.min(receives(to)?));
    let bytes = turn.out.bytes.max(turn.back.bytes) * u64::from(connection.fcoe()?.outstanding);
    Some(rate.time_for_bits_ceil(bytes * 8))
}

/// For each flow, returns an end of one of its routes without flow control for its priority, and the other end of that
/// link.
fn withheld(spec: &Spec) -> BTreeMap<usize, (NodeId, NodeId)> {
    let is_fcoe = |flow: &FlowSpec| {
        let connection = flow.transport.as_ref();
        connection.and_then(|connection| connection.fcoe()).is_some_and(|fcoe| fcoe.requires_lossless)
    };
    if !spec.flows.iter().any(is_fcoe) {
        return BTreeMap::new();
    }
    let mut found = BTreeMap::new();
    for (flow, node, link) in links_at_ends(spec, is_fcoe) {
        if !spec.is_lossless(link, node, spec.flows[flow].priority) {
            let ends = &spec.links[link as usize];
            found.entry(flow).or_insert((node, if ends.a == node { ends.b } else { ends.a }));
        }
    }
    found
}
