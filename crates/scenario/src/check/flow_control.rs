//! PAUSE, PFC and TPFC: what the keys mean together, and whether the watermarks leave enough room.

use super::Context;
use super::stations::exceeds;
use super::topology::Fabric;
use crate::effective::fill_pause;
use crate::model::{self, FlowControl, Model, PauseSettings, Sampling};
use crate::place::Place;
use crate::quantity::{Computed, Or};
use fabric::spec::{FlowSpec, NodeSpec, Role, SwitchSpec};
use flow_control::headroom::{Headroom, QUANTUM_BITS, response_quanta};
use flow_control::{Accounting, PauseKind, PauseSpec, TargetMethod, TargetSpec, Watermarks};
use frame::NodeId;
use std::collections::{BTreeMap, BTreeSet};
use units::{Amount, Time};
use workload::FrameSizes;

/// What `inner` says, and where it says nothing and is of the same kind, what `outer` says.
fn resolve(outer: &FlowControl, inner: Option<&FlowControl>) -> FlowControl {
    match (outer, inner) {
        (outer, None) => outer.clone(),
        (FlowControl::Pfc(outer), Some(FlowControl::Pfc(inner))) => FlowControl::Pfc(merge(outer, inner)),
        (FlowControl::Pause(outer), Some(FlowControl::Pause(inner))) => FlowControl::Pause(merge(outer, inner)),
        (_, Some(inner)) => inner.clone(),
    }
}

fn merge(outer: &PauseSettings, inner: &PauseSettings) -> PauseSettings {
    let (o, i) = (outer.clone(), inner.clone());
    PauseSettings {
        priorities: i.priorities.or(o.priorities),
        accounting: i.accounting.or(o.accounting),
        xoff: i.xoff.or(o.xoff),
        xon: i.xon.or(o.xon),
        headroom: i.headroom.or(o.headroom),
        pause_quanta: i.pause_quanta.or(o.pause_quanta),
        resume: i.resume.or(o.resume),
        refresh: i.refresh.or(o.refresh),
        response_time: i.response_time.or(o.response_time),
        target: i.target.or(o.target),
    }
}

