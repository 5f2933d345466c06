//! Link-level flow control of ports.

use crate::build::Plan;
use crate::run::state::credits::CreditState;
use crate::run::state::link_control::{LinkControl, PauseState};

/// Returns the flow control of a port's link.
pub(super) fn link_control(plan: &Plan, port: u32) -> LinkControl {
    let peer = plan.wiring.peer[port as usize].0;
    let credits = match (plan.node(port).credits(), plan.node(peer).credits()) {
        (Some(own), Some(other)) => {
            let timing = (plan.rate(port), plan.link(port).delay);
            Some(CreditState::new(own, other, timing, plan.node(port).classes()))
        }
        _ => None,
    };
    let pauses = (plan.node(port).pauses().is_some() || plan.node(peer).pauses().is_some())
        .then(|| PauseState::new(plan.paused(port), plan.response(port), plan.response(peer)));
    match (pauses, credits) {
        (None, None) => LinkControl::None,
        (Some(pauses), None) => LinkControl::Pause(Box::new(pauses)),
        (None, Some(credits)) => LinkControl::Credit(Box::new(credits)),
        (Some(pauses), Some(credits)) => LinkControl::Both(Box::new((pauses, credits))),
    }
}
