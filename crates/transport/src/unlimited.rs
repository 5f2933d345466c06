//! No congestion control: the sender sends all available data at line rate.
//!
//! Only the application limits the data in flight. The queues of the fabric therefore grow until the sender is stopped
//! by a pause, or a buffer overflows. This is the worst case with which controllers are compared.
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
