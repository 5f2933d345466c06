//! The interface of the congestion control of a queue pair: its inputs, its rate and its window.

use super::dcqcn_rest::{Crowd as DcqcnCrowd, Rest as DcqcnRest};
use super::path_window::PathWindow;
use frame::{Stamps, Telemetry};
use recurrence::Recurs;
use units::{BitRate, Time};

/// The properties of a queue pair's path that its control receives before the first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathFacts {
    /// Rate of the sender's link in the sending direction.
    pub rate: BitRate,
    /// Rate of the sender's link in the other direction.
    pub arrival_rate: BitRate,
    /// Round-trip time of a full packet and its acknowledgement, without queueing.
    pub base_rtt: Time,
    /// Length of a full packet in bytes, DA to FCS.
    pub packet: u16,
    /// Number of switches on the path.
    pub hops: u16,
    /// Bytes around each frame on the sender's link: preamble and gap.
    pub overhead: u16,
    /// Number of the sender's links that lead to the receiver, each of which may carry every packet; at least 1.
    pub planes: u16,
    /// True if every switch on the path trims packets that it would otherwise drop.
    pub trims: bool,
}

impl PathFacts {
    /// Creates the facts of a path over a single link of the sender, with the overhead of Ethernet and without
    /// trimming.
    pub const fn new(rate: BitRate, base_rtt: Time, packet: u16, hops: u16) -> PathFacts {
        PathFacts { rate, arrival_rate: rate, base_rtt, packet, hops, overhead: 20, planes: 1, trims: false }
    }
    /// Returns the bandwidth-delay product in bytes.
    pub fn bdp(&self) -> f64 {
        self.rate.bps_f64() * self.base_rtt.as_secs_f64() / 8.0
    }
}

/// An acknowledgement of new data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RdmaAck {
    /// Bytes of the frames acknowledged for the first time.
    pub bytes: u64,
    /// Number of the next expected packet, and of the next packet that has never been sent.
    pub acknowledged: u64,
    pub sent: u64,
    /// True if the acknowledgement echoes a mark.
    pub marked: bool,
    /// Round-trip time of the packet that the acknowledgement answers.
    pub round_trip: Option<Time>,
    /// Returned telemetry of that packet, other than stamps.
    pub telemetry: Telemetry,
}

/// The signal by which a sender detects lost packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RdmaLoss {
    /// The receiver has reported the loss.
    Nak,
    /// The retransmission timer has expired.
    Timeout,
}

/// The configuration of a control, with the facts that scenario checks and the reference need. Each default applies to
/// controls without the fact.
pub trait RdmaControlConfiguration {
    /// Returns the minimum rate of a queue pair (`min_rate`).
    fn least_rate(&self) -> Option<BitRate> {
        None
    }
    /// Returns the bytes of telemetry that the control adds to each data packet and acknowledgement.
    fn telemetry_bytes(&self) -> u16 {
        0
    }
    /// Returns the number of hops for whose stamps packets have room.
    fn stamps(&self) -> Option<u8> {
        None
    }
    /// Returns the share of a link's rate at which the control aims, at most 1, and its additive increase per round
    /// trip on a link of this rate, in bit/s.
    fn utilization(&self, _rate: BitRate) -> Option<(f64, f64)> {
        None
    }
    /// Returns the equilibrium of these queue pairs, if there is a model for it.
    fn dcqcn_rest(&self, _crowd: &DcqcnCrowd) -> Option<DcqcnRest> {
        None
    }
    /// Returns the key of the target for the round-trip time, and the target of a window of `window` packets on a path
    /// with `hops` switches.
    fn delay_target(&self, _hops: u16, _window: f64) -> Option<(&'static str, Time)> {
        None
    }
}

