//! Quantities in files: text with a unit, like `"10 Gb/s"`.
//!
//! They are parsed with the error messages of their types, and printed as the shortest exact text. A bare number is an
//! error with a message about the missing unit. [`Or`] adds one word to a quantity: `"unlimited"`, `"off"`.

use crate::{Amount, BitRate, Bytes, ClockTolerance, Length, ParseUnitError, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

/// A kind of quantity in a file.
pub trait Dimension: Copy + fmt::Display + FromStr<Err = ParseUnitError> {
    /// Name of the schema definition.
    const NAME: &'static str;
    /// The dimension with its article.
    const WHAT: &'static str;
    /// An example.
    const EXAMPLE: &'static str;
    /// Accepted units as a regular expression.
    const UNITS: &'static str;
}

macro_rules! dimension {
    ($($unit:ty, $name:literal, $what:literal, $example:literal, $units:literal;)*) => {$(
        impl Dimension for $unit {
            const NAME: &'static str = $name;
            const WHAT: &'static str = $what;
            const EXAMPLE: &'static str = $example;
            const UNITS: &'static str = $units;
        }
        impl Serialize for $unit {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                // Zero is the same in any unit; the usual unit is printed.
                match self.to_string().as_str() {
                    "0 ps" => serializer.serialize_str("0 s"),
                    "0 mm" => serializer.serialize_str("0 m"),
                    "0 ppb" => serializer.serialize_str("0 ppm"),
                    text => serializer.serialize_str(text),
                }
            }
        }
        impl<'de> Deserialize<'de> for $unit {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$unit, D::Error> {
                match deserializer.deserialize_any(QuantityVisitor::<$unit, NoWord>(PhantomData))? {
                    Or::Value(value) => Ok(value),
                    Or::Word(never) => match never {},
                }
            }
        }
        impl JsonSchema for $unit {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": pattern::<$unit>(), "examples": [$example] })
            }
        }
    )*};
}
dimension! {
    Time, "Time", "a time", "1.5 us", "ps|ns|us|µs|ms|s";
    BitRate, "Rate", "a rate", "10 Gb/s", "b/s|kb/s|Mb/s|Gb/s|Tb/s";
    Bytes, "Size", "a size", "1522 B", "B|kB|KiB|MB|MiB|GB|GiB|TB|TiB";
    Length, "Length", "a length", "300 m", "mm|cm|m|km";
    ClockTolerance, "Tolerance", "a tolerance", "100 ppm", "ppm|ppb";
    Amount, "Amount", "a size in bytes or frames", "100 frames", "B|kB|KiB|MB|MiB|GB|GiB|TB|TiB|frames?";
}

fn pattern<T: Dimension>() -> String {
    format!("^\\s*\\+?[0-9_]*\\.?[0-9_]*\\s*({})\\s*$", T::UNITS)
}

/// A word that may replace a quantity.
pub trait Word: Copy + Default {
    /// The word; `None` if there is none.
    const WORD: Option<&'static str>;
    /// The word as a value.
    fn value() -> Option<Self>;
}

/// No word.
#[derive(Clone, Copy, Debug, PartialEq)]
enum NoWord {}
impl Default for NoWord {
    fn default() -> NoWord {
        unreachable!("never built")
    }
}
impl Word for NoWord {
    const WORD: Option<&'static str> = None;
    fn value() -> Option<NoWord> {
        None
    }
}

macro_rules! word {
    ($($(#[$doc:meta])* $name:ident = $word:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;
        impl Word for $name {
            const WORD: Option<&'static str> = Some($word);
            fn value() -> Option<$name> {
                Some($name)
            }
        }
    )*};
}
word! {
    /// No limit.
    Unlimited = "unlimited";
    /// Never.
    Never = "never";
    /// Not recorded.
    Off = "off";
    /// Found by the simulator from the links.
    Computed = "computed";
    /// The machine's free memory.
    Available = "available";
    /// The limit that the standard sets for the rate.
    Standard = "standard";
    /// The bandwidth-delay product of the path.
    Bdp = "bdp";
}

/// A quantity, or the word `W` instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Or<T, W> {
    /// The word.
    Word(W),
    /// The quantity.
    Value(T),
}

