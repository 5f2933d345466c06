//! The description of the queue pairs between two hosts: plain, validated data, shared by both ends.

use super::RdmaControlSpec;
use super::control::{PathFacts, RdmaControl};
use super::operation::{AETH_BYTES, Operation, RETH_BYTES};
use super::psn::MOST_OUTSTANDING;
use super::reordering_keys::RdmaRecovery;
use crate::path_selection::PathSelectionKeys;
use frame::Priority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Time};

/// Length of a CNP's payload in bytes.
const CNP_BYTES: u16 = 16;

/// Maximum length of an InfiniBand message in bytes.
const LONGEST: u64 = 1 << 31;

/// RDMA operation of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RdmaVerb {
    /// The sender sends, and the receiver has to have posted a receive request.
    #[default]
    Send,
    /// The sender writes into the memory of the receiver.
    Write,
    /// The receiver reads from the memory of the sender.
    Read,
}

impl RdmaVerb {
    /// Returns the name of the verb in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            RdmaVerb::Send => "send",
            RdmaVerb::Write => "write",
            RdmaVerb::Read => "read",
        }
    }

    /// Returns the operation of an application message that has to notify the peer: a WRITE has immediate data.
    #[inline]
    pub fn carrying(self) -> Operation {
        match self {
            RdmaVerb::Write => Operation::WriteWithImmediate,
            _ => Operation::Send,
        }
    }

    /// Returns the operation of the packets that carry data.
    #[inline]
    pub fn operation(self) -> Operation {
        match self {
            RdmaVerb::Send => Operation::Send,
            RdmaVerb::Write => Operation::Write,
            RdmaVerb::Read => Operation::ReadResponse,
        }
    }
}

/// The messages for which a receiver is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveQueue {
    /// Number of messages that each queue pair can accept at once, above 0.
    pub most: u64,
    /// Time that the application needs per message, one after the other, before it frees an entry.
    pub time: Time,
}

/// Queue pair of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueuePairs {
    /// The queue pair between its two hosts over its path, after all transfers posted earlier.
    #[default]
    One,
    /// An idle queue pair, or a new one.
    Free,
    /// A new queue pair for each transfer.
    Each,
}

/// Queue pairs that share the minimum interval between CNPs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CnpScope {
    /// Each queue pair has its own interval.
    #[default]
    QueuePair,
    /// All queue pairs from one host.
    Address,
    /// All of a NIC.
    Port,
}

/// The limit of bytes in flight that applies in addition to the congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaticWindow {
    /// No limit.
    Unlimited,
    /// A number of bytes of frames.
    Bytes(u64),
    /// The bandwidth-delay product of the path.
    Bdp,
}

/// The retransmission timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RdmaTimeouts {
    /// Time without progress after which packets are retransmitted, above zero.
    pub high: Time,
    /// Timeout while few packets are in flight.
    pub low: Time,
    /// Maximum number of packets in flight for the timeout `low`.
    pub few: u64,
}

impl RdmaTimeouts {
    /// Default: a local ACK timeout of 14.
    pub const LONGEST: Time = Time::from_ps(4_096_000 << 14);
}

