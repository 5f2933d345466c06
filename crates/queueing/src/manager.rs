//! Interface between a queue and its queue manager.

use crate::quiet::{Deferred, Quiet};
use crate::step::Moment;
use frame::{Occupancy, PointId, Tag};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, BitRate, Bytes, Time};

/// A queue manager's decision about a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No action.
    Pass,
    /// The frame is marked "congestion experienced" from here on.
    Mark,
    /// The frame is dropped.
    Drop,
    /// The frame passes, and a message with this content is sent to its source.
    Notify(Report),
}

/// Content of a message to the source of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// By the scheme: quantised, signed, or the length of the queue.
    pub feedback: u32,
    /// Distance of the queue above its set point, in units of 64 B; 0 if the scheme does not report it.
    pub offset: i16,
    /// Growth since the last sample, in units of 64 B; 0 if the scheme does not report it.
    pub delta: i16,
}

impl Report {
    /// Report of a queue of `length` bytes, with its set point and its length at the last sample (`before`).
    pub(crate) fn of_queue(feedback: u32, set_point: u64, length: u64, before: u64) -> Report {
        Report { feedback, offset: units_of_64(set_point, length), delta: units_of_64(length, before) }
    }
}

/// A difference of two lengths in units of 64 B, towards zero, as a field of a CNM has it: no more than it holds.
fn units_of_64(one: u64, other: u64) -> i16 {
    let units = (i128::from(one) - i128::from(other)) / 64;
    units.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

impl Verdict {
    /// A message with this feedback only.
    pub fn notify(feedback: u32) -> Verdict {
        Verdict::Notify(Report { feedback, ..Report::default() })
    }
}

/// State of a queue as passed to its manager, without the frame under decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// The other frames that wait in the queue, or at the port if it is one for a port. The frame that is being transmitted waits no more.
    pub queue: Occupancy,
    /// Bytes of the other frames that wait at the port or in the switch, if its manager is one for either; inputs of a crossbar included.
    pub scope: u64,
}

/// Color that a meter at the edge has assigned to a flow (RFC 2697). It decides which frames are dropped or marked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Color {
    /// It keeps to its rate.
    #[default]
    Green,
    /// It exceeds it.
    Yellow,
    /// It exceeds it by far.
    Red,
}

/// Properties of a frame that a manager uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameFacts {
    /// That of its flow.
    pub color: Color,
    /// Length in bytes from DA to FCS.
    pub bytes: u16,
    /// True if its endpoints support ECN marks (ECT of RFC 3168).
    pub ecn_capable: bool,
    /// The tag that a rate limiter has put on it.
    pub tag: Option<Tag>,
}

/// Properties of its port that a manager uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFacts {
    /// Rate of the link.
    pub rate: BitRate,
    /// Bytes around each frame on the wire.
    pub overhead: u32,
    /// The queue, as congestion messages and tags name it.
    pub point: PointId,
    /// A scheduler shares the link among its classes by weight.
    pub shared: bool,
}

impl Color {
    /// As a scenario calls it.
    pub fn name(self) -> &'static str {
        match self {
            Color::Green => "green",
            Color::Yellow => "yellow",
            Color::Red => "red",
        }
    }
}

impl LinkFacts {
    /// Time for which a frame of `bytes` occupies the link, rounded up.
    pub(crate) fn time_of(&self, bytes: u32) -> Time {
        self.rate.time_for_bits_ceil((u64::from(bytes) + u64::from(self.overhead)) * 8)
    }
}

/// When a queue manager must be notified of departures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departures {
    /// Immediately: a departure may have consequences.
    AtOnce,
    /// Before its next other call, each with its own time: it records departures, and otherwise only stamps tagged frames.
    Late,
    /// As late, and only of a frame that leaves the queue empty.
    LateIfEmpty,
    /// Never: departures do not affect it.
    Ignored,
}

/// A queue manager at work: one for each queue, which is one traffic class of one egress port.
///
/// Both calls are made in order for every frame, even if its port is free and it does not wait, except for those that
/// arrive and leave while the manager is [`quiet`](QueueManager::quiet). No departure is reported for a frame that
/// is lost on entry. `random` gives 64 random bits per call, from a stream of the queue's own.
pub trait QueueManager {
    /// A frame arrives. Buffer limits are checked afterwards, so that a manager also sees frames that they refuse.
    fn on_enqueue(
        &mut self,
        now: Time,
        fill: &Fill,
        frame: FrameFacts,
        random: &mut impl FnMut() -> u64,
    ) -> Verdict;

    /// A frame has left and is about to be transmitted.
    fn on_dequeue(
        &mut self,
        _now: Time,
        _fill: &Fill,
        _frame: FrameFacts,
        _random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        Verdict::Pass
    }

    /// Returns when it must be notified of departures.
    fn departures(&self) -> Departures {
        Departures::AtOnce
    }

    /// Period in which it needs no calls for frames without a tag: for arrivals as long as they are counted, for
    /// departures until that time. Not called for a manager that is notified of departures at once.
    fn quiet(&self) -> Quiet {
        Quiet::NEVER
    }

