//! Packet delivery contexts between two hosts: checked parameters, shared by both ends.

use super::control::UetFacts;
use super::{CreditRules, UetControlKeys, UetController, UetNoControlKeys};
use crate::PathSelectionKeys;
use crate::rdma::PathFacts;
use frame::Priority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Time};

/// Delivery mode of a packet delivery context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UetMode {
    /// Reliable unordered delivery: packets are placed in any order.
    #[default]
    Rud,
    /// Reliable ordered delivery: a packet after a gap is dropped, and all packets from the gap on are retransmitted.
    Rod,
    /// Reliable unordered delivery of idempotent messages, without context: each packet is acknowledged, and may be placed twice.
    Rudi,
    /// Unreliable unordered delivery: packets are not acknowledged.
    Uud,
}

/// Header of the semantic sublayer (SES) of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UetSes {
    /// 44 B.
    #[default]
    Standard,
    /// 32 B.
    Medium,
    /// 20 B: non-matching messages.
    Small,
}

impl UetSes {
    /// Its bytes.
    pub(crate) fn bytes(self) -> u16 {
        match self {
            UetSes::Standard => 44,
            UetSes::Medium => 32,
            UetSes::Small => 20,
        }
    }
}

impl UetMode {
    /// Name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            UetMode::Rud => "rud",
            UetMode::Rod => "rod",
            UetMode::Rudi => "rudi",
            UetMode::Uud => "uud",
        }
    }
    /// Returns true if packets are of a context, whose acknowledgements a control can go by.
    pub fn has_context(self) -> bool {
        matches!(self, UetMode::Rud | UetMode::Rod)
    }
    /// Bytes of the header of the packet delivery sublayer (PDS) of requests, and of the one that answers them.
    pub(crate) fn header_bytes(self) -> (u16, u16) {
        match self {
            UetMode::Rud | UetMode::Rod => (12, 32),
            UetMode::Rudi => (8, 8),
            UetMode::Uud => (4, 32),
        }
    }
}

/// Bytes that arrive for one acknowledgement, at most, where that is computed (UEC 1.0).
const MAX_COMPUTED_ACK: u64 = 16 << 10;

/// Contexts between the same two hosts: what the word of a frame has room for.
pub(super) const MAX_CONTEXTS: u64 = 16;

/// Rules of Multipath Reliable Connection that differ from those of UET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MrcRules {
    /// Time after which a packet that was overtaken counts as lost; `None`: computed from the path.
    pub reordering: Option<Time>,
    /// Lengths of a NACK and of a probe, DA to FCS.
    pub nack: u16,
    /// See `nack`.
    pub probe: u16,
}

impl MrcRules {
    /// Time that a packet may wait longer than one that overtakes it: 400 kB at 100 Gb/s.
    pub const DEEPEST_QUEUE: Time = Time::from_us(32);
}

/// Packet delivery contexts from one host to another.
#[derive(Clone, Debug, PartialEq)]
pub struct UetSpec {
    /// Delivery mode.
    pub mode: UetMode,
    /// Contexts between the same two hosts, at least 1.
    pub contexts: u32,
    /// Bytes of payload of a full packet, above 0.
    pub payload: u16,
    /// Bytes of a data frame beside its payload, DA to FCS.
    pub headers: u16,
    /// Length of an acknowledgement, DA to FCS.
    pub ack: u16,
    /// Bytes of a message of a flow, above 0; `None`: one message of everything.
    pub message: Option<u64>,
    /// Bytes of all messages of a flow; `None`: without end.
    pub total: Option<u64>,
    /// Bytes that arrive for one acknowledgement, above 0; `None`: computed from the path.
    pub ack_every: Option<u64>,
    /// Packet sequence numbers between the oldest packet that is not acknowledged and the newest (MPR), above 0.
    pub psn_range: u64,
    /// Retransmission timeout; `None`: computed from the path.
    pub timeout: Option<Time>,
    /// Timeouts in a row that a context survives.
    pub retries: u32,
    /// Round trip of a full packet and its acknowledgement without queues, if it is given.
    pub base_rtt: Option<Time>,
    /// Timeouts in a row before the timeout doubles.
    pub linear_retries: u32,
    /// Rules and sizes of MRC; `None`: those of UET.
    pub mrc: Option<MrcRules>,
    /// True if switches trim packets instead of dropping them; `None`: as the switches on the way do.
    pub trimming: Option<bool>,
    /// True if losses are inferred from acknowledgements and probes; `None`: unless switches trim.
    pub infers_losses: Option<bool>,
    /// Path selection of a context.
    pub paths: PathSelectionKeys,
    /// Congestion control.
    pub control: UetControlKeys,
    /// Priority of acknowledgements; `None`: that of the data.
    pub ack_priority: Option<Priority>,
}