/// The flow control of a station, checked where the station has settings of its own.
pub fn lower(
    model: &Model,
    all: &Option<FlowControl>,
    own: Option<&Option<FlowControl>>,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<PauseSpec> {
    let base = resolve(&model.flow_control, all.as_ref());
    let own_text = own.and_then(Option::as_ref);
    let mut resolved = resolve(&base, own_text);
    if let FlowControl::Pfc(settings) | FlowControl::Pause(settings) = &mut resolved {
        fill_pause(settings);
    }
    let written_here = own_text.is_some() || (own.is_none() && all.is_some());
    if written_here {
        check(&resolved, model, &at.key("flow_control"), context);
    }
    spec(&resolved, model)
}

fn spec(flow_control: &FlowControl, model: &Model) -> Option<PauseSpec> {
    let (kind, settings) = match flow_control {
        FlowControl::Off => return None,
        FlowControl::Pause(settings) => (PauseKind::Link, settings),
        FlowControl::Pfc(settings) => {
            let used = || used_priorities(model);
            let list = settings.priorities.clone().unwrap_or_else(used);
            let set = list.iter().filter(|&&p| p <= 7).fold(0u8, |set, &p| set | 1 << p);
            (PauseKind::Priorities(set), settings)
        }
    };
    let value = |or: Option<Or<Amount, Computed>>| or.and_then(|or| or.value());
    let watermarks = value(settings.xoff).zip(value(settings.xon)).map(|(xoff, xon)| Watermarks {
        xoff,
        xon,
        headroom: value(settings.headroom),
    });
    let target = settings.target.as_ref().map(|target| TargetSpec {
        method: match target.method {
            model::TargetMethod::FairBandwidth => TargetMethod::FairBandwidth,
            model::TargetMethod::RandomSampling => TargetMethod::RandomSampling,
        },
        watermark: target.watermark.0,
        one_shot: target.sampling == Sampling::OneShot,
    });
    Some(PauseSpec {
        kind,
        accounting: match settings.accounting {
            Some(model::Accounting::Egress) => Accounting::Egress,
            _ => Accounting::Ingress,
        },
        watermarks,
        quanta: settings.pause_quanta.and_then(|q| u16::try_from(q).ok()).unwrap_or(u16::MAX),
        resume: settings.resume.unwrap_or(true),
        refresh: settings.refresh.unwrap_or(true),
        response_time: settings.response_time.and_then(|time| time.value()),
        target,
    })
}

/// The priorities of all flows, ascending.
pub fn used_priorities(model: &Model) -> Vec<u64> {
    let used: BTreeSet<u64> = model.flows.iter().map(|flow| flow.priority).filter(|&p| p <= 7).collect();
    used.into_iter().collect()
}

/// Checks what flow control says about itself. `at` is the place of the key `flow_control`.
pub fn check(flow_control: &FlowControl, model: &Model, at: &Place, context: &mut Context<'_>) {
    let (kind, settings) = match flow_control {
        FlowControl::Off => return,
        FlowControl::Pause(settings) => ("pause", settings),
        FlowControl::Pfc(settings) => ("pfc", settings),
    };
    let at = at.key(kind);
    priorities(kind, settings, model, &at, context);
    if let Some(quanta) = settings.pause_quanta.filter(|quanta| !(1..=65535).contains(quanta)) {
        let why = if quanta == 0 { " is not a pause: 0 means XON" } else { " does not fit the 16 bits of a pause frame" };
        context.error(&at.key("pause_quanta"), format!("pause_quanta {quanta}{why}"), "expected 1 to 65535 quanta of 512 bit times");
    }
    if let Some(time) = settings.response_time.and_then(|time| time.value()).filter(|&time| time > Time::from_ms(1000)) {
        context.error(&at.key("response_time"), format!("a response time of {time} is too long"), "expected at most \"1 s\", or \"standard\"");
    }
    watermarks(settings, &at, context);
    target(kind, settings, &at, context);
}

fn priorities(kind: &str, settings: &PauseSettings, model: &Model, at: &Place, context: &mut Context<'_>) {
    let Some(list) = &settings.priorities else { return };
    let at = at.key("priorities");
    if kind == "pause" {
        context.error(&at, "pause stops the whole link, not single priorities", "leave the key out, or use [flow_control.pfc]");
        return;
    }
    if list.is_empty() && !model.flows.is_empty() {
        context.error(&at, "no priority is lossless", "expected priorities 0 to 7, like [3], or flow_control = \"off\"");
    }
    let used = used_priorities(model);
    for (i, &priority) in list.iter().enumerate() {
        if priority > 7 {
            context.error(&at.index(i), format!("priority {priority}"), "expected priorities 0 to 7 (IEEE 802.1Q)");
        } else if list[..i].contains(&priority) {
            context.error(&at.index(i), format!("priority {priority} is listed twice"), "expected each priority once");
        } else if !used.contains(&priority) {
            let used = used.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            context.warn(&at.index(i), format!("priority {priority} is lossless, but no flow uses it"), format!("flows use priority {used}"));
        }
    }
}

fn watermarks(settings: &PauseSettings, at: &Place, context: &mut Context<'_>) {
    let value = |or: Option<Or<Amount, Computed>>| or.and_then(|or| or.value());
    let (xoff, xon) = (value(settings.xoff), value(settings.xon));
    let pair = "expected both xoff and xon, or neither to have them computed";
    match (xoff, xon) {
        (Some(_), None) => context.error(&at.key("xoff"), "xoff without xon", pair),
        (None, Some(_)) => context.error(&at.key("xon"), "xon without xoff", pair),
        (Some(xoff), Some(xon)) => {
            if !comparable(xoff, xon) {
                context.error(&at.key("xon"), format!("xon {xon} and xoff {xoff} cannot be compared"), "expected both in bytes or both in frames");
            } else if !exceeds(xoff, xon) {
                context.error(&at.key("xon"), format!("xon {xon} is not below xoff {xoff}"), "expected xon < xoff: a pause ends at a lower occupancy than it begins");
            }
        }
        (None, None) => {}
    }
    let ingress = settings.accounting != Some(model::Accounting::Egress);
    let Some(headroom) = value(settings.headroom) else { return };
    if !ingress {
        context.error(&at.key("headroom"), "headroom with egress accounting", "it belongs to accounting = \"ingress\"; here the room is the queue limit minus xoff");
    } else if xoff.is_none() {
        context.error(&at.key("headroom"), "headroom without xoff and xon", "expected xoff and xon too, or no headroom to have all computed");
    } else if xoff.is_some_and(|xoff| !comparable(xoff, headroom)) {
        context.error(&at.key("headroom"), format!("headroom {headroom} has another unit than xoff"), "expected both in bytes or both in frames");
    }
}

fn target(kind: &str, settings: &PauseSettings, at: &Place, context: &mut Context<'_>) {
    let Some(target) = &settings.target else { return };
    let at_target = at.key("target");
    if kind == "pause" {
        context.error(&at_target, "a target with pause", "targets belong to [flow_control.pfc]");
        return;
    }
    if settings.accounting != Some(model::Accounting::Egress) {
        context.error(&at_target, "a target with ingress accounting", "expected accounting = \"egress\": targets are found in an egress queue");
        return;
    }
    let value = |or: Option<Or<Amount, Computed>>| or.and_then(|or| or.value());
    let (watermark, at) = (target.watermark.0, at_target.key("watermark"));
    let order = "expected xon < target watermark < xoff";
    let Some((xoff, xon)) = value(settings.xoff).zip(value(settings.xon)) else {
        context.error(&at, "a target watermark without xoff and xon", "expected xoff and xon too: the target watermark lies between them");
        return;
    };
    if !comparable(watermark, xoff) {
        context.error(&at, format!("watermark {watermark} has another unit than xoff {xoff}"), "expected both in bytes or both in frames");
    } else if !exceeds(xoff, watermark) {
        context.error(&at, format!("target watermark {watermark} is not below xoff {xoff}"), order);
    } else if comparable(xon, xoff) && !exceeds(watermark, xon) {
        context.error(&at, format!("target watermark {watermark} is not above xon {xon}"), order);
    }
}

fn comparable(a: Amount, b: Amount) -> bool {
    matches!((a, b), (Amount::Bytes(_), Amount::Bytes(_)) | (Amount::Frames(_), Amount::Frames(_)))
}

/// The smallest and largest frame that any flow sends.
fn frame_range(flows: &[FlowSpec]) -> (u16, u16) {
    let range = |flow: &FlowSpec| match &flow.source.sizes {
        FrameSizes::Fixed(bytes) => (*bytes, *bytes),
        FrameSizes::Uniform { min, max } => (*min, *max),
        FrameSizes::Bimodal { small, large, .. } => (*small.min(large), *small.max(large)),
        FrameSizes::Imix => (64, 1518),
        FrameSizes::Empirical(sizes) => {
            let bytes = || sizes.iter().map(|&(bytes, _)| bytes);
            (bytes().min().unwrap_or(64), bytes().max().unwrap_or(1522))
        }
    };
    flows.iter().map(range).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((64, frame::MAX_TAGGED_FRAME_BYTES))
}

/// What the links of a switch have in flight, and where its settings stand.
struct Room<'a> {
    name: &'a str,
    switch: &'a SwitchSpec,
    pause: &'a PauseSpec,
    /// Over all links: the largest headroom of one link and priority, in bytes and in frames.
    most_bytes: u64,
    most_frames: u64,
    /// Over all links, once for each lossless priority: the sum of headrooms, in bytes.
    sum_bytes: u64,
    /// Ports times lossless priorities.
    accounts: u64,
}

