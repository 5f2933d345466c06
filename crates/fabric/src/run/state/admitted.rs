//! Frames past the queue manager of their egress port.

use crate::run::state::index::PortIx;
use frame::{Frame, TrafficClass};

/// Outcome for a frame that its queue manager has examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The frame goes on.
    Admitted,
    /// The manager has dropped the frame.
    Lost,
    /// The frame goes on, as a deferred step, behind a congestion message.
    Deferred,
}

/// A frame at its egress port, past the queue manager.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admitted {
    pub frame: Frame,
    pub egress: PortIx,
    pub class: TrafficClass,
    /// Port that it came in through; `None` if it begins its way here.
    pub ingress: Option<PortIx>,
}
