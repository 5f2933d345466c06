//! Service that the schedulers guarantee to each queue, computed before a run.
//!
//! A guarantee holds while no pause stops the queue. It assumes the slowest rate that faults leave the link, timed by
//! the clock of the port. Credit updates that the port sends are included; pause frames that it sends are not.

use crate::build::Plan;
use crate::spec::Spec;
use frame::PortId;
use scheduling::{Configuration, LatencyRate, PortFacts};
use units::Bytes;

/// Guaranteed service of an egress queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Guarantee {
    /// Name of the port: node, number of the port, node at the other end.
    pub port: String,
    /// Traffic class of the queue.
    pub class: u32,
    /// Name of the scheduler.
    pub scheduler: &'static str,
    /// Rate and latency; `None` if nothing is guaranteed.
    pub bound: Option<LatencyRate>,
    /// Length of the longest frame of any flow, including the link overhead.
    pub longest_frame: Bytes,
}

/// Returns the guarantee of every egress queue, in the order of the ports.
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