/// The validated description of the queue pairs from one host to another.
#[derive(Clone, Debug, PartialEq)]
pub struct RdmaSpec {
    /// Bytes of data of a full packet, above 0.
    pub mtu: u16,
    /// Bytes of a frame other than its data, DA to FCS, telemetry included.
    pub headers: u16,
    /// Operation of the messages.
    pub verb: RdmaVerb,
    /// Maximum number of bytes of extended headers of a data packet: 0 to 20.
    pub extended: u16,
    /// Maximum number of outstanding READs of a queue pair, above 0.
    pub max_reads: u32,
    /// Receive queue; `None` if it accepts any number of messages.
    pub receive_queue: Option<ReceiveQueue>,
    /// Time that a sender waits after an RNR NAK.
    pub rnr_timer: Time,
    /// Number of consecutive retries before the queue pair enters the error state; `None`: no limit.
    pub rnr_retries: Option<u32>,
    /// Bytes of a message, above 0; `None` if all data is one message.
    pub message: Option<u64>,
    /// Total bytes; `None` if unlimited.
    pub total: Option<u64>,
    /// Queue pair of a transfer.
    pub queue_pairs: QueuePairs,
    /// Number of packets per acknowledgement, above 0; the last packet of a message is always acknowledged.
    pub ack_every: u32,
    /// Minimum time between two NAKs for the same packet.
    pub nak_gap: Time,
    /// Loss recovery.
    pub recovery: RdmaRecovery,
    /// Times after which packets are retransmitted without a NAK.
    pub timeouts: RdmaTimeouts,
    /// Maximum number of consecutive timeouts without progress before the queue pair enters the error state.
    pub retries: u32,
    /// Maximum number of bytes in flight.
    pub window: StaticWindow,
    /// Round-trip time of a full packet without queueing, if it is given.
    pub base_rtt: Option<Time>,
    /// Congestion control.
    pub control: RdmaControlSpec,
    /// Priority of acknowledgements; `None` if it is that of the data.
    pub ack_priority: Option<Priority>,
    /// Priority of CNPs.
    pub cnp_priority: Priority,
    /// Minimum time between two CNPs.
    pub cnp_gap: Time,
    /// Scope of the CNP timer.
    pub cnp_scope: CnpScope,
    /// Path selection of the queue pairs.
    pub paths: PathSelectionKeys,
}

