//! What the schedulers of a fabric promise each queue, before anything runs.
//!
//! Holds for a queue that no pause stops, on a link that keeps its rate.

use crate::build::Plan;
use crate::spec::Spec;
use frame::PortId;
use scheduling::{Configuration, LatencyRate};

/// The service that one egress queue is certain of.
#[derive(Clone, Debug, PartialEq)]
pub struct Guarantee {
    /// Name of the port: node, number of the port, node at the other end.
    pub port: String,
    /// Traffic class of the queue.
    pub class: u32,
    /// Name of the scheduler.
    pub scheduler: &'static str,
    /// Rate and latency; `None` if nothing is certain.
    pub bound: Option<LatencyRate>,
}

/// Every egress queue of a fabric in the order of its ports.
pub fn guarantees(spec: &Spec) -> Vec<Guarantee> {
    let wiring = spec.wiring();
    let plan = Plan::new(spec, &wiring);
    let queues = (0..wiring.peer.len() as u32).flat_map(|port| {
        let (facts, scheduler) = (plan.port_facts(port), plan.scheduler(port));
        let name = wiring.port_name(PortId(port), |node| &spec.nodes[node.at()].name);
        (0..facts.queues).map(move |class| Guarantee {
            port: name.clone(),
            class,
            scheduler: scheduler.name(),
            bound: scheduler.latency_rate_bound(class, &facts),
        })
    });
    queues.collect()
}
