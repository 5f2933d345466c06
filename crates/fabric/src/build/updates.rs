//! Which updates of credits are read, and which are sent (`run/steps/credits/updates.rs`).

use crate::build::Part;
use crate::run::fabric::Fabric;
use crate::run::state::port::PortFeatures;

/// Updates of credits are read where they cost nothing, cannot be lost, and both ends of the link are in this part.
pub(super) fn let_them_be_read(part: &Part, fabric: &mut Fabric) {
    let wiring = &part.plan.wiring;
    let is_read = |fabric: &Fabric, port: u32| {
        let port = part.port(port);
        let sure = !fabric.links.ports[port].features.has(PortFeatures::FAULTED);
        let credits = fabric.links.cold[port].control.credits();
        sure && credits.is_some_and(|credits| credits.updates_cost_nothing())
    };
    for port in part.ports() {
        let peer = wiring.peer[port as usize].0;
        if !part.owns(wiring.node_of[peer as usize]) {
            continue;
        }
        let (own, other) = (is_read(fabric, port), is_read(fabric, peer));
        if let Some(credits) = fabric.links.cold[part.port(port)].control.credits_mut() {
            credits.read(own, other);
        }
    }
}
