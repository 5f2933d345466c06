//! The link layer discovery protocol data unit (LLDPDU).
//!
//! Source: IEEE 802.1AB clause 8 (layout) and clause 9 (error handling of a receiver): an error in one of the three
//! mandatory TLVs discards the LLDPDU; an error in another TLV discards that TLV.

use crate::tlv::{self, Header, Tlv};
use crate::view::Field;
use crate::{Error, Mac};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fmt;

/// Maximum length of an LLDPDU in octets: that of the data of an Ethernet frame.
pub const PDU_MOST: usize = 1500;

const CHASSIS: u8 = 1;
const PORT: u8 = 2;
const TTL: u8 = 3;

/// A chassis ID or a port ID: a subtype, and 1 to 255 octets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    subtype: u8,
    octets: Octets,
}

/// The octets of an ID. Six octets, the usual number, are stored inline.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Octets {
    Six([u8; 6]),
    Others(Vec<u8>),
}

impl Id {
    /// Creates an ID with a subtype from 1 to 7.
    pub fn new(subtype: u8, value: &[u8]) -> Result<Id, Error> {
        if !(1..=7).contains(&subtype) {
            return Err(Error::Value {
                what: "the subtype of an ID",
                accepted: "1 to 7",
                got: subtype.into(),
            });
        }
        if !(1..=255).contains(&value.len()) {
            return Err(Error::Length { what: "an ID", accepted: "1 to 255", got: value.len() });
        }
        let octets = value.try_into().map_or_else(|_| Octets::Others(value.to_vec()), Octets::Six);
        Ok(Id { subtype, octets })
    }
    /// Creates a chassis ID from a MAC address.
    pub fn chassis(mac: Mac) -> Id {
        Id { subtype: 4, octets: Octets::Six(mac.0) }
    }
    /// Creates a port ID from a MAC address.
    pub fn port(mac: Mac) -> Id {
        Id { subtype: 3, octets: Octets::Six(mac.0) }
    }
    /// Returns the subtype, 1 to 7, which determines how the octets are interpreted.
    pub fn subtype(&self) -> u8 {
        self.subtype
    }
    /// Returns the octets.
    pub fn value(&self) -> &[u8] {
        match &self.octets {
            Octets::Six(octets) => octets,
            Octets::Others(octets) => octets,
        }
    }

    fn decode(bytes: &[u8]) -> Result<Id, Error> {
        let (&subtype, value) =
            bytes.split_first().ok_or(Error::Short { what: "an ID", needed: 2, got: bytes.len() })?;
        Id::new(subtype, value)
    }

    fn encode(&self, kind: u8, out: &mut Vec<u8>) {
        tlv::put(kind, out, |out| {
            out.push(self.subtype);
            out.extend_from_slice(self.value());
        });
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.octets {
            Octets::Six(mac) if matches!(self.subtype, 3 | 4) => write!(f, "{}", Mac(*mac)),
            _ if self.value().iter().all(u8::is_ascii_graphic) => {
                write!(f, "{}", String::from_utf8_lossy(self.value()))
            }
            _ => self.value().iter().try_for_each(|octet| write!(f, "{octet:02x}")),
        }
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("subtype", &self.subtype)?;
        map.serialize_entry("value", &self.to_string())?;
        map.end()
    }
}

/// Announcement of a station to its neighbours. Chassis ID and port ID together identify the station.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Lldpdu {
    /// Chassis ID.
    pub chassis: Id,
    /// Port ID.
    pub port: Id,
    /// Time to live in seconds; 0 withdraws the announcement at once.
    pub ttl_s: u16,
    tlvs: Vec<Tlv>,
}

/// An LLDPDU as accepted by a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Valid parts of the LLDPDU.
    pub pdu: Lldpdu,
    /// Errors of the discarded TLVs, in their order.
    pub faults: Vec<Error>,
}

impl Lldpdu {
    /// Creates an LLDPDU. It must fit into a frame, and TLVs that may occur only once must not be repeated.
    pub fn new(chassis: Id, port: Id, ttl_s: u16, tlvs: Vec<Tlv>) -> Result<Lldpdu, Error> {
        if let Some(what) = twice(&tlvs).next() {
            return Err(Error::Twice { what });
        }
        let pdu = Lldpdu { chassis, port, ttl_s, tlvs };
        let mut bytes = Vec::new();
        pdu.encode(&mut bytes);
        if bytes.len() > PDU_MOST {
            return Err(Error::Long { what: "an LLDPDU", most: PDU_MOST, got: bytes.len() });
        }
        Ok(pdu)
    }

    /// Returns the TLVs after the mandatory ones.
    pub fn tlvs(&self) -> &[Tlv] {
        &self.tlvs
    }

    /// Parses a valid LLDPDU. Returns the first error, if any.
    pub fn decode(bytes: &[u8]) -> Result<Lldpdu, Error> {
        let Received { pdu, faults } = Lldpdu::receive(bytes)?;
        faults.into_iter().next().map_or(Ok(pdu), Err)
    }

