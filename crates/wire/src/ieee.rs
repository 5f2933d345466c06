//! The TLVs of IEEE 802.1Q that agents of data-center bridging exchange: ETS configuration and recommendation, PFC,
//! application priorities, congestion notification.
//!
//! Source: IEEE 802.1Qaz (802.1Q annex D.2), IEEE 802.1Qau for the last one. All are organisational TLVs with OUI
//! 00-80-C2. `decode` and `encode` start with the octet after the subtype.

use crate::view::{Field, view};
use crate::{Error, Pcp, PrioritySet};
use frame::PRIORITIES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// OUI of these TLVs.
pub const OUI: [u8; 3] = [0x00, 0x80, 0xC2];
/// Subtypes.
pub mod subtype {
    /// Congestion notification.
    pub const CONGESTION_NOTIFICATION: u8 = 8;
    /// ETS configuration.
    pub const ETS_CONFIGURATION: u8 = 9;
    /// ETS recommendation.
    pub const ETS_RECOMMENDATION: u8 = 10;
    /// Priority-based flow control.
    pub const PFC: u8 = 11;
    /// Application priorities.
    pub const APPLICATIONS: u8 = 12;
}

view! {
    /// An ETS TLV after its subtype.
    EtsView("an ETS TLV behind its subtype", 21) {
        /// `Willing(1) CBS(1) reserved(3) MaxTCs(3)`; reserved in a recommendation.
        head: u8 = 0,
        /// Traffic class of each priority, four bits each, starting with priority 0.
        classes: [u8; 4] = 1,
        /// Share of each traffic class in per cent.
        percent: [u8; 8] = 5,
        /// Transmission selection algorithm of each traffic class.
        algorithms: [u8; 8] = 13,
    }
}

/// Transmission selection algorithm of a traffic class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TransmissionSelection")]
pub enum Algorithm {
    /// Strict priority.
    Strict = 0,
    /// Credit-based shaper.
    CreditBasedShaper = 1,
    /// Enhanced transmission selection: a share of the bandwidth.
    Ets = 2,
    /// The vendor's own.
    Vendor = 255,
}

impl Algorithm {
    fn of(value: u8) -> Result<Algorithm, Error> {
        match value {
            0 => Ok(Algorithm::Strict),
            1 => Ok(Algorithm::CreditBasedShaper),
            2 => Ok(Algorithm::Ets),
            255 => Ok(Algorithm::Vendor),
            got => {
                let what = "a transmission selection algorithm";
                Err(Error::Value { what, accepted: "0, 1, 2 and 255", got: got.into() })
            }
        }
    }
}

/// ETS settings: the traffic class of each priority, and the algorithm and bandwidth share of each traffic class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EtsTable {
    classes: [u8; PRIORITIES],
    percent: [u8; PRIORITIES],
    algorithms: [Algorithm; PRIORITIES],
}

impl EtsTable {
    /// Table with priority n in traffic class n, all strict.
    pub const STRICT: EtsTable = EtsTable {
        classes: [0, 1, 2, 3, 4, 5, 6, 7],
        percent: [0; PRIORITIES],
        algorithms: [Algorithm::Strict; PRIORITIES],
    };

