//! Interface between a packet delivery context and its congestion control.

use units::{BitRate, Time};

/// Path of a packet delivery context and sizes of its packets, known before it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UetFacts {
    /// Lower rate of the links of sender and receiver.
    pub rate: BitRate,
    /// Round trip of a full packet and its acknowledgement without queues (`base_rtt_cfg`).
    pub base_rtt: Time,
    /// Bytes of a full packet, DA to FCS (MTU of the standard).
    pub packet: u16,
    /// Payload of a full packet in bytes (MSS of the standard).
    pub payload: u16,
    /// Links of the sender that lead to the receiver, over each of which every packet may go; at least 1. `rate` is that of all.
    pub planes: u16,
    /// Bytes around each frame on the sender's link: preamble and gap.
    pub overhead: u16,
    /// True if switches trim packets instead of dropping them.
    pub trimming: bool,
}

impl UetFacts {
    /// Default target of the queueing delay: 0.75 base round trips with trimming, 1 without.
    pub fn delay_target(&self) -> Time {
        let base = self.base_rtt.ps();
        Time::from_ps(if self.trimming { base / 4 * 3 } else { base })
    }
    /// Bandwidth-delay product in bytes.
    pub fn bdp(&self) -> f64 {
        self.rate.bps_f64() * self.base_rtt.as_secs_f64() / 8.0
    }
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UetAck {
    /// Bytes of frames received since the acknowledgement before, from the receiver's cumulative counter.
    pub newly: u64,
    /// Bytes of frames in flight after it.
    pub in_flight: u64,
    /// It echoes an ECN mark.
    pub marked: bool,
    /// Round trip of the packet that it answers, without the receiver's service time; `None`: not valid.
    pub round_trip: Option<Time>,
    /// That packet was a full one, whose round trip without queues the base round trip is.
    pub full: bool,
}

/// A packet that is known to be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UetLoss {
    /// Bytes of its frame.
    pub bytes: u64,
    /// Bytes of frames in flight without it.
    pub in_flight: u64,
    /// Signal by which the loss was detected.
    pub cause: UetLossCause,
}

/// Signals by which losses are detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UetLossCause {
    /// A NACK for a trimmed packet. `last_hop`: it was trimmed at the last switch.
    Trimmed {
        /// True if the last switch trimmed it.
        last_hop: bool,
    },
    /// Inferred from acknowledgements, or by the retransmission timer.
    Inferred,
}

/// Window of a packet delivery context. It does not retransmit, and nothing is scheduled for it.
pub trait UetControl {
    /// An acknowledgement has arrived.
    fn on_ack(&mut self, _now: Time, _ack: &UetAck) {}
    /// A packet is lost.
    fn on_loss(&mut self, _now: Time, _loss: &UetLoss) {}
    /// The link of the sender has another rate; `fresh` was made for that rate.
    fn on_link_rate(&mut self, _fresh: &Self) {}
    /// Bytes of frames that may be in flight.
    fn window(&self) -> u64 {
        u64::MAX
    }
    /// Times that it has set the window to what arrived (quick adapt).
    fn quick_adapts(&self) -> u64 {
        0
    }
}
