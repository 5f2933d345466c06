//! A frame at its egress port.

use crate::run::state::index::PortIx;
use frame::{Frame, TrafficClass};

/// A frame that has come to its egress port, or leaves it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtEgress {
    pub frame: Frame,
    pub egress: PortIx,
    pub class: TrafficClass,
    /// Port that it came in through; `None` if it begins its way here.
    pub ingress: Option<PortIx>,
    /// The class that it was trimmed out of at this port; `None`: it was not.
    pub trimmed_from: Option<TrafficClass>,
}

impl AtEgress {
    /// A frame at its port, whole or trimmed elsewhere.
    #[inline(always)]
    pub const fn new(frame: Frame, egress: PortIx, class: TrafficClass, ingress: Option<PortIx>) -> AtEgress {
        AtEgress { frame, egress, class, ingress, trimmed_from: None }
    }
}
