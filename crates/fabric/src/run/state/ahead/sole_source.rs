//! A greedy source that is alone at its NIC.

use crate::run::state::index::SourceIx;
use units::Time;

/// A source that is alone at its NIC, and the pauses of the port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SoleGreedySource {
    pub(in crate::run) source: SourceIx,
    /// Minimum time from a decision of the other end to send a pause until it acts here; [`Time::NEVER`]: it sends none.
    undisturbed_for: Time,
    /// Pauses on their way, and the time at which the first of them acts, or is assumed to.
    pauses_underway: u32,
    next_pause: Time,
}

impl SoleGreedySource {
    /// Creates the state without a pause on its way.
    pub fn new(source: SourceIx, undisturbed_for: Time) -> SoleGreedySource {
        SoleGreedySource { source, undisturbed_for, pauses_underway: 0, next_pause: Time::NEVER }
    }

    /// Records a pause that is sent now and acts at this time.
    pub fn pause_sent(&mut self, acts: Time) {
        self.pauses_underway += 1;
        self.next_pause = self.next_pause.min(acts);
    }

    /// Records that one of the sent pauses acts. The time of the next one is then unknown.
    pub fn pause_acts(&mut self, now: Time) {
        self.pauses_underway -= 1;
        self.next_pause = if self.pauses_underway == 0 { Time::NEVER } else { now };
    }

    /// Returns the time until which no pause acts, given all events before `known`.
    pub(in crate::run) fn undisturbed_until(&self, known: Time) -> Time {
        self.next_pause.min(known.saturating_add(self.undisturbed_for))
    }
}
