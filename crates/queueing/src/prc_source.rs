//! The host part of path rate control: probes a path, and sets the rate of a limiter from the returned congestion
//! levels.
//!
//! The scheme, its source, and what is not modelled are in `prc.rs`.

use crate::checks::{above, above_zero, interval, message_priority, within};
use crate::rate_control::{Feedback, PathFacts, Probe, RateConfiguration, RateControl};
use crate::{ManagerSpec, PathPointParams};
use frame::{LevelsOn, PathNews, Tag};
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Time};

/// Keys of path rate control.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PathReactionParams {
    /// Method by which levels reach the source: in messages of the receiver ("feedback"), in answers to probes ("probes"), as the round-trip time of probes ("round_trip"), or in messages of congestion points ("messages"). Default: "feedback".
    pub method: Method,
    /// Time between two levels of a path. A time with unit, at least "1 us". Default: "40 us" (a choice: 17 Mb/s a path, 1 % of 10 Gb/s for six).
    pub interval: Time,
    /// With "feedback", the number of receiver messages per request. A count, 1 to 1000. Default: 8 (a choice).
    #[schemars(range(min = 1, max = 1000))]
    pub ask_every: u32,
    /// Buffer of a port: queue length that corresponds to a level of 100 %. A size with unit, at least "1 B". Default: "64 KiB" (that of the congestion points).
    pub buffer: Bytes,
    /// Target level, as a fraction of `buffer`. A number above 0, at most 1. Default: 0.16 (a choice: 10 KiB).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub target_share: f64,
    /// Rate law: gains that depend on the loop time ("scaled"), or constant gains ("fixed"). Default: "scaled".
    pub law: Law,
    /// With "scaled", gain of the convergence to equal rates (s). A number, 0 to 1. Default: 0.01 (a choice: within a hundred loop times).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub equal_gain: f64,
    /// With "scaled", gain for the growth of the queue (a). A number, 0 to 2. Default: 0.4 (Katabi et al. 2002).
    #[schemars(range(min = 0.0, max = 2.0))]
    pub growth_gain: f64,
    /// With "scaled", gain for the queue length (b). A number, 0 to 2; above 0.34, with the default `growth_gain`, the loop oscillates. Default: 0.226 (Katabi et al. 2002).
    #[schemars(range(min = 0.0, max = 2.0))]
    pub length_gain: f64,
    /// Initial rate, as a fraction of the line rate. A number above 0, at most 1. Default: 0.0625 (a choice: 1/16).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub initial_share: f64,
    /// Minimum rate of a path. A rate with unit, above 0. Default: "10 Mb/s" (a choice).
    pub min_rate: BitRate,
    /// Idle time after which the rate of a path is halved, repeatedly, down to the initial rate. A time with unit, at least "1 us". Default: "1 ms" (a choice).
    pub idle_after: Time,
    /// Priority of the requests of the source and of the answers of its host. A whole number, 0 to 7. Default: 7 (McAlpine 2005: the highest).
    #[schemars(range(min = 0, max = 7))]
    pub message_priority: u32,
}

/// Method by which levels reach the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The receiver sends messages, and switches write levels on the reverse path (method 4).
    #[default]
    Feedback,
    /// The source sends probes, and switches write levels on the forward path (the alternative to method 4).
    Probes,
    /// The source sends probes, whose round-trip time gives the level (method 3).
    RoundTrip,
    /// Congestion points send messages to the sources (method 2).
    Messages,
}

/// Rate law.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// Gains that depend on the loop time.
    #[default]
    Scaled,
    /// Constant gains.
    Fixed,
}

impl Default for PathReactionParams {
    fn default() -> PathReactionParams {
        PathReactionParams {
            method: Method::Feedback,
            interval: Time::from_us(40),
            ask_every: 8,
            buffer: Bytes::new(65_536),
            target_share: 0.16,
            law: Law::Scaled,
            equal_gain: 0.01,
            growth_gain: 0.4,
            length_gain: 0.226,
            initial_share: 0.0625,
            min_rate: BitRate::from_bps(10_000_000),
            idle_after: Time::from_ms(1),
            message_priority: 7,
        }
    }
}

