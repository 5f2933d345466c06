//! Whether switches mark as those need who go by DCQCN: a queue that marks at most a lower share of packets than they need to
//! come to rest stands at the length from which on each packet is marked, and one whose marks rise steeply swings if the loop is long.

use super::Context;
use super::telemetry::crowds;
use crate::model::Model;
use crate::place::Place;
use fabric::spec::{FlowSpec, Spec};
use frame::NodeId;
use queueing::{Action, ManagerSpec, Moment, RedParams};
use transport::{DcqcnCrowd, RdmaSpec};
use units::{Amount, BitRate};

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
        let Some(rest) = rdma.control.dcqcn_rest(&crowd).filter(|_| !told.contains(&place)) else { continue };
        let share = rest.marked;
        if share <= red.max_probability {
            let Some(delay) = least_delay(spec, flow, to, &crowd, &red, share) else { continue };
            let Some(longest) = slope(&red).and_then(|slope| rest.longest_loop(slope)) else { continue };
            if delay > longest {
                told.push(place.clone());
                let (message, help) = swings(&crowd, &spec.nodes[to.at()].name, delay, longest);
                context.warn(&place, message, help);
            }
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

/// How much larger the share of marked packets is for a byte more in the queue, if marks go by its present length.
fn slope(red: &RedParams) -> Option<f64> {
    let (Amount::Bytes(min), Amount::Bytes(max)) = (red.min, red.max) else { return None };
    (red.weight == 1.0 && min < max).then(|| red.max_probability / (max - min) as f64)
}

/// Seconds from a mark at the switch of a host until the rates that it changes are there: no less than the links at both ends take,
/// and the queue at rest if packets are marked as they enter it.
fn least_delay(
    spec: &Spec,
    flow: &FlowSpec,
    to: NodeId,
    crowd: &DcqcnCrowd,
    red: &RedParams,
    share: f64,
) -> Option<f64> {
    let of_link = |host: NodeId| {
        spec.links.iter().filter(|link| link.a == host || link.b == host).map(|link| link.delay).min()
    };
    let packet = 8.0 * f64::from(crowd.packet) / crowd.bps;
    let both = of_link(flow.from)?.as_secs_f64() + of_link(to)?.as_secs_f64();
    let trip = rdma(flow)?.base_rtt.map_or(2.0 * (both + packet), units::Time::as_secs_f64);
    let (Amount::Bytes(min), Amount::Bytes(max)) = (red.min, red.max) else { return None };
    let queue = min as f64 + share / red.max_probability * (max - min) as f64;
    Some(trip + if red.at == Moment::Enqueue { 8.0 * queue / crowd.bps } else { 0.0 })
}

/// The warning of a loop that is too long.
fn swings(crowd: &DcqcnCrowd, host: &str, delay: f64, longest: f64) -> (String, &'static str) {
    let message = format!(
        "{} queue pairs of DCQCN to \"{host}\" stay at rest if marks take {:.1} us at most to change rates, and they take {:.1} us at least",
        crowd.many,
        longest * 1e6,
        delay * 1e6
    );
    (message, "queue and rates swing: expected a lower max_probability, or min and max further apart")
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
