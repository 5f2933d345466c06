//! Ultra Ethernet Transport (UET): headers of the packet delivery sublayer (PDS) on UDP port 4793.
//!
//! Source: Ultra Ethernet Specification 1.0, section 3.5; field tables agree between the reference provider
//! (`uet_pkt_hdr.h`), XDP2 (`uet_pds.h`) and the dissector of Wireshark. UDP port 49150, which an early provider uses,
//! is accepted when parsing.
//!
//! Not modelled: headers of the semantic sublayer, which are part of the payload; TSS (security); native UET over IP
//! without UDP.

mod encoding;
mod words;

use crate::Error;
use crate::view::{Field, view};
use serde::Serialize;

/// UDP port of UET.
pub const UDP_PORT: u16 = 4793;
/// UDP port of an early reference provider.
pub const EARLY_UDP_PORT: u16 = 49_150;

/// Flag of a request or an ACK: the packet, or the one that triggered it, is a retransmission.
pub const RETRANSMITTED: u8 = 0x10;
/// Flag of a request: an acknowledgement is requested.
pub const ACK_REQUEST: u8 = 0x08;
/// Flag of a request: its context is being established.
pub const SYN: u8 = 0x04;
/// Flag of an ACK: the packet that triggered it was CE-marked.
pub const MARKED: u8 = 0x20;
/// Flag of an ACK: it answers a probe.
pub const PROBE: u8 = 0x08;

/// Length of the SES header of a standard request, in octets.
pub const SES_REQUEST_BYTES: usize = 44;
/// Length of the SES header of a response, in octets.
pub const SES_RESPONSE_BYTES: usize = 12;

const RUD: u8 = 2;
const ROD: u8 = 3;
const RUDI: u8 = 4;
const RUDI_RESPONSE: u8 = 5;
const UUD: u8 = 6;
const ACK: u8 = 7;
const ACK_CC: u8 = 8;
const ACK_CCX: u8 = 9;
const NACK: u8 = 10;
const CONTROL: u8 = 11;
const NACK_CCX: u8 = 12;
const RUD_CC: u8 = 13;
const ROD_CC: u8 = 14;

view! {
    /// The first two octets of each packet.
    PrologueView("a UET packet", 2) {
        /// `type(5) next header or control type(4) flags(7)`.
        bits: u16 = 0,
    }
}

view! {
    /// A request in RUD or ROD.
    RequestView("a UET request", 12) {
        /// Offset from `psn` of the PSN up to which the peer may discard its state.
        clear_offset: i16 = 2,
        /// Packet sequence number.
        psn: u32 = 4,
        /// PDCID of the source.
        source: u16 = 8,
        /// PDCID of the destination; in a SYN `info(4) psn offset(12)`.
        destination: u16 = 10,
    }
}

view! {
    /// A request with congestion control.
    CreditRequestView("a UET request with congestion control", 16) {
        /// `congestion control context(8) credit target(24)`.
        congestion: u32 = 12,
    }
}

view! {
    /// A request without a packet delivery context (RUDI), or its response.
    IdempotentView("a RUDI packet", 8) {
        /// Packet identifier.
        id: u32 = 4,
    }
}

view! {
    /// A request without acknowledgement (UUD).
    DatagramView("a UUD packet", 4) {}
}

view! {
    /// An acknowledgement.
    AckView("a UET acknowledgement", 12) {
        /// Offset of the acknowledged PSN from the cumulative one.
        offset: i16 = 2,
        /// Cumulative PSN.
        cumulative: u32 = 4,
        /// PDCID of the source.
        source: u16 = 8,
        /// PDCID of the destination.
        destination: u16 = 10,
    }
}

view! {
    /// An acknowledgement with congestion control state.
    AckCcView("a UET acknowledgement with congestion control", 32) {
        /// `type(4) flags(4)`.
        kind: u8 = 12,
        /// Maximum PSN range in units of 128.
        range: u8 = 13,
        /// Offset of the bitmap's first PSN from the cumulative one.
        sack_offset: i16 = 14,
        /// Bitmap of the PSNs that have been received.
        sack: u64 = 16,
        /// Congestion control state, by type.
        state: u64 = 24,
    }
}

view! {
    /// An acknowledgement with vendor-specific state.
    AckCcxView("a UET acknowledgement with state of a vendor", 40) {
        /// Vendor-specific state.
        vendor: u64 = 32,
    }
}

