//! Egress ports and routes of endpoints, and the end of a path that a frame is for.

use crate::run::state::endpoint_state::EndpointState;
use crate::run::state::index::{EndpointIx, PortIx};
use crate::run::state::nic::InLine;
use crate::run::state::port::PortFeatures;
use crate::run::state::world::Fabric;
use frame::{Frame, Heading, Route};
use units::Time;

impl Fabric {
    /// The port that an endpoint sends through.
    #[inline(always)]
    pub fn egress_of(&mut self, nth: EndpointIx) -> Option<PortIx> {
        let (egress, route) = self.way_of(nth)?;
        if self.links.ports[egress].features.has(PortFeatures::DOWN) {
            return self.egress_while_down(nth, egress, route);
        }
        Some(egress)
    }

    /// The port that an endpoint sends through by rights, and the way from there.
    #[inline(always)]
    pub fn way_of(&mut self, nth: EndpointIx) -> Option<(PortIx, Route)> {
        let known = self.hosts.endpoints[nth].way;
        known.or_else(|| self.find_way(nth))
    }

    #[inline(never)]
    fn find_way(&mut self, nth: EndpointIx) -> Option<(PortIx, Route)> {
        let EndpointState { path, behind, .. } = self.hosts.endpoints[nth];
        let way = self.way_from(path, behind);
        self.hosts.endpoints[nth].way = way;
        way
    }

    /// The port that an endpoint sends through while the link of its own is down.
    #[cold]
    fn egress_while_down(&mut self, nth: EndpointIx, egress: PortIx, route: Route) -> Option<PortIx> {
        let EndpointState { path, behind, .. } = self.hosts.endpoints[nth];
        if behind.is_none() {
            return Some(egress);
        }
        match route.heading() {
            // What switches choose a path for leaves through any link of the host that is up.
            Heading::Destination(to) => self.choose_egress(self.node_of[egress], path, to, Time::ZERO),
            _ => Some(egress),
        }
    }

    /// Whether a frame has come to the far end of its path.
    #[inline(always)]
    pub fn goes_to_far_end(&self, frame: &Frame) -> bool {
        match frame.route.heading() {
            Heading::Forward(_) | Heading::Tree(_) => true,
            Heading::Backward(_) => false,
            Heading::Destination(node) => self.routes.source_node(frame.path) != Some(node),
        }
    }

    /// Whether that frame may be bypassed; one that waits in a limiter is not asked for.
    pub fn may_be_bypassed(&self, entry: InLine) -> bool {
        entry.endpoint().is_some_and(|nth| self.hosts.endpoints[nth].bypassable)
    }
}
