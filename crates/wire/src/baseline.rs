//! DCBX before the standard: version 1.01 (CEE, "baseline") and version 1.00 (CIN).
//!
//! Source: `DCB Capability Exchange Protocol Base Specification` 1.01 and 1.00, in the layout of the open agent lldpad.
//! One organisational TLV with OUI 00-1B-21 holds sub-TLVs; `decode` and `encode` start with the octet after its
//! subtype, which is 2 for version 1.01 and 1 for version 1.00. The version fields within sub-TLVs are sent as 0.

use crate::ieee::{exactly, nibbles, of_nibbles};
use crate::tlv::{self, Header};
use crate::view::{Field, view};
use crate::{Error, PrioritySet};
use frame::PRIORITIES;
use serde::Serialize;

/// OUI of both versions.
pub const OUI: [u8; 3] = [0x00, 0x1B, 0x21];
/// Subtype of version 1.00.
pub const CIN: u8 = 1;
/// Subtype of version 1.01.
pub const CEE: u8 = 2;

/// Version of DCBX before the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// Version 1.00 (CIN).
    Cin,
    /// Version 1.01 (CEE).
    Cee,
}

/// The sub-TLVs of a station's announcement in one of the versions, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Baseline {
    version: Version,
    sub_tlvs: Vec<SubTlv>,
}

/// A sub-TLV.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SubTlv {
    /// Control: sequence numbers of the handshake.
    Control(Control),
    /// Priority groups of version 1.01.
    Groups(Feature<Groups>),
    /// Priority groups of version 1.00.
    CinGroups(Feature<CinGroups>),
    /// PFC; the number of traffic classes is part of version 1.01 only.
    Pfc(Feature<BaselinePfc>),
    /// Applications of version 1.01.
    Applications(Feature<Vec<BaselineApplication>>),
    /// Priorities of one application of version 1.00, FCoE if the subtype is 0.
    CinApplication(Feature<PrioritySet>),
    /// State of a logical link in version 1.00: that of FCoE for subtype 0, that of the LAN for subtype 1.
    LogicalLink(Feature<bool>),
    /// A sub-TLV whose type is unknown in this version.
    Other {
        /// Type, 0 to 127.
        kind: u8,
        /// Octets after the header.
        value: Vec<u8>,
    },
}

/// Sequence numbers of the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Control {
    /// Version in use.
    pub operating_version: u8,
    /// Highest version that the station supports.
    pub max_version: u8,
    /// Number of configuration changes by the sender.
    pub sequence: u32,
    /// Last sequence number that the station received.
    pub acknowledged: u32,
}

view! {
    /// A control sub-TLV.
    ControlTlvView("a control sub-TLV", 10) {
        /// Version in use.
        operating_version: u8 = 0,
        /// Highest supported version.
        max_version: u8 = 1,
        /// Number of configuration changes by the sender.
        sequence: u32 = 2,
        /// Last sequence number received.
        acknowledged: u32 = 6,
    }
}

view! {
    /// Header of a feature sub-TLV.
    FeatureView("the header of a feature", 4) {
        /// Version in use.
        operating_version: u8 = 0,
        /// Highest known version.
        max_version: u8 = 1,
        /// `Enable(1) Willing(1) Error(1) reserved(5)`.
        bits: u8 = 2,
        /// Subtype.
        subtype: u8 = 3,
    }
}

/// A feature and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Feature<T> {
    /// Version in use.
    pub operating_version: u8,
    /// Highest version that the station supports.
    pub max_version: u8,
    /// True if the feature is enabled at the station.
    pub enabled: bool,
    /// True if the station adopts the setting of its peer.
    pub willing: bool,
    /// True if the station found its setting and its peer's incompatible.
    pub error: bool,
    /// Subtype of the feature.
    pub subtype: u8,
    /// The values.
    pub value: T,
}

impl<T> Feature<T> {
    /// Creates an enabled feature with version 0 and subtype 0.
    pub fn new(willing: bool, value: T) -> Feature<T> {
        Feature {
            operating_version: 0,
            max_version: 0,
            enabled: true,
            willing,
            error: false,
            subtype: 0,
            value,
        }
    }

