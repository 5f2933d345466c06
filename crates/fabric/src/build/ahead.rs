//! Determines which ports process frames ahead of time, and which optimization each uses.

mod arrivals;
mod sole_source;

use super::Plan;
use crate::build::headroom::receive_buffer;
use crate::build::whole::WHOLE;
use crate::run::fabric::Fabric;
use crate::run::state::ahead::MOST;
use crate::run::state::port::PortFeatures;
use crate::run::state::stages::{When, called_at};
use crate::spec::choice::PathChoice;
use crate::spec::{NodeSpec, Spec, SwitchSpec};
use frame::{CONTROL_FRAME_BYTES, NodeId, PortId};
use queueing::{Configuration, Departures, Measures, RateConfiguration};
use std::collections::BTreeSet;
use units::Time;

/// Stages that are called when a queued frame leaves.
const WHEN_LEAVING: PortFeatures = called_at(When::LEAVES);

/// Marks the ports that work ahead of time. Called after the rest of the fabric has been built.
pub fn mark(plan: &Plan, fabric: &mut Fabric) {
    mark_ports(plan, fabric);
    arrivals::mark(plan, fabric);
    sole_source::mark(plan, fabric);
}

/// Sets the bit of ports that send frames ahead of their time: those where only the clock determines the departure of a
/// queued frame.
fn mark_ports(plan: &Plan, fabric: &mut Fabric) {
    let spec = plan.spec;
    // Telemetry carries the queue length at the departure of a frame.
    if !spec.faults.is_empty() || fabric.probes.any_levels() || !fabric.telemetry.is_empty() {
        return;
    }
    let in_use = spec.priorities_in_use();
    let of_flows = spec.flows.iter().fold(0, |set, flow| set | 1 << flow.priority.0);
    let senders = senders(spec);
    for port in fabric.links.ports.keys(WHOLE) {
        let number = fabric.numbering.port(port);
        let node = plan.node(number);
        // A pause is processed at its port even if it stops no class.
        let peer = plan.node(plan.wiring.peer[number as usize].0);
        let paused = sends_pauses(peer);
        // Congestion messages and returned tags go to senders.
        let peer_id = plan.wiring.neighbour(PortId(number));
        let sends = senders.as_ref().is_none_or(|senders| senders.contains(&peer_id));
        let in_use = if sends || peer.switch().is_some() { in_use } else { of_flows };
        let fabric = &mut **fabric;
        let hot = &mut fabric.links.ports[port];
        let one_class = hot.classes.classes_of(in_use).count_ones() <= 1;
        let one_list = fabric.buffers.queues[hot.first_queue].voqs == 1;
        let cold = &mut fabric.links.cold[port];
        let managers = &fabric.links.managers;
        let manager_observes =
            |when: Departures| managers.of_port(hot).any(|managed| managed.departures() == when);
        // The decision of a limit of the queue alone depends only on the frames queued there.
        let memory = fabric.nodes[fabric.node_of[port]].memory();
        let bounded = hot.features.has(PortFeatures::BOUNDED) && !memory.bounds_queues_alone();
        // Trimming a frame changes its queue.
        let interferes = bounded
            || hot.features.has(PortFeatures::TRIMMING)
            || hot.features.has(WHEN_LEAVING)
            || manager_observes(Departures::AtOnce);
        cold.notes_departures =
            manager_observes(Departures::Late) || manager_observes(Departures::LateIfEmpty);
        // A switch that compares queues reads all of them for every frame. So does a switch whose managers measure its
        // memory.
        let compares = |own: &SwitchSpec| {
            own.managers.all().any(|manager| manager.measures() == Measures::Switch)
                || matches!(
                    own.path_choice,
                    PathChoice::LeastQueued | PathChoice::Adaptive(_) | PathChoice::Ugal(_)
                )
        };
        let switch = node.switch().filter(|own| !compares(own));
        hot.features
            .set(PortFeatures::AHEAD, switch.is_some() && one_class && one_list && !paused && !interferes);
    }
}

/// Maximum time that any part processes ahead: from the decision about frames until the last of them has arrived, or
/// until the earliest effect of a pause that is not yet pending.
pub fn reach(plan: &Plan) -> Time {
    let of_port = |port: u32| {
        let (link, peer) = (plan.link(port), plan.wiring.peer[port as usize].0);
        let clock = plan.wire_clock(port, plan.rate(port));
        let on_link = |bytes: u16| clock.span_ceil(u64::from(bytes) + u64::from(link.overhead));
        let frames = on_link(plan.frames.1) * (u64::from(MOST) + 1);
        let pause = on_link(CONTROL_FRAME_BYTES) + plan.response(port);
        frames + pause + link.delay + plan.node(peer).latency()
    };
    (0..plan.wiring.peer.len() as u32).map(of_port).max().unwrap_or_default()
}

/// Nodes whose frames may be answered with a congestion message or a tag. `None`: possibly all, since far ends of
/// connections send too, and receivers of path requests also get messages.
fn senders(spec: &Spec) -> Option<BTreeSet<NodeId>> {
    let measures_paths = |node: &NodeSpec| {
        let limiters = node.host().and_then(|host| host.limiters.as_ref());
        limiters.is_some_and(|limiters| limiters.control.needs_paths())
    };
    let answers =
        spec.nodes.iter().any(measures_paths) || spec.flows.iter().any(|flow| flow.transport.is_some());
    (!answers).then(|| spec.flows.iter().map(|flow| flow.from).collect())
}

/// Returns true if a switch trims frames.
fn trims(spec: &Spec) -> bool {
    spec.nodes.iter().filter_map(NodeSpec::switch).any(|switch| switch.trimming.is_some())
}

/// Returns true if a node pauses its neighbours. A host does if it has a receive buffer.
fn sends_pauses(node: &NodeSpec) -> bool {
    node.pauses().is_some() && (node.switch().is_some() || receive_buffer(node).is_some())
}
