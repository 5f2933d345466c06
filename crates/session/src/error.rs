//! Errors of a session.

use scenario::Diagnostics;
use units::Time;

/// An error of a session. A failed call that only adds a request leaves the session unchanged.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The scenario cannot be run.
    #[error("{}", .0.render(false))]
    Scenario(Diagnostics),
    /// The fabric cannot be built, or an invariant is violated.
    #[error("{0}")]
    Simulation(String),
    /// Several jobs of the scenario have `session = true`.
    #[error("{jobs} jobs with session = true: expected one")]
    SeveralSessions {
        /// Number of such jobs.
        jobs: usize,
    },
    /// No host of the session has this name.
    #[error("\"{host}\" is not a host of the session: expected {first} to {last}{}", near.as_ref().map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default())]
    UnknownHost {
        /// The given name.
        host: String,
        /// Name of the host that was probably meant.
        near: Option<String>,
        /// Name of the first host.
        first: String,
        /// Name of the last host.
        last: String,
    },
    /// No rank has this number.
    #[error("rank {rank} of {ranks}: expected 0 to {}", ranks - 1)]
    UnknownRank {
        /// The given number.
        rank: u32,
        /// Number of ranks.
        ranks: usize,
    },
    /// A message exceeds the maximum size.
    #[error("a message of {bytes} B: expected at most {} B (16 TiB)", crate::MAX_MESSAGE_BYTES)]
    TooLarge {
        /// Size of the message in bytes.
        bytes: u64,
    },
    /// A start time is in the past.
    #[error("{at} is past: the session is at {now}")]
    Past {
        /// The given time.
        at: Time,
        /// Current time of the run.
        now: Time,
    },
    /// A start time is after the end of the run.
    #[error("{at} is not before the end of the run: the duration of the scenario is {duration}")]
    AfterEnd {
        /// The given time.
        at: Time,
        /// Duration of the run.
        duration: Time,
    },
    /// A request was made after the end of the run.
    #[error("the run has ended at {now}: raise the duration of the scenario")]
    Ended {
        /// Current time of the run.
        now: Time,
    },
    /// The duration of the scenario ended before all messages.
    #[error(
        "the run ended at {now}, the duration of the scenario, with {under_way} under way: the first is {first}. Raise the duration"
    )]
    Unfinished {
        /// Current time of the run.
        now: Time,
        /// Number of messages, computations and timers that have not ended.
        under_way: usize,
        /// Description of the first of them.
        first: String,
    },
    /// Messages have not ended, and no event is pending.
    #[error(
        "nothing is left to happen at {now}, and {under_way} under way will not end: the first is {first}{held}"
    )]
    Stalled {
        /// Current time of the run.
        now: Time,
        /// Number of messages and computations that have not ended.
        under_way: usize,
        /// Description of the first of them.
        first: String,
        /// Reason why it has not ended.
        held: String,
    },
}

impl From<fabric::SimulationError> for SessionError {
    fn from(error: fabric::SimulationError) -> SessionError {
        SessionError::Simulation(error.to_string())
    }
}
