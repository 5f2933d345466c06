//! Preparation of a run before its parts are built, and all reasons for which a run may be refused.

use super::fault_plan::FaultPlan;
use super::paths::{Paths, find_paths};
use super::{BuildError, Plan, bypass_classes, control_frames, copies, reroute, scheduler_changes};
use crate::run::state::copies::Forks;
use crate::run::state::event::Event;
use crate::run::state::faults::Faults;
use crate::spec::{Spec, Subject, transfer_wait};
use frame::{NodeId, Route};
use keys::Remark;
use scheduling::Configuration;
use units::Time;

/// Results of the preparations.
pub(super) struct Prepared {
    pub paths: Paths,
    pub faults: FaultPlan,
    pub all_faults: Faults,
    pub forks: Forks,
    pub look_ahead: Time,
}

/// Returns the reason for which a run would refuse this description; `None`: it can be built. The builder calls the
/// same checks, so a run accepts every description that passes.
pub fn refusal(spec: &Spec) -> Option<BuildError> {
    let (spec, wiring) = (&*spec.with_ways(), spec.wiring());
    prepare(&Plan::new(spec, &wiring)).err()
}

/// Computes paths and faults, or returns the error that prevents a run.
pub(super) fn prepare(plan: &Plan) -> Result<Prepared, BuildError> {
    let (spec, wiring) = (plan.spec, plan.wiring);
    numbered(plan)?;
    if spec.nodes.len() > Route::NODES as usize {
        let message = format!("{} hosts and switches", spec.nodes.len());
        let help = format!("expected at most {}", Route::NODES);
        return Err(BuildError::new(Subject::Scenario, Remark::about("topology", message, help)));
    }
    if let Some((flow, remark)) = transfer_wait::refusal(spec) {
        return Err(BuildError::new(Subject::Flow(flow), remark));
    }
    let mut paths = find_paths(plan)?;
    let faults = FaultPlan::new(spec)?;
    let mut changes = reroute::changes(spec, wiring, &faults, &mut paths);
    changes.extend(control_frames::actions(spec, wiring, &paths));
    let (reconfigured, schedulers) = scheduler_changes::changes(plan);
    changes.extend(reconfigured);
    let (defended, domains) = plan.domains.actions();
    changes.extend(defended);
    let (schedulers, domains) = (schedulers.into(), domains.into());
    let all_faults = Faults { schedulers, domains, ..faults.faults(spec, wiring, changes) };
    if paths.hops.len() > Route::LIMIT as usize {
        let message = format!("all paths together have {} hops", paths.hops.len());
        let help = format!("expected at most {}: fewer senders or destinations", Route::LIMIT);
        return Err(BuildError::new(Subject::Flow(0), Remark::about("to", message, help)));
    }
    let forks = copies::forks(spec, &paths)?;
    for port in 0..wiring.peer.len() as u32 {
        if let Err(why) = plan.scheduler(port).check(&plan.port_facts(port)) {
            return Err(BuildError::new(
                Subject::Node(wiring.node_of[port as usize]),
                why.within("scheduler"),
            ));
        }
    }
    let look_ahead = plan.look_ahead().unwrap_or(Time::from_us(1));
    if look_ahead.ps() < 2 {
        let message = "a frame takes less than 2 ps from node to node";
        let help = "expected links with a delay, longer frames, or slower links";
        return Err(BuildError::new(Subject::Scenario, Remark::about("topology", message, help)));
    }
    Ok(Prepared { paths, faults, all_faults, forks, look_ahead })
}

/// Checks that places, queues and the lists of virtual output queues fit their number types.
fn numbered(plan: &Plan) -> Result<(), BuildError> {
    let (ports, flows) = (plan.wiring.peer.len(), plan.spec.flows.len());
    if plan.places() > Event::MAX_PLACES {
        let message = format!("{ports} ports and {flows} flows");
        let help = format!("expected at most {} together", Event::MAX_PLACES);
        return Err(BuildError::new(Subject::Scenario, Remark::about("topology", message, help)));
    }
    let lists = (0..plan.spec.nodes.len() as u32).map(NodeId).map(|id| {
        let node = &plan.spec.nodes[id.at()];
        let ports = plan.wiring.ports(id).len() as u64;
        let each = if bypass_classes(plan.spec, node) == 0 { 1 } else { 2 };
        ports * node.classes().classes() as u64 * each * super::nodes::voqs(node, ports)
    });
    let lists: u64 = lists.sum();
    if lists < u64::from(u32::MAX) {
        return Ok(());
    }
    let message = format!("{lists} queues");
    let help = format!(
        "expected fewer than {}; virtual output queues are one for each pair of ports and class",
        u32::MAX
    );
    Err(BuildError::new(Subject::Scenario, Remark::about("topology", message, help)))
}
