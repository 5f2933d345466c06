//! Interface between a TCP sender and its congestion controller.

use units::{BitRate, Time};

/// An acknowledgement of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Bytes acknowledged for the first time.
    pub bytes: u64,
    /// Bytes still in flight.
    pub in_flight: u64,
    /// ECN-Echo (RFC 3168 section 6.1.3).
    pub ece: bool,
    /// A new measurement of the round-trip time.
    pub round_trip: Option<Time>,
    /// True if the sender is in loss recovery: the window must not grow.
    pub recovering: bool,
    /// True if the window was in use. Otherwise the acknowledgement carries no information about the path's
    /// capacity.
    pub window_used: bool,
}

/// Returns true if a window is in use: half of it is in flight (RFC 7661 section 4.3).
pub fn is_used(window: u64, in_flight: u64) -> bool {
    2 * in_flight >= window
}

/// Kind of loss detection, which determines how much of the path's state remains valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// Later segments have arrived: acknowledgements still clock transmissions (RFC 5681 section 3.2).
    FastRecovery,
    /// The retransmission timer has expired, or Tahoe goes back: slow start from one segment (RFC 5681 section 3.1).
    Timeout,
    /// The timer has expired again without an acknowledgement in between: the slow start threshold is kept.
    RepeatedTimeout,
}

/// A loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Kind of loss detection.
    pub kind: LossKind,
    /// Bytes that were in flight (FlightSize of RFC 5681).
    pub in_flight: u64,
}

/// Congestion controller: determines how much may be in flight, and the sending rate.
///
/// The sender calls these methods; a controller implements only those it needs. It never retransmits: the
/// sender does, and reports the loss by [`CongestionControl::on_loss`].
pub trait CongestionControl {
    /// New data has been acknowledged.
    fn on_ack(&mut self, _now: Time, _ack: &Ack) {}

    /// The sender considers a segment lost.
    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    /// Loss recovery has ended, with this many bytes in flight.
    fn on_recovered(&mut self, _now: Time, _in_flight: u64) {}

    /// The peer echoed a mark. Called after [`CongestionControl::on_ack`] for the same acknowledgement.
    fn on_mark(&mut self, _now: Time) {}

    /// The sender was idle for longer than a timeout.
    fn on_idle(&mut self, _now: Time) {}

    /// A congestion message from a switch or from the peer has arrived; `word` is its payload word.
    fn on_message(&mut self, _now: Time, _word: u32) {}

    /// Returns the bytes that may be in flight. Default: unlimited.
    fn window(&self) -> u64 {
        u64::MAX
    }

    /// Returns the pacing rate, in bits of frames (DA to FCS); `None`: the rate of the link.
    fn rate(&self) -> Option<BitRate> {
        None
    }
}

/// The parameters of a controller.
pub trait ControllerConfiguration {
    /// Controller that it configures.
    type Machine: CongestionControl;

    /// Validates the parameters for segments of this many bytes; an error names the value and what is
    /// accepted.
    fn check(&self, segment: u16) -> Result<(), String>;

    /// Creates the controller, for segments of this many bytes.
    fn start(&self, segment: u16) -> Self::Machine;
}
