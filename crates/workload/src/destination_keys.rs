//! Keys of the senders, and of the destinations of frames and transfers. The caller, which has the fabric, resolves
//! names.

use keys::{Forms, by_form};
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{self, MapAccess, SeqAccess};
use serde::{Deserialize, Serialize};

/// One or several nodes: a name, "all", a pattern (`*`, "h1..h32", "leaf0/*"), or a list of these.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Nodes {
    /// A name, "all" or a pattern.
    One(String),
    /// A list of names and patterns.
    Several(Vec<String>),
}

/// Destination of frames or transfers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Receivers {
    /// Hosts, from which the destination is drawn with equal probability.
    Nodes(Nodes),
    /// Another selection of destinations, as a table.
    Table(ReceiversTable),
}

/// Selections of destinations that need a table.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiversTable {
    /// Uniform: each frame to one of these hosts, drawn with equal probability, never to the sender.
    Uniform(Nodes),
    /// Hot spot: each frame to one host with a given probability, otherwise to any other host.
    HotSpot(HotSpot),
    /// Permutation: each sender has its own destination, and each destination one sender.
    Permutation(Permutation),
    /// Multicast: each frame to all of these hosts, never to the sender; switches replicate it where the paths diverge. Needs a multicast channel, "M0" to "M3", of `[flow_control.credit]`.
    Multicast(Nodes),
}

/// Hot spot: a preferred destination.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotSpot {
    /// Preferred host. Required.
    pub host: String,
    /// Probability that a frame goes to the preferred host; otherwise it goes to one of all other hosts, with equal probability. A number, 0 to 1. Required.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: f64,
}

/// Pairing of senders with destinations.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Permutation {
    /// Random permutation without self-pairs, drawn from the seed of the scenario and the name of the flow.
    Word(PermutationWord),
    /// Rotation.
    Shift(Shift),
}

/// Random permutations by keyword.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermutationWord {
    /// Drawn at random, without self-pairs.
    Random,
}

/// Rotation: the i-th sender sends to the (i + shift)-th.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shift {
    /// Distance of the rotation, in senders. A count, at least 1, that is not a multiple of the number of senders. Required.
    pub shift: u64,
}

by_form!(Nodes, Receivers, Permutation);

impl Forms for Nodes {
    const EXPECTED: &'static str = "the name of a host, \"all\", a pattern with *, or a list of these";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        Ok(Nodes::One(text.to_string()))
    }
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Nodes::Several)
    }
}

impl Forms for Receivers {
    const EXPECTED: &'static str = "the name of a host, \"all\", a list of hosts, or a table with uniform, hot_spot, permutation or multicast";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        Nodes::text(text).map(Receivers::Nodes)
    }
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        Nodes::list(list).map(Receivers::Nodes)
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Self, A::Error> {
        ReceiversTable::deserialize(MapAccessDeserializer::new(table)).map(Receivers::Table)
    }
}

impl Forms for Permutation {
    const EXPECTED: &'static str = "\"random\", or a table with shift";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        Deserialize::deserialize(StrDeserializer::new(text)).map(Permutation::Word)
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Self, A::Error> {
        Deserialize::deserialize(MapAccessDeserializer::new(table)).map(Permutation::Shift)
    }
}
