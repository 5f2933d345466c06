//! What an administrator writes: the settings of an agent, as keys of a file.

use crate::rules::{Administered, Dialect, Profile, TieBreak};
use serde::Deserialize;
use wire::ieee::{Algorithm, Application, EtsTable, PfcTlv, Selector};
use wire::{Error, Pcp, PrioritySet};

/// The settings of one port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// ETS.
    pub ets: Ets,
    /// PFC.
    pub pfc: Pfc,
    /// Priorities of applications, at most 168. They go before those of the peer. Default: none.
    pub applications: Vec<Entry>,
    /// Which of two willing ends adopts the PFC of the other: "lower_adopts", the one with the lower address, as lldpad
    /// has it, or "lower_wins", the other one. Both ends must have the same. Default: "lower_adopts".
    pub tie_break: TieBreak,
    /// Which DCBX the port speaks: "standard", "older" (version 1.01), or "either": that of the standard, and the older one
    /// beside it with a peer that speaks only that. Default: "either".
    pub dialect: Dialect,
}

impl Settings {
    /// What the rules work with.
    pub fn administered(&self) -> (Administered, Profile) {
        let admin = Administered {
            ets: self.ets.own.0,
            classes: self.ets.traffic_classes,
            ets_willing: self.ets.willing,
            recommendation: self.ets.recommended.as_ref().map(|table| table.0),
            pfc: self.pfc.tlv,
            exchanges_pfc: self.pfc.exchanged,
            applications: self.applications.iter().map(|entry| entry.0).collect(),
        };
        (admin, Profile { tie_break: self.tie_break, dialect: self.dialect })
    }
}

/// ETS of a port.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "EtsText")]
pub struct Ets {
    willing: bool,
    traffic_classes: u8,
    own: Table,
    recommended: Option<Table>,
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct EtsText {
    /// Whether the port does what its peer recommends. Default: true.
    willing: bool,
    /// How many traffic classes the port has, 1 to 8. Default: 8.
    traffic_classes: u8,
    /// What the port does. Default: priority n in traffic class n, all strict.
    own: Table,
    /// What it recommends to its peer. Default: nothing.
    recommended: Option<Table>,
}

impl Default for EtsText {
    fn default() -> EtsText {
        EtsText { willing: true, traffic_classes: 8, own: Table::default(), recommended: None }
    }
}

impl Default for Ets {
    fn default() -> Ets {
        let EtsText { willing, traffic_classes, own, recommended } = EtsText::default();
        Ets { willing, traffic_classes, own, recommended }
    }
}

impl TryFrom<EtsText> for Ets {
    type Error = String;

    fn try_from(text: EtsText) -> Result<Ets, String> {
        let EtsText { willing, traffic_classes, own, recommended } = text;
        if !(1..=8).contains(&traffic_classes) {
            return Err(format!("traffic_classes is {traffic_classes}, expected 1 to 8"));
        }
        if let Some(class) = own.0.classes().into_iter().find(|&class| class >= traffic_classes) {
            return Err(format!(
                "own has traffic class {class}, expected 0 to {}: traffic_classes is {traffic_classes}",
                traffic_classes - 1
            ));
        }
        Ok(Ets { willing, traffic_classes, own, recommended })
    }
}

/// Priorities, traffic classes, and how these are served.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "TableText")]
struct Table(EtsTable);

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TableText {
    /// Traffic class of each of the eight priorities, 0 to 7. Default: priority n in class n.
    classes: [u8; 8],
    /// Per cent of each traffic class, up to eight; those of ETS classes sum to 100. Default: 0 each.
    percent: Vec<u8>,
    /// How each traffic class is served, up to eight: "strict", "credit_based_shaper", "ets" or "vendor". Default:
    /// "strict" each.
    algorithms: Vec<Algorithm>,
}

impl Default for TableText {
    fn default() -> TableText {
        TableText { classes: [0, 1, 2, 3, 4, 5, 6, 7], percent: Vec::new(), algorithms: Vec::new() }
    }
}

impl Default for Table {
    fn default() -> Table {
        Table(EtsTable::STRICT)
    }
}

impl TryFrom<TableText> for Table {
    type Error = String;

