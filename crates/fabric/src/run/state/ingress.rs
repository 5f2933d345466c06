//! Ingress counters of queued frames, for pauses by ingress port (`flow_control::pfc`).

use flow_control::PauseKind;
use flow_control::pfc::{IngressCounter, Levels};
use frame::PRIORITIES;
use recurrence::Recurs;

/// The counters of one port.
#[derive(Clone, Debug, Recurs)]
pub(crate) struct IngressPort {
    /// Static watermarks, used unless `moving`.
    #[recurs(constant)]
    pub levels: Levels,
    /// The priorities counted; none if its node has no ingress counters.
    #[recurs(constant)]
    pub kind: PauseKind,
    /// True if the node shares its memory by dynamic thresholds, which replace the watermarks.
    pub moving: bool,
    /// Occupancy in bytes below which no counter is at a watermark, or 0 if unknown.
    #[recurs(constant)]
    pub calm_below: u64,
    /// Counters by group of priorities that share a counter.
    pub counters: [IngressCounter; PRIORITIES],
}

impl IngressPort {
    /// Creates empty counters.
    pub fn new(levels: Levels, kind: PauseKind, moving: bool) -> IngressPort {
        let calm_below = if moving { 0 } else { levels.calm_below() };
        IngressPort { levels, kind, moving, calm_below, counters: Default::default() }
    }
}
