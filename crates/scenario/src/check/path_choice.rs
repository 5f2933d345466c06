//! Choice among equal-cost paths, and checks that there are several.

use super::maps::Settings;
use super::{Context, names};
use crate::model::Model;
use crate::place::Place;
use fabric::choice::PathChoice;
use fabric::spec::Spec;
use fabric::weights::Weights;
use frame::NodeId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use transport::Applications;

/// Returns the weights of the links to neighbours. `is_own` is true if they are set for these switches only.
pub fn weights(
    (keys, is_own): (&BTreeMap<String, u64>, bool),
    choice: PathChoice,
    settings: &Settings<'_>,
    context: &mut Context<'_>,
) -> Arc<Weights> {
    let at = settings.at.key("path_weights");
    if !goes_by_weight(choice) {
        let needs = "path_choice hash, spray or flowlet";
        context.unused(vec![keys::unused("path_weights", needs)], settings.at);
    }
    let mut found: BTreeMap<NodeId, (u32, &str)> = BTreeMap::new();
    // Exact names take precedence over patterns.
    let (own, several): (Vec<_>, Vec<_>) =
        keys.iter().partition(|(name, _)| settings.fabric.find(name).is_some());
    let is_named = |name: &str| settings.fabric.find(name).is_some();
    for (name, &weight) in own.into_iter().chain(several) {
        let at = at.key(name);
        let Some(weight) = u32::try_from(weight).ok().filter(|weight| (1..=Weights::MOST).contains(weight))
        else {
            context.error(&at, format!("weight {weight}"), format!("expected 1 to {}", Weights::MOST));
            continue;
        };
        let named = std::slice::from_ref(name);
        for node in names::neighbours(named, (settings.switches, is_own), &at, settings.fabric, context) {
            let (known, other) = *found.entry(node).or_insert((weight, name));
            if known != weight && !is_named(other) {
                let message =
                    format!("\"{name}\" and \"{other}\" both name \"{}\"", settings.fabric.name(node));
                context.error(&at, message, "expected one weight for each neighbour");
                break;
            }
        }
    }
    Arc::new(Weights::new(found.into_iter().map(|(node, (weight, _))| (node, weight))))
}

fn goes_by_weight(choice: PathChoice) -> bool {
    matches!(choice, PathChoice::Hash(_) | PathChoice::Spray | PathChoice::Flowlet(_))
}

/// Warns of weights at switches without several equal-cost paths.
fn check_weights(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    if fabric::forwarding::has_equal_paths(spec, goes_by_weight) != Some(false) {
        return;
    }
    let needs = "flows with several shortest paths";
    let own = model.switches.iter().map(|(name, own)| (Place::of("switches").key(name), own));
    for (at, own) in [(Place::of("switch"), &model.switch)].into_iter().chain(own) {
        if own.path_weights.is_some() && own.path_choice.is_none_or(goes_by_weight) {
            context.unused(vec![keys::unused("path_weights", needs)], &at);
        }
    }
}

/// Warns of choices at switches with only one path, and of connections that they stall.
pub fn check(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    check_weights(model, spec, context);
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
    let detours =
        spec.nodes.iter().filter_map(|node| node.switch()).any(|own| own.path_choice.takes_detours());
    if !detours
        && fabric::forwarding::has_equal_paths(spec, |choice| choice != PathChoice::HASH) == Some(false)
    {
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

/// Warns of successive tiers with the same hash seed, which make the same choices (polarisation).
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
        format!("seed {seed} at successive tiers: {} make the same choices", named.join(", ")),
        "the second tier receives only flows that were hashed to it at the first, and leaves equal-cost paths unused (polarisation); give each tier its own seed, or leave `seed` out",
    );
}

/// Returns the name of a node's tier: the name of the node with `*` in place of numbers.
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

/// Warns of windows that stall because segments arrive out of order.
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
                "a reordered segment is discarded, and the transfer then stalls forever; set a timeout above the longest round trip",
            );
        }
    }
}
