//! A port: one end of a link, with its transmitter.

use crate::run::state::ahead::SoleGreedySource;
use crate::run::state::contention::Contention;
use crate::run::state::domains::PortDomain;
use crate::run::state::event::{Event, Kind, Place};
use crate::run::state::index::QueueIx;
use crate::run::state::link_control::LinkControl;
use crate::run::state::losses::Cause;
use crate::run::state::retry::RetryState;
use crate::run::state::storms::PortWatch;
use crate::run::state::trimming::PortTrimming;
use engine::Timer;
use frame::{ClassMap, Frame, Occupancy, PRIORITIES, Priority, TrafficClass};
use recurrence::{Counts, Recurs};
use scheduling::Selector;
use units::{BitRate, ClockOffset, Time, WireClock};

/// Number of bytes after which a cut-through switch has received the header of a frame.
pub(crate) const HEAD_BYTES: u16 = 64;

/// Port data that every passing frame touches: one cache line.
#[derive(Clone, Debug, Recurs)]
#[repr(align(64))]
pub(crate) struct Port {
    /// Time until which the transmitter is busy.
    #[recurs(past)]
    pub busy_until: Time,
    /// The pending decision; armed only while frames are queued.
    pub decision: Timer,
    pub clock: WireClock,
    /// Delay of the link and bytes around each frame.
    #[recurs(constant)]
    pub timing: LinkTiming,
    /// Kind and place of the arrival event at the other end of the link.
    #[recurs(constant)]
    pub arrives_as: Place,
    #[recurs(constant)]
    pub first_queue: QueueIx,
    /// Classes with queued frames, bit n for class n.
    pub waiting: u32,
    /// Classes that may not send, for any reason, bit n for class n. Written only by
    /// [`update_stopped`](crate::run::steps::stops::update_stopped), and updated when a pause may have ended.
    pub stopped: u32,
    /// Features of the port beyond sending frames in order. Without any feature, a frame that finds the port idle goes
    /// directly to the link.
    pub features: PortFeatures,
    /// The traffic classes of its node. If the port remaps priorities, they are applied to the new priority.
    #[recurs(constant)]
    pub classes: ClassMap,
}

/// Features of a port beyond sending frames in order, as a set of bits. [`stages`](crate::run::state::stages) lists
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Recurs)]
pub(crate) struct PortFeatures(u32);

impl PortFeatures {
    /// The feature at this index in the list.
    pub(in crate::run) const fn nth(place: u8) -> PortFeatures {
        PortFeatures(1 << place)
    }
    /// The index of a single feature in the list.
    pub(in crate::run) const fn place(self) -> u8 {
        self.0.trailing_zeros() as u8
    }
    /// No features.
    pub const NONE: PortFeatures = PortFeatures(0);

    /// Returns true if any of these is set.
    #[inline(always)]
    pub const fn has(self, any: PortFeatures) -> bool {
        self.0 & any.0 != 0
    }
    /// Returns true if all set features are among these.
    pub const fn is_within(self, these: PortFeatures) -> bool {
        self.0 & !these.0 == 0
    }
    /// The features whose stages come after that of `stage`, a single feature or none.
    #[inline(always)]
    pub const fn behind(self, stage: PortFeatures) -> PortFeatures {
        PortFeatures(self.0 & !(stage.0 | stage.0.saturating_sub(1)))
    }
    /// The features without these.
    pub const fn without(self, these: PortFeatures) -> PortFeatures {
        PortFeatures(self.0 & !these.0)
    }
    #[inline]
    pub const fn or(self, other: PortFeatures) -> PortFeatures {
        PortFeatures(self.0 | other.0)
    }
    #[inline]
    pub fn set(&mut self, which: PortFeatures, on: bool) {
        self.0 = if on { self.0 | which.0 } else { self.0 & !which.0 };
    }
}

/// Delay of a link and overhead per frame, packed into one word so that a port fits a cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkTiming(u64);

const OVERHEAD_BITS: u32 = u16::BITS;

impl LinkTiming {
    /// The maximum delay that fits: 281 s. Links have at most 10 s of delay.
    pub const LONGEST: Time = Time::from_ps((1 << (u64::BITS - OVERHEAD_BITS)) - 1);

