//! Header fields of an endpoint's frame that do not fit into its word.
//!
//! Most frames carry no number, or one, which is their word. Larger contents are a [`Header`]. The label of the frame
//! then has a flag ([`Flags::is_wide`](crate::Flags::is_wide)), and its word is the index of the header.

use crate::Frame;
use crate::Trim;
use crate::telemetry::Telemetry;
use std::fmt;
use units::Time;

/// Contents that a frame carries in addition to its word. A plain value that moves with its frame from thread to
/// thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Header of a TCP segment.
    Tcp(TcpHeader),
    /// Header of an RDMA packet.
    Rdma(RdmaHeader),
    /// Header of a UET packet.
    Uet(UetHeader),
    /// Header of a frame of a message that is sent without a transport.
    Message(MessageHeader),
}

/// Position of a frame within a message that is sent without a transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageHeader {
    /// Number of the message among those of its path.
    pub number: u32,
    /// Label by which the receiver matches the message.
    pub label: u32,
    /// Number of the frame within its message.
    pub frame: u32,
    /// Number of frames of the message.
    pub frames: u32,
}

/// Kind of a UET packet that has a header (packet delivery sublayer, UEC 1.0 section 3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UetPacket {
    /// Request: data of a message.
    #[default]
    Request,
    /// ACK with congestion control state (ACK_CC).
    Ack,
    /// ACK that answers a probe.
    ProbeAck,
    /// NACK with this code.
    Nack(u8),
    /// Control packet of this type.
    Control(u8),
}

/// Fields of a UET packet that do not fit into the word of its frame. Packet sequence numbers (PSN) are the low 24 bits of 32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UetHeader {
    /// Word of the packet. In a request: PSN and flags. In an ACK: the cumulative PSN. In a NACK: the PSN that it
    /// reports.
    pub word: u32,
    /// Number of the packet delivery context, assigned by its hosts.
    pub context: u32,
    /// Type of the packet.
    pub packet: UetPacket,
    /// In a request: true for a retransmission. In an ACK: true if it acknowledges a retransmission.
    pub retransmitted: bool,
    /// In an ACK: PSN of the packet that triggered it.
    pub answers: u32,
    /// In an ACK: PSN of bit 0 of `sack`.
    pub sack_base: u32,
    /// In an ACK: bitmap of the PSNs that have been received.
    pub sack: u64,
    /// In an ACK: bytes received so far, in units of 256 B, modulo 2^24.
    pub received: u32,
    /// In an ACK: number of packets received out of order, which wait for a missing one.
    pub out_of_order: u16,
    /// In an ACK of MRC: links of the receiver that are down, bit n for the n-th link (port status).
    pub links_down: u16,
    /// In an ACK: time from the arrival of the packet that triggered it to the transmission of the ACK.
    pub service: Time,
    /// In a request: credit target. In an ACK or a control packet: credit. In units of 256 B, modulo 2^24.
    pub credit: u32,
    /// In the last request of a message on which other transfers depend: number of the transfer, from 1. Otherwise 0.
    pub message: u32,
}

/// Header fields of a RoCEv2 packet that do not fit into the word of its frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RdmaHeader {
    /// Payload word of the packet, without the number of the queue pair.
    pub word: u32,
    /// Number of the queue pair among those between its two hosts.
    pub pair: u32,
    /// In an acknowledgement: transmission time of the packet that triggered it.
    pub echo: MaybeTime,
    /// In a NACK: sequence number of the out-of-order packet that triggered it (IRN).
    pub arrived: Option<u32>,
    /// In a NAK of a receiver that tolerates reordering: bitmap of the lost packets; bit 0 is the packet `arrived`.
    /// Otherwise 0.
    pub lost: u64,
    /// Telemetry that the switches on the path of the data write into.
    pub telemetry: Telemetry,
    /// Number of bytes that a READ request requests, above 0.
    pub requested: u32,
    /// Immediate data (InfiniBand Architecture Specification volume 1 section 9.2.6), with one of these meanings:
    /// - In the last packet of a message on which others depend: number of the message, from 1.
    /// - In a packet whose operation differs from the verb of its queue pair: the operation, see
    ///   [`RdmaHeader::immediate_of`].
    /// - In the NAK of a trimmed packet: the place where it was trimmed, see [`RdmaHeader::trim`].
    /// - In other packets: 0.
    pub immediate: u32,
}

/// An optional time, in eight bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MaybeTime(Time);

impl MaybeTime {
    /// Returns the time, if there is one.
    pub fn get(self) -> Option<Time> {
        Some(self.0).filter(|&time| time != Time::NEVER)
    }
}

impl From<Option<Time>> for MaybeTime {
    fn from(time: Option<Time>) -> MaybeTime {
        MaybeTime(time.unwrap_or(Time::NEVER))
    }
}

