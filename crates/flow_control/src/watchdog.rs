//! Pause-storm watchdog (PFC watchdog): a switch queue that is paused for too long ignores the pauses, or drops its
//! frames.
//!
//! A host or switch that sends pauses continuously stops the port that sends to it, then the ports that feed that
//! port, and eventually the whole fabric. Operators therefore monitor each egress queue:
//!
//! - *detection*: a queue is in a storm if it has been paused without interruption, with frames waiting all the time,
//!   for the detection time;
//! - *action*: report only; drop the queued and arriving frames; or forward, which means that pauses are ignored;
//! - *restoration*: a storm ends when the queue has not been paused for the restoration time.
//!
//! Source: Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 4.3 (switch watchdog); the PFC
//! watchdog of SONiC, whose detection and restoration times are 200 ms unless configured.
//!
//! Not modelled: polling. Real watchdogs poll every 100 ms or so and detect a storm up to that much later; here the
//! times are exact. A real watchdog that drops frames may also stop sending pauses for the ingress of the queue.

use keys::{Remark, Remarks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

/// Pause-storm watchdog (PFC watchdog): reports a queue that is paused for too long, drops its frames, or ignores the pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WatchdogSpec {
    /// Detection time: a queue that has been paused for this time without interruption, with frames waiting, is in a storm. A time with unit, above 0. Default: "200 ms" (the usual value in switches).
    #[serde(rename = "detection_time")]
    pub detection: Time,
    /// Restoration time: a storm ends when the queue has not been paused for this time. A time with unit. Default: "200 ms" (the usual value in switches).
    #[serde(rename = "restoration_time")]
    pub restoration: Time,
    /// Action during a storm: "report" only, "drop" the queued and arriving frames, or "forward", which ignores the pauses. Default: "drop" (the usual value in switches).
    pub action: StormAction,
}

impl Default for WatchdogSpec {
    fn default() -> WatchdogSpec {
        let time = Time::from_ms(200);
        WatchdogSpec { detection: time, restoration: time, action: StormAction::Drop }
    }
}

impl WatchdogSpec {
    /// Validates the settings for a run of this length. `pauses` is true if a switch can be paused.
    ///
    /// # Errors
    /// The detection time is 0, so that every pause would be a storm.
    pub fn check(&self, duration: Time, pauses: bool) -> Remarks {
        let detection = self.detection;
        let about = |message: String, help: &str| Remark::about("detection_time", message, help);
        if detection == Time::ZERO {
            let message = "detection_time is 0: every pause would be a storm".to_string();
            return Err(about(message, "expected a time above 0, like \"200 ms\""));
        }
        let mut found = Vec::new();
        if detection >= duration {
            let message = format!("detection_time {detection} is not below the duration {duration}");
            found.push(about(message, "no storm will be detected"));
        }
        if !pauses {
            let message = "a watchdog, but no switch has flow control";
            found.push(Remark::new(message, "nothing is paused: it has no effect"));
        }
        Ok(found)
    }
}

/// Action of a watchdog during a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StormAction {
    /// Reports the storm.
    Report,
    /// Drops queued and arriving frames.
    Drop,
    /// Ignores the pauses.
    Forward,
}

/// The result of checking a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No action.
    Quiet,
    /// The queue has to be checked again at this time.
    LookAt(Time),
    /// A storm has been detected; it began at this time.
    Storm(Time),
    /// The storm is over.
    Over,
}

/// The watchdog state of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueWatch {
    /// Time since which the queue has been paused with frames waiting.
    stuck_since: Option<Time>,
    storming: bool,
}

impl QueueWatch {
    /// Records that the queue is paused and has frames. Returns the time of the next check.
    pub fn stuck(&mut self, spec: &WatchdogSpec, now: Time) -> Option<Time> {
        if self.stuck_since.is_some() || self.storming {
            return None;
        }
        self.stuck_since = Some(now);
        Some(now + spec.detection)
    }
    /// Records that the queue is no longer paused, or that there was a gap between two pauses.
    pub fn free(&mut self) {
        self.stuck_since = None;
    }
    /// Returns true if the queue is in a storm.
    pub fn is_storming(&self) -> bool {
        self.storming
    }
    /// Checks the queue; `paused_until` is the current end of its last pause.
    pub fn look(&mut self, spec: &WatchdogSpec, now: Time, paused_until: Time) -> Verdict {
        if self.storming {
            let over = paused_until + spec.restoration;
            if over > now {
                return Verdict::LookAt(over);
            }
            *self = QueueWatch::default();
            return Verdict::Over;
        }
        let Some(since) = self.stuck_since else { return Verdict::Quiet };
        if paused_until <= now {
            self.stuck_since = None;
            return Verdict::Quiet;
        }
        if since + spec.detection > now {
            return Verdict::LookAt(since + spec.detection);
        }
        self.storming = true;
        Verdict::Storm(since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: WatchdogSpec = WatchdogSpec {
        detection: Time::from_us(10),
        restoration: Time::from_us(4),
        action: StormAction::Drop,
    };

    #[test]
    fn a_storm_is_detected_after_the_detection_time_and_over_after_the_restoration_time() {
        let us = Time::from_us;
        let mut queue = QueueWatch::default();
        assert_eq!(queue.stuck(&SPEC, us(3)), Some(us(13)));
        assert_eq!(queue.stuck(&SPEC, us(5)), None);
        assert_eq!(queue.look(&SPEC, us(12), us(20)), Verdict::LookAt(us(13)));
        assert_eq!(queue.look(&SPEC, us(13), us(20)), Verdict::Storm(us(3)));
        assert!(queue.is_storming());
        // The pause was renewed until 30 us.
        assert_eq!(queue.look(&SPEC, us(24), us(30)), Verdict::LookAt(us(34)));
        assert_eq!(queue.look(&SPEC, us(34), us(30)), Verdict::Over);
        assert_eq!(queue, QueueWatch::default());
    }

    #[test]
    fn a_gap_begins_anew() {
        let us = Time::from_us;
        let mut queue = QueueWatch::default();
        assert_eq!(queue.stuck(&SPEC, us(3)), Some(us(13)));
        queue.free();
        assert_eq!(queue.look(&SPEC, us(13), us(20)), Verdict::Quiet);
        assert_eq!(queue.stuck(&SPEC, us(14)), Some(us(24)));
        // A check scheduled earlier comes first, and is postponed.
        assert_eq!(queue.look(&SPEC, us(20), us(40)), Verdict::LookAt(us(24)));
        // A pause that ends at the very instant of the check was not too long.
        assert_eq!(queue.look(&SPEC, us(24), us(24)), Verdict::Quiet);
    }
}
