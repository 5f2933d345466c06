//! The host part of FECN: a rate limiter that tags frames and sends at the rate that returned tags carry.
//!
//! The scheme, its source, and what is not modelled are in `fecn.rs`.

use crate::ManagerSpec;
use crate::checks::{above, interval, intervals, message_priority, tag_length};
use crate::quiet::Quiet;
use crate::rate_control::{Feedback, RateConfiguration, RateControl};
use frame::Tag;
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Never, Or, Time};

/// Keys of a reaction point of FECN.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateReactionParams {
    /// Time between tagged frames: a frame gets a tag if at least this time has passed since the last tag. A time with unit, at least "1 us". Default: "1 ms" (that of the congestion points).
    pub interval: Time,
    /// Time between tagged frames while two consecutive returned rates are close to each other. A time with unit, not below `interval`; or "never". Default: "never".
    pub long_interval: Or<Time, Never>,
    /// Maximum difference between two rates that count as close, as a fraction of the earlier one. A number, 0 to 1. Default: 0.05.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub near_share: f64,
    /// Every n-th frame gets a tag, regardless of time; 0: by time. A count, at most 1000000. Default: 0.
    #[schemars(range(min = 0, max = 1000000))]
    pub tag_every: u32,
    /// Rate before the first tag returns, as a fraction of the line rate. A number above 0, at most 1. Default: 0.05 (a choice: 1/N0).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub initial_share: f64,
    /// Time without a returned tag after which the rate falls back to the initial rate. A time with unit, at least "1 us"; or "never". Default: "10 ms" (a choice).
    pub forget_after: Or<Time, Never>,
    /// Minimum rate: lower rates in tags are ignored. A rate with unit, above 0. Default: "10 Mb/s" (a choice).
    pub min_rate: BitRate,
    /// Priority of the tags that the host returns. A whole number, 0 to 7. Default: 7 (a choice: ahead of the congested traffic).
    #[schemars(range(min = 0, max = 7))]
    pub message_priority: u32,
    /// Length of a tag. A size with unit, at most "64 B". Default: "12 B" (a choice: type, rate, limiter, direction).
    pub tag_length: Bytes,
}

impl Default for RateReactionParams {
    fn default() -> RateReactionParams {
        RateReactionParams {
            interval: Time::from_ms(1),
            long_interval: Or::word(),
            near_share: 0.05,
            tag_every: 0,
            initial_share: 0.05,
            forget_after: Or::Value(Time::from_ms(10)),
            min_rate: BitRate::from_bps(10_000_000),
            message_priority: 7,
            tag_length: Bytes::new(12),
        }
    }
}

impl RateConfiguration for RateReactionParams {
    type Machine = RateReaction;

    fn check(&self) -> Result<(), Remark> {
        intervals(self.interval, self.long_interval, self.near_share)?;
        if self.tag_every > 1_000_000 {
            let message = format!("one of {} frames", self.tag_every);
            return Err(Remark::about("tag_every", message, "expected at most 1000000; 0: by time"));
        }
        above("initial_share", self.initial_share, 0.0, 1.0)?;
        if let Some(after) = self.forget_after.value() {
            interval("forget_after", after)?;
        }
        if self.min_rate.bps() == 0 {
            let help = "expected a rate above 0, like \"10 Mb/s\": a limiter never stops";
            return Err(Remark::about("min_rate", "a rate of 0", help));
        }
        message_priority(self.message_priority)?;
        tag_length(self.tag_length)
    }
    fn unused(&self) -> Vec<Remark> {
        let by_time = self.tag_every == 0;
        let near = self.long_interval.value().is_some();
        Unused::of(self, &RateReactionParams::default())
            .unless(by_time, "tags by time: tag_every = 0", &["long_interval", "near_share"])
            .unless(near || !by_time, "`long_interval`", &["near_share"])
            .remarks()
    }
    fn doubt_with(&self, point: &ManagerSpec, link: BitRate) -> Option<Remark> {
        let ManagerSpec::RatePoint(point) = point else { return None };
        point.swings(link)
    }
    fn tag_bytes(&self) -> u8 {
        self.tag_length.get() as u8
    }
    fn return_priority(&self) -> Option<u8> {
        Some(self.message_priority as u8)
    }
    fn start(&self, line: BitRate) -> RateReaction {
        let mut it = RateReaction {
            params: *self,
            line: line.bps(),
            initial: 0,
            rate: 0,
            feedback_at: None,
            near: false,
            tagged_at: None,
            untagged: 0,
            deaf_until: Time::ZERO,
        };
        it.at_link(line);
        it.rate = it.initial;
        it
    }
}

