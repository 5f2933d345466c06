//! What a TCP connection is: plain, checked data, which both of its ends share.

use crate::ControllerSpec;
use crate::controller::ControllerConfiguration;
use crate::loss_recoveries::LossRecoveryKind;
use crate::round_trip::TimerSpec;
use crate::transfers::TransferSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

/// Explicit congestion notification of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnMode {
    /// Switches drop its segments instead.
    Off,
    /// RFC 3168: the receiver echoes a mark until the sender has reduced its window.
    Rfc3168,
    /// RFC 8257: the receiver echoes each mark, and only marks.
    Dctcp,
}

/// A transfer over TCP, or several.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpSpec {
    /// What is sent.
    pub transfers: TransferSpec,
    /// Whether three-way handshakes open connections; or they are open from the start.
    pub handshake: bool,
    /// Whether each transfer has a connection of its own.
    pub reconnect: bool,
    /// Bytes of data of a full segment, above 0.
    pub segment: u16,
    /// Bytes of a frame beside its data, DA to FCS.
    pub headers: u16,
    /// Length of an acknowledgement without blocks, DA to FCS, above 0.
    pub ack_bytes: u16,
    /// An acknowledgement for each so many segments, above 0.
    pub ack_every: u32,
    /// The longest time that a segment waits for its acknowledgement.
    pub ack_delay: Time,
    /// How the window moves.
    pub controller: ControllerSpec,
    /// How losses are found and repaired.
    pub recovery: LossRecoveryKind,
    /// Duplicate acknowledgements that mean a loss, above 0.
    pub duplicates: u32,
    /// Whether the first duplicate acknowledgements release new segments (RFC 3042).
    pub limited_transmit: bool,
    /// Whether NewReno starts its timer anew with each hole.
    pub steady: bool,
    /// Whether reductions are proportional (RFC 6937).
    pub proportional: bool,
    /// Bytes that the receiver takes in ahead of those in order, and that the sender keeps until they are acknowledged:
    /// the smaller of both, at least a segment.
    pub window: u64,
    /// What switches may mark, and who echoes how.
    pub ecn: EcnMode,
    /// Whether each acknowledgement measures a round trip (RFC 7323).
    pub timestamps: bool,
    /// The retransmission timer.
    pub timer: TimerSpec,
    /// Whether the window closes while nothing is sent (RFC 5681 section 4.1).
    pub restart_after_idle: bool,
    /// What an acknowledgement lets go waits for a random time below this.
    pub jitter: Time,
}

impl TcpSpec {
    /// Length of a frame with so many bytes of data, DA to FCS.
    pub fn frame_bytes(&self, data: u16) -> u16 {
        self.headers.saturating_add(data).max(frame::MIN_FRAME_BYTES)
    }
    /// Length of an acknowledgement with so many blocks: two bytes and eight a block, padded to words (RFC 2018).
    pub fn ack_frame_bytes(&self, blocks: usize) -> u16 {
        let option = if blocks > 0 { 4 + 8 * blocks as u16 } else { 0 };
        self.ack_bytes.max(self.headers + option)
    }
    /// The shortest frame of either end.
    pub fn shortest_frame(&self) -> u16 {
        self.ack_frame_bytes(0).min(frame::MIN_FRAME_BYTES)
    }
    /// The longest frame of either end.
    pub fn longest_frame(&self) -> u16 {
        self.frame_bytes(self.segment).max(self.ack_frame_bytes(3))
    }
    /// Data in a frame of this length.
    pub fn data_in(&self, frame_bytes: u16) -> u16 {
        frame_bytes.saturating_sub(self.headers)
    }

    /// What cannot be meant, and what would be accepted.
    pub fn check(&self) -> Result<(), String> {
        let above_zero = |what: &str, value: u64| {
            if value > 0 { Ok(()) } else { Err(format!("{what} of 0; expected above 0")) }
        };
        above_zero("a segment", self.segment.into())?;
        above_zero("an acknowledgement", self.ack_bytes.into())?;
        above_zero("an acknowledgement for every number", self.ack_every.into())?;
        above_zero("a number of duplicates", self.duplicates.into())?;
        above_zero("a least timeout", self.timer.min.ps())?;
        above_zero("an initial timeout", self.timer.initial.ps())?;
        above_zero("a transfer", self.transfers.size.unwrap_or(1))?;
        if self.timer.max < self.timer.min.max(self.timer.initial) {
            return Err("a greatest timeout below the least or the initial one".to_string());
        }
        if self.window < self.segment.into() {
            return Err(format!("a window of {} B, less than a segment", self.window));
        }
        if u32::from(self.segment) + u32::from(self.headers) > u32::from(u16::MAX / 2) {
            return Err(format!("a frame with {} B of data", self.segment));
        }
        self.controller.check(self.segment)
    }
}
