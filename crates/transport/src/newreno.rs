//! NewReno: recovers one lost segment per round trip, without a timeout and without further window reductions.
//!
//! Recovery starts as in `fast_recovery`, and lasts until all data that had been sent at its start is acknowledged. A
//! partial acknowledgement indicates the next lost segment, which is retransmitted immediately. The window is deflated
//! by the acknowledged bytes and increased by one segment, so that one segment is sent for each segment that has left
//! the network. The Impatient variant resets the retransmission timer only at the first partial acknowledgement: with
//! many losses it times out and enters slow start, which is faster. The Slow-but-Steady variant resets the timer at
//! each partial acknowledgement.
//!
//! Source: RFC 6582, sections 3.2 (steps 1 to 6) and 4 (the timer); S. Floyd and T. Henderson, RFC 2582.
//!
//! Not modelled: the heuristics for duplicate acknowledgements caused by unnecessary retransmissions (section 4.1 of
//! RFC 6582). Duplicate acknowledgements are ignored until all data sent before a timeout or recovery is acknowledged
//! (its careful variant).

use crate::loss_recovery::{Flight, LossRecovery, OnDuplicate, OnProgress};

/// NewReno, which repairs one hole per round trip.
#[derive(Clone, Debug, Default)]
pub struct NewReno {
    duplicates: u32,
    recovering: bool,
    /// True if new data was acknowledged since recovery began.
    progressed: bool,
    /// Byte up to which everything must be acknowledged before recovery ends. Duplicate acknowledgements count only
    /// beyond it.
    recover: u64,
    inflation: i64,
}

impl LossRecovery for NewReno {
    fn on_duplicate(&mut self, flight: &Flight) -> OnDuplicate {
        self.duplicates += 1;
        if self.recovering {
            // Step 3 of RFC 5681 section 3.2, as in step 2 of RFC 6582.
            self.inflation += i64::from(flight.segment);
            return OnDuplicate::Nothing;
        }
        // Step 2: recovery begins only if the acknowledgement covers more than `recover`.
        if self.duplicates != flight.threshold || flight.is_within(self.recover) {
            return OnDuplicate::Nothing;
        }
        (self.recovering, self.progressed, self.recover) = (true, false, flight.highest);
        self.inflation = i64::from(self.duplicates) * i64::from(flight.segment);
        OnDuplicate::FastRetransmit
    }
    fn on_progress(&mut self, flight: &Flight, acknowledged: u64) -> OnProgress {
        self.duplicates = 0;
        if !self.recovering {
            return OnProgress::Open;
        }
        if flight.unacknowledged >= self.recover {
            (self.recovering, self.inflation) = (false, 0);
            return OnProgress::Recovered { gently: true };
        }
        // Step 3, partial acknowledgement: deflate the window by the bytes acknowledged, and add back one segment if
        // they are at least one segment.
        let segment = i64::from(flight.segment);
        let acknowledged = acknowledged as i64;
        self.inflation -= acknowledged - if acknowledged >= segment { segment } else { 0 };
        let first = !std::mem::replace(&mut self.progressed, true);
        OnProgress::PartialAck { restarts_timer: first || flight.steady }
    }
    fn on_timeout(&mut self, flight: &Flight) {
        // Step 4 of section 3.2.
        *self = NewReno { recover: flight.highest, ..NewReno::default() };
    }
    fn duplicates(&self) -> u32 {
        self.duplicates
    }
    fn is_recovering(&self) -> bool {
        self.recovering
    }
    fn inflation(&self) -> i64 {
        self.inflation
    }
}