view! {
    /// A negative acknowledgement.
    NackView("a UET NACK", 16) {
        /// NACK code.
        code: u8 = 2,
        /// Vendor-specific code.
        vendor: u8 = 3,
        /// PSN that the NACK reports.
        psn: u32 = 4,
        /// PDCID of the source.
        source: u16 = 8,
        /// PDCID of the destination.
        destination: u16 = 10,
        /// Additional value, by code.
        value: u32 = 12,
    }
}

view! {
    /// A negative acknowledgement with congestion control state.
    NackCcxView("a UET NACK with congestion control", 32) {
        /// Type, flags and state.
        state: [u8; 16] = 16,
    }
}

view! {
    /// A control packet.
    ControlView("a UET control packet", 16) {
        /// Value that the reply to a probe repeats.
        opaque: u16 = 2,
        /// PSN.
        psn: u32 = 4,
        /// PDCID of the source.
        source: u16 = 8,
        /// PDCID of the destination.
        destination: u16 = 10,
        /// Additional value, by type.
        value: u32 = 12,
    }
}

/// Packet delivery context identifiers (PDCIDs) of source and destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Contexts {
    /// PDCID assigned by the sender of the packet.
    pub source: u16,
    /// PDCID assigned by the receiver of the packet.
    pub destination: u16,
}

/// Congestion control state of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// State of NSCC (type 0).
    Nscc {
        /// Service time of the receiver.
        service_time: u16,
        /// True if the sender should restore its window.
        restore: bool,
        /// Penalty on the window, 0 to 127.
        penalty: u8,
        /// Bytes received, in units of 256 B, 24 bits.
        received: u32,
        /// Number of out-of-order packets.
        out_of_order: u16,
    },
    /// State of RCCC (type 1).
    Credit {
        /// Credit in units of 256 B, 24 bits.
        credit: u32,
        /// Number of out-of-order packets.
        out_of_order: u16,
    },
    /// State of another type.
    Other {
        /// Type, 2 to 15.
        kind: u8,
        /// Encoded state.
        state: u64,
    },
}

impl State {
    fn decode(kind: u8, state: u64) -> State {
        match kind {
            0 => State::Nscc {
                service_time: (state >> 48) as u16,
                restore: state >> 47 & 1 == 1,
                penalty: (state >> 40) as u8 & 0x7F,
                received: (state >> 16) as u32 & 0xFF_FFFF,
                out_of_order: state as u16,
            },
            1 => State::Credit { credit: (state >> 40) as u32, out_of_order: state as u16 },
            kind => State::Other { kind, state },
        }
    }
    /// Returns the type and the encoded state.
    fn bits(self) -> (u8, u64) {
        match self {
            State::Nscc { service_time, restore, penalty, received, out_of_order } => (
                0,
                u64::from(service_time) << 48
                    | u64::from(restore) << 47
                    | u64::from(penalty & 0x7F) << 40
                    | u64::from(received & 0xFF_FFFF) << 16
                    | u64::from(out_of_order),
            ),
            State::Credit { credit, out_of_order } => {
                (1, u64::from(credit & 0xFF_FFFF) << 40 | u64::from(out_of_order))
            }
            State::Other { kind, state } => (kind & 15, state),
        }
    }
}

/// Congestion control part of an acknowledgement (ACK_CC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Congestion {
    /// Flags, 4 bits.
    pub flags: u8,
    /// Maximum PSN range in units of 128.
    pub range: u8,
    /// Offset of the bitmap's first PSN from the cumulative one.
    pub sack_offset: i16,
    /// Bitmap of the PSNs that have been received.
    pub sack: u64,
    /// State, by type.
    pub state: State,
    /// Vendor-specific state (ACK_CCX).
    pub vendor: Option<u64>,
}

