//! Keys without effect, because the scenario has nothing that they apply to.
//!
//! These warnings require the flows or the settings of all stations. Other keys without effect are reported by their
//! mechanisms.

use super::{Context, trimming};
use crate::model::{CarrierText, Flow, Model, ProbesText, Simulation, SourceText, Transfers, WhatText};
use crate::place::Place;
use fabric::PauseNeeds;
use fabric::spec::{FaultSpec, FlowSpec, LimiterSpec, NodeSpec, OnDeadlock, OnLosslessDrop, Spec};
use frame::Priority;
use keys::{Remark, Unused, unused};
use queueing::Configuration;
use std::collections::BTreeMap;
use transport::{Application, ApplicationSpec};
use units::Time;
use workload::{Arrivals, ArrivalsText, RateBasis};

/// Reports all of these warnings. `entries` has the entry of the text for each fault.
pub fn check(model: &Model, spec: &Spec, needs: &[PauseNeeds], entries: &[usize], context: &mut Context<'_>) {
    let is_controlled = |node: &NodeSpec| node.pauses().is_some() || node.credits().is_some();
    simulation(&model.simulation, spec.nodes.iter().any(is_controlled), context);
    pauses(model, needs, context);
    probes(model, spec.nodes.iter().any(|node| node.pauses().is_some()), context);
    warmup(model, spec, context);
    limiters(model, spec, context);
    nics(model, spec, context);
    marks(model, spec, context);
    trimming::check(model, spec, context);
    bypassable(model, spec, context);
    colors(model, spec, context);
    pause_losses(spec, needs, entries, context);
}

const LINK_CONTROL: &str = "flow control of links";

fn simulation(simulation: &Simulation, is_controlled: bool, context: &mut Context<'_>) {
    let usual = Simulation {
        on_lossless_drop: OnLosslessDrop::default(),
        on_deadlock: OnDeadlock::default(),
        deadlock_interval: crate::model::hundred_us(),
        ..simulation.clone()
    };
    let found = Unused::of(simulation, &usual).unless(
        is_controlled,
        LINK_CONTROL,
        &["on_lossless_drop", "on_deadlock", "deadlock_interval"],
    );
    context.unused(found.remarks(), &Place::of("simulation"));
}

/// Warns of flow control by pauses if no station sends any.
fn pauses(model: &Model, needs: &[PauseNeeds], context: &mut Context<'_>) {
    if model.flow_control.pauses() && needs.iter().all(|need| need.pauses == 0) {
        let message = "flow control, but no station sends pauses";
        let help = "it has no effect: switches send pauses, and hosts with a receive buffer";
        context.warn(&Place::of("flow_control"), message, help);
    }
}

fn probes(model: &Model, pauses: bool, context: &mut Context<'_>) {
    let ProbesText::Chosen(list) = &model.probes else { return };
    if let Some(at) = list.iter().position(|probe| probe.what == WhatText::Pauses).filter(|_| !pauses) {
        let message = "a list of pauses, and no station sends any";
        context.beware(
            Remark::about("what", message, "it needs flow_control with pause or pfc"),
            &Place::of("probes").index(at),
        );
    }
}

/// Warns of traffic that ends before the totals and statistics begin, or begins before they do, so that they miss it.
fn warmup(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let warmup = spec.warmup;
    if warmup == Time::ZERO {
        return;
    }
    let at = Place::of("simulation").key("warmup");
    let help = "expected a shorter warm-up, or later traffic";
    for flow in &model.flows {
        if flow.stop.is_some_and(|stop| stop <= warmup && flow.start < stop) {
            let message = format!("flow \"{}\" ends within the warm-up of {warmup}", flow.name);
            return context.warn(&at, message, format!("totals do not include it: {help}"));
        }
    }
    let mut begun: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for flow in &spec.flows {
        let Some(list) = flow.source.transfers() else { continue };
        let counts = begun.entry(entry_name(flow)).or_default();
        counts.0 += list.iter().filter(|one| one.start < warmup).count();
        counts.1 += list.len();
    }
    for (name, (hidden, all)) in begun {
        if hidden == all && all > 0 {
            let message = format!("all {all} transfers of \"{name}\" begin within the warm-up of {warmup}");
            return context.warn(&at, message, format!("statistics count none of them: {help}"));
        }
    }
}

