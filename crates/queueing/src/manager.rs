//! The interface between a queue and its queue manager.

use crate::quiet::{Deferred, Quiet};
use crate::step::Moment;
use frame::{Occupancy, PointId, Tag};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, BitRate, Bytes, Time};

/// The decision of a queue manager about a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No action.
    Pass,
    /// The frame is marked "congestion experienced".
    Mark,
    /// The frame is dropped.
    Drop,
    /// The frame passes, and a message with this content is sent to its source.
    Notify(Report),
}

/// The content of a message to the source of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Feedback in the format of the scheme: quantised, signed, or a queue length.
    pub feedback: u32,
    /// Distance of the queue from its set point, in units of 64 B and negative above the set point; 0 if the scheme
    /// does not report it.
    pub offset: i16,
    /// Growth since the last sample, in units of 64 B; 0 if the scheme does not report it.
    pub delta: i16,
}

impl Report {
    /// Returns the report of a queue of `length` bytes, with its set point and its length at the last sample
    /// (`before`).
    pub(crate) fn of_queue(feedback: u32, set_point: u64, length: u64, before: u64) -> Report {
        Report { feedback, offset: units_of_64(set_point, length), delta: units_of_64(length, before) }
    }
}

/// Returns the difference of two lengths in units of 64 B, rounded towards zero and limited to the range of the field
/// in a CNM.
fn units_of_64(one: u64, other: u64) -> i16 {
    let units = (i128::from(one) - i128::from(other)) / 64;
    units.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

impl Verdict {
    /// Returns a message that carries only this feedback.
    pub fn notify(feedback: u32) -> Verdict {
        Verdict::Notify(Report { feedback, ..Report::default() })
    }
}

/// The state of a queue that is passed to its manager, without the frame under decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// Other frames that wait in the queue, or at the port if the manager serves a port. A frame in transmission no
    /// longer waits.
    pub queue: Occupancy,
    /// Bytes of the other frames that wait at the port or in the switch, if the manager serves either. Includes the
    /// inputs of a crossbar.
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

/// The properties of a frame that a manager uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameFacts {
    /// Color of the flow.
    pub color: Color,
    /// Length in bytes from DA to FCS.
    pub bytes: u16,
    /// True if its endpoints support ECN marks (ECT of RFC 3168).
    pub ecn_capable: bool,
    /// Tag that a rate limiter has added to the frame.
    pub tag: Option<Tag>,
}

/// The properties of a port that a manager uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFacts {
    /// Rate of the link.
    pub rate: BitRate,
    /// Bytes around each frame on the wire.
    pub overhead: u32,
    /// Identifier of the queue in congestion messages and tags.
    pub point: PointId,
    /// True if a scheduler shares the link among its classes by weight.
    pub shared: bool,
}

impl Color {
    /// Returns the name used in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Color::Green => "green",
            Color::Yellow => "yellow",
            Color::Red => "red",
        }
    }
}

impl LinkFacts {
    /// Returns the time for which a frame of `bytes` occupies the link, rounded up.
    pub(crate) fn time_of(&self, bytes: u32) -> Time {
        self.rate.time_for_bits_ceil((u64::from(bytes) + u64::from(self.overhead)) * 8)
    }
}

/// The time at which a queue manager has to be notified of departures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departures {
    /// Immediately: a departure may have consequences.
    AtOnce,
    /// Before the manager's next other call, each with its own time. The manager only records departures and stamps
    /// tagged frames.
    Late,
    /// Before the manager's next other call, and only of frames that leave the queue empty.
    LateIfEmpty,
    /// Never: departures do not affect the manager.
    Ignored,
}

/// The state machine of a queue manager. Each queue, that is, each traffic class of an egress port, has its own.
///
/// Both calls are made in order for every frame, even if the port is free and the frame does not wait. The exceptions
/// are frames that arrive and leave while the manager is [`quiet`](QueueManager::quiet). No departure is reported for a
/// frame that is lost on entry. `random` returns 64 random bits per call, from the queue's own stream.
pub trait QueueManager {
    /// Decides about a frame that arrives. Buffer limits are checked afterwards, so a manager also sees frames that
    /// they refuse.
    fn on_enqueue(
        &mut self,
        now: Time,
        fill: &Fill,
        frame: FrameFacts,
        random: &mut impl FnMut() -> u64,
    ) -> Verdict;

    /// Decides about a frame that has left the queue and is about to be transmitted.
    fn on_dequeue(
        &mut self,
        _now: Time,
        _fill: &Fill,
        _frame: FrameFacts,
        _random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        Verdict::Pass
    }

    /// Returns when the manager has to be notified of departures.
    fn departures(&self) -> Departures {
        Departures::AtOnce
    }

