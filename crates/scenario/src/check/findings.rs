//! Reports the findings of [`fabric::audit`] at their places in the text.

use super::Context;
use crate::model::{Flow, Model};
use crate::place::Place;
use fabric::spec::{NodeSpec, Role, Spec};
use fabric::{Finding, Subject};
use keys::Step;

/// Reports findings. `entries` has the entry of the text for each fault.
pub fn report(found: Vec<Finding>, model: &Model, spec: &Spec, entries: &[usize], context: &mut Context<'_>) {
    for Finding { severity, subject, remark } in found {
        let place = match subject {
            Subject::Node(node) => of_station(&spec.nodes[node.at()], &remark.path, context),
            Subject::Scenario => Place::default().along(&remark.path),
            Subject::Flow(flow) => {
                let name = spec.flows[flow].name.as_str();
                let own = name.split('[').next().unwrap_or(name);
                let is_its = |entry: &Flow| entry.name == name || entry.name == own;
                let entry = model.flows.iter().position(is_its).unwrap_or(0);
                Place::of("flows").index(entry).along(&remark.path)
            }
            Subject::Fault(fault) => Place::of("faults").index(entries[fault]).along(&remark.path),
        };
        context.report(severity, &place, remark.message, remark.help);
    }
}

/// Returns true if a node has its own setting of this name. For names other than those of settings, any setting counts.
pub fn has_own(model: &Model, node: &NodeSpec, key: &str) -> bool {
    match &node.role {
        Role::Host(_) => {
            model.hosts.get(&node.name).is_some_and(|own| key != "receive" || own.receive.is_some())
        }
        Role::Switch(_) => model.switches.get(&node.name).is_some_and(|own| {
            let buffer = own.buffer.as_ref();
            match key {
                "dynamic_threshold" => buffer.is_some_and(|buffer| buffer.dynamic_threshold.is_some()),
                "memory" => buffer.is_some_and(|buffer| buffer.memory.is_some()),
                _ => true,
            }
        }),
    }
}

/// Returns the place of a station's setting: in the station's own table, in that of all stations of its kind, or at the
/// root of the scenario.
fn of_station(node: &NodeSpec, path: &[Step], context: &Context<'_>) -> Place {
    let (own, all) = match node.role {
        Role::Host(_) => ("hosts", "host"),
        Role::Switch(_) => ("switches", "switch"),
    };
    let mut bases = vec![Place::of(own).key(&node.name), Place::of(all)];
    let first = |key: &str| path.first() == Some(&Step::Key(key.to_string()));
    let lengths = if first("flow_control") {
        bases.push(Place::default());
        // Stations inherit missing settings key by key.
        1..path.len() + 1
    } else if first("buffer") {
        2.min(path.len())..3.min(path.len() + 1)
    } else {
        1..2
    };
    let written = |length: usize| {
        let starts: Vec<Place> = bases.iter().map(|base| base.along(&path[..length])).collect();
        let found = context.first_written(&starts)?;
        starts.iter().position(|start| *start == found)
    };
    let base = lengths.rev().find_map(written).unwrap_or(bases.len() - 1);
    bases[base].along(path)
}
