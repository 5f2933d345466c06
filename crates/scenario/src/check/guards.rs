//! What is watched for while a simulation runs, and what can be seen before: deadlocks and pause storms.

use super::Context;
use crate::model::Model;
use crate::place::Place;
use fabric::spec::{GuardSpec, Spec, Way};
use flow_control::watchdog::WatchdogSpec;
use flow_control::{Accounting, FlowControl};
use units::Time;

/// The guards of a scenario.
pub fn lower(model: &Model, context: &mut Context<'_>) -> GuardSpec {
    let interval = model.simulation.deadlock_interval;
    if interval == Time::ZERO {
        let at = Place::of("simulation").key("deadlock_interval");
        context.error(&at, "deadlock_interval is 0", "expected a time above 0, like \"100 us\"");
    }
    if let Some(watchdog) = model.watchdog {
        check_watchdog(model, watchdog, context);
    }
    GuardSpec {
        on_deadlock: model.simulation.on_deadlock,
        deadlock_interval: interval,
        watchdog: model.watchdog,
    }
}

fn check_watchdog(model: &Model, watchdog: WatchdogSpec, context: &mut Context<'_>) {
    let at = Place::of("watchdog");
    let detection = watchdog.detection;
    if detection == Time::ZERO {
        context.error(
            &at.key("detection_time"),
            "detection_time is 0: every pause would be a storm",
            "expected a time above 0, like \"200 ms\"",
        );
    } else if detection >= model.simulation.duration {
        context.warn(
            &at.key("detection_time"),
            format!("detection_time {detection} is not below the duration {}", model.simulation.duration),
            "no storm will be detected",
        );
    }
    let paused =
        |control: &Option<FlowControl>| control.as_ref().is_some_and(|control| control.settings().is_some());
    let somewhere = model.flow_control.settings().is_some()
        || paused(&model.switch.flow_control)
        || model.switches.values().any(|own| paused(&own.flow_control));
    if !somewhere {
        context.warn(
            &at,
            "a watchdog, but no switch has flow control",
            "nothing is paused: it has no effect",
        );
    }
}

/// Warns of routes on which queues may come to wait for each other in a circle.
pub fn routes(model: &Model, spec: &Spec, context: &mut Context<'_>) {
    if cannot_deadlock(model, spec) {
        return;
    }
    // What cannot be built is reported when it is run.
    let Ok(Some(cycle)) = fabric::dependency_cycle(spec) else { return };
    let place = Place::of("flow_control");
    let up_and_down = "no deadlock can occur if every route goes up first and then down";
    if spec.nodes.iter().any(|node| node.credits().is_some()) {
        context.error(
            &place,
            fabric::circle(&cycle),
            format!("{up_and_down}; a circle of credits is not run"),
        );
    } else {
        context.warn(
            &place,
            fabric::circle(&cycle),
            format!("{up_and_down}; a run tells when a circle closes"),
        );
    }
}

/// Shortest paths in trees and layered fabrics go up, then down; with pauses that go only to where frames came
/// from, no circle is possible, and the paths of large fabrics need not be looked at. Where links fail, shortest
/// paths may turn up again.
fn cannot_deadlock(model: &Model, spec: &Spec) -> bool {
    let by_egress = spec.nodes.iter().any(|node| match &node.role {
        fabric::spec::Role::Switch(switch) => {
            switch.flow_control.as_ref().is_some_and(|control| control.accounting == Accounting::Egress)
        }
        fabric::spec::Role::Host(_) => false,
    });
    model.topology.is_layered()
        && !by_egress
        && spec.faults.is_empty()
        && spec.flows.iter().all(|flow| !matches!(flow.way, Way::Along(_)))
}