/// Checks that watermarks, limits and buffers leave room for what is in flight. Settings shared by several
/// switches are reported once, for the switch that needs most.
pub fn check_rooms(
    model: &Model,
    fabric: &Fabric,
    nodes: &[NodeSpec],
    flows: &[FlowSpec],
    context: &mut Context<'_>,
) {
    let links = fabric.links();
    let (shortest, longest) = frame_range(flows);
    let mut in_flight: Vec<(u64, u64, u64)> = vec![(0, 0, 0); nodes.len()];
    let need = |node: NodeId, link: &fabric::spec::LinkSpec| {
        let Role::Switch(switch) = &nodes[node.at()].role else { return None };
        let pause = switch.flow_control.as_ref()?;
        let response_bits = pause
            .response_time
            .map_or(response_quanta(link.rate) * QUANTUM_BITS, |time| link.rate.bits_in_ceil(time));
        let total = Headroom {
            max_frame: longest,
            overhead: link.overhead,
            interface_bits: 0,
            response_bits,
            ..Headroom::of_link(link.rate, link.delay)
        }
        .delay();
        Some((total.bytes().get(), total.frames_of(shortest, link.overhead)))
    };
    for link in &links {
        for node in [link.a, link.b] {
            if let Some((bytes, frames)) = need(node, link) {
                let entry = &mut in_flight[node.at()];
                *entry = (entry.0.max(bytes), entry.1.max(frames), entry.2.saturating_add(bytes));
            }
        }
    }
    let mut worst: BTreeMap<Option<&str>, Room<'_>> = BTreeMap::new();
    for (i, node) in nodes.iter().enumerate() {
        let Role::Switch(switch) = &node.role else { continue };
        let Some(pause) = &switch.flow_control else { continue };
        let priorities = match pause.kind {
            PauseKind::Link => 1,
            PauseKind::Priorities(set) => u64::from(set.count_ones()),
        };
        let (most_bytes, most_frames, sum) = in_flight[i];
        let room = Room {
            name: &node.name,
            switch,
            pause,
            most_bytes,
            most_frames,
            sum_bytes: sum.saturating_mul(priorities),
            accounts: priorities * fabric.ports(NodeId(i as u32)) as u64,
        };
        let settings = model.switches.contains_key(&node.name).then_some(node.name.as_str());
        let known = worst.get(&settings);
        if known.is_none_or(|known| (room.sum_bytes, room.most_bytes) > (known.sum_bytes, known.most_bytes)) {
            worst.insert(settings, room);
        }
    }
    for (settings, room) in &worst {
        check_room(*settings, room, model, context);
    }
}

