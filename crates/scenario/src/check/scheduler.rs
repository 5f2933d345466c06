//! Schedulers: errors at the ports that they serve.
//!
//! Each scheduler checks its settings for each kind of port to which they apply: the number of queues, the rate of the
//! link, and the frames of all flows. Its remarks are reported at the keys concerned.

use super::Context;
use crate::diagnostics::Severity;
use crate::model::Model;
use crate::place::Place;
use fabric::spec::{FaultSpec, FlowSpec, LinkSpec, NodeSpec, Role};
use frame::{ClassMap, NodeId, Priority};
use keys::Remark;
use scheduling::{Configuration, PortFacts, SchedulerSpec};
use std::collections::BTreeSet;

/// Returns the place of a station's setting: the station's own, or that of all stations.
fn place<'m>(model: &'m Model, node: &'m NodeSpec) -> (&'static str, Option<&'m str>) {
    // A scheduler of all stations may not fit a station with queues of its own. The message then names the station.
    let (all, each, own) = match node.role {
        Role::Host(_) => {
            let own = model.hosts.get(&node.name).map(|it| it.scheduler.is_some() || it.queues.is_some());
            ("host", "hosts", own)
        }
        Role::Switch(_) => {
            let own = model.switches.get(&node.name).map(|it| it.scheduler.is_some() || it.queues.is_some());
            ("switch", "switches", own)
        }
    };
    if own == Some(true) { (each, Some(&node.name)) } else { (all, None) }
}

/// Checks each scheduler for each kind of port that it serves. `used` has the priorities of all frames, bit n for
/// priority n.
pub fn check(
    model: &Model,
    nodes: &[NodeSpec],
    links: &[LinkSpec],
    (flows, used): (&[FlowSpec], u32),
    context: &mut Context<'_>,
) {
    let bounds = frame_bounds(flows);
    let mut seen = BTreeSet::new();
    let mut warned = BTreeSet::new();
    for (link, end) in links.iter().flat_map(|link| [(link, link.a), (link, link.b)]) {
        let node = &nodes[end.at()];
        let (classes, scheduler) = served(node);
        let (table, own) = place(model, node);
        if !seen.insert((table, own, link.rate_from(end), link.overhead)) {
            continue;
        }
        let facts = facts((link, end), classes, bounds);
        let at = own.map_or(Place::of(table), |name| Place::of(table).key(name)).key("scheduler");
        let found = match scheduler.check(&facts) {
            Ok(warnings) => {
                let unused = scheduler.unused(used_classes(classes, used));
                warnings.into_iter().chain(unused).map(|one| (one, Severity::Warning)).collect()
            }
            Err(why) => vec![(why, Severity::Error)],
        };
        for (remark, severity, more) in merged(found) {
            if warned.insert((table, own, remark.message.clone())) {
                report(remark, severity, more, &at, context);
            }
        }
    }
}

/// Checks each scheduler that a port gets during the run, and reports errors at the entry that sets it.
pub fn check_changes(
    faults: &[(usize, FaultSpec)],
    nodes: &[NodeSpec],
    links: &[LinkSpec],
    flows: &[FlowSpec],
    context: &mut Context<'_>,
) {
    let (smallest, largest) = frame_bounds(flows);
    for (entry, fault) in faults {
        let FaultSpec::Scheduler { link, towards, scheduler, .. } = fault else { continue };
        let link = &links[*link as usize];
        let end = if link.a == *towards { link.b } else { link.a };
        let node = &nodes[end.at()];
        let (classes, own) = served(node);
        let at = Place::of("faults").index(*entry).key("scheduler");
        if own.name() != scheduler.name() {
            context.error(
                &at,
                format!("\"{}\" in place of the \"{}\" of \"{}\"", scheduler.name(), own.name(), node.name),
                format!(
                    "expected \"{}\" with other keys: a port keeps the kind of its scheduler",
                    own.name()
                ),
            );
            continue;
        }
        if let Err(why) = scheduler.check(&facts((link, end), classes, (smallest, largest))) {
            for (remark, severity, more) in merged(vec![(why, Severity::Error)]) {
                report(remark, severity, more, &at, context);
            }
        }
    }
}

/// Returns the classes of a station, and the scheduler of its ports.
fn served(node: &NodeSpec) -> (ClassMap, &SchedulerSpec) {
    match &node.role {
        Role::Host(host) => (host.classes, &host.scheduler),
        Role::Switch(switch) => (switch.classes, &switch.scheduler),
    }
}

/// Returns the classes of these priorities.
fn used_classes(classes: ClassMap, used: u32) -> u32 {
    let is_used = |priority: &u32| used >> priority & 1 != 0;
    (0..u32::BITS)
        .filter(is_used)
        .fold(0, |set, priority| set | 1 << classes.class(Priority(priority as u8)).0)
}

/// Returns the properties of a port that its scheduler needs.
fn facts((link, end): (&LinkSpec, NodeId), classes: ClassMap, (smallest, largest): (u16, u16)) -> PortFacts {
    PortFacts {
        queues: classes.classes() as u32,
        rate: link.rate_from(end),
        overhead: u32::from(link.overhead),
        smallest_frame: u32::from(smallest),
        largest_frame: u32::from(largest),
    }
}

/// Returns the length of the shortest and of the longest frame of all flows.
fn frame_bounds(flows: &[FlowSpec]) -> (u16, u16) {
    let bounds = flows.iter().map(|flow| flow.frame_bounds());
    bounds
        .reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))
        .unwrap_or((frame::MIN_FRAME_BYTES, frame::MAX_TAGGED_FRAME_BYTES))
}

/// Merges remarks: one per place, with the number of similar remarks about other queues.
fn merged(found: Vec<(Remark, Severity)>) -> Vec<(Remark, Severity, usize)> {
    let mut kept: Vec<(Remark, Severity, usize)> = Vec::new();
    for (remark, severity) in found {
        match kept.iter_mut().find(|(one, ..)| one.path == remark.path) {
            Some((.., more)) => *more += 1,
            None => kept.push((remark, severity, 0)),
        }
    }
    kept
}

fn report(remark: Remark, severity: Severity, more: usize, at: &Place, context: &mut Context<'_>) {
    let help = match (remark.help, more) {
        (help, _) if !help.is_empty() => help,
        (_, 0) => "it runs, but probably not as intended".to_string(),
        (_, more) => format!("the same holds for {more} more"),
    };
    context.report(severity, &at.along(&remark.path), remark.message, help);
}
