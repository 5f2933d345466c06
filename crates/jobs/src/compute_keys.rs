//! Keys of computation: how long ranks compute, and which of them are slow.

use keys::{Forms, by_form};
use schemars::JsonSchema;
use serde::de::value::{I64Deserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{Error, SeqAccess};
use serde::{Deserialize, Serialize};
use units::Time;
use workload::Nodes;

/// Computation before each iteration: a time, or a list of times that iterations use in turn, starting again after the last.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ComputeTimes {
    /// Time of every iteration.
    Each(Time),
    /// Times that iterations use in turn.
    InTurn(Vec<Time>),
}

impl Default for ComputeTimes {
    fn default() -> ComputeTimes {
        ComputeTimes::Each(Time::ZERO)
    }
}

impl ComputeTimes {
    /// Returns the times, which iterations use in turn.
    pub fn times(&self) -> &[Time] {
        match self {
            ComputeTimes::Each(time) => std::slice::from_ref(time),
            ComputeTimes::InTurn(times) => times,
        }
    }
}

impl Forms for ComputeTimes {
    const EXPECTED: &'static str = "a time as text with a unit, like \"200 us\", or a list of these";
    fn text<E: Error>(text: &str) -> Result<ComputeTimes, E> {
        Time::deserialize(StrDeserializer::new(text)).map(ComputeTimes::Each)
    }
    fn number<E: Error>(number: i64) -> Result<ComputeTimes, E> {
        Time::deserialize(I64Deserializer::new(number)).map(ComputeTimes::Each)
    }
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<ComputeTimes, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(ComputeTimes::InTurn)
    }
}
by_form!(ComputeTimes);

/// Stragglers: ranks whose computations take longer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StragglerKeys {
    /// Hosts of the stragglers: a host, "all" hosts, a pattern, or a list of these. Required.
    pub hosts: Nodes,
    /// Factor by which each of their computations is longer, including those of a schedule. A number, 1 to 1000. Required.
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub slowdown: f64,
}