    /// Creates a table from the traffic class of each priority, 0 to 7, and the share in per cent and algorithm of each
    /// traffic class.
    ///
    /// If any class uses ETS, either the shares of the ETS classes or those of all classes must sum to 100: agents
    /// differ in whether they count the share of a strict class.
    pub fn new(
        classes: [u8; PRIORITIES],
        percent: [u8; PRIORITIES],
        algorithms: [Algorithm; PRIORITIES],
    ) -> Result<EtsTable, Error> {
        for class in classes {
            if usize::from(class) >= PRIORITIES {
                return Err(Error::Value { what: "a traffic class", accepted: "0 to 7", got: class.into() });
            }
        }
        let (mut of_ets, mut of_all) = (0, 0);
        for (share, algorithm) in percent.into_iter().zip(algorithms) {
            of_all += u64::from(share);
            of_ets += if algorithm == Algorithm::Ets { u64::from(share) } else { 0 };
        }
        if algorithms.contains(&Algorithm::Ets) && of_ets != 100 && of_all != 100 {
            let what = "the sum of ETS shares in per cent";
            return Err(Error::Value { what, accepted: "100", got: of_ets });
        }
        Ok(EtsTable { classes, percent, algorithms })
    }
    /// Returns the traffic class of each priority, 0 to 7.
    pub fn classes(&self) -> [u8; PRIORITIES] {
        self.classes
    }
    /// Returns the share of each traffic class in per cent.
    pub fn percent(&self) -> [u8; PRIORITIES] {
        self.percent
    }
    /// Returns the algorithm of each traffic class.
    pub fn algorithms(&self) -> [Algorithm; PRIORITIES] {
        self.algorithms
    }

    /// Parses an ETS recommendation.
    pub fn decode(bytes: &[u8]) -> Result<EtsTable, Error> {
        let view = EtsView::new(bytes)?;
        exactly("an ETS TLV behind its subtype", "21", bytes.len() == EtsView::BYTES, bytes)?;
        let mut algorithms = [Algorithm::Strict; PRIORITIES];
        for (algorithm, value) in algorithms.iter_mut().zip(view.algorithms()) {
            *algorithm = Algorithm::of(value)?;
        }
        EtsTable::new(of_nibbles(view.classes()), view.percent(), algorithms)
    }

    /// Appends an ETS recommendation.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.put(0, out);
    }

    fn put(&self, head: u8, out: &mut Vec<u8>) {
        head.put(out);
        nibbles(self.classes).put(out);
        self.percent.put(out);
        self.algorithms.map(|algorithm| algorithm as u8).put(out);
    }
}

/// Formats the priorities of each traffic class that has any, like "0,1,2: 60 %; 3: 40 %; 7: strict".
impl fmt::Display for EtsTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == EtsTable::STRICT {
            return write!(f, "all strict");
        }
        let mut first = true;
        for class in 0..PRIORITIES {
            let of_class = (0..PRIORITIES).filter(|&priority| usize::from(self.classes[priority]) == class);
            let set = PrioritySet(of_class.fold(0, |set, priority| set | 1 << priority));
            if set.is_empty() {
                continue;
            }
            write!(f, "{}{set}: ", if first { "" } else { "; " })?;
            first = false;
            match self.algorithms[class] {
                Algorithm::Strict => write!(f, "strict")?,
                Algorithm::CreditBasedShaper => write!(f, "credit-based shaper")?,
                Algorithm::Ets => write!(f, "{} %", self.percent[class])?,
                Algorithm::Vendor => write!(f, "vendor's own")?,
            }
        }
        Ok(())
    }
}

/// Unpacks eight nibbles, high nibble first.
pub(crate) fn of_nibbles(octets: [u8; 4]) -> [u8; PRIORITIES] {
    let mut values = [0; PRIORITIES];
    for (pair, octet) in values.as_chunks_mut::<2>().0.iter_mut().zip(octets) {
        *pair = [octet >> 4, octet & 15];
    }
    values
}

/// Packs eight nibbles, high nibble first.
pub(crate) fn nibbles(values: [u8; PRIORITIES]) -> [u8; 4] {
    std::array::from_fn(|i| values[2 * i] << 4 | values[2 * i + 1] & 15)
}

pub(crate) fn exactly(
    what: &'static str,
    accepted: &'static str,
    holds: bool,
    bytes: &[u8],
) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Length { what, accepted, got: bytes.len() }) }
}

/// ETS configuration of a station, with its willing bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EtsConfiguration {
    /// True if the station adopts the recommendation of its peer.
    pub willing: bool,
    /// True if the station supports a credit-based shaper.
    pub credit_based_shaper: bool,
    max_classes: u8,
    /// ETS table in use.
    pub table: EtsTable,
}

