//! Fast retransmit and fast recovery (Reno): recovers one lost segment without a timeout.
//!
//! The third duplicate acknowledgement indicates a lost segment. It is retransmitted immediately, and the window is
//! halved. Each duplicate acknowledgement also means that a segment has left the network. Until new data is
//! acknowledged, each of them therefore inflates the window by one segment, so that new segments can be sent. The
//! first acknowledgement of new data ends fast recovery. Further losses in the same window are detected by three more
//! duplicates, or by a timeout. Each sets the window to half of the data in flight at that time, as RFC 5681
//! specifies. This includes the data sent during the previous recovery, so that the window after a second loss may be
//! larger than after the first. Stacks that halve the window instead (4.3BSD, ns-2) end with a quarter of it. The name
//! of this recovery in scenarios is "reno".
//!
//! Source: RFC 5681, section 3.2; V. Jacobson, "Modified TCP congestion avoidance algorithm", end2end-interest, 30
//! April 1990. After a timeout, duplicate acknowledgements of data sent before it are ignored (RFC 6582, section 4).
//!
//! Not modelled: all conditions of RFC 5681 for a duplicate acknowledgement. Here it is any acknowledgement with an
//! unchanged number while data is in flight, because window updates and piggybacked acknowledgements do not exist.

use crate::loss_recovery::{Flight, LossRecovery, OnDuplicate, OnProgress};

/// Fast recovery, which repairs one loss at a time.
#[derive(Clone, Debug, Default)]
pub struct FastRecovery {
    duplicates: u32,
    recovering: bool,
    /// After a timeout: byte up to which everything must be acknowledged before duplicate acknowledgements count.
    recover: u64,
    segment: u16,
}

impl LossRecovery for FastRecovery {
    fn on_duplicate(&mut self, flight: &Flight) -> OnDuplicate {
        self.duplicates += 1;
        self.segment = flight.segment;
        if self.recovering || self.duplicates != flight.threshold || flight.is_within(self.recover) {
            return OnDuplicate::Nothing;
        }
        self.recovering = true;
        OnDuplicate::FastRetransmit
    }
    fn on_progress(&mut self, _flight: &Flight, _acknowledged: u64) -> OnProgress {
        self.duplicates = 0;
        match std::mem::take(&mut self.recovering) {
            true => OnProgress::Recovered { gently: false },
            false => OnProgress::Open,
        }
    }
    fn on_timeout(&mut self, flight: &Flight) {
        *self = FastRecovery { recover: flight.highest, ..FastRecovery::default() };
    }
    fn duplicates(&self) -> u32 {
        self.duplicates
    }
    fn is_recovering(&self) -> bool {
        self.recovering
    }
    fn inflation(&self) -> i64 {
        // Steps 3 and 4: one segment for each duplicate acknowledgement, because a segment has left the network.
        if self.recovering { i64::from(self.duplicates) * i64::from(self.segment) } else { 0 }
    }
}
