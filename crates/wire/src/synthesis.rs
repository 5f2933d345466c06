//! Creates real frames from those of a simulation, which have a length but no octets.
//!
//! Station n has the addresses 02:00:00:00:00:00 + n + 1 and 10.0.0.0 + n + 1. Every data frame has a tag with its
//! priority. A source without a transport sends UDP; with port 4791, its frames are RoCEv2 SENDs to the queue pair of
//! the flow. A connection sends TCP, with the number of the byte or segment as sequence number. With port 4791 it sends
//! RoCEv2: packets of SENDs, WRITEs and READs by their position in the message, with extended headers; requests;
//! acknowledgements; and NAKs. Payloads, addresses and keys in extended headers, and unknown lengths are 0. UET packets
//! have the headers of the packet delivery sublayer; bitmap, counters and retransmission flags are unknown here, and
//! therefore 0. FCoE frames have their encapsulation and CRC (FC-BB-5); of the Fibre Channel header only exchange and
//! sequence count are set. Ports are those that switches use in hashes. A frame that is shorter than its headers (a
//! small message with RoCEv2 headers, for example) is extended to their length.

use crate::congestion::Cnm;
use crate::ethernet::{LEAST, VlanTag, ether_type};
use crate::fecn::Fecn;
use crate::ip::Way;
use crate::mac_control::{MacControl, Pfc};
use crate::roce::{self, Roce};
use crate::uet::{self, Congestion, Contexts, State, Uet};
use crate::{Contents, Error, Frame, Mac, Pcp, PrioritySet};
use etherparse::{TcpHeader, UdpHeader};
use frame::Ports;
use std::net::Ipv4Addr;

/// Length in octets of the FCS, which captures omit.
const FCS: usize = 4;
/// Length of a CN-TAG.
const CN_TAG: usize = 4;
/// Length of the Ethernet header, one tag, and the IPv4 header, in octets.
const BEFORE_TRANSPORT: usize = 14 + 4 + 20;
/// Length of UDP header, BTH and invariant CRC, in octets.
const ROCE: usize = 8 + 12 + 4;
/// Syndromes of an acknowledgement's extended header (AETH): an ACK with unlimited credits, a NAK for a packet out of sequence, and an RNR
/// NAK with a timer of 640 us (InfiniBand Architecture Specification volume 1 section 9.3.5).
const ACK_SYNDROME: u8 = 0x1F;
const NAK_SYNDROME: u8 = 0x60;
const RNR_SYNDROME: u8 = 0x20 | 12;
/// Position of the DMA length in the RETH of a WRITE or of a READ request.
const DMA_LENGTH: std::ops::Range<usize> = 12..16;
/// FCoE header up to the start of frame, start and end of frame of class 3, and the reserved octets after it; then the
/// Fibre Channel header, with the positions of SEQ_CNT and OX_ID.
const FCOE_VERSION: [u8; 13] = [0; 13];
const SOF_N3: u8 = 0x36;
const EOF_N: [u8; 4] = [0x41, 0, 0, 0];
const FC_HEADER: usize = 24;
const SEQ_CNT: std::ops::Range<usize> = 14..16;
const OX_ID: std::ops::Range<usize> = 16..18;
/// Types of UET control packets (probe, credit grant, credit request), and the code of a NACK.
const UET_PROBE: u8 = 6;
const UET_CREDIT: u8 = 7;
const UET_CREDIT_REQUEST: u8 = 8;
const UET_TRIMMED: u8 = 1;
/// Flags in the word of an RDMA or UET frame, above the packet sequence number. For data: last packet of a message,
/// acknowledgement requested, first packet of a message. For acknowledgements: NAK, READ request, receiver not ready.
const LAST_OR_NAK: u32 = 1 << 24;
/// Position of the UET context number in the word, and the number of bits that a packet has for it in addition to the
/// flow number.
const CONTEXT_SHIFT: u32 = 27;
const CONTEXT_BITS: u32 = 12;
const ASKS: u32 = 1 << 25;
const FIRST_OR_RNR: u32 = 1 << 26;
/// Maximum station number: the capacity of the network 10.0.0.0/8.
const STATIONS: u32 = (1 << 24) - 2;

/// Operation of an RDMA message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// SEND.
    Send,
    /// RDMA WRITE.
    Write,
    /// RDMA READ.
    Read,
    /// RDMA WRITE with immediate data.
    WriteWithImmediate,
    /// RDMA READ request, sent as a data packet by the end that reads.
    ReadRequest,
}

/// Upper-layer contents of a connection's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A TCP stream, or an RDMA message of unknown operation.
    Stream,
    /// An RDMA message, and its length in bytes if known: the DMA length of a WRITE or of a READ request.
    Message(Verb, Option<u32>),
    /// A Fibre Channel frame.
    FibreChannel,
    /// A UET message.
    Uet,
}

