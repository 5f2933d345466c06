//! Scripted control frames, as actions of the ports that receive them.
//!
//! The effect depends on the receiving station: PAUSE is obeyed where the station has PAUSE, PFC for the priorities
//! that have PFC, congestion messages where the flow has a rate limiter. Other control frames have no effect.

use crate::build::paths::Paths;
use crate::run::state::faults::Action;
use crate::spec::routing::Wiring;
use crate::spec::{ControlContent, FaultSpec, Spec};
use flow_control::PauseKind;
use flow_control::pause::PauseSignal;
use frame::{NodeId, members};
use units::Time;

/// Returns the time, port and action of each control frame.
pub(crate) fn actions(spec: &Spec, wiring: &Wiring, paths: &Paths) -> Vec<(Time, u32, Action)> {
    let mut all = Vec::new();
    for fault in &spec.faults {
        let FaultSpec::ControlFrame { link, towards, at, content } = fault else { continue };
        let port = wiring.ports(*towards).find(|port| wiring.link_of[port.at()] == *link);
        let Some(port) = port else { continue };
        all.extend(effects(spec, paths, *towards, content).into_iter().map(|action| (*at, port.0, action)));
    }
    all
}

/// Returns true if a station acts on this control frame.
pub(crate) fn has_effect(spec: &Spec, node: NodeId, content: &ControlContent) -> bool {
    match content {
        ControlContent::Congestion { flow, .. } => {
            let limits = spec.nodes[node.at()].host().is_some_and(|host| host.limiters.is_some());
            limits && flow_of(spec, node, *flow).is_some()
        }
        // A station without a domain ignores it.
        ControlContent::Domain(_) => spec.domain(node).is_some(),
        _ => !signals(spec, node, content).is_empty(),
    }
}

fn effects(spec: &Spec, paths: &Paths, node: NodeId, content: &ControlContent) -> Vec<Action> {
    if let ControlContent::Congestion { flow, feedback } = *content {
        let path =
            flow_of(spec, node, flow).and_then(|flow| paths.flows.iter().position(|&of| of as usize == flow));
        let message = |path| Action::Congestion { path: path as u32, feedback };
        return path.filter(|_| has_effect(spec, node, content)).map(message).into_iter().collect();
    }
    let pause = |(signal, quanta)| Action::Pause { signal, quanta };
    signals(spec, node, content).into_iter().map(pause).collect()
}

/// Returns the number in the scenario of the flow with this index at a host.
fn flow_of(spec: &Spec, node: NodeId, nth: u16) -> Option<usize> {
    let mut own = (0..spec.flows.len()).filter(|&flow| spec.flows[flow].from == node);
    own.nth(nth.into())
}

/// Converts a pause frame to signals for a station: one for each pause time in the frame.
fn signals(spec: &Spec, node: NodeId, content: &ControlContent) -> Vec<(PauseSignal, u16)> {
    let kind = spec.nodes[node.at()].pauses().map(|control| control.kind);
    let (enabled, quanta) = match (content, kind) {
        (ControlContent::Pause(quanta), Some(PauseKind::Link)) => (0xFF, [*quanta; 8]),
        (ControlContent::Pfc { enabled, quanta }, Some(PauseKind::Priorities(_))) => (*enabled, *quanta),
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