impl EtsConfiguration {
    /// Creates the configuration of a station with 1 to 8 traffic classes.
    pub fn new(willing: bool, max_classes: u8, table: EtsTable) -> Result<EtsConfiguration, Error> {
        if !(1..=8).contains(&max_classes) {
            let what = "the number of traffic classes";
            return Err(Error::Value { what, accepted: "1 to 8", got: max_classes.into() });
        }
        Ok(EtsConfiguration { willing, credit_based_shaper: false, max_classes, table })
    }
    /// Returns the number of traffic classes, 1 to 8.
    pub fn max_classes(&self) -> u8 {
        self.max_classes
    }

    /// Reads the octets after the subtype.
    pub fn decode(bytes: &[u8]) -> Result<EtsConfiguration, Error> {
        let head = EtsView::new(bytes)?.head();
        let max_classes = if head & 7 == 0 { 8 } else { head & 7 };
        Ok(EtsConfiguration {
            credit_based_shaper: head >> 6 & 1 == 1,
            ..EtsConfiguration::new(head >> 7 == 1, max_classes, EtsTable::decode(bytes)?)?
        })
    }

    /// Appends the octets after the subtype.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let shaper = u8::from(self.credit_based_shaper) << 6;
        self.table.put(u8::from(self.willing) << 7 | shaper | self.max_classes & 7, out);
    }
}

view! {
    /// A PFC TLV after its subtype.
    PfcTlvView("a PFC TLV behind its subtype", 2) {
        /// `Willing(1) MBC(1) reserved(2) capability(4)`.
        head: u8 = 0,
        /// Priorities with PFC.
        enabled: u8 = 1,
    }
}

/// Priorities that a station pauses individually.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PfcTlv {
    /// True if the station adopts the setting of its peer.
    pub willing: bool,
    /// MBC bit, uninterpreted, since sources differ in its meaning.
    pub macsec_bypass: bool,
    capability: u8,
    enabled: PrioritySet,
}

impl PfcTlv {
    /// No priority with PFC, and willing to adopt the peer's setting.
    pub const WILLING: PfcTlv =
        PfcTlv { willing: true, macsec_bypass: false, capability: 8, enabled: PrioritySet(0) };

    /// Creates a TLV that enables PFC for these priorities, at a station that supports it for up to `capability`
    /// priorities, 0 to 8.
    pub fn new(willing: bool, capability: u8, enabled: PrioritySet) -> Result<PfcTlv, Error> {
        if capability > 8 {
            return Err(Error::Value {
                what: "the PFC capability",
                accepted: "0 to 8",
                got: capability.into(),
            });
        }
        if enabled.len() > capability {
            let what = "the number of priorities with PFC";
            let accepted = "at most as many as the station's PFC capability";
            return Err(Error::Value { what, accepted, got: enabled.len().into() });
        }
        Ok(PfcTlv { willing, macsec_bypass: false, capability, enabled })
    }
    /// Returns the number of priorities for which the station supports PFC simultaneously, 0 to 8.
    pub fn capability(&self) -> u8 {
        self.capability
    }
    /// Returns the priorities with PFC.
    pub fn enabled(&self) -> PrioritySet {
        self.enabled
    }

    /// Reads the octets after the subtype.
    pub fn decode(bytes: &[u8]) -> Result<PfcTlv, Error> {
        let view = PfcTlvView::new(bytes)?;
        exactly("a PFC TLV behind its subtype", "2", bytes.len() == PfcTlvView::BYTES, bytes)?;
        let head = view.head();
        let legal = PfcTlv::new(head >> 7 == 1, head & 15, PrioritySet(view.enabled()))?;
        Ok(PfcTlv { macsec_bypass: head >> 6 & 1 == 1, ..legal })
    }

    /// Appends the octets after the subtype.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let bypass = u8::from(self.macsec_bypass) << 6;
        [u8::from(self.willing) << 7 | bypass | self.capability, self.enabled.0].put(out);
    }
}

