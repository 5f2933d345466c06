//! `scheduler` of hosts and switches: a name, or a table of the name with its keys.
//!
//! The keys are those of the crate `scheduling`, in the units of a scenario. What they mean at a port is checked
//! by the schedulers themselves; see [`crate::check`].

use crate::quantity::{Computed, Or, RateText, SizeText, TimeText};
use scheduling::{Basis, Charge};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

/// Which queue sends: a name, with the defaults, or a table named like the scheduler, with its keys.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Scheduler {
    /// A name: all defaults.
    Named(SchedulerWord),
    /// A table with keys.
    Table(Box<SchedulerTable>),
}

/// Schedulers that need no keys.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SchedulerWord {
    /// One queue in order of arrival.
    Fifo,
    /// The highest non-empty class first.
    StrictPriority,
    /// Weighted round robin by frames, equal weights.
    Wrr,
    /// Deficit round robin, equal quanta.
    Drr,
    /// Deficit round robin whose weights follow the sizes of the frames.
    DrrAwc,
    /// Weighted fair queueing, equal weights.
    Wfq,
    /// Worst-case fair weighted fair queueing, equal weights.
    Wf2qPlus,
    /// Self-clocked fair queueing, equal weights.
    Scfq,
    /// Credit-aware self-clocked fair queueing, equal weights.
    ScfqCa,
    /// The minimum-bandwidth scheduler of Advanced Switching, equal weights, the highest class for management.
    MinBw,
}

/// The table of a scheduler, from one list: those that a shaper may shape, and all.
macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident($keys:ty) = $text:literal,)*) => {
        /// A scheduler with its keys: one of these.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        pub enum SchedulerTable {
            $($(#[$doc])* #[serde(rename = $text)] $name($keys),)*
            /// Token or leaky buckets in front of another scheduler.
            #[serde(rename = "shaper")]
            Shaper(ShaperKeys),
        }

        /// A scheduler with its keys, behind a shaper: one of these.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        pub enum ShapedTable {
            $($(#[$doc])* #[serde(rename = $text)] $name($keys),)*
        }

        impl From<ShapedTable> for SchedulerTable {
            fn from(table: ShapedTable) -> SchedulerTable {
                match table { $(ShapedTable::$name(keys) => SchedulerTable::$name(keys),)* }
            }
        }
        impl SchedulerTable {
            /// The same for a place behind a shaper.
            pub fn shaped(self) -> Option<ShapedTable> {
                match self {
                    $(SchedulerTable::$name(keys) => Some(ShapedTable::$name(keys)),)*
                    SchedulerTable::Shaper(_) => None,
                }
            }
        }
    };
}
tables! {
    /// Weighted round robin by frames.
    Wrr(WrrKeys) = "wrr",
    /// Deficit round robin.
    Drr(DrrKeys) = "drr",
    /// Deficit round robin whose weights follow the sizes of the frames.
    DrrAwc(DrrAwcKeys) = "drr_awc",
    /// Weighted fair queueing.
    Wfq(WireKeys) = "wfq",
    /// Worst-case fair weighted fair queueing.
    Wf2qPlus(FrameKeys) = "wf2q_plus",
    /// Self-clocked fair queueing.
    Scfq(FrameKeys) = "scfq",
    /// Credit-aware self-clocked fair queueing.
    ScfqCa(FrameKeys) = "scfq_ca",
    /// The arbitration table of Advanced Switching: one frame an entry.
    VcTable(VcTableKeys) = "vc_table",
    /// The deficit table: credits an entry.
    DTable(DTableKeys) = "dtable",
    /// The minimum-bandwidth scheduler of Advanced Switching.
    MinBw(MinBwKeys) = "min_bw",
    /// Enhanced transmission selection of IEEE 802.1Qaz.
    Ets(EtsKeys) = "ets",
}

/// The scheduler behind a shaper.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ShapedScheduler {
    /// A name: all defaults.
    Named(SchedulerWord),
    /// A table with keys.
    Table(ShapedTable),
}

impl From<ShapedScheduler> for Scheduler {
    fn from(shaped: ShapedScheduler) -> Scheduler {
        match shaped {
            ShapedScheduler::Named(word) => Scheduler::Named(word),
            ShapedScheduler::Table(table) => Scheduler::Table(Box::new(table.into())),
        }
    }
}

/// Weights of the traffic classes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Weights {
    /// A word.
    Word(WeightsWord),
    /// One for each traffic class.
    Each(#[schemars(inner(range(min = 0, max = 1000000)))] Vec<u64>),
}

/// Weights without numbers.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WeightsWord {
    /// All the same.
    Equal,
}

/// A rate, or a share of the rate of the link.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RateOrShare {
    /// Bits a second.
    Rate(RateText),
    /// A part of the link.
    Share(ShareOfLink),
}

/// A part of the rate of the link.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShareOfLink {
    /// Share of the rate of the link, 0.000001 to 1. Required.
    pub share: f64,
}

/// Which bytes of a frame are billed.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bills {
    /// L - 18: without Ethernet header and FCS.
    Payload,
    /// L: DA to FCS.
    Frame,
    /// L + the overhead of the link: on Ethernet 20 B of preamble, start delimiter and inter-frame gap.
    Wire,
}

