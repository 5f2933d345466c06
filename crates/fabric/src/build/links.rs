//! Flow control of links.

use crate::build::Plan;
use crate::run::state::credits::CreditState;
use crate::run::state::link_control::{LinkControl, PauseState};

/// The flow control of a port's link.
pub(super) fn link_control(plan: &Plan, port: u32) -> LinkControl {
    let peer = plan.wiring.peer[port as usize].0;
    if let (Some(own), Some(other)) = (plan.node(port).credits(), plan.node(peer).credits()) {
        let link = plan.link(port);
        let (timing, classes) = ((plan.rate(port), link.delay), plan.node(port).classes());
        return LinkControl::Credit(Box::new(CreditState::new(own, other, timing, classes)));
    }
    let control = plan.node(port).pauses();
    if control.is_none() && plan.node(peer).pauses().is_none() {
        return LinkControl::None;
    }
    LinkControl::Pause(Box::new(PauseState::new(plan.paused(port), plan.response(port), plan.response(peer))))
}
