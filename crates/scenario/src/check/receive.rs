//! `[host.receive]` and `[host.send]`: processing times of hosts.

use super::Context;
use crate::effective::{fill_receive, fill_send};
use crate::model::{Model, Receive, Send};
use crate::place::Place;
use fabric::spec::{CoreChange, InterruptSpec, ReceiveSpec, SendSpec};
use keys::Unused;
use units::{BitRate, Bytes, Time, WireClock};

/// Maximum processing time of a frame.
const SLOWEST: Time = Time::from_ms(1000);
/// Maximum number of cores per port.
const MOST_CORES: u64 = 64;
const TAKES_IN_NOTHING: &str = "use a script with stop = true for a host that receives nothing";
const TAKES_TIME: &str =
    "a host that takes time for frames, or stops: `time_per_frame`, `rate`, interrupts or a script";
const SENDS_NOTHING: &str = "a host that sends nothing has no flows";
/// Maximum number of frames per interrupt.
const MOST_WAIT: u64 = 1_000_000;

/// Converts the receive settings of a host, if given; missing keys are taken from `all`. `is_room` is true if its flow
/// control grants the receive buffer to senders.
pub fn lower(
    model: &Model,
    all: Option<&Receive>,
    own: Option<&Receive>,
    is_room: bool,
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
            cores: own.cores.or(outer.cores),
            interrupt_delay: own.interrupt_delay.or(outer.interrupt_delay),
            interrupt_frames: own.interrupt_frames.or(outer.interrupt_frames),
            interrupt_time: own.interrupt_time.or(outer.interrupt_time),
            script: own.script.clone().or(outer.script),
        });
    }
    let mut merged = merged?;
    fill_receive(&mut merged);
    let at = at.key("receive");
    let time_per_frame = time(merged.time_per_frame, TAKES_IN_NOTHING, &at, context);
    let cores = count("cores", merged.cores, MOST_CORES, &at, context);
    let interrupt = interrupt(&merged, &at, context);
    let rate = merged.rate.and_then(|rate| rate.value());
    check_rate(rate, "receiving", TAKES_IN_NOTHING, &at, context);
    let buffer = merged.buffer.and_then(|buffer| buffer.value());
    if buffer == Some(Bytes::new(0)) {
        context.error(
            &at.key("buffer"),
            "a buffer of 0: no frame could arrive",
            "expected a size above 0, or \"unlimited\"",
        );
    }
    let script = script(&merged, model.simulation.duration, &at, context);
    let spec = ReceiveSpec {
        time_per_frame: time_per_frame.unwrap_or_default(),
        rate,
        buffer: buffer.map(Bytes::get),
        cores: cores.unwrap_or(1),
        interrupt,
        script,
    };
    let mut usual = Receive::default();
    fill_receive(&mut usual);
    let found = Unused::of(&merged, &usual)
        .unless(interrupt.delay > Time::ZERO, "an `interrupt_delay` above 0", &["interrupt_frames"])
        .unless(!is_room, "a host with flow control other than credits", &["buffer"])
        .unless(is_room || spec.takes_time() || !spec.script.is_empty(), TAKES_TIME, &["buffer"]);
    context.unused(found.remarks(), &at);
    Some(spec)
}

/// Converts the send settings of a host, if given; missing keys are taken from `all`.
pub fn lower_send(
    all: Option<&Send>,
    own: Option<&Send>,
    end: Time,
    at: &Place,
    context: &mut Context<'_>,
) -> Option<SendSpec> {
    let mut merged = all.cloned();
    if let Some(own) = own {
        let outer = merged.take().unwrap_or_default();
        merged = Some(Send {
            time_per_frame: own.time_per_frame.or(outer.time_per_frame),
            rate: own.rate.or(outer.rate),
            script: own.script.clone().or(outer.script),
        });
    }
    let mut merged = merged?;
    fill_send(&mut merged);
    let at = at.key("send");
    let time_per_frame = time(merged.time_per_frame, SENDS_NOTHING, &at, context).unwrap_or_default();
    let rate = merged.rate.and_then(|rate| rate.value());
    check_rate(rate, "sending", SENDS_NOTHING, &at, context);
    let script = send_script(&merged, end, &at, context);
    Some(SendSpec { time_per_frame, rate, script })
}

