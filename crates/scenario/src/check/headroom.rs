//! Whether watermarks, limits and buffers leave room for what the links have in flight after an XOFF.
//!
//! What that is for each port says [`fabric::pause_needs`], which the run works with too.

use super::Context;
use super::pauses::{place_of, settings_of};
use crate::model::Model;
use crate::place::Place;
use fabric::PauseNeeds;
use fabric::spec::{NodeSpec, OnLosslessDrop, Role, Spec, SwitchSpec};
use flow_control::{Accounting, PauseSpec};
use queueing::SharedMemorySpec;
use std::collections::BTreeMap;
use units::{Amount, Bytes};

/// What the links of a switch have in flight, and where its settings stand.
struct Room<'a> {
    node: &'a NodeSpec,
    switch: &'a SwitchSpec,
    pause: &'a PauseSpec,
    /// Over all ports: the largest headroom of one port and priority, in bytes.
    most_bytes: u64,
    /// The same in the longest and in the shortest frames that flows send.
    most_frames: u64,
    most_short_frames: u64,
    /// Over all ports, once for each lossless priority: the sum of headrooms, in bytes.
    sum_bytes: u64,
    /// The same with all that lies below XOFF.
    sum_capacity: u64,
    /// Ports times lossless priorities.
    accounts: u64,
    /// XOFF of the port where it lies highest.
    xoff: Amount,
}

/// Checks that watermarks, limits and buffers leave room for what is in flight. Settings shared by several
/// nodes are reported once, for the node that needs most.
pub fn check(model: &Model, spec: &Spec, needs: &[PauseNeeds], context: &mut Context<'_>) {
    let bounds = fabric::frame_bounds(spec);
    let mut worst: BTreeMap<Option<&str>, Room<'_>> = BTreeMap::new();
    // The ports of a node follow each other.
    for ports in needs.chunk_by(|a, b| a.node == b.node) {
        let node = &spec.nodes[ports[0].node.at()];
        let Some(room) = room(node, ports, bounds) else { continue };
        let settings = settings_of(model, node);
        let known = worst.get(&settings);
        if known.is_none_or(|known| (room.sum_bytes, room.most_bytes) > (known.sum_bytes, known.most_bytes)) {
            worst.insert(settings, room);
        }
    }
    for (settings, room) in &worst {
        check_room(*settings, room, model, context);
    }
    receive_buffers(model, spec, needs, context);
}

fn room<'a>(node: &'a NodeSpec, ports: &[PauseNeeds], (shortest, longest): (u16, u16)) -> Option<Room<'a>> {
    let Role::Switch(switch) = &node.role else { return None };
    let pause = switch.flow_control.as_ref()?;
    let counters = pause.kind.counters();
    let most = |of: &dyn Fn(&PauseNeeds) -> u64| ports.iter().map(of).max().unwrap_or(0);
    let sum = |of: &dyn Fn(&PauseNeeds) -> u64| {
        ports.iter().map(of).fold(0, u64::saturating_add).saturating_mul(counters)
    };
    // Limits of memory are in bytes here; levels in frames do not count against them.
    let capacity = |port: &PauseNeeds| match port.levels.capacity {
        Amount::Bytes(bytes) => bytes,
        Amount::Frames(_) => 0,
    };
    let count = |amount: Amount| match amount {
        Amount::Bytes(count) | Amount::Frames(count) => count,
    };
    let frames = |port: &PauseNeeds, bytes: u16| port.delay.frames_of(bytes, port.overhead);
    Some(Room {
        node,
        switch,
        pause,
        most_bytes: most(&|port| port.room.get()),
        most_frames: most(&|port| frames(port, longest)),
        most_short_frames: most(&|port| frames(port, shortest)),
        sum_bytes: sum(&|port| port.room.get()),
        sum_capacity: sum(&capacity),
        accounts: counters * ports.len() as u64,
        xoff: ports.iter().map(|port| port.levels.xoff).max_by_key(|&xoff| count(xoff))?,
    })
}

/// What the checks of a room share. A run that counts losses may be meant to have them.
struct Checks<'c> {
    settings: Option<&'c str>,
    room: &'c Room<'c>,
    strict: bool,
}

