//! Errors of a session.

use scenario::Diagnostics;
use units::Time;

/// An error of a session. After an error of a call that only adds to the session, it is as it was before.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The scenario cannot be run.
    #[error("{}", .0.render(false))]
    Scenario(Diagnostics),
    /// The fabric cannot be built, or an invariant broke.
    #[error("{0}")]
    Simulation(String),
    /// Several jobs of the scenario have `session = true`.
    #[error("{jobs} jobs with session = true: expected one")]
    SeveralSessions {
        /// Number of such jobs.
        jobs: usize,
    },
    /// A name of no host of the session.
    #[error("\"{host}\" is not a host of the session: expected {first} to {last}{}", near.as_ref().map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default())]
    UnknownHost {
        /// The name.
        host: String,
        /// The host that was probably meant.
        near: Option<String>,
        /// First host.
        first: String,
        /// Last host.
        last: String,
    },
    /// A number of no rank.
    #[error("rank {rank} of {ranks}: expected 0 to {}", ranks - 1)]
    UnknownRank {
        /// The number.
        rank: u32,
        /// Number of ranks.
        ranks: usize,
    },
    /// A message above the limit.
    #[error("a message of {bytes} B: expected at most {} B (16 TiB)", crate::MAX_MESSAGE_BYTES)]
    TooLarge {
        /// Its bytes.
        bytes: u64,
    },
    /// A time that is over.
    #[error("{at} is past: the session is at {now}")]
    Past {
        /// The time.
        at: Time,
        /// The present.
        now: Time,
    },
    /// A time at which the run is over.
    #[error("{at} is not before the end of the run: the duration of the scenario is {duration}")]
    AfterEnd {
        /// The time.
        at: Time,
        /// The duration.
        duration: Time,
    },
    /// A request to a run that is over.
    #[error("the run has ended at {now}: raise the duration of the scenario")]
    Ended {
        /// The present.
        now: Time,
    },
    /// The duration is over before all messages have ended.
    #[error(
        "the run ended at {now}, the duration of the scenario, with {under_way} under way: the first is {first}. Raise the duration"
    )]
    Unfinished {
        /// The present.
        now: Time,
        /// Messages, computations and timers that have not ended.
        under_way: usize,
        /// The first of them.
        first: String,
    },
    /// Messages are under way, and nothing is left to happen.
    #[error(
        "nothing is left to happen at {now}, and {under_way} under way will not end: the first is {first}{held}"
    )]
    Stalled {
        /// The present.
        now: Time,
        /// Messages and computations that have not ended.
        under_way: usize,
        /// The first of them.
        first: String,
        /// Why it is not through.
        held: String,
    },
}

impl From<fabric::SimulationError> for SessionError {
    fn from(error: fabric::SimulationError) -> SessionError {
        SessionError::Simulation(error.to_string())
    }
}
