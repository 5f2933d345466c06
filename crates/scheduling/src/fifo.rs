//! First in, first out: one queue in order of arrival.
//!
//! If flow control stops any of the priorities in the queue, the whole port waits: head-of-line blocking
//! is what a port with a single queue has.
//!
//! Source: Hagen 2012 §2.4 (the output queue); any textbook.
//!
//! Not modelled: the time that a choice takes (all schedulers choose in an instant).

use frame::TrafficClass;

/// No state: the queue itself keeps the order.
#[derive(Clone, Debug, Default)]
pub struct Fifo;

impl Fifo {
    /// The one class there is.
    #[inline]
    pub fn pick(&mut self, eligible: u8) -> TrafficClass {
        debug_assert_eq!(eligible, 1, "a FIFO port has one class");
        TrafficClass(0)
    }
}
