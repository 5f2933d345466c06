//! Ingress counters of the waiting frames, for pauses by ingress port (`flow_control::pfc`).

use flow_control::PauseKind;
use flow_control::pfc::{IngressCounter, Levels};
use frame::PRIORITIES;
use recurrence::Recurs;

/// The counters of one port.
#[derive(Clone, Debug, Recurs)]
pub(crate) struct IngressPort {
    /// Its watermarks, unless they move.
    #[recurs(constant)]
    pub levels: Levels,
    /// The counted priorities; none if its node has no ingress counters.
    #[recurs(constant)]
    pub kind: PauseKind,
    /// The node shares its memory by dynamic thresholds: they are the watermarks.
    pub moving: bool,
    /// Counters by group of priorities that are counted together.
    pub counters: [IngressCounter; PRIORITIES],
}

impl IngressPort {
    /// Nothing has come in.
    pub fn new(levels: Levels, kind: PauseKind, moving: bool) -> IngressPort {
        IngressPort { levels, kind, moving, counters: Default::default() }
    }
}
