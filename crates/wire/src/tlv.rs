//! TLVs: type, length, value.
//!
//! Source: IEEE 802.1AB clause 8.4. The header has a type of 7 bits and a length of 9 bits. The sub-TLVs of DCBX have
//! the same header.

use crate::Error;
use crate::baseline::{self, Baseline};
use crate::ieee::{self, Applications, CongestionTlv, EtsConfiguration, EtsTable, PfcTlv, subtype};
use crate::view::Field;
use serde::Serialize;

/// Maximum length of a value in octets.
pub const MOST: usize = 511;
/// Type of organisational TLVs.
pub const ORGANISATIONAL: u8 = 127;
const ORGANISATION_BYTES: usize = 4;

/// Type and length of a TLV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Type, 0 to 127.
    pub kind: u8,
    /// Length of the value in octets, 0 to 511.
    pub len: usize,
}

/// Splits off the first TLV. Returns its header, its value, and the octets after it.
pub fn split(bytes: &[u8]) -> Result<(Header, &[u8], &[u8]), Error> {
    let Some((head, rest)) = bytes.split_at_checked(2) else {
        return Err(Error::Short { what: "the header of a TLV", needed: 2, got: bytes.len() });
    };
    let head = u16::read(head);
    let header = Header { kind: (head >> 9) as u8, len: usize::from(head & 511) };
    let short = Error::Short { what: "the value of a TLV", needed: header.len, got: rest.len() };
    let (value, after) = rest.split_at_checked(header.len).ok_or(short)?;
    Ok((header, value, after))
}

/// Appends a TLV. `fill` appends its value, of at most 511 octets.
pub fn put(kind: u8, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    0u16.put(out);
    fill(out);
    let len = out.len() - at - 2;
    let head = u16::from(kind & 127) << 9 | (len as u16 & 511);
    out[at..at + 2].copy_from_slice(&head.to_be_bytes());
}

/// A TLV of an LLDPDU after the three mandatory ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tlv {
    /// ETS configuration in use.
    EtsConfiguration(EtsConfiguration),
    /// ETS table recommended to the peer.
    EtsRecommendation(EtsTable),
    /// PFC configuration in use.
    Pfc(PfcTlv),
    /// Application priorities.
    Applications(Applications),
    /// Priorities with congestion notification.
    CongestionNotification(CongestionTlv),
    /// Announcement in a version of DCBX before the standard.
    Baseline(Baseline),
    /// An organisational TLV whose OUI or subtype is unknown here.
    Organisational(Organisational),
    /// A TLV of an unknown type.
    Plain(Plain),
}

/// An organisational TLV.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Organisational {
    /// OUI of the organisation.
    pub oui: [u8; 3],
    /// Subtype within the organisation.
    pub subtype: u8,
    value: Vec<u8>,
}

/// A TLV whose type is unknown here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plain {
    kind: u8,
    value: Vec<u8>,
}

/// Returns an error if a value is longer than its TLV can hold.
fn fits(value: &[u8], most: usize) -> Result<(), Error> {
    if value.len() <= most {
        return Ok(());
    }
    Err(Error::Long { what: "the value of a TLV", most, got: value.len() })
}

impl Organisational {
    /// Creates an organisational TLV of at most 507 octets.
    pub fn new(oui: [u8; 3], subtype: u8, value: Vec<u8>) -> Result<Organisational, Error> {
        fits(&value, MOST - ORGANISATION_BYTES)?;
        Ok(Organisational { oui, subtype, value })
    }
    /// Returns the octets after the subtype.
    pub fn value(&self) -> &[u8] {
        &self.value
    }
}

impl Plain {
    /// Creates a TLV of at most 511 octets, with a type that is neither mandatory (0 to 3) nor organisational (127).
    pub fn new(kind: u8, value: Vec<u8>) -> Result<Plain, Error> {
        if !(4..ORGANISATIONAL).contains(&kind) {
            return Err(Error::Value {
                what: "the type of a plain TLV",
                accepted: "4 to 126",
                got: kind.into(),
            });
        }
        fits(&value, MOST)?;
        Ok(Plain { kind, value })
    }
    /// Returns the type, 4 to 126.
    pub fn kind(&self) -> u8 {
        self.kind
    }
    /// Returns the value.
    pub fn value(&self) -> &[u8] {
        &self.value
    }
}

