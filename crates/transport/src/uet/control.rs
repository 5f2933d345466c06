//! The interface between a packet delivery context and its congestion control.

use units::{BitRate, Time};

/// The properties of a packet delivery context's path and packets, which are known before it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UetFacts {
    /// Lower of the rates of the sender's and the receiver's link.
    pub rate: BitRate,
    /// Round-trip time of a full packet and its acknowledgement without queueing (`base_rtt_cfg`).
    pub base_rtt: Time,
    /// Length of a full packet in bytes, DA to FCS (MTU of the standard).
    pub packet: u16,
    /// Payload of a full packet in bytes (MSS of the standard).
    pub payload: u16,
    /// Number of the sender's links that lead to the receiver, each of which may carry every packet; at least 1. `rate`
    /// is the sum of all.
    pub planes: u16,
    /// Bytes around each frame on the sender's link: preamble and gap.
    pub overhead: u16,
    /// True if switches trim packets instead of dropping them.
    pub trimming: bool,
}

impl UetFacts {
    /// Returns the default target of the queueing delay: 0.75 base round-trip times with trimming, 1 without.
    pub fn delay_target(&self) -> Time {
        let base = self.base_rtt.ps();
        Time::from_ps(if self.trimming { base / 4 * 3 } else { base })
    }
    /// Returns the bandwidth-delay product in bytes.
    pub fn bdp(&self) -> f64 {
        self.rate.bps_f64() * self.base_rtt.as_secs_f64() / 8.0
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UetAck {
    /// Bytes of frames received since the previous acknowledgement, according to the receiver's cumulative counter.
    pub newly: u64,
    /// Bytes of frames in flight after the acknowledgement.
    pub in_flight: u64,
    /// True if the acknowledgement echoes an ECN mark.
    pub marked: bool,
    /// Round-trip time of the answered packet without the receiver's service time; `None` if it is not valid.
    pub round_trip: Option<Time>,
    /// True if the answered packet was a full one, to which the base round-trip time applies.
    pub full: bool,
}

/// A detected loss of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UetLoss {
    /// Bytes of its frame.
    pub bytes: u64,
    /// Bytes of frames in flight without the packet.
    pub in_flight: u64,
    /// Signal by which the loss was detected.
    pub cause: UetLossCause,
}

/// The signals by which losses are detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UetLossCause {
    /// A NACK for a trimmed packet.
    Trimmed {
        /// True if the last switch trimmed the packet.
        last_hop: bool,
    },
    /// Inferred from acknowledgements, or by the retransmission timer.
    Inferred,
}

/// The window of a packet delivery context. It neither retransmits nor has timers.
pub trait UetControl {
    /// Processes an acknowledgement.
    fn on_ack(&mut self, _now: Time, _ack: &UetAck) {}
    /// Processes the loss of a packet.
    fn on_loss(&mut self, _now: Time, _loss: &UetLoss) {}
    /// Adapts to another rate of the sender's link; `fresh` was created for that rate.
    fn on_link_rate(&mut self, _fresh: &Self) {}
    /// Returns the number of bytes of frames that may be in flight.
    fn window(&self) -> u64 {
        u64::MAX
    }
    /// Returns how often the control has set the window to the bytes that arrived (quick adapt).
    fn quick_adapts(&self) -> u64 {
        0
    }
}
