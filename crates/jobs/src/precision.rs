//! Required precision of the mean iteration time, at which a run of jobs may end.
//!
//! Times of consecutive iterations may be correlated. They are therefore grouped into ten batches of consecutive
//! iterations, and the confidence interval is that of Student's t for the ten batch means, with nine degrees of
//! freedom. The interval is recomputed only when each batch has grown by one iteration, so that a run does not end at
//! the first iteration that happens to satisfy it.
//!
//! Source: Law, Simulation Modeling and Analysis (2015), section 9.5.3: batch means; the quantiles of Student's t are
//! those of its table T.1.

use keys::Remark;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use units::Time;

/// Number of batches of consecutive iterations.
const BATCHES: usize = 10;
/// Confidence levels in per cent, and the quantile of Student's t with nine degrees of freedom at the upper end of the interval.
const QUANTILES: [(u64, f64); 3] = [(90, 1.833_112_93), (95, 2.262_157_16), (99, 3.249_835_54)];

/// Half width of a confidence interval as a share of the mean, and the confidence: "5 % at 95 %".
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Precision {
    /// Per cent of the mean, above 0 and at most 100.
    half_width: f64,
    /// Which of the levels.
    level: usize,
}

/// Confidence interval of the mean time of an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepInterval {
    /// Number of iterations from which the interval is computed, the first ones.
    pub iterations: usize,
    /// Mean in picoseconds.
    pub mean: f64,
    /// Half width of the interval in picoseconds.
    pub half_width: f64,
}

impl Precision {
    /// Returns the interval of the mean of consecutive iteration times; `None` for fewer than ten.
    pub fn interval(&self, times: &[Time]) -> Option<StepInterval> {
        let size = times.len() / BATCHES;
        if size == 0 {
            return None;
        }
        let mean_of = |batch: &[Time]| batch.iter().map(|time| time.ps() as f64).sum::<f64>() / size as f64;
        let means: Vec<f64> = times[..size * BATCHES].chunks_exact(size).map(mean_of).collect();
        let mean = means.iter().sum::<f64>() / BATCHES as f64;
        let squares = means.iter().map(|own| (own - mean) * (own - mean)).sum::<f64>();
        let deviation = (squares / (BATCHES - 1) as f64).sqrt();
        let half_width = QUANTILES[self.level].1 * deviation / (BATCHES as f64).sqrt();
        Some(StepInterval { iterations: size * BATCHES, mean, half_width })
    }

    /// Returns true if the mean of these times is known with this precision.
    pub fn is_reached(&self, times: &[Time]) -> bool {
        self.interval(times).is_some_and(|own| own.half_width <= self.half_width / 100.0 * own.mean)
    }

    /// Checks that some job of a scenario has more iterations than the minimum that is simulated.
    ///
    /// # Errors
    /// If no job has more; the remark says what to change.
    pub fn check(iterations: impl Iterator<Item = u64>) -> Result<(), Remark> {
        match iterations.max() {
            Some(most) if most > BATCHES as u64 => Ok(()),
            Some(most) => {
                let message = format!("a precision, and no job has more than {most} iterations");
                Err(Remark::about("until", message, "it needs a job with more than 10 iterations"))
            }
            None => {
                Err(Remark::about("until", "a precision, and no job", "it needs [[jobs]] with iterations"))
            }
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} % at {} %", self.half_width, QUANTILES[self.level].0)
    }
}

impl From<Precision> for String {
    fn from(own: Precision) -> String {
        own.to_string()
    }
}

impl TryFrom<String> for Precision {
    type Error = String;
    fn try_from(text: String) -> Result<Precision, String> {
        text.parse()
    }
}

impl FromStr for Precision {
    type Err = String;
    fn from_str(text: &str) -> Result<Precision, String> {
        let refused = || {
            format!(
                "\"{text}\" is not a precision; expected a half width and a confidence of 90, 95 or 99 %, like \"5 % at 95 %\""
            )
        };
        let percent =
            |part: &str| part.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let (width, confidence) = text.split_once(" at ").ok_or_else(refused)?;
        let half_width =
            percent(width).filter(|width| *width > 0.0 && *width <= 100.0).ok_or_else(refused)?;
        let confidence = percent(confidence).ok_or_else(refused)?;
        let level =
            QUANTILES.iter().position(|&(level, _)| level as f64 == confidence).ok_or_else(refused)?;
        Ok(Precision { half_width, level })
    }
}

impl JsonSchema for Precision {
    fn schema_name() -> Cow<'static, str> {
        "Precision".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9.]+ ?% at (90|95|99) ?%$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(all: &[u64]) -> Vec<Time> {
        all.iter().map(|&us| Time::from_us(us)).collect()
    }

    #[test]
    fn texts_are_read_and_written() {
        for text in ["5 % at 95 %", "0.5 % at 99 %", "100 % at 90 %"] {
            assert_eq!(text.parse::<Precision>().map(String::from), Ok(text.to_string()));
        }
        assert_eq!("5% at 95%".parse::<Precision>().map(String::from), Ok("5 % at 95 %".to_string()));
        for text in [
            "",
            "5 %",
            "5 at 95",
            "0 % at 95 %",
            "101 % at 95 %",
            "5 % at 80 %",
            "NaN % at 95 %",
            "-1 % at 95 %",
        ] {
            assert!(text.parse::<Precision>().is_err(), "{text}");
        }
    }

    /// Computed by hand: the batches 10, 12, 10, 12, ... have the mean 11, the deviation sqrt(10/9) and the half width
    /// 2.262157 sqrt(1/9).
    #[test]
    fn an_interval_by_hand() {
        let precision: Precision = "7 % at 95 %".parse().unwrap();
        let ten = times(&[10, 12, 10, 12, 10, 12, 10, 12, 10, 12]);
        let own = precision.interval(&ten).unwrap();
        assert_eq!((own.iterations, own.mean), (10, 11e6));
        assert!((own.half_width / 1e6 - 2.262_157_16 / 3.0).abs() < 1e-9);
        assert!(precision.is_reached(&ten), "6.9 %");
        assert!(!"6.8 % at 95 %".parse::<Precision>().unwrap().is_reached(&ten));
        assert_eq!(precision.interval(&ten[..9]), None);
        // Batches of two have equal means; one more iteration changes nothing.
        let twenty: Vec<Time> = ten.iter().chain(&ten).copied().chain(times(&[99])).collect();
        let own = precision.interval(&twenty).unwrap();
        assert_eq!((own.iterations, own.half_width), (20, 0.0));
    }
}
