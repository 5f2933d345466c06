//! Administrative settings of an agent, as keys of a file.

use crate::rules::{Administered, Dialect, Profile, TieBreak};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use wire::ieee::{Algorithm, Application, EtsTable, PfcTlv, Selector};
use wire::{Error, Pcp, PrioritySet};

/// DCBX settings of one port, or of all ports of a station.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "DcbxKeys")]
pub struct Settings {
    /// Enhanced transmission selection (ETS): configuration of the port, and recommendation to its peer. Default: all keys at their defaults.
    pub ets: Ets,
    /// Priority-based flow control (PFC): configuration of the port, and willingness to adopt that of its peer. Default: all keys at their defaults.
    pub pfc: Pfc,
    /// Application priorities, at most 168. Entries take precedence over those of the peer. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "all_different")]
    pub applications: Vec<Entry>,
    /// Tie break for PFC if both ends are willing: "lower_adopts" (the end with the lower MAC address adopts the settings of the other, as in lldpad) or "lower_wins" (the other end adopts). Both ends must have the same value. Default: "lower_adopts".
    pub tie_break: TieBreak,
    /// DCBX version: "standard" (IEEE 802.1Q), "older" (version 1.01), "oldest" (version 1.00), or "either": the standard, and an older version with a peer that supports only that. Default: "either".
    pub dialect: Dialect,
    /// Uplink port: in a scenario the name of a neighbour, for `penstock dcbx run` an interface. All other ports advertise and recommend the operational settings of the uplink; their own classes, shares and priorities have no effect. In a scenario, these ports are not willing, and stations without a link to that neighbour advertise their own settings. Default: none (the standard has no such rule).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink: Option<String>,
}

/// Defaults of omitted settings: strict priorities alone, or the other settings of a station in a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// ETS.
    pub ets: EtsTable,
    /// Priorities with PFC.
    pub pfc: PrioritySet,
}

impl Settings {
    /// Returns the keys of `pfc` that have no effect, and the setting that each requires.
    pub fn unused_of_pfc(&self) -> Vec<(&'static str, &'static str)> {
        let usual = PfcTlv::WILLING;
        let all = [
            ("willing", self.pfc.tlv.willing != usual.willing),
            ("macsec_bypass", self.pfc.tlv.macsec_bypass != usual.macsec_bypass),
        ];
        let found = all.into_iter().filter(|(_, is_written)| *is_written && !self.pfc.exchanged);
        found.map(|(key, _)| (key, "exchanged = true")).collect()
    }

    /// Returns the administered settings and the profile. Returns an error if the port has fewer traffic classes than
    /// the settings use.
    pub fn administered(&self) -> Result<(Administered, Profile), Error> {
        let nothing = Beside { ets: EtsTable::STRICT, pfc: PrioritySet::default() };
        self.administered_by(self.pfc.tlv, &nothing)
    }

    /// Variant of `administered` that fills omitted keys from other settings of a station. Also returns an error if the
    /// port supports PFC for fewer priorities.
    pub fn administered_beside(&self, beside: &Beside) -> Result<(Administered, Profile), Error> {
        let own = self.pfc.tlv;
        let enabled = if self.pfc.says_priorities { own.enabled() } else { beside.pfc };
        let mut pfc = PfcTlv::new(own.willing, own.capability(), enabled)?;
        pfc.macsec_bypass = own.macsec_bypass;
        self.administered_by(pfc, beside)
    }

    /// Returns the port's own ETS table, if it is set.
    pub fn own_ets(&self) -> Option<EtsTable> {
        self.ets.own.as_ref().map(|table| table.0)
    }

    fn administered_by(&self, pfc: PfcTlv, beside: &Beside) -> Result<(Administered, Profile), Error> {
        let admin = Administered {
            ets: self.own_ets().unwrap_or(beside.ets),
            classes: self.ets.traffic_classes,
            ets_willing: self.ets.willing,
            recommendation: self.ets.recommended.as_ref().map(|table| table.0),
            pfc,
            exchanges_pfc: self.pfc.exchanged,
            applications: self.applications.iter().map(|entry| entry.0).collect(),
        };
        if let Some(class) = admin.ets.classes().into_iter().find(|&class| class >= admin.classes) {
            let (what, accepted) = ("a traffic class of a priority", "those below traffic_classes");
            return Err(Error::Value { what, accepted, got: class.into() });
        }
        Ok((admin, Profile { tie_break: self.tie_break, dialect: self.dialect }))
    }
}

/// Reads application priorities, and rejects duplicates.
fn all_different<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Entry>, D::Error> {
    let list: Vec<Entry> = Vec::deserialize(deserializer)?;
    let known_as = |entry: &Entry| (entry.0.selector, entry.0.protocol);
    let twice = list
        .iter()
        .enumerate()
        .find(|(at, entry)| list[..*at].iter().any(|before| known_as(before) == known_as(entry)));
    match twice {
        None => Ok(list),
        Some((at, entry)) => {
            let first = list.iter().position(|before| known_as(before) == known_as(entry)).unwrap_or(0);
            Err(D::Error::custom(format!(
                "entries {first} and {at} name the same application, expected one priority for each"
            )))
        }
    }
}

