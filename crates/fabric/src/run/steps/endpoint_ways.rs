//! Egress ports and routes of endpoints, and the end of a path to which a frame is addressed.

use crate::run::state::endpoint_state::EndpointState;
use crate::run::state::index::{EndpointIx, PortIx};
use crate::run::state::nic::InLine;
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::replies;
use crate::run::steps::spreading;
use frame::{Frame, Heading, Route};
use transport::Protocol;
use units::Time;

/// The port through which an endpoint sends.
#[inline(always)]
pub fn egress_of(here: &mut NodeView, nth: EndpointIx) -> Option<PortIx> {
    let (egress, route) = way_of(here, nth)?;
    if here.links.ports[egress].features.has(PortFeatures::DOWN) {
        return egress_while_down(here, nth, egress, route);
    }
    Some(egress)
}

/// The port through which an endpoint sends if no link is down, and the route from there.
#[inline(always)]
pub fn way_of(here: &mut NodeView, nth: EndpointIx) -> Option<(PortIx, Route)> {
    let known = here.hosts.endpoints[nth].way;
    known.or_else(|| find_way(here, nth))
}

#[inline(never)]
fn find_way(here: &mut NodeView, nth: EndpointIx) -> Option<(PortIx, Route)> {
    let EndpointState { path, behind, stripes, .. } = here.hosts.endpoints[nth];
    let way = replies::way_from(here, path, behind);
    if stripes {
        return Some(way_of_next(here, nth, way?));
    }
    here.hosts.endpoints[nth].way = way;
    way
}

/// The egress link of the next frame of an endpoint whose frames may each take another link.
fn way_of_next(here: &mut NodeView, nth: EndpointIx, (egress, route): (PortIx, Route)) -> (PortIx, Route) {
    let Heading::Destination(to) = route.heading() else { return (egress, route) };
    let entropy = here.hosts.endpoints[nth].endpoint.next_entropy();
    let node = here.node_of[egress];
    (spreading::striped_egress(here, node, to, entropy).unwrap_or(egress), route)
}

/// The links of the host that may hold frames of an endpoint.
pub fn links_of(here: &NodeView, nth: EndpointIx) -> impl Iterator<Item = PortIx> + Clone + use<> {
    let EndpointState { path, behind, way, stripes, .. } = here.hosts.endpoints[nth];
    let striped = if stripes { replies::way_from(here, path, behind) } else { None };
    let all = striped.map(|(egress, _)| here.ports_beside(egress));
    let own = way.filter(|_| !stripes).map(|(egress, _)| egress);
    own.into_iter().chain(all.into_iter().flatten())
}

/// The port through which an endpoint sends while its own link is down.
#[cold]
fn egress_while_down(here: &mut NodeView, nth: EndpointIx, egress: PortIx, route: Route) -> Option<PortIx> {
    let EndpointState { path, behind, .. } = here.hosts.endpoints[nth];
    if behind.is_none() {
        return Some(egress);
    }
    match route.heading() {
        // If switches choose the path, the frame may leave through any link of the host that is up.
        Heading::Destination(to) => {
            let node = here.node_of[egress];
            spreading::choose_egress(here, node, path, (to, route.entropy()), Time::ZERO)
        }
        _ => Some(egress),
    }
}

/// Returns true if a frame is addressed to the far end of its path.
#[inline(always)]
pub fn goes_to_far_end(here: &NodeView, frame: &Frame) -> bool {
    match frame.route.heading() {
        Heading::Forward(_) | Heading::Tree(_) => true,
        Heading::Backward(_) => false,
        Heading::Destination(node) => here.routes.source_node(frame.path) != Some(node),
    }
}

/// Returns true if the next frame of an endpoint may be bypassed; false for a limiter.
pub fn may_be_bypassed(here: &NodeView, entry: InLine) -> bool {
    entry.endpoint().is_some_and(|nth| here.hosts.endpoints[nth].bypassable)
}