    /// Returns the period in which the manager needs no calls for untagged frames. For arrivals it lasts as long as
    /// they are counted; for departures, until its end time. Not called for a manager that is notified of departures at
    /// once.
    fn quiet(&self) -> Quiet {
        Quiet::NEVER
    }

    /// Accounts for the frames counted in the quiet period, processes this frame, and returns the verdict and the next
    /// quiet period, all in a single call.
    fn observe(
        &mut self,
        moment: Moment,
        deferred: Deferred,
        (now, fill, frame): (Time, &Fill, FrameFacts),
        random: &mut impl FnMut() -> u64,
    ) -> (Verdict, Quiet) {
        if deferred.frames > 0 {
            // The quiet period is unchanged since the last call of `quiet`.
            self.on_deferred(deferred.frames, self.quiet().bytes - deferred.left);
        }
        let verdict = match moment {
            Moment::Enqueue => self.on_enqueue(now, fill, frame, random),
            Moment::Dequeue => self.on_dequeue(now, fill, frame, random),
        };
        (verdict, self.quiet())
    }

    /// Accounts for `frames` frames of `bytes` bytes in total that arrived in the quiet period. Called before any other
    /// call.
    fn on_deferred(&mut self, _frames: u64, _bytes: u64) {}

    /// Returns the new tag of a tagged frame that enters or leaves. Called after `on_enqueue` or `on_dequeue`. `port`
    /// returns the number of bytes that wait at the port in all classes.
    fn stamp(&mut self, _moment: Moment, tag: Tag, _port: impl FnOnce() -> u64) -> Tag {
        tag
    }

    /// Returns true if the manager writes into tags on their way back.
    fn stamps_returned(&self) -> bool {
        false
    }

    /// Returns the new value of a returned tag, which has arrived through the port against the direction of its frame.
    fn stamp_returned(&mut self, tag: Tag, _port: impl FnOnce() -> u64) -> Tag {
        tag
    }

    /// Recomputes the values derived from the rate of the link, which has changed.
    fn on_link_rate(&mut self, rate: BitRate);

    /// Returns true if the thresholds scale with the rate of the port, so that a change of that rate ends a quiet
    /// period.
    fn has_scaled_thresholds(&self) -> bool {
        false
    }
}

/// The parameters of a queue manager.
pub trait Configuration {
    /// The state machine that these parameters configure.
    type Machine: QueueManager;

    /// Returns the first invalid parameter.
    fn check(&self) -> Result<(), Remark>;

    /// Returns the keys that have no effect.
    fn unused(&self) -> Vec<Remark> {
        Vec::new()
    }
    /// Returns the behaviour where no endpoint supports marks, if the manager marks frames.
    fn unmarked(&self) -> Option<&'static str> {
        None
    }
    /// Returns which frames the manager drops, if any, and the alternative where no frame may be lost.
    fn drops(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Returns the colors that have keys of their own.
    fn colors(&self) -> Vec<Color> {
        Vec::new()
    }

    /// Returns the queue length that the manager aims at.
    fn set_point(&self) -> Option<Bytes> {
        None
    }

    /// Returns the queues whose frames it measures.
    fn measures(&self) -> Measures {
        Measures::Queue
    }

    /// Returns the minimum number of octets of the sampled frame that messages repeat.
    fn header_octets(&self) -> u8 {
        0
    }

    /// Returns the priority of messages; `None` if it is that of the frame.
    fn message_priority(&self) -> Option<u8> {
        None
    }

    /// Creates a manager of an empty queue. The parameters have passed [`check`](Configuration::check).
    fn start(&self, link: &LinkFacts) -> Self::Machine;
}

/// The queues whose frames a manager measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measures {
    /// The manager's own queue.
    Queue,
    /// The manager's own queue, and the frames that wait for it at the inputs of a crossbar.
    Inputs,
    /// All queues of the port. The queues with this manager share one instance.
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
    /// Returns the length of the queue in the unit of `unit`.
    pub(crate) fn of(self, fill: &Fill, frame: FrameFacts, unit: Amount) -> u64 {
        let mut queue = fill.queue;
        if self == Counts::WithFrame {
            queue.add(frame.bytes);
        }
        queue.count(unit)
    }
}

/// Returns the number of bytes that may arrive after this frame before any frame can find more than `most` bytes in the
/// queue, including its own; 0 if `most` is a number of frames.
pub(crate) fn room_below(most: Amount, fill: &Fill, frame: FrameFacts) -> u64 {
    let Amount::Bytes(most) = most else { return 0 };
    most.saturating_sub(fill.queue.bytes + u64::from(frame.bytes))
}

/// Returns the number of an amount, without its unit.
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
