//! What a congestion controller hears and what it says.

use units::{BitRate, Time};

/// An acknowledgement that acknowledges something new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// Bytes that it acknowledges for the first time.
    pub bytes: u64,
    /// Bytes still in flight.
    pub in_flight: u64,
    /// Whether it echoes a mark.
    pub echo: bool,
    /// A new measurement of the round-trip time.
    pub round_trip: Option<Time>,
}

/// How much may be in flight and how fast it goes out.
///
/// The sender tells what happens; what does not concern a controller it does not implement. It never
/// retransmits: the sender does, and tells it of the loss.
pub trait CongestionControl {
    /// New data has been acknowledged.
    fn on_ack(&mut self, _now: Time, _ack: &Ack) {}

    /// The sender takes a segment for lost.
    fn on_loss(&mut self, _now: Time) {}

    /// The peer saw a mark. Comes before [`CongestionControl::on_ack`] of the same acknowledgement.
    fn on_mark(&mut self, _now: Time) {}

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
