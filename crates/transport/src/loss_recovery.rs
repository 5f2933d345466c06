//! Loss recovery of a TCP sender: the interface with which its variants detect losses and select retransmissions.

use crate::scoreboard::Blocks;

/// The sequence state of a sender, in bytes.
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
    /// True if each hole that NewReno repairs restarts the retransmission timer.
    pub steady: bool,
    /// True if reductions are proportional (PRR, RFC 6937).
    pub proportional: bool,
}

impl Flight {
    /// Returns true if the cumulative acknowledgement does not exceed `recover`. `recover` is the end of the data sent
    /// before an earlier loss, or 0 if there was none. Duplicate acknowledgements may then result from data sent twice
    /// (RFC 6582 section 3.2 step 2).
    pub fn is_within(&self, recover: u64) -> bool {
        recover > 0 && self.unacknowledged <= recover
    }
    /// Returns the number of unacknowledged bytes.
    pub fn outstanding(&self) -> u64 {
        self.highest - self.unacknowledged
    }
}

/// The reaction to a duplicate acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDuplicate {
    /// No loss is inferred yet.
    Nothing,
    /// The first unacknowledged segment is lost; the sender retransmits it.
    FastRetransmit,
    /// The sender goes back to the first unacknowledged segment and continues from there.
    GoBack,
}

/// The reaction to an acknowledgement of new data.
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
    /// Loss recovery ends.
    Recovered {
        /// True if the window must not exceed the data in flight by more than one segment.
        gently: bool,
    },
}

/// The selection of the data to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// The sender continues with its next data, as the window allows.
    BySender,
    /// Nothing may be sent now.
    Nothing,
    /// A range of bytes: the first one, and the one after the last.
    Bytes(u64, u64),
}

/// An algorithm that detects and repairs losses. It counts bytes, and depends neither on time nor on the window.
pub trait LossRecovery {
    /// Processes a duplicate acknowledgement while data is in flight.
    fn on_duplicate(&mut self, flight: &Flight) -> OnDuplicate;

    /// Processes an acknowledgement of `acknowledged` new bytes; `flight` is the state afterwards.
    fn on_progress(&mut self, flight: &Flight, acknowledged: u64) -> OnProgress;

    /// Processes the expiry of the retransmission timer, after which the sender goes back.
    fn on_timeout(&mut self, flight: &Flight);

    /// Returns the number of duplicate acknowledgements since the last acknowledgement of new data.
    fn duplicates(&self) -> u32;

    /// Returns true if a detected loss has not yet been repaired.
    fn is_recovering(&self) -> bool {
        false
    }

    /// Returns true if there are no duplicate acknowledgements, no loss to repair, and no data known to have arrived beyond the cumulative
    /// acknowledgement. The window then applies unchanged, the sender selects the next data itself, and neither sent data nor
    /// acknowledgements of new data without blocks need to be reported.
    fn is_quiet(&self) -> bool {
        self.duplicates() == 0 && !self.is_recovering()
    }

    /// Returns the bytes by which the window is inflated (or deflated, if negative) during recovery.
    fn inflation(&self) -> i64 {
        0
    }

    /// Processes the blocks that the receiver reports as received. Called before the acknowledgement itself is
    /// processed.
    fn on_blocks(&mut self, _flight: &Flight, _blocks: &Blocks) {}

    /// Called after an acknowledgement has been processed and the controller has adjusted the window.
    fn on_acknowledged(&mut self, _flight: &Flight, _acknowledged: u64, _window: u64) {}

    /// Selects the data to send next with this window. `sendable` is the end of the data that the application and the
    /// receiver allow to be sent.
    fn choose(&self, _flight: &Flight, _sendable: u64, _window: u64) -> Chosen {
        Chosen::BySender
    }

    /// Records that these bytes are sent.
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

    /// Returns the heap memory in bytes.
    fn memory_bytes(&self) -> usize {
        0
    }
}
