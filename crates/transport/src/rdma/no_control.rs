//! No congestion control: a queue pair sends at line rate.
//!
//! Only the key `window` of the queue pair limits the data in flight. In a fabric with PFC no packet is lost, but
//! pauses spread from the congested queue back to its senders.
//!
//! Source: IEEE 802.1Q-2018 clause 36 (priority-based flow control, without any other control); Y. Zhu et al.,
//! "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 2 (its consequences).
//!
//! Not modelled: static rate limits of a queue pair (the inter-packet delay of InfiniBand).

use super::control::{PathFacts, RdmaControl, RdmaControlConfiguration};
use keys::Remark;
use recurrence::Recurs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Keys of none: there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoControlKeys {}

impl RdmaControlConfiguration for NoControlKeys {}

impl NoControlKeys {
    /// Returns no remarks: there are no keys.
    pub fn check(&self) -> Vec<Remark> {
        Vec::new()
    }
    /// Returns no remarks: there are no keys.
    pub fn unused(&self) -> Vec<Remark> {
        Vec::new()
    }
}

/// A control that does not limit the queue pair.
#[derive(Clone, Copy, Debug, Default, Recurs)]
pub struct NoControl;

impl NoControl {
    /// Creates the control; keys and facts are not needed.
    pub fn new(_keys: &NoControlKeys, _facts: &PathFacts) -> NoControl {
        NoControl
    }
}

impl RdmaControl for NoControl {}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Time;

    #[test]
    fn a_mark_changes_nothing() {
        let mut it = NoControl;
        it.on_cnp(Time::ZERO);
        assert_eq!((it.rate(Time::ZERO), it.window()), (f64::INFINITY, u64::MAX));
        assert_eq!(it.due(Time::from_us(3), 1_000), Time::from_us(3));
    }
}