/// Timeout of the first probe, before any answer has arrived.
const FIRST_PATIENCE: Time = Time::from_ms(4);
/// Number of sources in the loop time of a slow link: the link sends one frame of each before their feedback takes
/// effect.
const MANY_SOURCES: f64 = 8.0;
/// Upper limit of levels: a hundred times the buffer. It keeps sums from overflowing.
const HIGHEST_LEVEL: u32 = 100_000;

impl RateConfiguration for PathReactionParams {
    type Machine = PathReaction;

    fn check(&self) -> Result<(), Remark> {
        interval("interval", self.interval)?;
        if !(1..=1000).contains(&self.ask_every) {
            let message = format!("an ask_every of {}", self.ask_every);
            return Err(Remark::about("ask_every", message, "expected 1 to 1000"));
        }
        above_zero("buffer", self.buffer)?;
        above("target_share", self.target_share, 0.0, 1.0)?;
        within("equal_gain", self.equal_gain, 0.0, 1.0)?;
        within("growth_gain", self.growth_gain, 0.0, 2.0)?;
        within("length_gain", self.length_gain, 0.0, 2.0)?;
        above("initial_share", self.initial_share, 0.0, 1.0)?;
        if self.min_rate.bps() == 0 {
            let help = "expected a rate above 0, like \"10 Mb/s\": a limiter never stops";
            return Err(Remark::about("min_rate", "a rate of 0", help));
        }
        interval("idle_after", self.idle_after)?;
        message_priority(self.message_priority)
    }
    fn unused(&self) -> Vec<Remark> {
        Unused::of(self, &PathReactionParams::default())
            .unless(self.method == Method::Feedback, "method = \"feedback\"", &["ask_every"])
            .unless(
                self.law == Law::Scaled,
                "law = \"scaled\"",
                &["equal_gain", "growth_gain", "length_gain"],
            )
            .remarks()
    }
    fn doubt(&self) -> Option<Remark> {
        let most = most_length_gain(self.growth_gain);
        if self.law == Law::Fixed || self.length_gain < most {
            return None;
        }
        let PathReactionParams { growth_gain, length_gain, .. } = self;
        let message =
            format!("a length_gain of {length_gain} with a growth_gain of {growth_gain}: a loop oscillates");
        let help = if most > 0.0 {
            format!("stable is a length_gain below {most:.2}, with this growth_gain")
        } else {
            "stable is a growth_gain below 1.57, and a small length_gain".into()
        };
        Some(Remark::about("length_gain", message, help))
    }
    fn doubt_with(&self, point: &ManagerSpec, _link: BitRate) -> Option<Remark> {
        let ManagerSpec::PathPoint(point) = point else { return None };
        (self.method == Method::Messages && !point.messages).then(|| {
            let message =
                "method \"messages\", but the congestion points send none, so that sources get no feedback";
            Remark::about("method", message, "expected prc = { messages = true } in queue_managers")
        })
    }
    fn aim(&self, point: &ManagerSpec) -> Option<Bytes> {
        let ManagerSpec::PathPoint(point) = point else { return None };
        let full = if self.method == Method::RoundTrip { self.buffer } else { point.buffer };
        Some(Bytes::new((full.get() as f64 * self.target_share) as u64))
    }
    /// Returns true if the method requires congestion points. Round-trip times measure queues without support by
    /// switches.
    fn needs_points(&self) -> bool {
        self.method != Method::RoundTrip
    }
    fn needs_paths(&self) -> bool {
        true
    }
    fn receiver_point(&self, buffer: Bytes) -> Option<PathPointParams> {
        let message_priority = self.message_priority;
        (self.method == Method::Messages).then(|| PathPointParams {
            buffer,
            messages: true,
            message_priority,
            ..PathPointParams::default()
        })
    }
    fn return_priority(&self) -> Option<u8> {
        Some(self.message_priority as u8)
    }
    fn start(&self, line: BitRate) -> PathReaction {
        let mut it = PathReaction {
            params: *self,
            line: line.bps_f64(),
            known: None,
            port: line.bps_f64(),
            rate: 0.0,
            searching: true,
            level: 0,
            reported_at: None,
            empty_since: None,
            next_probe: Time::ZERO,
            awaited_since: None,
            link_since: Time::ZERO,
            sent_at: Time::ZERO,
            longest: 0,
        };
        it.rate = it.first_rate();
        it
    }
}

