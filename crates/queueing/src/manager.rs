//! What a queue asks its manager, and what it is told.

use crate::quiet::{NotHeard, Quiet};
use crate::step::Moment;
use frame::{Occupancy, PointId, Tag};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Amount, BitRate, Bytes, Time};

/// What a queue manager says of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is done.
    Pass,
    /// It carries the mark "congestion experienced" from here on.
    Mark,
    /// It is lost.
    Drop,
    /// It passes, and its source gets a message that says this.
    Notify(Report),
}

/// What a message tells the source of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// By the scheme: quantised, signed, or the length of the queue.
    pub feedback: u32,
    /// How far the queue is below its set point, in units of 64 B; 0 where the scheme does not tell.
    pub offset: i16,
    /// How much it has grown since the last sample, likewise.
    pub delta: i16,
}

impl Report {
    /// Of a queue of so many bytes, with its set point and its length at the last sample.
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
    /// A message with nothing but this feedback.
    pub fn notify(feedback: u32) -> Verdict {
        Verdict::Notify(Report { feedback, ..Report::default() })
    }
}

/// A queue as its manager sees it, without the frame that is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// The other frames that wait in the queue, or at the port if it is one for a port. The frame that is being transmitted waits no more.
    pub queue: Occupancy,
}

/// What a meter at the edge has made of a flow (RFC 2697): who is dropped or marked first.
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

/// What a manager has to know of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameFacts {
    /// That of its flow.
    pub color: Color,
    /// Length in bytes from DA to FCS.
    pub bytes: u16,
    /// Whether its endpoints understand marks (ECT of RFC 3168).
    pub ecn_capable: bool,
    /// The tag that a rate limiter has put on it.
    pub tag: Option<Tag>,
}

/// What a manager has to know of its port.
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
    /// How long a frame of `bytes` occupies the link, rounded up.
    pub(crate) fn time_of(&self, bytes: u32) -> Time {
        self.rate.time_for_bits_ceil((u64::from(bytes) + u64::from(self.overhead)) * 8)
    }
}

/// Whether a queue manager has to hear of departures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departures {
    /// When they happen: something may follow from them.
    AtOnce,
    /// Before it hears of anything else, each as of its time: it notes them, and does no more than stamp frames with a tag.
    Late,
    /// Never: they mean nothing to it.
    Ignored,
}

/// A queue manager at work: one for each queue, which is one traffic class of one egress port.
///
/// Every frame passes both calls in order, also one that finds its port free and waits for no time at all, but for those that
/// come and leave while it is [`quiet`](QueueManager::quiet). A frame that
/// is lost on entry does not leave. `random` gives 64 random bits a call, from a stream of the queue's own.
pub trait QueueManager {
    /// A frame arrives. Limits of the buffer are asked afterwards, so that a manager sees also what they refuse.
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

    /// Whether it has to hear of departures.
    fn departures(&self) -> Departures {
        Departures::AtOnce
    }

    /// How long it need not hear of frames without a tag: of those that come, as long as they are only counted, and of those
    /// that leave until that time. Not asked of a manager that hears of departures at once.
    fn quiet(&self) -> Quiet {
        Quiet::NEVER
    }

    /// It hears of a frame after what has passed while it was quiet, and is quiet anew: as one call.
    fn hears(
        &mut self,
        moment: Moment,
        not_heard: NotHeard,
        (now, fill, frame): (Time, &Fill, FrameFacts),
        random: &mut impl FnMut() -> u64,
    ) -> (Verdict, Quiet) {
        if not_heard.frames > 0 {
            // Nothing has changed since it was asked for how long it is quiet.
            self.on_unheard(not_heard.frames, self.quiet().bytes - not_heard.left);
        }
        let verdict = match moment {
            Moment::Enqueue => self.on_enqueue(now, fill, frame, random),
            Moment::Dequeue => self.on_dequeue(now, fill, frame, random),
        };
        (verdict, self.quiet())
    }

    /// So many frames, of so many bytes together, have come while it was quiet. Called before any other call.
    fn on_unheard(&mut self, _frames: u64, _bytes: u64) {}

    /// A tagged frame enters or leaves, after the call for that: the tag that it has from here on. `port` says how many
    /// bytes wait at the port in all classes.
    fn stamp(&mut self, _moment: Moment, tag: Tag, _port: impl FnOnce() -> u64) -> Tag {
        tag
    }

    /// Whether it writes into tags on their way back.
    fn stamps_returned(&self) -> bool {
        false
    }

    /// A returned tag has come in through the port, against the direction of its frame: the same.
    fn stamp_returned(&mut self, tag: Tag, _port: impl FnOnce() -> u64) -> Tag {
        tag
    }

    /// The rate of the link has changed. What was derived from the old one follows.
    fn on_link_rate(&mut self, rate: BitRate);
}

/// The parameters of a queue manager.
pub trait Configuration {
    /// The manager that they make.
    type Machine: QueueManager;

    /// What is wrong with them.
    fn check(&self) -> Result<(), Remark>;

    /// Keys that change nothing.
    fn unused(&self) -> Vec<Remark> {
        Vec::new()
    }
    /// If it marks frames: what it does where no endpoint understands marks.
    fn unmarked(&self) -> Option<&'static str> {
        None
    }
    /// If it drops frames: which, and what belongs there where no frame may be lost.
    fn drops(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Colors of which frames have something of their own.
    fn colors(&self) -> Vec<Color> {
        Vec::new()
    }

    /// The length of the queue that it aims at.
    fn set_point(&self) -> Option<Bytes> {
        None
    }

    /// Whether it is one for all queues of a port that have it, and looks at what waits in any queue of the port.
    fn of_port(&self) -> bool {
        false
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

/// What a congestion point is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One queue.
    #[default]
    Queue,
    /// All queues of a port that have it.
    Port,
}

/// What the length of a queue includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// The other frames alone: what an arriving frame finds, or a leaving one leaves behind.
    #[default]
    WithoutFrame,
    /// With the frame: what is there when it has entered, or before it leaves.
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

/// How many bytes may come behind a frame before any of those that come can find more in the queue than `most` bytes, itself included;
/// 0 if that is a number of frames.
pub(crate) fn room_below(most: Amount, fill: &Fill, frame: FrameFacts) -> u64 {
    let Amount::Bytes(most) = most else { return 0 };
    most.saturating_sub(fill.queue.bytes + u64::from(frame.bytes))
}

/// The number of an amount, whatever its unit.
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
