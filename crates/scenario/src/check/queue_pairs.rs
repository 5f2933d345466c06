//! Checks that the fabric suits the loss recovery of queue pairs. Go-back-N retransmits everything from a lost packet
//! on, and treats a reordered packet as lost; and no acknowledgement arrives in less than a round trip.

use super::Context;
use super::telemetry::{Distances, rate_of};
use super::unused::place_of;
use crate::model::Model;
use crate::place::Place;
use fabric::RoundTrips;
use fabric::choice::PathChoice;
use fabric::spec::{FlowSpec, NodeSpec, Spec};
use transport::{QueuePairRecovery, QueuePairSpec, QueuePairTimeouts};
use units::Time;

/// Warns once per entry of the scenario.
pub fn check(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    check_timeouts(model, spec, context);
    check_least_rates(model, spec, context);
    check_targets(model, spec, context);
    check_overtaking(model, spec, context);
    check_paths(model, spec, context);
    let mut warned: Vec<&str> = Vec::new();
    for flow in spec.flows.iter().filter(|flow| goes_back(flow)) {
        let Some((name, tables)) = place_of(model, flow).filter(|(name, _)| !warned.contains(name)) else {
            continue;
        };
        warned.push(name);
        let written: Vec<_> =
            tables.iter().map(|table| table.key("recovery")).chain(tables.clone()).collect();
        let at = context.first_written(&written).unwrap_or_default();
        if let Some(switch) = spec.nodes.iter().find(|node| sprays(node)) {
            let message = format!(
                "\"{name}\" uses go-back-N, and \"{}\" chooses a path for each frame: a reordered packet counts as lost",
                switch.name
            );
            let help = "each sends all packets behind it again, and little else gets through: expected recovery = \"reordering\", or path_choice = \"hash\"";
            context.warn(&at, message, help);
        } else if let Some(switch) = spec.nodes.iter().find(|node| may_drop(node, flow)) {
            let message = format!(
                "\"{name}\" uses go-back-N, and priority {} is not lossless at \"{}\"",
                flow.priority.0, switch.name
            );
            let help = "each loss sends all packets behind it again: expected flow_control for this priority, or recovery = \"selective\"";
            context.warn(&at, message, help);
        }
    }
}

/// Warns of timeouts that expire before a reply can arrive.
fn check_timeouts(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let mut warned: Vec<&str> = Vec::new();
    let longest = QueuePairTimeouts::LONGEST;
    let is_short = |flow: &FlowSpec| soonest(flow).is_some_and(|timeout| timeout < longest);
    if !spec.flows.iter().any(is_short) {
        return;
    }
    for (flow, round_trip) in fabric::round_trips(spec, is_short) {
        let flow = &spec.flows[flow];
        let Some((timeout, why)) = too_soon(flow, round_trip) else { continue };
        let Some((name, tables)) = place_of(model, flow).filter(|(name, _)| !warned.contains(name)) else {
            continue;
        };
        warned.push(name);
        let keys = ["low_timeout", "timeout"].map(|key| tables.iter().map(move |table| table.key(key)));
        let written: Vec<_> = keys.into_iter().flatten().chain(tables.clone()).collect();
        let at = context.first_written(&written).unwrap_or_default();
        let message = format!("\"{name}\" retransmits after {timeout}, and {why}");
        let help = "every packet is retransmitted until the queue pair enters the error state (retries): expected a timeout that leaves room for queues";
        context.warn(&at, message, help);
    }
}

/// Warns of controls whose minimum rate is not lower than the rate of their link, so that they cannot slow down.
fn check_least_rates(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let mut warned: Vec<&str> = Vec::new();
    for flow in &spec.flows {
        let Some(pairs) = flow.transport.as_ref().and_then(|connection| connection.queue_pairs()) else {
            continue;
        };
        let Some(least) = pairs.control.least_rate() else { continue };
        let Some(rate) = rate_of(spec, flow.from).filter(|&rate| rate <= least) else { continue };
        let Some((name, tables)) = place_of(model, flow).filter(|(name, _)| !warned.contains(name)) else {
            continue;
        };
        let own = |table: &Place| table.key(pairs.control.name()).key("min_rate");
        let Some(at) = context.first_written(&tables.iter().map(own).collect::<Vec<_>>()) else { continue };
        warned.push(name);
        let message = format!(
            "\"{name}\" sends no slower than \"{least}\", and \"{}\" has \"{rate}\"",
            spec.nodes[flow.from.at()].name
        );
        context.warn(&at, message, "its control changes nothing: expected a min_rate below that of the link");
    }
}