    /// Parses an LLDPDU as a receiver does: discards TLVs with an error, and all copies of repeated ones.
    pub fn receive(bytes: &[u8]) -> Result<Received, Error> {
        if bytes.len() > PDU_MOST {
            return Err(Error::Long { what: "an LLDPDU", most: PDU_MOST, got: bytes.len() });
        }
        let (chassis, rest) = mandatory(1, CHASSIS, "a chassis ID (1)", bytes)?;
        let (port, rest) = mandatory(2, PORT, "a port ID (2)", rest)?;
        let (ttl, rest) = mandatory(3, TTL, "a time to live (3)", rest)?;
        if ttl.len() < 2 {
            return Err(Error::Short { what: "a time to live", needed: 2, got: ttl.len() });
        }
        let (mut tlvs, mut faults) = (Vec::with_capacity(8), Vec::new());
        let ended = walk(rest, |kind, value| match Tlv::decode(kind, value) {
            Ok(found) => tlvs.push(found),
            Err(fault) => faults.push(fault),
        })?;
        if !ended && bytes.len() + 2 > PDU_MOST {
            return Err(Error::Long {
                what: "an LLDPDU with its End TLV",
                most: PDU_MOST,
                got: bytes.len() + 2,
            });
        }
        let doubled: Vec<&'static str> = twice(&tlvs).collect();
        if !doubled.is_empty() {
            tlvs.retain(|tlv| tlv.once().is_none_or(|what| !doubled.contains(&what)));
            faults.extend(doubled.into_iter().map(|what| Error::Twice { what }));
        }
        let (chassis, port) = (Id::decode(chassis)?, Id::decode(port)?);
        Ok(Received { pdu: Lldpdu { chassis, port, ttl_s: u16::read(ttl), tlvs }, faults })
    }

    /// Appends the LLDPDU with its End TLV.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.chassis.encode(CHASSIS, out);
        self.port.encode(PORT, out);
        tlv::put(TTL, out, |out| self.ttl_s.put(out));
        self.tlvs.iter().for_each(|tlv| tlv.encode(out));
        0u16.put(out);
    }
}

/// Returns the value of a mandatory TLV, and the octets after it.
fn mandatory<'a>(
    place: usize,
    kind: u8,
    expected: &'static str,
    bytes: &'a [u8],
) -> Result<(&'a [u8], &'a [u8]), Error> {
    let (header, value, rest) = tlv::split(bytes)?;
    if header.kind == kind {
        Ok((value, rest))
    } else {
        Err(Error::Order { place, expected, got: header.kind })
    }
}

/// Calls `show` for each TLV after the mandatory ones, up to the End TLV, zero padding, or the end of the frame.
/// Returns true if there was an End TLV.
fn walk(bytes: &[u8], mut show: impl FnMut(u8, &[u8])) -> Result<bool, Error> {
    let (mut rest, mut place) = (bytes, 4);
    while !rest.is_empty() {
        let (Header { kind, .. }, value, after) = tlv::split(rest)?;
        match kind {
            0 => return Ok(true),
            CHASSIS..=TTL => {
                return Err(Error::Order { place, expected: "none of the mandatory types", got: kind });
            }
            _ => show(kind, value),
        }
        (rest, place) = (after, place + 1);
    }
    Ok(false)
}

/// Returns the names of TLVs that are repeated although they may occur only once; each is listed once.
fn twice(tlvs: &[Tlv]) -> impl Iterator<Item = &'static str> {
    let names = || tlvs.iter().filter_map(Tlv::once);
    names()
        .enumerate()
        .filter(move |(n, what)| names().take(*n).filter(|one| one == what).count() == 1)
        .map(|(_, what)| what)
}

impl fmt::Display for Lldpdu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LLDP of {} port {}, ", self.chassis, self.port)?;
        match self.ttl_s {
            0 => write!(f, "shutdown")?,
            ttl => write!(f, "{ttl} s")?,
        }
        for tlv in &self.tlvs {
            match tlv {
                Tlv::EtsConfiguration(one) => write!(f, ", ETS{}", willing(one.willing))?,
                Tlv::EtsRecommendation(_) => write!(f, ", ETS recommendation")?,
                Tlv::Pfc(one) => write!(f, ", PFC {}{}", one.enabled(), willing(one.willing))?,
                Tlv::Applications(list) => write!(f, ", {} applications", list.entries().len())?,
                Tlv::CongestionNotification(one) => {
                    write!(f, ", congestion notification {}", one.controlled)?
                }
                Tlv::Baseline(one) => write!(f, ", DCBX before the standard ({:?})", one.version())?,
                Tlv::Organisational(_) | Tlv::Plain(_) => {}
            }
        }
        Ok(())
    }
}

fn willing(willing: bool) -> &'static str {
    if willing { " willing" } else { "" }
}
