//! Strict priority: the default transmission selection of IEEE 802.1Q (clause 8.6.8.1).
//!
//! Serves the highest class that may send. Lower classes starve for as long as a higher one has frames;
//! that is the algorithm, not a fault.
//!
//! Source: IEEE 802.1Q clause 8.6.8.1.
//!
//! Not modelled: the time that a choice takes, and pre-emption of a frame in transmission (IEEE 802.1Qbu).

use frame::TrafficClass;

/// No state: each choice stands alone.
#[derive(Clone, Debug, Default)]
pub struct StrictPriority;

impl StrictPriority {
    /// The highest eligible class.
    #[inline]
    pub fn pick(&mut self, eligible: u8) -> TrafficClass {
        debug_assert_ne!(eligible, 0);
        TrafficClass(7 - eligible.leading_zeros() as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_wins() {
        let mut scheduler = StrictPriority;
        for eligible in 1..=u8::MAX {
            let TrafficClass(class) = scheduler.pick(eligible);
            assert!(eligible >> class == 1, "{class} of {eligible:#b}");
        }
    }
}
