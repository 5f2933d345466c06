//! Control frames of the scenario, as actions of the ports that receive them.
//!
//! A port obeys what its station has: PAUSE where it has PAUSE, PFC for the priorities that have PFC, congestion
//! messages where the flow has a rate limiter. All else has no effect.

use crate::build::paths::Paths;
use crate::run::state::faults::Action;
use crate::spec::routing::Wiring;
use crate::spec::{FaultSpec, Says, Spec};
use flow_control::PauseKind;
use flow_control::pause::PauseSignal;
use frame::{NodeId, members};
use units::Time;

/// Returns all of them: time, port, action.
pub(crate) fn actions(spec: &Spec, wiring: &Wiring, paths: &Paths) -> Vec<(Time, u32, Action)> {
    let mut all = Vec::new();
    for fault in &spec.faults {
        let FaultSpec::ControlFrame { link, towards, at, says } = fault else { continue };
        let port = wiring.ports(*towards).find(|port| wiring.link_of[port.at()] == *link);
        let Some(port) = port else { continue };
        all.extend(effects(spec, paths, *towards, says).into_iter().map(|action| (*at, port.0, action)));
    }
    all
}

/// Returns true if a station acts on this control frame.
pub(crate) fn has_effect(spec: &Spec, node: NodeId, says: &Says) -> bool {
    match says {
        Says::Congestion { flow, .. } => {
            let limits = spec.nodes[node.at()].host().is_some_and(|host| host.limiters.is_some());
            limits && flow_of(spec, node, *flow).is_some()
        }
        // A station without a domain ignores it.
        Says::Domain(_) => spec.domain(node).is_some(),
        _ => !signals(spec, node, says).is_empty(),
    }
}

fn effects(spec: &Spec, paths: &Paths, node: NodeId, says: &Says) -> Vec<Action> {
    if let Says::Congestion { flow, feedback } = *says {
        let path =
            flow_of(spec, node, flow).and_then(|flow| paths.flows.iter().position(|&of| of as usize == flow));
        let told = |path| Action::Congestion { path: path as u32, feedback };
        return path.filter(|_| has_effect(spec, node, says)).map(told).into_iter().collect();
    }
    let pause = |(signal, quanta)| Action::Pause { signal, quanta };
    signals(spec, node, says).into_iter().map(pause).collect()
}

/// The number in the scenario of the n-th flow of a host.
fn flow_of(spec: &Spec, node: NodeId, nth: u16) -> Option<usize> {
    let mut own = (0..spec.flows.len()).filter(|&flow| spec.flows[flow].from == node);
    own.nth(nth.into())
}

/// Converts a pause frame to signals of a station: one for each time in the frame.
fn signals(spec: &Spec, node: NodeId, says: &Says) -> Vec<(PauseSignal, u16)> {
    let kind = spec.nodes[node.at()].pauses().map(|control| control.kind);
    let (enabled, quanta) = match (says, kind) {
        (Says::Pause(quanta), Some(PauseKind::Link)) => (0xFF, [*quanta; 8]),
        (Says::Pfc { enabled, quanta }, Some(PauseKind::Priorities(_))) => (*enabled, *quanta),
        _ => return Vec::new(),
    };
    let mut found: Vec<(PauseSignal, u16)> = Vec::new();
    for priority in members(enabled) {
        let (bit, time) = (1 << priority, quanta[priority]);
        let own =
            if time == 0 { PauseSignal { xoff: 0, xon: bit } } else { PauseSignal { xoff: bit, xon: 0 } };
        match found.iter_mut().find(|(_, other)| *other == time) {
            Some((signal, _)) => *signal = signal.then(own),
            None => found.push((own, time)),
        }
    }
    found
}