    /// Packs the values. `arrives_after` is the time from the last bit sent to the arrival event at the peer: the delay
    /// of the link plus the latency of the switch there. `overhead` is in bytes.
    ///
    /// # Panics
    /// If `arrives_after` is above [`LinkTiming::LONGEST`].
    pub fn new(arrives_after: Time, overhead: u16) -> LinkTiming {
        assert!(
            arrives_after <= LinkTiming::LONGEST,
            "a link of {arrives_after}: this is a bug in the simulator"
        );
        LinkTiming(arrives_after.ps() << OVERHEAD_BITS | u64::from(overhead))
    }
    /// Time from the last bit sent to the arrival event at the peer.
    #[inline(always)]
    pub const fn arrives_after(self) -> Time {
        Time::from_ps(self.0 >> OVERHEAD_BITS)
    }
    /// Overhead bytes per frame.
    #[inline(always)]
    pub const fn overhead(self) -> u16 {
        self.0 as u16
    }
}

/// Bit in [`ColdPort::down`]: the link is down.
pub(crate) const LINK_DOWN: u8 = 1;

/// Bit in [`ColdPort::down`]: the switch is restarting.
pub(crate) const SWITCH_OFF: u8 = 2;

impl Port {
    /// The queue of a class.
    #[inline(always)]
    pub fn queue(&self, class: TrafficClass) -> QueueIx {
        self.first_queue.plus(class.0.into())
    }
    /// The queues of all classes, from the first.
    pub fn queues(&self) -> impl DoubleEndedIterator<Item = QueueIx> + use<> {
        let first = self.first_queue;
        (0..self.classes.classes() as u32).map(move |class| first.plus(class))
    }
    /// The queue of the only class with queued frames.
    #[inline(always)]
    pub fn waiting_queue(&self) -> QueueIx {
        self.first_queue.plus(self.waiting.trailing_zeros())
    }
    /// Sends a frame on the link. Its transmission starts at `begins`, when the transmitter is or will be idle. Returns
    /// the arrival event.
    #[inline(always)]
    pub fn transmit(&mut self, frame: Frame, begins: Time) -> Event {
        if self.busy_until < begins {
            self.clock.restart();
        }
        self.busy_until =
            begins + self.clock.advance(u64::from(frame.bytes) + u64::from(self.timing.overhead()));
        let left_at =
            if self.is_seen_by_heads() { self.head_leaves(&frame, begins) } else { self.busy_until };
        self.arrives_as.event(left_at + self.timing.arrives_after(), frame)
    }
    /// Returns true if the peer is a cut-through switch, which acts on the first 64 B.
    #[inline(always)]
    pub fn is_seen_by_heads(&self) -> bool {
        self.arrives_as.is(Kind::Head)
    }
    /// Time at which the head of a frame sent from `now` on has left.
    #[inline]
    fn head_leaves(&self, frame: &Frame, now: Time) -> Time {
        let head = u64::from(frame.bytes.min(HEAD_BYTES)) + u64::from(self.timing.overhead());
        now + self.clock.span_floor(head)
    }
}

/// Rarely used port data.
#[derive(Debug, Recurs)]
pub(crate) struct ColdPort {
    /// Nominal rate. [`Port::clock`] has the rate by the clock of the node.
    #[recurs(constant)]
    pub rate: BitRate,
    /// Nominal rate of arriving frames.
    #[recurs(constant)]
    pub arrival_rate: BitRate,
    /// Reasons why the port cannot send: [`LINK_DOWN`], [`SWITCH_OFF`]; 0 if there are none.
    pub down: u8,
    /// True if frames queued for a failed link are kept.
    #[recurs(constant)]
    pub keeps: bool,
    #[recurs(constant)]
    pub clock: ClockOffset,
    /// Clock offset of the peer's node. `arrives_by` has the duration of its bytes.
    #[recurs(constant)]
    pub peer_clock: ClockOffset,
    #[recurs(constant)]
    pub arrives_by: WireClock,
    pub scheduler: Selector,
    /// Bytes of each class while several classes could send; `None` if the scheduler does not divide bandwidth.
    #[recurs(measured)]
    pub contention: Option<Box<Contention>>,
    /// Occupancy of all queues of the port.
    pub occupancy: Occupancy,
    /// Delay of the link alone.
    #[recurs(constant)]
    pub delay: Time,
    /// State of the link's flow control.
    pub control: LinkControl,
    #[recurs(measured)]
    pub counts: PortCounts,
    /// Time until which the same classes are stopped, unless a pause or an update arrives.
    #[recurs(past)]
    pub stops_until: Time,
    /// Pause-storm watchdog, at switches that have one.
    #[recurs(unless_empty = "watchdogs of pause storms")]
    pub watch: Option<Box<PortWatch>>,
    /// True if frames are sent ahead of their time and a queue manager observes departures late.
    #[recurs(constant)]
    pub notes_departures: bool,
    /// True if its queue managers observe only departures that empty a queue.
    #[recurs(constant)]
    pub notes_emptying_only: bool,
    /// The source that is alone at its NIC and sends ahead of time.
    #[recurs(unless_empty = "greedy sources")]
    pub sole_source: Option<Box<SoleGreedySource>>,
    /// The rates of the link before faults changed them.
    #[recurs(unless_empty = "changes of link rates")]
    pub former: Vec<FormerRate>,
    /// New priorities of frames that leave through this port, by old priority.
    #[recurs(constant)]
    pub remap: Option<[Priority; PRIORITIES]>,
    /// Treatment of frames at the edge of a congestion notification domain.
    #[recurs(constant)]
    pub domain: Option<Box<PortDomain>>,
    /// Trimming of frames that do not fit; `None`: they are dropped.
    #[recurs(unless_empty = "packet trimming")]
    pub trimming: Option<Box<PortTrimming>>,
    /// Link-level retry, in both directions.
    #[recurs(unless_empty = "link-level retry")]
    pub retry: Option<Box<RetryState>>,
}

