//! Flows between endpoints with a transport or an application.

use super::Context;
use super::receivers::Pair;
use super::topology::Fabric;
use crate::model::{CarrierText, Flow, Job, Model};
use crate::place::Place;
use fabric::spec::{FaultSpec, FlowSpec, NodeSpec, Role, Spec};
use transport::{Application, ConnectionSpec};
use units::Time;
use workload::{Destinations, FrameSizes, RateBasis};

/// Returns the connection of a flow, if its source has one. Reports and omits an invalid connection.
pub fn lower(
    flow: &Flow,
    sizes: Option<&FrameSizes>,
    end: Time,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<ConnectionSpec> {
    let name = flow.source.application()?.name();
    no_other_keys(flow, name, at, context);
    let segment = match sizes? {
        FrameSizes::Fixed(bytes) => *bytes,
        _ => {
            context.error(
                &at.key("frame"),
                format!("frames of several lengths with {name}"),
                "expected one size like \"1522 B\": the length of a full segment",
            );
            return None;
        }
    };
    let stop = flow.stop.filter(|&stop| stop < end);
    let application = application(flow, segment, &at.key("source").key(name), context)?;
    Some(ConnectionSpec { start: flow.start, stop, application })
}

/// Checks that each sender is a host with one destination. Requires the pairs of the flow.
pub fn check_pairs(flow: &Flow, pairs: &[Pair], at: &Place, fabric: &Fabric, context: &mut Context<'_>) {
    let Some(source) = flow.source.application() else { return };
    let name = source.name();
    if let Some(pair) = pairs.iter().find(|pair| !fabric.is_host(pair.from)) {
        context.error(
            &at.key("from"),
            format!("{name} at the switch \"{}\"", fabric.name(pair.from)),
            "endpoints are at hosts; expected the name of a host",
        );
    }
    if pairs.iter().any(|pair| !matches!(pair.to, Destinations::Fixed(_))) {
        context.error(
            &at.key("to"),
            format!("several destinations with {name}"),
            "a connection has one peer; expected one host, or a permutation",
        );
    } else if source.needs_ring() && !is_ring(pairs) {
        context.error(
            &at.key("to"),
            format!("{name} among hosts that are not a ring"),
            "each host has a neighbour on either side; expected to = { permutation = { shift = 1 } }",
        );
    }
}

/// Returns true if each host is a sender once and a destination once.
fn is_ring(pairs: &[Pair]) -> bool {
    let mut from: Vec<_> = pairs.iter().map(|pair| pair.from).collect();
    let mut to: Vec<_> = pairs.iter().flat_map(|pair| pair.to.nodes()).collect();
    from.sort_unstable();
    to.sort_unstable();
    from == to && from.is_sorted_by(|a, b| a < b)
}

/// Warns of connections that stall after a loss, if a receiving host or a fault can lose a frame.
pub fn check_losses(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let loses = |fault: &FaultSpec| {
        !matches!(
            fault,
            FaultSpec::LinkUp { .. }
                | FaultSpec::LinkRate { .. }
                | FaultSpec::PauseLoss { .. }
                | FaultSpec::Scheduler { .. }
        )
    };
    let fault = spec.faults.iter().any(loses);
    check_jobs(model, spec, fault, context);
    // The flows of the fabric are in the order of the scenario.
    let mut made = spec.flows.iter().peekable();
    for (index, flow) in model.flows.iter().enumerate() {
        let mut full = None;
        let source = flow.source.application().filter(|one| one.waits_for_ever());
        while let Some(made) = made.next_if(|made| is_of(made, flow)) {
            if source.is_none() {
                continue;
            }
            // Both ends receive frames: segments, or replies.
            let ends = made.source.destinations.nodes().into_iter().chain([made.from]);
            let mut nodes = ends.map(|end| &spec.nodes[end.at()]);
            full = full.or_else(|| nodes.find(|node| loses_what_arrives(node, flow.priority)));
        }
        let Some(source) = source else { continue };
        let key = Place::of("flows").index(index).key("source").key(source.name()).key("timeout");
        let why = match full {
            Some(node) => format!("\"{}\" drops frames when its receive buffer is full", node.name),
            None if fault => "a fault can lose a frame".to_string(),
            None => continue,
        };
        context.warn(
            &key,
            format!("{why}, and a connection without a timeout waits for it forever"),
            "expected a time above the longest round trip, like timeout = \"1 ms\"",
        );
    }
}

/// Warns of jobs without a transport if a fault or a receiving host can lose a frame.
fn check_jobs(model: &Model, spec: &Spec, fault: bool, context: &mut Context<'_>) {
    let over_frames = |job: &&(usize, &Job)| job.1.over == CarrierText::Frames;
    let jobs: Vec<(usize, &Job)> = model.jobs.iter().enumerate().collect();
    for (index, job) in jobs.iter().filter(over_frames) {
        let full = spec.nodes.iter().find(|node| loses_what_arrives(node, job.priority));
        let why = match full {
            Some(node) => format!("\"{}\" drops frames when its receive buffer is full", node.name),
            None if fault => "a fault can lose a frame".to_string(),
            None => continue,
        };
        context.warn(
            &Place::of("jobs").index(*index).key("over"),
            format!("{why}, and a job over frames waits for it forever"),
            "expected a transport, as in `over` of transfers: nothing repeats a lost frame",
        );
    }
}

/// Returns true if a host has a limited receive buffer, and no flow control for this priority.
fn loses_what_arrives(node: &NodeSpec, priority: u64) -> bool {
    let Role::Host(host) = &node.role else { return false };
    let kept = node.pauses().map_or(0, |control| control.kind.priorities());
    host.receive.as_ref().is_some_and(|receive| receive.buffer.is_some()) && kept >> priority & 1 == 0
}

/// Returns true if a flow of the fabric comes from this one of the scenario: it has the same name, or that name
/// followed by the sender's.
fn is_of(made: &FlowSpec, flow: &Flow) -> bool {
    let rest = made.name.strip_prefix(flow.name.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}

/// Rejects keys that apply only to sources without a transport.
fn no_other_keys(flow: &Flow, name: &str, at: &Place, context: &mut Context<'_>) {
    if !flow.script.is_empty() {
        context.error(
            &at.key("script"),
            format!("a script with {name}"),
            "a connection has start and stop; expected no script",
        );
    }
    if flow.rate_counts == RateBasis::Wire {
        context.error(
            &at.key("rate_counts"),
            format!("rate_counts = \"wire\" with {name}"),
            "the rate of pacing counts bits of frames; expected \"frame\"",
        );
    }
    if flow.jitter > Time::ZERO {
        let key = flow.source.application().and_then(|application| application.jitter_key());
        let help = match key {
            Some(key) => format!(
                "its ends send when they may; expected no jitter, or {key} = \"{}\" in {name}",
                flow.jitter
            ),
            None => "its ends send when they may; expected no jitter".to_string(),
        };
        context.error(&at.key("jitter"), format!("jitter with {name}"), help);
    }
}

fn application(flow: &Flow, segment: u16, at: &Place, context: &mut Context<'_>) -> Option<Application> {
    match flow.source.application()?.spec(flow.limit.value(), segment) {
        Ok((application, warnings)) => {
            warnings.into_iter().for_each(|why| context.beware(why, at));
            Some(application)
        }
        Err(wrong) => {
            wrong.into_iter().for_each(|why| context.refuse(why, at));
            None
        }
    }
}
