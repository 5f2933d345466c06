//! Checks of a running simulation: deadlocks and watchdogs.

use super::Context;
use crate::model::{Model, ProbesText, WhatText};
use crate::place::Place;
use fabric::spec::{GuardSpec, Skip};
use flow_control::FlowControl;
use flow_control::watchdog::WatchdogSpec;
use jobs::Precision;
use keys::Remark;
use units::Time;

/// Converts the guards of a scenario.
pub fn lower(model: &Model, context: &mut Context<'_>) -> GuardSpec {
    let interval = model.simulation.deadlock_interval;
    if interval == Time::ZERO {
        let at = Place::of("simulation").key("deadlock_interval");
        context.error(&at, "deadlock_interval is 0", "expected a time above 0, like \"100 us\"");
    }
    if model.simulation.until.is_some()
        && let Err(why) = Precision::check(model.jobs.iter().map(|job| job.iterations))
    {
        context.beware(why, &Place::of("simulation"));
    }
    if let Err(why) = check_skip(model) {
        context.beware(why, &Place::of("simulation"));
    }
    if let Some(watchdog) = model.watchdog {
        check_watchdog(model, watchdog, context);
    }
    GuardSpec {
        on_deadlock: model.simulation.on_deadlock,
        deadlock_interval: interval,
        watchdog: model.watchdog,
        until: model.simulation.until,
        skip: model.simulation.skip,
    }
}

/// Checks that a job has iterations that can be skipped, that `until` does not end the jobs first, and that no frames
/// are recorded.
fn check_skip(model: &Model) -> Result<(), Remark> {
    if model.simulation.skip == Skip::Off {
        return Ok(());
    }
    let most = model.jobs.iter().map(|job| job.iterations).max().unwrap_or(0);
    let fewest = Skip::FEWEST_ITERATIONS;
    // Steps of a ring may be skipped within any iteration if there is only one job.
    let is_alone = model.simulation.skip == Skip::Phases && model.jobs.len() == 1;
    if most < fewest.into() && !is_alone {
        let message = format!("`skip`, and no job has more than {most} iterations");
        let help = format!("expected a job with at least {fewest} iterations, or no `skip`");
        return Err(Remark::about("skip", message, help));
    }
    if model.simulation.skip.leaves_out() && model.simulation.until.is_some() {
        let help = "nothing is skipped where `until` ends the jobs: leave one of them out";
        return Err(Remark::about("skip", "`skip` beside `until`", help));
    }
    let records_frames = match &model.probes {
        ProbesText::All(_) => false,
        ProbesText::Chosen(all) => all.iter().any(|probe| probe.what == WhatText::Frames),
    };
    if model.simulation.skip.leaves_out() && records_frames {
        let help = "frames of skipped iterations have no rows: leave `skip` out, or the probe of frames";
        return Err(Remark::about("skip", "`skip` beside recorded frames", help));
    }
    Ok(())
}

fn check_watchdog(model: &Model, watchdog: WatchdogSpec, context: &mut Context<'_>) {
    let at = Place::of("watchdog");
    let pauses = |control: &Option<FlowControl>| control.as_ref().is_some_and(FlowControl::pauses);
    let somewhere = model.flow_control.pauses()
        || pauses(&model.switch.flow_control)
        || model.switches.values().any(|own| pauses(&own.flow_control));
    match watchdog.check(model.simulation.duration, somewhere) {
        Ok(warnings) => warnings.into_iter().for_each(|why| context.beware(why, &at)),
        Err(why) => context.refuse(why, &at),
    }
}