/// The rate that a link had before a fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormerRate {
    pub until: Time,
    /// Wire clock of the bytes sent by the port. `arrived_by` is that of the bytes received.
    pub sent_by: WireClock,
    pub arrived_by: WireClock,
}

impl ColdPort {
    /// Returns the priority of a frame after it leaves through this port.
    #[inline]
    pub fn new_priority(&self, old: Priority) -> Priority {
        let own = self.remap.and_then(|new| new.get(old.at()).copied()).unwrap_or(old);
        let kept_out = self.domain.as_deref().and_then(|domain| domain.becomes.get(own.at()).copied());
        kept_out.unwrap_or(own)
    }
    /// Returns true if frames get another priority or another tag when they leave through this port.
    pub fn changes_frames(&self) -> bool {
        self.remap.is_some() || self.domain.is_some()
    }
    /// Returns the reason why frames may not be queued; `None` if they may.
    #[inline]
    pub fn refuses(&self) -> Option<Cause> {
        match self.down {
            0 => None,
            LINK_DOWN if self.keeps => None,
            LINK_DOWN => Some(Cause::LinkDown),
            _ => Some(Cause::Restart),
        }
    }
}

/// Counts of a port other than frames sent.
#[derive(Clone, Copy, Debug, Default, Counts)]
pub(crate) struct PortCounts {
    pub pauses_sent: u64,
    pub resumes_sent: u64,
    pub pauses_received: u64,
    /// Pause frames sent, of either kind; each takes time on the wire.
    pub pause_frames: u64,
    /// Bytes of credit updates on the wire.
    pub update_bytes: u64,
    /// Bytes of retransmitted frames with line overhead, and of control ordered sets of link-level retry.
    pub retry_bytes: u64,
    /// Remaining transmission time of the frame on the link at the start of measurement.
    #[counts(not)]
    pub begun_before: Time,
    pub drops: u64,
    pub violations: u64,
    /// Number of decisions against one of several frames that arrived at the same time: see `ties`.
    pub ties: u64,
    /// Frames and bytes that were lost on the link to this port, or arrived damaged.
    pub broken: (u64, u64),
    /// Number of those that arrived with a wrong checksum.
    pub bit_errors: u64,
    /// Pause frames sent that were lost or damaged.
    pub pauses_lost: u64,
    /// Time on the wire in seconds, and bits sent, up to the last change of rate.
    #[counts(not)]
    pub settled: (f64, u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_and_overhead_share_a_word() {
        let ends = [Time::ZERO, Time::from_ps(1), Time::from_ms(10_000), LinkTiming::LONGEST];
        for (after, overhead) in
            ends.into_iter().flat_map(|after| [0, 1, 20, u16::MAX].map(|bytes| (after, bytes)))
        {
            let timing = LinkTiming::new(after, overhead);
            assert_eq!((timing.arrives_after(), timing.overhead()), (after, overhead));
        }
    }

    #[test]
    #[should_panic(expected = "a bug in the simulator")]
    fn a_longer_delay_does_not_fit() {
        let _ = LinkTiming::new(LinkTiming::LONGEST + Time::from_ps(1), 20);
    }

    #[test]
    fn a_ports_hot_state_is_one_cache_line() {
        assert_eq!(size_of::<Port>(), 64);
    }
}
