//! Layer-2 congestion information (L2CI) and path rate control (PRC): sources get the level of the fullest port of a path.
//!
//! The host part is the control of a rate limiter, best one a destination (`per = "destination"`): a path. In front of
//! the first frame of a path it sends a message of highest priority, which counts the congestion points on its way and
//! finds the slowest link; the receiver answers at once, and the round trip is measured. From then on levels come back.
//! A level is how much of the buffer of a port is in use, by all its classes, and that of the most congested point of
//! the path counts. How it comes back is the `method`:
//!
//! - "feedback" (method 4 of the source): the receiver sends a message each interval, which begins with the level of
//!   its receive buffer. Each switch on the way back writes the level of the port that it has come in through, if that
//!   is higher.
//! - "probes" (the alternative to it): the source sends the messages, switches write on the way there, the receiver
//!   answers. For fabrics whose ways there and back differ.
//! - "round_trip" (method 3): switches write nothing. Messages have the priority of the data. The round trip beyond the shortest one is
//!   converted into bytes queued at the slowest link.
//! - "messages" (method 2): switches with `messages = true` send unsolicited messages to sources. The more of the buffer is
//!   in use the more frames make a message, but none comes soon after another. So do hosts with such limiters for their receive
//!   buffers: by default above 16 % of it, also for a frame that finds no room.
//!
//! RED may work in the same queue, as an entry of its own for the same classes: a frame that it picks causes no message.
//!
//! Method 1, marks that the receiver echoes to the transport, is the queue manager `red` with `action = "mark_only"`.
//!
//! The law of rates is not in the source. The one here is "scaled". Of a path, let
//! - h be the loop time: the shortest round trip and an interval, or what the slowest link takes for eight of the
//!   longest frames, if that is longer;
//! - C the rate of the most congested port, which it writes beside its level (that of the slowest link where none has:
//!   methods 2 and 3);
//! - t = q / C how long the queue q takes that a level stands for, and t0 the same for the target.
//!
//! After an interval of dt the rate R becomes R (1 + g), g = s dt/h ln(C/R) - a (t - t_before)/h - b dt/h (t - t0)/h.
//!
//! The last two terms are the controller of XCP, a = 0.4 and b = 0.226, which is stable for any delay and any number of
//! sources, as gains shrink with the loop time and all rates change by the same factor. The first term makes the rates
//! equal: lower rates grow faster. All are at rest at C/N, with a queue of s ln(N) h C / b above the target.
//! Before a path has seen congestion, and when its level has been 0 for four loop times, its rate grows by a quarter a
//! loop time, or by as much as fills half of the buffer above the target within it.
//!
//! "fixed" is the law that this one was compared with. F = L - T + 2 (L - L_before), in percent of the buffer. If F >
//! 0, R is cut by 0.3 % a percent, at most by half. Else R grows by C/1000, up to five times that below the target, and
//! by a quarter before the first congestion. Its gains do not depend on the delay: it oscillates from a round trip of about 100 us on.
//!
//! Neither law accounts for the distance between the frames of a source. If its share is much less than a frame per
//! loop time, it reacts late, and the link idles.
//!
//! Source: G. McAlpine, "Congestion control for switched Ethernet", 2005, sections 4 and 5; for the gains D. Katabi, M.
//! Handley and C. Rohrs, "Congestion control for high bandwidth-delay product networks", SIGCOMM 2002, section 3.5.
//! Choices, where the former leaves open: the law, the interval of 40 us, the target of 16 %; the receiver sends as
//! many messages as the source requests, and the source repeats its request when they are due, so that receivers
//! hold no state and idle sources cost nothing; an answer that is missing for four intervals and two round trips
//! halves the rate; a path that was idle for a millisecond begins anew from half of its rate. What the source calls flow
//! scheduling: with `per = "path"` a path is a destination, the highest priority goes first, and frames above the lowest
//! one of the host may leave ahead of the rate by `priority_burst`, since a frame may have closed the path for long; with `per =
//! "destination"` a path is a destination and a priority.
//!
//! At a switch with a crossbar, queues and levels include what waits at inputs.
//!
//! Not modelled: switches that pass on messages without writing; the fields of messages, but for their length of 64 B.

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
    /// Bytes that correspond to a level of 100 %: what waits at the port, in all classes, is measured by it. A size with unit, at least "1 B". Default: "64 KiB" (McAlpine 2005: the buffer of a port).
    pub buffer: Bytes,
    /// True: it sends messages to sources (method 2). Default: false.
    pub messages: bool,
    /// Level of the queue, as a fraction of `buffer`, above which frames cause messages. A number, 0 to 16. Default: 0.16 (a choice: the target).
    #[schemars(range(min = 0.0, max = 16.0))]
    pub first_share: f64,
    /// Level above which every frame causes a message; between the two the probability grows from 0 to 1. A number above `first_share`, at most 16. Default: 0.8 (a choice).
    #[schemars(range(min = 0.0, max = 16.0))]
    pub every_share: f64,
    /// The minimum time between two messages. A time with unit, at least "1 us". Default: "10 us" (a choice: 67 Mb/s).
    pub spacing: Time,
    /// Priority of the messages. A whole number, 0 to 7. Default: 7 (McAlpine 2005: the highest).
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