/// A table whose scheduler meters bytes: its own keys, and those of what a frame is billed.
macro_rules! billed {
    ($($(#[$doc:meta])* $name:ident by $bills:ident { $($(#[$about:meta])* $key:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$about])* pub $key: $type,)*
            /// What a frame of length L (DA to FCS) is billed: "payload" (L - 18), "frame" (L) or "wire" (time on the link: L + the `overhead` of the link, 20 B on Ethernet). Default: "wire" for `drr` (as the switch of Hagen 2012, section 6.1, does), `drr_awc`, `wfq`, `ets` and `shaper`; "frame" for the others.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub bills: Option<Bills>,
            /// Bytes billed more for every frame, such as an internal header. A size, "0 B" to "64 KiB". Default: "0 B".
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(extend("default" = "0 B"))]
            pub per_frame: Option<SizeText>,
            /// Memory cell that the bill is rounded up to. A size, "0 B" (no rounding) to "64 KiB". Default: "0 B".
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(extend("default" = "0 B"))]
            pub cell: Option<SizeText>,
        }

        impl $name {
            /// Writes the defaults of what a frame is billed.
            pub fn fill_charge(&mut self) {
                self.bills.get_or_insert(Bills::$bills);
                self.per_frame.get_or_insert(SizeText::from(Bytes::new(0)));
                self.cell.get_or_insert(SizeText::from(Bytes::new(0)));
            }
            /// What a frame is billed.
            pub fn charge(&self) -> Charge {
                let basis = match self.bills.unwrap_or(Bills::$bills) {
                    Bills::Payload => Basis::Payload,
                    Bills::Frame => Basis::Frame,
                    Bills::Wire => Basis::Wire,
                };
                Charge { basis, per_frame: size(self.per_frame), cell: size(self.cell) }
            }
        }
    )*};
}

/// Bytes of an optional key; more than fit are refused by every scheduler.
fn size(text: Option<SizeText>) -> u32 {
    text.map_or(0, |text| u32::try_from(text.0.get()).unwrap_or(u32::MAX))
}

billed! {
    /// Keys of deficit round robin.
    DrrKeys by Wire {
        /// Weights, one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal".
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "equal"))]
        weights: Option<Weights>,
        /// Quantum of the smallest weight: what it may send a round, as billed. A size, "1 B" to "16 MiB", or "computed". Default: "computed" (the longest frame of all flows, as billed: the smallest with which no class has to skip a round; Shreedhar and Varghese 1996).
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "computed"))]
        quantum: Option<Or<Bytes, Computed>>,
        /// Quanta, one for each traffic class, instead of `weights` and `quantum`. Sizes, "1 B" to "16 MiB". Default: none (by weights).
        #[serde(skip_serializing_if = "Option::is_none")]
        quanta: Option<Vec<SizeText>>,
    }
    /// Keys of deficit round robin with adaptive weights.
    DrrAwcKeys by Wire {
        /// How weights follow from the frames: "published" (formulas 6.1 and 6.2 of Hagen 2012), "analytic" (from what is billed and what counts) or "learned" (from what was sent; Penstock's own). Default: "published".
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "published"))]
        formula: Option<Formula>,
        /// How long frames are counted before weights change. A time with unit, above 0. Default: "1 ms" (Hagen 2012: 60 s).
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "1 ms"))]
        interval: Option<TimeText>,
        /// Whether sizes are weighed by their "frames" or their "bytes". Default: "frames" (Hagen 2012, Algorithm 1).
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "frames"))]
        mix: Option<Mix>,
        /// The weight of frames above 1024 B, which the paper does not have: "formula" (6.2) or "one"; "published" only. Default: "formula".
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "formula"))]
        top_bin: Option<TopBin>,
        /// The size that stands for a bin of sizes: its "upper_edge" or its "middle"; "published" only. Default: "upper_edge".
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "upper_edge"))]
        representative: Option<Representative>,
        /// What is to be equal: "payload" (L - 18) or "frame" (L); "analytic" and "learned" only. Default: "payload" (what a user sees).
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "payload"))]
        metric: Option<Metric>,
        /// Shares to aim at, one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal".
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "equal"))]
        weights: Option<Weights>,
    }
    /// Keys of weighted fair queueing.
    WireKeys by Wire {
        /// Weights, one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal".
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "equal"))]
        weights: Option<Weights>,
    }
    /// Keys of WF2Q+, SCFQ and SCFQ-CA.
    FrameKeys by Frame {
        /// Weights, one for each traffic class, 1 to 1000000 each, or "equal". Default: "equal".
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "equal"))]
        weights: Option<Weights>,
    }
    /// Keys of the deficit table.
    DTableKeys by Frame {
        /// The table: 32, 64, 128, 256, 512 or 1024 entries, each a traffic class or {class, weight}. Every class has to be named. Required.
        entries: Vec<TableEntry>,
        /// Credits of the entries that are only a class. A count, 1 to 65536. Default: 34 (the largest frame of Advanced Switching in credits of 64 B).
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = 34), range(min = 1, max = 65536))]
        weight: Option<u64>,
        /// Bytes a credit. A size, "1 B" to "64 KiB". Default: "64 B" (Advanced Switching).
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "64 B"))]
        credit: Option<SizeText>,
    }
    /// Keys of the minimum-bandwidth scheduler.
    MinBwKeys by Frame {
        /// The traffic class of management, which goes first within its rate. A class number, 0 to 7. Default: the class whose weight is 0, or the highest (Advanced Switching).
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0, max = 7))]
        management: Option<u64>,
        /// Weights, one for each traffic class, 1 to 1000000 each and 0 for management, or "equal". Default: "equal".
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "equal"))]
        weights: Option<Weights>,
        /// The rate of management: a rate, above 0 and at most the link's, or {share}. Default: a share of 0.25 of the link.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = {"share": 0.25}))]
        rate: Option<RateOrShare>,
        /// What management may save up and send at once. A size, from the longest frame as billed to "1 GiB". Default: "4352 B" (two largest frames of Advanced Switching).
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "4352 B"))]
        depth: Option<SizeText>,
        /// Whether management beyond its rate may use an idle link. Default: true.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = true))]
        use_idle_link: Option<bool>,
    }
    /// Keys of enhanced transmission selection.
    EtsKeys by Wire {
        /// The classes of transmission selection, the lowest first, 1 to 8; each with its queues and one of `percent`, `strict` and `idle_slope`. Every queue belongs to one. Required.
        classes: Vec<EtsClassKeys>,
    }
    /// Keys of shaped ports.
    ShaperKeys by Wire {
        /// The scheduler behind the shapers: a name or a table. Default: "strict_priority".
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "strict_priority"))]
        scheduler: Option<ShapedScheduler>,
        /// The shaper of the whole port: `token_bucket` or `leaky_bucket`. Default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        port: Option<Bucket>,
        /// Shapers of single traffic classes. Default: none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        classes: Vec<ClassBucket>,
    }
}

