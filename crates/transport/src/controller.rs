//! What a congestion controller hears and what it says.

use units::{BitRate, Time};

/// An acknowledgement that acknowledges something new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Bytes that it acknowledges for the first time.
    pub bytes: u64,
    /// Bytes still in flight.
    pub in_flight: u64,
    /// ECN-Echo (RFC 3168 section 6.1.3).
    pub ece: bool,
    /// A new measurement of the round-trip time.
    pub round_trip: Option<Time>,
    /// Whether the sender is in loss recovery: no time to grow the window.
    pub recovering: bool,
    /// Whether the window was in use. One that is not says nothing of the path.
    pub window_used: bool,
}

/// Whether a window is in use: half of it is in flight (RFC 7661 section 4.3).
pub fn is_used(window: u64, in_flight: u64) -> bool {
    2 * in_flight >= window
}

/// How the sender found out that a segment is lost, which says how much of the path it still knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// Later segments have arrived: acknowledgements still clock what is sent (RFC 5681 section 3.2).
    FastRecovery,
    /// The retransmission timer has expired, or Tahoe goes back: slow start from one segment (RFC 5681 section 3.1).
    Timeout,
    /// It has expired again without an acknowledgement in between: the slow start threshold stays.
    RepeatedTimeout,
}

/// A loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// How the sender knows.
    pub kind: LossKind,
    /// Bytes that were in flight (FlightSize of RFC 5681).
    pub in_flight: u64,
}

/// How much may be in flight and how fast it goes out.
///
/// The sender tells what happens; what does not concern a controller it does not implement. It never
/// retransmits: the sender does, and tells it of the loss.
pub trait CongestionControl {
    /// New data has been acknowledged.
    fn on_ack(&mut self, _now: Time, _ack: &Ack) {}

    /// The sender takes a segment for lost.
    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}

    /// Loss recovery has ended, with this many bytes in flight.
    fn on_recovered(&mut self, _now: Time, _in_flight: u64) {}

    /// The peer saw a mark. Comes after [`CongestionControl::on_ack`] of the same acknowledgement.
    fn on_mark(&mut self, _now: Time) {}

    /// The sender was idle for longer than a timeout.
    fn on_idle(&mut self, _now: Time) {}

    /// A congestion message from a switch or from the peer; `word` is what it carries.
    fn on_message(&mut self, _now: Time, _word: u32) {}

    /// Bytes that may be in flight. Default: unlimited.
    fn window(&self) -> u64 {
        u64::MAX
    }

    /// The rate of pacing, in bits of frames (DA to FCS); `None`: as fast as the link.
    fn rate(&self) -> Option<BitRate> {
        None
    }
}

/// The parameters of a controller.
pub trait ControllerConfiguration {
    /// What it configures.
    type Machine: CongestionControl;

    /// What cannot be meant with segments of this many bytes, and what would be accepted.
    fn check(&self, segment: u16) -> Result<(), String>;

    /// The controller at work, for segments of this many bytes.
    fn start(&self, segment: u16) -> Self::Machine;
}