/// Returns the name of the entry of `transfers` from which a flow was created.
fn entry_name(flow: &FlowSpec) -> &str {
    flow.name.split('[').next().unwrap_or(&flow.name)
}

/// Warns about RDMA settings of NICs in scenarios without RDMA, and about such keys without effect.
fn nics(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let own = model.hosts.iter().map(|(name, own)| (Place::of("hosts").key(name), &own.rdma));
    let is_rdma = |flow: &FlowSpec| flow.transport.as_ref().is_some_and(|it| it.queue_pairs().is_some());
    let sent = spec.flows.iter().any(is_rdma);
    for (at, keys) in [(Place::of("host"), &model.host.rdma)].into_iter().chain(own) {
        let Some(keys) = keys else { continue };
        if !sent {
            context.beware(unused("rdma", "flows or transfers over RDMA"), &at);
        }
        context.unused(keys.unused(), &at.key("rdma"));
    }
}

/// Warns of priorities and marks of rate limiters without effect.
fn limiters(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let used = spec.flows.iter().fold(0u32, |set, flow| set | 1 << flow.priority.0);
    let own = |(name, own): (&String, &crate::model::HostSettings)| {
        Some((Place::of("hosts").key(name), own.rate_limiters.clone()?))
    };
    let all = model.host.rate_limiters.clone().map(|all| (Place::of("host"), all));
    for (at, keys) in all.into_iter().chain(model.hosts.iter().filter_map(own)) {
        let at = at.key("rate_limiters");
        for (index, &priority) in keys.priorities.iter().flatten().enumerate() {
            if used >> priority & 1 == 0 {
                let message = format!("priority {priority} passes rate limiters, but no flow uses it");
                let remark = Remark::about("priorities", message, used_priorities(used)).entry(index);
                context.beware(remark, &at);
            }
        }
        let marked = |flow: &FlowSpec| {
            understands_marks(flow)
                && keys.priorities.as_ref().is_none_or(|list| list.contains(&flow.priority.0.into()))
        };
        if keys.mark_after.value().is_some() && !spec.flows.iter().any(marked) {
            let needs = format!("flows that understand marks: {}", Application::MARKED);
            context.beware(unused("mark_after", &needs), &at);
        }
    }
}

/// Lists the priorities that flows use, in words.
pub fn used_priorities(used: u32) -> String {
    let list: Vec<String> = (0..u32::BITS).filter(|p| used >> p & 1 != 0).map(|p| p.to_string()).collect();
    if list.is_empty() {
        "there are no flows".into()
    } else {
        format!("flows use priority {}", list.join(", "))
    }
}

fn understands_marks(flow: &FlowSpec) -> bool {
    flow.transport.as_ref().is_some_and(|connection| connection.application.understands_marks())
}

