//! Whether switches mark enough for those who go by DCQCN: a queue that marks at most a lower share of packets than they need to
//! come to rest stands at the length from which on each packet is marked.

use super::Context;
use super::telemetry::crowds;
use crate::model::Model;
use crate::place::Place;
use fabric::spec::{FlowSpec, Spec};
use frame::NodeId;
use queueing::{Action, ManagerSpec, RedParams};
use transport::{DcqcnCrowd, RdmaSpec};
use units::BitRate;

/// Warns once for each queue manager of the text.
pub fn check(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let by_dcqcn = |flow: &FlowSpec| rdma(flow).is_some_and(|rdma| rdma.control.hears_cnps());
    if !spec.flows.iter().any(by_dcqcn) {
        return;
    }
    let mut told: Vec<Place> = Vec::new();
    for (to, many) in crowds(spec, by_dcqcn) {
        let Some((switch, rate)) = last_hop(spec, to) else { continue };
        let goes_there = |flow: &&FlowSpec| flow.source.destinations.nodes().contains(&to);
        let Some(flow) = spec.flows.iter().filter(|flow| by_dcqcn(flow)).find(goes_there) else { continue };
        let Some((place, red)) = manager(model, spec, switch, flow) else { continue };
        let Some(rdma) = rdma(flow) else { continue };
        let packet = rdma.frame_bytes(rdma.mtu);
        let crowd = DcqcnCrowd { many, bps: rate.bps_f64(), packet, cnp_gap: rdma.cnp_gap };
        let Some(share) = rdma.control.marked_at_rest(&crowd) else { continue };
        if share <= red.max_probability || told.contains(&place) {
            continue;
        }
        told.push(place.clone());
        let message = format!(
            "{many} queue pairs of DCQCN to \"{}\" come to rest where {:.2} % of packets are marked, and max_probability is {:.2} %",
            spec.nodes[to.at()].name,
            share * 100.0,
            red.max_probability * 100.0
        );
        let help = format!(
            "their queue stands at max ({}), where each packet is marked: expected a max_probability above {share:.4}",
            red.max
        );
        context.warn(&place, message, help);
    }
}

fn rdma(flow: &FlowSpec) -> Option<&RdmaSpec> {
    flow.transport.as_ref().and_then(|connection| connection.rdma())
}

/// The switch that a host with one link is at, and the rate of that.
fn last_hop(spec: &Spec, host: NodeId) -> Option<(NodeId, BitRate)> {
    let mut links = spec.links.iter().filter(|link| link.a == host || link.b == host);
    let link = links.next().filter(|_| links.next().is_none())?;
    let switch = if link.a == host { link.b } else { link.a };
    spec.nodes[switch.at()].switch()?;
    Some((switch, link.rate))
}

/// What marks the frames of a flow at a switch, if that is RED whose marks jump to 1, and where the text says how often.
fn manager(model: &Model, spec: &Spec, switch: NodeId, flow: &FlowSpec) -> Option<(Place, RedParams)> {
    let node = &spec.nodes[switch.at()];
    let settings = node.switch()?;
    let class = settings.classes.class(flow.priority);
    let Some(ManagerSpec::Red(red)) = settings.managers.get(class.at()).copied().flatten() else {
        return None;
    };
    if red.gentle || red.action == Action::Drop {
        return None;
    }
    let own = model.switches.get(&node.name).and_then(|own| own.queue_managers.as_ref());
    let table = if own.is_some() { Place::of("switches").key(&node.name) } else { Place::of("switch") };
    let entries = own.or(model.switch.queue_managers.as_ref())?;
    let named = entries.iter().position(|entry| entry.classes.is_some() && entry.names(u32::from(class.0)));
    let index = named.or_else(|| entries.iter().position(|entry| entry.classes.is_none()))?;
    Some((table.key("queue_managers").index(index).key("red").key("max_probability"), red))
}
