//! Interface of the congestion control of a queue pair: its inputs, rate and window.

use super::dcqcn_rest::{Crowd as DcqcnCrowd, Rest as DcqcnRest};
use super::path_window::PathWindow;
use frame::{Stamps, Telemetry};
use recurrence::Recurs;
use units::{BitRate, Time};

/// Properties of the path of a queue pair that a control gets before the first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathFacts {
    /// The rate of the sender's link, in the direction in which it sends.
    pub rate: BitRate,
    /// The rate of the sender's link in the other direction.
    pub arrival_rate: BitRate,
    /// The round trip of a full packet and its acknowledgement without queues.
    pub base_rtt: Time,
    /// Bytes of a full packet, DA to FCS.
    pub packet: u16,
    /// Switches on the way.
    pub hops: u16,
    /// Bytes around each frame on the sender's link: preamble and gap.
    pub overhead: u16,
    /// Links of the sender that lead to the receiver, over each of which every packet may go; at least 1.
    pub planes: u16,
    /// True if every switch on the way trims the packets that it would drop.
    pub trims: bool,
}

impl PathFacts {
    /// A path over one link of the sender, with the overhead of Ethernet and without trimming.
    pub const fn new(rate: BitRate, base_rtt: Time, packet: u16, hops: u16) -> PathFacts {
        PathFacts { rate, arrival_rate: rate, base_rtt, packet, hops, overhead: 20, planes: 1, trims: false }
    }
    /// Bytes that fill the path: the rate times the round trip.
    pub fn bdp(&self) -> f64 {
        self.rate.bps_f64() * self.base_rtt.as_secs_f64() / 8.0
    }
}

/// An acknowledgement that acknowledges something new.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RdmaAck {
    /// Bytes of frames that it acknowledges for the first time.
    pub bytes: u64,
    /// The next packet that is expected, and the next one that has never been sent.
    pub acknowledged: u64,
    pub sent: u64,
    /// It echoes a mark.
    pub marked: bool,
    /// The round trip of the packet that it answers.
    pub round_trip: Option<Time>,
    /// Telemetry of the packet that it returns, other than stamps.
    pub telemetry: Telemetry,
}

/// Signal by which a sender detects lost packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RdmaLoss {
    /// The receiver has reported it.
    Nak,
    /// Nothing came any more.
    Timeout,
}

/// Keys of a control: facts that checks of scenarios and the reference need. The defaults are those of a control without such a fact.
pub trait RdmaControlConfiguration {
    /// Lowest rate of a queue pair (`min_rate`).
    fn least_rate(&self) -> Option<BitRate> {
        None
    }
    /// Bytes of telemetry that the control adds to each data packet and acknowledgement.
    fn telemetry_bytes(&self) -> u16 {
        0
    }
    /// Hops for whose stamps its packets have room.
    fn stamps(&self) -> Option<u8> {
        None
    }
    /// Share of a link's rate that the control leaves in use, at most 1, and its additive increase per round trip at a link of this rate, in
    /// bit/s.
    fn utilization(&self, _rate: BitRate) -> Option<(f64, f64)> {
        None
    }
    /// Rates and queue of this many flows at rest, as far as there is a model.
    fn dcqcn_rest(&self, _crowd: &DcqcnCrowd) -> Option<DcqcnRest> {
        None
    }
    /// Key of the target for the round trip, and the target of a window of `window` packets on a path with `hops` switches.
    fn delay_target(&self, _hops: u16, _window: f64) -> Option<(&'static str, Time)> {
        None
    }
}

/// Congestion control of a queue pair: rate and data in flight.
///
/// The queue pair notifies it of events; a control implements those that it needs. Nothing is scheduled for it:
/// state that time alone changes is computed when it is read.
pub trait RdmaControl {
    /// Telemetry that switches write into its packets.
    fn telemetry(&self) -> Telemetry {
        Telemetry::None
    }
    /// Before the acknowledgement that returns them: the stamps of a packet.
    fn on_stamps(&mut self, _stamps: &Stamps) {}

    /// A packet of this length in bytes (DA to FCS) leaves.
    fn on_send(&mut self, _now: Time, _bytes: u32) {}
    /// Something new is acknowledged.
    fn on_ack(&mut self, _now: Time, _ack: &RdmaAck) {}
    /// A congestion notification packet has come.
    fn on_cnp(&mut self, _now: Time) {}
    /// Packets are lost.
    fn on_loss(&mut self, _now: Time, _loss: RdmaLoss) {}

    /// The link of the sender has another rate: what follows from it is as in `fresh`, which was made for that rate.
    fn on_link_rate(&mut self, _now: Time, _fresh: &Self) {}

    /// The window of the path that it moves, and that says how fast; `None`: it moves something else.
    fn path_window(&self) -> Option<&PathWindow> {
        None
    }
    /// When the packet may leave that follows one of so many bytes (DA to FCS) which left at `since`, if nothing but time
    /// changes the rate.
    fn due(&self, since: Time, bytes: u32) -> Time {
        self.path_window().map_or(since, |window| window.due(since, bytes))
    }
    /// The rate as of now, in bits of frames (DA to FCS) a second; infinite: that of the link.
    fn rate(&self, _now: Time) -> f64 {
        self.path_window().map_or(f64::INFINITY, PathWindow::rate)
    }
    /// Its estimate of how congested the path is, from 0 to 1, as of now; `None`: it has none.
    fn alpha(&self, _now: Time) -> Option<f64> {
        None
    }
    /// Bytes of frames that may be in flight; one packet always may.
    fn window(&self) -> u64 {
        self.path_window().map_or(u64::MAX, PathWindow::in_flight)
    }
    /// Bytes that it has taken beside itself.
    fn memory_bytes(&self) -> usize {
        0
    }
}

/// A rate between a minimum and that of the link, at which nothing limits it.
#[derive(Clone, Copy, Debug, Recurs)]
pub struct LinkRate {
    /// In bits of frames (DA to FCS) a second.
    pub line: f64,
    pub min: f64,
    pub now: f64,
}

impl LinkRate {
    /// That of the link.
    pub fn new(facts: &PathFacts, min: BitRate) -> LinkRate {
        let line = facts.rate.bps_f64();
        LinkRate { line, min: min.bps_f64().min(line), now: line }
    }
    /// Another rate, within its limits.
    pub fn set(&mut self, rate: f64) {
        self.now = rate.clamp(self.min, self.line);
    }
    fn is_limited(&self) -> bool {
        self.now < self.line
    }
    /// See [`RdmaControl::on_link_rate`].
    pub fn on_link_rate(&mut self, fresh: &LinkRate) {
        let now = if self.is_limited() { self.now } else { fresh.line };
        *self = LinkRate { now, ..*fresh };
        self.set(now);
    }
    /// See [`RdmaControl::due`].
    pub fn due(&self, since: Time, bytes: u32) -> Time {
        if self.is_limited() { since.saturating_add(gap(bytes, self.now)) } else { since }
    }
    /// See [`RdmaControl::rate`].
    pub fn reported(&self) -> f64 {
        if self.is_limited() { self.now } else { f64::INFINITY }
    }
}

/// Time of this number of bytes at a rate, rounded to the next picosecond.
#[inline]
pub fn gap(bytes: u32, bps: f64) -> Time {
    Time::from_ps((f64::from(bytes) * 8e12 / bps) as u64)
}
