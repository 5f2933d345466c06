//! Which of several equal paths frames take, and whether there are several.

use super::Context;
use crate::model::Model;
use crate::place::Place;
use fabric::choice::PathChoice;
use fabric::spec::Spec;
use transport::Applications;

/// Warns of choices where there is one path only, and of connections that they bring to a halt.
pub fn check(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let usual = crate::model::PathSeed::default();
    let hashes = |choice| choice == PathChoice::Hash;
    if model.simulation.path_seed != usual && fabric::forwarding::has_equal_paths(spec, hashes) == Some(false)
    {
        let needs = "flows with several shortest paths, of which a hash picks one";
        context.unused(vec![keys::unused("path_seed", needs)], &Place::of("simulation"));
    }
    let chosen = |choice: &Option<PathChoice>| choice.is_some_and(|choice| choice != PathChoice::Hash);
    let own = model.switches.iter().find(|(_, own)| chosen(&own.path_choice));
    let place = match own {
        _ if chosen(&model.switch.path_choice) => Place::of("switch"),
        Some((name, _)) => Place::of("switches").key(name),
        None => return,
    };
    if fabric::forwarding::has_equal_paths(spec, |choice| choice != PathChoice::Hash) == Some(false) {
        context.warn(
            &place.key("path_choice"),
            "path_choice, but no switch that has it has two equal paths to a destination of these flows",
            "it has no effect",
        );
        return;
    }
    overtaking(model, spec, context);
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
