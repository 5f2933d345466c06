//! Settings of links: common ones, and those of links between named ends.

use super::Context;
use super::names;
use super::topology::Fabric;
use crate::model::{Model, NamedLinkSettings};
use crate::place::Place;
use fabric::spec::{FaultSpec, LinkSpec, Spec};
use flow_control::{Llr, LlrSpec};
use frame::NodeId;
use std::collections::BTreeSet;
use units::{Bytes, Time};

/// Maximum delay of a cable, which is also that of the topology.
const LONGEST_DELAY: Time = Time::from_ms(10_000);

/// Separator between the names of two ends.
const BETWEEN: &str = "<->";

/// Settings of each link: the place in the text, and the keys.
struct Settings<'m> {
    at: Place,
    own: &'m NamedLinkSettings,
}

/// Applies the settings of the text to links.
pub fn lower(model: &Model, fabric: &Fabric, links: &mut [LinkSpec], context: &mut Context<'_>) {
    let outer = model.link.llr.clone().unwrap_or_default();
    let all = spec(&outer, &Place::of("link"), context);
    links.iter_mut().for_each(|link| link.llr = all);
    for (settings, found) in named(model, fabric, links, context) {
        if let Some(delay) = settings.own.delay {
            if delay > LONGEST_DELAY {
                let message = format!("a one-way delay of {delay} is too long");
                context.error(
                    &settings.at.key("delay"),
                    message,
                    format!("expected at most \"{LONGEST_DELAY}\""),
                );
            }
            for &number in &found {
                let link = &mut links[number];
                // The delays of interfaces and PHY are kept.
                link.delay = (link.delay - link.cable).saturating_add(delay);
                link.cable = delay;
            }
        }
        let Some(own) = &settings.own.llr else { continue };
        let llr = spec(&own.inherit(&outer), &settings.at, context);
        found.into_iter().for_each(|link| links[link].llr = llr);
    }
}

fn spec(llr: &Llr, at: &Place, context: &mut Context<'_>) -> Option<LlrSpec> {
    match llr.spec() {
        Ok(spec) => spec,
        Err(wrong) => {
            wrong.into_iter().for_each(|why| context.refuse(why.within("llr"), at));
            None
        }
    }
}

/// Returns the links that each entry of `links` names. Patterns come first, so that the settings under both ends' exact
/// names take precedence.
fn named<'m>(
    model: &'m Model,
    fabric: &Fabric,
    links: &[LinkSpec],
    context: &mut Context<'_>,
) -> Vec<(Settings<'m>, Vec<usize>)> {
    let mut taken: Vec<Option<&str>> = vec![None; links.len()];
    let mut exact = Vec::new();
    let mut entries = Vec::new();
    for (text, own) in &model.links {
        if context.full() {
            break;
        }
        let at = Place::of("links").key(text);
        let Some((found, is_exact)) = find(text, fabric, links, &at, context) else { continue };
        for &link in found.iter().filter(|_| !is_exact) {
            if let Some(other) = taken[link].replace(text) {
                let (a, b) = (fabric.name(links[link].a), fabric.name(links[link].b));
                let message = format!("\"{text}\" and \"{other}\" both name the link \"{a}{BETWEEN}{b}\"");
                let help = format!("expected patterns without a common link, or [links.\"{a}{BETWEEN}{b}\"]");
                context.error(&at, message, help);
                break;
            }
        }
        let entry = (Settings { at, own }, found);
        if is_exact { exact.push(entry) } else { entries.push(entry) }
    }
    entries.extend(exact);
    entries
}