/// Returns a timeout of a flow that expires before the slowest reply that its settings allow, and the reason.
fn too_soon(flow: &FlowSpec, trips: RoundTrips) -> Option<(Time, String)> {
    let us = |time: Time| time.as_secs_f64() * 1e6;
    let pairs = flow.transport.as_ref().and_then(|connection| connection.queue_pairs())?;
    let QueuePairTimeouts { high, .. } = pairs.timeouts;
    if let Some(timeout) = soonest(flow).filter(|&timeout| timeout <= trips.empty) {
        return Some((
            timeout,
            format!("a packet and its response take {:.1} us without queues", us(trips.empty)),
        ));
    }
    if high <= trips.full {
        let why = format!(
            "a packet and its response take {:.1} us if the longest queue on their path is full",
            us(trips.full)
        );
        return Some((high, why));
    }
    // The requester of a READ runs the timer, whereas the responder sends at the rate of its control.
    let least = pairs.control.least_rate().filter(|_| pairs.request().is_some())?;
    let packet = least.time_for_bits_ceil(8 * u64::from(pairs.frame_bytes(pairs.mtu)));
    (high <= packet).then(|| {
        (high, format!("a packet takes {:.1} us at the least rate of its control ({least})", us(packet)))
    })
}

/// Warns of controls whose target delay is lower than the round trip without queueing, so that they never reach the
/// rate of their path.
fn check_targets(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let has_target =
        |flow: &FlowSpec| pairs_of(flow).is_some_and(|pairs| pairs.control.delay_target(0, 1.0).is_some());
    if !spec.flows.iter().any(has_target) {
        return;
    }
    let mut warned: Vec<&str> = Vec::new();
    let mut distances = Distances::new(spec);
    for (flow, round_trip) in fabric::round_trips(spec, has_target) {
        let round_trip = round_trip.empty;
        let flow = &spec.flows[flow];
        let (Some(pairs), Some(rate)) = (pairs_of(flow), rate_of(spec, flow.from)) else { continue };
        let Some((name, tables)) = place_of(model, flow).filter(|(name, _)| !warned.contains(name)) else {
            continue;
        };
        let to = flow.source.destinations.nodes();
        let hops = to.iter().map(|&to| distances.switches(flow.from, to)).max().unwrap_or_default();
        // The window that fills the path. A smaller window has a longer target delay, but does not reach the rate of
        // the link.
        let packet = f64::from(pairs.frame_bytes(pairs.mtu)) * 8.0;
        let fills = (rate.bps_f64() * round_trip.as_secs_f64() / packet).max(1.0);
        let hops = u16::try_from(hops).unwrap_or(u16::MAX);
        let Some((key, target)) = pairs.control.delay_target(hops, fills) else { continue };
        if target >= round_trip {
            continue;
        }
        warned.push(name);
        let us = |time: Time| time.as_secs_f64() * 1e6;
        let own = |table: &Place| table.key(pairs.control.name()).key(key);
        let written: Vec<_> = tables.iter().map(own).chain(tables.clone()).collect();
        let message = format!(
            "the target of \"{name}\" is a round trip of {:.1} us, and a packet and its response take {:.1} us without queues",
            us(target),
            us(round_trip)
        );
        let help = format!(
            "{} reduces its rate although no queue builds up: expected a {key} above the round trip",
            pairs.control.name()
        );
        context.warn(&context.first_written(&written).unwrap_or_default(), message, help);
    }
}

