//! Packet delivery contexts between two hosts: validated parameters, shared by both ends.

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
    /// Returns the length of the header in bytes.
    pub(crate) fn bytes(self) -> u16 {
        match self {
            UetSes::Standard => 44,
            UetSes::Medium => 32,
            UetSes::Small => 20,
        }
    }
}

impl UetMode {
    /// Returns the name of the mode in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            UetMode::Rud => "rud",
            UetMode::Rod => "rod",
            UetMode::Rudi => "rudi",
            UetMode::Uud => "uud",
        }
    }
    /// Returns true if packets belong to a context, whose acknowledgements a control can use.
    pub fn has_context(self) -> bool {
        matches!(self, UetMode::Rud | UetMode::Rod)
    }
    /// Returns the bytes of the packet delivery sublayer (PDS) header of a request, and of its answer.
    pub(crate) fn header_bytes(self) -> (u16, u16) {
        match self {
            UetMode::Rud | UetMode::Rod => (12, 32),
            UetMode::Rudi => (8, 8),
            UetMode::Uud => (4, 32),
        }
    }
}

/// Maximum number of bytes per acknowledgement if it is computed (UEC 1.0).
const MAX_COMPUTED_ACK: u64 = 16 << 10;

/// Maximum number of contexts between the same two hosts, limited by the word of a frame.
pub(super) const MAX_CONTEXTS: u64 = 16;

/// The rules of Multipath Reliable Connection that differ from those of UET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MrcRules {
    /// Time after which an overtaken packet counts as lost; `None` if it is computed from the path.
    pub reordering: Option<Time>,
    /// Lengths of a NACK and of a probe in bytes, DA to FCS.
    pub nack: u16,
    /// See `nack`.
    pub probe: u16,
}

impl MrcRules {
    /// Maximum time by which a packet may be delayed more than one that overtakes it: 400 kB at 100 Gb/s.
    pub const DEEPEST_QUEUE: Time = Time::from_us(32);
}

/// The validated parameters of the packet delivery contexts from one host to another.
#[derive(Clone, Debug, PartialEq)]
pub struct UetSpec {
    /// Delivery mode.
    pub mode: UetMode,
    /// Number of contexts between the same two hosts, at least 1.
    pub contexts: u32,
    /// Payload of a full packet in bytes, above 0.
    pub payload: u16,
    /// Bytes of a data frame other than its payload, DA to FCS.
    pub headers: u16,
    /// Length of an acknowledgement in bytes, DA to FCS.
    pub ack: u16,
    /// Bytes of a flow's message, above 0; `None` if all data is one message.
    pub message: Option<u64>,
    /// Total bytes of a flow; `None` if unlimited.
    pub total: Option<u64>,
    /// Number of arriving bytes per acknowledgement, above 0; `None` if it is computed from the path.
    pub ack_every: Option<u64>,
    /// Maximum distance of packet sequence numbers between the oldest unacknowledged packet and the newest (MPR), above
    /// 0.
    pub psn_range: u64,
    /// Retransmission timeout; `None` if it is computed from the path.
    pub timeout: Option<Time>,
    /// Maximum number of consecutive timeouts before a context fails.
    pub retries: u32,
    /// Round-trip time of a full packet and its acknowledgement without queueing, if it is given.
    pub base_rtt: Option<Time>,
    /// Number of consecutive timeouts before the timeout doubles.
    pub linear_retries: u32,
    /// Rules and sizes of MRC; `None` for those of UET.
    pub mrc: Option<MrcRules>,
    /// True if switches trim packets instead of dropping them; `None` if this is taken from the switches on the path.
    pub trimming: Option<bool>,
    /// True if losses are inferred from acknowledgements and probes; `None` if they are inferred unless switches trim.
    pub infers_losses: Option<bool>,
    /// Path selection of the contexts.
    pub paths: PathSelectionKeys,
    /// Congestion control.
    pub control: UetControlKeys,
    /// Priority of acknowledgements; `None` if it is that of the data.
    pub ack_priority: Option<Priority>,
}