/// Warns of connections that react to marks if no switch marks their frames.
fn marks(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let marks_class = |priority: Priority| {
        spec.nodes.iter().filter_map(NodeSpec::switch).any(|switch| {
            let mut managers = switch.managers.of_class(switch.classes.class(priority).at());
            managers.any(|it| queueing::Configuration::unmarked(it).is_some())
        })
    };
    let limiter_marks = |own: &LimiterSpec, priority: Priority| {
        own.mark_after.is_some() && own.priorities >> priority.0 & 1 != 0
    };
    let hosts = || spec.nodes.iter().filter_map(NodeSpec::host).filter_map(|host| host.limiters.as_ref());
    let is_marked =
        |priority: Priority| marks_class(priority) || hosts().any(|own| limiter_marks(own, priority));
    let mut warned: Vec<&str> = Vec::new();
    for flow in spec.flows.iter().filter(|flow| understands_marks(flow) && !is_marked(flow.priority)) {
        let Some((name, tables)) = place_of(model, flow).filter(|(name, _)| !warned.contains(name)) else {
            continue;
        };
        warned.push(name);
        let written: Vec<Place> = tables.iter().map(|table| table.key("ecn")).chain(tables.clone()).collect();
        let at = context.first_written(&written).unwrap_or_default();
        let class = flow.priority.0;
        let message =
            format!("\"{name}\" reacts to marks (ECN), and nothing marks frames of priority {class}");
        let help = "it has no effect: expected queue_managers that mark, like { step = { threshold = \"50 kB\" } }, in the switches";
        context.warn(&at, message, help);
    }
}

/// Returns the name of the entry from which a flow was created, and the tables that may define its connection.
pub fn place_of<'m>(model: &'m Model, flow: &FlowSpec) -> Option<(&'m str, Vec<Place>)> {
    if let Some(i) = model.transfers.iter().position(|entry| entry.name == entry_name(flow)) {
        let at = Place::of("transfers").index(i).key("over");
        return Some((
            &model.transfers[i].name,
            vec![
                at.key("rdma").key("control"),
                at.key("uet").key("control"),
                at.key("mrc").key("control"),
                at.key("rdma"),
                at.key("uet"),
                at.key("mrc"),
                at.key("tcp"),
                at,
            ],
        ));
    }
    if let Some(i) = model.jobs.iter().position(|job| job.name == entry_name(flow)) {
        let at = Place::of("jobs").index(i).key("over");
        let job = Place::of("jobs").index(i);
        let uet = at.key("uet");
        let tables = vec![
            at.key("rdma").key("control"),
            uet.key("control"),
            at.key("rdma"),
            uet,
            at.key("mrc"),
            at.key("tcp"),
            at,
            job,
        ];
        return Some((&model.jobs[i].name, tables));
    }
    let is_its = |entry: &Flow| entry.name == flow.name || entry.name == entry_name(flow);
    let i = model.flows.iter().position(is_its)?;
    let source = Place::of("flows").index(i).key("source");
    let at = source.key(model.flows[i].source.name());
    let (over, uet) = (at.key("rdma"), at.key("uet"));
    let tables = vec![
        over.key("control"),
        over,
        uet.key("control"),
        uet,
        at.key("control"),
        at.key("tcp"),
        at,
        source,
    ];
    Some((&model.flows[i].name, tables))
}

/// Warns of colors without effect at any queue manager, and of settings of managers for colors that no flow has.
fn colors(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    if !spec.managers().any(|manager| !manager.colors().is_empty()) {
        let needs = "queue_managers with `yellow` or `red` of red";
        let flows = model.flows.iter().map(|flow| flow.color).enumerate();
        let flows = flows.map(|(index, color)| (Place::of("flows").index(index), color));
        let transfers = model.transfers.iter().map(|entry| entry.color).enumerate();
        let transfers = transfers.map(|(index, color)| (Place::of("transfers").index(index), color));
        for (at, _) in flows.chain(transfers).filter(|(_, color)| color.is_some()) {
            context.beware(unused("color", needs), &at);
        }
        let own = model.switches.iter().map(|(name, own)| (Place::of("switches").key(name), own));
        for (at, own) in [(Place::of("switch"), &model.switch)].into_iter().chain(own) {
            if own.maps.as_ref().is_some_and(|maps| maps.dscp_to_color.is_some()) {
                context.beware(unused("dscp_to_color", needs), &at.key("maps"));
            }
        }
    }
    let own = model.switches.iter().map(|(name, own)| (Place::of("switches").key(name), own));
    for (at, own) in [(Place::of("switch"), &model.switch)].into_iter().chain(own) {
        for (index, entry) in own.queue_managers.iter().flatten().enumerate() {
            let Ok(manager) = entry.manager() else { continue };
            let at = at.key("queue_managers").index(index).key(manager.name());
            for color in manager.colors() {
                if spec.flows.iter().all(|flow| flow.color != color) {
                    let needs = format!(
                        "flows with color = \"{0}\", or a DSCP that is {0} by dscp_to_color",
                        color.name()
                    );
                    context.beware(unused(color.name(), &needs), &at);
                }
            }
        }
    }
}