fn check_room(settings: Option<&str>, room: &Room<'_>, model: &Model, context: &mut Context<'_>) {
    let station = settings.map_or(Place::of("switch"), |name| Place::of("switches").key(name));
    let kind = if matches!(room.pause.kind, PauseKind::Link) { "pause" } else { "pfc" };
    let own_text = settings.and_then(|name| model.switches.get(name)).is_some_and(|own| own.flow_control.is_some());
    let here = own_text || (model.switch.flow_control.is_some() && settings.is_none());
    let at = if here { station.key("flow_control").key(kind) } else { Place::of("flow_control").key(kind) };
    let buffer = &room.switch.buffer;
    let at_buffer = station.key("buffer");
    // A run that counts losses may be meant to have them.
    let strict = model.simulation.on_lossless_drop == model::OnLosslessDrop::Stop;
    let report = |context: &mut Context<'_>, place: &Place, message: String, help: String| {
        if strict { context.error(place, message, help) } else { context.warn(place, message, help) }
    };
    let needed = |like: Amount| match like {
        Amount::Bytes(_) => Amount::Bytes(room.most_bytes),
        Amount::Frames(_) => Amount::Frames(room.most_frames),
    };
    let name = room.name;
    let ingress = room.pause.accounting == Accounting::Ingress;
    if let Some(marks) = room.pause.watermarks {
        if let Some(headroom) = marks.headroom.filter(|&headroom| exceeds(needed(headroom), headroom)) {
            report(
                context,
                &at.key("headroom"),
                format!("headroom {headroom} is less than what a link of \"{name}\" has in flight"),
                format!("expected at least \"{}\", or no headroom to have it computed", needed(headroom)),
            );
        }
        let limit = buffer.queue.or(buffer.port).filter(|_| !ingress);
        if let Some(limit) = limit.filter(|&limit| comparable(limit, marks.xoff)) {
            if !exceeds(limit, marks.xoff) {
                context.error(&at.key("xoff"), format!("xoff {} is not below the queue limit {limit}", marks.xoff), "expected xon < xoff < limit");
            } else {
                let (Amount::Bytes(l) | Amount::Frames(l)) = limit;
                let (Amount::Bytes(x) | Amount::Frames(x)) = marks.xoff;
                let left = match limit {
                    Amount::Bytes(_) => Amount::Bytes(l - x),
                    Amount::Frames(_) => Amount::Frames(l - x),
                };
                if exceeds(needed(limit), left) {
                    report(
                        context,
                        &at.key("xoff"),
                        format!("xoff {} leaves {left} below the limit {limit}, less than what a link of \"{name}\" has in flight", marks.xoff),
                        format!("expected room for \"{}\": a lower xoff or a higher limit", needed(limit)),
                    );
                }
            }
        }
    }
    let Some(Amount::Bytes(total)) = buffer.total.filter(|_| ingress) else { return };
    let reserved = match room.pause.watermarks.and_then(|marks| marks.headroom) {
        Some(Amount::Bytes(headroom)) => headroom.saturating_mul(room.accounts),
        _ => room.sum_bytes,
    };
    if reserved > total {
        report(
            context,
            &at_buffer.key("total"),
            format!("the buffer of \"{name}\" has {}, but its headroom alone needs {}", Amount::Bytes(total), Amount::Bytes(reserved)),
            format!("expected a larger total: {} ports and priorities reserve headroom", room.accounts),
        );
    } else if let Some(Amount::Bytes(xoff)) = room.pause.watermarks.map(|marks| marks.xoff) {
        let all = xoff.saturating_mul(room.accounts).saturating_add(reserved);
        if all > total {
            context.warn(
                &at_buffer.key("total"),
                format!("the buffer of \"{name}\" has {}; with all ports at xoff and their headroom {} would be used", Amount::Bytes(total), Amount::Bytes(all)),
                "frames can be lost before a port is paused: expected a larger total or a lower xoff",
            );
        }
    }
}
