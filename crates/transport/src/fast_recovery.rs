//! Fast retransmit and fast recovery: one loss is repaired without a pause.
//!
//! The third acknowledgement in a row that acknowledges nothing new means that a segment is lost: it is sent again at
//! once, and the window is halved. Each duplicate also means that a segment has left the network: until something new is
//! acknowledged the window counts as larger by a segment for each of them, so that new ones go out. The first
//! acknowledgement of something new ends it. Further losses of the same window are found by three more duplicates, or by a
//! timeout. Each sets the window to half of what is in flight then, as RFC 5681 says: that includes what the repair before
//! has let go, so that a second loss may leave more than the first. Stacks that halve the window instead (4.3BSD, ns-2) end
//! with a quarter of it. In a scenario it is called "reno".
//!
//! Source: RFC 5681, section 3.2; V. Jacobson, "Modified TCP congestion avoidance algorithm", end2end-interest, 30 April
//! 1990. After a timeout, duplicates of what was sent before it count for nothing (RFC 6582, section 4).
//!
//! Not modelled: duplicates are acknowledgements of the same number while something is in flight; windows that change
//! and acknowledgements that carry data do not exist here.

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
