//! Checks of probes: bin widths, and patterns that match nothing.

use super::Context;
use crate::model::{Model, ProbeText, Probes, ProbesText, WhatText, WhichText};
use crate::place::Place;
use fabric::routing::Wiring;
use fabric::spec::{NodeSpec, Pattern, Probe, ProbeSpec, Spec, Which};
use frame::{NodeId, PRIORITIES, PortId};
use units::Time;

/// Maximum number of bins. More do not fit into a plot or, with many flows, into memory. The docs of the keys `bin` and
/// `every` state this limit.
const MAX_BINS: u64 = 1_000_000;
/// Maximum length of a list of the busiest places.
const MOST_BUSIEST: u32 = 10_000;
/// Maximum number of rows; more need another file format. The docs of the key `max_rows` state this limit.
const MAX_ROWS: u64 = 1_000_000;
/// Maximum sampling interval. The docs of the key `one_in` state this limit.
const MOST_ONE_IN: u64 = 1_000_000_000;

/// Converts the probes. [`names`] checks their patterns later, when all names are known.
pub fn lower(model: &Model, context: &mut Context<'_>) -> ProbeSpec {
    let at = Place::of("probes");
    match &model.probes {
        ProbesText::All(Probes { bin, pauses }) => {
            let bin = bin.and_then(|bin| bin.value());
            if let Some(bin) = bin {
                width(&at.key("bin"), "bin", bin, model.simulation.duration, context);
            }
            ProbeSpec { bin, pauses: *pauses, chosen: None }
        }
        ProbesText::Chosen(list) => {
            let mut chosen = Vec::new();
            for (number, probe) in list.iter().enumerate() {
                chosen.extend(one(probe, &at.index(number), model, context));
            }
            let pauses = list.iter().any(|probe| probe.what == WhatText::Pauses);
            ProbeSpec { bin: None, pauses, chosen: Some(chosen) }
        }
    }
}

fn one(probe: &ProbeText, at: &Place, model: &Model, context: &mut Context<'_>) -> Option<Probe> {
    keys_of_others(probe, at, context);
    if let Some(every) = probe.every {
        width(&at.key("every"), "every", every, model.simulation.duration, context);
    }
    let is_pauses = probe.what == WhatText::Pauses;
    let which = match &probe.which {
        None => Which::All,
        Some(WhichText::One(text)) if text == "all" => Which::All,
        Some(WhichText::One(text)) if counts(text) => ranked(text, is_pauses, at, context)?,
        Some(which) => Which::Named(which.texts().into_iter().map(Pattern::new).collect()),
    };
    let mut count = |key: &str, value: Option<u64>, most: u64| {
        let value = value?;
        if !(1..=most).contains(&value) {
            context.error(
                &at.key(key),
                format!("{key} = {value}"),
                format!("expected a count from 1 to {most}"),
            );
        }
        Some(value)
    };
    let max_rows = count("max_rows", probe.max_rows, MAX_ROWS).unwrap_or(u64::MAX);
    let one_in = count("one_in", probe.one_in, MOST_ONE_IN).unwrap_or(1);
    if let Some(start) = probe.start
        && start >= model.simulation.duration
    {
        let help =
            format!("expected a time before the end of the run: duration is {}", model.simulation.duration);
        context.error(&at.key("start"), format!("start {start} is after the end"), help);
    }
    let start = probe.start.unwrap_or_default();
    Some(Probe { what: probe.what.watched(), which, every: probe.every, max_rows, one_in, start })
}

/// Rejects keys that do not apply to this kind of probe.
fn keys_of_others(probe: &ProbeText, at: &Place, context: &mut Context<'_>) {
    let what = probe.what;
    if probe.every.is_some() && !what.has_bins() {
        let help = "leave it out: bins of time have flow, port, class, queue and occupancy";
        context.error(&at.key("every"), format!("{} have no bins", name(what)), help);
    }
    if probe.max_rows.is_some() && !matches!(what, WhatText::Pauses | WhatText::Frames) {
        let help = "leave it out: it counts pauses or frames";
        context.error(&at.key("max_rows"), format!("{} have no rows to count", name(what)), help);
    }
    for (key, given) in [("one_in", probe.one_in.is_some()), ("start", probe.start.is_some())] {
        if given && what != WhatText::Frames {
            let help = "leave it out: it is for what = \"frames\"";
            context.error(&at.key(key), format!("{} have no {key}", name(what)), help);
        }
    }
}

/// Returns the name of a kind of probe, for messages.
fn name(what: WhatText) -> &'static str {
    match what {
        WhatText::Flow | WhatText::Port | WhatText::Class | WhatText::Queue => "time series",
        WhatText::Occupancy => "occupancies",
        WhatText::Latency => "latencies",
        WhatText::Pauses => "pauses",
        WhatText::Frames => "frames",
    }
}