impl Default for MaybeTime {
    fn default() -> MaybeTime {
        None.into()
    }
}

impl fmt::Debug for MaybeTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// Fields of a TCP segment that affect its receiver (RFC 9293 section 3.1), except the window, which is constant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// In data: sequence number of the first byte. In an acknowledgement: acknowledgement number.
    pub number: u32,
    /// Number of payload bytes, if it does not follow from the length of the frame.
    pub payload: Option<u16>,
    /// SYN: opens the connection.
    pub syn: bool,
    /// CWR: the sender has reduced its window (RFC 3168 section 6.1.2).
    pub cwr: bool,
    /// TSecr: transmission time of the segment that this one acknowledges (RFC 7323 section 3).
    pub ts_ecr: Option<Time>,
    /// Blocks of received bytes, from the first byte to the one after the last; empty blocks end the list (RFC 2018
    /// section 3).
    pub sacks: [(u32, u32); 3],
    /// Number of the connection among those between its two hosts. Stands for the ports.
    pub connection: u32,
    /// In data: the transfer that ends with this segment. Stands for a field of the application's protocol.
    pub ends: Option<u32>,
}

impl Header {
    /// Returns a digest of the contents, for fingerprints.
    pub fn digest(&self) -> u64 {
        match self {
            Header::Tcp(tcp) => tcp.digest(),
            Header::Rdma(rdma) => rdma.digest(),
            Header::Uet(uet) => uet.digest(),
            Header::Message(message) => message.digest(),
        }
    }

    /// Returns the sequence number or word, in place of the frame's, and the number of the connection on its path.
    #[inline(always)]
    pub fn word(&self) -> (u32, u32) {
        match self {
            Header::Tcp(tcp) => (tcp.number, tcp.connection),
            Header::Rdma(rdma) => (rdma.word, rdma.pair),
            Header::Uet(uet) => (uet.word, uet.context),
            Header::Message(message) => (message.number, 0),
        }
    }
    /// Returns the connection of a packet that requests or returns telemetry; `None` for other packets.
    #[inline(always)]
    pub fn stamped(&self) -> Option<u32> {
        self.rdma().filter(|rdma| rdma.telemetry.has_stamps()).map(|rdma| rdma.pair)
    }
    /// Returns the telemetry that switches on the path write into.
    #[inline(always)]
    pub fn telemetry_mut(&mut self) -> Option<&mut Telemetry> {
        match self {
            Header::Rdma(rdma) => Some(&mut rdma.telemetry),
            Header::Tcp(_) | Header::Uet(_) | Header::Message(_) => None,
        }
    }
    /// Returns the number of bytes that a READ request requests; 0 for other packets.
    pub fn requested(&self) -> u32 {
        self.rdma().map_or(0, |rdma| rdma.requested)
    }
    /// Returns the code of the operation to which the packet belongs; 0 for the one of its connection. See
    /// [`RdmaHeader::immediate_of`].
    pub fn operation(&self) -> u8 {
        self.rdma().map_or(0, RdmaHeader::operation)
    }

    /// Returns the header of an RDMA packet; `None` for other frames.
    #[inline(always)]
    pub fn rdma(&self) -> Option<&RdmaHeader> {
        match self {
            Header::Rdma(rdma) => Some(rdma),
            Header::Tcp(_) | Header::Uet(_) | Header::Message(_) => None,
        }
    }

    /// Returns the header of a UET packet; `None` for other frames.
    #[inline(always)]
    pub fn uet(&self) -> Option<&UetHeader> {
        match self {
            Header::Uet(uet) => Some(uet),
            Header::Tcp(_) | Header::Rdma(_) | Header::Message(_) => None,
        }
    }

    /// Returns the header of a TCP segment; `None` for other frames.
    #[inline(always)]
    pub fn tcp(&self) -> Option<&TcpHeader> {
        match self {
            Header::Tcp(tcp) => Some(tcp),
            Header::Rdma(_) | Header::Uet(_) | Header::Message(_) => None,
        }
    }

    /// Returns the header of a frame of a message without a transport; `None` for other frames.
    #[inline(always)]
    pub fn message(&self) -> Option<&MessageHeader> {
        match self {
            Header::Message(message) => Some(message),
            Header::Tcp(_) | Header::Rdma(_) | Header::Uet(_) => None,
        }
    }
}

impl MessageHeader {
    /// Returns true for the last frame of its message.
    pub fn is_last(&self) -> bool {
        self.frame + 1 == self.frames
    }
    fn digest(&self) -> u64 {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        mixed(mixed(3, pair(self.number, self.label)), pair(self.frame, self.frames))
    }
}

