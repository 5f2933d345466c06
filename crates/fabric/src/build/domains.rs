//! Congestion notification domains: the changes that their ports make to frames, at the start and after scripted
//! LLDPDUs.
//!
//! A frame gets its alternate priority when it leaves the port at the other end of the link, where its fields are read
//! anyway; the queues of that port are not affected. Incoming frames then have the priority that the port of the domain
//! would have given them.

use crate::run::state::domains::PortDomain;
use crate::run::state::faults::Action;
use crate::spec::routing::Wiring;
use crate::spec::{ControlContent, FaultSpec, Spec};
use frame::{NodeId, PRIORITIES, PortId, Priority};
use queueing::{Defence, PortDefence};
use std::sync::Arc;
use units::Time;

/// Frame changes of all ports, at the start and later.
#[derive(Debug, Default)]
pub(crate) struct DomainPlan {
    /// Settings of each port; empty without a domain.
    pub at_start: Vec<PortDomain>,
    /// Time, port, and its settings from then on.
    changes: Vec<(Time, u32, PortDomain)>,
}

impl DomainPlan {
    pub fn new(spec: &Spec, wiring: &Wiring) -> DomainPlan {
        let mut defences = spec.defences(wiring);
        if defences.is_empty() {
            return DomainPlan::default();
        }
        let at_start = (0..defences.len() as u32).map(|port| of_port(spec, wiring, &defences, PortId(port)));
        let at_start = at_start.collect();
        let mut changes = Vec::new();
        let mut received: Vec<_> =
            spec.faults.iter().filter_map(|fault| received_tlv(fault, wiring)).collect();
        received.sort_by_key(|&(at, ..)| at);
        for (at, port, tlv) in received {
            defences[port.at()].receive(tlv);
            for end in [port, wiring.peer[port.at()]] {
                changes.push((at, end.0, of_port(spec, wiring, &defences, end)));
            }
        }
        DomainPlan { at_start, changes }
    }

    /// Returns the changes as actions, and the settings to which the actions refer.
    pub fn actions(&self) -> (Vec<(Time, u32, Action)>, Vec<PortDomain>) {
        let action = |(nth, &(at, port, _)): (usize, &(Time, u32, PortDomain))| {
            (at, port, Action::Domain { nth: nth as u32 })
        };
        (
            self.changes.iter().enumerate().map(action).collect(),
            self.changes.iter().map(|change| change.2).collect(),
        )
    }
}

/// Returns the time, port and content of a received congestion notification TLV.
fn received_tlv(fault: &FaultSpec, wiring: &Wiring) -> Option<(Time, PortId, queueing::CnTlv)> {
    let FaultSpec::ControlFrame { link, towards, at, content: ControlContent::Domain(tlv) } = fault else {
        return None;
    };
    let port = wiring.ports(*towards).find(|port| wiring.link_of[port.at()] == *link)?;
    Some((*at, port, *tlv))
}

/// Returns how a port changes the frames that it sends.
fn of_port(spec: &Spec, wiring: &Wiring, defences: &[PortDefence], port: PortId) -> PortDomain {
    let (node, peer) = (wiring.node_of[port.at()], wiring.peer[port.at()]);
    let those = |of: fn(Defence) -> bool| {
        let own = (0..PRIORITIES as u8).filter(|&it| of(defences[port.at()].of(Priority(it))));
        own.fold(0, |set, priority| set | 1 << priority)
    };
    let is_host = spec.nodes[node.at()].host().is_some();
    let tags = if is_host { those(|defence| defence == Defence::InteriorReady) } else { 0 };
    let strips = if is_host { 0 } else { those(|own| matches!(own, Defence::Edge | Defence::Interior)) };
    // A host that receives frames has no queue to protect from them.
    let there = spec
        .domain(wiring.neighbour(port))
        .filter(|_| spec.nodes[wiring.neighbour(port).at()].switch().is_some());
    let becomes = |old: u8| match there {
        Some(domain) if defences[peer.at()].of(Priority(old)) == Defence::Edge => {
            domain.becomes[usize::from(old)]
        }
        _ => Priority(old),
    };
    PortDomain { tags, strips, becomes: std::array::from_fn(|old| becomes(old as u8)) }
}

/// By path, the index of its flow at either end: among the flows that the sender originates, then among those that the
/// receiver answers.
pub(crate) fn flow_numbers(spec: &Spec, flows: &[u32], destinations: &[Option<NodeId>]) -> Arc<[[u16; 2]]> {
    if spec.domains.iter().all(Option::is_none) {
        return Arc::default();
    }
    let mut next = vec![0u16; spec.nodes.len()];
    let mut number = |node: NodeId| {
        let own = next[node.at()];
        next[node.at()] = own.wrapping_add(1);
        own
    };
    let near: Vec<u16> = spec.flows.iter().map(|flow| number(flow.from)).collect();
    let far = |(&flow, end): (&u32, &Option<NodeId>)| {
        let answers = spec.flows[flow as usize].transport.is_some();
        [near[flow as usize], end.filter(|_| answers).map_or(0, &mut number)]
    };
    flows.iter().zip(destinations).map(far).collect()
}
