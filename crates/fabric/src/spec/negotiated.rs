//! What the two ends of a link agreed on before the traffic, by whatever protocol.

use crate::spec::{LinkSpec, Spec};
use frame::NodeId;
use scheduling::SchedulerSpec;

/// One end of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Negotiated {
    /// The priorities whose pauses the port obeys and sends, bit n for priority n; of those that its node has.
    pub pfc: u8,
    /// Which queue sends; `None`: as its node has it.
    pub scheduler: Option<SchedulerSpec>,
    /// How that came about, for readers.
    pub features: Vec<NegotiatedFeature>,
}

/// A feature that was negotiated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NegotiatedFeature {
    /// Its name.
    pub name: &'static str,
    /// What was administered at this end.
    pub local: String,
    /// What the other end said; empty if it said nothing.
    pub remote: String,
    /// What is in force.
    pub operational: String,
    /// Why.
    pub why: String,
    /// Whether the other end has something else in force, where both should have the same.
    pub mismatch: bool,
}

impl Spec {
    /// What an end of a link has agreed on.
    pub(crate) fn negotiated(&self, link: u32, node: NodeId) -> Option<&Negotiated> {
        let ends = self.negotiated.get(link as usize)?;
        let LinkSpec { a, .. } = self.links[link as usize];
        ends[usize::from(a != node)].as_ref()
    }
}
