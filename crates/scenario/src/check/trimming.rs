//! Keys of endpoints that rely on packet trimming, at switches that do not trim, and the reverse.

use super::Context;
use super::unused::place_of;
use crate::model::{CarrierText, Model, SourceText};
use crate::place::Place;
use fabric::spec::{FlowSpec, NodeSpec, Spec};
use frame::Priority;
use std::collections::BTreeSet;
use transport::Applications;

/// Warns of each UET entry whose `trimming` differs from that of the switches.
pub fn check(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let mut seen = BTreeSet::new();
    for flow in &spec.flows {
        let Some((name, trimming, written)) = trimming_of(model, flow) else {
            continue;
        };
        let trims = trims(spec, flow.priority);
        if trims.contains(&trimming) || !seen.insert(name) {
            continue;
        }
        let class = flow.priority.0;
        let (message, help) = if trimming {
            let message =
                format!("\"{name}\" has trimming = true, and no switch trims frames of priority {class}");
            (
                message,
                "a lost packet is only detected by its timeout; expected [switch.trimming], or no `trimming` here",
            )
        } else {
            let message =
                format!("\"{name}\" has trimming = false, and all switches trim frames of priority {class}");
            (message, "targets and timeouts are those of a fabric that drops; expected no `trimming` here")
        };
        let at = context.first_written(&written).unwrap_or_default();
        context.warn(&at, message, help);
    }
}

/// Returns the set of answers of all switches to whether they trim frames of a priority.
fn trims(spec: &Spec, priority: Priority) -> BTreeSet<bool> {
    let switches = spec.nodes.iter().filter_map(NodeSpec::switch);
    let of = |switch: &fabric::spec::SwitchSpec| {
        let classes = switch.trimming.as_ref().map(|own| own.classes.unwrap_or(u8::MAX));
        classes.is_some_and(|classes| classes >> switch.classes.class(priority).0 & 1 != 0)
    };
    switches.map(of).collect()
}

/// Returns the entry of a flow, the value of its `trimming`, and the places where the key may be written.
fn trimming_of<'m>(model: &'m Model, flow: &FlowSpec) -> Option<(&'m str, bool, Vec<Place>)> {
    let (name, tables) = place_of(model, flow)?;
    let over = |carrier: &CarrierText| match carrier {
        CarrierText::Uet(keys) => keys.trimming,
        CarrierText::Mrc(keys) => keys.trimming,
        _ => None,
    };
    let transfers = model.transfers.iter().find(|entry| entry.name == name).map(|entry| over(&entry.over));
    let jobs = model.jobs.iter().find(|job| job.name == name).map(|job| over(&job.over));
    let of_source = |source: &SourceText| match source {
        SourceText::Answered(Applications::Uet(keys)) => keys.trimming,
        _ => None,
    };
    let flows = model.flows.iter().find(|entry| entry.name == name).map(|entry| of_source(&entry.source));
    let trimming = transfers.or(jobs).or(flows).flatten()?;
    let written: Vec<Place> = tables.iter().map(|at| at.key("trimming")).collect();
    Some((name, trimming, written))
}
