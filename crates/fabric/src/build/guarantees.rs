//! Guarantees that the schedulers of a fabric give each queue, before a run.
//!
//! Holds for a queue that no pause stops, at the slowest rate that faults leave its link and by the clock of its port, with
//! the credit updates that the port sends, but without pause frames that it sends.

use crate::build::Plan;
use crate::spec::Spec;
use frame::PortId;
use scheduling::{Configuration, LatencyRate, PortFacts};
use units::Bytes;

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
    /// The longest frame of all flows with what the link of the port adds around it.
    pub longest_frame: Bytes,
}

/// Every egress queue of a fabric in the order of its ports.
pub fn guarantees(spec: &Spec) -> Vec<Guarantee> {
    let wiring = spec.wiring();
    let plan = Plan::new(spec, &wiring);
    let queues = (0..wiring.peer.len() as u32).flat_map(|port| {
        let (facts, scheduler) = (plan.port_facts(port), plan.scheduler(port));
        let served = PortFacts { rate: plan.certain_rate(port), ..facts };
        let name = wiring.port_name(PortId(port), |node| &spec.nodes[node.at()].name);
        (0..facts.queues).map(move |class| Guarantee {
            port: name.clone(),
            class,
            scheduler: scheduler.name(),
            bound: scheduler.latency_rate_bound(class, &served).filter(|_| served.rate.bps() > 0),
            longest_frame: Bytes::new((facts.largest_frame + facts.overhead).into()),
        })
    });
    queues.collect()
}