    fn decode(bytes: &[u8], read: fn(&[u8]) -> Result<T, Error>) -> Result<Feature<T>, Error> {
        let view = FeatureView::new(bytes)?;
        let bit = |place: u8| view.bits() >> place & 1 == 1;
        Ok(Feature {
            operating_version: view.operating_version(),
            max_version: view.max_version(),
            enabled: bit(7),
            willing: bit(6),
            error: bit(5),
            subtype: view.subtype(),
            value: read(view.rest())?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) -> &T {
        let bits = u8::from(self.enabled) << 7 | u8::from(self.willing) << 6 | u8::from(self.error) << 5;
        [self.operating_version, self.max_version, bits, self.subtype].put(out);
        &self.value
    }
}

/// Priority groups of version 1.01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Groups {
    groups: [u8; PRIORITIES],
    percent: [u8; PRIORITIES],
    /// Number of traffic classes.
    pub traffic_classes: u8,
}

/// Group without a bandwidth limit. Its priorities are served before all others.
pub const NO_LIMIT: u8 = 15;

impl Groups {
    /// Creates priority groups from the group of each priority, 0 to 7 or [`NO_LIMIT`], and the shares of the groups,
    /// which sum to 100 or are all 0.
    pub fn new(
        groups: [u8; PRIORITIES],
        percent: [u8; PRIORITIES],
        traffic_classes: u8,
    ) -> Result<Groups, Error> {
        let wrong = groups.into_iter().find(|&group| group > 7 && group != NO_LIMIT);
        if let Some(group) = wrong {
            return Err(Error::Value {
                what: "a priority group",
                accepted: "0 to 7, and 15",
                got: group.into(),
            });
        }
        whole(percent)?;
        Ok(Groups { groups, percent, traffic_classes })
    }
    /// Returns the group of each priority.
    pub fn groups(&self) -> [u8; PRIORITIES] {
        self.groups
    }
    /// Returns the share of each group in per cent.
    pub fn percent(&self) -> [u8; PRIORITIES] {
        self.percent
    }

    fn decode(bytes: &[u8]) -> Result<Groups, Error> {
        exactly("priority groups of version 1.01", "13", bytes.len() == 13, bytes)?;
        Groups::new(of_nibbles(Field::read(bytes)), Field::read(&bytes[4..]), bytes[12])
    }
}

fn whole(percent: [u8; PRIORITIES]) -> Result<(), Error> {
    match percent.into_iter().map(u64::from).sum() {
        0 | 100 => Ok(()),
        got => Err(Error::Value { what: "the sum of shares in per cent", accepted: "0 and 100", got }),
    }
}

/// Priority groups of version 1.00.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CinGroups {
    percent: [u8; PRIORITIES],
    priorities: [CinPriority; PRIORITIES],
}

/// A priority within its group, in version 1.00.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CinPriority {
    group: u8,
    strict: u8,
    /// Share of the group in per cent.
    pub percent: u8,
}

impl CinPriority {
    /// Creates a priority of a group from 0 to 7. `strict` is 0, 1 (strict within the link) or 2 (strict within the
    /// group).
    pub fn new(group: u8, strict: u8, percent: u8) -> Result<CinPriority, Error> {
        if group > 7 {
            return Err(Error::Value { what: "a priority group", accepted: "0 to 7", got: group.into() });
        }
        if strict > 2 {
            return Err(Error::Value {
                what: "the kind of strictness",
                accepted: "0 to 2",
                got: strict.into(),
            });
        }
        Ok(CinPriority { group, strict, percent })
    }
    /// Returns the group, 0 to 7.
    pub fn group(&self) -> u8 {
        self.group
    }
    /// Returns true if the priority is served before all others of the link.
    pub fn is_strict_of_link(&self) -> bool {
        self.strict == 1
    }
}

impl CinGroups {
    /// Creates priority groups from the shares of the groups, which sum to 100 or are all 0, and the group of each
    /// priority.
    pub fn new(percent: [u8; PRIORITIES], priorities: [CinPriority; PRIORITIES]) -> Result<CinGroups, Error> {
        whole(percent)?;
        Ok(CinGroups { percent, priorities })
    }
    /// Returns the share of each group in per cent.
    pub fn percent(&self) -> [u8; PRIORITIES] {
        self.percent
    }
    /// Returns the priorities.
    pub fn priorities(&self) -> [CinPriority; PRIORITIES] {
        self.priorities
    }

