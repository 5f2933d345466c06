//! The parameters of a TCP connection: plain, validated data, shared by both ends.

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
    /// Segments are not ECN-capable; switches drop instead of marking them.
    Off,
    /// RFC 3168: the receiver echoes a mark until the sender has reduced its window.
    Rfc3168,
    /// RFC 8257: the receiver echoes each mark, and only marks.
    Dctcp,
}

/// The parameters of one or several transfers over TCP.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpSpec {
    /// Data to send.
    pub transfers: TransferSpec,
    /// True if connections begin with three-way handshakes. If false, they are open from the start.
    pub handshake: bool,
    /// True if each transfer has its own connection.
    pub reconnect: bool,
    /// Data bytes of a full segment, above 0.
    pub segment: u16,
    /// Bytes of a frame other than its data, DA to FCS.
    pub headers: u16,
    /// Length of an acknowledgement without blocks, DA to FCS, above 0.
    pub ack_bytes: u16,
    /// Number of in-order segments per acknowledgement, above 0.
    pub ack_every: u32,
    /// Maximum delay of an acknowledgement.
    pub ack_delay: Time,
    /// Congestion control of the window.
    pub controller: ControllerSpec,
    /// Detection and repair of losses.
    pub recovery: LossRecoveryKind,
    /// Number of duplicate acknowledgements that indicate a loss, above 0.
    pub duplicates: u32,
    /// True if the first duplicate acknowledgements release new segments (RFC 3042).
    pub limited_transmit: bool,
    /// True if each hole that NewReno repairs restarts the timer.
    pub steady: bool,
    /// True if reductions are proportional (PRR, RFC 6937).
    pub proportional: bool,
    /// Window in bytes: the smaller of the bytes that the receiver accepts beyond in-order data and the bytes that the
    /// sender keeps until they are acknowledged. At least a segment.
    pub window: u64,
    /// Explicit congestion notification: which segments switches may mark, and how marks are echoed.
    pub ecn: EcnMode,
    /// True if each acknowledgement measures the round-trip time (RFC 7323).
    pub timestamps: bool,
    /// The retransmission timer.
    pub timer: TimerSpec,
    /// True if the window is reset after an idle time (RFC 5681 section 4.1).
    pub restart_after_idle: bool,
    /// Upper bound of the random delay of data released by an acknowledgement.
    pub jitter: Time,
}

impl TcpSpec {
    /// Returns the length of a frame with this many bytes of data, DA to FCS.
    pub fn frame_bytes(&self, data: u16) -> u16 {
        self.headers.saturating_add(data).max(frame::MIN_FRAME_BYTES)
    }
    /// Returns the length of an acknowledgement with this many blocks: two bytes and eight per block, padded to words (RFC 2018).
    pub fn ack_frame_bytes(&self, blocks: usize) -> u16 {
        let option = if blocks > 0 { 4 + 8 * blocks as u16 } else { 0 };
        self.ack_bytes.max(self.headers + option)
    }
    /// Returns the length of the shortest frame of either end.
    pub fn shortest_frame(&self) -> u16 {
        self.ack_frame_bytes(0).min(frame::MIN_FRAME_BYTES)
    }
    /// Returns the length of the longest frame of either end.
    pub fn longest_frame(&self) -> u16 {
        self.frame_bytes(self.segment).max(self.ack_frame_bytes(3))
    }
    /// Returns the data bytes in a frame of this length.
    pub fn data_in(&self, frame_bytes: u16) -> u16 {
        frame_bytes.saturating_sub(self.headers)
    }

    /// Validates the parameters. An error states the value and what is accepted.
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
