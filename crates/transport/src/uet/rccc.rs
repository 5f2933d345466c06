//! RCCC, receiver credit congestion control of Ultra Ethernet: the receiver grants what is sent, at the rate of its link.
//!
//! A sender begins with a credit of 1.5 bandwidth-delay products, which it uses speculatively. The first acknowledgement, NACK or grant ends that:
//! what is left of it is lost. Each request says up to where the sender wants to be granted, as a cumulative number of units of 256 B
//! (credit target). The receiver grants in control packets, `pull` bytes each, also cumulative, so that a lost grant costs nothing. All
//! contexts of a NIC share one pacer, which gives each that has something to ask for its turn, at `share` of the rate of
//! the link. A sender sends while it has credit, and may go one packet below. If it has none, and nothing is in flight, it asks again with a
//! credit request, once in a retransmission timeout.
//!
//! With `nscc` both have to allow a packet; then the target is also limited by the window and a packet, and a packet that was
//! trimmed at the last switch leaves the window as it is, since that queue is the credits' part.
//!
//! Source: Ultra Ethernet Specification 1.0, section 3.6.14, and uet-htsim 40ccb05, `uec.cpp` (pull pacer: 4 packets of 4096 B a pull, 0.99 of
//! the link).
//!
//! Not modelled: unsolicited slow pulls for idle contexts; over-subscription of the core (`OversubscribedCC`); one target shared by the
//! contexts of a sending NIC.

use super::control::{UetControl, UetFacts};
use super::nscc::{Nscc, NsccKeys};
use crate::rdma::checks;
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex};
use units::{Amount, BitRate, Bytes, Computed, Or, Time};

/// Bytes of a unit of credit.
const UNIT: u64 = 256;
/// Bits of a credit on the wire.
const CREDIT_BITS: u32 = 24;
/// Initial and largest credit in bandwidth-delay products.
const MAX_CREDIT: f64 = 1.5;
/// Bytes of a grant at most.
const MAX_PULL: u64 = 1 << 24;

/// Keys of rccc.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RcccKeys {
    /// Credit that a context begins with, which is also the most that it can have. A size with unit or a number of frames, at least one packet; or "computed": 1.5 bandwidth-delay products. Default: "computed".
    pub credit: Or<Amount, Computed>,
    /// Bytes of a grant. A size with unit, 256 B to 16 MiB. Default: "16 KiB" (4 packets of 4096 B).
    pub pull: Bytes,
    /// Share of the rate of its link at which a NIC grants. A number, above 0 and at most 1. Default: 0.99.
    pub share: f64,
    /// NSCC beside it, both of which have to allow a packet: a table with its keys. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nscc: Option<NsccKeys>,
}

impl Default for RcccKeys {
    fn default() -> RcccKeys {
        RcccKeys { credit: Or::word(), pull: Bytes::new(16 << 10), share: 0.99, nscc: None }
    }
}

impl RcccKeys {
    /// Validates the keys; returns one remark for each invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let mut wrong: Vec<Remark> = checks::number("share", self.share, 1.0).into_iter().collect();
        if !(UNIT..=MAX_PULL).contains(&self.pull.get()) {
            let help = format!("expected {UNIT} B to {MAX_PULL} B");
            wrong.push(Remark::about("pull", format!("a pull of {}", self.pull), help));
        }
        if let Some(Amount::Bytes(0) | Amount::Frames(0)) = self.credit.value() {
            wrong.push(Remark::about(
                "credit",
                "a credit of 0",
                "expected at least one packet, like \"1 frame\"",
            ));
        }
        wrong.extend(self.nscc.iter().flat_map(NsccKeys::check).map(|why| why.within("nscc")));
        wrong
    }
    /// Keys without effect.
    pub fn unused(&self) -> Vec<Remark> {
        self.nscc.iter().flat_map(NsccKeys::unused).map(|why| why.within("nscc")).collect()
    }
    /// Largest credit of a path in bytes.
    fn max_credit(&self, facts: &UetFacts) -> u64 {
        let packet = u64::from(facts.packet);
        let bytes = match self.credit.value() {
            None => (MAX_CREDIT * facts.bdp()) as u64,
            Some(Amount::Bytes(bytes)) => bytes,
            Some(Amount::Frames(packets)) => packets.saturating_mul(packet),
        };
        bytes.max(packet)
    }
    fn pull_units(&self) -> u64 {
        self.pull.get() / UNIT
    }
}

/// The part of the window beside credits: NSCC, or none.
#[derive(Clone, Debug)]
pub struct Rccc(Option<Nscc>);