/// Warns of selective repeat where packets are reordered: the receiver answers each packet out of order with a NAK.
fn check_overtaking(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let switch = spec.nodes.iter().find(|node| sprays(node));
    let mut warned: Vec<&str> = Vec::new();
    let is_selective =
        |flow: &&FlowSpec| pairs_of(flow).is_some_and(|pairs| pairs.recovery == QueuePairRecovery::Selective);
    for flow in spec.flows.iter().filter(is_selective) {
        let Some((name, tables)) = place_of(model, flow).filter(|(name, _)| !warned.contains(name)) else {
            continue;
        };
        warned.push(name);
        let written: Vec<_> =
            tables.iter().map(|table| table.key("recovery")).chain(tables.clone()).collect();
        let by_sender = pairs_of(flow).is_some_and(|pairs| pairs.paths.sprays());
        let who = match switch {
            _ if by_sender => "its sender".to_string(),
            Some(switch) => format!("\"{}\"", switch.name),
            None => continue,
        };
        let message = format!(
            "\"{name}\" uses selective repeat, and {who} chooses a path for each frame: a reordered packet is retransmitted"
        );
        let help = "messages take longer although nothing is lost: expected recovery = \"reordering\", which distinguishes losses from reordering, path_choice = \"hash\", or \"flowlet\" with a gap that keeps packets in order";
        context.warn(&context.first_written(&written).unwrap_or_default(), message, help);
    }
}

/// Warns of a path selection if no switch that hashes has several paths.
fn check_paths(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let hashes = |choice| matches!(choice, PathChoice::Hash(_));
    // MRC has no path selection other than its own paths.
    let is_mrc = |flow: &&FlowSpec| {
        let connection = flow.transport.as_deref().and_then(|connection| connection.uet());
        connection.is_some_and(|uet| uet.mrc.is_some())
    };
    let mut choosing = spec.flows.iter().filter(|flow| flow.gives_entropy() && !is_mrc(flow)).peekable();
    if choosing.peek().is_none() || fabric::forwarding::has_equal_paths(spec, hashes) != Some(false) {
        return;
    }
    let Some((_, tables)) = choosing.next().and_then(|flow| place_of(model, flow)) else { return };
    let written: Vec<_> = tables.iter().map(|table| table.key("paths")).chain(tables.clone()).collect();
    let at = context.first_written(&written).unwrap_or_default();
    let message = "`paths` changes nothing here";
    context.warn(&at, message, "it needs switches that hash, with several equal paths to a destination");
}

fn pairs_of(flow: &FlowSpec) -> Option<&QueuePairSpec> {
    flow.transport.as_ref().and_then(|connection| connection.queue_pairs())
}

/// Returns the shorter timeout of a flow with queue pairs.
fn soonest(flow: &FlowSpec) -> Option<Time> {
    let pairs = flow.transport.as_ref().and_then(|connection| connection.queue_pairs())?;
    Some(pairs.timeouts.low.min(pairs.timeouts.high))
}

fn goes_back(flow: &FlowSpec) -> bool {
    let pairs = flow.transport.as_ref().and_then(|connection| connection.queue_pairs());
    pairs.is_some_and(|pairs| pairs.recovery == QueuePairRecovery::GoBackN)
}

/// Returns true if a node may reorder frames of a queue pair. Flowlets keep the order if their gap is long enough.
pub(super) fn sprays(node: &NodeSpec) -> bool {
    let choice = node.switch().map(|switch| &switch.path_choice);
    matches!(
        choice,
        Some(
            PathChoice::Spray
                | PathChoice::RoundRobin
                | PathChoice::LeastQueued
                | PathChoice::Adaptive(_)
                | PathChoice::Valiant
                | PathChoice::Ugal(_)
        )
    )
}

/// Returns true for a switch with a limit that frames of this priority may exceed, and without flow control for the
/// priority.
pub(super) fn may_drop(node: &NodeSpec, flow: &FlowSpec) -> bool {
    let Some(switch) = node.switch() else { return false };
    let buffer = &switch.buffer;
    let bounded = [buffer.queue, buffer.port, buffer.class, buffer.total].iter().any(Option::is_some)
        || switch.shared_memory.is_some()
        || switch.pools.is_some();
    let kept = node.pauses().map_or(0, |control| control.kind.priorities());
    bounded && node.credits().is_none() && kept >> flow.priority.0 & 1 == 0
}