impl UetSpec {
    /// Returns the length of a frame with this number of bytes of payload, DA to FCS.
    #[inline]
    pub fn frame_bytes(&self, payload: u16) -> u16 {
        self.headers.saturating_add(payload).max(frame::MIN_FRAME_BYTES)
    }
    /// Returns the packets of a message in order, as runs: the length of a frame, and the number of consecutive frames
    /// with this length.
    pub fn packets_of(&self, bytes: u64) -> impl Iterator<Item = (u16, u64)> + use<> {
        let payload = u64::from(self.payload);
        let packets = bytes.div_ceil(payload).max(1);
        let last = (bytes - (packets - 1) * payload) as u16;
        let full = (packets > 1).then(|| (self.frame_bytes(self.payload), packets - 1));
        full.into_iter().chain([(self.frame_bytes(last), 1)])
    }
    /// Returns the length of a probe, DA to FCS. It is a PDS control packet of 16 B.
    pub fn probe_bytes(&self) -> u16 {
        self.mrc.map_or(frame::MIN_FRAME_BYTES, |rules| rules.probe)
    }
    /// Returns the length of a NACK, DA to FCS.
    pub fn nack_bytes(&self) -> u16 {
        self.mrc.map_or(self.ack, |rules| rules.nack)
    }
    /// Returns the name of the delivery mode in results.
    pub fn mode_name(&self) -> &'static str {
        if self.mrc.is_some() { "mrc" } else { self.mode.name() }
    }
    /// Returns the time after which an overtaken packet counts as lost; `None` if it never does.
    pub fn overtaken_after(&self, facts: &UetFacts) -> Option<Time> {
        let rules = self.mrc?;
        let quarter = Time::from_ps(facts.base_rtt.ps() / 4);
        Some(rules.reordering.unwrap_or(quarter.max(MrcRules::DEEPEST_QUEUE)))
    }
    /// Returns the length of the longest frame of either end.
    pub fn longest_frame(&self) -> u16 {
        self.frame_bytes(self.payload).max(self.ack).max(self.probe_bytes())
    }
    /// Returns true if each context has its own path, which all its packets take.
    pub fn contexts_are_paths(&self) -> bool {
        self.contexts > 1 && self.paths == PathSelectionKeys::Fixed
    }
    /// Returns true if the packets are ECN-capable.
    pub fn understands_marks(&self) -> bool {
        self.mode.has_context() && self.control.reacts_to_marks() || self.paths.is_adaptive()
    }
    /// Returns true if a congestion control limits the data in flight.
    pub fn has_control(&self) -> bool {
        self.mode.has_context() && !matches!(self.control, UetControlKeys::None(_))
    }
    /// Returns the rules by which the receiver grants credit; `None` if it grants none.
    pub fn credits(&self) -> Option<CreditRules> {
        self.control.credits().filter(|_| self.mode.has_context())
    }
    /// Creates the control for a path.
    pub(crate) fn start(&self, facts: &UetFacts) -> UetController {
        let none = UetControlKeys::None(UetNoControlKeys {});
        if self.mode.has_context() { self.control.start(facts) } else { none.start(facts) }
    }
    /// Returns true if the receiver grants one packet for each that arrives (NDP).
    fn is_per_packet(&self) -> bool {
        self.credits().is_some_and(|rules| rules.per_packet)
    }
    /// Returns the number of arriving bytes per acknowledgement: 16 KiB, or a quarter of the bandwidth-delay product if
    /// that is less. With NDP each packet is acknowledged.
    pub fn ack_every_of(&self, facts: &UetFacts) -> u64 {
        let computed = || MAX_COMPUTED_ACK.min((facts.bdp() / 4.0) as u64).max(1);
        self.ack_every.unwrap_or_else(|| if self.is_per_packet() { 1 } else { computed() })
    }
    /// Returns the maximum number of bytes in flight for which the receiver may send no acknowledgement without a
    /// request, whatever its link.
    pub(crate) fn most_unanswered(&self) -> u64 {
        self.ack_every.unwrap_or(if self.is_per_packet() { 1 } else { MAX_COMPUTED_ACK })
    }
    /// Returns the facts of a path, over all links with which it may begin.
    pub(crate) fn facts_of(&self, path: &PathFacts) -> UetFacts {
        let own = self.facts(path.rate.times(path.planes), path.base_rtt, path.trims);
        UetFacts { planes: path.planes, overhead: path.overhead, ..own }
    }
    /// Returns the facts of a path that begins at a link of this rate. A full packet and its acknowledgement take this
    /// round-trip time; `trims` is true if the switches trim.
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
    /// Returns true if losses are inferred on this path.
    pub fn infers_losses(&self, facts: &UetFacts) -> bool {
        self.mode == UetMode::Rud && self.infers_losses.unwrap_or(!facts.trimming)
    }
    /// Returns the retransmission timeout of a path: 15 us and six base round-trip times, which drain the queues of a
    /// path that trims (uet-htsim). Without trimming, where queues are longer, it is at least 1 ms. With NDP it is 20
    /// ms.
    pub fn timeout_of(&self, facts: &UetFacts) -> Time {
        self.timeout.unwrap_or_else(|| {
            if self.mrc.is_some() {
                // Three round-trip times, and the deepest queue in both directions.
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

    /// Validates the parameters.
    ///
    /// # Errors
    /// The first parameter that is outside its range.
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