/// Header of the packet delivery sublayer, by its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Header {
    /// Request in a packet delivery context.
    Request {
        /// True for ordered delivery (ROD), false for unordered (RUD).
        ordered: bool,
        /// Offset from `psn` of the PSN up to which the peer may discard its state.
        clear_offset: i16,
        /// Packet sequence number.
        psn: u32,
        /// PDCIDs.
        contexts: Contexts,
        /// Congestion control context (8 bits), and credit target in units of 256 B (24 bits); `None` for the short
        /// form.
        congestion: Option<u32>,
    },
    /// Request without a packet delivery context, or the response to one (RUDI).
    Idempotent {
        /// True for a response.
        response: bool,
        /// Packet identifier.
        id: u32,
    },
    /// Request without acknowledgement (UUD).
    Datagram,
    /// Acknowledgement.
    Ack {
        /// Offset of the acknowledged PSN from the cumulative one, or the value of a probe.
        offset: i16,
        /// Cumulative PSN.
        cumulative: u32,
        /// PDCIDs.
        contexts: Contexts,
        /// Congestion control part; `None` for the short form.
        congestion: Option<Congestion>,
    },
    /// Negative acknowledgement.
    Nack {
        /// NACK code.
        code: u8,
        /// Vendor-specific code.
        vendor: u8,
        /// PSN that the NACK reports.
        psn: u32,
        /// PDCIDs.
        contexts: Contexts,
        /// Additional value, by code.
        value: u32,
        /// Congestion control part; `None` for the short form.
        state: Option<[u8; 16]>,
    },
    /// Control packet.
    Control {
        /// Value that the reply to a probe repeats.
        opaque: u16,
        /// PSN.
        psn: u32,
        /// PDCIDs.
        contexts: Contexts,
        /// Additional value, by type.
        value: u32,
    },
}

/// A packet, after its UDP header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Uet {
    /// Type of the next header, 4 bits; in a control packet, the control type.
    pub next: u8,
    /// Flags, 7 bits.
    pub flags: u8,
    /// Header.
    pub header: Header,
    /// Semantic sublayer header and data.
    pub payload: Vec<u8>,
}

impl Uet {
    /// Creates a packet without flags.
    pub fn new(header: Header, payload: Vec<u8>) -> Uet {
        Uet { next: 0, flags: 0, header, payload }
    }

    /// Reads the octets after the UDP header.
    pub fn decode(bytes: &[u8]) -> Result<Uet, Error> {
        let bits = PrologueView::new(bytes)?.bits();
        let (kind, next, flags) = ((bits >> 11) as u8, (bits >> 7) as u8 & 15, bits as u8 & 0x7F);
        let (header, rest) = Header::decode(kind, bytes)?;
        Ok(Uet { next, flags, header, payload: rest.to_vec() })
    }

    /// Returns the length of the packet after the UDP header, in octets.
    pub fn bytes(&self) -> usize {
        self.header.kind().1 + self.payload.len()
    }

    /// Appends the octets after the UDP header.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let kind = u16::from(self.header.kind().0);
        (kind << 11 | u16::from(self.next & 15) << 7 | u16::from(self.flags & 0x7F)).put(out);
        self.header.encode(out);
        out.extend_from_slice(&self.payload);
    }
}

impl Header {
    /// Returns the type, and the length of the header in octets.
    fn kind(&self) -> (u8, usize) {
        match self {
            Header::Request { ordered, congestion: None, .. } => (if *ordered { ROD } else { RUD }, 12),
            Header::Request { ordered, .. } => (if *ordered { ROD_CC } else { RUD_CC }, 16),
            Header::Idempotent { response, .. } => (if *response { RUDI_RESPONSE } else { RUDI }, 8),
            Header::Datagram => (UUD, 4),
            Header::Ack { congestion: None, .. } => (ACK, 12),
            Header::Ack { congestion: Some(Congestion { vendor: None, .. }), .. } => (ACK_CC, 32),
            Header::Ack { .. } => (ACK_CCX, 40),
            Header::Nack { state: None, .. } => (NACK, 16),
            Header::Nack { .. } => (NACK_CCX, 32),
            Header::Control { .. } => (CONTROL, 16),
        }
    }

