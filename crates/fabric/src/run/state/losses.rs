//! Causes of frame loss.

use crate::run::state::sharing::PoolLimit;
use crate::run::state::stages::StageId;

/// Cause of the loss of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    Queue,
    Port,
    Class,
    Total,
    Stage(StageId),
    SharedMemory,
    /// The limit of a pool of the switch, by its number.
    Pool {
        pool: u8,
        limit: PoolLimit,
    },
    NicFull,
    Headroom,
    ReceiveBuffer,
    LinkDown,
    Restart,
    BitError,
    LinkLoss,
    LinkRetry,
    Watchdog,
}

impl Cause {
    pub fn name(self) -> &'static str {
        match self {
            Cause::Queue => "queue_limit",
            Cause::Port => "port_limit",
            Cause::Class => "class_limit",
            Cause::Total => "total_limit",
            Cause::Stage(stage) => stage.name(),
            Cause::SharedMemory => "shared_memory",
            Cause::Pool { limit, .. } => limit.name(),
            Cause::NicFull => "nic_full",
            Cause::Headroom => "headroom",
            Cause::ReceiveBuffer => "receive_buffer",
            Cause::LinkDown => "link_down",
            Cause::Restart => "restart",
            Cause::BitError => "bit_error",
            Cause::LinkLoss => "link_loss",
            Cause::LinkRetry => "llr_flush",
            Cause::Watchdog => "watchdog",
        }
    }
    /// Returns true if the cause is a scripted fault or a watchdog rather than a limit. Such losses are counted and do
    /// not stop a run.
    pub fn is_fault(self) -> bool {
        matches!(
            self,
            Cause::LinkDown
                | Cause::Restart
                | Cause::BitError
                | Cause::LinkLoss
                | Cause::LinkRetry
                | Cause::Watchdog
        )
    }
}
