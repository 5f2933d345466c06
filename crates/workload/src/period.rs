//! Random lengths of on and off periods.

use crate::arrivals::{LONGEST, Random};
use crate::draw::{exponential, unit};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

/// Random length of an on or off period.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Period {
    /// Exponential with this mean. A time with unit, above 0.
    Exponential(Time),
    /// Pareto, truncated: no period is longer than 100 times `mean`.
    Pareto {
        /// Mean of the truncated periods: the maximum is 100 times the mean, and the minimum is chosen to give this mean. A time with unit, above 0. Required.
        mean: Time,
        /// Shape parameter: the smaller it is, the larger is the share of time in a few long periods. A number above 1 (below, there is no mean). Required.
        shape: f64,
    },
}

impl Period {
    /// Returns one remark per invalid value, with paths relative to the period.
    pub(crate) fn check(&self) -> Vec<Remark> {
        let (mean, path): (Time, &[&str]) = match *self {
            Period::Exponential(mean) => (mean, &["exponential"]),
            Period::Pareto { mean, .. } => (mean, &["pareto", "mean"]),
        };
        let mut wrong = Vec::new();
        if mean == Time::ZERO {
            let remark = Remark::new("a mean period of 0", "expected a time above 0, like \"10 us\"");
            wrong.push(path.iter().rev().fold(remark, |remark, key| remark.within(key)));
        }
        if let Period::Pareto { shape, .. } = *self
            && !(shape.is_finite() && shape > 1.0)
        {
            let message = format!("shape {shape} has no mean");
            wrong.push(
                Remark::about("shape", message, "expected a number above 1, like 1.5").within("pareto"),
            );
        }
        wrong
    }

    /// Returns the mean in seconds.
    pub fn mean_secs(&self) -> f64 {
        match *self {
            Period::Pareto { shape, .. } if !has_mean(shape) => 0.0,
            Period::Exponential(mean) | Period::Pareto { mean, .. } => mean.as_secs_f64(),
        }
    }

    /// Returns the mean of the squares, in units of the squared mean.
    pub(crate) fn second_moment(&self) -> f64 {
        match *self {
            Period::Pareto { shape, .. } if has_mean(shape) => {
                // Second moment of min(X, b), where x is the minimum length: x² + the integral of 2t (x/t)ᵃ from x to
                // b.
                let least = least_share(shape);
                let rest = 2.0 - shape;
                let log = libm::log(LONGEST / least);
                let integral = if rest.abs() < 1e-9 { log } else { libm::expm1(rest * log) / rest };
                least * least * (1.0 + 2.0 * integral)
            }
            Period::Pareto { .. } => 0.0,
            Period::Exponential(_) => 2.0,
        }
    }
}

/// A Pareto distribution has a mean only if its shape is above 1.
fn has_mean(shape: f64) -> bool {
    shape > 1.0
}

/// Draws the lengths of periods, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lengths {
    Exponential { mean: f64 },
    Pareto { least: f64, most: f64, exponent: f64 },
}

impl Lengths {
    pub(crate) fn new(period: &Period) -> Lengths {
        match *period {
            Period::Pareto { mean, shape } if has_mean(shape) => {
                let mean = mean.ps() as f64;
                let least = mean * least_share(shape);
                Lengths::Pareto { least, most: LONGEST * mean, exponent: -1.0 / shape }
            }
            Period::Pareto { .. } => Lengths::Exponential { mean: 0.0 },
            Period::Exponential(mean) => Lengths::Exponential { mean: mean.ps() as f64 },
        }
    }

    pub(crate) fn draw(&self, rng: &mut Random) -> f64 {
        match *self {
            Lengths::Exponential { mean } => mean * exponential(rng),
            Lengths::Pareto { least, most, exponent } => (least * libm::pow(unit(rng), exponent)).min(most),
        }
    }
}

/// Returns the minimum length of Pareto periods, as a share of their mean, such that the mean holds after truncation.
/// If x is the minimum length, a the shape and b the maximum length, the mean is x·(1 + (1 - (x/b)ᵃ⁻¹)/(a - 1)), which
/// grows with x. Without truncation it would be x·a/(a - 1).
pub(crate) fn least_share(shape: f64) -> f64 {
    let above_one = shape - 1.0;
    let mean = |x: f64| x * (1.0 - libm::expm1(above_one * libm::log(x / LONGEST)) / above_one);
    // Bisection ends at the latest when there is no double between the two ends.
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if mean(middle) < 1.0 { low = middle } else { high = middle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn truncated_pareto_periods_have_the_mean_that_was_asked_for() {
        // With the minimum length of an untruncated Pareto distribution, the mean would be too low by factors of 0.35,
        // 0.55, 0.96 and 0.998.
        for shape in [1.05, 1.1, 1.5, 2.0, 60.0] {
            let period = Period::Pareto { mean: Time::from_us(10), shape };
            assert_eq!(period.mean_secs(), 10e-6);
            let lengths = Lengths::new(&period);
            let mut rng = Random::seed_from_u64(11);
            let (mut sum, mut squares, draws) = (0.0, 0.0, 1_000_000);
            for _ in 0..draws {
                let means = lengths.draw(&mut rng) / 1e7;
                assert!(means > 0.0 && means <= 100.0, "{means}");
                (sum, squares) = (sum + means, squares + means * means);
            }
            let mean = sum / f64::from(draws);
            let deviation = (squares / f64::from(draws) - mean * mean).sqrt() / f64::from(draws).sqrt();
            assert!((mean - 1.0).abs() < 5.0 * deviation, "shape {shape}: {mean} ± {deviation}");
            assert!(5.0 * deviation < 0.025, "too few draws for this test: {deviation}");
            // Squares vary more, so they need only be within 5 % of the exact value.
            let second = period.second_moment();
            assert!(
                (squares / f64::from(draws) / second - 1.0).abs() < 0.05,
                "shape {shape}: {squares}, not {second}"
            );
        }
    }

    #[test]
    fn the_least_length_is_exact_at_all_shapes() {
        // For a shape far above 1 truncation hardly matters: (a - 1)/a. As the shape approaches 1, the mean tends to
        // x·(1 + ln(b/x)).
        assert!((least_share(1e6) - 1.0).abs() < 1e-5);
        assert!((least_share(5.0) - 0.8).abs() < 1e-9);
        let x = least_share(1.0 + 1e-9);
        assert!((x * (1.0 + (LONGEST / x).ln()) - 1.0).abs() < 1e-6, "{x}");
        assert!(least_share(f64::INFINITY) > 0.0);
    }
}