fn check_room(settings: Option<&str>, room: &Room<'_>, model: &Model, context: &mut Context<'_>) {
    let strict = model.simulation.on_lossless_drop == OnLosslessDrop::Stop;
    let checks = Checks { settings, room, strict };
    let name = &room.node.name;
    let ingress = room.pause.accounting == Accounting::Ingress;
    let shared = room.switch.shared_memory;
    if let Some(memory) = shared.filter(|_| ingress) {
        return shared_memory(settings, room, memory, model, context);
    }
    let headroom = room.pause.watermarks.and_then(|marks| marks.headroom);
    if let Some(headroom) = headroom {
        checks.headroom(headroom, context);
    }
    let buffer = &room.switch.buffer;
    let limit = buffer.queue.or(buffer.port).filter(|_| !ingress);
    if let Some(limit) = limit.filter(|&limit| limit.comparable(room.xoff)) {
        checks.limit(limit, context);
    }
    if shared.is_some() {
        context.warn(
            &place_of_threshold(settings, model),
            format!(
                "\"{name}\" counts pauses at the egress, where its dynamic threshold can fall below xoff"
            ),
            "lossless frames can be lost before a pause is sent: expected accounting = \"ingress\"",
        );
    } else if let Some(Amount::Bytes(total)) = buffer.total.filter(|_| ingress) {
        checks.total(total, headroom, context);
    }
}

impl Checks<'_> {
    fn at(&self, key: &str, context: &Context<'_>) -> Place {
        place_of(self.room.node, self.settings, self.room.pause, key, context)
    }
    fn at_buffer(&self, key: &str) -> Place {
        let station = self.settings.map_or(Place::of("switch"), |name| Place::of("switches").key(name));
        station.key("buffer").key(key)
    }
    fn report(&self, place: &Place, message: String, help: String, context: &mut Context<'_>) {
        if self.strict { context.error(place, message, help) } else { context.warn(place, message, help) }
    }
    fn needed(&self, like: Amount) -> Amount {
        match like {
            Amount::Bytes(_) => Amount::Bytes(self.room.most_bytes),
            Amount::Frames(_) => Amount::Frames(self.room.most_frames),
        }
    }
    fn short(&self) -> Amount {
        Amount::Frames(self.room.most_short_frames)
    }

    fn headroom(&self, headroom: Amount, context: &mut Context<'_>) {
        let (name, needed) = (&self.room.node.name, self.needed(headroom));
        let place = self.at("headroom", context);
        if needed.exceeds(headroom) {
            let message = format!("headroom {headroom} is less than what a link of \"{name}\" has in flight");
            let help = format!("expected at least \"{needed}\", or no headroom to have it computed");
            self.report(&place, message, help, context);
        } else if self.short().exceeds(headroom) {
            let short = self.room.most_short_frames;
            context.warn(
                &place,
                format!("headroom {headroom}, but of the shortest frames a link of \"{name}\" has {short} in flight"),
                "frames can be lost: expected watermarks in bytes or more headroom",
            );
        }
    }

    /// The limit of a queue, of which what lies above `xoff` is the room.
    fn limit(&self, limit: Amount, context: &mut Context<'_>) {
        let (xoff, name) = (self.room.xoff, &self.room.node.name);
        let (place, what) = match self.room.pause.watermarks.is_some() {
            true => (self.at("xoff", context), "xoff"),
            false => {
                let key = if self.room.switch.buffer.queue.is_some() { "queue" } else { "port" };
                (self.at_buffer(key), "the computed xoff")
            }
        };
        let left = match (limit, xoff) {
            (Amount::Bytes(limit), Amount::Bytes(xoff)) if limit > xoff => Amount::Bytes(limit - xoff),
            (Amount::Frames(limit), Amount::Frames(xoff)) if limit > xoff => Amount::Frames(limit - xoff),
            _ => {
                let message = format!("{what} {xoff} is not below the queue limit {limit}");
                return context.error(&place, message, "expected xon < xoff < limit");
            }
        };
        let needed = self.needed(limit);
        if needed.exceeds(left) {
            let message = format!(
                "{what} {xoff} leaves {left} below the limit {limit}, less than what a link of \"{name}\" has in flight",
            );
            let help = format!("expected room for \"{needed}\": a lower xoff or a higher limit");
            self.report(&place, message, help, context);
        } else if self.short().exceeds(left) {
            let short = self.room.most_short_frames;
            context.warn(
                &place,
                format!("{what} {xoff} leaves {left} below the limit {limit}; of the shortest frames a link of \"{name}\" has {short} in flight"),
                "frames can be lost: expected limits in bytes, a lower xoff or a higher limit",
            );
        }
    }

    /// The memory of the switch, which all headroom is part of.
    fn total(&self, total: u64, headroom: Option<Amount>, context: &mut Context<'_>) {
        let (name, place) = (&self.room.node.name, self.at_buffer("total"));
        let (has, accounts) = (Amount::Bytes(total), self.room.accounts);
        let reserved = match headroom {
            Some(Amount::Bytes(headroom)) => headroom.saturating_mul(accounts),
            _ => self.room.sum_bytes,
        };
        if reserved > total {
            let needs = Amount::Bytes(reserved);
            let message = format!("the buffer of \"{name}\" has {has}, but its headroom alone needs {needs}");
            let help = format!("expected a larger total: {accounts} ports and priorities reserve headroom");
            self.report(&place, message, help, context);
        } else if self.room.sum_capacity > total {
            let used = Amount::Bytes(self.room.sum_capacity);
            context.warn(
                &place,
                format!("the buffer of \"{name}\" has {has}; with all ports at xoff and their headroom {used} would be used"),
                "frames can be lost before a port is paused: expected a larger total or a lower xoff",
            );
        }
    }
}

