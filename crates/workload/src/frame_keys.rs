//! Keys for the lengths of frames, and their checks.

use crate::size_shapes::{self, SizeShape};
use crate::spec::FrameSizes;
use keys::{Forms, Remark, by_form};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess};
use serde::{Deserialize, Serialize};
use units::Bytes;

/// Length of the largest frame that is supported: a jumbo frame of 9216 B of payload with header, tag and FCS.
pub const LARGEST_FRAME: u64 = JUMBO + 22;
const JUMBO: u64 = 9216;

fn smallest_frame() -> Bytes {
    Bytes::new(u64::from(frame::MIN_FRAME_BYTES))
}
fn largest_frame() -> Bytes {
    Bytes::new(u64::from(frame::MAX_TAGGED_FRAME_BYTES))
}

/// Length of frames.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FrameText {
    /// Fixed length. A size with unit, 1 to 9238 B, DA to FCS.
    Fixed(Bytes),
    /// Distribution of lengths by name.
    Word(FrameWord),
    /// Distribution of lengths as a table.
    Table(FrameTable),
}

/// Named distributions of frame lengths.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FrameWord {
    /// The simple Internet mix: 64, 594 and 1518 B in the ratio 7:4:1.
    Imix,
}

/// Distributions of frame lengths that need a table.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FrameTable {
    /// Uniform distribution of all lengths from `min` to `max`.
    Uniform {
        /// Minimum length. A size with unit, 1 to 9238 B. Required.
        min: Bytes,
        /// Maximum length. A size with unit, 1 to 9238 B, not below `min`. Required.
        max: Bytes,
    },
    /// Two lengths.
    Bimodal {
        /// Smaller length. A size with unit, 1 to 9238 B. Required.
        small: Bytes,
        /// Larger length. A size with unit, 1 to 9238 B. Required.
        large: Bytes,
        /// Probability of `small`. A number, 0 to 1. Required.
        #[schemars(range(min = 0.0, max = 1.0))]
        small_share: f64,
    },
    /// Exponential distribution, clipped to a range: a length outside is replaced by the nearest limit.
    Exponential {
        /// Mean of the clipped lengths. A size with unit, between `min` and `max`. Required.
        mean: Bytes,
        /// Minimum length. A size with unit, 1 to 9238 B. Default: "64 B" (the smallest Ethernet frame).
        #[serde(default = "smallest_frame")]
        min: Bytes,
        /// Maximum length. A size with unit, 1 to 9238 B. Default: "1522 B" (the largest tagged frame without jumbo support).
        #[serde(default = "largest_frame")]
        max: Bytes,
    },
    /// Log-normal distribution, clipped to a range: a length outside is replaced by the nearest limit.
    LogNormal {
        /// Mean of the clipped lengths. A size with unit, between `min` and `max`. Required.
        mean: Bytes,
        /// Standard deviation of the natural logarithm of the length before clipping. A number, above 0, at most 5. Required.
        #[schemars(range(min = 0.0, max = 5.0))]
        sigma: f64,
        /// Minimum length. A size with unit, 1 to 9238 B. Default: "64 B" (the smallest Ethernet frame).
        #[serde(default = "smallest_frame")]
        min: Bytes,
        /// Maximum length. A size with unit, 1 to 9238 B. Default: "1522 B" (the largest tagged frame without jumbo support).
        #[serde(default = "largest_frame")]
        max: Bytes,
    },
    /// Pareto distribution, truncated at the maximum: a greater length is drawn again.
    BoundedPareto {
        /// Shape parameter: the smaller it is, the larger is the share of bytes in a few long frames. A number, above 0, at most 100. Required.
        #[schemars(range(min = 0.0, max = 100.0))]
        shape: f64,
        /// Minimum length. A size with unit, 1 to 9238 B. Default: "64 B" (the smallest Ethernet frame).
        #[serde(default = "smallest_frame")]
        min: Bytes,
        /// Maximum length. A size with unit, 1 to 9238 B, not below `min`. Default: "1522 B" (the largest tagged frame without jumbo support).
        #[serde(default = "largest_frame")]
        max: Bytes,
    },
    /// Empirical distribution: the path of a CSV file with the columns `bytes` and `weight`, relative to the scenario.
    Empirical(String),
}

