//! Choices that FECN's rate computation leaves open.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When intervals begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// At multiples of their length.
    #[default]
    Aligned,
    /// At a random time within the first.
    Random,
}

/// The control of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueControl {
    /// Two hyperbolas that meet at the set point.
    #[default]
    Hyperbolic,
    /// A line through 1 at the set point.
    Linear,
    /// A term that is added to the load.
    Additive,
    /// 1.
    Off,
}

/// Rate that is averaged with the newest one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AverageWith {
    /// The rate before the last.
    #[default]
    Previous,
    /// The last.
    Last,
}

/// Bytes of an arriving frame that count as load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// With line overhead.
    #[default]
    Wire,
    /// From DA to FCS.
    Frame,
}

/// The resource that an advertised rate is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateScope {
    /// One queue.
    #[default]
    Queue,
    /// All queues of a port that have it.
    Port,
    /// The memory of a switch.
    Switch,
}

/// The capacity that arrivals are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Capacity {
    /// Measured where a scheduler shares the link among classes by weight, else that of the link.
    #[default]
    Computed,
    /// The rate of the link.
    Link,
    /// The bits sent by the time that the queue was not idle.
    Measured,
}

/// Effect of an interval without arrivals on the advertised rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Idle {
    /// Nothing.
    #[default]
    Hold,
    /// The advertised rate rises.
    Raise,
}
