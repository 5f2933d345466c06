//! The credits of a sender, in bytes or packets, that its receiver has granted.

use super::control::UetFacts;
use units::Amount;

/// Bytes per unit of credit (UEC 1.0, section 3.6.14).
pub(crate) const UNIT: u64 = 256;
/// Number of bits of a credit on the wire.
const CREDIT_BITS: u32 = 24;
/// Maximum number of packets left to send that a header can contain.
const MAX_LEFT: u32 = (1 << CREDIT_BITS) - 1;
/// Initial and maximum credit in bandwidth-delay products.
const MAX_CREDIT: f64 = 1.5;

/// The rules for granting credit and for its use by senders, whatever the control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CreditRules {
    /// Initial credit, which is also the maximum; `None` for 1.5 bandwidth-delay products.
    pub first: Option<Amount>,
    /// Maximum number of units per grant.
    pub pull: u64,
    /// Rate of grants of a NIC, as a fraction of its line rate.
    pub share: f64,
    /// True if each arriving packet is worth one packet of credit (NDP). If false, the sender requests an amount.
    pub per_packet: bool,
    /// True if a context stays first in the pull queue until its request is granted in full. If false, it moves to the
    /// end after each grant.
    pub fifo: bool,
    /// True if idle contexts are granted credit ahead of their requests, up to the maximum.
    pub slow_pulls: bool,
    /// Oversubscription: bytes of host links per byte of the core, at least 1. Above 1, grants react to marks and trims
    /// in the core.
    pub oversubscription: f64,
}

impl CreditRules {
    /// Returns the bytes per unit of credit.
    pub(crate) fn unit(&self, facts: &UetFacts) -> u64 {
        if self.per_packet { facts.packet.into() } else { UNIT }
    }
    /// Returns the initial credit of a path in bytes, at least a packet.
    pub(crate) fn first_credit(&self, facts: &UetFacts) -> u64 {
        let packet = u64::from(facts.packet);
        let bytes = match self.first {
            None => (MAX_CREDIT * facts.bdp()) as u64,
            Some(Amount::Bytes(bytes)) => bytes,
            Some(Amount::Frames(packets)) => packets.saturating_mul(packet),
        };
        let bytes = if self.per_packet { bytes.div_ceil(packet) * packet } else { bytes };
        bytes.max(packet)
    }
}

/// The credits of a sender.
#[derive(Clone, Copy, Debug)]
pub struct Credits {
    /// Bytes that may be sent. May be negative by less than a packet.
    credit: i64,
    /// Initial credit, which is also the maximum.
    max: i64,
    /// Bytes per unit.
    unit: u64,
    /// True if each packet takes one unit, whatever its length.
    per_packet: bool,
    /// True until the first answer of the receiver arrives.
    is_speculative: bool,
    /// Units granted so far.
    granted: u64,
}

impl Credits {
    /// Creates the credits of a new context.
    pub fn new(rules: &CreditRules, facts: &UetFacts) -> Credits {
        let max = rules.first_credit(facts) as i64;
        let per_packet = rules.per_packet;
        Credits {
            credit: max,
            max,
            unit: rules.unit(facts),
            per_packet,
            is_speculative: !per_packet,
            granted: 0,
        }
    }
    /// Returns true if a packet may be sent.
    pub fn allows(&self) -> bool {
        self.credit > 0
    }
    /// Spends the credit of a packet of this number of bytes, which is sent.
    pub fn spend(&mut self, bytes: u16) {
        self.credit -= if self.per_packet { self.unit as i64 } else { bytes.into() };
    }
    /// Processes the first answer (an acknowledgement, a NACK or a grant): the rest of the initial credit is lost,
    /// unless credit counts packets.
    pub fn end_speculation(&mut self) {
        if std::mem::take(&mut self.is_speculative) {
            self.credit = self.credit.min(0);
        }
    }
    /// Restores the initial window if credit counts packets. A message is posted while nothing else is to be sent or in
    /// flight.
    pub fn restart(&mut self) {
        if self.per_packet {
            self.credit = self.max;
        }
    }
    /// Processes a timeout: if credit counts packets, one packet may be sent without a pull.
    pub fn on_timeout(&mut self) {
        if self.per_packet {
            self.credit = self.credit.max(self.unit as i64);
        }
    }
    /// Processes a grant, given as the cumulative number of units in 24 bits, with `backlog` bytes to send. If credit
    /// counts packets, credit beyond the backlog is lost. Returns the number of new units.
    pub fn on_grant(&mut self, units: u32, backlog: u64) -> u64 {
        self.end_speculation();
        let more = ahead(units, self.granted);
        self.granted += more;
        let most = if self.per_packet { self.credit.max(0).max(backlog as i64) } else { self.max };
        self.credit = (self.credit + (more * self.unit) as i64).min(most);
        more
    }
    /// Returns the credit target to request, in units; if credit counts packets, the number of packets left to send.
    /// `backlog` is the number of bytes to send, `window` the number of bytes that a window allows in flight, and
    /// `senders` the number of contexts of the NIC that have packets to send, including this one, which share the
    /// capacity of the NIC.
    pub fn target(&self, backlog: u64, window: u64, packet: u16, senders: u32) -> u32 {
        if self.per_packet {
            return on_wire(backlog.div_ceil(self.unit).min(u64::from(MAX_LEFT)));
        }
        let packet = i64::from(packet);
        let wanted = (backlog.min(self.max as u64) as i64)
            .min(i64::try_from(window).unwrap_or(i64::MAX).saturating_add(packet));
        let mut more = wanted - self.credit;
        if self.is_speculative && backlog > 0 {
            more = more.max(packet);
        }
        // A share below the debt plus one packet would bring a grant that cannot be used.
        let least = more.clamp(0, packet.saturating_sub(self.credit.min(0))) as u64;
        let more = (more.max(0) as u64 / u64::from(senders.max(1))).max(least);
        on_wire(self.granted + more.div_ceil(self.unit))
    }
}