impl Rccc {
    /// State of a new context.
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

/// Credits of a sender.
#[derive(Clone, Copy, Debug)]
pub struct Credits {
    /// Bytes that may be sent; below 0 by less than a packet.
    credit: i64,
    /// Most that it can be.
    max: i64,
    /// Nothing has come back so far.
    is_speculative: bool,
    /// Units granted so far.
    granted: u64,
}

impl Credits {
    /// Credits of a new context.
    pub fn new(keys: &RcccKeys, facts: &UetFacts) -> Credits {
        let max = keys.max_credit(facts) as i64;
        Credits { credit: max, max, is_speculative: true, granted: 0 }
    }
    /// Returns true if a packet may be sent.
    pub fn allows(&self) -> bool {
        self.credit > 0
    }
    /// A packet of so many bytes leaves.
    pub fn spend(&mut self, bytes: u16) {
        self.credit -= i64::from(bytes);
    }
    /// An acknowledgement, a NACK or a grant has come: what is left of the first credit is lost.
    pub fn end_speculation(&mut self) {
        if std::mem::take(&mut self.is_speculative) {
            self.credit = self.credit.min(0);
        }
    }
    /// A grant has come, with the cumulative number of units in 24 bits.
    pub fn on_grant(&mut self, units: u32) {
        self.end_speculation();
        let more = ahead(units, self.granted);
        self.granted += more;
        self.credit = (self.credit + (more * UNIT) as i64).min(self.max);
    }
    /// Target up to which it wants to be granted, in units, with so many bytes to send and, beside a window, so many allowed in flight.
    pub fn target(&self, backlog: u64, window: u64, packet: u16) -> u32 {
        let wanted = backlog.min(window.saturating_add(packet.into())).min(self.max as u64) as i64;
        let least = if self.is_speculative { i64::from(packet) } else { 0 };
        let more = (wanted - self.credit.max(0)).max(least).min(self.max).max(0) - self.credit.min(0);
        let more = if backlog == 0 && self.credit >= 0 { 0 } else { more as u64 };
        on_wire(self.granted + more.div_ceil(UNIT))
    }
}

/// Next instant at which the NIC of a host may grant, shared by its contexts.
pub type PullPacer = Arc<Mutex<Time>>;

/// Grants of a receiver to one context.
#[derive(Clone, Debug)]
pub struct Grants {
    /// Time of a grant at the paced rate.
    gap: Time,
    units: u64,
    share: f64,
    /// Units asked for and granted, so far.
    target: u64,
    granted: u64,
    pacer: PullPacer,
    /// Its turn, or [`Time::NEVER`].
    pub turn: Time,
}

impl Grants {
    /// Grants to a new context over a link of this rate.
    pub fn new(keys: &RcccKeys, rate: BitRate) -> Grants {
        let (units, share) = (keys.pull_units(), keys.share);
        let pacer = PullPacer::default();
        let mut grants =
            Grants { gap: Time::ZERO, units, share, target: 0, granted: 0, pacer, turn: Time::NEVER };
        grants.on_link_rate(rate);
        grants
    }
    /// Shares a pacer with the other contexts of its NIC.
    pub fn attach(&mut self, pacer: &PullPacer) {
        self.pacer = pacer.clone();
    }
    /// The link has another rate.
    pub fn on_link_rate(&mut self, rate: BitRate) {
        let bits = (self.units * UNIT * 8) as f64;
        self.gap = Time::from_ps((bits / (self.share * rate.bps_f64()) * 1e12) as u64);
    }
    /// A packet has come with this target.
    pub fn on_target(&mut self, units: u32, now: Time) {
        self.target += ahead(units, self.target);
        self.reserve(now);
    }
    /// A request for credit has come: grants that were lost count again. Returns the cumulative grant to repeat, if nothing more is due.
    pub fn on_request(&mut self, units: u32, now: Time) -> Option<u32> {
        self.on_target(units, now);
        (self.turn == Time::NEVER && self.granted > 0).then_some(on_wire(self.granted))
    }
    /// Waits for a turn if something is asked for.
    fn reserve(&mut self, now: Time) {
        if self.turn < Time::NEVER || self.target <= self.granted {
            return;
        }
        let mut next = self.pacer.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.turn = now.max(*next);
        *next = self.turn.saturating_add(self.gap);
    }
    /// Its turn has come: the cumulative grant to send, in units.
    pub fn grant(&mut self, now: Time) -> Option<u32> {
        if self.turn > now {
            return None;
        }
        self.turn = Time::NEVER;
        self.granted += self.units;
        self.reserve(now);
        Some(on_wire(self.granted))
    }
}

fn on_wire(units: u64) -> u32 {
    (units & ((1 << CREDIT_BITS) - 1)) as u32
}

/// Units by which a cumulative number of 24 bits is ahead; 0 if it is not.
fn ahead(units: u32, known: u64) -> u64 {
    let mask = (1 << CREDIT_BITS) - 1;
    let ahead = units.wrapping_sub(known as u32) & mask;
    if ahead > mask / 2 { 0 } else { ahead.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> UetFacts {
        UetFacts {
            rate: BitRate::from_gbps(100),
            base_rtt: Time::from_us(12),
            packet: 4150,
            payload: 4086,
            planes: 1,
            trimming: true,
        }
    }

    #[test]
    fn a_grant_of_64_units_at_100_gbps() {
        // 64 * 2048 bit / 0.99 of 100 Gb/s = 1.3240 us.
        let it = Grants::new(&RcccKeys::default(), BitRate::from_gbps(100));
        assert_eq!(it.gap, Time::from_ps(1_323_959));
        assert_eq!(it.units, 64);
    }

    #[test]
    fn contexts_of_a_nic_take_turns() {
        let pacer = PullPacer::default();
        let mut all: Vec<Grants> = (0..3)
            .map(|_| {
                let mut it = Grants::new(&RcccKeys::default(), BitRate::from_gbps(100));
                it.attach(&pacer);
                it
            })
            .collect();
        // The third asks for one grant, the others for two.
        for (it, target) in all.iter_mut().zip([128, 100, 64]) {
            it.on_target(target, Time::ZERO);
        }
        let mut turns = Vec::new();
        while let Some((place, at)) =
            (0..3).map(|n| (n, all[n].turn)).min_by_key(|turn| turn.1).filter(|it| it.1 < Time::NEVER)
        {
            let granted = all[place].grant(at).unwrap();
            turns.push((place, at.ps() / 1_323_959, granted));
        }
        assert_eq!(turns, [(0, 0, 64), (1, 1, 64), (2, 2, 64), (0, 3, 128), (1, 4, 128)]);
        // An idle pacer grants at once.
        all[2].on_target(65, Time::from_us(50));
        assert_eq!(all[2].turn, Time::from_us(50));
    }

    #[test]
    fn speculative_credit_is_lost_with_the_first_answer() {
        let mut it = Credits::new(&RcccKeys::default(), &facts());
        assert_eq!(it.credit, 225_000);
        // All of it is there: a packet more than granted is asked for while it is speculative.
        assert_eq!(it.target(1_000_000, u64::MAX, 4150), 4150_u32.div_ceil(256));
        for _ in 0..10 {
            it.spend(4150);
        }
        assert_eq!(it.target(1_000_000, u64::MAX, 4150), 41_500_u32.div_ceil(256));
        it.end_speculation();
        assert_eq!((it.credit, it.allows()), (0, false));
        it.on_grant(64);
        assert_eq!(it.credit, 16_384);
        it.on_grant(64);
        assert_eq!(it.credit, 16_384, "cumulative");
        // A lost grant is part of the next.
        it.on_grant(192);
        assert_eq!(it.credit, 49_152);
        for _ in 0..12 {
            assert!(it.allows());
            it.spend(4150);
        }
        assert_eq!((it.credit, it.allows()), (49_152 - 49_800, false));
        // What it owes is asked for as well.
        assert_eq!(it.target(10_000, u64::MAX, 4150), 192 + 10_648_u32.div_ceil(256));
        assert_eq!(it.target(10_000, 2_000, 4150), 192 + 6_798_u32.div_ceil(256));
        it.on_grant(1_000_000);
        assert_eq!(it.credit, 225_000, "at most the first credit");
    }

    #[test]
    fn cumulative_numbers_wrap() {
        let mut it = Grants::new(&RcccKeys::default(), BitRate::from_gbps(100));
        (it.target, it.granted) = ((1 << 24) - 10, (1 << 24) - 10);
        it.on_target(54, Time::ZERO);
        assert_eq!((it.target, it.turn), ((1 << 24) + 54, Time::ZERO));
        assert_eq!(it.grant(Time::ZERO), Some(54));
        it.on_target((1 << 24) - 5, Time::ZERO);
        assert_eq!(it.target, (1 << 24) + 54, "an older one");
    }

    #[test]
    fn wrong_keys() {
        let wrong = RcccKeys {
            share: 1.5,
            pull: Bytes::new(255),
            credit: Or::Value(Amount::Frames(0)),
            nscc: Some(NsccKeys { gamma: 0.0, ..NsccKeys::default() }),
        };
        assert_eq!(wrong.check().len(), 4);
    }
}
