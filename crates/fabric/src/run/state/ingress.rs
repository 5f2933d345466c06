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
    /// Bytes below which no counter is at a watermark, or 0 if that is not known.
    #[recurs(constant)]
    pub calm_below: u64,
    /// Counters by group of priorities that are counted together.
    pub counters: [IngressCounter; PRIORITIES],
}

impl IngressPort {
    /// Nothing has come in.
    pub fn new(levels: Levels, kind: PauseKind, moving: bool) -> IngressPort {
        let calm_below = if moving { 0 } else { levels.calm_below() };
        IngressPort { levels, kind, moving, calm_below, counters: Default::default() }
    }
}
