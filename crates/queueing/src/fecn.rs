//! Forward explicit congestion notification (FECN): switches write the rate at which a source may send into tags of
//! its frames.
//!
//! The host part is the reaction point, which controls a rate limiter. It periodically adds a rate-discovery tag to a
//! frame, and the receiver returns the tag. The source then sends at the rate in the tag. Before the first tag
//! returns, it sends at `initial_share` of the line rate. It falls back to that rate if no tag returns for
//! `forget_after`.
//!
//! The switch part is the congestion point, a queue manager that advertises one rate r to all sources of a queue. Each
//! switch lowers the rate in a tag to its own r, so that a tag returns the minimum along the path. After each interval
//! T, let C be the link rate, A the arrival rate, and q the queue length. The load is A / (f(q) C), and r becomes a
//! weighted mean of r / load and the previous rate. f(q) is the queue control function. It is 1 at the set point Qeq
//! and smaller above it, so that the queue drains. The hyperbola is b Qeq / ((b - 1) q + Qeq) below Qeq and max(c, a
//! Qeq / ((a - 1) q + Qeq)) above; the line is 1 - k (q - Qeq) / Qeq. With additive queue control the load is A / C +
//! k (q - Qeq) / Qeq instead. Increases of r are limited. The limit grows by a factor of 1.414 per interval below Qeq,
//! and shrinks by a factor of 0.707 above the severe threshold. When the link becomes slower, r decreases immediately.
//! These are enhancements 1 to 4 of the FECN paper; the fifth is that sources tag frames by time. Each can be turned
//! off. Without all of them, r becomes r C / A.
//!
//! `severe_messages` enables enhanced FECN (E-FECN): above the severe threshold the switch sends messages directly to
//! the sources of arriving frames, which fall back to the initial rate until the next tag.
//!
//! Stability: let k be the slope of f at the set point, with the queue length in units of Qeq. Let x be the queue
//! length above the set point and y the excess arrival rate. From one interval to the next, x' = x + T y and y' =
//! -alpha k C x / Qeq + (1 - alpha) (y of the interval before). This is stable if k C T / Qeq < 2 - alpha (1 with
//! "last"). Otherwise there is a warning. For the hyperbola, k is the slope below the set point, (b - 1) / b. The
//! slope above it is 45 times as steep; it empties the queue at once, after which the rates recover along the flat
//! branch.
//!
//! Source: J. Jiang, R. Jain and C. So-In, "Forward explicit congestion notification (FECN) for datacenter Ethernet
//! networks", IEEE 802.1au, March 2007; C. So-In, R. Jain and J. Jiang, "Enhanced forward explicit congestion
//! notification (E-FECN) scheme for datacenter Ethernet networks", SPECTS 2008. Choices where these leave it open:
//! Qeq, the severe threshold, and the initial limit of increases, C/N0; a queue without arrivals keeps its rate (if
//! the rate rose, the first burst would find it far too high); arrivals include the overhead of frames on the line, as
//! does the link rate; tags are written when their frame departs; the queue length excludes the frame in transmission;
//! the first frame of a source has a tag; additive queue control changes the load by a factor of at least 1/2 and at
//! most 1 / c; a severe message never raises the rate of a source, and further severe messages are ignored for one
//! interval.
//!
//! If a class shares its link or is paused, its capacity C(t) is the number of bits it transmitted in the interval
//! divided by its busy time, from the arrival of a frame at an empty queue to the end of the last transmission. In an
//! interval without transmissions the capacity stays unchanged. For a queue that does not share its link, this is the
//! link rate.
//!
//! `scope` is the resource to which the rates apply: a queue (a traffic class of a port), all queues of a port
//! together, or the memory of a switch. In the last case each queue has its own rate, computed from its arrivals and
//! its capacity, and q is the sum of all queue lengths in the switch. At a switch with a crossbar, the port and switch
//! scopes include the frames at the inputs.
//!
//! Not modelled: the fields of tags, except for their length; a NIC that writes into tags.

use crate::checks::{above, above_zero, intervals, message_priority, within};
use crate::fecn_capacity::ServiceMeter;
use crate::fecn_options::{AverageWith, Capacity, Idle, Load, Phase, QueueControl, RateScope};
use crate::manager::{
    Configuration, Departures, Fill, FrameFacts, LinkFacts, Measures, QueueManager, Verdict,
};
use crate::quiet::Quiet;
use crate::step::Moment;
use frame::{PointId, Tag};
use keys::{Remark, Unused};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, Bytes, Never, Or, Time};

