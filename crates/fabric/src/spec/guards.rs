//! Conditions monitored while a simulation runs.

use flow_control::watchdog::WatchdogSpec;
use jobs::Precision;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

/// Conditions monitored while the simulation runs.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardSpec {
    /// Reaction to a deadlock.
    pub on_deadlock: OnDeadlock,
    /// Simulated time between two checks for deadlocks.
    pub deadlock_interval: Time,
    /// Pause-storm watchdog for the egress queues of all switches; `None`: there is none.
    pub watchdog: Option<WatchdogSpec>,
    /// Precision of the iteration times at which all jobs end; `None`: jobs run all of their iterations.
    pub until: Option<Precision>,
    /// Treatment of iterations that repeat earlier ones exactly.
    pub skip: Skip,
}

impl Default for GuardSpec {
    fn default() -> GuardSpec {
        GuardSpec {
            on_deadlock: OnDeadlock::Stop,
            deadlock_interval: Time::from_us(100),
            watchdog: None,
            until: None,
            skip: Skip::default(),
        }
    }
}

/// Treatment of iterations of jobs that repeat earlier ones exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Skip {
    /// Simulates them.
    #[default]
    Off,
    /// Omits them; their times follow from those that they repeat.
    Iterations,
    /// Omits them, and also the steps of a ring that repeat earlier ones.
    Phases,
    /// Simulates them and compares them with those that they repeat.
    Check,
}

impl Skip {
    /// Returns true if iterations or phases are skipped.
    pub fn leaves_out(self) -> bool {
        matches!(self, Skip::Iterations | Skip::Phases)
    }
    /// Minimum number of iterations of a job for any to be skipped: two periods, and one iteration at either end.
    pub const FEWEST_ITERATIONS: u32 = 4;
}

/// Reaction to a deadlock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnDeadlock {
    /// Ends the run when it is detected; the result has the measurements up to that time.
    #[default]
    Stop,
    /// Continues, and counts it in the result.
    Count,
}