by_form!(FrameText);

impl Forms for FrameText {
    const EXPECTED: &'static str = "a size like \"1522 B\", \"imix\", or a table with uniform, bimodal, exponential, log_normal, bounded_pareto or empirical";
    fn text<E: de::Error>(text: &str) -> Result<Self, E> {
        match text {
            "imix" => Ok(FrameText::Word(FrameWord::Imix)),
            _ => text
                .parse()
                .map(FrameText::Fixed)
                .map_err(|why| E::custom(format!("{why}; \"imix\" is accepted too"))),
        }
    }
    fn table<'de, A: MapAccess<'de>>(table: A) -> Result<Self, A::Error> {
        FrameTable::deserialize(MapAccessDeserializer::new(table)).map(FrameText::Table)
    }
}

/// The result of reading a value: the parsed value, unless there is an error, and the remarks.
#[derive(Debug)]
pub struct Found<T> {
    /// The parsed value; `None` if there is an error.
    pub value: Option<T>,
    /// Errors.
    pub wrong: Vec<Remark>,
    /// Warnings.
    pub warnings: Vec<Remark>,
}

impl<T> Found<T> {
    fn right(value: T) -> Found<T> {
        Found { value: Some(value), wrong: Vec::new(), warnings: Vec::new() }
    }
    fn wrong(why: Remark) -> Found<T> {
        Found { value: None, wrong: vec![why], warnings: Vec::new() }
    }
    /// Adds the remarks of a part under this key, and returns the part's value.
    fn take<U>(&mut self, key: &str, part: Found<U>) -> Option<U> {
        self.wrong.extend(part.wrong.into_iter().map(|why| why.within(key)));
        self.warnings.extend(part.warnings.into_iter().map(|why| why.within(key)));
        part.value
    }
}

/// Checks the length of a frame.
pub fn frame_length(bytes: Bytes) -> Found<u16> {
    let bytes = bytes.get();
    let size = u16::try_from(bytes).ok().filter(|_| (1..=LARGEST_FRAME).contains(&bytes));
    let Some(size) = size else {
        let message = format!("a frame of {bytes} B is outside the range");
        return Found::wrong(Remark::new(message, format!("expected 1 B to {LARGEST_FRAME} B, DA to FCS")));
    };
    let mut found = Found::right(size);
    if bytes < u64::from(frame::MIN_FRAME_BYTES) || bytes > JUMBO {
        let message = format!("a frame of {bytes} B is not standard");
        found
            .warnings
            .push(Remark::new(message, "Ethernet has 64 B to 1522 B, with jumbo frames up to 9216 B"));
    }
    found
}

/// Checks that a value is a probability: 0 to 1.
pub fn no_probability(key: &str, value: f64) -> Option<Remark> {
    if (0.0..=1.0).contains(&value) {
        return None;
    }
    let percent = if (1.0..=100.0).contains(&value) {
        format!("; did you mean {}?", value / 100.0)
    } else {
        String::new()
    };
    Some(Remark::about(
        key,
        format!("{key} {value} is not a probability"),
        format!("expected 0 to 1{percent}"),
    ))
}

impl FrameText {
    /// Returns the key that names a file of lengths, and the file, if there is one.
    pub fn file(&self) -> Option<(&'static str, &str)> {
        match self {
            FrameText::Table(FrameTable::Empirical(path)) => Some(("empirical", path)),
            _ => None,
        }
    }

    /// Returns the lengths, if they are not in a file.
    pub fn spec(&self) -> Found<FrameSizes> {
        match self {
            FrameText::Fixed(bytes) => {
                let Found { value, wrong, warnings } = frame_length(*bytes);
                Found { value: value.map(FrameSizes::Fixed), wrong, warnings }
            }
            FrameText::Word(FrameWord::Imix) => Found::right(FrameSizes::Imix),
            FrameText::Table(table) => {
                let mut found = Found { value: None, wrong: Vec::new(), warnings: Vec::new() };
                let (name, own) = table.spec();
                found.value = found.take(name, own);
                found
            }
        }
    }
}

