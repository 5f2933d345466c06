//! Checks of a running simulation: deadlocks and watchdogs.

use super::Context;
use crate::model::Model;
use crate::place::Place;
use fabric::spec::{GuardSpec, Skip};
use flow_control::FlowControl;
use flow_control::watchdog::WatchdogSpec;
use jobs::Precision;
use keys::Remark;
use units::Time;

/// Iterations that a job needs so that some may be skipped: two periods and one at either end.
const FEWEST_ITERATIONS: u64 = 4;

/// The guards of a scenario.
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

/// Whether there are iterations to skip.
fn check_skip(model: &Model) -> Result<(), Remark> {
    let most = model.jobs.iter().map(|job| job.iterations).max().unwrap_or(0);
    if model.simulation.skip == Skip::Off || most >= FEWEST_ITERATIONS {
        return match model.simulation.until {
            Some(_) if model.simulation.skip == Skip::Iterations => Err(Remark::about(
                "skip",
                "`skip` beside `until`",
                "`until` ends the jobs; leave one of them out",
            )),
            _ => Ok(()),
        };
    }
    let message = format!("`skip`, and no job has more than {most} iterations");
    Err(Remark::about("skip", message, "it needs a job with at least 4 iterations"))
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