impl Verb {
    /// Returns the opcode of a packet by its position in the message, and the length of its extended headers in octets.
    fn packet(self, first: bool, last: bool) -> (u8, usize) {
        let place = match (first, last) {
            (true, true) => 3,
            (true, false) => 0,
            (false, false) => 1,
            (false, true) => 2,
        };
        let (opcodes, extended) = match self {
            Verb::Send => (roce::SEND, [0; 4]),
            Verb::Write => (roce::WRITE, [roce::RETH_BYTES, 0, 0, roce::RETH_BYTES]),
            Verb::Read => (roce::READ_RESPONSE, [roce::AETH_BYTES, 0, roce::AETH_BYTES, roce::AETH_BYTES]),
            Verb::WriteWithImmediate => {
                let both = roce::RETH_BYTES + roce::IMMDT_BYTES;
                (roce::WRITE_WITH_IMMEDIATE, [roce::RETH_BYTES, 0, roce::IMMDT_BYTES, both])
            }
            Verb::ReadRequest => ([roce::READ_REQUEST; 4], [roce::RETH_BYTES; 4]),
        };
        (opcodes[place], extended[place])
    }
}

/// Purpose of a simulated frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sent by a source without a transport.
    Pushed,
    /// Data of a connection.
    Data,
    /// An acknowledgement.
    Ack,
    /// An acknowledgement that echoes a CE mark.
    MarkedAck,
    /// A congestion notification packet.
    Cnp,
    /// A congestion notification message.
    Cnm,
    /// A tag that switches write into.
    Tag,
    /// PAUSE.
    Pause,
    /// PFC.
    Pfc,
}

impl Kind {
    /// Returns the kind with this name in the table `frames`.
    pub fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "raw" | "part" => Kind::Pushed,
            "data" => Kind::Data,
            "ack" => Kind::Ack,
            "marked_ack" => Kind::MarkedAck,
            "cnp" => Kind::Cnp,
            "cnm" => Kind::Cnm,
            "tag" => Kind::Tag,
            "pause" => Kind::Pause,
            "pfc" => Kind::Pfc,
            _ => return None,
        })
    }
}

/// A simulated frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simulated {
    /// Purpose of the frame.
    pub kind: Kind,
    /// Upper-layer contents of the flow's data.
    pub payload: Payload,
    /// Number of the flow.
    pub flow: u32,
    /// Ports, in the frame's direction of travel.
    pub ports: Ports,
    /// Number of the sending station.
    pub source: u32,
    /// Number of the destination station.
    pub destination: u32,
    /// Priority of the frame.
    pub priority: Pcp,
    /// Length in octets, DA to FCS.
    pub bytes: u16,
    /// Payload word: a sequence number, an acknowledgement number, or feedback. In a pause frame: priorities with XOFF
    /// in bits 0 to 7, those with XON in bits 8 to 15, quanta in the upper bits.
    pub word: u32,
    /// ECN bits.
    pub ecn: u8,
    /// DSCP; 0 for a frame without one.
    pub dscp: u8,
    /// Flow number of the CN-TAG.
    pub cn_tag: Option<u16>,
    /// Fields of a congestion notification message other than its feedback, if known.
    pub notification: Option<Notification>,
}

/// Fields of a congestion notification message other than its feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notification {
    /// Congestion point (CPID), with the address of its station in the upper 48 bits.
    pub congestion_point: u64,
    /// cnmQOffset, in units of 64 octets.
    pub offset: i16,
    /// cnmQDelta, in units of 64 octets.
    pub delta: i16,
    /// Purpose of the sampled frame.
    pub kind: Kind,
    /// Priority of the sampled frame.
    pub priority: Pcp,
    /// Length of the sampled frame with its tags, DA to FCS.
    pub bytes: u16,
    /// Payload word of the sampled frame.
    pub word: u32,
    /// Number of octets of the frame that are repeated, from its EtherType on.
    pub octets: u8,
}

/// Returns the number of a station, from 1, as octets.
fn number(station: u32) -> Result<[u8; 4], Error> {
    let got = u64::from(station) + 1;
    if station >= STATIONS {
        return Err(Error::Value { what: "the number of a station", accepted: "1 to 16777214", got });
    }
    Ok((station + 1).to_be_bytes())
}

/// Returns the MAC address of a station.
pub fn mac(station: u32) -> Result<Mac, Error> {
    number(station).map(|[_, a, b, c]| Mac([2, 0, 0, a, b, c]))
}