impl FrameTable {
    fn spec(&self) -> (&'static str, Found<FrameSizes>) {
        match *self {
            FrameTable::Uniform { min, max } => ("uniform", uniform(min, max)),
            FrameTable::Bimodal { small, large, small_share } => {
                ("bimodal", bimodal(small, large, small_share))
            }
            FrameTable::Exponential { mean, min, max } => {
                ("exponential", shape(SizeShape::Exponential, [mean, min, max]))
            }
            FrameTable::LogNormal { mean, sigma, min, max } => {
                let found = if sigma > 0.0 && sigma <= 5.0 {
                    shape(SizeShape::LogNormal { sigma }, [mean, min, max])
                } else {
                    let accepted = "expected a number above 0, at most 5, like 1";
                    Found::wrong(Remark::about("sigma", format!("sigma {sigma}"), accepted))
                };
                ("log_normal", found)
            }
            FrameTable::BoundedPareto { shape, min, max } => {
                ("bounded_pareto", bounded_pareto(shape, min, max))
            }
            FrameTable::Empirical(_) => {
                ("empirical", Found::wrong(Remark::new("lengths of a file", "expected the file to be read")))
            }
        }
    }
}

/// Reads the two lengths given by these keys; `None` if one of them is invalid.
fn two(found: &mut Found<FrameSizes>, [a, b]: [(&str, Bytes); 2]) -> Option<(u16, u16)> {
    let (first, second) = (found.take(a.0, frame_length(a.1)), found.take(b.0, frame_length(b.1)));
    first.zip(second)
}

fn uniform(min: Bytes, max: Bytes) -> Found<FrameSizes> {
    range(min, max, |min, max| FrameSizes::Uniform { min, max })
}

fn bounded_pareto(shape: f64, min: Bytes, max: Bytes) -> Found<FrameSizes> {
    if !(shape > 0.0 && shape <= 100.0) {
        let accepted = "expected a number above 0, at most 100, like 1.3";
        return Found::wrong(Remark::about("shape", format!("shape {shape}"), accepted));
    }
    range(min, max, |min, max| FrameSizes::Empirical(size_shapes::bounded_pareto(shape, min, max)))
}

/// Reads a distribution between two lengths.
fn range(min: Bytes, max: Bytes, sizes: impl FnOnce(u16, u16) -> FrameSizes) -> Found<FrameSizes> {
    let mut found = Found { value: None, wrong: Vec::new(), warnings: Vec::new() };
    let Some((min, max)) = two(&mut found, [("min", min), ("max", max)]) else { return found };
    if min > max {
        found.wrong.push(Remark::about(
            "min",
            format!("min {min} B is above max {max} B"),
            "expected min <= max",
        ));
        return found;
    }
    Found { value: Some(sizes(min, max)), ..found }
}

fn bimodal(small: Bytes, large: Bytes, small_share: f64) -> Found<FrameSizes> {
    let wrong = no_probability("small_share", small_share).into_iter().collect();
    let mut found = Found { value: None, wrong, warnings: Vec::new() };
    let Some((small, large)) = two(&mut found, [("small", small), ("large", large)]) else { return found };
    if small > large {
        let message = format!("small {small} B is above large {large} B");
        found.warnings.push(Remark::about("small", message, "small_share is the share of small"));
    }
    Found { value: Some(FrameSizes::Bimodal { small, large, small_share }), ..found }
}

/// Reads a distribution that is cut to a range, from its mean, minimum and maximum length.
fn shape(shape: SizeShape, [mean, min, max]: [Bytes; 3]) -> Found<FrameSizes> {
    let mut found = Found { value: None, wrong: Vec::new(), warnings: Vec::new() };
    let Some((least, most)) = two(&mut found, [("min", min), ("max", max)]) else { return found };
    found.value = shape.sizes(mean.get() as f64, least, most).map(FrameSizes::Empirical);
    if found.value.is_none() {
        let message = format!("a mean of {mean} of lengths from {min} to {max}");
        found.wrong.push(Remark::about("mean", message, "expected a mean between `min` and `max`"));
    }
    found
}
