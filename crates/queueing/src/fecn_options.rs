//! Choices that FECN's rate computation leaves open.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Start of the intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// At multiples of their length.
    #[default]
    Aligned,
    /// At a random time within the first.
    Random,
}

/// Queue control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueControl {
    /// Two hyperbolas that meet at the set point.
    #[default]
    Hyperbolic,
    /// A line through 1 at the set point.
    Linear,
    /// A term added to the load.
    Additive,
    /// 1.
    Off,
}

/// Rate with which the newest rate is averaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AverageWith {
    /// The last but one.
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

/// Resource to which an advertised rate applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateScope {
    /// One queue.
    #[default]
    Queue,
    /// All queues of a port with this manager.
    Port,
    /// The memory of a switch.
    Switch,
}

/// Capacity with which arrivals are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Capacity {
    /// Measured if a scheduler divides the link among classes by weight, otherwise the link rate.
    #[default]
    Computed,
    /// The rate of the link.
    Link,
    /// Bits transmitted divided by the busy time of the queue.
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
