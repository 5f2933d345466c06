//! `[host.receive]`: hosts that take their time.

use super::Context;
use crate::effective::fill_receive;
use crate::model::{Model, OnLosslessDrop, Receive};
use crate::place::Place;
use fabric::spec::{FlowSpec, NodeSpec, ReceiveChange, ReceiveSpec, Role};
use flow_control::headroom::{Headroom, QUANTUM_BITS, response_quanta};
use units::{BitRate, Bytes, Time, WireClock};

/// The longest time that a frame may cost.
const SLOWEST: Time = Time::from_ms(1000);

/// How a host receives, if it says so; keys that it does not set come from `all`.
pub fn lower(
    model: &Model,
    all: Option<&Receive>,
    own: Option<&Receive>,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<ReceiveSpec> {
    let mut merged = all.cloned();
    if let Some(own) = own {
        let outer = merged.take().unwrap_or_default();
        merged = Some(Receive {
            time_per_frame: own.time_per_frame.or(outer.time_per_frame),
            rate: own.rate.or(outer.rate),
            buffer: own.buffer.or(outer.buffer),
            script: own.script.clone().or(outer.script),
        });
    }
    let mut merged = merged?;
    fill_receive(&mut merged);
    let at = at.key("receive");
    let time_per_frame = time(merged.time_per_frame.map(|time| time.0), &at, context);
    let rate = merged.rate.and_then(|rate| rate.value());
    check_rate(rate, &at, context);
    let buffer = merged.buffer.and_then(|buffer| buffer.value());
    if buffer == Some(Bytes::new(0)) {
        context.error(
            &at.key("buffer"),
            "a buffer of 0: no frame could arrive",
            "expected a size above 0, or \"unlimited\"",
        );
    }
    let script = script(&merged, model.simulation.duration.0, &at, context);
    Some(ReceiveSpec {
        time_per_frame: time_per_frame.unwrap_or_default(),
        rate,
        buffer: buffer.map(Bytes::get),
        script,
    })
}

fn time(time: Option<Time>, at: &Place, context: &mut Context<'_>) -> Option<Time> {
    if time.is_some_and(|time| time > SLOWEST) {
        context.error(
            &at.key("time_per_frame"),
            format!("{} for each frame is too long", time.unwrap_or_default()),
            format!(
                "expected at most \"{SLOWEST}\"; a host that takes in nothing has a script with stop = true"
            ),
        );
    }
    time
}

fn check_rate(rate: Option<BitRate>, at: &Place, context: &mut Context<'_>) {
    let Some(rate) = rate else { return };
    if rate.bps() == 0 {
        context.error(
            &at.key("rate"),
            "the rate of a receiving host is 0",
            "expected a rate above 0, or \"unlimited\"; a host that takes in nothing has a script with stop = true",
        );
    } else if !WireClock::supports(rate) {
        context.error(
            &at.key("rate"),
            format!("{rate} has no exact byte time"),
            format!(
                "expected a rate with fewer digits, like \"{}\"",
                BitRate::from_bps(rate.bps() / 1000 * 1000)
            ),
        );
    }
}

fn script(receive: &Receive, end: Time, at: &Place, context: &mut Context<'_>) -> Vec<(Time, ReceiveChange)> {
    let mut before = Time::ZERO;
    let mut changes = Vec::new();
    for (i, step) in receive.script.iter().flatten().enumerate() {
        let at = at.key("script").index(i);
        let when = step.at.0;
        if when < before {
            context.error(
                &at.key("at"),
                format!("at {when} comes before the step above at {before}"),
                "expected steps in order of time",
            );
        } else if when >= end {
            context.warn(
                &at.key("at"),
                format!("at {when} is after the end of the simulation"),
                format!("it has no effect; the duration is {end}"),
            );
        }
        before = when;
        check_rate(step.rate.map(|rate| rate.0), &at, context);
        let time_per_frame = time(step.time_per_frame.map(|time| time.0), &at, context);
        match (step.start, step.stop) {
            (true, false) => {
                let rate = step.rate.map(|rate| rate.0);
                changes.push((when, ReceiveChange::Start { time_per_frame, rate }));
            }
            (false, true) => {
                if step.rate.is_some() || step.time_per_frame.is_some() {
                    context.error(&at, "a speed with stop", "a speed belongs to start = true");
                }
                changes.push((when, ReceiveChange::Stop));
            }
            (both, _) => {
                let what = if both { "start and stop at once" } else { "neither start nor stop" };
                context.error(&at, format!("a step with {what}"), "expected start = true or stop = true");
            }
        }
    }
    changes
}

/// Whether receive buffers leave room for what is in flight after an XOFF, or for a frame at all.
pub fn rooms(
    model: &Model,
    links: &[fabric::spec::LinkSpec],
    nodes: &[NodeSpec],
    flows: &[FlowSpec],
    context: &mut Context<'_>,
) {
    let longest = flows.iter().map(|flow| flow.frame_bounds().1).max().unwrap_or(0);
    let strict = model.simulation.on_lossless_drop == OnLosslessDrop::Stop;
    let mut told = std::collections::BTreeSet::new();
    for link in links {
        for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
            let Role::Host(host) = &nodes[node.at()].role else { continue };
            let Some(buffer) = host.receive.as_ref().and_then(|receive| receive.buffer) else { continue };
            let name = &nodes[node.at()].name;
            let own = model.hosts.get(name).is_some_and(|own| own.receive.is_some());
            let at = if own { Place::of("hosts").key(name) } else { Place::of("host") };
            let at = at.key("receive").key("buffer");
            let response = match &nodes[peer.at()].role {
                Role::Switch(switch) => switch.flow_control.as_ref(),
                Role::Host(host) => host.flow_control.as_ref(),
            };
            let response = response.and_then(|control| control.response_time);
            let room = Headroom {
                max_frame: longest,
                overhead: link.overhead,
                interface_bits: 0,
                response_bits: response
                    .map_or(response_quanta(link.rate) * QUANTUM_BITS, |time| link.rate.bits_in_ceil(time)),
                ..Headroom::of_link(link.rate, link.delay)
            };
            let room = room.delay().room(longest).get();
            let needed =
                if host.flow_control.is_some() { room + u64::from(longest) } else { u64::from(longest) };
            if buffer >= needed || !told.insert(own.then_some(name)) {
                continue;
            }
            let message = format!("a receive buffer of {} in \"{name}\" is too small", Bytes::new(buffer));
            let help = match host.flow_control {
                Some(_) => format!(
                    "expected at least \"{}\": a frame, and what is on the way after XOFF",
                    Bytes::new(needed)
                ),
                None => format!("expected at least \"{}\", the longest frame", Bytes::new(needed)),
            };
            if strict && host.flow_control.is_some() {
                context.error(&at, message, help);
            } else {
                context.warn(&at, message, help);
            }
        }
    }
}
