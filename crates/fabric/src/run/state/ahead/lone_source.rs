//! A greedy source that is alone at its NIC.

use crate::run::state::index::SourceIx;
use units::Time;

/// A source that is alone at its NIC, and the pauses of the port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoneSource {
    pub(in crate::run) source: SourceIx,
    /// From when the other end may decide to send a pause until that acts here, at least; [`Time::NEVER`]: it sends none.
    undisturbed_for: Time,
    /// Pauses on their way, and when the first of them acts, or is taken to.
    pauses_underway: u32,
    next_pause: Time,
}

impl LoneSource {
    /// Alone there, with no pause on its way.
    pub fn new(source: SourceIx, undisturbed_for: Time) -> LoneSource {
        LoneSource { source, undisturbed_for, pauses_underway: 0, next_pause: Time::NEVER }
    }

    /// A pause is sent that will act then.
    pub fn pause_sent(&mut self, acts: Time) {
        self.pauses_underway += 1;
        self.next_pause = self.next_pause.min(acts);
    }

    /// One of those that were sent acts. When the next one will is not known any more.
    pub fn pause_acts(&mut self, now: Time) {
        self.pauses_underway -= 1;
        self.next_pause = if self.pauses_underway == 0 { Time::NEVER } else { now };
    }

    /// Until when no pause acts, if all that happened before `known` is known.
    pub(in crate::run) fn undisturbed_until(&self, known: Time) -> Time {
        self.next_pause.min(known.saturating_add(self.undisturbed_for))
    }
}
