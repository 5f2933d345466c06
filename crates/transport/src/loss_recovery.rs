//! Loss recovery: how a TCP sender finds out that segments are lost, and what it retransmits: what its variants have in common.

use crate::scoreboard::Blocks;

/// Where a sender stands: numbers of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The first byte that is not acknowledged.
    pub unacknowledged: u64,
    /// One after the highest byte that was ever sent.
    pub highest: u64,
    /// Length of a full segment.
    pub segment: u16,
    /// Number of duplicate acknowledgements that indicate a loss.
    pub threshold: u32,
    /// Whether the timer starts anew with each hole that NewReno fills.
    pub steady: bool,
    /// Whether reductions are proportional (RFC 6937).
    pub proportional: bool,
}

impl Flight {
    /// Whether nothing beyond `recover`, the end of what was sent before an earlier loss, is acknowledged: then
    /// duplicates may come from what was sent twice (RFC 6582 section 3.2 step 2). 0: there was none.
    pub fn is_within(&self, recover: u64) -> bool {
        recover > 0 && self.unacknowledged <= recover
    }
    /// Bytes that are not acknowledged.
    pub fn outstanding(&self) -> u64 {
        self.highest - self.unacknowledged
    }
}

/// What a duplicate acknowledgement means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDuplicate {
    /// Nothing yet.
    Nothing,
    /// The first segment that is not acknowledged is lost: send it again.
    FastRetransmit,
    /// Go back to it and start over.
    GoBack,
}

/// What the acknowledgement of new data means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnProgress {
    /// There is no loss recovery.
    Open,
    /// Loss recovery goes on.
    Recovering,
    /// A partial acknowledgement: the first segment that is not acknowledged is lost as well (RFC 6582 section 3.2).
    PartialAck {
        /// Whether the retransmission timer starts anew.
        restarts_timer: bool,
    },
    /// Loss recovery has ended.
    Recovered {
        /// Whether the window should not exceed what is in flight by more than a segment.
        gently: bool,
    },
}

/// Who says what is sent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// The sender: what comes next, if the window allows it.
    BySender,
    /// Nothing may be sent now.
    Nothing,
    /// These bytes, from the first to the one behind the last.
    Bytes(u64, u64),
}

/// An algorithm that detects and repairs losses. It counts bytes, and knows neither time nor window.
pub trait LossRecovery {
    /// A duplicate acknowledgement has arrived, while something is in flight.
    fn on_duplicate(&mut self, flight: &Flight) -> OnDuplicate;

    /// So many bytes were acknowledged for the first time; `flight` is what is left.
    fn on_progress(&mut self, flight: &Flight, acknowledged: u64) -> OnProgress;

    /// The sender has waited for too long, and goes back.
    fn on_timeout(&mut self, flight: &Flight);

    /// Duplicates since something new was acknowledged.
    fn duplicates(&self) -> u32;

    /// Whether a loss that was found is not yet repaired.
    fn is_recovering(&self) -> bool {
        false
    }

    /// Whether nothing is amiss: no duplicates, no loss to be repaired, and nothing known to have arrived beyond the
    /// acknowledgement. Then the window counts as it is, what to send next is the sender's affair, and there is nothing to
    /// be told of what leaves, or of the acknowledgement of new data without blocks.
    fn is_quiet(&self) -> bool {
        self.duplicates() == 0 && !self.is_recovering()
    }

    /// Bytes by which the window counts as larger meanwhile, or smaller.
    fn inflation(&self) -> i64 {
        0
    }

    /// The receiver says which blocks have arrived. Comes before the call for the acknowledgement itself.
    fn on_blocks(&mut self, _flight: &Flight, _blocks: &Blocks) {}

    /// The acknowledgement is dealt with, and the controller has spoken.
    fn on_acknowledged(&mut self, _flight: &Flight, _acknowledged: u64, _window: u64) {}

    /// What to send next with this window; new bytes before `sendable` may be sent, as far as application and receiver go.
    fn choose(&self, _flight: &Flight, _sendable: u64, _window: u64) -> Chosen {
        Chosen::BySender
    }

    /// These bytes leave.
    fn on_sent(&mut self, _flight: &Flight, _from: u64, _to: u64) {}

    /// The first byte from this one on that the receiver has not told of.
    fn skip(&self, from: u64) -> u64 {
        from
    }

    /// Bytes before this one that the receiver has told of beyond the acknowledgement.
    fn arrived_before(&self, _end: u64) -> u64 {
        0
    }

    /// Bytes that it has taken beside itself.
    fn memory_bytes(&self) -> usize {
        0
    }
}