/// Returns the MAC address in a congestion point's identifier.
fn address_of(congestion_point: u64) -> Mac {
    let [a, b, c, d, e, f, _, _] = congestion_point.to_be_bytes();
    Mac([a, b, c, d, e, f])
}

fn address(station: u32) -> Result<Ipv4Addr, Error> {
    number(station).map(|[_, a, b, c]| Ipv4Addr::new(10, a, b, c))
}

impl Simulated {
    /// Returns the frame with real headers.
    pub fn frame(&self) -> Result<Frame, Error> {
        let source = mac(self.source)?;
        let contents = match self.kind {
            Kind::Pause | Kind::Pfc => return Ok(Frame::control(source, self.pause())),
            Kind::Cnm => self.message()?,
            Kind::Tag => self.tag(),
            Kind::Cnp => {
                // A returned tag: its source port is the destination port of the flow.
                let way = Way { source_port: self.ports.destination, ..self.way()? };
                Contents::Ipv4(way.roce(Roce::cnp(self.flow & 0xFF_FFFF)?)?)
            }
            Kind::Pushed if self.ports.destination == roce::UDP_PORT => {
                let payload = self.zeros(BEFORE_TRANSPORT + ROCE);
                let pair = self.flow & 0xFF_FFFF;
                Contents::Ipv4(self.way()?.roce(Roce::new(
                    roce::SEND[3],
                    pair,
                    self.word & 0xFF_FFFF,
                    payload,
                )?)?)
            }
            Kind::Pushed => {
                let payload = self.zeros(BEFORE_TRANSPORT + UdpHeader::LEN);
                Contents::Ipv4(self.way()?.udp(payload)?)
            }
            Kind::Data if self.payload == Payload::FibreChannel => self.fibre_channel(),
            Kind::Data | Kind::Ack | Kind::MarkedAck if self.payload == Payload::Uet => self.uet()?,
            Kind::Data if self.ports.destination == roce::UDP_PORT => {
                Contents::Ipv4(self.way()?.roce(self.packet()?)?)
            }
            // Both ends of a connection send data to the RoCEv2 port.
            Kind::Data
                if self.ports.source == roce::UDP_PORT && matches!(self.payload, Payload::Message(..)) =>
            {
                let ports = Ports { source: self.ports.destination, destination: self.ports.source };
                let way = (Simulated { ports, ..*self }).way()?;
                Contents::Ipv4(way.roce(self.packet()?)?)
            }
            Kind::Ack | Kind::MarkedAck if self.ports.source == roce::UDP_PORT => {
                let way = Way { source_port: self.ports.destination, ..self.way()? };
                Contents::Ipv4(way.roce(self.answer()?)?)
            }
            // The responder of a READ sends it to its requester.
            Kind::Ack if self.ports.destination == roce::UDP_PORT => {
                Contents::Ipv4(self.way()?.roce(self.answer()?)?)
            }
            Kind::Data | Kind::Ack | Kind::MarkedAck => self.segment()?,
        };
        // A congestion point is the source of its own messages.
        let point = self
            .notification
            .filter(|_| self.kind == Kind::Cnm)
            .map(|notification| address_of(notification.congestion_point));
        let frame = Frame::new(mac(self.destination)?, point.unwrap_or(source), contents);
        Ok(Frame { vlan: Some(VlanTag::new(self.priority, 0)?), flow: self.cn_tag, ..frame })
    }

    /// Creates a data packet, with the opcode of its position in the message.
    fn packet(&self) -> Result<Roce, Error> {
        let (first, last) = (self.word & FIRST_OR_RNR != 0, self.word & LAST_OR_NAK != 0);
        let (verb, bytes) = self.message_of();
        let (opcode, extended) = verb.packet(first, last);
        let mut payload = self.zeros(BEFORE_TRANSPORT + ROCE);
        if verb == Verb::Read && extended == roce::AETH_BYTES && !payload.is_empty() {
            payload[0] = ACK_SYNDROME;
        } else if let Some(length) = payload.get_mut(DMA_LENGTH).filter(|_| extended >= roce::RETH_BYTES) {
            length.copy_from_slice(&bytes.unwrap_or(0).to_be_bytes());
        }
        let mut packet = Roce::new(opcode, self.flow & 0xFF_FFFF, self.word & 0xFF_FFFF, payload)?;
        packet.acknowledge = self.word & ASKS != 0;
        Ok(packet)
    }