/// Returns true for a text such as "the 20 busiest".
fn counts(text: &str) -> bool {
    text.ends_with("busiest") || text.ends_with("longest")
}

/// Parses "the 20 busiest" or, for pauses, "the 20 longest".
fn ranked(text: &str, is_pauses: bool, at: &Place, context: &mut Context<'_>) -> Option<Which> {
    let rank = if is_pauses { "longest" } else { "busiest" };
    let number = text.strip_suffix(rank).map(str::trim);
    let number = number.map(|number| number.strip_prefix("the").unwrap_or(number).trim());
    match number.and_then(|number| number.parse().ok()) {
        Some(most) if (1..=MOST_BUSIEST).contains(&most) => Some(Which::Busiest(most)),
        _ => {
            context.error(
                &at.key("which"),
                format!("\"{text}\" selects nothing"),
                format!("expected a number from 1 to {MOST_BUSIEST}, as in \"the 20 {rank}\""),
            );
            None
        }
    }
}

fn width(at: &Place, key: &str, bin: Time, duration: Time, context: &mut Context<'_>) {
    let off = if key == "bin" { ", or \"off\"" } else { "" };
    if bin == Time::ZERO {
        context.error(at, format!("{key} is 0"), format!("expected a time above 0{off}"));
    } else if duration.ps() / bin.ps() > MAX_BINS {
        context.error(
            at,
            format!("{key} {bin} makes {} bins of the duration {duration}", duration.ps() / bin.ps()),
            format!(
                "expected at most {MAX_BINS} bins: a bin of at least \"{}\"",
                Time::from_ps(duration.ps().div_ceil(MAX_BINS))
            ),
        );
    }
}

/// Checks that every pattern matches something.
pub fn names(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let ProbesText::Chosen(list) = &model.probes else { return };
    let ends: Vec<(NodeId, NodeId)> = spec.links.iter().map(|link| (link.a, link.b)).collect();
    let wiring = Wiring::new(spec.nodes.len(), &ends);
    let ports: Vec<String> = (0..wiring.peer.len() as u32)
        .map(|port| wiring.port_name(PortId(port), |node| &spec.nodes[node.at()].name))
        .collect();
    for (number, probe) in list.iter().enumerate() {
        let Some(which) = &probe.which else { continue };
        if let WhichText::One(text) = which
            && (text == "all" || counts(text))
        {
            continue;
        }
        for (nth, text) in which.texts().into_iter().enumerate() {
            if is_named(probe.what, &Pattern::new(text), spec, &ports) {
                continue;
            }
            let at = Place::of("probes").index(number).key("which");
            let at = if matches!(which, WhichText::Several(_)) { at.index(nth) } else { at };
            let port = ports.first().cloned().unwrap_or_default();
            let (what, example) = match probe.what {
                WhatText::Flow | WhatText::Latency => {
                    ("flow", spec.flows.first().map_or_else(String::new, |flow| flow.name.clone()))
                }
                WhatText::Port | WhatText::Frames => ("port", port),
                WhatText::Class => ("class of a port", format!("{port}/0")),
                WhatText::Queue => ("queue", format!("{port}/0")),
                WhatText::Pauses => ("port, or priority of a port", format!("{port}/0")),
                WhatText::Occupancy => ("occupancy", format!("{port}/0")),
            };
            let rank = if probe.what == WhatText::Pauses { "longest" } else { "busiest" };
            context.error(
                &at,
                format!("\"{text}\" names no {what}"),
                format!(
                    "expected a name like \"{example}\", a pattern with *, \"all\", or \"the 20 {rank}\""
                ),
            );
        }
    }
}

/// Returns true if a pattern matches something that can be recorded.
fn is_named(what: WhatText, pattern: &Pattern, spec: &Spec, ports: &[String]) -> bool {
    let classes = || (0..PRIORITIES).map(|class| class.to_string());
    match what {
        WhatText::Flow | WhatText::Latency => spec.flows.iter().any(|flow| pattern.names_flow(&flow.name)),
        WhatText::Port | WhatText::Frames => ports.iter().any(|port| pattern.names_port(port)),
        WhatText::Class | WhatText::Queue | WhatText::Pauses => {
            ports.iter().any(|port| classes().any(|class| pattern.names_queue(port, &class)))
        }
        WhatText::Occupancy => {
            let of = |name: &String| {
                let parts = |class| [format!("{name}/{class}"), format!("{name} in/{class}")];
                pattern.names(name) || classes().flat_map(parts).any(|part| pattern.names(&part))
            };
            let shares = |node: &NodeSpec| node.switch().is_some_and(|own| own.shares_memory());
            let parts = |node: &NodeSpec| ["shared", "headroom"].map(|part| format!("{} {part}", node.name));
            let of_memory =
                |node: &NodeSpec| shares(node) && parts(node).iter().any(|part| pattern.names(part));
            ports.iter().any(of) || spec.nodes.iter().any(|node| of(&node.name) || of_memory(node))
        }
    }
}
