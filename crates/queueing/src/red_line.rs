//! The probability curve of RED from the minimum to the maximum threshold, for frames of one color, and the spacing of
//! picks.

use crate::manager::{Counts, number};
use crate::red::{Action, IdleExponent, Mode, Spacing};
use crate::reference_rate::amount_at_rate;
use crate::step::Moment;
use keys::Remark;
use units::{Amount, BitRate, Bytes};

/// The parameters for frames of one color.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rules {
    pub min: Amount,
    pub max: Amount,
    pub max_probability: f64,
    pub action: Action,
}

impl Rules {
    /// Checks the parameters. `unit` is the threshold in whose unit the queue is counted.
    pub fn check(&self, unit: Amount) -> Result<(), Remark> {
        let Rules { min, max, max_probability, .. } = *self;
        let wrong = |key, message: String, help| Err(Remark::about(key, message, help));
        if !(max_probability > 0.0 && max_probability <= 1.0) {
            let message = format!("a probability of {max_probability}");
            return wrong("max_probability", message, "accepted is above 0 to 1");
        }
        if !min.comparable(unit) {
            let message = format!("min {min} beside {unit}");
            return wrong("min", message, "thresholds of all colors have to be bytes, or all frames");
        }
        if !min.comparable(max) {
            let message = format!("max {max} beside min {min}");
            return wrong("max", message, "both have to be bytes, or both frames");
        }
        if number(max) <= number(min) {
            let message = format!("max {max} is not above min {min}");
            return wrong("max", message, "the probability rises from min to max");
        }
        Ok(())
    }
    /// Returns p of a frame of the mean length at this average; `None` if every frame is picked.
    pub fn probability(&self, average: f64, gentle: bool) -> Option<f64> {
        let (min, max) = (number(self.min) as f64, number(self.max) as f64);
        if average < min {
            Some(0.0)
        } else if average < max {
            Some(self.max_probability * (average - min) / (max - min))
        } else if gentle && average < 2.0 * max {
            Some(self.max_probability + (1.0 - self.max_probability) * (average - max) / max)
        } else {
            None
        }
    }
}

/// The parameters for frames of any color.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Common {
    pub weight: f64,
    /// Minimum threshold; its unit is that of the queue length.
    pub min: Amount,
    pub gentle: bool,
    pub mode: Mode,
    pub spacing: Spacing,
    pub mark_above_max: bool,
    pub mean_frame: Bytes,
    pub counts: Counts,
    pub idle_exponent: IdleExponent,
    pub at: Moment,
}

/// The curve and the pick count of frames that are counted together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub rules: Rules,
    /// Parameters as configured, that is, at the reference rate.
    configured: Rules,
    /// Frames (in byte mode: mean frames) since the last pick, including this one; `None` if there was none since the
    /// average rose above the minimum.
    pub since_pick: Option<f64>,
}

impl Line {
    /// Creates the curve at a port of this rate, before any frame. The thresholds apply at the rate `reference`.
    pub fn new(configured: Rules, reference: Option<BitRate>, rate: BitRate) -> Line {
        let mut line = Line { rules: configured, configured, since_pick: None };
        line.set_rate(reference, rate);
        line
    }
    /// Sets the thresholds for a new rate of the port.
    pub fn set_rate(&mut self, reference: Option<BitRate>, rate: BitRate) {
        let scaled = |threshold| amount_at_rate(threshold, reference, rate);
        let Rules { min, max, .. } = self.configured;
        (self.rules.min, self.rules.max) = (scaled(min), above(scaled(min), scaled(max)));
    }
    /// Decides whether a frame is picked between the thresholds; `p` is the probability for a frame of the mean length.
    pub fn picks(&mut self, p: f64, common: &Common, bytes: u16, random: &mut impl FnMut() -> u64) -> bool {
        let length = match common.mode {
            Mode::Frame => 1.0,
            Mode::Byte => f64::from(bytes) / common.mean_frame.get() as f64,
        };
        let count = self.since_pick.map_or(0.0, |count| count + length);
        let spread = match common.spacing {
            Spacing::Geometric => p,
            Spacing::Uniform if count * p < 1.0 => p / (1.0 - count * p),
            Spacing::Wait if count * p < 1.0 => 0.0,
            Spacing::Wait if count * p < 2.0 => p / (2.0 - count * p),
            Spacing::Uniform | Spacing::Wait => 1.0,
        };
        let picked = happens(spread * if spread < 1.0 { length } else { 1.0 }, random);
        self.since_pick = Some(if picked { 0.0 } else { count });
        picked
    }
}

/// Returns the maximum threshold, or the minimum plus one if that is larger.
fn above(min: Amount, max: Amount) -> Amount {
    let least = number(min) + 1;
    match max {
        Amount::Bytes(bytes) => Amount::Bytes(bytes.max(least)),
        Amount::Frames(frames) => Amount::Frames(frames.max(least)),
    }
}

/// Returns true with this probability. Draws random bits only if the outcome is open.
fn happens(probability: f64, random: &mut impl FnMut() -> u64) -> bool {
    if probability <= 0.0 {
        return false;
    }
    // 53 bits represent a number from 0 to below 1.
    probability >= 1.0 || ((random() >> 11) as f64) < probability * (1u64 << 53) as f64
}
