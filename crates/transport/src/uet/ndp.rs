//! NDP: each packet that arrives, whole or trimmed, pulls another one, at the rate of the receiver's link.
//!
//! A sender starts with `window` packets at line rate, regardless of any answers. From then on it sends each packet in
//! response to a pull. For each packet that arrives, whole or trimmed, the receiver adds a pull to the pull queue of
//! its NIC as long as the sender has more to send. It sends the pulls to the senders in round-robin order, one per
//! transmission time of a full packet at `share` of its line rate. A trimmed packet is retransmitted at the next pull,
//! ahead of new ones. Pulls have cumulative numbers, so that the next pull compensates for a lost one. A pull is
//! wasted if the sender has nothing to send. A message that is posted while nothing is in flight starts with a whole
//! window again. After a timeout, 20 ms by default, a packet is retransmitted without a pull.
//!
//! Source: M. Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance",
//! SIGCOMM 2017; htsim, `ndp.cpp`, `fairpullqueue.cpp` (windows of 15 to 30 packets, round robin, 20 ms).
//!
//! Not modelled: return to sender; pull queues in order of arrival or by priority.

use super::credits::CreditRules;
use crate::rdma::checks;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, Time};

/// Maximum of the initial window in packets.
const MAX_WINDOW: u64 = 16_384;
/// Default timeout: a backstop, because trimming reports losses (htsim).
pub(super) const TIMEOUT: Time = Time::from_ms(20);

/// Keys of ndp.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NdpKeys {
    /// Initial window in packets. A count, 1 to 16384. Default: 30.
    #[schemars(range(min = 1, max = 16384))]
    pub window: u64,
    /// Rate of pulls of a NIC, as a fraction of its line rate. A number, above 0 and at most 1. Default: 1.
    pub share: f64,
}

impl Default for NdpKeys {
    fn default() -> NdpKeys {
        NdpKeys { window: 30, share: 1.0 }
    }
}

impl NdpKeys {
    /// Validates the keys; returns one remark for each invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let mut wrong: Vec<Remark> = checks::number("share", self.share, 1.0).into_iter().collect();
        if !(1..=MAX_WINDOW).contains(&self.window) {
            let message = format!("a window of {} packets", self.window);
            wrong.push(Remark::about("window", message, format!("expected 1 to {MAX_WINDOW}")));
        }
        wrong
    }
    /// Returns the rules for granting credit.
    pub(super) fn rules(&self) -> CreditRules {
        CreditRules {
            first: Some(Amount::Frames(self.window)),
            pull: 1,
            share: self.share,
            per_packet: true,
            fifo: false,
            slow_pulls: false,
            oversubscription: 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_keys() {
        assert_eq!(NdpKeys { window: 0, share: 2.0 }.check().len(), 2);
        assert_eq!(NdpKeys { window: 16_385, share: 1.0 }.check().len(), 1);
    }
}