/// Whether the pool of headroom of a shared memory holds what all links together have in flight. The threshold takes
/// the place of watermarks.
fn shared_memory(
    settings: Option<&str>,
    room: &Room<'_>,
    memory: SharedMemorySpec,
    model: &Model,
    context: &mut Context<'_>,
) {
    let name = &room.node.name;
    if room.pause.watermarks.is_some() {
        let place = place_of(room.node, settings, room.pause, "xoff", context);
        context.warn(
            &place,
            format!("xoff and xon, but the dynamic threshold of \"{name}\" says when it pauses and lets go"),
            "they are ignored there: expected neither, or no dynamic_threshold",
        );
    }
    if memory.headroom >= room.sum_bytes {
        return;
    }
    let place = place_of_threshold(settings, model).key("headroom");
    let message = format!(
        "the headroom of \"{name}\" holds {}, less than the {} that its links have in flight",
        Bytes::new(memory.headroom),
        Bytes::new(room.sum_bytes)
    );
    let help =
        format!("expected at least \"{}\", within a total that has room for it", Bytes::new(room.sum_bytes));
    if model.simulation.on_lossless_drop == OnLosslessDrop::Stop {
        context.error(&place, message, help);
    } else {
        context.warn(&place, message, help);
    }
}

/// Where the dynamic threshold of switches with these settings stands.
fn place_of_threshold(settings: Option<&str>, model: &Model) -> Place {
    let own = settings.filter(|name| {
        let buffer = model.switches.get(*name).and_then(|own| own.buffer.as_ref());
        buffer.is_some_and(|buffer| buffer.dynamic_threshold.is_some())
    });
    let station = own.map_or(Place::of("switch"), |name| Place::of("switches").key(name));
    station.key("buffer").key("dynamic_threshold")
}

/// Whether receive buffers leave room for what is in flight after an XOFF, or for a frame at all.
fn receive_buffers(model: &Model, spec: &Spec, needs: &[PauseNeeds], context: &mut Context<'_>) {
    let longest = if spec.flows.is_empty() { 0 } else { fabric::frame_bounds(spec).1 };
    let mut rooms: Vec<Option<u64>> = vec![None; spec.nodes.len()];
    for need in needs {
        let room = &mut rooms[need.node.at()];
        *room = (*room).max(Some(need.room.get()));
    }
    // The host that needs most of those that share their settings.
    let mut worst: BTreeMap<Option<&str>, (u64, &str, u64, bool)> = BTreeMap::new();
    for (node, room) in spec.nodes.iter().zip(rooms) {
        let Role::Host(host) = &node.role else { continue };
        let Some(buffer) = host.receive.as_ref().and_then(|receive| receive.buffer) else { continue };
        let needed = room.unwrap_or(0) + u64::from(longest);
        let own = model.hosts.get(&node.name).is_some_and(|own| own.receive.is_some());
        let of_these = worst.entry(own.then_some(node.name.as_str())).or_default();
        if buffer < needed && needed > of_these.0 {
            *of_these = (needed, &node.name, buffer, room.is_some());
        }
    }
    for (own, (needed, name, buffer, sends_pauses)) in
        worst.into_iter().filter(|(_, (needed, ..))| *needed > 0)
    {
        let at = own.map_or(Place::of("host"), |own| Place::of("hosts").key(own));
        let at = at.key("receive").key("buffer");
        let message = format!("a receive buffer of {} in \"{name}\" is too small", Bytes::new(buffer));
        let why =
            if sends_pauses { ": a frame, and what is on the way after XOFF" } else { ", the longest frame" };
        let help = format!("expected at least \"{}\"{why}", Bytes::new(needed));
        if sends_pauses && model.simulation.on_lossless_drop == OnLosslessDrop::Stop {
            context.error(&at, message, help);
        } else {
            context.warn(&at, message, help);
        }
    }
}