/// Returns a cumulative number of units as on the wire.
pub(super) fn on_wire(units: u64) -> u32 {
    (units & ((1 << CREDIT_BITS) - 1)) as u32
}

/// Returns the number of units by which a cumulative number of 24 bits is ahead; 0 if it is not ahead.
pub(super) fn ahead(units: u32, known: u64) -> u64 {
    let mask = (1 << CREDIT_BITS) - 1;
    let ahead = units.wrapping_sub(known as u32) & mask;
    if ahead > mask / 2 { 0 } else { ahead.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uet::{NdpKeys, RcccKeys, UetControlKeys};
    use units::{BitRate, Time};

    const FACTS: UetFacts = UetFacts {
        planes: 1,
        overhead: 20,
        rate: BitRate::from_gbps(100),
        base_rtt: Time::from_us(12),
        packet: 4150,
        payload: 4086,
        trimming: true,
    };

    fn credits(keys: UetControlKeys) -> Credits {
        Credits::new(&keys.credits().unwrap(), &FACTS)
    }

    #[test]
    fn speculative_credit_is_lost_with_the_first_answer() {
        let mut it = credits(UetControlKeys::Rccc(RcccKeys::default()));
        let target = |it: &Credits, backlog, window| it.target(backlog, window, 4150, 1);
        assert_eq!(it.credit, 225_000);
        // All credit is available. While it is speculative, one packet more than granted is requested.
        assert_eq!(target(&it, 1_000_000, u64::MAX), 4150_u32.div_ceil(256));
        for _ in 0..10 {
            it.spend(4150);
        }
        assert_eq!(target(&it, 1_000_000, u64::MAX), 41_500_u32.div_ceil(256));
        it.end_speculation();
        assert_eq!((it.credit, it.allows()), (0, false));
        it.on_grant(64, 1_000_000);
        assert_eq!(it.credit, 16_384);
        it.on_grant(64, 1_000_000);
        assert_eq!(it.credit, 16_384, "cumulative");
        // The next grant includes the lost one.
        it.on_grant(192, 1_000_000);
        assert_eq!(it.credit, 49_152);
        for _ in 0..12 {
            assert!(it.allows());
            it.spend(4150);
        }
        assert_eq!((it.credit, it.allows()), (49_152 - 49_800, false));
        // The debt is requested as well.
        assert_eq!(target(&it, 10_000, u64::MAX), 192 + 10_648_u32.div_ceil(256));
        assert_eq!(target(&it, 10_000, 2_000), 192 + 6_798_u32.div_ceil(256));
        // Of four sending contexts, each requests a quarter.
        assert_eq!(it.target(100_000, u64::MAX, 4150, 4), 192 + 25_162_u32.div_ceil(256));
        // Of a hundred, each requests its debt and one packet, because a hundredth would not allow a packet.
        let (debt, granted) = (648 + 4_150_u32, 192);
        assert_eq!(it.target(10_000, u64::MAX, 4150, 100), granted + debt.div_ceil(256));
        assert_eq!(it.target(100, u64::MAX, 4150, 100), granted + 748_u32.div_ceil(256), "backlog limit");
        it.on_grant(1_000_000, 1_000_000);
        assert_eq!(it.credit, 225_000, "credit is limited to the initial credit");
    }

    #[test]
    fn credit_for_packets_keeps_its_first_window_and_loses_pulls_without_packets() {
        let mut it = credits(UetControlKeys::Ndp(NdpKeys { window: 3, share: 1.0 }));
        for _ in 0..2 {
            it.spend(64);
        }
        it.end_speculation();
        assert!(it.allows(), "an answer does not reduce credit for packets");
        it.spend(4150);
        assert!(!it.allows());
        it.on_grant(2, 10 * 4150);
        assert_eq!(it.credit, 2 * 4150);
        it.on_grant(9, 3 * 4150);
        assert_eq!(it.credit, 3 * 4150, "credit is limited to the three packets left to send");
        assert_eq!(it.target(10 * 4150, u64::MAX, 4150, 9), 10, "packets left");
        (0..3).for_each(|_| it.spend(4150));
        it.on_timeout();
        assert_eq!(it.credit, 4150);
        it.restart();
        assert_eq!(it.credit, 3 * 4150);
    }
}
