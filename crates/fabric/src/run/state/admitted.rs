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
}
