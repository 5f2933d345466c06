//! PAUSE, PFC and TPFC: inheritance, what the keys mean together, and the specification.

use super::Context;
use super::stations::exceeds;
use crate::effective::fill_pause;
use crate::model::{self, FlowControl, Model, PauseSettings, Sampling};
use crate::place::Place;
use flow_control::{Accounting, PauseKind, PauseSpec, TargetMethod, TargetSpec, Watermarks};
use std::collections::BTreeSet;
use units::{Amount, Computed, Or, Time};

/// What `inner` says, and where it says nothing and is of the same kind, what `outer` says.
fn resolve(outer: &FlowControl, inner: Option<&FlowControl>) -> FlowControl {
    match (outer, inner) {
        (outer, None) => outer.clone(),
        (FlowControl::Pfc(outer), Some(FlowControl::Pfc(inner))) => FlowControl::Pfc(merge(outer, inner)),
        (FlowControl::Pause(outer), Some(FlowControl::Pause(inner))) => {
            FlowControl::Pause(merge(outer, inner))
        }
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
            model::TargetMethod::MaxMin => TargetMethod::MaxMin,
            model::TargetMethod::RandomSampling => TargetMethod::RandomSampling,
        },
        watermark: target.watermark,
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
        let why = if quanta == 0 {
            " is not a pause: 0 means XON"
        } else {
            " does not fit the 16 bits of a pause frame"
        };
        context.error(
            &at.key("pause_quanta"),
            format!("pause_quanta {quanta}{why}"),
            "expected 1 to 65535 quanta of 512 bit times",
        );
    }
    if let Some(time) =
        settings.response_time.and_then(|time| time.value()).filter(|&time| time > Time::from_ms(1000))
    {
        context.error(
            &at.key("response_time"),
            format!("a response time of {time} is too long"),
            "expected at most \"1 s\", or \"standard\"",
        );
    }
    watermarks(settings, &at, context);
    target(kind, settings, &at, context);
}

fn priorities(kind: &str, settings: &PauseSettings, model: &Model, at: &Place, context: &mut Context<'_>) {
    let Some(list) = &settings.priorities else { return };
    let at = at.key("priorities");
    if kind == "pause" {
        context.error(
            &at,
            "pause stops the whole link, not single priorities",
            "leave the key out, or use [flow_control.pfc]",
        );
        return;
    }
    if list.is_empty() && !model.flows.is_empty() {
        context.error(
            &at,
            "no priority is lossless",
            "expected priorities 0 to 7, like [3], or flow_control = \"off\"",
        );
    }
    let used = used_priorities(model);
    for (i, &priority) in list.iter().enumerate() {
        if priority > 7 {
            context.error(
                &at.index(i),
                format!("priority {priority}"),
                "expected priorities 0 to 7 (IEEE 802.1Q)",
            );
        } else if list[..i].contains(&priority) {
            context.error(
                &at.index(i),
                format!("priority {priority} is listed twice"),
                "expected each priority once",
            );
        } else if !used.contains(&priority) {
            let used = used.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            context.warn(
                &at.index(i),
                format!("priority {priority} is lossless, but no flow uses it"),
                format!("flows use priority {used}"),
            );
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
                context.error(
                    &at.key("xon"),
                    format!("xon {xon} and xoff {xoff} cannot be compared"),
                    "expected both in bytes or both in frames",
                );
            } else if !exceeds(xoff, xon) {
                context.error(
                    &at.key("xon"),
                    format!("xon {xon} is not below xoff {xoff}"),
                    "expected xon < xoff: a pause ends at a lower occupancy than it begins",
                );
            }
        }
        (None, None) => {}
    }
    let ingress = settings.accounting != Some(model::Accounting::Egress);
    let Some(headroom) = value(settings.headroom) else { return };
    if !ingress {
        context.error(
            &at.key("headroom"),
            "headroom with egress accounting",
            "it belongs to accounting = \"ingress\"; here the room is the queue limit minus xoff",
        );
    } else if xoff.is_none() {
        context.error(
            &at.key("headroom"),
            "headroom without xoff and xon",
            "expected xoff and xon too, or no headroom to have all computed",
        );
    } else if xoff.is_some_and(|xoff| !comparable(xoff, headroom)) {
        context.error(
            &at.key("headroom"),
            format!("headroom {headroom} has another unit than xoff"),
            "expected both in bytes or both in frames",
        );
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
        context.error(
            &at_target,
            "a target with ingress accounting",
            "expected accounting = \"egress\": targets are found in an egress queue",
        );
        return;
    }
    let value = |or: Option<Or<Amount, Computed>>| or.and_then(|or| or.value());
    let (watermark, at) = (target.watermark, at_target.key("watermark"));
    let order = "expected xon < target watermark < xoff";
    let Some((xoff, xon)) = value(settings.xoff).zip(value(settings.xon)) else {
        context.error(
            &at,
            "a target watermark without xoff and xon",
            "expected xoff and xon too: the target watermark lies between them",
        );
        return;
    };
    if !comparable(watermark, xoff) {
        context.error(
            &at,
            format!("watermark {watermark} has another unit than xoff {xoff}"),
            "expected both in bytes or both in frames",
        );
    } else if !exceeds(xoff, watermark) {
        context.error(&at, format!("target watermark {watermark} is not below xoff {xoff}"), order);
    } else if comparable(xon, xoff) && !exceeds(watermark, xon) {
        context.error(&at, format!("target watermark {watermark} is not above xon {xon}"), order);
    }
}

pub fn comparable(a: Amount, b: Amount) -> bool {
    matches!((a, b), (Amount::Bytes(_), Amount::Bytes(_)) | (Amount::Frames(_), Amount::Frames(_)))
}