impl Tlv {
    /// Parses the value of a TLV of this type.
    pub fn decode(kind: u8, value: &[u8]) -> Result<Tlv, Error> {
        if kind != ORGANISATIONAL {
            return Ok(Tlv::Plain(Plain::new(kind, value.to_vec())?));
        }
        let Some((head, rest)) = value.split_at_checked(ORGANISATION_BYTES) else {
            return Err(Error::Short {
                what: "an organisational TLV",
                needed: ORGANISATION_BYTES,
                got: value.len(),
            });
        };
        let (oui, number) = (Field::read(head), head[3]);
        Ok(match (oui, number) {
            (ieee::OUI, subtype::ETS_CONFIGURATION) => Tlv::EtsConfiguration(EtsConfiguration::decode(rest)?),
            (ieee::OUI, subtype::ETS_RECOMMENDATION) => Tlv::EtsRecommendation(EtsTable::decode(rest)?),
            (ieee::OUI, subtype::PFC) => Tlv::Pfc(PfcTlv::decode(rest)?),
            (ieee::OUI, subtype::APPLICATIONS) => Tlv::Applications(Applications::decode(rest)?),
            (ieee::OUI, subtype::CONGESTION_NOTIFICATION) => {
                Tlv::CongestionNotification(CongestionTlv::decode(rest)?)
            }
            (baseline::OUI, baseline::CIN) => Tlv::Baseline(Baseline::decode(baseline::Version::Cin, rest)?),
            (baseline::OUI, baseline::CEE) => Tlv::Baseline(Baseline::decode(baseline::Version::Cee, rest)?),
            _ => Tlv::Organisational(Organisational::new(oui, number, rest.to_vec())?),
        })
    }

    /// Appends the TLV with its header.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if let Tlv::Plain(plain) = self {
            return put(plain.kind, out, |out| out.extend_from_slice(&plain.value));
        }
        put(ORGANISATIONAL, out, |out| {
            let (oui, number) = self.organisation();
            oui.put(out);
            number.put(out);
            match self {
                Tlv::EtsConfiguration(configuration) => configuration.encode(out),
                Tlv::EtsRecommendation(table) => table.encode(out),
                Tlv::Pfc(pfc) => pfc.encode(out),
                Tlv::Applications(applications) => applications.encode(out),
                Tlv::CongestionNotification(notification) => notification.encode(out),
                Tlv::Baseline(baseline) => baseline.encode(out),
                Tlv::Organisational(other) => out.extend_from_slice(&other.value),
                Tlv::Plain(_) => {}
            }
        });
    }

    fn organisation(&self) -> ([u8; 3], u8) {
        match self {
            Tlv::EtsConfiguration(_) => (ieee::OUI, subtype::ETS_CONFIGURATION),
            Tlv::EtsRecommendation(_) => (ieee::OUI, subtype::ETS_RECOMMENDATION),
            Tlv::Pfc(_) => (ieee::OUI, subtype::PFC),
            Tlv::Applications(_) => (ieee::OUI, subtype::APPLICATIONS),
            Tlv::CongestionNotification(_) => (ieee::OUI, subtype::CONGESTION_NOTIFICATION),
            Tlv::Baseline(baseline) => match baseline.version() {
                baseline::Version::Cin => (baseline::OUI, baseline::CIN),
                baseline::Version::Cee => (baseline::OUI, baseline::CEE),
            },
            Tlv::Organisational(other) => (other.oui, other.subtype),
            Tlv::Plain(_) => ([0; 3], 0),
        }
    }

    /// Returns the name, for messages, of a TLV that may occur only once in an LLDPDU; `None` for others.
    pub(crate) fn once(&self) -> Option<&'static str> {
        match self {
            Tlv::EtsConfiguration(_) => Some("the ETS configuration TLV"),
            Tlv::EtsRecommendation(_) => Some("the ETS recommendation TLV"),
            Tlv::Pfc(_) => Some("the PFC TLV"),
            Tlv::Applications(_) => Some("the application priority TLV"),
            Tlv::CongestionNotification(_) => Some("the congestion notification TLV"),
            Tlv::Baseline(_) => Some("the pre-standard DCBX TLV"),
            Tlv::Organisational(_) | Tlv::Plain(_) => None,
        }
    }
}
