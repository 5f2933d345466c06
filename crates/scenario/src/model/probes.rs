//! What is recorded beside the totals.

use super::yes;
use fabric::spec::Watched;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Off, Or, Time};

/// What is recorded beside the totals: a table for all time series, or a list that chooses.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ProbesText {
    /// All series, with bins of one width.
    All(Probes),
    /// Those of the list, and nothing else: `[[probes]]`.
    Chosen(Vec<ProbeText>),
}

/// What is recorded beside the totals, of everything.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probes {
    /// Width of the bins of all time series. A time with unit, above 0, or "off" for no series. At most 1000000 bins. Default: a 500th of `duration`, rounded up to whole nanoseconds (500 points fill a plot). Of each kind (flows, ports, their classes, queues) the 256 series in which most happens are kept, at most 1000000 bins together. A kind that would take more than 64 MiB has none, and a run says so; `[[probes]]` chooses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bin: Option<Or<Time, Off>>,
    /// Whether each pause is recorded as an interval. Default: true.
    #[serde(default = "yes")]
    pub pauses: bool,
}

/// Something to record: time series, or the pauses.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeText {
    /// What is recorded: "flow" (what arrives and is read), "port" (what is sent and received), "class" (what each class of a port sends), "queue" (the most that waits, and ingress counters), or "pauses" (each as an interval). Required.
    pub what: WhatText,
    /// Of which: a name, a pattern with `*`, numbers as in "h1..h32", a list of these, "all", or "the 20 busiest": those in which most happens. A flow has its name or that of its group, a port its own ("sw.0->h1") or that of its node, a queue or class that of its port, its node, or node and class ("leaf0/3"). Default: "all".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub which: Option<WhichText>,
    /// Width of the bins. A time with unit, above 0; at most 1000000 bins. Not for pauses, which are recorded as they are. Default: a 500th of `duration`, rounded up to whole nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
}

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhatText {
    /// What of a flow arrives at its destination.
    Flow,
    /// What a port sends and receives.
    Port,
    /// What a class of a port sends.
    Class,
    /// What waits in a queue.
    Queue,
    /// Each pause, from its beginning to its end.
    Pauses,
}

/// Of which.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum WhichText {
    /// A name or pattern, "all", or "the 20 busiest".
    One(String),
    /// A list of names and patterns.
    Several(Vec<String>),
}

impl Default for ProbesText {
    fn default() -> ProbesText {
        ProbesText::All(Probes { bin: None, pauses: true })
    }
}

impl WhatText {
    /// The time series of it; pauses have none.
    pub fn series(self) -> Option<Watched> {
        match self {
            WhatText::Flow => Some(Watched::Flow),
            WhatText::Port => Some(Watched::Port),
            WhatText::Class => Some(Watched::Class),
            WhatText::Queue => Some(Watched::Queue),
            WhatText::Pauses => None,
        }
    }
}

impl WhichText {
    /// The names and patterns as a list.
    pub fn texts(&self) -> Vec<&str> {
        match self {
            WhichText::One(one) => vec![one],
            WhichText::Several(several) => several.iter().map(String::as_str).collect(),
        }
    }
}