fn send_script(send: &Send, end: Time, at: &Place, context: &mut Context<'_>) -> Vec<(Time, CoreChange)> {
    let mut before = Time::ZERO;
    let mut changes = Vec::new();
    for (i, step) in send.script.iter().flatten().enumerate() {
        let at = at.key("script").index(i);
        follows(step.at, &mut before, end, &at, context);
        check_rate(step.rate, "sending", SENDS_NOTHING, &at, context);
        let time_per_frame = time(step.time_per_frame, SENDS_NOTHING, &at, context);
        if step.rate.is_none() && step.time_per_frame.is_none() {
            context.error(&at, "a step that changes nothing", "expected time_per_frame, rate or both");
        }
        changes.push((step.at, CoreChange::Send { time_per_frame, rate: step.rate }));
    }
    changes
}

/// Reports a step that is before the previous one, or after the end of the simulation.
fn follows(when: Time, before: &mut Time, end: Time, at: &Place, context: &mut Context<'_>) {
    if when < *before {
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
    *before = when;
}

fn interrupt(receive: &Receive, at: &Place, context: &mut Context<'_>) -> InterruptSpec {
    let mut short = |key: &str, time: Option<Time>| {
        let time = time.unwrap_or_default();
        if time > SLOWEST {
            let message = format!("{key} of {time} is too long");
            context.error(&at.key(key), message, format!("expected at most \"{SLOWEST}\""));
        }
        time
    };
    let delay = short("interrupt_delay", receive.interrupt_delay);
    let time = short("interrupt_time", receive.interrupt_time);
    let frames = count("interrupt_frames", receive.interrupt_frames, MOST_WAIT, at, context);
    InterruptSpec { time, delay, frames }
}

fn count(key: &str, count: Option<u64>, most: u64, at: &Place, context: &mut Context<'_>) -> Option<u32> {
    let count = count?;
    if !(1..=most).contains(&count) {
        context.error(&at.key(key), format!("{key} = {count}"), format!("expected 1 to {most}"));
        return None;
    }
    Some(count as u32)
}

/// Checks a processing time. `nothing` is the advice for a host that is to process no frames; it is part of the
/// message.
fn time(time: Option<Time>, nothing: &str, at: &Place, context: &mut Context<'_>) -> Option<Time> {
    if time.is_some_and(|time| time > SLOWEST) {
        context.error(
            &at.key("time_per_frame"),
            format!("{} for each frame is too long", time.unwrap_or_default()),
            format!("expected at most \"{SLOWEST}\"; {nothing}"),
        );
    }
    time
}

fn check_rate(rate: Option<BitRate>, what: &str, nothing: &str, at: &Place, context: &mut Context<'_>) {
    let Some(rate) = rate else { return };
    if rate.bps() == 0 {
        context.error(
            &at.key("rate"),
            format!("the rate of a {what} host is 0"),
            format!("expected a rate above 0, or \"unlimited\"; {nothing}"),
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

fn script(receive: &Receive, end: Time, at: &Place, context: &mut Context<'_>) -> Vec<(Time, CoreChange)> {
    let mut before = Time::ZERO;
    let mut changes = Vec::new();
    for (i, step) in receive.script.iter().flatten().enumerate() {
        let at = at.key("script").index(i);
        let when = step.at;
        follows(when, &mut before, end, &at, context);
        check_rate(step.rate, "receiving", TAKES_IN_NOTHING, &at, context);
        let time_per_frame = time(step.time_per_frame, TAKES_IN_NOTHING, &at, context);
        match (step.start, step.stop) {
            (true, false) => {
                let rate = step.rate;
                changes.push((when, CoreChange::Start { time_per_frame, rate }));
            }
            (false, true) => {
                if step.rate.is_some() || step.time_per_frame.is_some() {
                    context.error(&at, "a speed with stop", "a speed belongs to start = true");
                }
                changes.push((when, CoreChange::Stop));
            }
            (both, _) => {
                let what = if both { "start and stop at once" } else { "neither start nor stop" };
                context.error(&at, format!("a step with {what}"), "expected start = true or stop = true");
            }
        }
    }
    changes
}