impl RdmaSpec {
    /// Returns the length of a frame with this number of bytes of data, DA to FCS.
    #[inline]
    pub fn frame_bytes(&self, data: u16) -> u16 {
        self.headers.saturating_add(data).max(frame::MIN_FRAME_BYTES)
    }
    /// Returns the bytes of extended headers of a packet, given its position in the message.
    #[inline]
    pub fn extended(&self, first: bool, last: bool) -> u16 {
        self.verb.operation().extended(first, last)
    }
    /// Returns the packets of a message of this number of bytes, in order, as runs: the length of a frame, and the
    /// number of consecutive frames with this length.
    pub fn packets_of(&self, bytes: u64) -> impl Iterator<Item = (u16, u64)> {
        let mtu = u64::from(self.mtu);
        let longest = if self.verb == RdmaVerb::Read { self.longest_read() * mtu } else { u64::MAX };
        let mut left = bytes;
        let parts = std::iter::from_fn(move || {
            let part = left.min(longest);
            left -= part;
            (part > 0).then_some(part)
        });
        parts.flat_map(move |part| {
            let packets = part.div_ceil(mtu);
            let data = |packet: u64| (part - (packet - 1) * mtu).min(mtu) as u16;
            let frame =
                |packet: u64| self.frame_bytes(data(packet) + self.extended(packet == 1, packet == packets));
            let between = packets.saturating_sub(2);
            let runs = [
                Some((frame(1), 1)),
                (between > 0).then(|| (self.frame_bytes(self.mtu), between)),
                (packets > 1).then(|| (frame(packets), 1)),
            ];
            runs.into_iter().flatten()
        })
    }
    /// Returns the maximum number of outstanding packets.
    #[inline]
    pub(crate) fn max_outstanding(&self) -> u64 {
        self.recovery.reordering().map_or(MOST_OUTSTANDING, |keys| keys.window)
    }
    /// Returns the maximum number of packets of a READ, such that `max_reads` READs and one more have less than half of
    /// all packet numbers.
    pub(crate) fn longest_read(&self) -> u64 {
        let packets = MOST_OUTSTANDING / (u64::from(self.max_reads) + 2);
        packets.min(LONGEST / u64::from(self.mtu)).max(1)
    }
    /// Returns the length of the request of a message, if messages are READs.
    pub fn request(&self) -> Option<u16> {
        (self.verb == RdmaVerb::Read).then(|| self.request_bytes())
    }
    /// Returns the length of a READ request.
    pub fn request_bytes(&self) -> u16 {
        self.frame_bytes(RETH_BYTES)
    }
    /// Returns true if data is acknowledged packet by packet. The data of a READ is acknowledged by the next request,
    /// unless recovery, window or control need acknowledgements.
    pub fn acknowledges(&self) -> bool {
        self.verb != RdmaVerb::Read
            || self.recovery.keeps()
            || self.window != StaticWindow::Unlimited
            || self.control.needs_base_rtt()
            || self.echoes_paths()
    }
    /// Returns true if each data packet is acknowledged, including those that do not request it.
    pub fn acknowledges_each(&self) -> bool {
        self.ack_every == 1 || self.recovery == RdmaRecovery::Selective || self.echoes_paths()
    }
    /// Returns the length of an acknowledgement.
    pub fn ack_bytes(&self) -> u16 {
        self.frame_bytes(AETH_BYTES)
    }
    /// Returns the length of a CNP.
    pub fn cnp_bytes(&self) -> u16 {
        self.frame_bytes(CNP_BYTES)
    }
    /// Returns the length of the shortest frame of either end.
    pub fn shortest_frame(&self) -> u16 {
        frame::MIN_FRAME_BYTES
    }
    /// Returns the length of the longest frame of either end.
    pub fn longest_frame(&self) -> u16 {
        self.frame_bytes(self.extended.saturating_add(self.mtu)).max(self.cnp_bytes())
    }
    /// Returns true if receivers answer each packet with its entropy value and its mark.
    #[inline]
    pub fn echoes_paths(&self) -> bool {
        self.paths.is_adaptive()
    }
    /// Returns true if receivers echo marks in acknowledgements.
    #[inline]
    pub fn echoes_marks(&self) -> bool {
        self.control.uses_marks() || self.echoes_paths()
    }
    /// Returns true if receivers send CNPs.
    pub fn sends_cnps(&self) -> bool {
        self.control.uses_cnps()
    }
    /// Returns true if the packets are ECN-capable.
    pub fn understands_marks(&self) -> bool {
        self.control.uses_cnps() || self.echoes_marks()
    }
    /// Returns the priorities of the frames that the far end sends, other than that of the data.
    pub fn reply_priorities(&self) -> impl Iterator<Item = Priority> {
        let cnps = self.sends_cnps().then_some(self.cnp_priority);
        self.ack_priority.into_iter().chain(cnps)
    }
    /// Returns the facts of a path that begins at a link of this rate with `overhead` bytes around each frame. A full
    /// packet and its acknowledgement take this round-trip time, and the path has this many switches.
    pub fn facts(&self, rate: BitRate, round_trip: Time, hops: u16, overhead: u16) -> PathFacts {
        let base_rtt = self.base_rtt.unwrap_or(round_trip).max(Time::from_ps(1));
        let packet = self.frame_bytes(self.mtu);
        PathFacts { overhead, ..PathFacts::new(rate, base_rtt, packet, hops) }
    }
    /// Returns the number of bytes of frames that may be in flight, unless the control limits it further.
    pub(crate) fn most_in_flight(&self, facts: &PathFacts) -> u64 {
        match self.window {
            StaticWindow::Unlimited => u64::MAX,
            StaticWindow::Bytes(bytes) => bytes,
            // The window is a whole number of packets, as in IRN.
            StaticWindow::Bdp => {
                let packet = f64::from(facts.packet);
                (libm::ceil(facts.bdp() / packet) * packet) as u64
            }
        }
    }

    /// Validates the description; an error states the accepted values.
    ///
    /// # Errors
    /// A value is outside its range.
    pub fn check(&self) -> Result<(), String> {
        let above_zero = |what: &str, value: u64| {
            if value > 0 { Ok(()) } else { Err(format!("{what} of 0; expected above 0")) }
        };
        above_zero("an MTU", self.mtu.into())?;
        above_zero("an acknowledgement for every number", self.ack_every.into())?;
        above_zero("a timeout", self.timeouts.low.min(self.timeouts.high).ps())?;
        above_zero("a message", self.message.unwrap_or(1))?;
        above_zero("a number of READs", self.max_reads.into())?;
        above_zero("a receive queue", self.receive_queue.map_or(1, |queue| queue.most))?;
        if u32::from(self.mtu) + u32::from(self.headers) > u32::from(u16::MAX / 2) {
            return Err(format!("a frame with {} B of data", self.mtu));
        }
        Ok(())
    }

    /// Creates the control of a new queue pair.
    pub(crate) fn start(&self, facts: &PathFacts) -> super::RdmaController {
        let controller = self.control.start(facts);
        debug_assert!(controller.window() > 0);
        controller
    }
}
