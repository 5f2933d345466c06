//! No congestion control: a packet delivery context has no window.
//!
//! A sender sends at line rate. Losses are retransmitted after a NACK or the retransmission timeout.
//!
//! Source: Ultra Ethernet Specification 1.0, section 3.6 (congestion control is optional for a congestion control
//! context).
//!
//! Not modelled: static rate limits.

use super::control::{UetControl, UetFacts};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys of none: there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UetNoControlKeys {}

impl UetNoControlKeys {
    /// Validates the keys; never finds anything.
    pub fn check(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// The absence of a control, which has no state.
#[derive(Clone, Copy, Debug, Default)]
pub struct UetNoControl;

impl UetNoControl {
    /// Creates the control of any context, whatever its keys.
    pub fn new<K>(_keys: &K, _facts: &UetFacts) -> UetNoControl {
        UetNoControl
    }
}

impl UetControl for UetNoControl {}

#[cfg(test)]
mod tests {
    use super::super::control::{UetLoss, UetLossCause};
    use super::*;
    use units::Time;

    #[test]
    fn a_loss_changes_nothing() {
        let mut it = UetNoControl;
        it.on_loss(Time::ZERO, &UetLoss { bytes: 1, in_flight: 0, cause: UetLossCause::Inferred });
        assert_eq!((it.window(), it.quick_adapts()), (u64::MAX, 0));
    }
}
