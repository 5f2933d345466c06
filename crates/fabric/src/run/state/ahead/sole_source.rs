//! A greedy source that is the only one at its NIC.

use crate::run::state::index::SourceIx;
use units::Time;

/// The only source at a NIC, and the pauses on their way to its port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SoleGreedySource {
    pub(in crate::run) source: SourceIx,
    /// Minimum time from a decision of the far end to send a pause until it takes effect here; [`Time::NEVER`] if it
    /// sends none.
    undisturbed_for: Time,
    /// Number of pauses in flight, and the time at which the first takes effect, or its lower bound.
    pauses_underway: u32,
    next_pause: Time,
}

impl SoleGreedySource {
    /// Creates the state, with no pause in flight.
    pub fn new(source: SourceIx, undisturbed_for: Time) -> SoleGreedySource {
        SoleGreedySource { source, undisturbed_for, pauses_underway: 0, next_pause: Time::NEVER }
    }

    /// Records a pause that is sent now and takes effect at this time.
    pub fn pause_sent(&mut self, acts: Time) {
        self.pauses_underway += 1;
        self.next_pause = self.next_pause.min(acts);
    }

    /// Records that a pause has taken effect. The time of the next one is then unknown.
    pub fn pause_acts(&mut self, now: Time) {
        self.pauses_underway -= 1;
        self.next_pause = if self.pauses_underway == 0 { Time::NEVER } else { now };
    }

    /// Returns the time before which no pause takes effect, given all events before `known`.
    pub(in crate::run) fn undisturbed_until(&self, known: Time) -> Time {
        self.next_pause.min(known.saturating_add(self.undisturbed_for))
    }
}