/// Warns of flows whose frames may be bypassed, but whose channels have no bypass queue.
fn bypassable(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let has_queue = |flow: &FlowSpec| {
        let credits = spec.nodes.iter().filter_map(NodeSpec::credits);
        credits.into_iter().any(|own| own.bypassable >> own.channels.class(flow.priority).0 & 1 != 0)
    };
    for (i, entry) in model.flows.iter().enumerate().filter(|(_, entry)| entry.bypassable) {
        let mut made =
            spec.flows.iter().filter(|flow| flow.name == entry.name || entry_name(flow) == entry.name);
        if !made.any(has_queue) {
            let needs = "a channel \"B0\" to \"B7\" of [flow_control.credit]";
            context.beware(unused("bypassable", needs), &Place::of("flows").index(i));
        }
    }
}

/// Warns of losses of pauses on links without flow control by pauses.
fn pause_losses(spec: &Spec, needs: &[PauseNeeds], entries: &[usize], context: &mut Context<'_>) {
    let mut lost: BTreeMap<usize, bool> = BTreeMap::new();
    for (fault, &entry) in spec.faults.iter().zip(entries) {
        let FaultSpec::PauseLoss { link, .. } = fault else { continue };
        let link = &spec.links[*link as usize];
        let ends = [(link.a, link.b), (link.b, link.a)];
        let has_pauses = needs.iter().any(|need| need.pauses != 0 && ends.contains(&(need.node, need.peer)));
        *lost.entry(entry).or_default() |= has_pauses;
    }
    for (entry, _) in lost.into_iter().filter(|(_, matters)| !matters) {
        let needs = "a link whose ends send pauses: flow_control with pause or pfc";
        context.beware(unused("pause_loss", needs), &Place::of("faults").index(entry));
    }
}

/// Warns of `rate_counts` without effect, and of steps after the end of a source.
pub fn of_flow(flow: &Flow, end: Time, at: &Place, context: &mut Context<'_>) {
    if let SourceText::Pushed(arrivals) = &flow.source {
        context.unused(arrivals.unused(), &at.key("source"));
        if flow.rate_counts != RateBasis::default() && !arrivals.counts_rate() {
            let needs = match arrivals {
                Arrivals::Greedy => "a source with a rate: a greedy one sends at line rate",
                _ => "a source that uses rate_counts: this one defines its own unit",
            };
            context.beware(unused("rate_counts", needs), at);
        }
    }
    for (i, step) in flow.script.iter().enumerate() {
        if let Some(stop) = flow.stop.filter(|&stop| stop < end && step.at >= stop) {
            let message = format!("at {} is not before the end of \"{}\" at {stop}", step.at, flow.name);
            let place = at.key("script").index(i).key("at");
            return context.warn(&place, message, "it has no effect: expected a step before `stop`");
        }
    }
}

/// Warns of keys without effect if each sender starts one transfer, at `start`.
pub fn of_once(entry: &Transfers, end: Time, at: &Place, context: &mut Context<'_>) {
    if entry.arrivals != ArrivalsText::Once {
        return;
    }
    let needs = "repeated arrivals: \"once\" begins at `start`";
    if entry.stop.is_some_and(|stop| stop < end) {
        context.beware(unused("stop", needs), at);
    }
    if let CarrierText::Tcp(keys) = &entry.over
        && keys.reconnects()
    {
        context.unused(vec![unused("reconnect", needs)], &at.key("over").key("tcp"));
    }
}
