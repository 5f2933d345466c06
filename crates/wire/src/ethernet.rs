//! Ethernet frames with their tags, and their contents.
//!
//! Source: IEEE 802.3 clause 3 (frame), IEEE 802.1Q clause 9 (VLAN tags), IEEE 802.1Qau (the CN-TAG with the type
//! 0x22E9). A frame has the octets that a capture contains: without preamble and FCS, and padded to 60 octets.

use crate::congestion::Cnm;
use crate::fecn::{self, Fecn};
use crate::ip::Datagram;
use crate::l2ci::{self, L2ci};
use crate::lldp::Lldpdu;
use crate::mac_control::MacControl;
use crate::view::{Field, view};
use crate::{Error, Mac, Pcp};
use serde::Serialize;
use std::fmt;

/// Minimum length of a frame without its FCS, in octets.
pub const LEAST: usize = 60;

/// EtherTypes.
pub mod ether_type {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// C-VLAN tag (C-TAG).
    pub const VLAN: u16 = 0x8100;
    /// S-VLAN tag of a service provider (S-TAG).
    pub const SERVICE_VLAN: u16 = 0x88A8;
    /// MAC Control.
    pub const MAC_CONTROL: u16 = 0x8808;
    /// LLDP.
    pub const LLDP: u16 = 0x88CC;
    /// Fibre Channel over Ethernet.
    pub const FCOE: u16 = 0x8906;
    /// Congestion notification message.
    pub const CNM: u16 = 0x22E7;
    /// Congestion notification tag.
    pub const CN_TAG: u16 = 0x22E9;
    /// Local experimental EtherType 1: rate discovery tags of FECN.
    pub const FECN: u16 = 0x88B5;
    /// Local experimental EtherType 2: L2CI messages.
    pub const L2CI: u16 = 0x88B6;
}

view! {
    /// The header of an Ethernet frame.
    EthernetView("an Ethernet header", 14) {
        /// Destination.
        destination: Mac = 0,
        /// Source.
        source: Mac = 6,
        /// Type of the contents.
        ether_type: u16 = 12,
    }
}

view! {
    /// View of a VLAN tag or a CN-TAG, after its EtherType.
    TagView("a tag", 4) {
        /// `PCP(3) DEI(1) VID(12)` in a VLAN tag, the flow number in a CN-TAG.
        control: u16 = 0,
        /// Type of the contents.
        ether_type: u16 = 2,
    }
}

/// A VLAN tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VlanTag {
    /// Priority.
    pub priority: Pcp,
    /// Drop eligible indicator (DEI): the frame may be dropped before others under congestion.
    pub drop_eligible: bool,
    vlan: u16,
}

impl VlanTag {
    /// Creates a tag with a VLAN ID from 0 to 4094; 0 for a priority tag.
    pub fn new(priority: Pcp, vlan: u16) -> Result<VlanTag, Error> {
        if vlan > 4094 {
            return Err(Error::Value { what: "a VLAN ID", accepted: "0 to 4094", got: vlan.into() });
        }
        Ok(VlanTag { priority, drop_eligible: false, vlan })
    }
    /// Returns the VLAN ID, 0 to 4094.
    pub fn vlan(&self) -> u16 {
        self.vlan
    }

    fn decode(control: u16) -> Result<VlanTag, Error> {
        let tag = VlanTag::new(Pcp::of_top_bits((control >> 8) as u8), control & 0xFFF)?;
        Ok(VlanTag { drop_eligible: control >> 12 & 1 == 1, ..tag })
    }

    fn encode(&self, kind: u16, out: &mut Vec<u8>) {
        kind.put(out);
        let high = u16::from(self.priority.top_bits() | u8::from(self.drop_eligible) << 4);
        (high << 8 | self.vlan).put(out);
    }
}

/// An Ethernet frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Frame {
    /// Destination.
    pub destination: Mac,
    /// Source.
    pub source: Mac,
    /// S-TAG of a service provider.
    pub service: Option<VlanTag>,
    /// VLAN tag (C-TAG).
    pub vlan: Option<VlanTag>,
    /// Flow number of the CN-TAG, assigned by the source.
    pub flow: Option<u16>,
    /// Contents of the frame.
    pub contents: Contents,
}

/// Contents of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Contents {
    /// A PAUSE or PFC frame.
    MacControl(MacControl),
    /// An LLDPDU.
    Lldp(Lldpdu),
    /// A congestion notification message.
    Cnm(Cnm),
    /// A rate discovery tag.
    Fecn(Fecn),
    /// A layer-2 congestion information message.
    L2ci(L2ci),
    /// An IPv4 datagram.
    Ipv4(Datagram),
    /// Any other contents.
    Other {
        /// EtherType, or the length if it is below 1536.
        ether_type: u16,
        /// Octets after the EtherType, including padding.
        payload: Vec<u8>,
    },
}

impl Frame {
    /// Creates a frame without tags.
    pub fn new(destination: Mac, source: Mac, contents: Contents) -> Frame {
        Frame { destination, source, service: None, vlan: None, flow: None, contents }
    }

    /// Creates a PAUSE or PFC frame from the port with this address.
    pub fn control(source: Mac, control: MacControl) -> Frame {
        Frame::new(Mac::CONTROL, source, Contents::MacControl(control))
    }

    /// Creates an LLDP frame from the port with this address to the nearest bridge.
    pub fn lldp(source: Mac, pdu: Lldpdu) -> Frame {
        Frame::new(Mac::NEAREST_BRIDGE, source, Contents::Lldp(pdu))
    }

    /// Parses a frame. Reserved bits are ignored.
    pub fn decode(bytes: &[u8]) -> Result<Frame, Error> {
        Frame::read(bytes, Contents::decode)
    }