    fn decode(kind: u8, bytes: &[u8]) -> Result<(Header, &[u8]), Error> {
        match kind {
            RUD | ROD | RUD_CC | ROD_CC => Header::decode_request(kind, bytes),
            RUDI | RUDI_RESPONSE => {
                let view = IdempotentView::new(bytes)?;
                Ok((Header::Idempotent { response: kind == RUDI_RESPONSE, id: view.id() }, view.rest()))
            }
            UUD => Ok((Header::Datagram, DatagramView::new(bytes)?.rest())),
            ACK | ACK_CC | ACK_CCX => Header::decode_ack(kind, bytes),
            NACK | NACK_CCX => {
                let view = NackView::new(bytes)?;
                let long = (kind == NACK_CCX).then(|| NackCcxView::new(bytes)).transpose()?;
                let header = Header::Nack {
                    code: view.code(),
                    vendor: view.vendor(),
                    psn: view.psn(),
                    contexts: Contexts { source: view.source(), destination: view.destination() },
                    value: view.value(),
                    state: long.map(|long| long.state()),
                };
                Ok((header, long.map_or(view.rest(), |long| long.rest())))
            }
            CONTROL => {
                let view = ControlView::new(bytes)?;
                let header = Header::Control {
                    opaque: view.opaque(),
                    psn: view.psn(),
                    contexts: Contexts { source: view.source(), destination: view.destination() },
                    value: view.value(),
                };
                Ok((header, view.rest()))
            }
            other => {
                Err(Error::Value { what: "the type of a UET packet", accepted: "2 to 14", got: other.into() })
            }
        }
    }

    fn decode_request(kind: u8, bytes: &[u8]) -> Result<(Header, &[u8]), Error> {
        let view = RequestView::new(bytes)?;
        let long = matches!(kind, RUD_CC | ROD_CC).then(|| CreditRequestView::new(bytes)).transpose()?;
        let header = Header::Request {
            ordered: matches!(kind, ROD | ROD_CC),
            clear_offset: view.clear_offset(),
            psn: view.psn(),
            contexts: Contexts { source: view.source(), destination: view.destination() },
            congestion: long.map(|long| long.congestion()),
        };
        Ok((header, long.map_or(view.rest(), |long| long.rest())))
    }

