//! Checks the marking of switches against DCQCN. If the maximum marking probability is lower than the fraction of
//! marked packets at which the queue pairs settle, the queue stays at the length from which every packet is marked. If
//! the probability rises steeply, a control loop with a long delay oscillates.

use super::Context;
use crate::model::Model;
use crate::place::Place;
use fabric::spec::{FlowSpec, Spec};
use fabric::{Bottleneck, bottlenecks};
use frame::NodeId;
use queueing::{Action, ManagerEntry, Moment, RedParams};
use std::collections::BTreeSet;
use transport::{CnpScope, DcqcnCrowd, QueuePairSpec};
use units::Amount;

/// Warns once per queue manager in the scenario.
pub fn check(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let by_dcqcn = |flow: &FlowSpec| pairs(flow).is_some_and(|pairs| pairs.control.uses_cnps());
    if !spec.flows.iter().any(by_dcqcn) {
        return;
    }
    let mut warned: Vec<Place> = Vec::new();
    // Ports with equal settings give equal results.
    let mut seen = BTreeSet::new();
    for found in bottlenecks(spec, by_dcqcn) {
        let flow = &spec.flows[found.flow];
        let Some((place, red)) = manager(model, spec, found.switch, flow) else { continue };
        let Some(pairs) = pairs(flow).filter(|_| !warned.contains(&place)) else { continue };
        let crowd = crowd(&found, pairs);
        if !seen.insert((place.clone(), crowd.many, crowd.bps.to_bits(), crowd.cnp_gap, found.round_trip)) {
            continue;
        }
        let Some(rest) = pairs.control.dcqcn_rest(&crowd) else { continue };
        let share = rest.marked;
        if share <= red.max_probability {
            let Some(delay) = delay(&found, &red, share) else { continue };
            let Some(longest) = slope(&red).and_then(|slope| rest.longest_loop(slope)) else { continue };
            if delay > longest {
                warned.push(place.clone());
                let (message, help) = swings(&found, delay, longest);
                context.warn(&place, message, help);
            }
            continue;
        }
        warned.push(place.clone());
        let message = format!(
            "{} queue pairs of DCQCN at \"{}\" are in equilibrium at {:.2} % of marked packets, and max_probability is {:.2} %",
            found.many,
            found.port,
            share * 100.0,
            red.max_probability * 100.0
        );
        let help = format!(
            "their queue stays at max ({}), where each packet is marked: expected a max_probability above {share:.4}",
            red.max
        );
        context.warn(&place, message, help);
    }
}

/// Describes the queue pairs whose bottleneck is this port. Their total rate is that of the port, as long as there is
/// no other traffic.
fn crowd(found: &Bottleneck, pairs: &QueuePairSpec) -> DcqcnCrowd {
    // If CNPs of several queue pairs share a minimum interval, those of each queue pair are rarer by this factor.
    let sharing = if pairs.cnp_scope == CnpScope::Port { found.many.div_ceil(found.receivers) } else { 1 };
    DcqcnCrowd {
        many: found.many,
        bps: found.bps,
        nic_bps: found.nic_bps,
        packet: pairs.frame_bytes(pairs.mtu),
        cnp_gap: pairs.cnp_gap * sharing,
    }
}

/// Returns the increase of the marking probability per queued byte, if it depends on the current queue length.
fn slope(red: &RedParams) -> Option<f64> {
    let (Amount::Bytes(min), Amount::Bytes(max)) = (red.min, red.max) else { return None };
    (red.weight == 1.0 && min < max).then(|| red.max_probability / (max - min) as f64)
}

/// Returns the loop delay: seconds from a mark until the changed rates arrive at the queue. It is one round trip of the
/// path, wherever the queue is on the path, plus the equilibrium queueing delay if packets are marked on enqueue.
fn delay(found: &Bottleneck, red: &RedParams, share: f64) -> Option<f64> {
    let (Amount::Bytes(min), Amount::Bytes(max)) = (red.min, red.max) else { return None };
    let queue = min as f64 + share / red.max_probability * (max - min) as f64;
    let waits = if red.at == Moment::Enqueue { 8.0 * queue / found.bps } else { 0.0 };
    Some(found.round_trip.as_secs_f64() + waits)
}

/// Formats a time in seconds.
fn shown(seconds: f64) -> String {
    if seconds < 1e-6 { format!("{:.0} ns", seconds * 1e9) } else { format!("{:.1} us", seconds * 1e6) }
}

/// Returns the warning about a loop with too long a delay.
fn swings(found: &Bottleneck, delay: f64, longest: f64) -> (String, &'static str) {
    let message = format!(
        "{} queue pairs of DCQCN at \"{}\" are stable with a loop delay of at most {}, and it is {}",
        found.many,
        found.port,
        shown(longest),
        shown(delay)
    );
    (message, "queue and rates oscillate: expected a lower max_probability, or min and max further apart")
}

fn pairs(flow: &FlowSpec) -> Option<&QueuePairSpec> {
    flow.transport.as_ref().and_then(|connection| connection.queue_pairs())
}

/// Returns the RED manager for a flow's frames at a switch, if its marking probability jumps to 1, and the place of its
/// `max_probability`.
fn manager(model: &Model, spec: &Spec, switch: NodeId, flow: &FlowSpec) -> Option<(Place, RedParams)> {
    let node = &spec.nodes[switch.at()];
    let settings = node.switch()?;
    let class = settings.classes.class(flow.priority);
    let red = settings.managers.of_class(class.at()).find_map(queueing::ManagerSpec::red)?;
    if red.gentle || red.action == Action::Drop {
        return None;
    }
    let own = model.switches.get(&node.name).and_then(|own| own.queue_managers.as_ref());
    let table = if own.is_some() { Place::of("switches").key(&node.name) } else { Place::of("switch") };
    let entries = own.or(model.switch.queue_managers.as_ref())?;
    let has_red = |entry: &&ManagerEntry| entry.red.is_some();
    let of_red = |named: &dyn Fn(&ManagerEntry) -> bool| {
        entries.iter().position(|entry| has_red(&entry) && named(entry))
    };
    let index = of_red(&|entry| entry.classes.is_some() && entry.names(u32::from(class.0)))
        .or_else(|| of_red(&|entry| entry.classes.is_none()))?;
    Some((table.key("queue_managers").index(index).key("red").key("max_probability"), red))
}
