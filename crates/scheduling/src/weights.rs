//! Lists of weights, one per queue, and their checks.

use keys::{Forms, Remark, by_form};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, Error, SeqAccess};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// Weights of the queues of a port.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Weights {
    /// Equal weights.
    #[default]
    Equal,
    /// One weight per queue.
    Each(Vec<u32>),
}

impl Weights {
    const EQUAL: &str = "equal";

    /// Returns the weights of `queues` queues.
    pub(crate) fn of(&self, queues: u32) -> Vec<u32> {
        match self {
            Weights::Equal => vec![1; queues as usize],
            Weights::Each(list) => list.clone(),
        }
    }
    /// Checks that there is a valid weight for each of `queues` queues.
    pub(crate) fn check(&self, queues: u32) -> Result<(), Remark> {
        match self {
            Weights::Equal => Ok(()),
            Weights::Each(list) => check(KEY, "weight", list, queues, LARGEST),
        }
    }
}

/// The key for weights, common to all schedulers that have them.
pub(crate) const KEY: &str = "weights";

/// Converts a list; an empty list means equal weights.
impl From<Vec<u32>> for Weights {
    fn from(list: Vec<u32>) -> Weights {
        if list.is_empty() { Weights::Equal } else { Weights::Each(list) }
    }
}

impl Forms for Weights {
    const EXPECTED: &'static str = "\"equal\", or a list of weights, one for each traffic class";
    fn text<E: Error>(text: &str) -> Result<Weights, E> {
        if text == Weights::EQUAL {
            Ok(Weights::Equal)
        } else {
            Err(E::unknown_variant(text, &[Weights::EQUAL]))
        }
    }
    fn list<'de, A: SeqAccess<'de>>(list: A) -> Result<Weights, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Weights::Each)
    }
}
by_form!(Weights);

impl Serialize for Weights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Weights::Equal => serializer.serialize_str(Weights::EQUAL),
            Weights::Each(list) => list.serialize(serializer),
        }
    }
}

impl JsonSchema for Weights {
    fn schema_name() -> Cow<'static, str> {
        "Weights".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Weights of the traffic classes.",
            "anyOf": [
                { "type": "string", "const": Weights::EQUAL, "description": "All the same." },
                {
                    "type": "array",
                    "items": { "type": "integer", "minimum": 0, "maximum": LARGEST },
                    "description": "One for each traffic class."
                }
            ]
        })
    }
}

/// The largest weight allowed. With it, tags keep at least 2^-20 of the precision of the smallest weight.
pub(crate) const LARGEST: u32 = 1_000_000;

/// Checks that `list` has a number above 0 for each of `queues` queues. `what` is the term for messages: "weight" or
/// "quantum".
pub(crate) fn check(key: &str, what: &str, list: &[u32], queues: u32, largest: u32) -> Result<(), Remark> {
    check_length(key, what, list.len(), queues)?;
    for (queue, &weight) in list.iter().enumerate() {
        if (1..=largest).contains(&weight) {
            continue;
        }
        let why = if weight == 0 { ": the queue would never send" } else { "" };
        let message = format!("the {what} of queue {queue} is {weight}{why}");
        return Err(Remark::about(key, message, format!("accepted are 1 to {largest}")).entry(queue));
    }
    Ok(())
}

/// Checks that a list has an entry for each queue.
pub(crate) fn check_length(key: &str, what: &str, length: usize, queues: u32) -> Result<(), Remark> {
    if length == queues as usize {
        return Ok(());
    }
    if length == 0 {
        let help = format!("expected {queues} entries, one for each traffic class");
        return Err(Remark::about(key, format!("{key} is empty"), help));
    }
    let message = format!("{length} entries of \"{what}\" for a port of {queues} queues");
    Err(Remark::about(key, message, "give one for each queue"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_weights_say_why() {
        let check = |list: &[u32], queues| Weights::Each(list.to_vec()).check(queues).unwrap_err();
        assert!(check(&[1, 0], 2).contains("queue 1 is 0"));
        assert!(check(&[1, 2_000_000], 2).contains("accepted are 1 to 1000000"));
        assert!(check(&[1; 9], 8).contains("9 entries"));
        assert!(check(&[], 8).contains("weights is empty"));
        assert_eq!(Weights::Equal.check(8), Ok(()));
        assert_eq!(Weights::Equal.of(2), [1, 1]);
    }
}
