//! Schedulers of ports that differ from the settings of the node: those negotiated with DCBX, and changes during a run.

use crate::build::Plan;
use crate::spec::{FaultSpec, Spec};
use frame::PortId;
use scheduling::SchedulerSpec;
use units::Time;

/// A scheduler that takes effect at some ports.
#[derive(Clone, Debug, PartialEq)]
pub struct PortScheduler {
    /// Time at which it takes effect; zero for one negotiated before the traffic.
    pub at: Time,
    /// Names of the ports.
    pub ports: Vec<String>,
    /// The scheduler.
    pub scheduler: SchedulerSpec,
}

/// Returns all of them in order of time, with equal schedulers of one time combined.
pub fn port_schedulers(spec: &Spec) -> Vec<PortScheduler> {
    let wiring = spec.wiring();
    let plan = Plan::new(spec, &wiring);
    let name = |port: u32| wiring.port_name(PortId(port), |node| spec.nodes[node.at()].name.as_str());
    let place = |port: u32| (wiring.link_of[port as usize], wiring.node_of[port as usize]);
    let mut found: Vec<PortScheduler> = Vec::new();
    let mut add = |at: Time, port: u32, scheduler: &SchedulerSpec| {
        let same = found.iter_mut().find(|one| one.at == at && one.scheduler == *scheduler);
        match same {
            Some(one) => one.ports.push(name(port)),
            None => found.push(PortScheduler { at, ports: vec![name(port)], scheduler: scheduler.clone() }),
        }
    };
    let ports = 0..wiring.peer.len() as u32;
    for port in ports.clone().filter(|_| !spec.negotiated.is_empty()) {
        let (link, node) = place(port);
        if spec.negotiated(link, node).is_some_and(|own| own.scheduler.is_some()) {
            add(Time::ZERO, port, plan.scheduler(port));
        }
    }
    for fault in &spec.faults {
        let FaultSpec::Scheduler { link, towards, at, scheduler } = fault else { continue };
        let own = &spec.links[*link as usize];
        let from = if own.b == *towards { own.a } else { own.b };
        if let Some(port) = ports.clone().find(|&port| place(port) == (*link, from)) {
            add(*at, port, scheduler);
        }
    }
    found.sort_by_key(|one| one.at);
    found
}
