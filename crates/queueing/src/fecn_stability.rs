//! The range in which FECN's rates are stable.

use crate::fecn::RatePointParams;
use crate::fecn_options::{AverageWith, QueueControl};
use keys::Remark;
use units::BitRate;

impl RatePointParams {
    /// Returns a remark with the stable range if rates oscillate on a link of this rate.
    pub(crate) fn swings(&self, link: BitRate) -> Option<Remark> {
        let (key, slope) = match self.queue_control {
            QueueControl::Off => return None,
            QueueControl::Linear | QueueControl::Additive => ("slope", self.slope),
            QueueControl::Hyperbolic => ("below_set_point", 1.0 - 1.0 / self.below_set_point),
        };
        let an_interval = link.bps_f64() / 8.0 * self.interval.as_secs_f64() / self.set_point.get() as f64;
        let most = match self.average_with {
            AverageWith::Previous => 2.0 - self.average_weight,
            AverageWith::Last => 1.0,
        } / an_interval;
        if slope < most {
            return None;
        }
        let value = if key == "slope" { self.slope } else { self.below_set_point };
        let message =
            format!("a {key} of {value} with intervals of {}: rates swing at {link}", self.interval);
        let stable = match self.queue_control {
            QueueControl::Linear | QueueControl::Additive => format!("a {key} below {most:.4}"),
            _ if most < 1.0 => format!("a {key} below {:.4}", 1.0 / (1.0 - most)),
            _ => return None,
        };
        Some(Remark::about(key, message, format!("stable is {stable}, or a shorter interval")))
    }
}