/// Mixes one more word into a digest.
pub(crate) fn mixed(digest: u64, word: u64) -> u64 {
    (digest.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl RdmaHeader {
    /// First value of immediate data that stands for an operation. Numbers of messages are lower.
    pub const OPERATIONS: u32 = u32::MAX << 8;

    /// Returns the immediate data of a packet of an operation with this code; 0 for code 0.
    pub fn immediate_of(operation: u8) -> u32 {
        if operation == 0 { 0 } else { RdmaHeader::OPERATIONS | u32::from(operation) }
    }
    /// Returns the code of the packet's operation; 0 for the one of its queue pair.
    pub fn operation(&self) -> u8 {
        if self.immediate >= RdmaHeader::OPERATIONS { self.immediate as u8 } else { 0 }
    }
    /// Returns the immediate data of a NAK for a packet that was trimmed at this place; 0 if it was not trimmed.
    pub fn code_of(trim: Trim) -> u32 {
        match trim {
            Trim::Whole => 0,
            Trim::Trimmed => 1,
            Trim::AtLastHop => 2,
        }
    }
    /// Returns the place at which the packet was trimmed that this NAK reports.
    pub fn trim(&self) -> Trim {
        match self.immediate {
            1 => Trim::Trimmed,
            2 => Trim::AtLastHop,
            _ => Trim::Whole,
        }
    }
    /// Returns the number of the message on which others depend, if this is its last packet.
    pub fn awaited(&self) -> Option<u32> {
        (1..RdmaHeader::OPERATIONS).contains(&self.immediate).then(|| self.immediate - 1)
    }

    fn digest(&self) -> u64 {
        let echo = self.echo.get();
        let present = [echo.is_some(), self.arrived.is_some()];
        let present = present.into_iter().fold(1, |all, flag| all << 1 | u64::from(flag));
        let words = u64::from(self.word >> Frame::NUMBER_BITS) << 32 | u64::from(self.pair);
        // Sequence numbers and transmission times grow from period to period, so that only differences count.
        let ahead = self.arrived.unwrap_or(self.word).wrapping_sub(self.word) << (32 - Frame::NUMBER_BITS);
        let digest = [words, ahead.into()].into_iter().fold(present, mixed);
        let immediate = if self.awaited().is_some() { 1 } else { self.immediate };
        let digest = match self.telemetry {
            Telemetry::None => digest,
            telemetry => mixed(digest, telemetry.digest()),
        };
        let digest = if self.lost == 0 { digest } else { mixed(mixed(digest, u64::MAX), self.lost) };
        let digest = if self.requested == 0 { digest } else { mixed(digest, self.requested.into()) };
        if immediate == 0 { digest } else { mixed(digest, u64::from(immediate) << 32) }
    }
}

impl UetHeader {
    fn digest(&self) -> u64 {
        let packet = match self.packet {
            UetPacket::Request => 0,
            UetPacket::Ack => 1 << 8,
            UetPacket::Nack(code) => 2 << 8 | u64::from(code),
            UetPacket::ProbeAck => 4 << 8,
            UetPacket::Control(kind) => 3 << 8 | u64::from(kind),
        };
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let label = packet << 17 | u64::from(self.retransmitted) << 16 | u64::from(self.out_of_order);
        let words = [
            label,
            pair(self.word, self.context),
            pair(self.answers, self.sack_base),
            self.sack,
            pair(self.received, self.credit),
            self.service.ps(),
            self.message.into(),
        ];
        words.into_iter().fold(1, mixed)
    }
}

impl TcpHeader {
    fn digest(&self) -> u64 {
        let tcp = self;
        let flags = [tcp.syn, tcp.cwr, tcp.payload.is_some(), tcp.ts_ecr.is_some()];
        let flags = flags.into_iter().fold(0, |all, flag| all << 1 | u64::from(flag));
        let first =
            [tcp.number.into(), tcp.payload.unwrap_or_default().into(), tcp.ts_ecr.unwrap_or_default().ps()];
        let blocks = tcp.sacks.into_iter().map(|(from, to)| u64::from(from) << 32 | u64::from(to));
        // Fields that a single connection between two hosts does not need are part of the digest only if they are set.
        let label = [1 << 32 | u64::from(tcp.connection), tcp.ends.map_or(0, |end| u64::from(end) + 1)];
        let label = (label != [1 << 32, 0]).then_some(label).into_iter().flatten();
        first.into_iter().chain(blocks).chain(label).fold(flags, mixed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_rdma_but_numbers_of_packets_are_part_of_the_digest() {
        let plain = RdmaHeader::default();
        let others = [
            plain,
            RdmaHeader { word: 1 << Frame::NUMBER_BITS, ..plain },
            RdmaHeader { pair: 1, ..plain },
            RdmaHeader { echo: Some(Time::ZERO).into(), ..plain },
            RdmaHeader { arrived: Some(0), ..plain },
            RdmaHeader { arrived: Some(1), ..plain },
            RdmaHeader { lost: 1, ..plain },
            RdmaHeader { lost: 1 << 63, ..plain },
            RdmaHeader { requested: 1, ..plain },
            RdmaHeader { requested: 2, ..plain },
            RdmaHeader { immediate: 1, ..plain },
            RdmaHeader { immediate: RdmaHeader::OPERATIONS | 2, ..plain },
            RdmaHeader { telemetry: Telemetry::Hops(5), ..plain },
            RdmaHeader { telemetry: Telemetry::Hops(6), ..plain },
            RdmaHeader { telemetry: Telemetry::Worst { utilisation: 0, over: Time::ZERO }, ..plain },
            RdmaHeader { telemetry: Telemetry::Worst { utilisation: 1, over: Time::ZERO }, ..plain },
            RdmaHeader { telemetry: Telemetry::Worst { utilisation: 0, over: Time::from_ps(1) }, ..plain },
        ];
        let digests = others.map(|rdma| Header::Rdma(rdma).digest());
        assert!((0..others.len()).all(|n| !digests[..n].contains(&digests[n])));
        let later = RdmaHeader {
            word: 7,
            arrived: Some(8),
            echo: Some(Time::from_ps(1)).into(),
            immediate: 5,
            ..plain
        };
        let before =
            RdmaHeader { word: 0, arrived: Some(1), echo: Some(Time::ZERO).into(), immediate: 1, ..plain };
        assert_eq!(Header::Rdma(later).digest(), Header::Rdma(before).digest());
        assert_eq!((Header::Rdma(plain).tcp(), Header::Rdma(plain).rdma()), (None, Some(&plain)));
        assert_eq!(Header::Tcp(TcpHeader::default()).rdma(), None);
    }

    #[test]
    fn every_field_of_uet_is_part_of_the_digest() {
        let plain = UetHeader::default();
        let others = [
            plain,
            UetHeader { word: 1, ..plain },
            UetHeader { context: 1, ..plain },
            UetHeader { packet: UetPacket::Ack, ..plain },
            UetHeader { packet: UetPacket::ProbeAck, ..plain },
            UetHeader { packet: UetPacket::Nack(0), ..plain },
            UetHeader { packet: UetPacket::Nack(1), ..plain },
            UetHeader { packet: UetPacket::Control(0), ..plain },
            UetHeader { packet: UetPacket::Control(6), ..plain },
            UetHeader { retransmitted: true, ..plain },
            UetHeader { answers: 1, ..plain },
            UetHeader { sack_base: 1, ..plain },
            UetHeader { sack: 1, ..plain },
            UetHeader { sack: 1 << 63, ..plain },
            UetHeader { received: 1, ..plain },
            UetHeader { out_of_order: 1, ..plain },
            UetHeader { service: Time::from_ps(1), ..plain },
            UetHeader { credit: 1, ..plain },
            UetHeader { message: 1, ..plain },
        ];
        let digests = others.map(|uet| Header::Uet(uet).digest());
        assert!((0..others.len()).all(|n| !digests[..n].contains(&digests[n])));
        assert_eq!((Header::Uet(plain).uet(), Header::Uet(plain).rdma()), (Some(&plain), None));
    }

    #[test]
    fn telemetry_makes_no_header_longer() {
        assert_eq!(size_of::<Header>(), size_of::<TcpHeader>());
    }

    #[test]
    fn every_field_is_part_of_the_digest() {
        let plain = TcpHeader::default();
        let with_sack = |at: usize, block| {
            let mut sacks = plain.sacks;
            sacks[at] = block;
            TcpHeader { sacks, ..plain }
        };
        let others = [
            plain,
            TcpHeader { number: 1, ..plain },
            TcpHeader { payload: Some(0), ..plain },
            TcpHeader { payload: Some(1), ..plain },
            TcpHeader { syn: true, ..plain },
            TcpHeader { cwr: true, ..plain },
            TcpHeader { ts_ecr: Some(Time::ZERO), ..plain },
            TcpHeader { ts_ecr: Some(Time::from_ps(1)), ..plain },
            with_sack(0, (1, 0)),
            with_sack(0, (0, 1)),
            with_sack(2, (0, 1)),
            TcpHeader { connection: 1, ..plain },
            TcpHeader { ends: Some(0), ..plain },
            TcpHeader { ends: Some(1), ..plain },
            TcpHeader { connection: 1, ends: Some(1), ..plain },
        ];
        for (n, one) in others.iter().enumerate() {
            let digest = |tcp: &TcpHeader| Header::Tcp(*tcp).digest();
            assert!(others[..n].iter().all(|other| digest(other) != digest(one)));
        }
    }
}
