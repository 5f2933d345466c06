//! The interface between a TCP sender and its congestion controller.

use units::{BitRate, Time};

/// An acknowledgement of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Bytes acknowledged for the first time.
    pub bytes: u64,
    /// Bytes still in flight.
    pub in_flight: u64,
    /// True if the acknowledgement carries ECN-Echo (RFC 3168 section 6.1.3).
    pub ece: bool,
    /// New measurement of the round-trip time, if there is one.
    pub round_trip: Option<Time>,
    /// True if the sender is in loss recovery: the window must not grow.
    pub recovering: bool,
    /// True if the window was in use. Otherwise the acknowledgement carries no information about the path's
    /// capacity.
    pub window_used: bool,
}

/// Returns true if the window is in use, that is, if at least half of it is in flight (RFC 7661 section 4.3).
pub fn is_used(window: u64, in_flight: u64) -> bool {
    2 * in_flight >= window
}

/// The kind of loss detection, which determines how much of the path's state remains valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// Later segments have arrived, so acknowledgements still clock transmissions (RFC 5681 section 3.2).
    FastRecovery,
    /// The retransmission timer has expired, or Tahoe restarts: slow start from one segment (RFC 5681 section 3.1).
    Timeout,
    /// The timer has expired again without an acknowledgement in between. The slow start threshold is kept.
    RepeatedTimeout,
}

/// A detected loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Kind of loss detection.
    pub kind: LossKind,
    /// Bytes that were in flight (FlightSize of RFC 5681).
    pub in_flight: u64,
}

/// A congestion controller, which determines how much may be in flight, and the sending rate.
///
/// The sender calls these methods; a controller implements only those that it needs. Retransmissions are the sender's
/// task; it reports the loss by [`CongestionControl::on_loss`].
pub trait CongestionControl {
    /// Processes an acknowledgement of new data.
    fn on_ack(&mut self, _now: Time, _ack: &Ack) {}

    /// Processes the loss of a segment, as detected by the sender.
    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    /// Processes the end of loss recovery, at which this many bytes are in flight.
    fn on_recovered(&mut self, _now: Time, _in_flight: u64) {}

    /// Processes a mark that the peer echoed. Called after [`CongestionControl::on_ack`] for the same acknowledgement.
    fn on_mark(&mut self, _now: Time) {}

    /// Processes the end of an idle time that was longer than a timeout.
    fn on_idle(&mut self, _now: Time) {}

    /// Processes a congestion message from a switch or from the peer; `word` is its payload word.
    fn on_message(&mut self, _now: Time, _word: u32) {}

    /// Returns the number of bytes that may be in flight. Default: unlimited.
    fn window(&self) -> u64 {
        u64::MAX
    }

    /// Returns the pacing rate in bits of frames (DA to FCS) per second; `None` for the rate of the link.
    fn rate(&self) -> Option<BitRate> {
        None
    }
}

/// The parameters of a controller.
pub trait ControllerConfiguration {
    /// The controller that the parameters configure.
    type Machine: CongestionControl;

    /// Validates the parameters for segments of this many bytes. An error states the value and what is accepted.
    fn check(&self, segment: u16) -> Result<(), String>;

    /// Creates the controller for segments of this many bytes.
    fn start(&self, segment: u16) -> Self::Machine;
}