/// Field that identifies an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ApplicationSelector")]
pub enum Selector {
    /// An EtherType; 0 stands for all that no other entry names.
    EtherType = 1,
    /// A port of TCP or SCTP.
    StreamPort = 2,
    /// A port of UDP or DCCP.
    DatagramPort = 3,
    /// A port of any of them.
    Port = 4,
    /// A code point of differentiated services (802.1Qcd).
    Dscp = 5,
}

impl Selector {
    const ALL: [Selector; 5] =
        [Selector::EtherType, Selector::StreamPort, Selector::DatagramPort, Selector::Port, Selector::Dscp];
}

/// The priority of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Application {
    /// Kind of identifier of the application.
    pub selector: Selector,
    /// EtherType, port or DSCP.
    pub protocol: u16,
    /// Priority of the application.
    pub priority: Pcp,
}

/// Formats the identifier and the priority, like "udp 4791: 3".
impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Application { selector, protocol, priority } = self;
        match selector {
            Selector::EtherType if *protocol == 0 => write!(f, "all others")?,
            Selector::EtherType => write!(f, "EtherType {protocol:#06x}")?,
            Selector::StreamPort => write!(f, "tcp {protocol}")?,
            Selector::DatagramPort => write!(f, "udp {protocol}")?,
            Selector::Port => write!(f, "port {protocol}")?,
            Selector::Dscp => write!(f, "dscp {protocol}")?,
        }
        write!(f, ": {}", priority.get())
    }
}

/// Application priorities: up to 168, the capacity of a TLV.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Applications(Vec<Application>);

impl Applications {
    /// Capacity of a TLV in entries of three octets: 511 octets, minus OUI, subtype and a reserved octet.
    pub const MOST: usize = (511 - 5) / 3;

    /// Creates a list of at most [`Self::MOST`] entries.
    pub fn new(entries: Vec<Application>) -> Result<Applications, Error> {
        if entries.len() > Self::MOST {
            let what = "the list of application priorities, in octets,";
            return Err(Error::Long { what, most: 3 * Self::MOST, got: 3 * entries.len() });
        }
        Ok(Applications(entries))
    }
    /// Returns the entries.
    pub fn entries(&self) -> &[Application] {
        &self.0
    }

    /// Reads the octets after the subtype.
    pub fn decode(bytes: &[u8]) -> Result<Applications, Error> {
        let (entries, ragged) = bytes.get(1..).unwrap_or_default().as_chunks::<3>();
        let what = "an application TLV behind its subtype";
        exactly(what, "1 + 3 for each entry", !bytes.is_empty() && ragged.is_empty(), bytes)?;
        let mut found = Vec::with_capacity(entries.len());
        for entry in entries {
            let wrong = Error::Value {
                what: "the selector of an application",
                accepted: "1 to 5",
                got: u64::from(entry[0] & 7),
            };
            let selector = Selector::ALL.into_iter().find(|one| *one as u8 == entry[0] & 7).ok_or(wrong)?;
            let priority = Pcp::of_top_bits(entry[0]);
            found.push(Application { selector, protocol: u16::read(&entry[1..]), priority });
        }
        Applications::new(found)
    }

    /// Appends the octets after the subtype.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(0);
        for entry in &self.0 {
            out.push(entry.priority.top_bits() | entry.selector as u8);
            entry.protocol.put(out);
        }
    }
}

/// Priorities for which a station supports congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CongestionTlv {
    /// Priorities with congestion notification (CNPVs).
    pub controlled: PrioritySet,
    /// Priorities whose congestion notification domain defence is ready.
    pub ready: PrioritySet,
}

impl CongestionTlv {
    /// Reads the octets after the subtype.
    pub fn decode(bytes: &[u8]) -> Result<CongestionTlv, Error> {
        exactly("a congestion notification TLV behind its subtype", "2", bytes.len() == 2, bytes)?;
        Ok(CongestionTlv { controlled: PrioritySet(bytes[0]), ready: PrioritySet(bytes[1]) })
    }

    /// Appends the octets after the subtype.
    pub fn encode(&self, out: &mut Vec<u8>) {
        [self.controlled.0, self.ready.0].put(out);
    }
}