/// The reaction point of a limiter. Rates are in bits per second.
#[derive(Clone, Debug)]
pub struct RateReaction {
    params: RateReactionParams,
    line: u64,
    initial: u64,
    rate: u64,
    /// Time at which the last tag returned; `None` if no tag has returned or the last one has expired.
    feedback_at: Option<Time>,
    /// True if the rate of the last tag was near the previous one.
    near: bool,
    tagged_at: Option<Time>,
    /// Frames sent since the last tagged one.
    untagged: u32,
    /// Time until which severe messages are ignored.
    deaf_until: Time,
}

impl RateReaction {
    fn at_link(&mut self, line: BitRate) {
        self.line = line.bps();
        self.initial = self.bounded((line.bps_f64() * self.params.initial_share) as u64);
    }

    fn bounded(&self, rate: u64) -> u64 {
        rate.clamp(self.params.min_rate.bps().min(self.line), self.line)
    }

    /// Returns true if the frame that leaves now is to carry a tag.
    fn is_due(&self, now: Time) -> bool {
        let Some(last) = self.tagged_at else { return true };
        if self.params.tag_every > 0 {
            return self.untagged + 1 >= self.params.tag_every;
        }
        now - last >= self.between_tags()
    }

    /// Returns the time between two tags.
    fn between_tags(&self) -> Time {
        let long = self.params.long_interval.value().filter(|_| self.near);
        long.unwrap_or(self.params.interval)
    }
}

impl RateControl for RateReaction {
    fn on_feedback(&mut self, now: Time, feedback: Feedback, _random: &mut impl FnMut() -> u64) {
        match feedback {
            Feedback::Returned(Tag::Rate(written)) => {
                let next = self.bounded(written.map_or(self.line, |(rate, _)| rate.bps()));
                let change = next.abs_diff(self.rate) as f64;
                self.near = self.feedback_at.is_some() && change <= self.params.near_share * self.rate as f64;
                (self.rate, self.feedback_at) = (next, Some(now));
            }
            Feedback::Message(_) if now >= self.deaf_until => {
                self.rate = self.rate.min(self.initial);
                self.deaf_until = now + self.params.interval;
            }
            Feedback::Message(_) | Feedback::Returned(Tag::Limited(_) | Tag::Path(_) | Tag::Flow(_)) => {}
        }
    }

    fn tag(&mut self, now: Time) -> Option<(Tag, u8)> {
        if !self.is_due(now) {
            self.untagged += 1;
            return None;
        }
        (self.tagged_at, self.untagged) = (Some(now), 0);
        Some((Tag::Rate(None), self.params.tag_bytes()))
    }

    fn on_sent(&mut self, _now: Time, _bytes: u16, _last: bool, _random: &mut impl FnMut() -> u64) {}

    fn handle_timeout(&mut self, now: Time, _random: &mut impl FnMut() -> u64) {
        if self.poll_timeout().is_some_and(|at| at <= now) {
            (self.rate, self.feedback_at, self.near) = (self.initial, None, false);
        }
    }

    fn on_link_rate(&mut self, line: BitRate, _now: Time) {
        self.at_link(line);
        // Without feedback, the initial rate applies.
        self.rate = if self.feedback_at.is_some() { self.bounded(self.rate) } else { self.initial };
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.feedback_at? + self.params.forget_after.value()?)
    }

    fn rate(&self) -> Option<BitRate> {
        Some(BitRate::from_bps(self.rate))
    }

    fn quiet(&self) -> Quiet {
        // If tags are sent by time, the control is quiet until the next tag.
        let tag_at =
            self.tagged_at.filter(|_| self.params.tag_every == 0).map(|last| last + self.between_tags());
        tag_at.map_or(Quiet::NEVER, |until| Quiet { until, ..Quiet::ALWAYS })
    }
}