    fn decode(bytes: &[u8]) -> Result<CinGroups, Error> {
        exactly("priority groups of version 1.00", "24", bytes.len() == 24, bytes)?;
        let mut priorities = [CinPriority::default(); PRIORITIES];
        for (priority, pair) in priorities.iter_mut().zip(bytes[8..].as_chunks::<2>().0) {
            *priority = CinPriority::new(pair[0] >> 5, pair[0] >> 3 & 3, pair[1])?;
        }
        CinGroups::new(Field::read(bytes), priorities)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.percent.put(out);
        for priority in self.priorities {
            [priority.group << 5 | priority.strict << 3, priority.percent].put(out);
        }
    }
}

/// PFC of both versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BaselinePfc {
    /// Priorities with PFC.
    pub priorities: PrioritySet,
    /// Number of traffic classes that support PFC; `None` in version 1.00.
    pub traffic_classes: Option<u8>,
}

fn cee_pfc(bytes: &[u8]) -> Result<BaselinePfc, Error> {
    exactly("PFC of version 1.01", "2", bytes.len() == 2, bytes)?;
    Ok(BaselinePfc { priorities: PrioritySet(bytes[0]), traffic_classes: Some(bytes[1]) })
}

fn cin_pfc(bytes: &[u8]) -> Result<BaselinePfc, Error> {
    Ok(BaselinePfc { priorities: set(bytes)?, traffic_classes: None })
}

fn set(bytes: &[u8]) -> Result<PrioritySet, Error> {
    exactly("a set of priorities of version 1.00", "1", bytes.len() == 1, bytes)?;
    Ok(PrioritySet(bytes[0]))
}

fn link(bytes: &[u8]) -> Result<bool, Error> {
    exactly("the state of a logical link", "1", bytes.len() == 1, bytes)?;
    Ok(bytes[0] >> 7 == 1)
}

/// Priorities of an application in version 1.01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BaselineApplication {
    /// EtherType or port.
    pub protocol: u16,
    /// True for a TCP or UDP port, false for an EtherType.
    pub port: bool,
    oui: u32,
    /// Priorities of the application.
    pub priorities: PrioritySet,
}

impl BaselineApplication {
    /// Creates an entry with the usual OUI, 00-1B-21.
    pub fn new(protocol: u16, port: bool, priorities: PrioritySet) -> BaselineApplication {
        BaselineApplication { protocol, port, oui: 0x00_1B_21, priorities }
    }

    fn decode(entry: &[u8; 6]) -> Result<BaselineApplication, Error> {
        let selector = entry[2] & 3;
        if selector > 1 {
            let what = "the selector of an application";
            return Err(Error::Value { what, accepted: "0 and 1", got: selector.into() });
        }
        // The two selector bits take the place of the "group" and "local" bits of the OUI.
        let oui = u32::from(entry[2] & 0xFC) << 16 | u32::from(u16::read(&entry[3..]));
        let priorities = PrioritySet(entry[5]);
        Ok(BaselineApplication { protocol: u16::read(entry), port: selector == 1, oui, priorities })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        self.protocol.put(out);
        ((self.oui >> 16) as u8 | u8::from(self.port)).put(out);
        (self.oui as u16).put(out);
        self.priorities.0.put(out);
    }
}

fn applications(bytes: &[u8]) -> Result<Vec<BaselineApplication>, Error> {
    let (entries, ragged) = bytes.as_chunks::<6>();
    exactly("applications of version 1.01", "6 for each entry", ragged.is_empty(), bytes)?;
    entries.iter().map(BaselineApplication::decode).collect()
}

impl Baseline {
    /// Maximum total length of the sub-TLVs in octets.
    pub const MOST: usize = 507;

    /// Creates the sub-TLVs, in their order. Returns an error if one does not belong to this version, or if they do not
    /// fit into one TLV.
    pub fn new(version: Version, sub_tlvs: Vec<SubTlv>) -> Result<Baseline, Error> {
        let made = Baseline { version, sub_tlvs };
        let mut bytes = Vec::new();
        made.encode(&mut bytes);
        if bytes.len() > Self::MOST {
            return Err(Error::Long { what: "a DCBX TLV", most: Self::MOST, got: bytes.len() });
        }
        // A sub-TLV of the other version, or an unknown one with the type of a known one, does not survive a round
        // trip.
        if Baseline::decode(version, &bytes)? == made {
            return Ok(made);
        }
        let number = match version {
            Version::Cin => 100,
            Version::Cee => 101,
        };
        let accepted = "sub-TLVs of that version";
        Err(Error::Value {
            what: "the version in hundredths of a DCBX TLV with others",
            accepted,
            got: number,
        })
    }
    /// Returns the version.
    pub fn version(&self) -> Version {
        self.version
    }
    /// Returns the sub-TLVs.
    pub fn sub_tlvs(&self) -> &[SubTlv] {
        &self.sub_tlvs
    }

