//! Layer-2 congestion information (L2CI) and path rate control (PRC): sources learn the level of the fullest port on a
//! path.
//!
//! The host part controls a rate limiter, preferably one per destination (`per = "destination"`), which represents a
//! path. Before the first frame on a path it sends a probe of the highest priority. The probe counts the congestion
//! points on the path and finds the slowest link. The receiver answers immediately, which gives the round-trip time.
//! From then on the source receives levels. A level is the occupancy of a port's buffer by all classes, as a fraction
//! of the buffer. The level of a path is that of its most congested port. The `method` defines how it reaches the
//! traffic source:
//!
//! - "feedback" (method 4 of McAlpine 2005): the receiver sends a message in each interval, starting with the level of
//!   its receive buffer. Each switch on the reverse path replaces the level in the message by the level of the port
//!   through which the message arrived, if that is higher.
//! - "probes" (the alternative to method 4): the source sends the messages, switches write levels on the forward path,
//!   and the receiver answers. This suits fabrics in which the forward and reverse paths differ.
//! - "round_trip" (method 3): switches write nothing. Messages have the priority of the data. The round-trip time in
//!   excess of its minimum is converted into bytes queued at the slowest link.
//! - "messages" (method 2): switches with `messages = true` send unsolicited messages to sources. The probability that
//!   a frame causes a message rises with the buffer occupancy, and messages have a minimum spacing. Hosts with such
//!   rate limiters also send them for their own receive buffers, by default above an occupancy of 16 %, and for frames
//!   that the full buffer drops.
//!
//! RED may manage the same queue, configured by a separate entry for the same classes. A frame selected by RED causes
//! no message.
//!
//! Method 1, marks that the receiver echoes to the transport, is the queue manager `red` with `action = "mark_only"`.
//!
//! McAlpine 2005 does not specify the rate law. The default law here is "scaled". For a path, let
//! - h be the loop time: the minimum round-trip time plus one interval, or the time in which the slowest link
//!   transmits eight maximum-length frames, if that is longer;
//! - C be the rate of the most congested port, which it writes together with its level (methods 2 and 3: the rate of
//!   the slowest link);
//! - t = q / C be the time to drain the queue q that corresponds to a level, and t0 the same for the target level.
//!
//! After a time dt the rate R becomes R (1 + g), where g = s dt/h ln(C/R) - a (t - t_before)/h - b dt/h (t - t0)/h.
//!
//! The last two terms are the controller of XCP with a = 0.4 and b = 0.226. It is stable for any delay and any number
//! of sources, because its gains decrease with the loop time and all rates change by the same factor. The first term
//! makes the rates equal, because it raises low rates faster. In equilibrium all rates are C/N, with a queue of s
//! ln(N) h C / b above the target. Before the first congestion on a path, and after its level has been 0 for four loop
//! times, its rate grows by a quarter per loop time, or by the amount that fills half of the buffer above the target
//! within the loop time.
//!
//! "fixed" is an alternative law for comparison. F = L - T + 2 (L - L_before), in percent of the buffer. If F > 0, R
//! is reduced by 0.3 % per percent, at most to half. Otherwise R grows by C/1000, up to five times that below the
//! target, and by a quarter before the first congestion. Its gains do not depend on the delay. It oscillates if the
//! round-trip time is about 100 us or more.
//!
//! Neither law considers the time between the frames of a source. If the fair share of a source is much less than a
//! frame per loop time, the source reacts late, and the link idles.
//!
//! Source: G. McAlpine, "Congestion control for switched Ethernet", 2005, sections 4 and 5; for the gains D. Katabi,
//! M. Handley and C. Rohrs, "Congestion control for high bandwidth-delay product networks", SIGCOMM 2002, section 3.5.
//! Choices where the former leaves it open: the law, the interval of 40 us, the target of 16 %; the receiver sends as
//! many messages as the source requests, and the source renews its request when they are used up, so that receivers
//! hold no state and idle sources cause no messages; if an answer is missing for four intervals and two round-trip
//! times, the rate is halved; the rate of an idle path is halved every millisecond, down to the initial rate.
//! McAlpine's flow scheduling corresponds to `per = "path"`: a path is a destination, and the highest priority is sent
//! first. Frames above the lowest priority of the host may exceed the rate by up to `priority_burst`, because an
//! earlier frame may have used up the rate of the path for a long time. With `per = "destination"`, a path is a
//! destination and a priority.
//!
//! At a switch with a crossbar, queue lengths and levels include the frames at the inputs.
//!
//! Not modelled: switches that forward messages without writing to them; the fields of messages, except for their
//! length of 64 B.

use crate::checks::{above, above_zero, interval, message_priority, within};
use crate::manager::{Color, Configuration, Fill, FrameFacts, LinkFacts, Measures, QueueManager, Verdict};
use crate::red::{Red, RedParams};
use crate::step::Moment;
use frame::{LevelsOn, PathNews, PointId, Tag};
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Time};

/// Keys of a congestion point of L2CI.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PathPointParams {
    /// Buffer of a port: queue length, over all classes of the port, that corresponds to a level of 100 %. A size with unit, at least "1 B". Default: "64 KiB" (McAlpine 2005: the buffer of a port).
    pub buffer: Bytes,
    /// If true, the congestion point sends messages to sources (method 2). Default: false.
    pub messages: bool,
    /// Level, as a fraction of `buffer`, above which frames cause messages. A number, 0 to 16. Default: 0.16 (a choice: the target).
    #[schemars(range(min = 0.0, max = 16.0))]
    pub first_share: f64,
    /// Level, as a fraction of `buffer`, above which every frame causes a message; between `first_share` and this level the probability rises from 0 to 1. A number above `first_share`, at most 16. Default: 0.8 (a choice).
    #[schemars(range(min = 0.0, max = 16.0))]
    pub every_share: f64,
    /// Minimum time between two messages. A time with unit, at least "1 us". Default: "10 us" (a choice: 67 Mb/s).
    pub spacing: Time,
    /// Priority of the congestion messages. A whole number, 0 to 7. Default: 7 (McAlpine 2005: the highest).
    #[schemars(range(min = 0, max = 7))]
    pub message_priority: u32,
    /// RED in the same queue, which an entry of its own configures.
    #[serde(skip)]
    #[schemars(skip)]
    pub red: Option<RedParams>,
}