    /// Processes a frame after those counted while it was quiet, and returns the next quiet period: a single call.
    fn observe(
        &mut self,
        moment: Moment,
        deferred: Deferred,
        (now, fill, frame): (Time, &Fill, FrameFacts),
        random: &mut impl FnMut() -> u64,
    ) -> (Verdict, Quiet) {
        if deferred.frames > 0 {
            // Nothing has changed since the last call of `quiet`.
            self.on_deferred(deferred.frames, self.quiet().bytes - deferred.left);
        }
        let verdict = match moment {
            Moment::Enqueue => self.on_enqueue(now, fill, frame, random),
            Moment::Dequeue => self.on_dequeue(now, fill, frame, random),
        };
        (verdict, self.quiet())
    }

    /// Accounts for `frames` of `bytes` in total that arrived while it was quiet. Called before any other call.
    fn on_deferred(&mut self, _frames: u64, _bytes: u64) {}

    /// A tagged frame enters or leaves. Called after the call for that; returns the new tag. `port` returns the number of
    /// bytes that wait at the port in all classes.
    fn stamp(&mut self, _moment: Moment, tag: Tag, _port: impl FnOnce() -> u64) -> Tag {
        tag
    }

    /// Returns true if it writes into tags on their way back.
    fn stamps_returned(&self) -> bool {
        false
    }

    /// A returned tag has arrived through the port, against the direction of its frame. Returns the new tag.
    fn stamp_returned(&mut self, tag: Tag, _port: impl FnOnce() -> u64) -> Tag {
        tag
    }

    /// The rate of the link has changed; recomputes the values derived from it.
    fn on_link_rate(&mut self, rate: BitRate);

    /// Returns true if its thresholds follow the rate of the port, so that a quiet period ends with a change of that rate.
    fn has_scaled_thresholds(&self) -> bool {
        false
    }
}

/// Parameters of a queue manager.
pub trait Configuration {
    /// The state machine that these parameters configure.
    type Machine: QueueManager;

    /// Returns the first invalid parameter.
    fn check(&self) -> Result<(), Remark>;

    /// Returns the keys without effect.
    fn unused(&self) -> Vec<Remark> {
        Vec::new()
    }
    /// If it marks frames: its behaviour where no endpoint supports marks.
    fn unmarked(&self) -> Option<&'static str> {
        None
    }
    /// If it drops frames: which ones, and the alternative where no frame may be lost.
    fn drops(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Colors whose frames have keys of their own.
    fn colors(&self) -> Vec<Color> {
        Vec::new()
    }

    /// The length of the queue that it aims at.
    fn set_point(&self) -> Option<Bytes> {
        None
    }

    /// Returns the queues whose frames it measures.
    fn measures(&self) -> Measures {
        Measures::Queue
    }

    /// Octets of the sampled frame that its messages repeat, at least.
    fn header_octets(&self) -> u8 {
        0
    }

    /// Priority of its messages; `None`: that of the frame.
    fn message_priority(&self) -> Option<u8> {
        None
    }

    /// A manager of an empty queue. The parameters have passed [`check`](Configuration::check).
    fn start(&self, link: &LinkFacts) -> Self::Machine;
}

/// The queues whose frames a manager measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measures {
    /// Its own.
    Queue,
    /// Its own, with the frames that wait for it at the inputs of a crossbar.
    Inputs,
    /// All queues of the port. One manager serves those that have it.
    Port,
    /// All queues of the switch.
    Switch,
}

/// Scope of a congestion point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One queue.
    #[default]
    Queue,
    /// All queues of a port with this manager.
    Port,
}

/// Frames included in the length of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// Only the other frames: the queue before an arrival, or after a departure.
    #[default]
    WithoutFrame,
    /// Including the frame: the queue after an arrival, or before a departure.
    WithFrame,
}

impl Counts {
    /// The length of the queue in the unit of `unit`.
    pub(crate) fn of(self, fill: &Fill, frame: FrameFacts, unit: Amount) -> u64 {
        let mut queue = fill.queue;
        if self == Counts::WithFrame {
            queue.add(frame.bytes);
        }
        queue.count(unit)
    }
}

/// Number of bytes that may arrive after a frame before any of them can find more than `most` bytes in the queue,
/// including its own; 0 if `most` is a number of frames.
pub(crate) fn room_below(most: Amount, fill: &Fill, frame: FrameFacts) -> u64 {
    let Amount::Bytes(most) = most else { return 0 };
    most.saturating_sub(fill.queue.bytes + u64::from(frame.bytes))
}

/// The number of an amount, without its unit.
pub(crate) fn number(amount: Amount) -> u64 {
    match amount {
        Amount::Bytes(number) | Amount::Frames(number) => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_fields_are_signed_and_end_at_sixteen_bits() {
        let fields = [(0, 64), (64, 0), (63, 0), (0, 63), (4_000_000, 0), (0, 4_000_000)];
        let units = fields.map(|(one, other)| units_of_64(one, other));
        assert_eq!(units, [-1, 1, 0, 0, i16::MAX, i16::MIN]);
    }
}