    /// Reads the octets after the subtype. Each type of sub-TLV may occur once; in version 1.00, those of applications
    /// and logical links once per subtype.
    pub fn decode(version: Version, bytes: &[u8]) -> Result<Baseline, Error> {
        let mut sub_tlvs = Vec::new();
        let mut seen = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (Header { kind, .. }, value, after) = tlv::split(rest)?;
            let found = SubTlv::decode(version, kind, value)?;
            let subtype = match &found {
                SubTlv::CinApplication(feature) => feature.subtype,
                SubTlv::LogicalLink(feature) => feature.subtype,
                _ => 0,
            };
            if seen.contains(&(kind, subtype)) && !matches!(found, SubTlv::Other { .. }) {
                return Err(Error::Twice { what: "a sub-TLV of DCBX" });
            }
            seen.push((kind, subtype));
            sub_tlvs.push(found);
            rest = after;
        }
        Ok(Baseline { version, sub_tlvs })
    }

    /// Appends the octets after the subtype.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for sub_tlv in &self.sub_tlvs {
            tlv::put(sub_tlv.kind(), out, |out| sub_tlv.encode(out));
        }
    }
}

impl SubTlv {
    fn kind(&self) -> u8 {
        match self {
            SubTlv::Control(_) => 1,
            SubTlv::Groups(_) | SubTlv::CinGroups(_) => 2,
            SubTlv::Pfc(_) => 3,
            SubTlv::Applications(_) => 4,
            SubTlv::CinApplication(_) => 5,
            SubTlv::LogicalLink(_) => 6,
            SubTlv::Other { kind, .. } => *kind & 127,
        }
    }

    fn decode(version: Version, kind: u8, value: &[u8]) -> Result<SubTlv, Error> {
        Ok(match (version, kind) {
            (_, 1) => SubTlv::Control(Control::decode(value)?),
            (Version::Cee, 2) => SubTlv::Groups(Feature::decode(value, Groups::decode)?),
            (Version::Cin, 2) => SubTlv::CinGroups(Feature::decode(value, CinGroups::decode)?),
            (Version::Cee, 3) => SubTlv::Pfc(Feature::decode(value, cee_pfc)?),
            (Version::Cin, 3) => SubTlv::Pfc(Feature::decode(value, cin_pfc)?),
            (Version::Cee, 4) => SubTlv::Applications(Feature::decode(value, applications)?),
            (Version::Cin, 5) => SubTlv::CinApplication(Feature::decode(value, set)?),
            (Version::Cin, 6) => SubTlv::LogicalLink(Feature::decode(value, link)?),
            _ => SubTlv::Other { kind, value: value.to_vec() },
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            SubTlv::Control(control) => control.encode(out),
            SubTlv::Groups(feature) => {
                let Groups { groups, percent, traffic_classes } = feature.encode(out);
                nibbles(*groups).put(out);
                percent.put(out);
                traffic_classes.put(out);
            }
            SubTlv::CinGroups(feature) => feature.encode(out).encode(out),
            SubTlv::Pfc(feature) => {
                let BaselinePfc { priorities, traffic_classes } = feature.encode(out);
                out.push(priorities.0);
                out.extend(traffic_classes);
            }
            SubTlv::Applications(feature) => {
                feature.encode(out).iter().for_each(|application| application.encode(out));
            }
            SubTlv::CinApplication(feature) => feature.encode(out).0.put(out),
            SubTlv::LogicalLink(feature) => (u8::from(*feature.encode(out)) << 7).put(out),
            SubTlv::Other { value, .. } => out.extend_from_slice(value),
        }
    }
}

impl Control {
    fn decode(bytes: &[u8]) -> Result<Control, Error> {
        let view = ControlTlvView::new(bytes)?;
        exactly("a control sub-TLV", "10", bytes.len() == ControlTlvView::BYTES, bytes)?;
        Ok(Control {
            operating_version: view.operating_version(),
            max_version: view.max_version(),
            sequence: view.sequence(),
            acknowledged: view.acknowledged(),
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        [self.operating_version, self.max_version].put(out);
        self.sequence.put(out);
        self.acknowledged.put(out);
    }
}
