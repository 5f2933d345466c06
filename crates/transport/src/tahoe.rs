//! Tahoe: after a loss that duplicate acknowledgements indicate, the sender restarts with slow start.
//!
//! The third acknowledgement in a row that acknowledges nothing new means that a segment is lost. The sender goes back
//! to it, with a window of one segment, and sends everything from there again, whether it has arrived or not. What it
//! sends twice causes duplicates in turn: until all that was sent before the loss is acknowledged they count for nothing.
//! Limited transmit lets nothing go that was sent before.
//!
//! Source: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, section 3; K. Fall and S. Floyd, "Simulation-based
//! Comparisons of Tahoe, Reno, and SACK TCP", ACM CCR 26(3), 1996, section 2.
//!
//! Not modelled: Tahoe of 4.3BSD, which sends one segment again and then goes on where it was.

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