    /// Parses the beginning of a truncated frame, without checks of lengths and checksums.
    pub fn decode_cut(bytes: &[u8]) -> Result<Frame, Error> {
        Frame::read(bytes, Contents::decode_cut)
    }

    fn read(bytes: &[u8], contents: impl Fn(u16, &[u8]) -> Result<Contents, Error>) -> Result<Frame, Error> {
        let view = EthernetView::new(bytes)?;
        let (mut kind, mut rest) = (view.ether_type(), view.rest());
        let mut next_tag = |wanted: u16| -> Result<Option<u16>, Error> {
            if kind != wanted {
                return Ok(None);
            }
            let tag = TagView::new(rest)?;
            (kind, rest) = (tag.ether_type(), tag.rest());
            Ok(Some(tag.control()))
        };
        let service = next_tag(ether_type::SERVICE_VLAN)?.map(VlanTag::decode).transpose()?;
        let vlan = next_tag(ether_type::VLAN)?.map(VlanTag::decode).transpose()?;
        let flow = next_tag(ether_type::CN_TAG)?;
        let contents = contents(kind, rest)?;
        let (destination, source) = (view.destination(), view.source());
        let frame = Frame { destination, source, service, vlan, flow, contents };
        frame.check_way()?;
        Ok(frame)
    }

    /// Checks that a MAC Control frame has no tag and the reserved destination address; PAUSE may also be sent to an
    /// individual address.
    fn check_way(&self) -> Result<(), Error> {
        let (what, individual) = match self.contents {
            Contents::MacControl(MacControl::Pause { .. }) => ("a PAUSE frame", true),
            Contents::MacControl(MacControl::Pfc(_)) => ("a PFC frame", false),
            _ => return Ok(()),
        };
        if self.service.is_some() || self.vlan.is_some() || self.flow.is_some() {
            return Err(Error::Tagged { what });
        }
        if self.destination == Mac::CONTROL || individual && self.destination.is_individual() {
            return Ok(());
        }
        Err(Error::Destination { what, accepted: Mac::CONTROL, got: self.destination })
    }

    /// Appends the frame, padded to the minimum length.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let at = out.len();
        self.destination.put(out);
        self.source.put(out);
        if let Some(tag) = self.service {
            tag.encode(ether_type::SERVICE_VLAN, out);
        }
        if let Some(tag) = self.vlan {
            tag.encode(ether_type::VLAN, out);
        }
        if let Some(flow) = self.flow {
            ether_type::CN_TAG.put(out);
            flow.put(out);
        }
        self.contents.encode(out);
        if out.len() - at < LEAST {
            out.resize(at + LEAST, 0);
        }
    }

    /// Returns the octets of the frame.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        self.encode(&mut out);
        out
    }
}

impl Contents {
    /// Parses the octets after the EtherType. Frames with local experimental EtherTypes may belong to another protocol.
    fn decode(kind: u16, bytes: &[u8]) -> Result<Contents, Error> {
        let first = bytes.first().copied();
        Ok(match kind {
            ether_type::MAC_CONTROL => Contents::MacControl(MacControl::decode(bytes)?),
            ether_type::LLDP => Contents::Lldp(Lldpdu::decode(bytes)?),
            ether_type::CNM => Contents::Cnm(Cnm::decode(bytes)?),
            ether_type::FECN if first == Some(fecn::FECN) => Contents::Fecn(Fecn::decode(bytes)?),
            ether_type::L2CI if first == Some(l2ci::L2CI) => Contents::L2ci(L2ci::decode(bytes)?),
            ether_type::IPV4 => Contents::Ipv4(Datagram::decode(bytes)?),
            _ => Contents::Other { ether_type: kind, payload: bytes.to_vec() },
        })
    }

    /// Parses the beginning of the octets after the EtherType.
    fn decode_cut(kind: u16, bytes: &[u8]) -> Result<Contents, Error> {
        if kind == ether_type::IPV4 {
            return Ok(Contents::Ipv4(Datagram::decode_cut(bytes)?));
        }
        let rest = Contents::Other { ether_type: kind, payload: bytes.to_vec() };
        Ok(Contents::decode(kind, bytes).unwrap_or(rest))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.ether_type().put(out);
        match self {
            Contents::MacControl(control) => control.encode(out),
            Contents::Lldp(pdu) => pdu.encode(out),
            Contents::Cnm(message) => message.encode(out),
            Contents::Fecn(tag) => tag.encode(out),
            Contents::L2ci(message) => message.encode(out),
            Contents::Ipv4(datagram) => datagram.encode(out),
            Contents::Other { payload, .. } => out.extend_from_slice(payload),
        }
    }

    fn ether_type(&self) -> u16 {
        match self {
            Contents::MacControl(_) => ether_type::MAC_CONTROL,
            Contents::Lldp(_) => ether_type::LLDP,
            Contents::Cnm(_) => ether_type::CNM,
            Contents::Fecn(_) => ether_type::FECN,
            Contents::L2ci(_) => ether_type::L2CI,
            Contents::Ipv4(_) => ether_type::IPV4,
            Contents::Other { ether_type, .. } => *ether_type,
        }
    }
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Contents::MacControl(control) => write!(f, "{control}"),
            Contents::Lldp(pdu) => write!(f, "{pdu}"),
            Contents::Cnm(message) => write!(f, "{message}"),
            Contents::Fecn(tag) => write!(f, "{tag}"),
            Contents::L2ci(message) => write!(f, "{message}"),
            Contents::Ipv4(datagram) => write!(f, "{datagram}"),
            Contents::Other { ether_type: ether_type::FCOE, payload } => {
                write!(f, "FCoE, {} B", payload.len())
            }
            Contents::Other { ether_type, payload } => {
                write!(f, "type {ether_type:#06x}, {} B", payload.len())
            }
        }
    }
}
