//! The keys of reordering-tolerant recovery, its presets by name, and the choice between recoveries.

use super::checks;
use keys::{Choice, Keyed, Remark, Unused, by_form};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use units::{Computed, Or, Time};

/// Maximum number of packets that a receiver places beyond the expected one.
pub const LARGEST_WINDOW: u64 = 1 << 16;

/// Loss recovery of a queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum RdmaRecovery {
    /// The receiver drops packets that arrive out of order, and the sender retransmits everything from the first missing packet on.
    #[default]
    GoBackN,
    /// The receiver keeps packets that arrive out of order, and the sender retransmits only missing packets (IRN).
    Selective,
    /// The receiver places packets that arrive out of order, and reports losses, which distance and time distinguish from reordering.
    Reordering(ReorderingKeys),
}

const GO_BACK_N: &str = "The receiver drops packets that arrive out of order, and the sender retransmits everything from the first missing packet on.";
const SELECTIVE: &str = "The receiver keeps packets that arrive out of order, and the sender retransmits only missing packets (IRN).";
const REORDERING: &str = "The receiver places packets that arrive out of order; distance and time distinguish losses from reordering.";

impl RdmaRecovery {
    /// Returns true if the receiver keeps packets that arrive out of order.
    pub fn keeps(self) -> bool {
        self != RdmaRecovery::GoBackN
    }
    /// Returns the keys of reordering-tolerant recovery, if it is selected.
    pub fn reordering(&self) -> Option<&ReorderingKeys> {
        match self {
            RdmaRecovery::Reordering(keys) => Some(keys),
            _ => None,
        }
    }
}

impl Choice for RdmaRecovery {
    const EXPECTED: &'static str = "the name of a recovery, or a table of that name with its keys";
    const NAMES: &'static [&'static str] = &["go_back_n", "selective", "reordering"];
    const WITH_KEYS: &'static [&'static str] = &["reordering"];
    const TABLE: &'static str = "flows.source.rdma.recovery";

    fn plain(name: &str) -> Option<RdmaRecovery> {
        match name {
            "go_back_n" => Some(RdmaRecovery::GoBackN),
            "selective" => Some(RdmaRecovery::Selective),
            _ => None,
        }
    }
    fn keyed<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<RdmaRecovery, D::Error> {
        match name {
            "reordering" => ReorderingKeys::deserialize(table).map(RdmaRecovery::Reordering),
            other => Err(serde::de::Error::unknown_variant(other, Self::NAMES)),
        }
    }
}

by_form!(RdmaRecovery);

impl Serialize for RdmaRecovery {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RdmaRecovery::GoBackN => serializer.serialize_str("go_back_n"),
            RdmaRecovery::Selective => serializer.serialize_str("selective"),
            RdmaRecovery::Reordering(keys) => {
                serializer.serialize_newtype_variant("RdmaRecovery", 2, "reordering", keys)
            }
        }
    }
}

impl JsonSchema for RdmaRecovery {
    fn schema_name() -> Cow<'static, str> {
        "RdmaRecovery".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let keyed = Keyed::new::<ReorderingKeys>("reordering", REORDERING, generator);
        let plain = [("go_back_n", GO_BACK_N), ("selective", SELECTIVE)];
        keys::schema(
            "How lost packets are repaired: a name, or a table of that name with its keys.",
            &plain,
            vec![keyed],
        )
    }
}

/// Preset of reordering-tolerant recovery: defaults of the keys that a scenario omits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReorderingPreset {
    /// A bitmap of 1024 packets, and loss by distance and time (our choice: no vendor publishes its values).
    #[default]
    Roce,
    /// A NIC with adaptive routing whose receiver reports no losses; only the timeout recovers them (a model, not a data sheet).
    CxAr,
    /// The window and the distance of Falcon (NET-Falcon revision 0.9, second generation): 256 packets, more than 3 numbers ahead.
    Falcon,
}

