//! RoCEv2: packets with a base transport header (BTH) on UDP port 4791, including congestion notification packets
//! (CNPs).
//!
//! Source: InfiniBand Architecture Specification volume 1 section 9.2 (BTH), annex A17 (RoCEv2: invariant CRC, CNP).
//! Extended headers are part of the payload.

use crate::Error;
use crate::view::{Field, view};
use etherparse::{Ipv4Header, UdpHeader};
use serde::Serialize;
use std::fmt;

/// UDP port of RoCEv2.
pub const UDP_PORT: u16 = 4791;
/// Opcode of a congestion notification packet.
pub const CNP: u8 = 0x81;
/// Opcodes of SEND on a reliable connection, by position in the message: first, middle, last, only (section 9.2.1).
pub const SEND: [u8; 4] = [0x00, 0x01, 0x02, 0x04];
/// Opcodes of RDMA WRITE, in the order of [`SEND`].
pub const WRITE: [u8; 4] = [0x06, 0x07, 0x08, 0x0A];
/// Opcodes of RDMA READ responses, in the order of [`SEND`].
pub const READ_RESPONSE: [u8; 4] = [0x0D, 0x0E, 0x0F, 0x10];
/// Opcodes of RDMA WRITE with immediate data in the last packet, in the order of [`SEND`].
pub const WRITE_WITH_IMMEDIATE: [u8; 4] = [0x06, 0x07, 0x09, 0x0B];
/// Opcode of an RDMA READ request.
pub const READ_REQUEST: u8 = 0x0C;
/// Opcode of an acknowledgement or NAK.
pub const ACKNOWLEDGE: u8 = 0x11;
/// Length of the RDMA extended transport header (RETH) in the first packet of a WRITE and in a READ request: address,
/// key, length (section 9.3.3).
pub const RETH_BYTES: usize = 16;
/// Length of the ACK extended transport header (AETH) in acknowledgements and in READ responses except middle ones
/// (section 9.3.5).
pub const AETH_BYTES: usize = 4;
/// Length of immediate data, after the other extended headers of a message's last packet (section 9.3.7).
pub const IMMDT_BYTES: usize = 4;
const ICRC_BYTES: usize = 4;
/// Payload of a CNP, which is reserved.
const CNP_PAYLOAD: [u8; 16] = [0; 16];

view! {
    /// View of the octets after the UDP header.
    BthView("a base transport header", 12) {
        /// Opcode: transport and operation.
        opcode: u8 = 0,
        /// `SE(1) M(1) PadCnt(2) TVer(4)`.
        bits: u8 = 1,
        /// Partition key.
        partition: u16 = 2,
        /// `FECN(1) BECN(1) reserved(6)`, and the destination queue pair in 24 bits.
        queue_pair: u32 = 4,
        /// `AckReq(1) reserved(7)`, and the packet sequence number in 24 bits.
        sequence: u32 = 8,
    }
}

/// A packet, after its UDP header. Excludes the invariant CRC, which follows from the contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Roce {
    /// Opcode: transport and operation.
    pub opcode: u8,
    /// Solicited event.
    pub solicited: bool,
    /// Migration state (MigReq).
    pub migrated: bool,
    pad: u8,
    /// Partition key.
    pub partition: u16,
    /// Forward explicit congestion notification (FECN).
    pub forward_congestion: bool,
    /// Backward explicit congestion notification (BECN), set in a CNP.
    pub backward_congestion: bool,
    queue_pair: u32,
    /// True if an acknowledgement is requested.
    pub acknowledge: bool,
    sequence: u32,
    /// Octets after the BTH.
    pub payload: Vec<u8>,
}

fn of_24_bits(what: &'static str, value: u32) -> Result<u32, Error> {
    let wrong = Error::Value { what, accepted: "0 to 16777215", got: value.into() };
    if value >> 24 == 0 { Ok(value) } else { Err(wrong) }
}

impl Roce {
    /// Creates a packet in the default partition. The queue pair and the sequence number have 24 bits each.
    pub fn new(opcode: u8, queue_pair: u32, sequence: u32, payload: Vec<u8>) -> Result<Roce, Error> {
        Ok(Roce {
            opcode,
            solicited: false,
            migrated: false,
            pad: 0,
            partition: 0xFFFF,
            forward_congestion: false,
            backward_congestion: false,
            queue_pair: of_24_bits("a queue pair", queue_pair)?,
            acknowledge: false,
            sequence: of_24_bits("a packet sequence number", sequence)?,
            payload,
        })
    }

    /// Creates a congestion notification packet to a queue pair.
    pub fn cnp(queue_pair: u32) -> Result<Roce, Error> {
        let packet = Roce::new(CNP, queue_pair, 0, CNP_PAYLOAD.to_vec())?;
        Ok(Roce { backward_congestion: true, ..packet })
    }

    /// Returns the destination queue pair.
    pub fn queue_pair(&self) -> u32 {
        self.queue_pair
    }
    /// Returns the packet sequence number.
    pub fn sequence(&self) -> u32 {
        self.sequence
    }

