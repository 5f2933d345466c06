//! Recordings in addition to the totals.

use super::yes;
use fabric::spec::Watched;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Off, Or, Time};

/// Recordings in addition to the totals: a table for all time series, or a list of probes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ProbesText {
    /// All time series, with one bin width.
    All(Probes),
    /// Only the probes in the list `[[probes]]`.
    Chosen(Vec<ProbeText>),
}

/// Recordings of all flows, ports, classes and queues, in addition to the totals.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probes {
    /// Bin width of all time series. A time with unit, above 0, or "off" for no time series; at most 1000000 bins. Of each kind (flows, ports, their classes, queues), the 256 busiest series are kept, at most 1000000 bins together. A kind that needs more than 64 MiB is not recorded, and the run reports it; `[[probes]]` selects single series. Default: a 500th of `duration`, or the transmission time of twelve of the longest frames on the slowest link if that is longer, but at most a 50th of `duration`; rounded up to whole nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bin: Option<Or<Time, Off>>,
    /// If true, each pause is recorded as an interval. Default: true.
    #[serde(default = "yes")]
    pub pauses: bool,
}

/// A probe: one quantity, recorded at the selected objects.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProbeText {
    /// Recorded quantity. Time series: "flow" (traffic that arrives and is read), "port" (traffic sent and received), "class" (traffic sent by each class of a port), "queue" (maximum occupancy, and ingress counters). Distributions: "occupancy" (time spent at each occupancy of a queue, port, class, memory, part of a shared memory or ingress counter, and the maximum in each bin), "latency" (of a flow). Lists: "pauses" (each as an interval), "frames" (each that passes a port). Required.
    pub what: WhatText,
    /// Selected objects: a name, a pattern with `*`, a range like "h1..h32", a list of these, "all", or "the 20 busiest" (those with the most activity); for pauses "the 20 longest". A flow is selected by its name or that of its group; a port by its name ("sw.0->h1") or that of its node; a queue, class or pause by its port, its node, or node and class ("leaf0/3"). An occupancy is selected only by its own name: "sw.0->h1/3" for a queue, "sw.0->h1" for a port, "sw/3" for a class of a node, "sw" for all memory of a node, "sw.0->h1 in/3" for an ingress counter, and for a memory with dynamic thresholds "sw shared" for the shared part and "sw headroom" for the headroom. Default: "all".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub which: Option<WhichText>,
    /// Bin width of time series and occupancies. A time with unit, above 0; at most 1000000 bins. Default: the default of `bin` in `[probes]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// Maximum number of rows of frames or pauses; the first ones are kept. A count, 1 to 1000000. Default: 100000 frames, all pauses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rows: Option<u64>,
    /// Sampling interval of frames: one frame in this number is recorded, selected by a hash of its identity, at all ports on its path. Only for frames; all pause frames are recorded. A count, 1 to 1000000000. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_in: Option<u64>,
    /// Time from which frames are recorded. A time with unit. Only for frames. Default: "0 s".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Time>,
}

/// Recorded quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhatText {
    /// Traffic of a flow that arrives at its destination.
    Flow,
    /// Traffic that a port sends and receives.
    Port,
    /// Traffic that a class of a port sends.
    Class,
    /// Length of a queue.
    Queue,
    /// Distribution of an occupancy over time.
    Occupancy,
    /// Distribution of the latency of a flow.
    Latency,
    /// Each pause, from its start to its end.
    Pauses,
    /// Each frame that passes a port.
    Frames,
}

/// Selected objects.
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
    /// Returns the corresponding kind of the fabric.
    pub fn watched(self) -> Watched {
        match self {
            WhatText::Flow => Watched::Flow,
            WhatText::Port => Watched::Port,
            WhatText::Class => Watched::Class,
            WhatText::Queue => Watched::Queue,
            WhatText::Occupancy => Watched::Occupancy,
            WhatText::Latency => Watched::Latency,
            WhatText::Pauses => Watched::Pauses,
            WhatText::Frames => Watched::Frames,
        }
    }
    /// Returns true if the quantity is recorded in time bins.
    pub fn has_bins(self) -> bool {
        matches!(
            self,
            WhatText::Flow | WhatText::Port | WhatText::Class | WhatText::Queue | WhatText::Occupancy
        )
    }
}

impl WhichText {
    /// Returns the names and patterns as a list.
    pub fn texts(&self) -> Vec<&str> {
        match self {
            WhichText::One(one) => vec![one],
            WhichText::Several(several) => several.iter().map(String::as_str).collect(),
        }
    }
}
