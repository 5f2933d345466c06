//! `[[flows]]`: the traffic between hosts.

use super::PortKeys;
use keys::{Choice, by_form};
use queueing::Color;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use transport::Applications;
use units::{BitRate, Bytes, Or, Time, Unlimited};
use workload::{Arrivals, FrameText, Nodes, RateBasis, Receivers};

fn at_start() -> Time {
    Time::ZERO
}
fn full_frame() -> FrameText {
    FrameText::Fixed(Bytes::new(u64::from(frame::MAX_TAGGED_FRAME_BYTES)))
}
fn no_limit() -> Or<Bytes, Unlimited> {
    Or::word()
}

/// One flow, or one flow for each of several senders.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Unique name; with several senders the flows are called `name[sender]`. Required.
    pub name: String,
    /// The sender: the name of a host, "all" hosts, a pattern, or a list of these. In a pattern `*` matches any characters, "h1..h32" selects h1 to h32, and "leaf0/*" selects the hosts at leaf0. With the name of a switch, whole frames are created there, without transmission time. Required.
    pub from: Nodes,
    /// Where frames go: a host; or several (a list, "all" or a pattern), each frame to one of them, equally likely and never to the sender; or a table `uniform`, `hot_spot` or `permutation`. Beyond a million pairs of sender and destination no paths are listed: switches look each destination up, the table `paths` is empty, and frames that were overtaken are not counted. Required.
    pub to: Receivers,
    /// Priority of all frames (IEEE 802.1Q). A whole number, 0 to 7. Default: 0 (best effort).
    #[serde(default)]
    #[schemars(range(min = 0, max = 7))]
    pub priority: u64,
    /// DSCP of all frames (RFC 2474), which the `maps` of switches convert to a traffic class. The maps of all switches must give the same class, which is also the priority of the frames; `priority` can then be omitted. A whole number, 0 to 63. Default: none (switches use the priority).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 63))]
    pub dscp: Option<u64>,
    /// Color of all frames, as marked by a meter at the edge: "green", "yellow" or "red"; queue managers can have separate settings for each (`yellow` and `red` of `red`). Default: color of the DSCP by `maps.dscp_to_color` of all switches, otherwise "green".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<Color>,
    /// The virtual channel of all frames, where links have credits: a name, or a number as text, among the `channels` of `[flow_control.credit]`. In place of `priority`. Default: the channel of the priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^([BO][0-7]|M[0-3]|[0-9]+)$"))]
    pub channel: Option<String>,
    /// If true, other frames of its virtual channel may pass its frames while these lack credits (`channels` of credits, "B0" to "B7"). On a connection this applies to the frames of the sender only, not to the reverse direction. Default: false.
    #[serde(default)]
    pub bypassable: bool,
    /// Length of frames, DA to FCS: a size with unit, 1 to 9238 B; or "imix"; or a table `uniform`, `bimodal`, `exponential`, `log_normal` or `empirical`. Default: "1522 B" (the largest tagged frame without jumbo support).
    #[serde(default = "full_frame")]
    pub frame: FrameText,
    /// Start of the source. A time with unit. Default: "0 s".
    #[serde(default = "at_start")]
    pub start: Time,
    /// End of the source. A time with unit, after `start`. Default: the duration of the simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// When frames are due: "greedy" or a table `constant`, `bernoulli`, `poisson` or `on_off`; or endpoints that answer each other: a table `window`, `request_response`, `tcp`, `conversation`, `mpi_exchange`, `fcoe`, `rdma` or `uet`. Required.
    pub source: SourceText,
    /// Bits that a rate counts: "frame" (DA to FCS) or "wire" (with the line overhead of the sender's link). Default: "frame".
    #[serde(default)]
    pub rate_counts: RateBasis,
    /// Bytes that each sender sends in total. The last frame is cut to the rest and padded to 64 B, the smallest Ethernet frame; the padding counts as bytes sent, beyond the limit. With `request_response` only whole requests count, with `conversation` and `fcoe` whole exchanges. A size with unit, or "unlimited". Default: "unlimited".
    #[serde(default = "no_limit")]
    pub limit: Or<Bytes, Unlimited>,
    /// Delays each frame by a random time, uniform from 0 to this; frames keep their order, and their rate does not change. A greedy source has none, as it sends when the link is free; nor have endpoints that answer each other (over TCP: `send_jitter`). A time with unit. Default: "0 s" (sources are exact).
    #[serde(default = "at_start")]
    pub jitter: Time,
    /// Changes while the simulation runs, in order of time. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub script: Vec<Step>,
    /// Ports of UDP, or of TCP where endpoints answer each other: a table of `from` and `to`. Switches hash them (`path_choice`), captures show them. Default: none is given; each flow has a hash of its own, drawn by its name from `path_seed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<PortKeys>,
    /// Names of the nodes to pass in order, from the first switch to the destination; what the far end of a connection answers takes the same links back. Default: a shortest path; where there are several, a hash of the five-tuple, `path_seed` and the switch picks one (ECMP, RFC 2992), in both directions of a connection the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<Vec<String>>,
}