/// Keys of a congestion point of FECN.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RatePointParams {
    /// Interval at which the advertised rate is recomputed (T). A time with unit, at least "1 us". Default: "1 ms".
    pub interval: Time,
    /// Length of the next interval after an interval with a load close to 1; reduces computation in the steady state. A time with unit, not below `interval`; or "never". Default: "never".
    pub long_interval: Or<Time, Never>,
    /// Maximum deviation from 1 of a load that counts as close to 1, without queue control. A number, 0 to 1. Default: 0.05.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub near_share: f64,
    /// Start of the intervals: at multiples of their length ("aligned"), or at a random time within the first ("random"). Default: "aligned".
    pub phase: Phase,
    /// Number of sources assumed initially (N0): the first advertised rate is the link rate divided by it. A number, 1 to 100000. Default: 20.
    #[schemars(range(min = 1.0, max = 100000.0))]
    pub expected_sources: f64,
    /// Target length of the queue (Qeq). A size with unit, at least "1 B". Default: "24000 B" (16 frames of 1500 B).
    pub set_point: Bytes,
    /// Severe threshold (Qsc): above it the limit of increases shrinks, and severe messages are sent. A size with unit, above the set point. Default: "72000 B" (48 frames of 1500 B).
    pub severe: Bytes,
    /// Queue control: the function f is "hyperbolic" or "linear"; "additive" adds a term to the load instead; "off" sets f to 1. Default: "hyperbolic".
    pub queue_control: QueueControl,
    /// Steepness of the hyperbola above the set point (a). A number, 1 to 1000. Default: 1.1.
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub above_set_point: f64,
    /// Steepness of the hyperbola below the set point (b). A number, 1 to 1000. Default: 1.002.
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub below_set_point: f64,
    /// Slope of the line, or gain of "additive" (k). A number, 0 to 1000. Default: 0.1 (a choice: as steep as the hyperbola at the set point).
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub slope: f64,
    /// Lower bound of f, for hyperbola and line; also bounds the effect of "additive" on the load (c). A number above 0, at most 1. Default: 0.1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub floor: f64,
    /// Weight of the newest rate in the moving average (alpha); 1 disables averaging. A number above 0, at most 1. Default: 0.5.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub average_weight: f64,
    /// Rate that gets the remaining weight of the average: the last but one ("previous", as printed in the paper), or the last ("last"). Default: "previous".
    pub average_with: AverageWith,
    /// If true, increases of the rate are limited. Default: true.
    pub limit_increase: bool,
    /// Lower bound of the limit of increases, as a fraction of the link rate. A number above 0, at most 1. Default: 0.001 (a choice).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub min_increase_share: f64,
    /// Upper bound of the limit of increases, as a fraction of the link rate; without it the limit would grow indefinitely. A number above 0, at most 1. Default: 1 (a choice).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub max_increase_share: f64,
    /// Scope of an advertised rate: a "queue"; a "port" (one rate for all its queues with this manager, computed from their arrivals and the sum of all queue lengths of the port); or a "switch" (one rate for each queue, computed from the sum of all queue lengths in the switch, to which `set_point` and `severe` then apply). Default: "queue".
    pub scope: RateScope,
    /// Capacity with which arrivals are compared (C): the link rate ("link"), bits transmitted divided by the busy time of the queue ("measured"), or "computed": measured where a scheduler divides the link among classes by weight and each class has its own rate, otherwise the link rate. Default: "computed".
    pub capacity: Capacity,
    /// If true, the advertised rate falls in proportion when the capacity falls. Default: true.
    pub follow_capacity: bool,
    /// Bytes of an arriving frame that count as load: "wire" (with line overhead) or "frame" (DA to FCS). Default: "wire".
    pub load: Load,
    /// Effect of an interval without arrivals on the advertised rate: "hold" (none), or "raise" (increases it by the limit of increases). Default: "hold".
    pub idle: Idle,
    /// Time at which tags are written: when their frame enters ("enqueue") or leaves ("dequeue") the queue. Default: "dequeue".
    pub stamp_at: Moment,
    /// Lower bound of the advertised rate, as a fraction of the link rate. A number above 0, at most 1. Default: 0.001 (a choice).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub min_share: f64,
    /// If true, frames that arrive above the severe threshold cause a message to their source (E-FECN). Default: false.
    pub severe_messages: bool,
    /// Number of such frames per message. A count, 1 to 1000000. Default: 1.
    #[schemars(range(min = 1, max = 1000000))]
    pub severe_every: u32,
    /// Priority of these messages. A whole number, 0 to 7. Default: 7 (a choice: ahead of the congested traffic).
    #[schemars(range(min = 0, max = 7))]
    pub message_priority: u32,
}