/// The congestion control of a queue pair, which determines its rate and its data in flight.
///
/// The queue pair notifies it of events; a control implements those that it needs. No timers are scheduled: state that
/// depends only on time is computed when it is read.
pub trait RdmaControl {
    /// Returns the kind of telemetry that switches write into the packets.
    fn telemetry(&self) -> Telemetry {
        Telemetry::None
    }
    /// Processes the stamps of a packet. Called before `on_ack` for the acknowledgement that returns them.
    fn on_stamps(&mut self, _stamps: &Stamps) {}

    /// Records that a packet of this length in bytes (DA to FCS) is sent.
    fn on_send(&mut self, _now: Time, _bytes: u32) {}
    /// Processes an acknowledgement of new data.
    fn on_ack(&mut self, _now: Time, _ack: &RdmaAck) {}
    /// Processes a congestion notification packet.
    fn on_cnp(&mut self, _now: Time) {}
    /// Processes a loss of packets.
    fn on_loss(&mut self, _now: Time, _loss: RdmaLoss) {}

    /// Adapts to another rate of the sender's link. `fresh` was created for that rate; values that depend on the rate
    /// are copied from it.
    fn on_link_rate(&mut self, _now: Time, _fresh: &Self) {}

    /// Returns the path window that determines the rate; `None` if the control does not use one.
    fn path_window(&self) -> Option<&PathWindow> {
        None
    }
    /// Returns the time at which the next packet may be sent after one of `bytes` bytes (DA to FCS) that was sent at
    /// `since`, if nothing but time changes the rate.
    fn due(&self, since: Time, bytes: u32) -> Time {
        self.path_window().map_or(since, |window| window.due(since, bytes))
    }
    /// Returns the current rate in bits of frames (DA to FCS) per second; infinite if it is that of the link.
    fn rate(&self, _now: Time) -> f64 {
        self.path_window().map_or(f64::INFINITY, PathWindow::rate)
    }
    /// Returns the current estimate of the path's congestion, from 0 to 1; `None` if the control has no estimate.
    fn alpha(&self, _now: Time) -> Option<f64> {
        None
    }
    /// Returns the number of bytes of frames that may be in flight. One packet always may.
    fn window(&self) -> u64 {
        self.path_window().map_or(u64::MAX, PathWindow::in_flight)
    }
    /// Returns the heap memory in bytes.
    fn memory_bytes(&self) -> usize {
        0
    }
}

/// A rate between a minimum and the rate of the link. At the rate of the link, the control does not limit the queue
/// pair.
#[derive(Clone, Copy, Debug, Recurs)]
pub struct LinkRate {
    /// Rate of the link in bits of frames (DA to FCS) per second.
    pub line: f64,
    pub min: f64,
    pub now: f64,
}

impl LinkRate {
    /// Creates a rate equal to that of the link.
    pub fn new(facts: &PathFacts, min: BitRate) -> LinkRate {
        let line = facts.rate.bps_f64();
        LinkRate { line, min: min.bps_f64().min(line), now: line }
    }
    /// Sets the rate, within its limits.
    pub fn set(&mut self, rate: f64) {
        self.now = rate.clamp(self.min, self.line);
    }
    fn is_limited(&self) -> bool {
        self.now < self.line
    }
    /// Implements [`RdmaControl::on_link_rate`].
    pub fn on_link_rate(&mut self, fresh: &LinkRate) {
        let now = if self.is_limited() { self.now } else { fresh.line };
        *self = LinkRate { now, ..*fresh };
        self.set(now);
    }
    /// Implements [`RdmaControl::due`].
    pub fn due(&self, since: Time, bytes: u32) -> Time {
        if self.is_limited() { since.saturating_add(gap(bytes, self.now)) } else { since }
    }
    /// Implements [`RdmaControl::rate`].
    pub fn reported(&self) -> f64 {
        if self.is_limited() { self.now } else { f64::INFINITY }
    }
}

/// Returns the time that `bytes` take at a rate, rounded to the nearest picosecond.
#[inline]
pub fn gap(bytes: u32, bps: f64) -> Time {
    Time::from_ps((f64::from(bytes) * 8e12 / bps) as u64)
}
