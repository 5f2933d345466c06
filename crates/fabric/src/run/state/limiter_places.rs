//! The position of a rate limiter in the wait queue of its host's NIC: at the port and class where its next frame
//! leaves.

use crate::run::state::index::EndpointIx;
use frame::{PathId, Priority};

/// The frame that leaves a limiter next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextFrame {
    pub path: PathId,
    pub priority: Priority,
    /// The endpoint that sends it, if it is the far end of its path; `None`: the frame comes from the near end.
    pub(in crate::run) far: Option<EndpointIx>,
}