/// ETS of a port.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "EtsKeys", into = "EtsKeys")]
#[schemars(try_from = "EtsKeys")]
pub struct Ets {
    willing: bool,
    traffic_classes: u8,
    own: Option<Table>,
    recommended: Option<Table>,
}

/// ETS settings that a port exchanges.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "DcbxEtsKeys")]
struct EtsKeys {
    /// Willing bit of ETS: if true, the port adopts the ETS settings that its peer recommends. Default: true (a station without settings adopts those of its switch).
    willing: bool,
    /// Number of traffic classes of the port. A count, 1 to 8. Default: 8.
    #[schemars(range(min = 1, max = 8))]
    traffic_classes: u8,
    /// ETS configuration of the port, unless it adopts a recommendation. Default: the configuration of its scheduler; without a scenario, priority n in traffic class n, all strict.
    #[serde(skip_serializing_if = "Option::is_none")]
    own: Option<Table>,
    /// ETS recommendation to the peer. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    recommended: Option<Table>,
}

impl Default for EtsKeys {
    fn default() -> EtsKeys {
        EtsKeys { willing: true, traffic_classes: 8, own: None, recommended: None }
    }
}

impl Default for Ets {
    fn default() -> Ets {
        let EtsKeys { willing, traffic_classes, own, recommended } = EtsKeys::default();
        Ets { willing, traffic_classes, own, recommended }
    }
}

impl From<Ets> for EtsKeys {
    fn from(Ets { willing, traffic_classes, own, recommended }: Ets) -> EtsKeys {
        EtsKeys { willing, traffic_classes, own, recommended }
    }
}

impl TryFrom<EtsKeys> for Ets {
    type Error = String;

    fn try_from(text: EtsKeys) -> Result<Ets, String> {
        let EtsKeys { willing, traffic_classes, own, recommended } = text;
        if !(1..=8).contains(&traffic_classes) {
            return Err(format!("traffic_classes is {traffic_classes}, expected 1 to 8"));
        }
        let classes = own.iter().flat_map(|table| table.0.classes());
        if let Some(class) = classes.into_iter().find(|&class| class >= traffic_classes) {
            return Err(format!(
                "own has traffic class {class}, expected 0 to {}: traffic_classes is {traffic_classes}",
                traffic_classes - 1
            ));
        }
        Ok(Ets { willing, traffic_classes, own, recommended })
    }
}

/// ETS table: traffic classes, their bandwidth shares and transmission selection algorithms.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "TableKeys", into = "TableKeys")]
#[schemars(try_from = "TableKeys")]
struct Table(EtsTable);

/// ETS table: traffic classes, their bandwidth shares and transmission selection algorithms.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "DcbxTableKeys")]
struct TableKeys {
    /// Traffic class of each of the eight priorities, 0 to 7. Default: priority n in class n.
    classes: [u8; 8],
    /// Bandwidth share of each traffic class, in per cent. Up to eight numbers; those of ETS classes sum to 100. Default: none (0 each).
    percent: Vec<u8>,
    /// Transmission selection algorithm of each traffic class: "strict", "credit_based_shaper", "ets" or "vendor". Up to eight names. Default: none ("strict" each).
    algorithms: Vec<Algorithm>,
}

impl Default for TableKeys {
    fn default() -> TableKeys {
        TableKeys { classes: [0, 1, 2, 3, 4, 5, 6, 7], percent: Vec::new(), algorithms: Vec::new() }
    }
}

impl From<Table> for TableKeys {
    fn from(Table(table): Table) -> TableKeys {
        let (percent, algorithms) = (table.percent().to_vec(), table.algorithms().to_vec());
        TableKeys { classes: table.classes(), percent, algorithms }
    }
}

impl TryFrom<TableKeys> for Table {
    type Error = String;

    fn try_from(text: TableKeys) -> Result<Table, String> {
        let percent = of_classes("percent", &text.percent, 0)?;
        let algorithms = of_classes("algorithms", &text.algorithms, Algorithm::Strict)?;
        for (class, (&share, algorithm)) in percent.iter().zip(algorithms).enumerate() {
            if share > 0 && algorithm != Algorithm::Ets {
                return Err(format!("class {class} has a share of {share} % and is not \"ets\", expected 0"));
            }
        }
        EtsTable::new(text.classes, percent, algorithms).map(Table).map_err(message)
    }
}

