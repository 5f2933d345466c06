//! Whether exchanges over FCoE meet a fabric that loses nothing: where one may lose a frame, an end does not send by the rule of T11,
//! or each loss costs an exchange and its timeout.

use super::Context;
use super::rdma::{may_drop, sprays};
use super::unused::place_of;
use crate::model::Model;
use fabric::spec::{FlowSpec, Spec};
use frame::NodeId;

/// Warns once for each entry of the text and each of its faults.
pub fn check(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let mut told: Vec<(&str, &str)> = Vec::new();
    for flow in &spec.flows {
        let Some(fcoe) = flow.transport.as_ref().and_then(|connection| connection.fcoe()) else { continue };
        let Some((name, tables)) = place_of(model, flow) else { continue };
        let withheld = if fcoe.requires_lossless { withheld(spec, flow) } else { None };
        let switch =
            |what: &dyn Fn(&fabric::spec::NodeSpec) -> bool| spec.nodes.iter().find(|node| what(node));
        let (what, message, help) = if let Some((node, peer)) = withheld {
            let (node, peer) = (&spec.nodes[node.at()].name, &spec.nodes[peer.at()].name);
            let message = format!(
                "\"{name}\": \"{node}\" sends nothing to \"{peer}\", as no flow control is in force there for priority {}",
                flow.priority.0
            );
            let help = "T11: FCoE is sent on lossless Ethernet alone; expected flow_control.pfc with this priority at both ends, which DCBX has to leave in force, or requires_lossless = false";
            ("withheld", message, help)
        } else if let Some(switch) = switch(&|node| sprays(node)) {
            let message =
                format!("\"{name}\" needs frames in order, and \"{}\" chooses a path for each", switch.name);
            let help = "an exchange one of whose frames is overtaken is aborted after ulp_tov: expected path_choice = \"hash\"";
            ("sprays", message, help)
        } else if let Some(switch) = switch(&|node| may_drop(node, flow)) {
            let message = format!(
                "\"{name}\" is FCoE, and nothing keeps priority {} from loss at \"{}\"",
                flow.priority.0, switch.name
            );
            let help = "each loss costs an exchange and ulp_tov: expected flow_control for this priority";
            ("drops", message, help)
        } else {
            continue;
        };
        if !told.contains(&(name, what)) {
            told.push((name, what));
            let at = context.first_written(&tables).unwrap_or_default();
            context.warn(&at, message, help);
        }
    }
}

/// An end of a flow that has a port without flow control for its priority, and the other end of the link there.
fn withheld(spec: &Spec, flow: &FlowSpec) -> Option<(NodeId, NodeId)> {
    let mut ends = [flow.from].into_iter().chain(flow.source.destinations.nodes());
    ends.find_map(|node| {
        let links = (0..).zip(&spec.links).filter(|(_, link)| link.a == node || link.b == node);
        let mut bare = links.filter(|&(link, _)| !spec.is_lossless(link, node, flow.priority));
        bare.next().map(|(_, link)| (node, if link.a == node { link.b } else { link.a }))
    })
}
