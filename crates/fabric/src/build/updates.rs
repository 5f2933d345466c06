//! Selects the credit updates that are polled; all others are sent (`run/steps/credits/updates.rs`).

use crate::build::Part;
use crate::run::fabric::Fabric;
use crate::run::state::port::PortFeatures;

/// Sets credit updates to be polled on links where updates take no bandwidth and cannot be lost, and both ends are in
/// this part.
pub(super) fn set_polled_updates(part: &Part, fabric: &mut Fabric) {
    let wiring = &part.plan.wiring;
    let is_polled = |fabric: &Fabric, port: u32| {
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
        let (own, other) = (is_polled(fabric, port), is_polled(fabric, peer));
        if let Some(credits) = fabric.links.cold[part.port(port)].control.credits_mut() {
            credits.set_polled(own, other);
        }
    }
}
