//! `[[transfers]]`: so many bytes from one host to another, many times.

use super::{Nodes, Receivers};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use transport::TcpKeys;
use units::{Bytes, Time};
use workload::{PublishedSizes, ServiceOrder};

fn at_start() -> Time {
    Time::ZERO
}
fn full_frame() -> Bytes {
    Bytes::new(u64::from(frame::MAX_TAGGED_FRAME_BYTES))
}

/// Transfers: each has a start, a sender, a receiver and a size, and is complete when its last byte is delivered. A sender has many at once, and sends their frames as fast as its NIC takes them, or over TCP. All between the same two hosts take the same path.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfers {
    /// Unique name; each sender is a flow called "name[sender]". Required.
    pub name: String,
    /// The senders: a host, "all" hosts, a pattern, or a list of these. Required, unless a file names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Nodes>,
    /// Where transfers go: a host; or several, each transfer to one of them, equally likely and never to the sender; or a table `uniform`, `hot_spot` or `permutation`. Required, unless a file names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Receivers>,
    /// When transfers begin: "once", or a table `poisson`, `incast` or `file`. Required.
    pub arrivals: ArrivalsText,
    /// Bytes of a transfer, without the headers of its frames: a size with unit; or a published distribution; or a table `uniform`, `pareto`, `log_normal` or `points`. Required, unless a file names them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<SizesText>,
    /// Priority of all frames (IEEE 802.1Q); a file may have its own for each transfer. A whole number, 0 to 7. Default: 0 (best effort).
    #[serde(default)]
    #[schemars(range(min = 0, max = 7))]
    pub priority: u64,
    /// Length of full frames, DA to FCS: a size with unit, 1 to 9238 B; the last frame of a transfer is as long as it has to be, and padded to 64 B. Default: "1522 B" (the largest tagged frame without jumbo support).
    #[serde(default = "full_frame")]
    pub frame: Bytes,
    /// What carries them: "frames", which are sent once and nobody acknowledges, or a table `tcp`. Default: "frames".
    #[serde(default)]
    pub over: CarrierText,
    /// Bytes of each frame that are no bytes of the transfer; over TCP its key `headers` says that. A size with unit, below `frame`. Default: "18 B" (Ethernet header and FCS).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<Bytes>,
    /// Which transfer of a sender has the next frame: each in turn ("round_robin"), or the first that began, to its end ("fifo"). Over TCP it is "round_robin". Default: "round_robin" (NICs serve their queue pairs in turn).
    #[serde(default)]
    pub order: ServiceOrder,
    /// When the first may begin; times in a file count from here. A time with unit. Default: "0 s".
    #[serde(default = "at_start")]
    pub start: Time,
    /// From here on none begins; those that have begun go on. A time with unit, after `start`. Default: the duration of the simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
}

/// What carries transfers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CarrierText {
    /// Frames that nobody acknowledges.
    #[default]
    Frames,
    /// TCP: a transfer has a connection for itself, one that is free or a new one. `transfer` and `idle` have no meaning here; with `reconnect` each transfer begins with a fresh window and, if there is one, a handshake.
    Tcp(Box<TcpKeys>),
}

/// When transfers begin.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ArrivalsText {
    /// Each sender begins one, at `start`.
    Once,
    /// Each sender begins transfers with exponential gaps, drawn from a stream of its own. Exactly one of `load` and `gap`.
    Poisson {
        /// Share of the rate of each sender's link that the bytes of its transfers take on average, headers not counted. A number above 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        load: Option<f64>,
        /// Mean time between two starts of one sender. A time with unit, above 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        gap: Option<Time>,
    },
    /// Rounds: several senders begin a transfer to one receiver at the same time.
    Incast {
        /// Time between two rounds, the first of which is at `start`. A time with unit, above 0. Required.
        every: Time,
        /// How many of `from` send in each round, drawn anew each time. A count, at least 1. Default: all beside the receiver.
        #[serde(skip_serializing_if = "Option::is_none")]
        senders: Option<u64>,
    },
    /// The path of a CSV or Parquet file, relative to the scenario: a line for each transfer in order of time, with the columns `time_us` (or `time_s`, `time_ms`, `time_ns`, `time_ps`, or `time` with a unit in each value), `from`, `to`, `bytes` and, if transfers differ in it, `priority`.
    File(String),
}

/// Sizes of transfers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SizesText {
    /// All alike. A size with unit, at least 1 B.
    Fixed(Bytes),
    /// A published distribution.
    Published(PublishedSizes),
    /// A distribution.
    Table(SizesTable),
}

/// Distributions of sizes that need a table.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SizesTable {
    /// Every size from `min` to `max`, equally likely.
    Uniform {
        /// The smallest. A size with unit, at least 1 B. Required.
        min: Bytes,
        /// The largest. A size with unit, not below `min`. Required.
        max: Bytes,
    },
    /// Pareto, truncated: no transfer is larger than 100 times `mean`.
    Pareto {
        /// The mean of the truncated sizes: the smallest size is such that it holds. A size with unit, at least 1 B. Required.
        mean: Bytes,
        /// The shape: the smaller, the more of the bytes lie in few large transfers. A number above 1 (below, there is no mean). Required.
        shape: f64,
    },
    /// Log-normal.
    LogNormal {
        /// The mean. A size with unit, at least 1 B. Required.
        mean: Bytes,
        /// Standard deviation of the natural logarithm of the size. A number, 0 to 5. Required.
        #[schemars(range(min = 0.0, max = 5.0))]
        sigma: f64,
    },
    /// The path of a CSV file with the columns `bytes` and `cdf` (the share of transfers with at most so many, rising to 1 or to 100), relative to the scenario. Between two lines the distribution function is straight.
    Points(String),
}
