//! No controller: the sender sends whatever there is, as fast as the link takes it.
//!
//! What may be in flight is bounded by the application alone, so that the queues of the fabric fill until
//! something else (a pause, a full buffer) holds the sender up. It is the worst case that controllers are
//! compared with.
//!
//! Source: none; the absence of control.
//!
//! Not modelled: nothing is left out.

use crate::controller::{CongestionControl, ControllerConfiguration};

/// No parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnlimitedParams;

/// A controller that does not limit the sender.
#[derive(Clone, Copy, Debug)]
pub struct Unlimited;

impl ControllerConfiguration for UnlimitedParams {
    type Machine = Unlimited;

    fn check(&self, _segment: u16) -> Result<(), String> {
        Ok(())
    }
    fn start(&self, _segment: u16) -> Unlimited {
        Unlimited
    }
}

impl CongestionControl for Unlimited {}
