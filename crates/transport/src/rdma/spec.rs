//! Description of the queue pairs between two hosts: plain, validated data, which both of their ends share.

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

/// Payload of a CNP.
const CNP_BYTES: u16 = 16;

/// Bytes of a message of InfiniBand, at most.
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
    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            RdmaVerb::Send => "send",
            RdmaVerb::Write => "write",
            RdmaVerb::Read => "read",
        }
    }

    /// The operation of a message of an application that is to notice it: what it writes has immediate data.
    #[inline]
    pub fn carrying(self) -> Operation {
        match self {
            RdmaVerb::Write => Operation::WriteWithImmediate,
            _ => Operation::Send,
        }
    }

    /// The operation of its data.
    #[inline]
    pub fn operation(self) -> Operation {
        match self {
            RdmaVerb::Send => Operation::Send,
            RdmaVerb::Write => Operation::Write,
            RdmaVerb::Read => Operation::ReadResponse,
        }
    }
}

/// Messages that a receiver is ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveQueue {
    /// Number of messages that each queue pair can accept at once, above 0.
    pub most: u64,
    /// Time that the application takes per message, one after the other, before it frees an entry.
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
    /// Each queue pair has its own.
    #[default]
    QueuePair,
    /// All queue pairs from one host.
    Address,
    /// All of a NIC.
    Port,
}

/// Limit of bytes in flight beside the congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaticWindow {
    /// As many as there are.
    Unlimited,
    /// A number of bytes of frames.
    Bytes(u64),
    /// The bandwidth-delay product of the path.
    Bdp,
}

/// When an unanswered packet is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RdmaTimeouts {
    /// After this time without progress, above zero.
    pub high: Time,
    /// The timeout with few packets in flight.
    pub low: Time,
    /// Upper limit of their number.
    pub few: u64,
}

impl RdmaTimeouts {
    /// Where nothing else is said: a local ACK timeout of 14.
    pub const LONGEST: Time = Time::from_ps(4_096_000 << 14);
}

/// The queue pairs from one host to another, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct RdmaSpec {
    /// Bytes of data of a full packet, above 0.
    pub mtu: u16,
    /// Bytes of a frame beside its data, DA to FCS, telemetry included.
    pub headers: u16,
    /// Operation of its messages.
    pub verb: RdmaVerb,
    /// Bytes of extended headers of a packet of data at most: 0 to 20.
    pub extended: u16,
    /// READs that a queue pair has under way at most, above 0.
    pub max_reads: u32,
    /// Its receive queue; `None`: any number of messages.
    pub receive_queue: Option<ReceiveQueue>,
    /// Time that a sender waits after an RNR NAK.
    pub rnr_timer: Time,
    /// Number of consecutive retries before the queue pair enters the error state; `None`: no limit.
    pub rnr_retries: Option<u32>,
    /// Bytes of a message, above 0; `None`: one message of everything.
    pub message: Option<u64>,
    /// Bytes of all; `None`: without end.
    pub total: Option<u64>,
    /// Queue pair of a transfer.
    pub queue_pairs: QueuePairs,
    /// Number of packets per acknowledgement, above 0; the last packet of a message is always acknowledged.
    pub ack_every: u32,
    /// Minimum time between two NAKs for the same packet.
    pub nak_gap: Time,
    /// Loss recovery.
    pub recovery: RdmaRecovery,
    /// Time after which they are retransmitted without a NAK.
    pub timeouts: RdmaTimeouts,
    /// Timeouts without progress that a queue pair survives.
    pub retries: u32,
    /// Bytes in flight at most.
    pub window: StaticWindow,
    /// The round trip of a full packet without queues, if it is given.
    pub base_rtt: Option<Time>,
    /// Congestion control.
    pub control: RdmaControlSpec,
    /// Priority of acknowledgements; `None`: that of the data.
    pub ack_priority: Option<Priority>,
    /// Priority of CNPs.
    pub cnp_priority: Priority,
    /// The least time between two CNPs.
    pub cnp_gap: Time,
    /// Scope of the CNP timer.
    pub cnp_scope: CnpScope,
    /// Path selection of a queue pair.
    pub paths: PathSelectionKeys,
}

