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

/// A flow, or one flow per sender if `from` selects several hosts.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Unique name; with several senders, each flow is called `name[sender]`. Required.
    pub name: String,
    /// Sender: the name of a host, "all" hosts, a pattern, or a list of these. In a pattern, `*` matches any characters, "h1..h32" selects h1 to h32, and "leaf0/*" selects the hosts at leaf0. With the name of a switch, whole frames are created at that switch, without transmission time. Required.
    pub from: Nodes,
    /// Destination of the frames: a host; or several (a list, "all" or a pattern), from which each frame gets one at random with equal probability, never the sender; or a table `uniform`, `hot_spot`, `permutation` or `multicast`. With more than a million pairs of sender and destination, paths are not listed: switches look up each destination, the table `paths` is empty, and overtaken frames are not counted. Required.
    pub to: Receivers,
    /// Priority of all frames (IEEE 802.1Q). A whole number, 0 to 7. Default: 0 (best effort).
    #[serde(default)]
    #[schemars(range(min = 0, max = 7))]
    pub priority: u64,
    /// DSCP of all frames (RFC 2474), which the `maps` of switches convert to a traffic class. The class in `switch.maps` is also the priority of the frames, so that `priority` can be omitted. A whole number, 0 to 63. Default: none (switches use the priority).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 63))]
    pub dscp: Option<u64>,
    /// Color (drop precedence) of all frames, as marked by a meter at the edge: "green", "yellow" or "red"; queue managers can have separate settings for each (`yellow` and `red` of `red`). Default: color of the DSCP in `switch.maps.dscp_to_color`, otherwise "green".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<Color>,
    /// Virtual channel of all frames on links with credit-based flow control: a name, or a number as text, among the `channels` of `[flow_control.credit]`. It replaces `priority`. Default: the channel of the priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = "^([BO][0-7]|M[0-3]|[0-9]+)$"))]
    pub channel: Option<String>,
    /// If true, frames that lack credits may be bypassed by other frames of their virtual channel (`channels` of credits, "B0" to "B7"). On a connection, this applies only to frames of the sender, not to the reverse direction. Default: false.
    #[serde(default)]
    pub bypassable: bool,
    /// Length of frames, DA to FCS: a size with unit, 1 to 9238 B; or "imix"; or a table `uniform`, `bimodal`, `exponential`, `log_normal`, `bounded_pareto` or `empirical`. Default: "1522 B" (the largest tagged frame without jumbo support).
    #[serde(default = "full_frame")]
    pub frame: FrameText,
    /// Start time of the source. A time with unit. Default: "0 s".
    #[serde(default = "at_start")]
    pub start: Time,
    /// Stop time of the source. A time with unit, after `start`. Default: the duration of the simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// Traffic source: "greedy", or a table `constant`, `bernoulli`, `poisson`, `on_off`, `threads`, `streams`, `bursts` or `video` (open loop); or a table `window`, `request_response`, `tcp`, `conversation`, `mpi_exchange`, `fcoe`, `rdma` or `uet` (closed loop, with feedback from the receiver). Required.
    pub source: SourceText,
    /// Bits that count towards the rate of the source: "frame" (DA to FCS) or "wire" (with the line overhead of the sender's link). Default: "frame".
    #[serde(default)]
    pub rate_counts: RateBasis,
    /// Total bytes that each sender sends. The last frame is shortened to the remaining bytes and padded to 64 B, the smallest Ethernet frame; the padding counts as bytes sent, beyond the limit. With `request_response`, only whole requests count, with `conversation` and `fcoe` whole exchanges. A size with unit, or "unlimited". Default: "unlimited".
    #[serde(default = "no_limit")]
    pub limit: Or<Bytes, Unlimited>,
    /// Maximum random delay of each frame, uniformly distributed from 0; frames keep their order, and their rate does not change. Not for greedy sources, which send whenever the link is free, nor for closed-loop sources (over TCP: `send_jitter`). A time with unit. Default: "0 s" (no jitter).
    #[serde(default = "at_start")]
    pub jitter: Time,
    /// Changes of the source during the simulation, in order of time. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub script: Vec<Step>,
    /// UDP ports, or TCP ports of a closed-loop source: a table of `from` and `to`. Switches hash them (`path_choice`), and captures show them. Default: none (each flow has its own hash, drawn by its name from `path_seed`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<PortKeys>,
    /// Explicit route: names of the nodes to pass in order, from the first switch to the destination. The reverse direction of a connection uses the same links. Default: a shortest path; among several, a hash of the five-tuple, `path_seed` and the switch selects one (ECMP, RFC 2992), the same for both directions of a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<Vec<String>>,
}

/// Traffic source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SourceText {
    /// Open-loop arrival process.
    Pushed(Arrivals),
    /// Closed-loop source: two endpoints with feedback.
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
        keys::either("Traffic source.", both)
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

/// Change of a source: a stop or a start.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Time of the change. A time with unit, not before that of the previous entry. Required.
    pub at: Time,
    /// If true, the source stops sending. Exactly one of `stop` and `start` is true. Default: false.
    #[serde(default)]
    pub stop: bool,
    /// If true, the source resumes sending. Exactly one of `stop` and `start` is true. Default: false.
    #[serde(default)]
    pub start: bool,
    /// New rate (the peak rate of an on/off source), with `start`. A rate with unit, above 0. Default: unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
}