/// Keys of weighted round robin.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrrKeys {
    /// Frames a round, in proportion, one number for each traffic class, 1 to 1000000 each, or "equal". Default: "equal".
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "equal"))]
    pub weights: Option<Weights>,
    /// Whether classes alternate frame by frame instead of sending their whole turn in a row. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub interleaved: Option<bool>,
}

/// Keys of the arbitration table.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VcTableKeys {
    /// The table: the traffic class of each of its 32, 64, 128, 256, 512 or 1024 entries. Every class has to be named. Required.
    pub entries: Vec<u64>,
}

/// How weights follow from frames.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Formula {
    /// Formulas 6.1 and 6.2 of Hagen 2012.
    Published,
    /// From what is billed and what counts.
    Analytic,
    /// From what was sent.
    Learned,
}

/// What sizes are weighed by.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// Their frames.
    Frames,
    /// Their bytes.
    Bytes,
}

/// The weight of the largest frames.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TopBin {
    /// By formula 6.2.
    Formula,
    /// 1.
    One,
}

/// The size that stands for a bin.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Representative {
    /// The largest of the bin.
    UpperEdge,
    /// Half-way between the edges.
    Middle,
}

/// What counts as throughput.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// L - 18 a frame.
    Payload,
    /// L a frame.
    Frame,
}

/// An entry of the deficit table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TableEntry {
    /// A traffic class.
    Class(u64),
    /// A traffic class with its own credits.
    Own(WeightedEntry),
}

/// A traffic class with its credits.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedEntry {
    /// The traffic class that it serves. A class number, 0 to 7. Required.
    pub class: u64,
    /// Credits that it adds. A count, 1 to 65536. Required.
    pub weight: u64,
}

/// A class of enhanced transmission selection.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EtsClassKeys {
    /// Its queues: class numbers, 0 to 7. Required.
    pub queues: Vec<u64>,
    /// Share of what strict and shaped classes leave, in percent, 0 to 100; all shares sum to 100. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub percent: Option<u64>,
    /// true: before all others, the highest first. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// Credit-based shaper: the rate that the class is certain of, below the link's; a rate or {share}. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_slope: Option<RateOrShare>,
}

/// A shaper: one of these.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bucket {
    /// Rate with bursts.
    TokenBucket(TokenKeys),
    /// Rate without bursts.
    LeakyBucket(LeakyKeys),
}

/// Keys of a token bucket.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenKeys {
    /// How fast the bucket fills: a rate, above 0 and at most the link's, or {share}. Required.
    pub rate: RateOrShare,
    /// What it holds. A size, from the longest frame as billed to "1 GiB". Required.
    pub depth: SizeText,
}

/// Keys of a leaky bucket.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeakyKeys {
    /// How fast a frame drains: a rate, above 0 and at most the link's, or {share}. Required.
    pub rate: RateOrShare,
}

/// The shaper of a traffic class.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassBucket {
    /// The traffic class. A class number, 0 to 7. Required.
    pub class: u64,
    /// Rate with bursts; this or `leaky_bucket`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_bucket: Option<TokenKeys>,
    /// Rate without bursts; this or `token_bucket`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaky_bucket: Option<LeakyKeys>,
}