/// Returns the length gain above which a loop oscillates: in units of the loop's delay, s^2 + (a s + b) e^-s has roots
/// s = iw with a = w sin w and b = w^2 cos w.
fn most_length_gain(growth_gain: f64) -> f64 {
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if middle * libm::sin(middle) < growth_gain {
            low = middle;
        } else {
            high = middle;
        }
    }
    // The precision of the result is chosen such that a cosine of 0 rounds to 0.
    (low * low * libm::cos(low) * 1e6).round() / 1e6
}

impl PathReactionParams {
    /// Returns the time that a link needs to send a share of the buffer.
    fn time_of(&self, share: f64, link: f64) -> f64 {
        share * self.buffer.get() as f64 * 8e12 / link
    }
}

/// The state of a limiter's control. Rates are in bits per second; other floats are in picoseconds or dimensionless.
#[derive(Clone, Debug)]
pub struct PathReaction {
    params: PathReactionParams,
    /// Rate of the host's link.
    line: f64,
    /// Path properties reported by answers.
    known: Option<PathFacts>,
    /// Rate of the port that reported the last level.
    port: f64,
    rate: f64,
    /// True until congestion is observed, and again when none has been observed for some time.
    searching: bool,
    /// Last level, time of its arrival, and time since which levels have been 0.
    level: u32,
    reported_at: Option<Time>,
    empty_since: Option<Time>,
    next_probe: Time,
    /// Time of the first probe without an answer.
    awaited_since: Option<Time>,
    /// Time since which the link has had its current rate.
    link_since: Time,
    /// Departure of the last frame, and the longest frame so far, in bytes.
    sent_at: Time,
    longest: u16,
}

impl PathReaction {
    fn slowest(&self) -> f64 {
        self.known.map_or(self.line, |path| path.slowest.bps_f64())
    }

    /// Returns the loop time: the shortest round trip plus an interval, or, if longer, the time in which the slowest
    /// link sends one frame of each of many sources.
    fn loop_time(&self) -> Time {
        let probed_at = self.known.map_or(Time::ZERO, |path| path.round_trip) + self.params.interval;
        let turn = MANY_SOURCES * f64::from(self.longest) * 8e12 / self.slowest();
        probed_at.max(Time::from_ps(turn as u64))
    }

    fn first_rate(&self) -> f64 {
        self.bounded(self.line * self.params.initial_share)
    }

    fn bounded(&self, rate: f64) -> f64 {
        let most = self.slowest();
        rate.max(self.params.min_rate.bps_f64().min(most)).min(most)
    }

    /// Processes a level and sets the next rate.
    fn step(&mut self, now: Time, level: u32) {
        let level = level.min(HIGHEST_LEVEL);
        let interval = self.params.interval;
        let since = self.reported_at.map_or(interval, |at| (now - at).min(interval * 4));
        let factor = match self.params.law {
            Law::Scaled => self.scaled(now, level, since),
            Law::Fixed => self.fixed(level),
        };
        (self.level, self.reported_at) = (level, Some(now));
        self.rate = self.bounded(factor);
    }

