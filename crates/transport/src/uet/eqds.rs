//! EQDS, edge-queued datagram service: the receiver grants credit to senders packet by packet, at the rate of its
//! link.
//!
//! EQDS is the predecessor of RCCC, without marks and without a window at the sender. A sender starts with a
//! speculative credit of 1.5 bandwidth-delay products; the rest of it is lost at the first answer. Each packet carries
//! the amount of data still to be sent. A pull queue at the receiver grants `pull` bytes, one packet, to each sender
//! in round-robin order, at `share` of the line rate. Switches have short queues and trim packets that exceed them; a
//! trimmed packet is requested again immediately. With `pull_order = "fifo"` all requests of one sender are granted
//! before those of the next. Messages then finish one after another: their mean completion time is shorter, but later
//! ones wait. While there are no requests, idle senders are granted up to their maximum credit in advance
//! (`slow_pulls`).
//!
//! Source: V. Olteanu et al., "An edge-queued datagram service for all datacenter traffic", NSDI 2022; htsim,
//! `eqds.cpp` (`EqdsPullPacer`: 0.99 of the link, round robin, idle senders).
//!
//! Not modelled: tunnelling of other transports' packets.

use super::credits::{CreditRules, UNIT};
use super::rccc::wrong_credits;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, Bytes, Computed, Or};

/// Keys of eqds.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EqdsKeys {
    /// Initial speculative credit of a context, which is also the maximum credit. A size with unit or a number of frames, at least one packet; or "computed": 1.5 bandwidth-delay products. Default: "computed".
    pub credit: Or<Amount, Computed>,
    /// Bytes per grant. A size with unit, 256 B to 16 MiB. Default: "4 KiB".
    pub pull: Bytes,
    /// Rate of grants of a NIC, as a fraction of its line rate. A number, above 0 and at most 1. Default: 0.99.
    pub share: f64,
    /// If true, contexts without outstanding requests are granted up to `credit` in advance while the pull queue is empty. Default: true.
    pub slow_pulls: bool,
    /// Order in which contexts are granted: "round_robin" (a context goes to the end of the queue after each grant), or "fifo" (all requests of a context are granted before those of the next). Default: "round_robin" (EQDS; uet-htsim).
    pub pull_order: PullOrder,
}

/// Order of a pull queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PullOrder {
    /// A context goes to the end of the queue after each grant, so that all are served equally.
    #[default]
    RoundRobin,
    /// All requests of a context are granted before those of the next, in the order of their first requests.
    Fifo,
}

impl Default for EqdsKeys {
    fn default() -> EqdsKeys {
        EqdsKeys {
            credit: Or::word(),
            pull: Bytes::new(4 << 10),
            share: 0.99,
            slow_pulls: true,
            pull_order: PullOrder::RoundRobin,
        }
    }
}

impl EqdsKeys {
    /// Validates the keys; returns one remark for each invalid value.
    pub fn check(&self) -> Vec<Remark> {
        wrong_credits(self.credit.value(), self.pull, self.share)
    }
    /// Returns the rules for granting credit.
    pub(super) fn rules(&self) -> CreditRules {
        CreditRules {
            first: self.credit.value(),
            pull: self.pull.get() / UNIT,
            share: self.share,
            per_packet: false,
            fifo: self.pull_order == PullOrder::Fifo,
            slow_pulls: self.slow_pulls,
            oversubscription: 1.0,
        }
    }
}