/// Expands a list to one value per traffic class, with `rest` for the classes that it omits.
fn of_classes<T: Copy>(key: &str, list: &[T], rest: T) -> Result<[T; 8], String> {
    if list.len() > 8 {
        return Err(format!("{key} has {} entries, expected at most 8: one a traffic class", list.len()));
    }
    Ok(std::array::from_fn(|class| list.get(class).copied().unwrap_or(rest)))
}

/// PFC of a port.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "PfcKeys", into = "PfcKeys")]
#[schemars(try_from = "PfcKeys")]
pub struct Pfc {
    exchanged: bool,
    says_priorities: bool,
    tlv: PfcTlv,
}

/// PFC settings that a port exchanges.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "DcbxPfcKeys")]
struct PfcKeys {
    /// If true, the port sends and accepts the PFC TLV. Default: true.
    exchanged: bool,
    /// Willing bit of PFC: if true, the port adopts the PFC priorities of its peer. Default: true (a station without settings adopts those of its switch).
    willing: bool,
    /// Priorities with PFC, 0 to 7 each, unless the port adopts others. Default: the priorities of its flow control; without a scenario, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    priorities: Option<Vec<u8>>,
    /// PFC capability: number of priorities that can have PFC at the same time. A count, 0 to 8. Default: 8.
    #[schemars(range(min = 0, max = 8))]
    capability: u8,
    /// MACsec bypass capability (MBC) bit in the PFC TLV that the port sends. Default: false.
    macsec_bypass: bool,
}

impl Default for PfcKeys {
    fn default() -> PfcKeys {
        PfcKeys { exchanged: true, willing: true, priorities: None, capability: 8, macsec_bypass: false }
    }
}

impl Default for Pfc {
    fn default() -> Pfc {
        Pfc { exchanged: true, says_priorities: false, tlv: PfcTlv::WILLING }
    }
}

impl From<Pfc> for PfcKeys {
    fn from(Pfc { exchanged, says_priorities, tlv }: Pfc) -> PfcKeys {
        let enabled = (0..8).filter(|priority| tlv.enabled().0 >> priority & 1 == 1);
        PfcKeys {
            exchanged,
            willing: tlv.willing,
            priorities: says_priorities.then(|| enabled.collect()),
            capability: tlv.capability(),
            macsec_bypass: tlv.macsec_bypass,
        }
    }
}

impl TryFrom<PfcKeys> for Pfc {
    type Error = String;

    fn try_from(text: PfcKeys) -> Result<Pfc, String> {
        let mut set = 0u8;
        for &priority in text.priorities.iter().flatten() {
            let bit = 1u8 << Pcp::new(priority).map_err(message)?.get();
            if set & bit != 0 {
                return Err(format!("priority {priority} occurs twice, expected once"));
            }
            set |= bit;
        }
        let mut tlv = PfcTlv::new(text.willing, text.capability, PrioritySet(set)).map_err(message)?;
        tlv.macsec_bypass = text.macsec_bypass;
        Ok(Pfc { exchanged: text.exchanged, says_priorities: text.priorities.is_some(), tlv })
    }
}

/// Application priority.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "EntryKeys", into = "EntryKeys")]
#[schemars(try_from = "EntryKeys")]
pub struct Entry(Application);

/// Application priority that a port exchanges.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DcbxApplicationKeys")]
struct EntryKeys {
    /// Field that identifies the application: "ether_type", "stream_port" (TCP, SCTP), "datagram_port" (UDP, DCCP), "port" (any of them) or "dscp". Required.
    selector: Selector,
    /// Value of that field: an EtherType (0: default priority, for traffic that no other entry names), a port, or a DSCP, 0 to 63. Required.
    protocol: u16,
    /// Priority of the application. A whole number, 0 to 7. Required.
    #[schemars(range(min = 0, max = 7))]
    priority: u8,
}

impl From<Entry> for EntryKeys {
    fn from(Entry(Application { selector, protocol, priority }): Entry) -> EntryKeys {
        EntryKeys { selector, protocol, priority: priority.get() }
    }
}

impl TryFrom<EntryKeys> for Entry {
    type Error = String;

    fn try_from(text: EntryKeys) -> Result<Entry, String> {
        let EntryKeys { selector, protocol, priority } = text;
        let accepted = match selector {
            Selector::EtherType if (1..0x600).contains(&protocol) => "an EtherType from 0x600, or 0",
            Selector::Dscp if protocol > 63 => "a code point from 0 to 63",
            _ => {
                return Ok(Entry(Application {
                    selector,
                    protocol,
                    priority: Pcp::new(priority).map_err(message)?,
                }));
            }
        };
        Err(format!("protocol is {protocol}, expected {accepted}"))
    }
}

/// Formats an error as the scenario's reader does, with the invalid value apart from the accepted ones.
fn message(error: Error) -> String {
    match error {
        Error::Value { what, accepted, got } => format!("{what} is {got}, expected {accepted}"),
        other => other.to_string(),
    }
}