    /// Creates an acknowledgement, a NAK or a request.
    fn answer(&self) -> Result<Roce, Error> {
        let flag = |bit: u32| self.word & bit != 0;
        let (pair, number) = (self.flow & 0xFF_FFFF, self.word & 0xFF_FFFF);
        if flag(ASKS) && !flag(LAST_OR_NAK) {
            let mut extended = vec![0; roce::RETH_BYTES];
            extended[DMA_LENGTH].copy_from_slice(&self.message_of().1.unwrap_or(0).to_be_bytes());
            return Roce::new(roce::READ_REQUEST, pair, number, extended);
        }
        let syndrome = match (flag(LAST_OR_NAK), flag(FIRST_OR_RNR)) {
            (true, true) => RNR_SYNDROME,
            (true, false) => NAK_SYNDROME,
            (false, _) => ACK_SYNDROME,
        };
        // The message sequence number (MSN) is unknown here.
        Roce::new(roce::ACKNOWLEDGE, pair, number, vec![syndrome, 0, 0, 0])
    }

    /// Creates a PFC frame with several pause times: the one in this frame's word, and those in other words.
    pub fn with_times(&self, others: impl IntoIterator<Item = u32>) -> Result<Frame, Error> {
        let mut frame = self.frame()?;
        for word in others {
            let MacControl::Pfc(more) = (Simulated { word, ..*self }).pause() else { continue };
            let Contents::MacControl(MacControl::Pfc(pfc)) = &mut frame.contents else { continue };
            pfc.enabled.0 |= more.enabled.0;
            for (known, quanta) in pfc.quanta.iter_mut().zip(more.quanta) {
                *known = quanta.max(*known);
            }
        }
        Ok(frame)
    }

    /// Returns the operation of the frame's message, and the length of the message in bytes if known.
    fn message_of(&self) -> (Verb, Option<u32>) {
        match self.payload {
            Payload::Message(verb, bytes) => (verb, bytes),
            Payload::Stream | Payload::FibreChannel | Payload::Uet => (Verb::Send, None),
        }
    }

    /// Creates a UET packet. The context number consists of the flow number and, in the upper bits, the context's
    /// number within the flow. Of an acknowledgement, only the cumulative PSN and the CE mark are known.
    fn uet(&self) -> Result<Contents, Error> {
        let id = (self.flow as u16).wrapping_add((self.word >> CONTEXT_SHIFT << CONTEXT_BITS) as u16);
        let contexts = Contexts { source: id, destination: id };
        let (psn, flag) = (self.word & 0xFF_FFFF, |bit: u32| self.word & bit != 0);
        let (header, flags) = match self.kind {
            Kind::Data => {
                let flags = if flag(ASKS) { uet::ACK_REQUEST } else { 0 };
                let header =
                    uet::Header::Request { ordered: false, clear_offset: 0, psn, contexts, congestion: None };
                (header, flags)
            }
            _ if flag(ASKS) => (uet::Header::Control { opaque: 0, psn, contexts, value: 0 }, 0),
            _ if flag(LAST_OR_NAK) => {
                let (code, vendor, value, state) = (UET_TRIMMED, 0, 0, None);
                (uet::Header::Nack { code, vendor, psn, contexts, value, state }, 0)
            }
            kind => {
                let mark = if kind == Kind::MarkedAck { uet::MARKED } else { 0 };
                let flags = mark | if flag(FIRST_OR_RNR) { uet::PROBE } else { 0 };
                let state =
                    State::Nscc { service_time: 0, restore: false, penalty: 0, received: 0, out_of_order: 0 };
                let congestion =
                    Congestion { flags: 0, range: 0, sack_offset: 1, sack: 0, state, vendor: None };
                let header =
                    uet::Header::Ack { offset: 0, cumulative: psn, contexts, congestion: Some(congestion) };
                (header, flags)
            }
        };
        let next = match (header, flag(LAST_OR_NAK), flag(FIRST_OR_RNR)) {
            (uet::Header::Control { .. }, true, _) => UET_CREDIT_REQUEST,
            (uet::Header::Control { .. }, _, true) => UET_CREDIT,
            (uet::Header::Control { .. }, ..) => UET_PROBE,
            _ => 0,
        };
        let empty = Uet { next, flags, ..Uet::new(header, Vec::new()) };
        let payload = self.zeros(BEFORE_TRANSPORT + UdpHeader::LEN + empty.bytes());
        // All packets are sent to the UET port. The source port is the entropy value.
        let entropy =
            if self.ports.destination == uet::UDP_PORT { self.ports.source } else { self.ports.destination };
        let way = Way { source_port: entropy, ..self.way()? };
        Ok(Contents::Ipv4(way.uet(Uet { payload, ..empty })?))
    }

    /// Returns the zeros that follow `headers` octets of headers in the frame.
    fn zeros(&self, headers: usize) -> Vec<u8> {
        let headers = headers + if self.cn_tag.is_some() { CN_TAG } else { 0 };
        vec![0; (usize::from(self.bytes).max(LEAST + FCS) - FCS).saturating_sub(headers)]
    }