impl UetSpec {
    /// Length of a frame with this number of bytes of payload, DA to FCS.
    #[inline]
    pub fn frame_bytes(&self, payload: u16) -> u16 {
        self.headers.saturating_add(payload).max(frame::MIN_FRAME_BYTES)
    }
    /// Packets of a message in order: lengths of frames, and how many of this length follow each other.
    pub fn packets_of(&self, bytes: u64) -> impl Iterator<Item = (u16, u64)> + use<> {
        let payload = u64::from(self.payload);
        let packets = bytes.div_ceil(payload).max(1);
        let last = (bytes - (packets - 1) * payload) as u16;
        let full = (packets > 1).then(|| (self.frame_bytes(self.payload), packets - 1));
        full.into_iter().chain([(self.frame_bytes(last), 1)])
    }
    /// Length of a probe, DA to FCS: PDS control packet of 16 B.
    pub fn probe_bytes(&self) -> u16 {
        self.mrc.map_or(frame::MIN_FRAME_BYTES, |rules| rules.probe)
    }
    /// Length of a NACK, DA to FCS.
    pub fn nack_bytes(&self) -> u16 {
        self.mrc.map_or(self.ack, |rules| rules.nack)
    }
    /// Name of the delivery mode in results.
    pub fn mode_name(&self) -> &'static str {
        if self.mrc.is_some() { "mrc" } else { self.mode.name() }
    }
    /// Time after being overtaken at which a packet counts as lost; `None`: never.
    pub fn overtaken_after(&self, facts: &UetFacts) -> Option<Time> {
        let rules = self.mrc?;
        let quarter = Time::from_ps(facts.base_rtt.ps() / 4);
        Some(rules.reordering.unwrap_or(quarter.max(MrcRules::DEEPEST_QUEUE)))
    }
    /// Longest frame of either end.
    pub fn longest_frame(&self) -> u16 {
        self.frame_bytes(self.payload).max(self.ack).max(self.probe_bytes())
    }
    /// Returns true if all packets of a context take one path, and those of other contexts take others.
    pub fn contexts_are_paths(&self) -> bool {
        self.contexts > 1 && self.paths == PathSelectionKeys::Fixed
    }
    /// Returns true if switches may mark its packets.
    pub fn understands_marks(&self) -> bool {
        self.mode.has_context() && self.control.reacts_to_marks() || self.paths.is_adaptive()
    }
    /// Returns true if a congestion control limits what is in flight.
    pub fn has_control(&self) -> bool {
        self.mode.has_context() && !matches!(self.control, UetControlKeys::None(_))
    }
    /// Rules by which the receiver grants credit; `None`: it grants none.
    pub fn credits(&self) -> Option<CreditRules> {
        self.control.credits().filter(|_| self.mode.has_context())
    }
    /// Its control for a path.
    pub(crate) fn start(&self, facts: &UetFacts) -> UetController {
        let none = UetControlKeys::None(UetNoControlKeys {});
        if self.mode.has_context() { self.control.start(facts) } else { none.start(facts) }
    }
    /// Returns true if its receiver grants a packet for each that arrives (NDP).
    fn is_per_packet(&self) -> bool {
        self.credits().is_some_and(|rules| rules.per_packet)
    }
    /// Bytes that arrive for one acknowledgement: 16 KiB, or a quarter of the bandwidth-delay product if that is less; with NDP each packet.
    pub fn ack_every_of(&self, facts: &UetFacts) -> u64 {
        let computed = || MAX_COMPUTED_ACK.min((facts.bdp() / 4.0) as u64).max(1);
        self.ack_every.unwrap_or_else(|| if self.is_per_packet() { 1 } else { computed() })
    }
    /// Bytes in flight, at most, for which no acknowledgement may come without a request, whatever the link of the receiver.
    pub(crate) fn most_unanswered(&self) -> u64 {
        self.ack_every.unwrap_or(if self.is_per_packet() { 1 } else { MAX_COMPUTED_ACK })
    }
    /// Facts of a path over all links by which it may begin.
    pub(crate) fn facts_of(&self, path: &PathFacts) -> UetFacts {
        let own = self.facts(path.rate.times(path.planes), path.base_rtt, path.trims);
        UetFacts { planes: path.planes, overhead: path.overhead, ..own }
    }
    /// Facts of a path that begins at a link of this rate, on which a full packet and its acknowledgement take this time, and whose
    /// switches trim or not.
    pub fn facts(&self, rate: BitRate, round_trip: Time, trims: bool) -> UetFacts {
        UetFacts {
            rate,
            base_rtt: self.base_rtt.unwrap_or(round_trip).max(Time::from_ps(1)),
            packet: self.frame_bytes(self.payload),
            payload: self.payload,
            planes: 1,
            overhead: 20,
            trimming: self.trimming.unwrap_or(trims),
        }
    }
    /// Returns true if losses are inferred on a path.
    pub fn infers_losses(&self, facts: &UetFacts) -> bool {
        self.mode == UetMode::Rud && self.infers_losses.unwrap_or(!facts.trimming)
    }
    /// Retransmission timeout of a path: 15 us and six base round trips, which drain the queues of a path that trims (uet-htsim); at
    /// least 1 ms without trimming, where queues are longer; with NDP 20 ms.
    pub fn timeout_of(&self, facts: &UetFacts) -> Time {
        self.timeout.unwrap_or_else(|| {
            if self.mrc.is_some() {
                // Three round trips, and the deepest queue there and back.
                let queues = MrcRules::DEEPEST_QUEUE + MrcRules::DEEPEST_QUEUE;
                let trips = Time::from_ps(facts.base_rtt.ps().saturating_mul(3));
                return trips.saturating_add(queues).max(Time::from_us(100));
            }
            if self.is_per_packet() {
                return super::ndp::TIMEOUT;
            }
            let drained = Time::from_us(15) + Time::from_ps(facts.base_rtt.ps().saturating_mul(6));
            if facts.trimming { drained } else { drained.max(Time::from_ms(1)) }
        })
    }

    /// Checks its parameters.
    ///
    /// # Errors
    /// The first that is out of its range.
    pub fn check(&self) -> Result<(), String> {
        let above_zero = |what: &str, value: u64| {
            if value > 0 { Ok(()) } else { Err(format!("{what} of 0; expected above 0")) }
        };
        above_zero("a payload", self.payload.into())?;
        if !(1..=MAX_CONTEXTS).contains(&u64::from(self.contexts)) {
            return Err(format!("{} contexts; expected 1 to {MAX_CONTEXTS}", self.contexts));
        }
        above_zero("an acknowledgement", self.ack.into())?;
        above_zero("bytes for an acknowledgement", self.ack_every.unwrap_or(1))?;
        above_zero("a range of sequence numbers", self.psn_range)?;
        above_zero("a timeout", self.timeout.map_or(1, Time::ps))?;
        above_zero("a message", self.message.unwrap_or(1))?;
        if u32::from(self.payload) + u32::from(self.headers) > u32::from(u16::MAX / 2) {
            return Err(format!("a frame with {} B of payload", self.payload));
        }
        Ok(())
    }
}
