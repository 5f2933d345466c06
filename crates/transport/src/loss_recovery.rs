//! Loss recovery of a TCP sender: the interface by which its variants detect losses and select retransmissions.

use crate::scoreboard::Blocks;

/// Sequence state of a sender, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// First unacknowledged byte (SND.UNA).
    pub unacknowledged: u64,
    /// Byte after the highest ever sent.
    pub highest: u64,
    /// Length of a full segment.
    pub segment: u16,
    /// Number of duplicate acknowledgements that indicate a loss.
    pub threshold: u32,
    /// True if each hole that NewReno fills restarts the retransmission timer.
    pub steady: bool,
    /// True if reductions are proportional (PRR, RFC 6937).
    pub proportional: bool,
}

impl Flight {
    /// Returns true if nothing beyond `recover` is acknowledged. `recover` is the end of the data sent before an
    /// earlier loss, or 0 if there was none. Duplicate acknowledgements may then result from data sent twice
    /// (RFC 6582 section 3.2 step 2).
    pub fn is_within(&self, recover: u64) -> bool {
        recover > 0 && self.unacknowledged <= recover
    }
    /// Returns the number of unacknowledged bytes.
    pub fn outstanding(&self) -> u64 {
        self.highest - self.unacknowledged
    }
}

/// Reaction to a duplicate acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDuplicate {
    /// No loss is inferred yet.
    Nothing,
    /// The first unacknowledged segment is lost: retransmit it.
    FastRetransmit,
    /// Go back to the first unacknowledged segment and restart from there.
    GoBack,
}

/// Reaction to an acknowledgement of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnProgress {
    /// No loss recovery is in progress.
    Open,
    /// Loss recovery continues.
    Recovering,
    /// Partial acknowledgement: the first unacknowledged segment is lost as well (RFC 6582 section 3.2).
    PartialAck {
        /// True if the retransmission timer restarts.
        restarts_timer: bool,
    },
    /// Loss recovery has ended.
    Recovered {
        /// True if the window must not exceed the data in flight by more than one segment.
        gently: bool,
    },
}

/// Selection of the data to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// The sender continues with its next data, as the window allows.
    BySender,
    /// Nothing may be sent now.
    Nothing,
    /// These bytes: the first, and the one after the last.
    Bytes(u64, u64),
}

/// Algorithm that detects and repairs losses. It counts bytes, and depends neither on time nor on the window.
pub trait LossRecovery {
    /// A duplicate acknowledgement has arrived while data is in flight.
    fn on_duplicate(&mut self, flight: &Flight) -> OnDuplicate;

    /// `acknowledged` bytes were acknowledged for the first time; `flight` is the state afterwards.
    fn on_progress(&mut self, flight: &Flight, acknowledged: u64) -> OnProgress;

    /// The retransmission timer has expired, and the sender goes back.
    fn on_timeout(&mut self, flight: &Flight);

    /// Returns the number of duplicate acknowledgements since new data was acknowledged.
    fn duplicates(&self) -> u32;

    /// Returns true if a detected loss is not yet repaired.
    fn is_recovering(&self) -> bool {
        false
    }

    /// Returns true if there are no duplicate acknowledgements, no loss to repair, and no data known to have arrived beyond the cumulative
    /// acknowledgement. The window then applies unchanged, the sender selects the next data itself, and neither sent data nor
    /// acknowledgements of new data without blocks need to be reported.
    fn is_quiet(&self) -> bool {
        self.duplicates() == 0 && !self.is_recovering()
    }

    /// Bytes by which the window is inflated (or deflated, if negative) during recovery.
    fn inflation(&self) -> i64 {
        0
    }

    /// The receiver reports which blocks have arrived. Called before the acknowledgement itself is processed.
    fn on_blocks(&mut self, _flight: &Flight, _blocks: &Blocks) {}

    /// The acknowledgement is processed, and the controller has adjusted the window.
    fn on_acknowledged(&mut self, _flight: &Flight, _acknowledged: u64, _window: u64) {}

    /// Selects the data to send next with this window. New bytes before `sendable` may be sent, as far as application and receiver allow.
    fn choose(&self, _flight: &Flight, _sendable: u64, _window: u64) -> Chosen {
        Chosen::BySender
    }

    /// Notes that these bytes leave.
    fn on_sent(&mut self, _flight: &Flight, _from: u64, _to: u64) {}

    /// Returns the first byte at or after this one that the receiver has not reported as received.
    fn skip(&self, from: u64) -> u64 {
        from
    }

    /// Returns the number of bytes before this one that the receiver has reported as received beyond the
    /// cumulative acknowledgement.
    fn arrived_before(&self, _end: u64) -> u64 {
        0
    }

    /// Heap bytes held, excluding the value itself.
    fn memory_bytes(&self) -> usize {
        0
    }
}