    fn way(&self) -> Result<Way, Error> {
        Ok(Way {
            source: address(self.source)?,
            destination: address(self.destination)?,
            source_port: self.ports.source,
            destination_port: self.ports.destination,
            traffic_class: self.dscp << 2 | self.ecn & 3,
        })
    }

    fn pause(&self) -> MacControl {
        let [quanta_high, quanta_low, xon, xoff] = self.word.to_be_bytes();
        let quanta = u16::from_be_bytes([quanta_high, quanta_low]);
        if self.kind == Kind::Pause {
            return MacControl::Pause { quanta: if xoff == 0 { 0 } else { quanta } };
        }
        let quanta = std::array::from_fn(|priority| if xoff >> priority & 1 == 1 { quanta } else { 0 });
        MacControl::Pfc(Pfc { enabled: PrioritySet(xoff | xon), quanta })
    }

    fn message(&self) -> Result<Contents, Error> {
        // Feedback of other schemes does not fit into six bits, and is omitted.
        let feedback = u8::try_from(self.word).ok().filter(|&feedback| feedback < 64).unwrap_or(0);
        let repeated =
            self.notification.map_or_else(|| Ok(Vec::new()), |notification| self.repeated(&notification))?;
        let mut message = Cnm::new(feedback, &repeated)?;
        message.priority = self.priority;
        message.destination = mac(self.source)?;
        if let Some(notification) = self.notification {
            message.congestion_point = notification.congestion_point;
            (message.offset, message.delta, message.priority) =
                (notification.offset, notification.delta, notification.priority);
        }
        Ok(Contents::Cnm(message))
    }

    /// Returns the octets of the sampled frame that a message repeats. The sampled frame travelled in the opposite
    /// direction.
    fn repeated(&self, notification: &Notification) -> Result<Vec<u8>, Error> {
        if matches!(notification.kind, Kind::Cnm | Kind::Pause | Kind::Pfc) {
            return Ok(Vec::new());
        }
        let ports = Ports { source: self.ports.destination, destination: self.ports.source };
        let sampled = Simulated {
            kind: notification.kind,
            ports,
            source: self.destination,
            destination: self.source,
            priority: notification.priority,
            bytes: notification.bytes,
            word: notification.word,
            notification: None,
            ..*self
        };
        let octets = sampled.frame()?.to_bytes();
        let before = 12 + 4 + if self.cn_tag.is_some() { CN_TAG } else { 0 };
        Ok(octets.into_iter().skip(before).take(notification.octets.into()).collect())
    }

    /// Creates a Fibre Channel frame. The word has its exchange, and its number within the exchange.
    fn fibre_channel(&self) -> Contents {
        let data = self.zeros(14 + 4 + FCOE_VERSION.len() + 1 + FC_HEADER + 4 + EOF_N.len());
        let mut frame = vec![0; FC_HEADER];
        frame.extend(data);
        frame[OX_ID].copy_from_slice(&((self.word >> 16) as u16).to_be_bytes());
        frame[SEQ_CNT].copy_from_slice(&(self.word as u16).to_be_bytes());
        let crc = crc32fast::hash(&frame).to_le_bytes();
        let payload = [&FCOE_VERSION[..], &[SOF_N3], &frame, &crc, &EOF_N].concat();
        Contents::Other { ether_type: ether_type::FCOE, payload }
    }

    fn tag(&self) -> Contents {
        let (queue, rate_kbps) = ((self.flow & 0xFFFF) as u16, self.word);
        Contents::Fecn(Fecn { returning: false, queue, rate_kbps, next: 0, payload: Vec::new() })
    }