/// Keys of reordering.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReorderingKeys {
    /// Preset that sets the defaults of the other keys. The name of a preset. Default: "roce".
    pub preset: ReorderingPreset,
    /// Reordering window: packets, starting at the next expected one, that the receiver places; also the maximum number of outstanding packets of the sender. A count, 1 to 65536. Default: 1024 (preset "roce"; the packet number range of MRC's example).
    #[schemars(range(min = 1, max = 65536))]
    pub window: u64,
    /// Distance in sequence numbers: a missing packet counts as lost only if a packet at least this far after it has arrived; with 1, only `time` decides. A count, 1 to 65536, below `window`. Default: 3 (preset "roce"; the initial value of RFC 8985).
    #[schemars(range(min = 1, max = 65536))]
    pub distance: u64,
    /// Minimum age: a missing packet counts as lost only if a later one arrived at least this long ago; with "0 s", only `distance` decides. A time with unit; or "computed": a quarter of the base round trip, but at least 128 us (400 kB at 25 Gb/s, above which the HPCC paper marks all packets). Default: "computed".
    pub time: Or<Time, Computed>,
    /// If true, the receiver reports losses by NAKs; if false, only the timeout recovers them. Default: true (preset "roce").
    pub nak: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    preset: ReorderingPreset,
    #[serde(default)]
    window: Option<u64>,
    #[serde(default)]
    distance: Option<u64>,
    #[serde(default)]
    time: Option<Or<Time, Computed>>,
    #[serde(default)]
    nak: Option<bool>,
}

impl<'de> Deserialize<'de> for ReorderingKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ReorderingKeys, D::Error> {
        let written = Written::deserialize(deserializer)?;
        let preset = written.preset.keys();
        Ok(ReorderingKeys {
            preset: written.preset,
            window: written.window.unwrap_or(preset.window),
            distance: written.distance.unwrap_or(preset.distance),
            time: written.time.unwrap_or(preset.time),
            nak: written.nak.unwrap_or(preset.nak),
        })
    }
}

impl Default for ReorderingKeys {
    fn default() -> ReorderingKeys {
        ReorderingPreset::Roce.keys()
    }
}

impl ReorderingPreset {
    /// Returns all keys of the preset.
    pub fn keys(self) -> ReorderingKeys {
        let roce = ReorderingKeys { preset: self, window: 1024, distance: 3, time: Or::word(), nak: true };
        match self {
            ReorderingPreset::Roce => roce,
            ReorderingPreset::CxAr => ReorderingKeys { nak: false, ..roce },
            ReorderingPreset::Falcon => ReorderingKeys { window: 256, distance: 4, ..roce },
        }
    }
}

impl ReorderingKeys {
    /// Maximum time by which a packet may be delayed more than one that overtakes it: 400 kB at 25 Gb/s (HPCC, SIGCOMM
    /// 2019, section 5.1: Kmax, in proportion to the rate).
    pub const DEEPEST_QUEUE: Time = Time::from_us(128);

    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let mut wrong = Vec::new();
        if !(1..=LARGEST_WINDOW).contains(&self.window) {
            let message = format!("a window of {} packets", self.window);
            wrong.push(Remark::about("window", message, format!("expected 1 to {LARGEST_WINDOW}")));
        }
        wrong.extend(checks::count("distance", self.distance, LARGEST_WINDOW));
        if self.distance == 0 {
            wrong.push(Remark::about(
                "distance",
                "a distance of 0",
                "expected 1 or more: time alone decides",
            ));
        } else if wrong.is_empty() && self.nak && self.distance >= self.window {
            let message = format!("a distance of {} in a window of {} packets", self.distance, self.window);
            let help = "no packet can be so far ahead, so that no loss is reported: expected a distance below the window, or nak = false";
            wrong.push(Remark::about("distance", message, help));
        }
        wrong
    }

    /// Returns the keys that have no effect.
    pub fn unused(&self) -> Vec<Remark> {
        Unused::of(self, &self.preset.keys()).unless(self.nak, "nak = true", &["distance", "time"]).remarks()
    }
}
