//! Fields of an endpoint that do not fit into the word of a frame.
//!
//! Most frames carry nothing or one number. What is wider is a [`Header`]: the frame says that it has one
//! ([`Flags::is_wide`](crate::Flags::is_wide)), and its word holds the slot.

use crate::Frame;
use crate::Trim;
use crate::telemetry::Telemetry;
use std::fmt;
use units::Time;

/// Data that a frame carries in addition to its word. A plain value, which moves with its frame from thread to
/// thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// Of a TCP segment.
    Tcp(TcpHeader),
    /// Of a packet of RDMA.
    Rdma(RdmaHeader),
    /// Of a packet of UET.
    Uet(UetHeader),
    /// Of a frame of a message without a transport.
    Message(MessageHeader),
}

/// The message that a frame without a transport is part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageHeader {
    /// Number of the message among those of its path.
    pub number: u32,
    /// Label by which its receiver matches it.
    pub label: u32,
    /// Number of the frame in it, and of all of its frames.
    pub frame: u32,
    /// See `frame`.
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
    /// Word of the packet. Of a request: its PSN and flags. Of an ACK: the cumulative PSN. Of a NACK: the PSN that it names.
    pub word: u32,
    /// Packet delivery context, numbered by its hosts.
    pub context: u32,
    /// Kind of the packet.
    pub packet: UetPacket,
    /// Of a request: it was sent before. Of an ACK: the packet that it answers was.
    pub retransmitted: bool,
    /// Of an ACK: PSN of the packet that it answers.
    pub answers: u32,
    /// Of an ACK: PSN of bit 0 of `sack`.
    pub sack_base: u32,
    /// Of an ACK: PSNs that have arrived.
    pub sack: u64,
    /// Of an ACK: bytes received so far in units of 256 B, modulo 2^24.
    pub received: u32,
    /// Of an ACK: packets held at the receiver while one before them is missing.
    pub out_of_order: u16,
    /// Of an ACK of MRC: links of the receiver that are down, bit n for the n-th one (port status).
    pub links_down: u16,
    /// Of an ACK: time between the arrival of the packet that it answers and its own departure.
    pub service: Time,
    /// Of a request: credit target. Of an ACK or a control packet: credit. In units of 256 B, modulo 2^24.
    pub credit: u32,
    /// In the last request of a message that other transfers depend on, the transfer, counted from 1; otherwise 0.
    pub message: u32,
}

/// The fields of a RoCEv2 packet that do not fit into the word of its frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RdmaHeader {
    /// The word, without the queue pair.
    pub word: u32,
    /// The queue pair, as its hosts number those between them.
    pub pair: u32,
    /// Of an acknowledgement: when the packet was sent that it answers.
    pub echo: MaybeTime,
    /// Of a NACK: the packet out of order that has come (IRN).
    pub arrived: Option<u32>,
    /// Of a NAK of a receiver that tolerates reordering: which packets from `arrived` on are lost, bit 0 being that one; else 0.
    pub lost: u64,
    /// Telemetry that the switches on the path of the data write.
    pub telemetry: Telemetry,
    /// Requested bytes of a READ request, above 0.
    pub requested: u32,
    /// In the last packet of a message whose end is awaited: number of the message, from 1 (immediate data, InfiniBand Architecture
    /// Specification volume 1 section 9.2.6). In a packet of a message with another operation than the verb of its queue pair: that
    /// operation, see [`RdmaHeader::immediate_of`]. In the NAK of a trimmed packet: the place where it was trimmed, see
    /// [`RdmaHeader::trim`]. Else 0.
    pub immediate: u32,
}

/// A time or none, in eight bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MaybeTime(Time);

impl MaybeTime {
    /// The time, if there is one.
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

/// The fields of a TCP segment that decide what its receiver does (RFC 9293 section 3.1), but the window, which does
/// not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// Of data: the number of the first byte. Of an acknowledgement: the next byte that is expected.
    pub number: u32,
    /// Bytes of data, if they do not follow from the length of the frame.
    pub payload: Option<u16>,
    /// SYN: the connection begins here.
    pub syn: bool,
    /// CWR: the sender has reduced its window (RFC 3168 section 6.1.2).
    pub cwr: bool,
    /// TSecr: when the segment was sent that this acknowledges (RFC 7323 section 3).
    pub ts_ecr: Option<Time>,
    /// Blocks of bytes that have arrived, each from its first to the one behind its last; empty ones end the list
    /// (RFC 2018 section 3).
    pub sacks: [(u32, u32); 3],
    /// Number of the connection among those between the two hosts, which ports distinguish.
    pub connection: u32,
    /// Of data: the transfer that it is the last of, as an application says it within its data.
    pub ends: Option<u32>,
}