impl<T, W: Word> Default for Or<T, W> {
    fn default() -> Or<T, W> {
        Or::Word(W::default())
    }
}
impl<T: Copy, W: Word> Or<T, W> {
    /// Creates the word.
    pub fn word() -> Or<T, W> {
        Or::Word(W::default())
    }
    /// Returns the quantity; `None` for the word.
    pub fn value(&self) -> Option<T> {
        match self {
            Or::Word(_) => None,
            Or::Value(quantity) => Some(*quantity),
        }
    }
}
impl<T: Dimension + Serialize, W: Word> Serialize for Or<T, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Or::Word(_) => serializer.serialize_str(W::WORD.unwrap_or_default()),
            Or::Value(quantity) => quantity.serialize(serializer),
        }
    }
}
impl<'de, T: Dimension, W: Word> Deserialize<'de> for Or<T, W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor(PhantomData))
    }
}
impl<T: Dimension, W: Word> JsonSchema for Or<T, W> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Or{}", T::NAME, W::WORD.unwrap_or_default()).into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let word = W::WORD.unwrap_or_default();
        json_schema!({
            "type": "string",
            "pattern": format!("{}|^{word}$", pattern::<T>()),
            "examples": [T::EXAMPLE, word]
        })
    }
}

struct QuantityVisitor<T, W>(PhantomData<(T, W)>);

impl<T: Dimension, W: Word> Visitor<'_> for QuantityVisitor<T, W> {
    type Value = Or<T, W>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as text with a unit, like \"{}\"", T::WHAT, T::EXAMPLE)?;
        W::WORD.map_or(Ok(()), |word| write!(f, ", or \"{word}\""))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Or<T, W>, E> {
        if let Some(word) = W::value().filter(|_| W::WORD == Some(text)) {
            return Ok(Or::Word(word));
        }
        text.parse().map(Or::Value).map_err(|why: ParseUnitError| match W::WORD {
            Some(word) => E::custom(format!("{why}; \"{word}\" is accepted too")),
            None => E::custom(why),
        })
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Or<T, W>, E> {
        Err(bare::<T, E>(&number.to_string()))
    }
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Or<T, W>, E> {
        Err(bare::<T, E>(&number.to_string()))
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Or<T, W>, E> {
        Err(bare::<T, E>(&number.to_string()))
    }
}

/// Returns the error for a number without quotes: the parser's message about a number without a unit.
fn bare<T: Dimension, E: de::Error>(number: &str) -> E {
    match number.parse::<T>() {
        Err(why) => E::custom(format!("bare number where {} belongs: {why}", T::WHAT)),
        Ok(_) => E::custom(format!("bare number where {} belongs, like \"{}\"", T::WHAT, T::EXAMPLE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_values() {
        let read = |json: &str| serde_json::from_str::<Or<Amount, Unlimited>>(json);
        assert_eq!(read("\"unlimited\"").unwrap(), Or::word());
        assert_eq!(read("\"100 frames\"").unwrap().value(), Some(Amount::Frames(100)));
        assert!(read("\"unlimted\"").unwrap_err().to_string().contains("\"unlimited\" is accepted too"));
        assert_eq!(serde_json::to_string(&read("\"2048 B\"").unwrap()).unwrap(), "\"2 KiB\"");
        assert_eq!(serde_json::to_string(&Time::ZERO).unwrap(), "\"0 s\"");
    }

    #[test]
    fn a_bare_number_says_what_is_missing() {
        let why = serde_json::from_str::<Time>("10").unwrap_err().to_string();
        assert!(
            why.contains("bare number where a time belongs") && why.contains("did you mean \"10 us\""),
            "{why}"
        );
        assert!(serde_json::from_str::<BitRate>("1.5").is_err());
        assert!(serde_json::from_str::<Time>("true").is_err());
    }
}
