//! Where a rate limiter joins the wait queue at the NIC of its host: at the port and class where its next frame leaves.

use crate::run::state::index::EndpointIx;
use frame::{PathId, Priority};

/// The frame that leaves a limiter next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextFrame {
    pub path: PathId,
    pub priority: Priority,
    /// The endpoint that sends it, if that is the far end of its path; `None`: it comes from the near end.
    pub(in crate::run) far: Option<EndpointIx>,
}
