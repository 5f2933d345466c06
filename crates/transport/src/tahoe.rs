//! Tahoe: fast retransmit followed by slow start.
//!
//! The third duplicate acknowledgement indicates a lost segment. The sender goes back to that segment with a window of
//! one segment, and retransmits all data from there, even data that has arrived. Unnecessary retransmissions cause
//! further duplicate acknowledgements, which are ignored until all data sent before the loss is acknowledged. Limited
//! transmit sends no data that was sent before.
//!
//! Source: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, section 3; K. Fall and S. Floyd,
//! "Simulation-based Comparisons of Tahoe, Reno, and SACK TCP", ACM CCR 26(3), 1996, section 2.
//!
//! Not modelled: Tahoe of 4.3BSD, which retransmits one segment and then continues with new data.

use crate::loss_recovery::{Flight, LossRecovery, OnDuplicate, OnProgress};

/// Tahoe, which restarts from the lost segment.
#[derive(Clone, Debug, Default)]
pub struct Tahoe {
    duplicates: u32,
    /// Byte up to which everything must be acknowledged before duplicate acknowledgements count.
    recover: u64,
}

impl LossRecovery for Tahoe {
    fn on_duplicate(&mut self, flight: &Flight) -> OnDuplicate {
        self.duplicates += 1;
        if self.duplicates != flight.threshold || flight.is_within(self.recover) {
            return OnDuplicate::Nothing;
        }
        self.recover = flight.highest;
        OnDuplicate::GoBack
    }
    fn on_progress(&mut self, _flight: &Flight, _acknowledged: u64) -> OnProgress {
        self.duplicates = 0;
        OnProgress::Open
    }
    fn on_timeout(&mut self, flight: &Flight) {
        (self.duplicates, self.recover) = (0, flight.highest);
    }
    fn duplicates(&self) -> u32 {
        self.duplicates
    }
}
