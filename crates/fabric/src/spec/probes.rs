//! What is recorded in addition to the totals.

use super::Pattern;
use units::Time;

/// What is recorded in addition to the totals.
#[derive(Clone, Debug, Default)]
pub struct ProbeSpec {
    /// Width of the bins of time series that say none; `None`: no series but those that say one.
    pub bin: Option<Time>,
    /// Whether each pause is recorded as an interval.
    pub pauses: bool,
    /// What is recorded; `None`: all time series, of which the busiest are kept, and all pauses.
    pub chosen: Option<Vec<Probe>>,
}

/// Something to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Of what.
    pub what: Watched,
    /// Of which of them.
    pub which: Which,
    /// Width of the bins of a time series; `None`: that of all.
    pub every: Option<Time>,
    /// Rows of a log, or pauses, at most: the first.
    pub max_rows: u64,
    /// Of so many frames one is in the log.
    pub one_in: u64,
    /// When a log begins.
    pub start: Time,
}

/// What can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// What of a flow arrives, and is read.
    Flow,
    /// What a port sends and receives.
    Port,
    /// What a class of a port sends.
    Class,
    /// What waits in a queue, or is counted at an ingress port.
    Queue,
    /// How long an occupancy was how high.
    Occupancy,
    /// The distribution of a flow's latency.
    Latency,
    /// The pauses of a port.
    Pauses,
    /// The frames that pass a port.
    Frames,
}

/// Which entities are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// All.
    All,
    /// So many, in which most happens, or the longest pauses: known at the end.
    Busiest(u32),
    /// Those that one of these patterns names.
    Named(Vec<Pattern>),
}
