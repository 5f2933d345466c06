//! Credit updates: the transfer of credit state from one end of a link to the other.

use crate::run::state::credits::CreditState;
use engine::Timer;
use flow_control::credit::Freed;
use std::collections::VecDeque;
use units::Time;

pub(in crate::run) const NEXT: Time = Time::from_ps(1);

/// Credit updates of an end, published for the other end to poll.
#[derive(Debug)]
pub(in crate::run) struct PublishedUpdates {
    /// True if the other end polls the updates of this end.
    pub(in crate::run) is_polled: bool,
    /// True if this end polls the updates of the other end.
    polls: bool,
    /// Updates with the time at which each takes effect. Superseded updates may be missing.
    updates: VecDeque<(Time, Freed)>,
    /// True if a frame at the other end lacks credits: that end has to poll when the next update takes effect.
    pub(in crate::run) awaited: bool,
    /// Next poll of the other end.
    pub(in crate::run) poll: Timer,
}

impl PublishedUpdates {
    pub const NONE: PublishedUpdates = PublishedUpdates {
        is_polled: false,
        polls: false,
        updates: VecDeque::new(),
        awaited: false,
        poll: Timer::IDLE,
    };

    /// Bytes of the stored updates.
    pub fn memory_bytes(&self) -> usize {
        self.updates.capacity() * size_of::<(Time, Freed)>()
    }
}

impl CreditState {
    /// Returns true if updates take no time on the link.
    pub fn updates_cost_nothing(&self) -> bool {
        self.spec.update_bytes == 0 && self.spec.piggyback.is_none()
    }
    /// Sets whether the updates of this end and of the other end are polled.
    pub fn set_polled(&mut self, own: bool, other: bool) {
        (self.published.is_polled, self.published.polls) = (own, other);
    }
    /// Schedules a poll of the other end at this time, unless an earlier one is due. Returns true if it was scheduled.
    pub(in crate::run) fn poll_at(&mut self, at: Time) -> bool {
        at < self.published.poll.due() && self.published.poll.arm(at)
    }
    /// Returns true if this end polls the updates of the other end.
    #[inline(always)]
    pub(in crate::run) fn polls(&self) -> bool {
        self.published.polls
    }
    /// Publishes the updates that were due before this time.
    #[inline(always)]
    pub(in crate::run) fn publish(&mut self, before: Time) {
        while self.update.due() < before {
            self.publish_one();
        }
    }
    #[inline(never)]
    fn publish_one(&mut self) {
        let due = self.update.due();
        let (takes, freed) = (self.takes, self.receiver.update(due));
        self.update.cancel();
        if self.receiver.owes() {
            let _ = self.update.arm(due + NEXT);
        }
        let updates = &mut self.published.updates;
        // An update that was superseded at least a look-ahead ago is never read.
        let is_past = |&(at, next): &(Time, Freed)| next.bank == freed.bank && at + takes <= due;
        while updates.get(1).is_some_and(is_past) && updates[0].1.bank == freed.bank {
            updates.pop_front();
        }
        updates.push_back((due + takes, freed));
    }
    /// Removes and returns the next update that takes effect before this time.
    pub(in crate::run) fn next_published(&mut self, before: Time) -> Option<Freed> {
        self.publish(before.saturating_sub(self.takes));
        let (at, freed) = *self.published.updates.front()?;
        if at >= before {
            return None;
        }
        self.published.updates.pop_front();
        Some(freed)
    }
    /// Time at which the next update takes effect, as far as it is known.
    pub(in crate::run) fn next_effect(&self) -> Time {
        let due = self.update.due();
        let then = if due == Time::NEVER { due } else { due + self.takes };
        self.published.updates.front().map_or(then, |&(at, _)| at)
    }
}