impl Default for RatePointParams {
    fn default() -> RatePointParams {
        RatePointParams {
            interval: Time::from_ms(1),
            long_interval: Or::word(),
            near_share: 0.05,
            phase: Phase::Aligned,
            expected_sources: 20.0,
            set_point: Bytes::new(24_000),
            severe: Bytes::new(72_000),
            queue_control: QueueControl::Hyperbolic,
            above_set_point: 1.1,
            below_set_point: 1.002,
            slope: 0.1,
            floor: 0.1,
            average_weight: 0.5,
            average_with: AverageWith::Previous,
            limit_increase: true,
            min_increase_share: 0.001,
            max_increase_share: 1.0,
            scope: RateScope::Queue,
            capacity: Capacity::Computed,
            follow_capacity: true,
            load: Load::Wire,
            idle: Idle::Hold,
            stamp_at: Moment::Dequeue,
            min_share: 0.001,
            severe_messages: false,
            severe_every: 1,
            message_priority: 7,
        }
    }
}

impl Configuration for RatePointParams {
    type Machine = RatePoint;

    fn check(&self) -> Result<(), Remark> {
        intervals(self.interval, self.long_interval, self.near_share)?;
        within("expected_sources", self.expected_sources, 1.0, 100_000.0)?;
        above_zero("set_point", self.set_point)?;
        if self.severe <= self.set_point {
            let message =
                format!("a severe threshold of {}, and a set point of {}", self.severe, self.set_point);
            return Err(Remark::about("severe", message, "expected a size above set_point"));
        }
        within("above_set_point", self.above_set_point, 1.0, 1000.0)?;
        within("below_set_point", self.below_set_point, 1.0, 1000.0)?;
        within("slope", self.slope, 0.0, 1000.0)?;
        above("floor", self.floor, 0.0, 1.0)?;
        above("average_weight", self.average_weight, 0.0, 1.0)?;
        above("min_increase_share", self.min_increase_share, 0.0, 1.0)?;
        above("max_increase_share", self.max_increase_share, 0.0, 1.0)?;
        if self.max_increase_share < self.min_increase_share {
            let message = format!("a max_increase_share of {}", self.max_increase_share);
            return Err(Remark::about("max_increase_share", message, "expected at least min_increase_share"));
        }
        above("min_share", self.min_share, 0.0, 1.0)?;
        if !(1..=1_000_000).contains(&self.severe_every) {
            let message = format!("one of {} frames", self.severe_every);
            return Err(Remark::about("severe_every", message, "expected 1 to 1000000"));
        }
        message_priority(self.message_priority)
    }
    fn unused(&self) -> Vec<Remark> {
        let curve = self.queue_control;
        Unused::of(self, &RatePointParams::default())
            .unless(self.long_interval.value().is_some(), "`long_interval`", &["near_share"])
            .unless(
                curve == QueueControl::Hyperbolic,
                "queue_control = \"hyperbolic\"",
                &["above_set_point", "below_set_point"],
            )
            .unless(
                matches!(curve, QueueControl::Linear | QueueControl::Additive),
                "queue_control = \"linear\" or \"additive\"",
                &["slope"],
            )
            .unless(curve != QueueControl::Off, "a queue_control other than \"off\"", &["floor"])
            .unless(self.average_weight < 1.0, "an `average_weight` below 1", &["average_with"])
            .unless(
                self.limit_increase,
                "limit_increase = true",
                &["min_increase_share", "max_increase_share"],
            )
            .unless(self.severe_messages, "severe_messages = true", &["severe_every", "message_priority"])
            .remarks()
    }
    fn set_point(&self) -> Option<Bytes> {
        (self.queue_control != QueueControl::Off).then_some(self.set_point)
    }
    fn measures(&self) -> Measures {
        match self.scope {
            RateScope::Queue => Measures::Queue,
            RateScope::Port => Measures::Port,
            RateScope::Switch => Measures::Switch,
        }
    }
    fn message_priority(&self) -> Option<u8> {
        Some(self.message_priority as u8)
    }
    fn start(&self, link: &LinkFacts) -> RatePoint {
        let capacity = link.rate.bps_f64();
        let first = capacity / self.expected_sources;
        RatePoint {
            params: *self,
            point: link.point,
            overhead: if self.load == Load::Wire { link.overhead } else { 0 },
            capacity,
            capacity_before: capacity,
            rate: first,
            rate_before: first,
            increase: first,
            line_overhead: link.overhead,
            meter: match self.capacity {
                Capacity::Computed => link.shared && self.scope != RateScope::Port,
                Capacity::Link => false,
                Capacity::Measured => true,
            }
            .then(|| (ServiceMeter::default(), capacity)),
            bits: 0,
            began: Time::ZERO,
            ends: None,
            severe_frames: 0,
        }
    }
}

