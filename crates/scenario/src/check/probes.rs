//! What is recorded: widths of bins, and whether each pattern names something.

use super::Context;
use crate::model::{Model, ProbeText, Probes, ProbesText, WhatText, WhichText};
use crate::place::Place;
use fabric::routing::Wiring;
use fabric::spec::{Pattern, Probe, ProbeSpec, Spec, Watched, Which};
use frame::{NodeId, PRIORITIES, PortId};
use units::Time;

/// More bins than this do not fit a plot or, with many flows, the memory. The keys `bin` and `every` name it.
const MAX_BINS: u64 = 1_000_000;
/// More than this are not few.
const MOST_BUSIEST: u32 = 10_000;

/// What is recorded; which names there are is known later: [`names`].
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
    let Some(what) = probe.what.series() else {
        let all = probe.which.as_ref().is_none_or(|which| *which == WhichText::One("all".into()));
        if !all {
            let help = "expected \"all\", or no key: every pause is recorded";
            context.error(&at.key("which"), "pauses of some ports cannot be chosen", help);
        }
        if probe.every.is_some() {
            let help = "leave it out: each pause is recorded as it is, from its beginning to its end";
            context.error(&at.key("every"), "pauses have no bins", help);
        }
        return None;
    };
    if let Some(every) = probe.every {
        width(&at.key("every"), "every", every, model.simulation.duration, context);
    }
    let which = match &probe.which {
        None => Which::All,
        Some(WhichText::One(text)) if text == "all" => Which::All,
        Some(WhichText::One(text)) if text.ends_with("busiest") => busiest(text, at, context)?,
        Some(which) => Which::Named(which.texts().into_iter().map(Pattern::new).collect()),
    };
    Some(Probe { what, which, every: probe.every })
}

/// "the 20 busiest".
fn busiest(text: &str, at: &Place, context: &mut Context<'_>) -> Option<Which> {
    let number = text.strip_suffix("busiest").unwrap_or(text).trim();
    let number = number.strip_prefix("the").unwrap_or(number).trim();
    match number.parse() {
        Ok(most) if (1..=MOST_BUSIEST).contains(&most) => Some(Which::Busiest(most)),
        _ => {
            context.error(
                &at.key("which"),
                format!("\"{text}\" does not say how many"),
                format!("expected a number from 1 to {MOST_BUSIEST}, as in \"the 20 busiest\""),
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

/// Every pattern has to name something.
pub fn names(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let ProbesText::Chosen(list) = &model.probes else { return };
    let ends: Vec<(NodeId, NodeId)> = spec.links.iter().map(|link| (link.a, link.b)).collect();
    let wiring = Wiring::new(spec.nodes.len(), &ends);
    let port_names: Vec<String> = (0..wiring.peer.len() as u32)
        .map(|port| wiring.port_name(PortId(port), |node| &spec.nodes[node.at()].name))
        .collect();
    for (number, probe) in list.iter().enumerate() {
        let (Some(what), Some(which)) = (probe.what.series(), &probe.which) else { continue };
        let texts = which.texts();
        if let WhichText::One(text) = which
            && (text == "all" || text.ends_with("busiest"))
        {
            continue;
        }
        for (nth, text) in texts.into_iter().enumerate() {
            let pattern = Pattern::new(text);
            let found = match what {
                Watched::Flow => spec.flows.iter().any(|flow| pattern.names_flow(&flow.name)),
                Watched::Port => port_names.iter().any(|port| pattern.names_port(port)),
                Watched::Class | Watched::Queue => port_names
                    .iter()
                    .any(|port| (0..PRIORITIES).any(|class| pattern.names_queue(port, &class.to_string()))),
            };
            if !found {
                let at = Place::of("probes").index(number).key("which");
                let at = if matches!(which, WhichText::Several(_)) { at.index(nth) } else { at };
                let example = match what {
                    Watched::Flow => spec.flows.first().map(|flow| flow.name.clone()),
                    Watched::Port => port_names.first().cloned(),
                    Watched::Class | Watched::Queue => port_names.first().map(|port| format!("{port}/0")),
                };
                let what = match what {
                    Watched::Flow => "flow",
                    Watched::Port => "port",
                    Watched::Class => "class of a port",
                    Watched::Queue => "queue",
                };
                context.error(
                    &at,
                    format!("\"{text}\" names no {what}"),
                    format!(
                        "expected a name like \"{}\", a pattern with *, \"all\", or \"the 20 busiest\"",
                        example.unwrap_or_default()
                    ),
                );
            }
        }
    }
}