    /// Creates a TCP segment. Both directions of a connection use the same two ports, swapped, for data,
    /// acknowledgements and SYNs.
    fn segment(&self) -> Result<Contents, Error> {
        let mut tcp = TcpHeader { window_size: u16::MAX, ack: true, ..TcpHeader::default() };
        let way = self.way()?;
        match self.kind {
            Kind::Data => tcp.sequence_number = self.word,
            _ => {
                tcp.acknowledgment_number = self.word;
                tcp.ece = self.kind == Kind::MarkedAck;
            }
        }
        let payload = self.zeros(BEFORE_TRANSPORT + tcp.header_len());
        Ok(Contents::Ipv4(way.tcp(tcp, payload)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::Transport;

    const FRAME: Simulated = Simulated {
        kind: Kind::Pushed,
        payload: Payload::Stream,
        flow: 3,
        ports: Ports { source: 49_155, destination: 9 },
        source: 0,
        destination: 258,
        priority: Pcp::of_top_bits(0x60),
        bytes: 1_522,
        word: 0,
        ecn: 2,
        dscp: 0,
        cn_tag: None,
        notification: None,
    };

    /// Checks that the octets of the frame can be parsed, and that their number is as expected.
    fn made(of: Simulated, octets: usize) -> Frame {
        let frame = of.frame().unwrap();
        let bytes = frame.to_bytes();
        assert_eq!((bytes.len(), Frame::decode(&bytes).as_ref()), (octets, Ok(&frame)));
        frame
    }

    #[test]
    fn data_has_the_length_that_it_had() {
        let frame = made(FRAME, 1_518);
        assert_eq!((frame.source, frame.destination), (Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 1, 3])));
        assert_eq!(frame.vlan.unwrap().priority.get(), 3);
        let Contents::Ipv4(datagram) = &frame.contents else { panic!() };
        assert_eq!(datagram.header().ecn.value(), 2);
        assert_eq!(datagram.transport().ports(), Some((49_155, 9)));
        for bytes in 64..300 {
            made(Simulated { bytes, ..FRAME }, usize::from(bytes) - 4);
            made(Simulated { bytes, kind: Kind::Data, ..FRAME }, usize::from(bytes) - 4);
        }
    }

    #[test]
    fn fibre_channel_has_its_encapsulation() {
        let fcoe = Simulated { kind: Kind::Data, payload: Payload::FibreChannel, word: 0x0207_0003, ..FRAME };
        for bytes in [68, 100, 2_180] {
            let octets = made(Simulated { bytes, ..fcoe }, usize::from(bytes) - 4).to_bytes();
            assert_eq!(octets[12..18], [0x81, 0, 0x60, 0, 0x89, 0x06]);
            // Version, start of frame, and header; CRC and end of frame after the data.
            assert_eq!((octets[18], octets[31], &octets[46..50]), (0, 0x36, &[0, 3, 2, 7][..]));
            let (fc, rest) = octets[32..].split_at(octets.len() - 32 - 8);
            assert_eq!(fc.len(), 24 + usize::from(bytes) - 68);
            assert_eq!(rest, [&crc32fast::hash(fc).to_le_bytes()[..], &[0x41, 0, 0, 0]].concat());
        }
    }

    #[test]
    fn a_cn_tag_is_behind_the_other_and_makes_no_frame_longer_than_it_was() {
        let frame = made(Simulated { cn_tag: Some(7), ..FRAME }, 1_518);
        let octets = frame.to_bytes();
        assert_eq!(octets[12..22], [0x81, 0, 0x60, 0, 0x22, 0xE9, 0, 7, 8, 0]);
        for bytes in 68..300 {
            made(Simulated { bytes, cn_tag: Some(0), ..FRAME }, usize::from(bytes) - 4);
        }
    }

    #[test]
    fn a_message_repeats_what_was_sampled() {
        let notification = Notification {
            congestion_point: 0x0200_0000_0009_000B,
            offset: -1_000,
            delta: 17,
            kind: Kind::Pushed,
            priority: FRAME.priority,
            bytes: 1_522,
            word: 0,
            octets: 64,
        };
        let back = Ports { source: FRAME.ports.destination, destination: FRAME.ports.source };
        let (source, destination) = (FRAME.destination, FRAME.source);
        let message = Simulated { kind: Kind::Cnm, word: 31, ports: back, source, destination, ..FRAME };
        for cn_tag in [None, Some(5)] {
            let tag = if cn_tag.is_some() { 4 } else { 0 };
            let bytes = 18 + tag + 24 + 64;
            let frame = made(
                Simulated { bytes: bytes as u16, cn_tag, notification: Some(notification), ..message },
                bytes,
            );
            assert_eq!(
                (frame.source, frame.destination),
                (Mac([2, 0, 0, 0, 0, 9]), mac(FRAME.source).unwrap())
            );
            let Contents::Cnm(cnm) = &frame.contents else { panic!() };
            assert_eq!((cnm.feedback(), cnm.offset, cnm.delta), (31, -1_000, 17));
            let sampled = Simulated { cn_tag, ..FRAME }.frame().unwrap().to_bytes();
            assert_eq!(cnm.msdu(), &sampled[16 + tag..][..64]);
        }
        let few = Simulated { notification: Some(Notification { octets: 8, ..notification }), ..message };
        let Contents::Cnm(cnm) = few.frame().unwrap().contents else { panic!() };
        assert_eq!(cnm.msdu().len(), 8);
    }

    #[test]
    fn the_port_of_roce_makes_a_packet_of_it() {
        let ports = Ports { source: 51_000, destination: 4_791 };
        let frame = made(Simulated { ports, ..FRAME }, 1_518);
        let Contents::Ipv4(datagram) = &frame.contents else { panic!() };
        assert_eq!(datagram.transport().ports(), Some((51_000, 4_791)));
        let Transport::Roce(_, packet) = datagram.transport() else { panic!("{frame:?}") };
        assert_eq!((packet.opcode, packet.queue_pair()), (roce::SEND[3], 3));
    }

    #[test]
    fn a_write_and_the_request_of_a_read_say_their_length() {
        let ports = Ports { source: 51_000, destination: 4_791 };
        let of = |kind, verb, bytes, word| {
            let payload = Payload::Message(verb, bytes);
            let frame = Simulated { kind, payload, ports, bytes: 200, word, ..FRAME }.frame().unwrap();
            let Contents::Ipv4(datagram) = frame.contents else { panic!() };
            let Transport::Roce(_, packet) = datagram.transport().clone() else { panic!() };
            packet.payload
        };
        let length = Some(0x0102_0304);
        let write = of(Kind::Data, Verb::Write, length, FIRST_OR_RNR | 7);
        assert_eq!(write[..20], [&[0; 12][..], &[1, 2, 3, 4], &[0; 4]].concat());
        // Middle packets have no such header; an unknown length is encoded as zero.
        assert!(of(Kind::Data, Verb::Write, length, 8).iter().all(|&octet| octet == 0));
        assert!(of(Kind::Data, Verb::Write, None, FIRST_OR_RNR).iter().all(|&octet| octet == 0));
        assert_eq!(of(Kind::Ack, Verb::Read, length, ASKS | 9), [&[0; 12][..], &[1, 2, 3, 4]].concat());
    }

    #[test]
    fn connections_go_both_ways() {
        let data = made(Simulated { kind: Kind::Data, word: 77, ..FRAME }, 1_518);
        let ahead = Simulated { bytes: 64, word: 78, ..FRAME };
        let ports = Ports { source: 9, destination: 49_155 };
        let back = Simulated { ports, source: 258, destination: 0, ..ahead };
        let ack = made(Simulated { kind: Kind::MarkedAck, ..back }, 60);
        let answer = made(Simulated { kind: Kind::Data, ..back }, 60);
        let greeting = made(Simulated { kind: Kind::Ack, ..ahead }, 60);
        let headers = [data, ack, answer, greeting].map(|frame| {
            let Contents::Ipv4(datagram) = frame.contents else { panic!() };
            let Transport::Tcp(header, _) = datagram.transport().clone() else { panic!() };
            header
        });
        let [data, ack, answer, _] = &headers;
        assert_eq!((data.sequence_number, ack.acknowledgment_number, ack.ece), (77, 78, true));
        assert_eq!(answer.sequence_number, 78);
        let ports = headers.map(|header| (header.source_port, header.destination_port));
        assert_eq!(ports, [(49_155, 9), (9, 49_155), (9, 49_155), (49_155, 9)]);
    }

    #[test]
    fn pauses() {
        let pause = Simulated { word: 0xFFFF_0008, bytes: 64, ..FRAME };
        let pfc = made(Simulated { kind: Kind::Pfc, ..pause }, 60);
        assert_eq!(pfc.contents.to_string(), "PFC, 3 65535 quanta");
        let both = made(Simulated { kind: Kind::Pfc, word: 0x0064_1008, ..pause }, 60);
        assert_eq!(both.contents.to_string(), "PFC, 3 100 quanta, 4 continue");
        let times =
            Simulated { kind: Kind::Pfc, word: 0x0064_1008, ..pause }.with_times([0x0007_0041]).unwrap();
        assert_eq!(times.contents.to_string(), "PFC, 0 7 quanta, 3 100 quanta, 4 continue, 6 7 quanta");
        let link = made(Simulated { kind: Kind::Pause, ..pause }, 60);
        assert_eq!(link.contents.to_string(), "PAUSE, 65535 quanta");
        let link = made(Simulated { kind: Kind::Pause, word: 0xFFFF_0100, ..pause }, 60);
        assert_eq!(link.contents.to_string(), "PAUSE, continue");
    }

    #[test]
    fn messages() {
        let small = Simulated { bytes: 64, word: 37, ..FRAME };
        assert!(
            made(Simulated { kind: Kind::Cnm, ..small }, 60)
                .contents
                .to_string()
                .starts_with("CNM, feedback 37")
        );
        let other = made(Simulated { kind: Kind::Cnm, word: 64, ..small }, 60);
        assert!(other.contents.to_string().starts_with("CNM, feedback 0"));
        let tag = made(Simulated { kind: Kind::Tag, ..small }, 60);
        assert_eq!(tag.contents.to_string(), "FECN forward, queue 3, 37 kb/s");
        // Longer than the simulated frame, because the RoCEv2 headers take 78 octets.
        made(Simulated { kind: Kind::Cnp, ..small }, 78);
    }

    #[test]
    fn code_points() {
        let expedited = Simulated { dscp: 46, ecn: 1, ..FRAME };
        for kind in [Kind::Pushed, Kind::Data, Kind::Ack] {
            let frame = made(Simulated { kind, bytes: 100, ..expedited }, 96);
            let Contents::Ipv4(packet) = &frame.contents else { panic!("{kind:?}") };
            assert_eq!((packet.header().dscp.value(), packet.header().ecn.value()), (46, 1));
            assert!(frame.contents.to_string().ends_with(", DSCP 46"));
        }
        assert!(!made(Simulated { bytes: 100, ..FRAME }, 96).contents.to_string().contains("DSCP"));
    }

    #[test]
    fn stations_beyond_the_addresses() {
        assert!(mac(STATIONS - 1).is_ok());
        assert!(Simulated { source: STATIONS, ..FRAME }.frame().is_err());
    }

    #[test]
    fn queue_pairs_send_packets_and_acknowledgements() {
        let ports = Ports { source: 49_155, destination: roce::UDP_PORT };
        let transport = |frame: &Frame| match &frame.contents {
            Contents::Ipv4(packet) => match packet.transport() {
                Transport::Roce(_, packet) => packet.clone(),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        };
        let data =
            Simulated { kind: Kind::Data, ports, bytes: 1_090, word: 77 | LAST_OR_NAK | ASKS, ..FRAME };
        let packet = transport(&made(data, 1_086));
        assert_eq!((packet.opcode, packet.sequence(), packet.acknowledge), (roce::SEND[2], 77, true));
        assert_eq!(packet.payload.len(), 1_024);
        let middle = transport(&made(Simulated { word: 5, ..data }, 1_086));
        assert_eq!((middle.opcode, middle.acknowledge, middle.queue_pair()), (roce::SEND[1], false, 3));
        let back = Ports { source: roce::UDP_PORT, destination: 49_155 };
        let refused = 9 | LAST_OR_NAK | FIRST_OR_RNR;
        let known = [(9, ACK_SYNDROME), (9 | LAST_OR_NAK, NAK_SYNDROME), (refused, RNR_SYNDROME)];
        for (word, syndrome) in known {
            let ack = Simulated { kind: Kind::Ack, ports: back, bytes: 70, word, ecn: 0, ..FRAME };
            let packet = transport(&made(ack, 66));
            let notification = (packet.opcode, packet.sequence(), packet.payload[0]);
            assert_eq!(notification, (roce::ACKNOWLEDGE, 9, syndrome));
        }
        let ask = Simulated { kind: Kind::Ack, ports: back, bytes: 82, word: 9 | ASKS, ..FRAME };
        let packet = transport(&made(ask, 78));
        assert_eq!((packet.opcode, packet.payload.len()), (0x0C, 16));
        assert_eq!(packet.to_string(), "RoCEv2 READ request for 0 B to queue pair 3, packet 9");
        // A NAK from the responder, which misses a request.
        let back = Simulated { kind: Kind::Ack, bytes: 70, word: 9 | LAST_OR_NAK, ..data };
        let notification = transport(&made(back, 66)).to_string();
        assert_eq!(notification, "RoCEv2 NAK, out of sequence, to queue pair 3, packet 9");
        // First, middle, last, only.
        let places = [FIRST_OR_RNR, 0, LAST_OR_NAK, FIRST_OR_RNR | LAST_OR_NAK];
        for (verb, opcodes) in [
            (Verb::Send, [0x00, 0x01, 0x02, 0x04]),
            (Verb::Write, [0x06, 0x07, 0x08, 0x0A]),
            (Verb::Read, [0x0D, 0x0E, 0x0F, 0x10]),
            (Verb::WriteWithImmediate, [0x06, 0x07, 0x09, 0x0B]),
            (Verb::ReadRequest, [0x0C; 4]),
        ] {
            let payload = Payload::Message(verb, None);
            let packets = places.map(|word| transport(&made(Simulated { word, payload, ..data }, 1_086)));
            assert_eq!(packets.each_ref().map(|packet| packet.opcode), opcodes);
            let read = verb == Verb::Read;
            assert_eq!(packets[0].payload[0], if read { ACK_SYNDROME } else { 0 });
            // Data from the other end of a connection is sent to the same port.
            let back = Ports { source: roce::UDP_PORT, destination: 49_155 };
            let far =
                places.map(|word| transport(&made(Simulated { word, payload, ports: back, ..data }, 1_086)));
            assert_eq!(far.map(|packet| packet.opcode), opcodes);
            // Immediate data is not a syndrome.
            assert_eq!(packets[2].payload[0], if read { ACK_SYNDROME } else { 0 });
        }
    }
}
