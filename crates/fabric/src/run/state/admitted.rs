//! A frame at its egress port, with its class and ingress port.

use crate::run::state::index::PortIx;
use frame::{Frame, TrafficClass};

/// A frame at its egress port, on arrival or departure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtEgress {
    pub frame: Frame,
    pub egress: PortIx,
    pub class: TrafficClass,
    /// Ingress port of the frame; `None` if this node originates it.
    pub ingress: Option<PortIx>,
    /// The class from which the frame was trimmed at this port; `None` if it was not.
    pub trimmed_from: Option<TrafficClass>,
}

impl AtEgress {
    /// Creates the description of a frame that was not trimmed at this port.
    #[inline(always)]
    pub const fn new(frame: Frame, egress: PortIx, class: TrafficClass, ingress: Option<PortIx>) -> AtEgress {
        AtEgress { frame, egress, class, ingress, trimmed_from: None }
    }
}
