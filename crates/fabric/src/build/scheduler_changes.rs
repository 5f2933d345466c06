//! Schedulers that a port gets during a run, with other weights or another table.

use crate::build::Plan;
use crate::run::state::faults::Action;
use crate::spec::FaultSpec;
use scheduling::{Configuration, Scheduler};
use units::Time;

/// Returns the changes (time, port, action) and the new schedulers, which have served nothing yet.
pub(crate) fn changes(plan: &Plan) -> (Vec<(Time, u32, Action)>, Vec<Scheduler>) {
    let (mut actions, mut schedulers) = (Vec::new(), Vec::new());
    for fault in &plan.spec.faults {
        let FaultSpec::Scheduler { link, towards, at, scheduler } = fault else { continue };
        let end = plan.wiring.ports(*towards).find(|port| plan.wiring.link_of[port.at()] == *link);
        let Some(end) = end else { continue };
        let port = plan.wiring.peer[end.at()].0;
        actions.push((*at, port, Action::Scheduler { nth: schedulers.len() as u32 }));
        schedulers.push(scheduler.start(&plan.port_facts(port)));
    }
    (actions, schedulers)
}
