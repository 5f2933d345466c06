//! Recordings in addition to the totals.

use super::Pattern;
use units::Time;

/// Recordings in addition to the totals.
#[derive(Clone, Debug, Default)]
pub struct ProbeSpec {
    /// Default bin width of time series; `None`: only series with a width of their own are recorded.
    pub bin: Option<Time>,
    /// True if each pause is recorded as an interval.
    pub pauses: bool,
    /// Recordings; `None`: all time series (limited to the busiest), and all pauses.
    pub chosen: Option<Vec<Probe>>,
}

/// Something to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Kind of object and quantity to record.
    pub what: Watched,
    /// Selection among these objects.
    pub which: Which,
    /// Bin width of a time series; `None`: the default width.
    pub every: Option<Time>,
    /// Maximum number of rows of a log, or of pauses: the first ones are kept.
    pub max_rows: u64,
    /// Sampling ratio of a log: one in this many frames.
    pub one_in: u64,
    /// Start of a log.
    pub start: Time,
}

/// Quantities that can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Bits of a flow that arrive, and bits that are read.
    Flow,
    /// Bits that a port sends and receives.
    Port,
    /// Bits that a class of a port sends.
    Class,
    /// Occupancy of a queue, or of an ingress counter.
    Queue,
    /// Distribution of an occupancy over time.
    Occupancy,
    /// Distribution of a flow's latency.
    Latency,
    /// The pauses of a port.
    Pauses,
    /// The frames that pass a port.
    Frames,
}

/// Selection of the recorded objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// All objects.
    All,
    /// This many of the busiest objects, or of the longest pauses; determined at the end of the run.
    Busiest(u32),
    /// Objects that match one of these patterns.
    Named(Vec<Pattern>),
}
