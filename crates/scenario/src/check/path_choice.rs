//! Which of several equal paths frames take, and whether there are several.

use super::Context;
use crate::model::Model;
use crate::place::Place;
use fabric::choice::PathChoice;
use fabric::spec::Spec;
use std::collections::BTreeSet;
use transport::Applications;

/// Warns of choices where there is one path only, and of connections that they bring to a halt.
pub fn check(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let usual = crate::model::PathSeed::default();
    let hashes = |choice| matches!(choice, PathChoice::Hash(_));
    if model.simulation.path_seed != usual && fabric::forwarding::has_equal_paths(spec, hashes) == Some(false)
    {
        let needs = "flows with several shortest paths, of which a hash picks one";
        context.unused(vec![keys::unused("path_seed", needs)], &Place::of("simulation"));
    }
    let chosen = |choice: &Option<PathChoice>| choice.is_some_and(|choice| choice != PathChoice::HASH);
    let own = model.switches.iter().find(|(_, own)| chosen(&own.path_choice));
    let place = match own {
        _ if chosen(&model.switch.path_choice) => Place::of("switch"),
        Some((name, _)) => Place::of("switches").key(name),
        None => return,
    };
    if fabric::forwarding::has_equal_paths(spec, |choice| choice != PathChoice::HASH) == Some(false) {
        context.warn(
            &place.key("path_choice"),
            "path_choice, but no switch that has it has two equal paths to a destination of these flows",
            "it has no effect",
        );
        return;
    }
    overtaking(model, spec, context);
    polarisation(model, spec, context);
}

/// Warns of tiers that choose alike.
fn polarisation(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let pairs = fabric::forwarding::polarised(spec);
    let Some(&[first, _]) = pairs.first() else { return };
    let first = &spec.nodes[first.at()];
    let Some(seed) = first.switch().and_then(|switch| switch.path_choice.hashing().seed) else { return };
    let own = model.switches.iter().find(|(name, own)| **name == first.name && own.path_choice.is_some());
    let place = own.map_or(Place::of("switch"), |(name, _)| Place::of("switches").key(name));
    let tiers: BTreeSet<[String; 2]> =
        pairs.iter().map(|pair| pair.map(|node| tier(&spec.nodes[node.at()].name))).collect();
    let named: Vec<String> = tiers.iter().map(|[near, far]| format!("{near} and {far}")).collect();
    context.warn(
        &place.key("path_choice").key("hash").key("seed"),
        format!("seed {seed} at successive tiers: {} choose alike", named.join(", ")),
        "the second of two sees those flows only for which the first chose it, and leaves equal paths unused (polarisation); give tiers seeds of their own, or leave `seed` out",
    );
}

/// The name of a node without its numbers: what its tier is called.
fn tier(name: &str) -> String {
    let mut tier = String::new();
    for letter in name.chars() {
        match (letter.is_ascii_digit(), tier.ends_with('*')) {
            (false, _) => tier.push(letter),
            (true, false) => tier.push('*'),
            (true, true) => {}
        }
    }
    format!("\"{tier}\"")
}

/// Warns of windows that segments in the wrong order bring to a halt.
fn overtaking(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let chooses = |node: &fabric::spec::NodeSpec| match &node.role {
        fabric::spec::Role::Switch(switch) => !switch.path_choice.is_static(),
        fabric::spec::Role::Host(_) => false,
    };
    if !spec.nodes.iter().any(chooses) {
        return;
    }
    for (i, flow) in model.flows.iter().enumerate() {
        if let Some(name) = flow.source.application().filter(|one| one.needs_order()).map(Applications::name)
            && flow.route.is_none()
        {
            context.warn(
                &Place::of("flows").index(i).key("source").key(name),
                format!("{name} of \"{}\" without a timeout, where switches choose a path for each frame", flow.name),
                "a segment that is overtaken by another is discarded, and the transfer then stands still for ever; set a timeout above the longest round trip",
            );
        }
    }
}