/// The congestion point of a queue. Rates are in bits per second.
#[derive(Clone, Debug)]
pub struct RatePoint {
    params: RatePointParams,
    point: PointId,
    /// Bytes counted in addition to each frame.
    overhead: u32,
    /// Bytes around each frame on the link.
    line_overhead: u32,
    /// Rate of the link now, and at the end of the last interval.
    capacity: f64,
    capacity_before: f64,
    /// Advertised rate now, and before the last interval.
    rate: f64,
    rate_before: f64,
    /// Upper limit of the next increase.
    increase: f64,
    /// Meter and last value of the capacity, if the capacity is measured.
    meter: Option<(ServiceMeter, f64)>,
    /// Bits that have arrived in the current interval.
    bits: u64,
    began: Time,
    /// End of the current interval; `None` before the first frame.
    ends: Option<Time>,
    /// Frames above the severe threshold since the last message.
    severe_frames: u32,
}

impl RatePoint {
    /// Returns the advertised rate.
    pub fn rate(&self) -> BitRate {
        BitRate::from_bps(self.rate as u64)
    }

    /// Returns the queue control factor for a queue of `queue` bytes.
    fn queue_control(&self, queue: u64) -> f64 {
        let RatePointParams { queue_control, above_set_point: a, below_set_point: b, slope, floor, .. } =
            self.params;
        let (queue, aim) = (queue as f64, self.params.set_point.get() as f64);
        match queue_control {
            QueueControl::Off | QueueControl::Additive => 1.0,
            QueueControl::Linear => (1.0 - slope * (queue - aim) / aim).max(floor),
            QueueControl::Hyperbolic if queue <= aim => b * aim / ((b - 1.0) * queue + aim),
            QueueControl::Hyperbolic => (a * aim / ((a - 1.0) * queue + aim)).max(floor),
        }
    }

    /// Returns the capacity of the queue in the interval that ends now; `own` bytes are in the queue.
    fn served(&mut self, own: u64, length: Time, ends: Time) -> f64 {
        let link = self.capacity;
        if let Some((meter, last)) = &mut self.meter {
            let found = meter.interval_ends(ends, length, own == 0, link);
            *last = found.unwrap_or(*last).clamp(self.params.min_share * link, link);
            return *last;
        }
        link
    }

    /// Returns the load of an interval with this arrival rate, at the end of which `queue` bytes wait.
    fn load(&self, arrived: f64, capacity: f64, queue: u64) -> f64 {
        let load = arrived / capacity;
        if self.params.queue_control != QueueControl::Additive {
            return load / self.queue_control(queue);
        }
        let aim = self.params.set_point.get() as f64;
        let more = self.params.slope * (queue as f64 - aim) / aim;
        (load + more).clamp(load / 2.0, load / self.params.floor)
    }

    /// Ends an interval and sets the next rate. `own` bytes are in the queue and `queue` bytes in its scope. Returns
    /// true if the load was near 1.
    fn step(&mut self, (own, queue): (u64, u64), ends: Time) -> bool {
        let RatePointParams { average_weight, average_with, near_share, .. } = self.params;
        let capacity = self.capacity;
        if self.params.follow_capacity && capacity < self.capacity_before {
            let part = capacity / self.capacity_before;
            self.rate *= part;
            self.rate_before *= part;
        }
        self.capacity_before = capacity;
        let length = ends - self.began;
        let capacity = self.served(own, length, ends);
        let mut near = false;
        let mut next = if self.bits > 0 {
            let arrived = self.bits as f64 * 1e12 / length.ps() as f64;
            near = (arrived / capacity - 1.0).abs() <= near_share;
            let load = self.load(arrived, capacity, queue);
            let before = match average_with {
                AverageWith::Previous => self.rate_before,
                AverageWith::Last => self.rate,
            };
            average_weight * self.rate / load + (1.0 - average_weight) * before
        } else if self.params.idle == Idle::Raise {
            self.rate + self.increase
        } else {
            return false;
        };
        if self.params.limit_increase {
            if queue < self.params.set_point.get() {
                self.increase *= 1.414;
            } else if queue > self.params.severe.get() {
                self.increase *= 0.707;
            }
            let least = self.params.min_increase_share * capacity;
            self.increase = self.increase.max(least).min(self.params.max_increase_share * capacity);
            next = next.min(self.rate + self.increase);
        }
        self.rate_before = self.rate;
        self.rate = next.max(self.params.min_share * capacity).min(capacity);
        self.bits = 0;
        near
    }