/// When frames are due.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SourceText {
    /// An arrival process pushes them.
    Pushed(Arrivals),
    /// Endpoints answer each other.
    Answered(Applications),
}

/// Names of arrival processes without keys.
const GREEDY: &[&str] = &["greedy"];
const WITH_KEYS: usize = Arrivals::NAMES.len() + Applications::NAMES.len();
const SOURCES: &[&str] = &keys::joined::<WITH_KEYS>(Arrivals::NAMES, Applications::NAMES);

impl Choice for SourceText {
    const EXPECTED: &'static str = "\"greedy\", or a table of the name of a source with its keys";
    const NAMES: &'static [&'static str] = &keys::joined::<{ WITH_KEYS + 1 }>(GREEDY, SOURCES);
    const WITH_KEYS: &'static [&'static str] = SOURCES;
    const TABLE: &'static str = "flows.source";

    fn plain(name: &str) -> Option<SourceText> {
        GREEDY.contains(&name).then_some(SourceText::Pushed(Arrivals::Greedy))
    }
    fn keyed<'de, D: Deserializer<'de>>(name: &str, table: D) -> Result<SourceText, D::Error> {
        let read = if Arrivals::NAMES.contains(&name) {
            Arrivals::keyed(name, table).map(SourceText::Pushed)
        } else {
            Applications::keyed(name, table).map(SourceText::Answered)
        };
        read.map_err(|why| {
            let refused = refused_transport(name, &why.to_string());
            refused.map_or(why, serde::de::Error::custom)
        })
    }
}

/// Explains why serde rejects a transport as a key of a source, with the accepted values. Returns `None` if the key is
/// not a transport.
fn refused_transport(source: &str, why: &str) -> Option<String> {
    let (key, _) = why.strip_prefix("unknown field `")?.split_once('`')?;
    let application = if Arrivals::NAMES.contains(&source) { "pushed" } else { source };
    transport::refused(application, key).map(|why| format!("{}; {}", why.message, why.help))
}

by_form!(SourceText);

impl JsonSchema for SourceText {
    fn schema_name() -> Cow<'static, str> {
        "SourceText".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let both = [Arrivals::json_schema(generator), Applications::json_schema(generator)];
        keys::either("When frames are due.", both)
    }
}

impl SourceText {
    /// Returns the name of the source's table, or its word.
    pub fn name(&self) -> &'static str {
        match self {
            SourceText::Pushed(arrivals) => arrivals.name(),
            SourceText::Answered(application) => application.name(),
        }
    }
    /// Returns true if the source uses the full rate of the link.
    pub fn is_greedy(&self) -> bool {
        *self == SourceText::Pushed(Arrivals::Greedy)
    }
    /// Returns the application whose endpoints generate the traffic, if any.
    pub fn application(&self) -> Option<&Applications> {
        match self {
            SourceText::Pushed(_) => None,
            SourceText::Answered(application) => Some(application),
        }
    }
}

/// A change of a source.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Time of the step. A time with unit, not before that of the step above. Required.
    pub at: Time,
    /// If true, the source stops sending. Exactly one of `stop` and `start` is true. Default: false.
    #[serde(default)]
    pub stop: bool,
    /// If true, the source resumes sending. Exactly one of `stop` and `start` is true. Default: false.
    #[serde(default)]
    pub start: bool,
    /// The new rate (the peak rate of an on/off source), with `start`. A rate with unit, above 0. Default: as before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}