impl Default for PathPointParams {
    fn default() -> PathPointParams {
        PathPointParams {
            buffer: Bytes::new(65_536),
            messages: false,
            first_share: 0.16,
            every_share: 0.8,
            spacing: Time::from_us(10),
            message_priority: 7,
            red: None,
        }
    }
}

impl Configuration for PathPointParams {
    type Machine = PathPoint;

    fn check(&self) -> Result<(), Remark> {
        above_zero("buffer", self.buffer)?;
        within("first_share", self.first_share, 0.0, 16.0)?;
        above("every_share", self.every_share, self.first_share, 16.0)?;
        interval("spacing", self.spacing)?;
        message_priority(self.message_priority)
    }
    fn unused(&self) -> Vec<Remark> {
        let of_messages = ["first_share", "every_share", "spacing", "message_priority"];
        Unused::of(self, &PathPointParams::default())
            .unless(self.messages, "messages = true", &of_messages)
            .remarks()
    }
    fn message_priority(&self) -> Option<u8> {
        Some(self.message_priority as u8)
    }
    fn measures(&self) -> Measures {
        Measures::Inputs
    }
    fn unmarked(&self) -> Option<&'static str> {
        self.red.and_then(|red| red.unmarked())
    }
    fn drops(&self) -> Option<(&'static str, &'static str)> {
        self.red.and_then(|red| red.drops())
    }
    fn colors(&self) -> Vec<Color> {
        self.red.map_or_else(Vec::new, |red| red.colors())
    }
    fn start(&self, link: &LinkFacts) -> PathPoint {
        let red = self.red.map(|red| Box::new(red.start(link)));
        PathPoint { params: *self, point: link.point, capacity: link.rate, next_message: Time::ZERO, red }
    }
}

/// The congestion point of a queue.
#[derive(Clone, Debug)]
pub struct PathPoint {
    params: PathPointParams,
    point: PointId,
    capacity: BitRate,
    /// Time before which no message is sent.
    next_message: Time,
    /// RED in the same queue; its verdict is computed first.
    red: Option<Box<Red>>,
}

impl PathPoint {
    /// Converts bytes to a congestion level.
    fn level(&self, bytes: u64) -> u32 {
        thousandths(bytes, self.params.buffer)
    }

    /// Returns true if a frame that finds a queue of this length triggers a message.
    fn samples(&self, bytes: u64, random: &mut impl FnMut() -> u64) -> bool {
        let PathPointParams { first_share: first, every_share: every, .. } = self.params;
        let share = bytes as f64 / self.params.buffer.get() as f64;
        let probability = (share - first) / (every - first);
        // 53 random bits have the precision of an `f64`.
        probability > 0.0 && ((random() >> 11) as f64) < probability * (1u64 << 53) as f64
    }
}

/// Converts bytes to thousandths of a buffer.
pub(crate) fn thousandths(bytes: u64, buffer: Bytes) -> u32 {
    u32::try_from(u128::from(bytes) * 1000 / u128::from(buffer.get())).unwrap_or(u32::MAX)
}

impl QueueManager for PathPoint {
    fn on_enqueue(
        &mut self,
        now: Time,
        fill: &Fill,
        frame: FrameFacts,
        random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        if let Some(red) = &mut self.red {
            let verdict = red.on_enqueue(now, fill, frame, random);
            if verdict != Verdict::Pass {
                return verdict;
            }
        }
        if !self.params.messages || now < self.next_message || !self.samples(fill.queue.bytes, random) {
            return Verdict::Pass;
        }
        self.next_message = now + self.params.spacing;
        Verdict::notify(self.level(fill.queue.bytes))
    }

    fn on_dequeue(
        &mut self,
        now: Time,
        fill: &Fill,
        frame: FrameFacts,
        random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        self.red.as_mut().map_or(Verdict::Pass, |red| red.on_dequeue(now, fill, frame, random))
    }

    fn stamp(&mut self, moment: Moment, tag: Tag, port: impl FnOnce() -> u64) -> Tag {
        let (Tag::Path(news), Moment::Enqueue) = (tag, moment) else { return tag };
        let slowest = news.slowest.min(self.capacity);
        let seen = PathNews { hops: news.hops.saturating_add(1), slowest, ..news };
        let writes = news.levels == LevelsOn::WayThere;
        Tag::Path(if writes { seen.raised(self.level(port()), self.point, self.capacity) } else { seen })
    }

    fn stamps_returned(&self) -> bool {
        true
    }

    fn stamp_returned(&mut self, tag: Tag, port: impl FnOnce() -> u64) -> Tag {
        match tag {
            Tag::Path(news) if news.levels == LevelsOn::WayBack => {
                Tag::Path(news.raised(self.level(port()), self.point, self.capacity))
            }
            _ => tag,
        }
    }

    fn on_link_rate(&mut self, rate: BitRate) {
        self.capacity = rate;
        if let Some(red) = &mut self.red {
            red.on_link_rate(rate);
        }
    }

    fn has_scaled_thresholds(&self) -> bool {
        self.red.as_ref().is_some_and(|red| red.has_scaled_thresholds())
    }
}

#[cfg(test)]
#[path = "prc_examples.rs"]
mod examples;
