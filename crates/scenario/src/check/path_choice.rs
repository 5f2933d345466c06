//! Which of several equal paths frames take, and whether there are several.

use super::Context;
use crate::model::{self, Model};
use crate::place::Place;
use fabric::choice::{FlowletSpec, PathChoice};
use fabric::spec::Spec;
use units::Time;

/// The choice of a switch.
pub fn lower(choice: Option<model::PathChoice>, at: &Place, context: &mut Context<'_>) -> PathChoice {
    match choice {
        None | Some(model::PathChoice::Hash) => PathChoice::Hash,
        Some(model::PathChoice::Spray) => PathChoice::Spray,
        Some(model::PathChoice::RoundRobin) => PathChoice::RoundRobin,
        Some(model::PathChoice::LeastQueued) => PathChoice::LeastQueued,
        Some(model::PathChoice::Flowlet(model::Flowlet { gap, entries })) => {
            let at = at.key("flowlet");
            if gap == Time::ZERO {
                context.error(
                    &at.key("gap"),
                    "gap is 0: every frame would be a burst of its own",
                    "expected a time above 0, like \"50 us\"; path_choice = \"spray\" draws a port for each frame",
                );
            }
            let most = u64::from(FlowletSpec::MOST_ENTRIES);
            if !entries.is_power_of_two() || entries > most {
                let nearest = entries.clamp(1, most).next_power_of_two();
                context.error(
                    &at.key("entries"),
                    format!("a flowlet table of {entries} entries"),
                    format!("expected a power of two, 1 to {most}, like {nearest}"),
                );
                return PathChoice::Hash;
            }
            PathChoice::Flowlet(FlowletSpec { gap, entries: entries as u32 })
        }
    }
}

/// Warns of choices where there is one path only, and of connections that they bring to a halt.
pub fn check(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let chosen = |choice: &Option<model::PathChoice>| {
        choice.as_ref().is_some_and(|choice| *choice != model::PathChoice::Hash)
    };
    let own = model.switches.iter().find(|(_, own)| chosen(&own.path_choice));
    let place = match own {
        _ if chosen(&model.switch.path_choice) => Place::of("switch"),
        Some((name, _)) => Place::of("switches").key(name),
        None => return,
    };
    if fabric::forwarding::has_equal_paths(spec) == Some(false) {
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
        fabric::spec::Role::Switch(switch) => switch.path_choice != PathChoice::Hash,
        fabric::spec::Role::Host(_) => false,
    };
    if !spec.nodes.iter().any(chooses) {
        return;
    }
    for (i, flow) in model.flows.iter().enumerate() {
        if let model::SourceText::Window(keys) = &flow.source
            && keys.timeout.value().is_none()
            && flow.route.is_none()
        {
            context.warn(
                &Place::of("flows").index(i).key("source").key("window"),
                format!("window of \"{}\" without a timeout, where switches choose a path for each frame", flow.name),
                "a segment that is overtaken by another is discarded, and the transfer then stands still for ever; set a timeout above the longest round trip",
            );
        }
    }
}
