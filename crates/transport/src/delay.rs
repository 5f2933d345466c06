//! Delays that are constant or drawn from a distribution.

use keys::{Forms, Remark, by_form};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::{I64Deserializer, MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use units::Time;

/// A time, or a distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// A constant delay.
    Fixed(Time),
    /// Exponentially distributed delays with this mean, rounded down to picoseconds; at most 36.8 times the mean.
    Exponential(Time),
}

impl Delay {
    /// Returns the mean, in seconds.
    pub fn mean_secs(self) -> f64 {
        match self {
            Delay::Fixed(time) | Delay::Exponential(time) => time.as_secs_f64(),
        }
    }
    /// Validates the delay as the value of this key.
    pub fn check(self, key: &str) -> Result<(), Remark> {
        if self == Delay::Exponential(Time::ZERO) {
            let help = "expected a time above 0, like \"10 us\"";
            return Err(Remark::about(key, "a mean of 0", help).key("exponential"));
        }
        Ok(())
    }
    /// Draws the next delay.
    pub fn draw(self, rng: &mut Xoshiro256PlusPlus) -> Time {
        match self {
            Delay::Fixed(time) => time,
            Delay::Exponential(mean) => Time::from_ps((mean.ps() as f64 * workload::exponential(rng)) as u64),
        }
    }
}

impl Default for Delay {
    fn default() -> Delay {
        Delay::Fixed(Time::ZERO)
    }
}

/// Distributions of times.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DelayTable {
    /// Exponential with this mean. A time with unit, above 0.
    Exponential(Time),
}

impl Forms for Delay {
    const EXPECTED: &'static str = "a time as text with a unit, like \"1.5 us\", or a table with exponential";
    fn text<E: Error>(text: &str) -> Result<Delay, E> {
        Time::deserialize(StrDeserializer::new(text)).map(Delay::Fixed)
    }
    fn number<E: Error>(number: i64) -> Result<Delay, E> {
        Time::deserialize(I64Deserializer::new(number)).map(Delay::Fixed)
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Delay, A::Error> {
        let DelayTable::Exponential(mean) = DelayTable::deserialize(MapAccessDeserializer::new(table))?;
        Ok(Delay::Exponential(mean))
    }
}
by_form!(Delay);

impl Serialize for Delay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Delay::Fixed(time) => time.serialize(serializer),
            Delay::Exponential(mean) => DelayTable::Exponential(mean).serialize(serializer),
        }
    }
}

impl JsonSchema for Delay {
    fn schema_name() -> Cow<'static, str> {
        "Delay".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (fixed, table) = (Time::json_schema(generator), generator.subschema_for::<DelayTable>());
        schemars::json_schema!({ "description": "How long something takes.", "anyOf": [fixed, table] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn a_delay_has_its_mean() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        assert_eq!(Delay::Fixed(Time::from_us(3)).draw(&mut rng), Time::from_us(3));
        let delay = Delay::Exponential(Time::from_us(3));
        let mean = (0..100_000).map(|_| delay.draw(&mut rng).ps() as f64).sum::<f64>() / 100_000.0;
        // The bound is six standard deviations of the mean of 100,000 draws.
        assert!((mean - 3e6).abs() < 6.0 * 3e6 / 316.0, "{mean}");
    }
}