impl Header {
    /// Its contents, for fingerprints.
    pub fn digest(&self) -> u64 {
        match self {
            Header::Tcp(tcp) => tcp.digest(),
            Header::Rdma(rdma) => rdma.digest(),
            Header::Uet(uet) => uet.digest(),
            Header::Message(message) => message.digest(),
        }
    }

    /// The number or word that it has in place of that of its frame, and which of the connections on its path it is of.
    #[inline(always)]
    pub fn word(&self) -> (u32, u32) {
        match self {
            Header::Tcp(tcp) => (tcp.number, tcp.connection),
            Header::Rdma(rdma) => (rdma.word, rdma.pair),
            Header::Uet(uet) => (uet.word, uet.context),
            Header::Message(message) => (message.number, 0),
        }
    }
    /// The connection of a packet with telemetry, requested or written; `None` without.
    #[inline(always)]
    pub fn stamped(&self) -> Option<u32> {
        self.rdma().filter(|rdma| rdma.telemetry.has_stamps()).map(|rdma| rdma.pair)
    }
    /// The telemetry that switches on its path write into.
    #[inline(always)]
    pub fn telemetry_mut(&mut self) -> Option<&mut Telemetry> {
        match self {
            Header::Rdma(rdma) => Some(&mut rdma.telemetry),
            Header::Tcp(_) | Header::Uet(_) | Header::Message(_) => None,
        }
    }
    /// Bytes that a READ request requests; 0 for other packets.
    pub fn requested(&self) -> u32 {
        self.rdma().map_or(0, |rdma| rdma.requested)
    }
    /// The label of the operation that it is part of; 0: the one of its connection. See [`RdmaHeader::immediate_of`].
    pub fn operation(&self) -> u8 {
        self.rdma().map_or(0, RdmaHeader::operation)
    }

    /// It, if it is that of a packet of RDMA.
    #[inline(always)]
    pub fn rdma(&self) -> Option<&RdmaHeader> {
        match self {
            Header::Rdma(rdma) => Some(rdma),
            Header::Tcp(_) | Header::Uet(_) | Header::Message(_) => None,
        }
    }

    /// The header of a UET packet, if it is one.
    #[inline(always)]
    pub fn uet(&self) -> Option<&UetHeader> {
        match self {
            Header::Uet(uet) => Some(uet),
            Header::Tcp(_) | Header::Rdma(_) | Header::Message(_) => None,
        }
    }

    /// It, if it is that of a TCP segment.
    #[inline(always)]
    pub fn tcp(&self) -> Option<&TcpHeader> {
        match self {
            Header::Tcp(tcp) => Some(tcp),
            Header::Rdma(_) | Header::Uet(_) | Header::Message(_) => None,
        }
    }

    /// The header of a frame of a message without a transport, if it is one.
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

/// One more word of a digest.
pub(crate) fn mixed(digest: u64, word: u64) -> u64 {
    (digest.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl RdmaHeader {
    /// From here on immediate data name an operation: no message has a number that high.
    pub const OPERATIONS: u32 = u32::MAX << 8;

    /// The immediate data of a packet with this label of an operation; 0: it has none.
    pub fn immediate_of(operation: u8) -> u32 {
        if operation == 0 { 0 } else { RdmaHeader::OPERATIONS | u32::from(operation) }
    }
    /// The label of the operation of its packet; 0: the one of its queue pair.
    pub fn operation(&self) -> u8 {
        if self.immediate >= RdmaHeader::OPERATIONS { self.immediate as u8 } else { 0 }
    }
    /// The code of a NAK that reports a packet which lost its payload so; 0: it was not trimmed.
    pub fn code_of(trim: Trim) -> u32 {
        match trim {
            Trim::Whole => 0,
            Trim::Trimmed => 1,
            Trim::AtLastHop => 2,
        }
    }
    /// Of a NAK: how the packet that it names lost its payload.
    pub fn trim(&self) -> Trim {
        match self.immediate {
            1 => Trim::Trimmed,
            2 => Trim::AtLastHop,
            _ => Trim::Whole,
        }
    }
    /// The message for whose end others wait, if its packet is the last one of such.
    pub fn awaited(&self) -> Option<u32> {
        (1..RdmaHeader::OPERATIONS).contains(&self.immediate).then(|| self.immediate - 1)
    }

    fn digest(&self) -> u64 {
        let echo = self.echo.get();
        let present = [echo.is_some(), self.arrived.is_some()];
        let present = present.into_iter().fold(1, |all, flag| all << 1 | u64::from(flag));
        let words = u64::from(self.word >> Frame::NUMBER_BITS) << 32 | u64::from(self.pair);
        // Numbers, and times of packets, grow from period to period: only differences count.
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
        // What a connection alone between its hosts does not need counts where it is there.
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