    /// Advances to `now`. The queue and its scope have held these numbers of bytes since the last call.
    fn advance(&mut self, now: Time, held: (u64, u64), random: &mut impl FnMut() -> u64) {
        let short = self.params.interval;
        let first = || match self.params.phase {
            Phase::Aligned => short,
            Phase::Random => {
                Time::from_ps(((u128::from(random()) * u128::from(short.ps())) >> 64) as u64 + 1)
            }
        };
        let mut ends = self.ends.unwrap_or_else(first);
        while ends <= now {
            let idle = self.bits == 0;
            let near = self.step(held, ends);
            self.began = ends;
            ends += self.params.long_interval.value().filter(|_| near).unwrap_or(short);
            if idle && self.params.idle == Idle::Hold && ends <= now {
                // The rate does not change again until the next arrival.
                self.began = ends + Time::from_ps((now - ends).ps() / short.ps() * short.ps());
                ends = self.began + short;
            }
        }
        self.ends = Some(ends);
    }

    /// Returns the bytes in the queue and in its scope, including a frame of `frame` bytes that has just left.
    fn held(&self, fill: &Fill, frame: u64) -> (u64, u64) {
        let own = fill.queue.bytes + frame;
        let all = if self.params.scope == RateScope::Queue { own } else { fill.scope + frame };
        (own, all)
    }

    /// Counts a frame that arrives; returns true if the queue is above the severe threshold and a message is due.
    fn sends_severe(&mut self, queue: u64) -> bool {
        if !self.params.severe_messages || queue <= self.params.severe.get() {
            return false;
        }
        let due = self.severe_frames == 0;
        self.severe_frames = (self.severe_frames + 1) % self.params.severe_every;
        due
    }
}

impl QueueManager for RatePoint {
    fn on_enqueue(
        &mut self,
        now: Time,
        fill: &Fill,
        frame: FrameFacts,
        random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        let held = self.held(fill, 0);
        self.advance(now, held, random);
        self.bits += 8 * (u64::from(frame.bytes) + u64::from(self.overhead));
        if let Some((meter, _)) = &mut self.meter {
            meter.arrived(now, self.began, fill.queue.frames == 0);
        }
        if self.sends_severe(held.1) { Verdict::notify(0) } else { Verdict::Pass }
    }

    fn on_dequeue(
        &mut self,
        now: Time,
        fill: &Fill,
        frame: FrameFacts,
        random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        self.advance(now, self.held(fill, frame.bytes.into()), random);
        if let Some((meter, _)) = &mut self.meter {
            let bits = 8 * (u64::from(frame.bytes) + u64::from(self.line_overhead));
            meter.sent(now, bits, self.capacity);
        }
        Verdict::Pass
    }

    fn departures(&self) -> Departures {
        Departures::Late
    }

    fn quiet(&self) -> Quiet {
        // The meter needs the times of all frames.
        if self.meter.is_some() {
            return Quiet::NEVER;
        }
        // The quiet count of one queue does not include the frames of the others.
        if self.params.scope == RateScope::Port {
            return Quiet::OF_DEPARTURES;
        }
        // The manager is quiet until the interval ends, unless the next frame may exceed the severe threshold.
        let interval = self.ends.filter(|_| !self.params.severe_messages);
        interval.map_or(Quiet::NEVER, |until| Quiet { until, ..Quiet::ALWAYS })
    }

    fn on_deferred(&mut self, frames: u64, bytes: u64) {
        self.bits += 8 * (bytes + frames * u64::from(self.overhead));
    }

    fn stamp(&mut self, moment: Moment, tag: Tag, _port: impl FnOnce() -> u64) -> Tag {
        let own = self.rate();
        match tag {
            Tag::Rate(written)
                if moment == self.params.stamp_at && written.is_none_or(|(rate, _)| rate > own) =>
            {
                Tag::Rate(Some((own, self.point)))
            }
            _ => tag,
        }
    }

    fn on_link_rate(&mut self, rate: BitRate) {
        self.capacity = rate.bps_f64();
    }
}

#[cfg(test)]
#[path = "fecn_examples.rs"]
mod examples;