    /// Parses the octets after the UDP header. The invariant CRC covers the IP and UDP headers.
    pub fn decode(ip: &Ipv4Header, udp: &UdpHeader, bytes: &[u8]) -> Result<Roce, Error> {
        let Some((covered, crc)) =
            bytes.split_last_chunk::<ICRC_BYTES>().filter(|(covered, _)| covered.len() >= BthView::BYTES)
        else {
            BthView::new(bytes)?;
            return Err(Error::Short {
                what: "a RoCEv2 packet",
                needed: BthView::BYTES + ICRC_BYTES,
                got: bytes.len(),
            });
        };
        let packet = Roce::decode_cut(covered)?;
        let (got, expected) = (u32::from_le_bytes(*crc), invariant_crc(ip, udp, covered));
        if got != expected {
            return Err(Error::Checksum { what: "the invariant CRC", expected, got });
        }
        Ok(packet)
    }

    /// Parses the BTH of a truncated packet; the payload is everything after it.
    pub fn decode_cut(bytes: &[u8]) -> Result<Roce, Error> {
        let view = BthView::new(bytes)?;
        let version = view.bits() & 15;
        if version != 0 {
            return Err(Error::Value { what: "the version of a BTH", accepted: "0", got: version.into() });
        }
        let payload = bytes[BthView::BYTES..].to_vec();
        let packet =
            Roce::new(view.opcode(), view.queue_pair() & 0xFF_FFFF, view.sequence() & 0xFF_FFFF, payload)?;
        Ok(Roce {
            solicited: view.bits() >> 7 == 1,
            migrated: view.bits() >> 6 & 1 == 1,
            pad: view.bits() >> 4 & 3,
            partition: view.partition(),
            forward_congestion: view.queue_pair() >> 31 == 1,
            backward_congestion: view.queue_pair() >> 30 & 1 == 1,
            acknowledge: view.sequence() >> 31 == 1,
            ..packet
        })
    }

    /// Returns the name of the operation, for a reliable connection; `None` for opcodes without a name here.
    fn operation(&self) -> Option<String> {
        let places = ["first", "middle", "last", "only"];
        let of = |opcodes: [u8; 4]| {
            let place = opcodes.iter().position(|&opcode| opcode == self.opcode)?;
            places.get(place).copied()
        };
        let length = || match self.payload.get(12..RETH_BYTES) {
            Some(&[a, b, c, d]) => format!(" for {} B", u32::from_be_bytes([a, b, c, d])),
            _ => String::new(),
        };
        if let Some(place) = of(SEND) {
            return Some(format!("SEND {place}"));
        }
        if let Some(place) = of(WRITE) {
            let begins = place == "first" || place == "only";
            return Some(format!("WRITE {place}{}", if begins { length() } else { String::new() }));
        }
        if let Some(place) = of(WRITE_WITH_IMMEDIATE) {
            return Some(format!(
                "WRITE with immediate {place}{}",
                if place == "only" { length() } else { String::new() }
            ));
        }
        if let Some(place) = of(READ_RESPONSE) {
            return Some(format!("READ response {place}"));
        }
        match self.opcode {
            READ_REQUEST => Some(format!("READ request{}", length())),
            ACKNOWLEDGE => Some(match self.payload.first().map(|syndrome| syndrome >> 5) {
                Some(0b000) | None => "ACK".into(),
                Some(0b001) => "NAK, receiver not ready,".into(),
                Some(0b011) if self.payload[0] & 31 == 0 => "NAK, out of sequence,".into(),
                Some(_) => format!("NAK {:#04x}", self.payload[0]),
            }),
            _ => None,
        }
    }

    /// Returns the length of the packet after the UDP header, in octets.
    pub fn bytes(&self) -> usize {
        BthView::BYTES + self.payload.len() + ICRC_BYTES
    }

    /// Appends the octets after the UDP header. The invariant CRC covers the IP and UDP headers.
    pub fn encode(&self, ip: &Ipv4Header, udp: &UdpHeader, out: &mut Vec<u8>) {
        let at = out.len();
        let bits = u8::from(self.solicited) << 7 | u8::from(self.migrated) << 6 | self.pad << 4;
        [self.opcode, bits].put(out);
        self.partition.put(out);
        let marks = u32::from(self.forward_congestion) << 31 | u32::from(self.backward_congestion) << 30;
        (marks | self.queue_pair).put(out);
        (u32::from(self.acknowledge) << 31 | self.sequence).put(out);
        out.extend_from_slice(&self.payload);
        let crc = invariant_crc(ip, udp, &out[at..]);
        out.extend_from_slice(&crc.to_le_bytes());
    }
}

/// Computes the CRC of Ethernet over the packet, with ones in place of the fields that a switch or router may change.
fn invariant_crc(ip: &Ipv4Header, udp: &UdpHeader, packet: &[u8]) -> u32 {
    let mut header = ip.to_bytes();
    header[1] = 0xFF;
    header[8] = 0xFF;
    header[10..12].fill(0xFF);
    let mut ports = udp.to_bytes();
    ports[6..].fill(0xFF);
    let mut crc = crc32fast::Hasher::new();
    crc.update(&[0xFF; 8]);
    crc.update(&header);
    crc.update(&ports);
    crc.update(&packet[..4]);
    crc.update(&[0xFF]);
    crc.update(&packet[5..]);
    crc.finalize()
}

impl fmt::Display for Roce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.opcode {
            CNP => write!(f, "RoCEv2 CNP to queue pair {}", self.queue_pair),
            opcode => {
                match self.operation() {
                    Some(operation) => write!(f, "RoCEv2 {operation}")?,
                    None => write!(f, "RoCEv2 opcode {opcode}")?,
                }
                write!(f, " to queue pair {}, packet {}", self.queue_pair, self.sequence)
            }
        }
    }
}