impl RdmaSpec {
    /// Length of a frame with this number of bytes of data, DA to FCS.
    #[inline]
    pub fn frame_bytes(&self, data: u16) -> u16 {
        self.headers.saturating_add(data).max(frame::MIN_FRAME_BYTES)
    }
    /// Bytes of extended headers of a packet by its place in a message.
    #[inline]
    pub fn extended(&self, first: bool, last: bool) -> u16 {
        self.verb.operation().extended(first, last)
    }
    /// The packets of a message of this number of bytes, in order: lengths of frames, and how many of each length
    /// follow each other.
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
    /// Packets that may be outstanding at most.
    #[inline]
    pub(crate) fn max_outstanding(&self) -> u64 {
        self.recovery.reordering().map_or(MOST_OUTSTANDING, |keys| keys.window)
    }
    /// Packets of a READ at most: `max_reads` of them and one more are less than half of all numbers.
    pub(crate) fn longest_read(&self) -> u64 {
        let packets = MOST_OUTSTANDING / (u64::from(self.max_reads) + 2);
        packets.min(LONGEST / u64::from(self.mtu)).max(1)
    }
    /// Length of the request of its messages, if they are READs.
    pub fn request(&self) -> Option<u16> {
        (self.verb == RdmaVerb::Read).then(|| self.request_bytes())
    }
    /// Length of the request of a READ.
    pub fn request_bytes(&self) -> u16 {
        self.frame_bytes(RETH_BYTES)
    }
    /// Returns true if data are acknowledged packet by packet. The next request acknowledges the data of a READ,
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
    /// Length of an acknowledgement.
    pub fn ack_bytes(&self) -> u16 {
        self.frame_bytes(AETH_BYTES)
    }
    /// Length of a CNP.
    pub fn cnp_bytes(&self) -> u16 {
        self.frame_bytes(CNP_BYTES)
    }
    /// The shortest frame of either end.
    pub fn shortest_frame(&self) -> u16 {
        frame::MIN_FRAME_BYTES
    }
    /// The longest frame of either end.
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
    /// Returns true if switches may mark its packets.
    pub fn understands_marks(&self) -> bool {
        self.control.uses_cnps() || self.echoes_marks()
    }
    /// The priorities of what the far end sends, beside that of the data.
    pub fn reply_priorities(&self) -> impl Iterator<Item = Priority> {
        let cnps = self.sends_cnps().then_some(self.cnp_priority);
        self.ack_priority.into_iter().chain(cnps)
    }
    /// Of a path that begins at a link of this rate, with so many bytes of `overhead` around each frame, on which a full packet and its acknowledgement take this time, over so many
    /// switches.
    pub fn facts(&self, rate: BitRate, round_trip: Time, hops: u16, overhead: u16) -> PathFacts {
        let base_rtt = self.base_rtt.unwrap_or(round_trip).max(Time::from_ps(1));
        let packet = self.frame_bytes(self.mtu);
        PathFacts { overhead, ..PathFacts::new(rate, base_rtt, packet, hops) }
    }
    /// Bytes of frames that may be in flight, as long as the control has nothing against it.
    pub(crate) fn most_in_flight(&self, facts: &PathFacts) -> u64 {
        match self.window {
            StaticWindow::Unlimited => u64::MAX,
            StaticWindow::Bytes(bytes) => bytes,
            // Whole packets, as IRN counts them.
            StaticWindow::Bdp => {
                let packet = f64::from(facts.packet);
                (libm::ceil(facts.bdp() / packet) * packet) as u64
            }
        }
    }

    /// Validates the description; an error names the accepted values.
    ///
    /// # Errors
    /// A value outside of its range.
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

    /// Its control at work, and how far that lets a fresh queue pair send.
    pub(crate) fn start(&self, facts: &PathFacts) -> super::RdmaController {
        let controller = self.control.start(facts);
        debug_assert!(controller.window() > 0);
        controller
    }
}
