//! Passage of frames through a rate limiter: immediate if nothing waits there and nothing holds them back, otherwise at
//! their scheduled time.

use crate::run::state::limiters::Limiter;
use crate::run::state::pool::Pool;
use frame::{Ecn, Frame, Priority, Route};
use units::Time;

impl Limiter {
    /// Returns true if a frame that arrives now leaves immediately, provided that its NIC accepts it and nothing holds
    /// the limiter: it is empty, and no path probe is scheduled.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.line.is_empty() && self.is_settled()
    }

    /// Returns true if the limiter is in no wait queue and no path probe is scheduled.
    #[inline(always)]
    fn is_settled(&self) -> bool {
        self.stands.is_none() && self.rate_limit.next_probe == Time::NEVER
    }

    /// Returns true if only the rate holds the waiting frames.
    #[inline(always)]
    pub(in crate::run) fn is_held_by_rate(&self, now: Time) -> bool {
        self.is_settled() && !self.is_stopped(now) && !self.has_burst()
    }

    /// Returns the priority of the frame that leaves next, if a source has pushed it, no path probe is due, and the
    /// rate then closes the limiter.
    #[inline(always)]
    pub(in crate::run) fn next_pushed(&self, now: Time) -> Option<Priority> {
        let alone = self.stands.is_none() && self.rate_limit.rate.is_some();
        if alone && !self.is_held(now) && self.rate_limit.next_probe > now {
            self.line.only_pushed()
        } else {
            None
        }
    }

    /// Updates the state for a frame that arrives at the empty limiter and leaves immediately.
    #[inline(always)]
    pub(in crate::run) fn enters_empty(&mut self, bytes: u16, now: Time) {
        self.gate.enters_empty(now);
        self.sojourns.enter([bytes.into(), 1]);
        self.gate.note_length(bytes);
    }

    /// Returns true if a frame of this priority is queued behind others while the limiter is in a wait queue and no
    /// path probe is due, so that the frame only has to wait.
    #[inline(always)]
    pub(in crate::run) fn has_before(&self, priority: Priority, now: Time) -> bool {
        self.stands.is_some()
            && self.rate_limit.next_probe > now
            && self.line.only_pushed().is_some_and(|first| first >= priority)
    }

    /// Enqueues a frame.
    #[inline(always)]
    pub(in crate::run) fn push(&mut self, pool: &mut Pool, frame: &Frame, now: Time) {
        self.occupancy.add(frame.bytes);
        self.sojourns.enter(self.occupancy.both());
        pool.push(self.line.push_to(frame.priority()), frame, now, None);
    }

    /// Removes the first frame of a priority, and sets its route to the one that starts at this hop now.
    #[inline(always)]
    pub(in crate::run) fn pop(
        &mut self,
        pool: &mut Pool,
        priority: Priority,
        start: u32,
        now: Time,
    ) -> Frame {
        let waiting = self.line.take(priority, pool);
        let mut frame = waiting.frame;
        self.occupancy.remove(frame.bytes);
        self.sojourns.leave(frame.bytes, now - waiting.since);
        // A route by destination does not change.
        if frame.route.next_hop().is_some() {
            frame.route = Route::forward(start + 1);
        }
        frame
    }

    /// Marks a leaving frame that has waited, if it is due for a mark.
    #[inline(always)]
    pub(in crate::run) fn marks_if_late(&mut self, frame: &mut Frame, now: Time) {
        if self.marks(now) {
            let _ = frame.flags.mark();
        }
        if frame.flags.ecn() == Ecn::Experienced {
            self.measured.marks += 1;
        }
    }
}
