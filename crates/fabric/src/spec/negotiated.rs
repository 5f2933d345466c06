//! Settings that the two ends of a link negotiated before the traffic, by any protocol.

use crate::spec::{LinkSpec, Spec};
use frame::{NodeId, Priority};
use scheduling::SchedulerSpec;

/// Negotiated settings of one end of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Negotiated {
    /// The priorities, among those of its node, whose pauses the port obeys and sends: bit n for priority n.
    pub pfc: u8,
    /// The scheduler of its queues; `None`: the scheduler of its node.
    pub scheduler: Option<SchedulerSpec>,
    /// Negotiation results by feature, for reports.
    pub features: Vec<NegotiatedFeature>,
}

/// A feature that was negotiated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NegotiatedFeature {
    /// Its name.
    pub name: &'static str,
    /// Administered setting of this end.
    pub local: String,
    /// Setting received from the other end; empty if none was.
    pub remote: String,
    /// Setting in force.
    pub operational: String,
    /// Reason for the setting in force.
    pub why: String,
    /// True if the two ends should have equal settings in force but do not.
    pub mismatch: bool,
}

impl Spec {
    /// The priorities whose pauses an end of a link obeys and sends: bit n for priority n.
    pub(crate) fn paused(&self, link: u32, node: NodeId) -> u8 {
        let of_node = self.nodes[node.at()].pauses().map_or(0, |control| control.kind.priorities());
        self.negotiated(link, node).map_or(of_node, |own| own.pfc & of_node)
    }
    /// Returns true if flow control is in force for a priority at an end of a link.
    pub fn is_lossless(&self, link: u32, node: NodeId, priority: Priority) -> bool {
        let has_credits = self.nodes[node.at()].credits().is_some_and(|own| own.covers(priority));
        has_credits || u32::from(self.paused(link, node)) >> priority.0 & 1 != 0
    }
    /// Returns the negotiated settings of an end of a link.
    pub(crate) fn negotiated(&self, link: u32, node: NodeId) -> Option<&Negotiated> {
        let ends = self.negotiated.get(link as usize)?;
        let LinkSpec { a, .. } = self.links[link as usize];
        ends[usize::from(a != node)].as_ref()
    }
}
