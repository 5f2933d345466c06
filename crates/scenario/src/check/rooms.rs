//! Whether watermarks, limits and buffers leave room for what the links have in flight after an XOFF.
//!
//! The need of a link is the worst case of [`flow_control::headroom`] without interface delays, which the
//! delay of a link already holds, and with the longest frame that any flow sends.

use super::Context;
use super::flow_control::comparable;
use super::stations::exceeds;
use super::topology::Fabric;
use crate::model::{self, Model};
use crate::place::Place;
use fabric::spec::{FlowSpec, NodeSpec, Role, SwitchSpec};
use flow_control::headroom::{Headroom, QUANTUM_BITS, response_quanta};
use flow_control::{Accounting, PauseKind, PauseSpec};
use frame::NodeId;
use std::collections::BTreeMap;
use units::Amount;
use workload::FrameSizes;

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
    flows
        .iter()
        .map(range)
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        .unwrap_or((64, frame::MAX_TAGGED_FRAME_BYTES))
}

/// What the links of a switch have in flight, and where its settings stand.
struct Room<'a> {
    name: &'a str,
    switch: &'a SwitchSpec,
    pause: &'a PauseSpec,
    /// Over all links: the largest headroom of one link and priority, in bytes.
    most_bytes: u64,
    /// The same in the longest and in the shortest frames that flows send.
    most_frames: u64,
    most_short_frames: u64,
    /// Over all links, once for each lossless priority: the sum of headrooms, in bytes.
    sum_bytes: u64,
    /// Ports times lossless priorities.
    accounts: u64,
}

/// What the links of a node have in flight after an XOFF.
#[derive(Clone, Copy, Default)]
struct InFlight {
    most_bytes: u64,
    long: u64,
    short: u64,
    sum_bytes: u64,
}

impl InFlight {
    fn add(&mut self, link: InFlight) {
        self.most_bytes = self.most_bytes.max(link.most_bytes);
        self.long = self.long.max(link.long);
        self.short = self.short.max(link.short);
        self.sum_bytes = self.sum_bytes.saturating_add(link.most_bytes);
    }
}

/// Checks that watermarks, limits and buffers leave room for what is in flight. Settings shared by several
/// switches are reported once, for the switch that needs most.
pub fn check(
    model: &Model,
    fabric: &Fabric,
    nodes: &[NodeSpec],
    flows: &[FlowSpec],
    context: &mut Context<'_>,
) {
    let links = fabric.links();
    let (shortest, longest) = frame_range(flows);
    let mut in_flight = vec![InFlight::default(); nodes.len()];
    let need = |node: NodeId, peer: NodeId, link: &fabric::spec::LinkSpec| {
        let Role::Switch(switch) = &nodes[node.at()].role else { return None };
        let pause = switch.flow_control.as_ref()?;
        let response_bits = pause
            .response_time
            .map_or(response_quanta(link.rate) * QUANTUM_BITS, |time| link.rate.bits_in_ceil(time));
        let total = Headroom {
            rate: nodes[peer.at()].clock_tolerance.fastest(link.rate),
            max_frame: longest,
            overhead: link.overhead,
            interface_bits: 0,
            response_bits,
            pipeline: switch.latency,
            ..Headroom::of_link(link.rate, link.delay)
        }
        .delay();
        let frames = |bytes: u16| total.frames_of(bytes, link.overhead);
        Some(InFlight {
            most_bytes: total.room(longest).get(),
            long: frames(longest),
            short: frames(shortest),
            sum_bytes: 0,
        })
    };
    for link in &links {
        for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
            if let Some(need) = need(node, peer, link) {
                in_flight[node.at()].add(need);
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
        let need = in_flight[i];
        let room = Room {
            name: &node.name,
            switch,
            pause,
            most_bytes: need.most_bytes,
            most_frames: need.long,
            most_short_frames: need.short,
            sum_bytes: need.sum_bytes.saturating_mul(priorities),
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
    let own_text =
        settings.and_then(|name| model.switches.get(name)).is_some_and(|own| own.flow_control.is_some());
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
                context.error(
                    &at.key("xoff"),
                    format!("xoff {} is not below the queue limit {limit}", marks.xoff),
                    "expected xon < xoff < limit",
                );
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
                        format!(
                            "xoff {} leaves {left} below the limit {limit}, less than what a link of \"{name}\" has in flight",
                            marks.xoff
                        ),
                        format!("expected room for \"{}\": a lower xoff or a higher limit", needed(limit)),
                    );
                } else if exceeds(Amount::Frames(room.most_short_frames), left) {
                    let short = room.most_short_frames;
                    context.warn(
                        &at.key("xoff"),
                        format!("xoff {} leaves {left} below the limit {limit}; of the shortest frames a link of \"{name}\" has {short} in flight", marks.xoff),
                        "frames can be lost: expected limits in bytes, a lower xoff or a higher limit",
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
            format!(
                "the buffer of \"{name}\" has {}, but its headroom alone needs {}",
                Amount::Bytes(total),
                Amount::Bytes(reserved)
            ),
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
