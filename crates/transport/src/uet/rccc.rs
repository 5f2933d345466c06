//! RCCC, receiver credit congestion control of Ultra Ethernet: the receiver grants credit to senders at the rate of
//! its link.
//!
//! A sender starts with a speculative credit of 1.5 bandwidth-delay products. The first acknowledgement, NACK or grant
//! ends the speculative phase, and the rest of this credit is lost. Each request carries the credit target, a
//! cumulative number of units of 256 B: the data to send, limited to the maximum credit, less the available credit,
//! divided by the number of contexts of the NIC that have packets to send. The receiver grants credit in control
//! packets of up to `pull` bytes each. Grants are cumulative too, so that the next grant compensates for a lost one.
//! All contexts of a NIC share one pull queue, which serves the contexts with outstanding requests in round-robin
//! order, at `share` of the line rate. While there are no requests, idle contexts are granted up to the maximum credit
//! in advance (`slow_pulls`). A sender sends while it has credit, and may overdraw it by one packet. Without credit it
//! sends a credit request: immediately for a message posted while idle, otherwise after a retransmission timeout, or
//! twice the time that the last grant took (our choice). The wait doubles with each request until a grant arrives,
//! because a receiver that has answered one request has the context in its queue. A target covers at least the
//! overdraft of the context and one packet, limited by the data to send (our choice): a smaller grant would not allow
//! a packet to be sent.
//!
//! With `nscc`, a packet needs both credit and room in the window. The target is then also limited by the window plus
//! one packet. A packet trimmed at the last switch leaves the window unchanged, because credit controls that queue.
//!
//! `oversubscription` is the oversubscription of the core. If it is above 1, the rate of grants decreases in response
//! to marks and to trims before the last hop.
//!
//! Source: Ultra Ethernet Specification 1.0, section 3.6.14, and uet-htsim 40ccb05, `uec.cpp` (pull pacer: 4 packets
//! of 4096 B per pull, 0.99 of the link; slow pulls; `activeSources`), `oversubscribed_cc.cpp`.
//!
//! Not modelled: limits of host memory bandwidth (PCIe), which the receiver of htsim may have.

use super::control::{UetControl, UetFacts};
use super::credits::{CreditRules, UNIT};
use super::nscc::{Nscc, NsccKeys};
use crate::rdma::checks;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, Bytes, Computed, Or, Time};

/// Maximum number of bytes per grant.
const MAX_PULL: u64 = 1 << 24;
/// Maximum oversubscription.
const MAX_OVERSUBSCRIPTION: f64 = 1e3;

/// Keys of rccc.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RcccKeys {
    /// Initial speculative credit of a context, which is also the maximum credit. A size with unit or a number of frames, at least one packet; or "computed": 1.5 bandwidth-delay products. Default: "computed".
    pub credit: Or<Amount, Computed>,
    /// Bytes per grant. A size with unit, 256 B to 16 MiB. Default: "16 KiB" (4 packets of 4096 B).
    pub pull: Bytes,
    /// Rate of grants of a NIC, as a fraction of its line rate. A number, above 0 and at most 1. Default: 0.99.
    pub share: f64,
    /// If true, contexts without outstanding requests are granted up to `credit` in advance while the pull queue is empty. Default: true.
    pub slow_pulls: bool,
    /// Oversubscription of the core: capacity of the host links divided by that of the core. Above 1 the rate of grants adapts to marks and trims of the core. A number, 1 to 1000. Default: 1.
    pub oversubscription: f64,
    /// NSCC in addition to RCCC, so that a packet needs both credit and room in the window: a table with its keys. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nscc: Option<NsccKeys>,
}

impl Default for RcccKeys {
    fn default() -> RcccKeys {
        RcccKeys {
            credit: Or::word(),
            pull: Bytes::new(16 << 10),
            share: 0.99,
            slow_pulls: true,
            oversubscription: 1.0,
            nscc: None,
        }
    }
}

impl RcccKeys {
    /// Validates the keys; returns one remark for each invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let mut wrong = wrong_credits(self.credit.value(), self.pull, self.share);
        if !(1.0..=MAX_OVERSUBSCRIPTION).contains(&self.oversubscription) {
            let message = format!("an oversubscription of {}", self.oversubscription);
            wrong.push(Remark::about("oversubscription", message, "expected 1 to 1000"));
        }
        wrong.extend(self.nscc.iter().flat_map(NsccKeys::check).map(|why| why.within("nscc")));
        wrong
    }
    /// Returns the keys that have no effect.
    pub fn unused(&self) -> Vec<Remark> {
        self.nscc.iter().flat_map(NsccKeys::unused).map(|why| why.within("nscc")).collect()
    }
    /// Returns the rules for granting credit.
    pub(super) fn rules(&self) -> CreditRules {
        CreditRules {
            first: self.credit.value(),
            pull: self.pull.get() / UNIT,
            share: self.share,
            per_packet: false,
            fifo: false,
            slow_pulls: self.slow_pulls,
            oversubscription: self.oversubscription,
        }
    }
}

/// Returns one remark per invalid value of a credit, a grant, and the share of a link.
pub(super) fn wrong_credits(credit: Option<Amount>, pull: Bytes, share: f64) -> Vec<Remark> {
    let mut wrong: Vec<Remark> = checks::number("share", share, 1.0).into_iter().collect();
    if !(UNIT..=MAX_PULL).contains(&pull.get()) {
        let help = format!("expected {UNIT} B to {MAX_PULL} B");
        wrong.push(Remark::about("pull", format!("a pull of {pull}"), help));
    }
    if let Some(Amount::Bytes(0) | Amount::Frames(0)) = credit {
        let help = "expected at least one packet, like \"1 frame\"";
        wrong.push(Remark::about("credit", "a credit of 0", help));
    }
    wrong
}

/// The window that applies in addition to credits: NSCC, or none.
#[derive(Clone, Debug)]
pub struct Rccc(Option<Nscc>);

impl Rccc {
    /// Creates the state of a new context.
    pub fn new(keys: &RcccKeys, facts: &UetFacts) -> Rccc {
        Rccc(keys.nscc.as_ref().map(|keys| Nscc::new(keys, facts).beside_credits()))
    }
}

impl UetControl for Rccc {
    fn on_ack(&mut self, now: Time, ack: &super::control::UetAck) {
        if let Some(nscc) = &mut self.0 {
            nscc.on_ack(now, ack);
        }
    }
    fn on_loss(&mut self, now: Time, loss: &super::control::UetLoss) {
        if let Some(nscc) = &mut self.0 {
            nscc.on_loss(now, loss);
        }
    }
    fn on_link_rate(&mut self, fresh: &Rccc) {
        if let (Some(nscc), Some(fresh)) = (&mut self.0, &fresh.0) {
            nscc.on_link_rate(fresh);
        }
    }
    fn window(&self) -> u64 {
        self.0.as_ref().map_or(u64::MAX, UetControl::window)
    }
    fn quick_adapts(&self) -> u64 {
        self.0.as_ref().map_or(0, UetControl::quick_adapts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_keys() {
        let wrong = RcccKeys {
            share: 1.5,
            pull: Bytes::new(255),
            credit: Or::Value(Amount::Frames(0)),
            oversubscription: 0.5,
            nscc: Some(NsccKeys { gamma: 0.0, ..NsccKeys::default() }),
            ..RcccKeys::default()
        };
        assert_eq!(wrong.check().len(), 5);
    }
}
