//! Link changes at a host, for endpoints whose frames may leave through any of its links.

use crate::run::state::endpoint_state::EndpointState;
use crate::run::state::event::EventQueue;
use crate::run::state::index::PortIx;
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::endpoints;
use crate::run::steps::replies;
use frame::{Heading, NodeId};
use transport::{HostEvent, Protocol};
use units::{BitRate, Time};

/// Total transmission rate of all links of a host.
pub fn rate_of_all(here: &NodeView, port: PortIx) -> BitRate {
    let rates = here.ports_beside(port).map(|port| here.links.cold[port].rate.bps());
    BitRate::from_bps(rates.fold(0, u64::saturating_add))
}

/// Total arrival rate of all links of a host.
pub fn arrival_rate_of_all(here: &NodeView, port: PortIx) -> BitRate {
    let rates = here.ports_beside(port).map(|port| here.links.cold[port].arrival_rate.bps());
    BitRate::from_bps(rates.fold(0, u64::saturating_add))
}

/// Reports a link that went down or came up to the endpoints of its host whose frames may take any link.
pub fn report_links(here: &mut NodeView, port: PortIx, now: Time, events: &mut EventQueue) {
    let ports: Vec<PortIx> = here.ports_beside(port).collect();
    for nth in here.hosts.striping_through(&ports, &here.routes) {
        let EndpointState { path, behind, .. } = here.hosts.endpoints[nth];
        let Some((_, route)) = replies::way_from(here, path, behind) else { continue };
        let Heading::Destination(to) = route.heading() else { continue };
        let down = HostEvent::LinksDown(links_down(here, port, to));
        if here.hosts.endpoints[nth].endpoint.on_event(now, &down) {
            endpoints::update_endpoint(here, nth, now, events);
        }
    }
}

/// Bit mask of the failed links from a host towards a node: bit n for the n-th link.
fn links_down(here: &NodeView, port: PortIx, destination: NodeId) -> u16 {
    let id = NodeId(here.numbering.first_node + here.node_of[port].number());
    let Some(spreading) = here.routes.spreading.as_deref() else { return 0 };
    let ports = spreading.table.lookup(id, destination).ports;
    let is_down = |&port: &frame::PortId| {
        here.links.ports[here.numbering.port_here(port)].features.has(PortFeatures::DOWN)
    };
    let down = ports.iter().take(16).enumerate().filter(|(_, port)| is_down(port));
    down.fold(0, |all, (nth, _)| all | 1 << nth)
}