    fn decode_ack(kind: u8, bytes: &[u8]) -> Result<(Header, &[u8]), Error> {
        let view = AckView::new(bytes)?;
        let (mut congestion, mut rest) = (None, view.rest());
        if kind != ACK {
            let long = AckCcView::new(bytes)?;
            let vendor = (kind == ACK_CCX).then(|| AckCcxView::new(bytes)).transpose()?;
            rest = vendor.map_or(long.rest(), |vendor| vendor.rest());
            congestion = Some(Congestion {
                flags: long.kind() & 15,
                range: long.range(),
                sack_offset: long.sack_offset(),
                sack: long.sack(),
                state: State::decode(long.kind() >> 4, long.state()),
                vendor: vendor.map(|vendor| vendor.vendor()),
            });
        }
        let header = Header::Ack {
            offset: view.offset(),
            cumulative: view.cumulative(),
            contexts: Contexts { source: view.source(), destination: view.destination() },
            congestion,
        };
        Ok((header, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CONTEXTS: Contexts = Contexts { source: 0x0102, destination: 0x0304 };

    /// Returns requests, and their octets by the field tables.
    fn requests() -> Vec<(Uet, &'static str)> {
        let request = Header::Request {
            ordered: false,
            clear_offset: -1,
            psn: 0x0A0B_0C0D,
            contexts: CONTEXTS,
            congestion: None,
        };
        vec![
            // 00010 0001 0011000: RUD, next header 1, retransmission, acknowledgement requested.
            (
                Uet { next: 1, flags: RETRANSMITTED | ACK_REQUEST, ..Uet::new(request, vec![0xAA]) },
                "1098 ffff 0a0b0c0d 0102 0304 aa",
            ),
            (
                Uet::new(
                    Header::Request {
                        ordered: true,
                        clear_offset: 0,
                        psn: 9,
                        contexts: CONTEXTS,
                        congestion: Some(0x0500_1000),
                    },
                    vec![],
                ),
                "7000 0000 00000009 0102 0304 05001000",
            ),
            (Uet::new(Header::Idempotent { response: false, id: 77 }, vec![]), "2000 0000 0000004d"),
            (Uet::new(Header::Idempotent { response: true, id: 77 }, vec![]), "2800 0000 0000004d"),
            (Uet::new(Header::Datagram, vec![1, 2]), "3000 0000 0102"),
        ]
    }

    /// Returns ACKs, NACKs and control packets, and their octets by the field tables.
    fn answers() -> Vec<(Uet, &'static str)> {
        let congestion = Congestion {
            flags: 0,
            range: 128,
            sack_offset: 1,
            sack: 0x8000_0000_0000_0001,
            state: State::Nscc {
                service_time: 5,
                restore: true,
                penalty: 64,
                received: 0x01_0203,
                out_of_order: 7,
            },
            vendor: None,
        };
        let ack = Header::Ack {
            offset: 2,
            cumulative: 0x0A0B_0C0D,
            contexts: CONTEXTS,
            congestion: Some(congestion),
        };
        let credit = State::Credit { credit: 0x0D_0E0F, out_of_order: 0x0809 };
        vec![
            (
                Uet { flags: MARKED, ..Uet::new(ack, vec![]) },
                "4020 0002 0a0b0c0d 0102 0304 00 80 0001 8000000000000001 0005 c0 010203 0007",
            ),
            (
                Uet::new(
                    Header::Ack {
                        offset: -2,
                        cumulative: 3,
                        contexts: CONTEXTS,
                        congestion: Some(Congestion { state: credit, vendor: Some(1), ..congestion }),
                    },
                    vec![],
                ),
                "4800 fffe 00000003 0102 0304 10 80 0001 8000000000000001 0d0e0f 00 0000 0809 0000000000000001",
            ),
            (
                Uet::new(
                    Header::Nack { code: 1, vendor: 0, psn: 8, contexts: CONTEXTS, value: 6, state: None },
                    vec![],
                ),
                "5000 01 00 00000008 0102 0304 00000006",
            ),
            (
                Uet {
                    next: 6,
                    ..Uet::new(
                        Header::Control { opaque: 0x1234, psn: 8, contexts: CONTEXTS, value: 0 },
                        vec![],
                    )
                },
                "5b00 1234 00000008 0102 0304 00000000",
            ),
        ]
    }

    fn octets(text: &str) -> Vec<u8> {
        let digits: Vec<char> = text.chars().filter(|digit| !digit.is_whitespace()).collect();
        let octet = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
        digits.chunks(2).map(octet).collect()
    }

    #[test]
    fn headers_are_those_of_the_field_tables() {
        for (packet, text) in requests().into_iter().chain(answers()) {
            let expected = octets(text);
            let mut out = Vec::new();
            packet.encode(&mut out);
            assert_eq!(out, expected, "{packet}");
            assert_eq!(out.len(), packet.bytes());
            assert_eq!(Uet::decode(&out).unwrap(), packet);
            // A packet that lacks any octet of the header is an error.
            let header = packet.header.kind().1;
            assert!((0..header).all(|len| Uet::decode(&out[..len]).is_err()), "{packet}");
        }
    }

    #[test]
    fn sizes_are_those_of_the_specification() {
        let sizes: Vec<usize> =
            requests().iter().chain(&answers()).map(|(packet, _)| packet.header.kind().1).collect();
        assert_eq!(sizes, [12, 16, 8, 8, 4, 32, 40, 16, 16]);
        // Ethernet, IPv4, UDP, UET request, SES request, FCS: the default headers of the transport.
        assert_eq!(14 + 20 + 8 + 12 + SES_REQUEST_BYTES + 4, 102);
        assert_eq!(14 + 20 + 8 + 32 + SES_RESPONSE_BYTES + 4, 90);
    }

    #[test]
    fn packets_in_words() {
        let words: Vec<String> =
            requests().iter().chain(&answers()).map(|(packet, _)| packet.to_string()).collect();
        assert_eq!(words[0], "UET RUD request to context 772, PSN 168496141, retransmitted, requests an ACK");
        assert_eq!(words[5], "UET ACK to context 772, cumulative PSN 168496141, of PSN 168496143, marked");
        assert_eq!(words[7], "UET NACK to context 772, PSN 8, trimmed");
        assert_eq!(words[8], "UET control (probe) to context 772, PSN 8");
    }

    #[test]
    fn unknown_types_are_refused() {
        for kind in [0u16, 1, 15, 31] {
            let bytes = [&(kind << 11).to_be_bytes()[..], &[0; 40]].concat();
            assert!(matches!(Uet::decode(&bytes), Err(Error::Value { .. })), "{kind}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_written(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(packet) = Uet::decode(&bytes) {
                let mut out = Vec::new();
                packet.encode(&mut out);
                prop_assert_eq!(out.len(), bytes.len());
                prop_assert_eq!(Uet::decode(&out).unwrap(), packet);
            }
        }
    }
}