/// Returns the links that a text names, and true if it names both ends exactly.
fn find(
    text: &str,
    fabric: &Fabric,
    links: &[LinkSpec],
    at: &Place,
    context: &mut Context<'_>,
) -> Option<(Vec<usize>, bool)> {
    let Some((a, b)) = text.split_once(BETWEEN) else {
        let help =
            format!("expected the names of the two ends, like \"h0{BETWEEN}sw\" or \"h*{BETWEEN}leaf*\"");
        context.error(at, format!("\"{text}\" names no link"), help);
        return None;
    };
    let mut ends: Vec<BTreeSet<NodeId>> = Vec::new();
    for side in [a.trim(), b.trim()] {
        match names::of_any_role(side, fabric) {
            Ok(nodes) if nodes.is_empty() => {
                context.error(at, format!("no host or switch matches \"{side}\""), fabric.hint(side, None));
            }
            Ok(nodes) => ends.push(nodes.into_iter().collect()),
            Err(why) => context.error(at, why, fabric.hint(side, None)),
        }
    }
    let [first, second] = ends.as_slice() else { return None };
    let joins = |link: &LinkSpec| {
        first.contains(&link.a) && second.contains(&link.b)
            || first.contains(&link.b) && second.contains(&link.a)
    };
    let found: Vec<usize> = (0..links.len()).filter(|&at| joins(&links[at])).collect();
    if found.is_empty() {
        context.error(
            at,
            format!("there is no link \"{text}\""),
            "expected the two ends of a link of the topology",
        );
        return None;
    }
    Some((found, [a, b].iter().all(|side| fabric.find(side.trim()).is_some())))
}

/// Warns of link-level retry that slows down its link, or retransmits frames that were not lost.
pub fn warn(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let mut warned = BTreeSet::new();
    let longest = fabric::frame_bounds(spec).1;
    for link in &spec.links {
        let Some(llr) = link.llr else { continue };
        let names = [link.a, link.b].map(|node| spec.nodes[node.at()].name.as_str());
        let at = place_of(model, names);
        let on_wire = u64::from(longest) + u64::from(link.overhead);
        let [there, back] = link.rates;
        let needed =
            [[there, back], [back, there]].map(|rates| llr.needed_for_full_rate(rates, link.delay, on_wire));
        let needed = needed[0].max(needed[1]);
        let frames = needed.div_ceil(on_wire);
        let link_name = format!("{}{BETWEEN}{}", names[0], names[1]);
        let full = [
            ("outstanding_bytes_max", llr.outstanding_bytes_max < needed, Bytes::new(needed).to_string()),
            ("outstanding_frames_max", u64::from(llr.outstanding_frames_max) < frames, frames.to_string()),
        ];
        for (key, is_short, expected) in full {
            if is_short && warned.insert((at.clone(), key)) {
                let message = format!("{key} is less than a round trip of the link \"{link_name}\" takes");
                let help = format!("the link will not be full: expected at least {expected}");
                context.warn(&at.key(key), message, help);
            }
        }
        let round_trip = llr.round_trip(link.slowest(), link.delay, on_wire);
        let key = "replay_timer_max";
        if llr.replay_timer_max.ps() > 0
            && llr.replay_timer_max < round_trip
            && warned.insert((at.clone(), key))
        {
            let message = format!(
                "replay_timer_max {} is less than the {round_trip} of an acknowledgement on the link \"{link_name}\"",
                llr.replay_timer_max
            );
            context.warn(
                &at.key(key),
                message,
                "frames are retransmitted that were not lost: expected a longer time",
            );
        }
    }
    unused(model, spec, context);
}

/// Returns the place of a link's settings.
fn place_of(model: &Model, [a, b]: [&str; 2]) -> Place {
    let exact = [format!("{a}{BETWEEN}{b}"), format!("{b}{BETWEEN}{a}")];
    let has_llr = |name: &String| model.links.get(name).is_some_and(|own| own.llr.is_some());
    let own = exact.into_iter().find(has_llr);
    own.map_or(Place::of("link"), |name| Place::of("links").key(&name)).key("llr")
}

/// Warns of keys without effect.
fn unused(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let goes_down = |fault: &FaultSpec| {
        matches!(fault, FaultSpec::LinkDown { .. } | FaultSpec::Random { .. } | FaultSpec::Restart { .. })
    };
    let outages = spec.faults.iter().any(goes_down);
    let own = model.links.iter().map(|(name, own)| (Place::of("links").key(name), &own.llr));
    for (at, llr) in [(Place::of("link"), &model.link.llr)].into_iter().chain(own) {
        if let Some(Llr::On(keys)) = llr {
            context.unused(keys.unused(outages), &at.key("llr"));
        }
    }
}