    /// Returns the rate of the law "scaled" after a level that arrived this long after the last one.
    fn scaled(&mut self, now: Time, level: u32, since: Time) -> f64 {
        let PathReactionParams { equal_gain, growth_gain, length_gain, target_share, .. } = self.params;
        let loop_time = self.loop_time();
        let h = loop_time.ps() as f64;
        let (params, port) = (self.params, self.port);
        let time_of = |share: f64| params.time_of(share, port) / h;
        let [length, before] = [level, self.level].map(|level| time_of(f64::from(level) / 1000.0));
        let aim = time_of(target_share);
        let part = since.ps() as f64 / h;
        let pressure = growth_gain * (length - before) + length_gain * part * (length - aim);
        self.empty_since = if level > 0 { None } else { self.empty_since.or(Some(now)) };
        if pressure > 0.0 {
            self.searching = false;
        } else if self.empty_since.is_some_and(|at| now - at >= loop_time * 4) {
            self.searching = true;
        }
        let search = f64::min(0.25, (time_of(1.0) - aim) / 2.0);
        let growth = if self.searching {
            search * part
        } else {
            equal_gain * part * libm::log(self.port / self.rate) - pressure
        };
        self.rate * (1.0 + growth.clamp(-0.5, 0.25))
    }

    /// Returns the rate of the law "fixed" after a level.
    fn fixed(&mut self, level: u32) -> f64 {
        let percent = |level: u32| f64::from(level) / 10.0;
        let (length, aim) = (percent(level), 100.0 * self.params.target_share);
        let pressure = length - aim + 2.0 * (length - percent(self.level));
        if pressure > 0.0 {
            self.searching = false;
            self.rate * f64::max(0.5, 1.0 - 0.003 * pressure)
        } else if self.searching {
            1.25 * self.rate
        } else {
            self.rate + self.slowest() / 1000.0 * (1.0 + 4.0 * f64::max(0.0, (aim - length) / aim))
        }
    }

    /// Processes the answer to a probe, or a message of the receiver.
    fn on_news(&mut self, now: Time, news: &PathNews) {
        if news.probed_at.is_some_and(|probed_at| probed_at < self.link_since) {
            return;
        }
        self.awaited_since = None;
        let Some(probed_at) = news.probed_at else { return self.step_at(now, news) };
        let round_trip = now - probed_at;
        let before = self.known.map_or(Time::NEVER, |path| path.round_trip);
        let first = self.known.is_none();
        self.known = Some(PathFacts {
            hops: news.hops,
            slowest: news.slowest,
            round_trip: round_trip.min(before).max(Time::from_ps(1)),
        });
        if first {
            self.next_probe = probed_at + self.round();
            // At this rate, the bytes that arrive in one loop time must fit into half of the buffer above the target.
            let room = self.params.time_of(1.0 - self.params.target_share, self.slowest()) / 2.0;
            let fits = self.slowest() * room / self.loop_time().ps() as f64;
            self.rate = self.bounded(self.rate.min(fits));
        }
        match self.params.method {
            // From now on the absence of messages indicates that there is no congestion.
            Method::Messages => self.reported_at = self.reported_at.or(Some(now)),
            Method::RoundTrip if first => {}
            Method::RoundTrip => {
                self.port = self.slowest();
                let queued = (round_trip - round_trip.min(before)).ps() as f64 * self.slowest() / 8e12;
                self.step(now, crate::prc::thousandths(queued as u64, self.params.buffer));
            }
            Method::Feedback | Method::Probes => self.step_at(now, news),
        }
    }

    /// Processes a level, and the rate of the port that reported it.
    fn step_at(&mut self, now: Time, news: &PathNews) {
        self.port = news.at.map_or(self.slowest(), |(_, link)| link.bps_f64());
        self.step(now, news.level);
    }

    /// Returns the time between two probes.
    fn round(&self) -> Time {
        let messages = if self.params.method == Method::Feedback { self.params.ask_every } else { 1 };
        self.params.interval * u64::from(messages)
    }

    /// Returns the timeout of a probe.
    fn patience(&self) -> Time {
        self.known.map_or(FIRST_PATIENCE, |path| (self.params.interval * 4).max(path.round_trip * 2))
    }

