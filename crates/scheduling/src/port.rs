//! Properties of the port that a scheduler serves.

use crate::AccountedLength;
use keys::{Forms, Remark, by_form};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::{I64Deserializer, MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use units::{BitRate, Time};

/// Properties of the port that a scheduler serves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PortFacts {
    /// Number of queues, numbered from 0.
    pub queues: u32,
    /// Rate of the link.
    pub rate: BitRate,
    /// Bytes of overhead of each frame on the wire.
    pub overhead: u32,
    /// Length of the shortest frame at this port.
    pub smallest_frame: u32,
    /// Length of the longest frame at this port.
    pub largest_frame: u32,
}

impl PortFacts {
    /// Returns an Ethernet port: eight queues, frames of 64 to 1522 B, 20 B of overhead.
    pub fn ethernet(rate: BitRate) -> PortFacts {
        PortFacts {
            queues: frame::PRIORITIES as u32,
            rate,
            overhead: frame::LINE_OVERHEAD_BYTES as u32,
            smallest_frame: u32::from(frame::MIN_FRAME_BYTES),
            largest_frame: u32::from(frame::MAX_TAGGED_FRAME_BYTES),
        }
    }
    /// Returns the accounted length of the longest frame.
    pub(crate) fn largest(&self, accounted: AccountedLength) -> u32 {
        accounted.at(self).of(self.largest_frame)
    }
    /// Returns the lowest rate of service in accounted bytes per second, over all frame lengths that the link may
    /// carry.
    pub(crate) fn slowest_bytes_per_s(&self, accounted: AccountedLength) -> f64 {
        let length = accounted.at(self);
        self.slowest_per_s(|bytes| length.of(bytes))
    }
    /// Returns the lowest rate of service in units of `accounted` per second, over all frame lengths that the link may
    /// carry.
    pub(crate) fn slowest_per_s(&self, accounted: impl Fn(u32) -> u32) -> f64 {
        let density = |bytes: u32| f64::from(accounted(bytes)) / f64::from(bytes + self.overhead);
        let least = (self.smallest_frame..=self.largest_frame).map(density).fold(f64::INFINITY, f64::min);
        self.rate.bps_f64() / 8.0 * least
    }
    /// Returns the time for which a frame occupies the link, rounded up.
    pub(crate) fn wire_time(&self, bytes: u32) -> Time {
        self.rate.time_for_bits_ceil(u64::from(bytes + self.overhead) * 8)
    }
}

/// A rate: absolute, or relative to the rate of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Bits per second.
    Rate(BitRate),
    /// Millionths of the rate of the link. Range 1 to 1000000.
    PartsPerMillion(u32),
}

impl Share {
    /// Returns the rate at a link. Relative rates are rounded down to whole bits per second.
    pub fn of(self, link: BitRate) -> BitRate {
        match self {
            Share::Rate(rate) => rate,
            Share::PartsPerMillion(parts) => {
                BitRate::from_bps((u128::from(link.bps()) * u128::from(parts) / 1_000_000) as u64)
            }
        }
    }
    /// Checks that the rate is valid at this link. `what` is the name of the rate in messages.
    pub(crate) fn check(self, what: &str, link: BitRate) -> Result<(), Remark> {
        let rate = self.of(link);
        let help = format!("expected a rate above 0, at most {link}");
        if rate.bps() == 0 {
            return Err(Remark::new(format!("{what} is zero: nothing would ever pass"), help));
        }
        if rate > link {
            return Err(Remark::new(format!("{what} is {rate}, more than the link's {link}"), help));
        }
        Ok(())
    }
}

/// A part of the rate of the link.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShareOfLink {
    /// Share of the rate of the link, 0.000001 to 1. Required.
    #[serde(deserialize_with = "share")]
    share: f64,
}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let share = f64::deserialize(deserializer)?;
    if (1.0..=1e6).contains(&(share * 1e6).round()) {
        return Ok(share);
    }
    Err(D::Error::custom(format!("share {share} is not a share of the link; expected 0.000001 to 1")))
}

impl Forms for Share {
    const EXPECTED: &'static str = "a rate like \"10 Gb/s\", or { share = 0.25 } of the link";
    fn text<E: Error>(text: &str) -> Result<Share, E> {
        BitRate::deserialize(StrDeserializer::new(text)).map(Share::Rate)
    }
    fn number<E: Error>(number: i64) -> Result<Share, E> {
        BitRate::deserialize(I64Deserializer::new(number)).map(Share::Rate)
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Share, A::Error> {
        let part = ShareOfLink::deserialize(MapAccessDeserializer::new(table))?;
        Ok(Share::PartsPerMillion((part.share * 1e6).round() as u32))
    }
}
by_form!(Share);

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Share::Rate(rate) => rate.serialize(serializer),
            Share::PartsPerMillion(parts) => {
                ShareOfLink { share: f64::from(parts) / 1e6 }.serialize(serializer)
            }
        }
    }
}

impl JsonSchema for Share {
    fn schema_name() -> Cow<'static, str> {
        "RateOrShare".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (rate, share) = (BitRate::json_schema(generator), generator.subschema_for::<ShareOfLink>());
        schemars::json_schema!({
            "description": "A rate, or a share of the rate of the link.",
            "anyOf": [rate, share]
        })
    }
}
