//! Whether credits can do what they are for: both ends of a link count alike, a frame fits, nothing else loses frames.

use super::Context;
use super::pauses::{place_in, settings_of};
use crate::model::Model;
use crate::place::Place;
use fabric::spec::{FaultSpec, LinkSpec, NodeSpec, Role, Spec};
use flow_control::CreditSpec;
use std::collections::BTreeMap;
use units::Time;

/// A station, what it grants, and the link on which that carries least.
struct Grant<'a> {
    node: &'a NodeSpec,
    credits: &'a CreditSpec,
    round_trip: Time,
    share: f64,
}

/// Checks the credits of all links. Settings shared by several nodes are reported once.
pub fn check(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    if spec.nodes.iter().all(|node| node.credits().is_none()) {
        return;
    }
    for link in &spec.links {
        let (a, b) = (&spec.nodes[link.a.at()], &spec.nodes[link.b.at()]);
        if !both_ends(model, a, b, context) {
            return;
        }
        if link.delay + a.credits().map_or(Time::ZERO, |own| own.update_delay) == Time::ZERO {
            let place = place_in(a, settings_of(model, a), "credit", "update_delay", context);
            let message = format!("an update takes no time from \"{}\" to \"{}\"", b.name, a.name);
            context.error(&place, message, "expected an update_delay, or a link with a delay, above 0");
            return;
        }
    }
    rooms(model, spec, context);
    limits(model, spec, context);
    faults(model, spec, context);
}

/// Both ends of a link have credits, and count them alike.
fn both_ends(model: &Model, a: &NodeSpec, b: &NodeSpec, context: &mut Context<'_>) -> bool {
    let refuse = |node: &NodeSpec, message: String, help: &str, context: &mut Context<'_>| {
        let place = place_in(node, settings_of(model, node), "credit", "unit", context);
        context.error(&place, message, help);
        false
    };
    match (a.credits(), b.credits()) {
        (Some(own), Some(other)) if own.fits(other) => true,
        (Some(_), Some(_)) => {
            let message =
                format!("\"{}\" and \"{}\" count credits of their link differently", a.name, b.name);
            refuse(a, message, "expected the same unit, per_frame and channels at both ends", context)
        }
        (None, None) => true,
        (own, _) => {
            let (with, without) = if own.is_some() { (a, b) } else { (b, a) };
            let message =
                format!("\"{}\" has credits and its neighbour \"{}\" has none", with.name, without.name);
            refuse(with, message, "expected [flow_control.credit] at both ends of a link", context)
        }
    }
}

/// A frame fits into the buffers; a warning if they hold less than a round trip.
fn rooms(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let longest = fabric::frame_bounds(spec).1;
    let mut least: BTreeMap<(bool, Option<&str>), Grant<'_>> = BTreeMap::new();
    let ends = spec.links.iter().flat_map(|link| [(link, link.b, link.a), (link, link.a, link.b)]);
    for (link, to, from) in ends {
        let (node, peer) = (&spec.nodes[to.at()], &spec.nodes[from.at()]);
        let (Some(credits), Some(other)) = (node.credits(), peer.credits()) else { continue };
        let (round_trip, share) = share(link, node, credits, other, longest);
        let settings = (matches!(node.role, Role::Host(_)), settings_of(model, node));
        let known = least.entry(settings).or_insert(Grant { node, credits, round_trip, share });
        if share < known.share {
            *known = Grant { node, credits, round_trip, share };
        }
    }
    for ((_, settings), Grant { node, credits, round_trip, share }) in least {
        let place = place_in(node, settings, "credit", "buffer", context);
        let need = credits.need(u32::from(longest));
        let (had, unit) = (credits.credits, credits.unit);
        if credits.credits < need {
            let message = format!(
                "a buffer of {had} credits at \"{}\": a frame of {longest} B needs {need}",
                node.name
            );
            context.error(
                &place,
                message,
                format!("expected at least \"{} B\": no such frame could move", need * unit),
            );
        } else if share < 1.0 {
            let message = format!(
                "a channel to \"{}\" carries at most {:.1} % of its link in frames of {longest} B: {had} credits for a round trip of {round_trip}",
                node.name,
                share * 100.0
            );
            let frames = (credits.credits / need) as f64 / share;
            let enough = frames.ceil() as u32 * need * unit;
            context.warn(&place, message, format!("\"{enough} B\" would be enough"));
        }
    }
}

/// The time from the first bit of a frame to the effect of the update that gives its credits back, and the share of
/// the link that one channel can fill.
fn share(link: &LinkSpec, to: &NodeSpec, own: &CreditSpec, other: &CreditSpec, bytes: u16) -> (Time, f64) {
    let need = own.need(u32::from(bytes)).max(1);
    let latency = match &to.role {
        Role::Switch(switch) => switch.latency,
        Role::Host(_) => Time::ZERO,
    };
    let takes = link.rate.time_for_bits_ceil((u64::from(bytes) + u64::from(link.overhead)) * 8);
    let update = link.rate.time_for_bits_ceil(u64::from(own.update_bytes) * 8);
    let round_trip = takes + link.delay + latency + update + link.delay + other.update_delay;
    let frames = f64::from(own.credits / need);
    (round_trip, (frames * takes.ps() as f64 / round_trip.ps() as f64).min(1.0))
}

/// Credits leave no room for limits that lose frames.
fn limits(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let limited = |node: &&NodeSpec| match &node.role {
        Role::Switch(switch) => {
            switch.credits.is_some() && (!switch.buffer.is_unlimited() || switch.shared_memory.is_some())
        }
        Role::Host(_) => false,
    };
    let Some(node) = spec.nodes.iter().find(limited) else { return };
    let own = settings_of(model, node).map(|name| Place::of("switches").key(name));
    let places: Vec<Place> =
        own.into_iter().chain([Place::of("switch")]).map(|table| table.key("buffer")).collect();
    let place = context.first_written(&places).unwrap_or_else(|| Place::of("flow_control"));
    let message = format!("a limit of the buffer at \"{}\", whose links have credits", node.name);
    let help = "a frame that has credits has room: leave it out, and set the buffer of the credits";
    context.error(&place, message, help);
}

/// A link that goes down loses credits that its ends would have to agree on again.
fn faults(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    let down = |fault: &FaultSpec| {
        matches!(fault, FaultSpec::LinkDown { .. } | FaultSpec::Restart { .. } | FaultSpec::Random { .. })
    };
    if !spec.faults.iter().any(down) {
        return;
    }
    let entry = model
        .faults
        .iter()
        .position(|fault| fault.down || fault.restart.is_some() || fault.mean_time_between.is_some());
    let place = entry.map_or_else(|| Place::of("faults"), |entry| Place::of("faults").index(entry));
    let help = "links with credits can have pause_loss (of updates), rate, bit_error_rate and frame_loss (which stops the run)";
    context.error(
        &place,
        "a link with credits goes down, and how its ends begin again is not simulated",
        help,
    );
}
