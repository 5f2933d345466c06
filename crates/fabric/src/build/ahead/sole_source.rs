//! Selects the sources that are alone at their NIC and whose frames depend on nothing but pauses.

use crate::build::Plan;
use crate::build::whole::WHOLE;
use crate::run::fabric::Fabric;
use crate::run::state::ahead::SoleGreedySource;
use crate::run::state::index::PortIx;
use crate::run::state::port::PortFeatures;
use crate::spec::Spec;
use frame::CONTROL_FRAME_BYTES;
use units::Time;

/// Records these sources.
pub fn mark(plan: &Plan, fabric: &mut Fabric) {
    let spec = plan.spec;
    let answers = spec.flows.iter().any(|flow| flow.transport.is_some());
    let limits = spec.nodes.iter().any(|node| node.host().is_some_and(|host| host.limiters.is_some()));
    if answers || limits || super::trims(spec) || !spec.faults.is_empty() || fabric.probes.any_levels() {
        return;
    }
    let senders = flows_of_nodes(spec);
    for source in fabric.hosts.sources.keys(WHOLE) {
        let state = &fabric.hosts.sources[source];
        let from = spec.flows[state.flow as usize].from;
        let mut ports = plan.wiring.ports(from);
        let (Some(port), None) = (ports.next(), ports.next()) else { continue };
        let is_alone = senders[from.at()] == 1 && plan.spec.nodes[from.at()].host().is_some();
        let is_plain = state.plain && state.source.is_greedy() && !state.source.has_transfers();
        if !is_alone || !is_plain {
            continue;
        }
        let egress = PortIx::of(port.0 - fabric.numbering.first_port, WHOLE);
        let hot = &fabric.links.ports[egress];
        let one_list = fabric.buffers.queues[hot.first_queue].voqs == 1;
        if !hot.features.is_within(PortFeatures::FEEDS.or(PortFeatures::COUNTED_AHEAD)) || !one_list {
            continue;
        }
        let Some(undisturbed_for) = undisturbed_for(plan, fabric, port.0) else { continue };
        fabric.links.cold[egress].sole_source =
            Some(Box::new(SoleGreedySource::new(source, undisturbed_for)));
    }
}

/// Number of flows that each node sends.
fn flows_of_nodes(spec: &Spec) -> Vec<u32> {
    let mut flows = vec![0; spec.nodes.len()];
    spec.flows.iter().for_each(|flow| flows[flow.from.at()] += 1);
    flows
}

/// Minimum time from the decision of the far end of a link to send a pause until the pause takes effect at the port.
/// `None`: the far end is in another part, or its frames may be lost.
fn undisturbed_for(plan: &Plan, fabric: &Fabric, port: u32) -> Option<Time> {
    let peer = plan.wiring.peer[port as usize];
    let local = PortIx::of(peer.0.checked_sub(fabric.numbering.first_port)?, WHOLE);
    let (hot, cold) = (fabric.links.ports.get(local)?, fabric.links.cold.get(local)?);
    if hot.features.has(PortFeatures::FAULTED) {
        return None;
    }
    let sends = fabric.nodes[fabric.node_of[local]].pause_sender.is_some();
    let on_link = u64::from(CONTROL_FRAME_BYTES) + u64::from(hot.timing.overhead());
    let acts_after = || hot.clock.span_floor(on_link) + cold.delay + plan.response(port);
    Some(if sends { acts_after() } else { Time::NEVER })
}

#[cfg(test)]
mod tests {
    use crate::build::whole::WHOLE;
    use crate::run::state::port::PortFeatures;
    use crate::simulation::{Simulation, pairs};
    use crate::spec::{FaultSpec, LimiterSpec, Role, Spec};
    use queueing::{LimiterScope, RateControlSpec, ReactionPointParams};
    use units::{Bytes, Time};

    /// Number of ports with a sole source, and number of ports to hosts that only count.
    fn marked(spec: &Spec, threads: usize) -> (usize, usize) {
        let simulation = Simulation::on_threads(spec, threads).expect("builds");
        let links = || simulation.parts().map(|part| &part.links);
        (
            links().flat_map(|links| links.cold.all(WHOLE)).filter(|cold| cold.sole_source.is_some()).count(),
            links()
                .flat_map(|links| links.ports.all(WHOLE))
                .filter(|port| port.features.has(PortFeatures::COUNTED_AHEAD))
                .count(),
        )
    }

    #[test]
    fn who_is_alone_and_who_only_counts() {
        // Two hosts at each end of a link, each with one greedy source.
        let spec = pairs(2, Time::from_ms(1));
        assert_eq!(marked(&spec, 1), (4, 4));
        // With the ends of the link in two parts.
        assert_eq!(marked(&pairs(1, Time::from_ms(1)), 2), (0, 0));
        // With a second source at a host.
        let mut second = spec.clone();
        second.flows.push(crate::spec::FlowSpec { name: "another".into(), ..spec.flows[0].clone() });
        assert_eq!(marked(&second, 1), (3, 4));
        // With departures recorded in order over time; arrivals are counted ahead regardless.
        let mut recorded = spec.clone();
        recorded.probes.bin = Some(Time::from_us(1));
        assert_eq!(marked(&recorded, 1), (0, 4));
        // With frames that pass rate limiters.
        let mut limited = spec.clone();
        for node in &mut limited.nodes {
            let Role::Host(host) = &mut node.role else { continue };
            std::sync::Arc::make_mut(host).limiters = Some(LimiterSpec {
                control: RateControlSpec::Qcn(ReactionPointParams::default()),
                per: LimiterScope::Flow,
                priorities: 0xFF,
                mark_after: None,
                priority_burst: Bytes::new(0),
            });
        }
        assert_eq!(marked(&limited, 1), (0, 0));
        // With a fault on a link; on a link without faults, frames are still counted ahead.
        let mut faulty = spec;
        let (from, until) = (Time::from_us(1), Time::from_us(2));
        faulty.faults = vec![FaultSpec::FrameLoss { link: 0, towards: None, from, until, probability: 0.5 }];
        assert_eq!(marked(&faulty, 1), (0, 2));
    }
}