    fn try_from(text: TableText) -> Result<Table, String> {
        let percent = of_classes("percent", &text.percent, 0)?;
        let algorithms = of_classes("algorithms", &text.algorithms, Algorithm::Strict)?;
        for (class, (&share, algorithm)) in percent.iter().zip(algorithms).enumerate() {
            if share > 0 && algorithm != Algorithm::Ets {
                return Err(format!("class {class} has a share of {share} % and is not \"ets\", expected 0"));
            }
        }
        EtsTable::new(text.classes, percent, algorithms).map(Table).map_err(told)
    }
}

/// A value for each traffic class, of a list that may end earlier.
fn of_classes<T: Copy>(key: &str, list: &[T], rest: T) -> Result<[T; 8], String> {
    if list.len() > 8 {
        return Err(format!("{key} has {} entries, expected at most 8: one a traffic class", list.len()));
    }
    Ok(std::array::from_fn(|class| list.get(class).copied().unwrap_or(rest)))
}

/// PFC of a port.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "PfcText")]
pub struct Pfc {
    exchanged: bool,
    tlv: PfcTlv,
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PfcText {
    /// Whether PFC is part of the exchange. Default: true.
    exchanged: bool,
    /// Whether the port adopts what its peer has. Default: true.
    willing: bool,
    /// Priorities with PFC. Default: none.
    priorities: Vec<u8>,
    /// For how many priorities at once the port can have PFC, 0 to 8. Default: 8.
    capability: u8,
    /// The bit MBC, as it is sent. Default: false.
    macsec_bypass: bool,
}

impl Default for PfcText {
    fn default() -> PfcText {
        PfcText {
            exchanged: true,
            willing: true,
            priorities: Vec::new(),
            capability: 8,
            macsec_bypass: false,
        }
    }
}

impl Default for Pfc {
    fn default() -> Pfc {
        Pfc { exchanged: true, tlv: PfcTlv::WILLING }
    }
}

impl TryFrom<PfcText> for Pfc {
    type Error = String;

    fn try_from(text: PfcText) -> Result<Pfc, String> {
        let mut set = 0u8;
        for &priority in &text.priorities {
            let bit = 1u8 << Pcp::new(priority).map_err(told)?.get();
            if set & bit != 0 {
                return Err(format!("priority {priority} occurs twice, expected once"));
            }
            set |= bit;
        }
        let mut tlv = PfcTlv::new(text.willing, text.capability, PrioritySet(set)).map_err(told)?;
        tlv.macsec_bypass = text.macsec_bypass;
        Ok(Pfc { exchanged: text.exchanged, tlv })
    }
}

/// The priority of an application.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "EntryText")]
pub struct Entry(Application);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryText {
    /// What the application is known by: "ether_type", "stream_port" (TCP, SCTP), "datagram_port" (UDP, DCCP), "port" (any
    /// of them) or "dscp". Required.
    selector: Selector,
    /// EtherType (0: all that no other entry names), port, or code point 0 to 63. Required.
    protocol: u16,
    /// Its priority, 0 to 7. Required.
    priority: u8,
}

impl TryFrom<EntryText> for Entry {
    type Error = String;

    fn try_from(text: EntryText) -> Result<Entry, String> {
        let EntryText { selector, protocol, priority } = text;
        let accepted = match selector {
            Selector::EtherType if (1..0x600).contains(&protocol) => "an EtherType from 0x600, or 0",
            Selector::Dscp if protocol > 63 => "a code point from 0 to 63",
            _ => {
                return Ok(Entry(Application {
                    selector,
                    protocol,
                    priority: Pcp::new(priority).map_err(told)?,
                }));
            }
        };
        Err(format!("protocol is {protocol}, expected {accepted}"))
    }
}

/// What a scenario's reader tells apart: what is wrong, and what is accepted.
fn told(error: Error) -> String {
    match error {
        Error::Value { what, accepted, got } => format!("{what} is {got}, expected {accepted}"),
        other => other.to_string(),
    }
}