    /// Returns the time from which the absence of messages of congestion points indicates that there is no congestion.
    fn all_is_well_at(&self) -> Option<Time> {
        let slowed = self.params.method == Method::Messages && self.rate < self.slowest();
        self.reported_at.filter(|_| slowed).map(|at| at + self.params.interval * 4)
    }
}

impl RateControl for PathReaction {
    fn on_feedback(&mut self, now: Time, feedback: Feedback, _random: &mut impl FnMut() -> u64) {
        match feedback {
            Feedback::Returned(Tag::Path(news)) => self.on_news(now, &news),
            Feedback::Message(notice) if self.params.method == Method::Messages => {
                self.port = self.slowest();
                self.step(now, notice.feedback);
            }
            Feedback::Message(_) | Feedback::Returned(_) => {}
        }
    }

    fn next_probe(&self) -> Option<Time> {
        let probes = self.params.method != Method::Messages || self.known.is_none();
        Some(self.next_probe).filter(|_| probes)
    }

    fn probe(&mut self, now: Time) -> Option<Probe> {
        let PathReactionParams { method, interval, ask_every, message_priority, .. } = self.params;
        let (levels, more) = match method {
            Method::Feedback => (LevelsOn::WayBack, ask_every as u16 - 1),
            Method::Probes => (LevelsOn::WayThere, 0),
            Method::RoundTrip | Method::Messages => (LevelsOn::Neither, 0),
        };
        self.awaited_since = self.awaited_since.or(Some(now));
        self.next_probe = now + if self.known.is_some() { self.round() } else { FIRST_PATIENCE };
        let slowest = BitRate::from_bps(self.line as u64);
        let news = PathNews {
            probed_at: Some(now),
            hops: 0,
            slowest,
            level: 0,
            at: None,
            levels,
            more,
            every: interval,
        };
        let as_data = method == Method::RoundTrip && self.known.is_some();
        Some(Probe { news, priority: (!as_data).then_some(message_priority as u8) })
    }

    fn path(&self) -> Option<PathFacts> {
        self.known
    }

    fn on_sent(&mut self, now: Time, bytes: u16, _last: bool, _random: &mut impl FnMut() -> u64) {
        let idle = (now - self.sent_at).ps() / self.params.idle_after.ps();
        if idle > 0 && self.reported_at.is_some_and(|at| now - at >= self.params.idle_after) {
            let first = self.first_rate().min(self.rate);
            self.rate = (self.rate / 2f64.powi(idle.min(64) as i32)).max(first);
            self.searching = true;
        }
        (self.sent_at, self.longest) = (now, self.longest.max(bytes));
    }

    /// Adapts to a new rate of the link. The link may have been, or may become, the slowest of the path, so the control
    /// probes again. It keeps the shortest round trip, because a new one would include queues that are not empty.
    fn on_link_rate(&mut self, line: BitRate, now: Time) {
        self.line = line.bps_f64();
        self.known = self.known.filter(|_| self.params.method != Method::Messages);
        if let Some(path) = &mut self.known {
            path.slowest = path.slowest.min(line);
        }
        (self.awaited_since, self.next_probe, self.link_since) = (None, now, now);
        self.rate = if self.reported_at.is_some() { self.bounded(self.rate) } else { self.first_rate() };
    }

    fn handle_timeout(&mut self, now: Time, _random: &mut impl FnMut() -> u64) {
        if self.awaited_since.is_some_and(|at| at + self.patience() <= now) {
            self.rate = self.bounded(self.rate / 2.0);
            (self.awaited_since, self.next_probe) = (None, now);
        }
        if self.all_is_well_at().is_some_and(|at| at <= now) {
            self.step(now, 0);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let missing = self.awaited_since.map(|at| at + self.patience());
        missing.into_iter().chain(self.all_is_well_at()).min()
    }

    fn rate(&self) -> Option<BitRate> {
        Some(BitRate::from_bps(self.rate as u64))
    }
}
