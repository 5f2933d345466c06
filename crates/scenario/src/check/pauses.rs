//! Whether pauses do what they are for: they are long enough, they go on, and somebody obeys them.

use super::Context;
use crate::model::Model;
use crate::place::Place;
use fabric::PauseNeeds;
use fabric::spec::{NodeSpec, OnLosslessDrop, Role, Spec};
use flow_control::PauseSpec;
use std::collections::BTreeMap;

/// Checks the pauses that each port sends. Settings shared by several nodes are reported once.
pub fn check(model: &Model, spec: &Spec, needs: &[PauseNeeds], context: &mut Context<'_>) {
    let mut shortest: BTreeMap<(bool, Option<&str>), &PauseNeeds> = BTreeMap::new();
    for need in needs {
        let node = &spec.nodes[need.node.at()];
        let settings = (matches!(node.role, Role::Host(_)), settings_of(model, node));
        let known = shortest.entry(settings).or_insert(need);
        if need.least_quanta > known.least_quanta {
            *known = need;
        }
    }
    for ((_, settings), need) in shortest {
        let Some(control) = spec.nodes[need.node.at()].flow_control() else { continue };
        length(settings, need, control, model, spec, context);
        renewal(settings, need, control, model, spec, context);
    }
    obeyed(model, spec, needs, context);
}

/// A pause has to last longer than its peer takes to obey it, and than a renewal takes to get there.
fn length(
    settings: Option<&str>,
    need: &PauseNeeds,
    control: &PauseSpec,
    model: &Model,
    spec: &Spec,
    context: &mut Context<'_>,
) {
    if u64::from(control.quanta) >= need.least_quanta {
        return;
    }
    let (node, peer) = (&spec.nodes[need.node.at()], &spec.nodes[need.peer.at()].name);
    let (quanta, lasts, response) = (control.quanta, need.lasts, need.response);
    let why = if lasts <= response {
        format!("is over before \"{peer}\" obeys it, which takes {response}")
    } else {
        format!("is over before a renewal can take effect: \"{peer}\" takes {response} to obey it")
    };
    let help = match u16::try_from(need.least_quanta) {
        Ok(least) => format!("expected pause_quanta of at least {least}"),
        Err(_) => "expected a shorter response_time there: the longest pause is 65535 quanta".to_string(),
    };
    let place = place_of(node, settings, control, "pause_quanta", context);
    let message = format!("a pause of {quanta} quanta ({lasts}) from \"{}\" {why}", node.name);
    // A run that counts losses may be meant to have them.
    if model.simulation.on_lossless_drop == OnLosslessDrop::Stop {
        context.error(&place, message, help);
    } else {
        context.warn(&place, message, help);
    }
}

/// Without renewal a pause ends although its queue may still be full.
fn renewal(
    settings: Option<&str>,
    need: &PauseNeeds,
    control: &PauseSpec,
    model: &Model,
    spec: &Spec,
    context: &mut Context<'_>,
) {
    let strict = model.simulation.on_lossless_drop == OnLosslessDrop::Stop;
    if control.refresh || !strict || need.lasts >= spec.duration {
        return;
    }
    let node = &spec.nodes[need.node.at()];
    let place = place_of(node, settings, control, "refresh", context);
    context.warn(
        &place,
        format!("pauses from \"{}\" end after {} and are not renewed", node.name, need.lasts),
        "frames can be lost where a queue is full for longer: expected refresh = true, or on_lossless_drop = \"count\"",
    );
}

/// Whoever is paused has to obey.
fn obeyed(model: &Model, spec: &Spec, needs: &[PauseNeeds], context: &mut Context<'_>) {
    let used = spec.priorities_in_use();
    let deaf = |need: &PauseNeeds| {
        let sent = spec.nodes[need.node.at()].flow_control().map_or(0, |control| control.kind.priorities());
        let heard = spec.nodes[need.peer.at()].flow_control().map_or(0, |control| control.kind.priorities());
        sent & used & !heard
    };
    let Some((need, ignored)) =
        needs.iter().map(|need| (need, deaf(need))).find(|(_, ignored)| *ignored != 0)
    else {
        return;
    };
    let (node, peer) = (&spec.nodes[need.node.at()], &spec.nodes[need.peer.at()]);
    let settings = settings_of(model, peer);
    let own = settings.map(|name| table(peer, true).key(name));
    let places: Vec<Place> =
        own.into_iter().chain([table(peer, false)]).map(|place| place.key("flow_control")).collect();
    let place = context.first_written(&places).unwrap_or_else(|| Place::of("flow_control"));
    let list: Vec<String> = (0..8).filter(|p| ignored >> p & 1 != 0).map(|p| p.to_string()).collect();
    context.warn(
        &place,
        format!(
            "\"{}\" sends pauses for priority {} to \"{}\", which does not obey them",
            node.name,
            list.join(", "),
            peer.name
        ),
        "frames can be lost: no headroom is enough for a station that goes on sending",
    );
}

/// Below what name a node has settings of its own, if it has.
pub fn settings_of<'a>(model: &Model, node: &'a NodeSpec) -> Option<&'a str> {
    let own = match node.role {
        Role::Host(_) => model.hosts.contains_key(&node.name),
        Role::Switch(_) => model.switches.contains_key(&node.name),
    };
    own.then_some(node.name.as_str())
}

/// The place of a key of flow control: where the node says it itself, else where all nodes of its kind or the whole
/// scenario do.
pub fn place_of(
    node: &NodeSpec,
    settings: Option<&str>,
    control: &PauseSpec,
    key: &str,
    context: &Context<'_>,
) -> Place {
    place_in(node, settings, control.kind.name(), key, context)
}

/// The same for a flow control of this name.
pub fn place_in(
    node: &NodeSpec,
    settings: Option<&str>,
    kind: &str,
    key: &str,
    context: &Context<'_>,
) -> Place {
    let own = settings.map(|name| table(node, true).key(name).key("flow_control"));
    let all = [table(node, false).key("flow_control"), Place::of("flow_control")];
    let tables: Vec<Place> = own.into_iter().chain(all).map(|place| place.key(kind)).collect();
    let keys: Vec<Place> = tables.iter().map(|table| table.key(key)).collect();
    // A key that is written nowhere has its default where the table is.
    let found = context.first_written(&keys).or_else(|| context.first_written(&tables));
    found.unwrap_or_else(|| Place::of("flow_control").key(kind))
}

fn table(node: &NodeSpec, own: bool) -> Place {
    Place::of(match (&node.role, own) {
        (Role::Host(_), true) => "hosts",
        (Role::Host(_), false) => "host",
        (Role::Switch(_), true) => "switches",
        (Role::Switch(_), false) => "switch",
    })
}
