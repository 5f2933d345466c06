//! Credit updates: how the state of one end of a link gets to the other.

use crate::run::state::credits::CreditState;
use engine::Timer;
use flow_control::credit::Freed;
use std::collections::VecDeque;
use units::Time;

pub(in crate::run) const NEXT: Time = Time::from_ps(1);

/// Credit updates of an end that are polled by the other end.
#[derive(Debug)]
pub(in crate::run) struct UpdatesRead {
    /// True if the other end polls this end's updates; then true if this end polls those of the other.
    pub(in crate::run) is_read: bool,
    reads: bool,
    /// Updates with the time at which each takes effect; one that a later one supersedes may be missing.
    updates: VecDeque<(Time, Freed)>,
    /// A frame at the other end lacks credits: that end has to poll when the next update takes effect.
    pub(in crate::run) awaited: bool,
    /// Next poll of the other end.
    pub(in crate::run) look: Timer,
}

impl UpdatesRead {
    pub const NONE: UpdatesRead = UpdatesRead {
        is_read: false,
        reads: false,
        updates: VecDeque::new(),
        awaited: false,
        look: Timer::IDLE,
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
    /// Sets whether updates of this end, and those of the other one, are polled.
    pub fn read(&mut self, own: bool, other: bool) {
        (self.told.is_read, self.told.reads) = (own, other);
    }
    /// Schedules a poll of the other end at this time, unless one is due before; returns true if that is new.
    pub(in crate::run) fn looks_at(&mut self, at: Time) -> bool {
        at < self.told.look.due() && self.told.look.arm(at)
    }
    /// Returns true if this end polls the updates of the other end.
    #[inline(always)]
    pub(in crate::run) fn reads(&self) -> bool {
        self.told.reads
    }
    /// Publishes the updates that were due before this time.
    #[inline(always)]
    pub(in crate::run) fn tell(&mut self, before: Time) {
        while self.update.due() < before {
            self.tell_one();
        }
    }
    #[inline(never)]
    fn tell_one(&mut self) {
        let due = self.update.due();
        let (takes, freed) = (self.takes, self.receiver.update(due));
        self.update.cancel();
        if self.receiver.owes() {
            let _ = self.update.arm(due + NEXT);
        }
        let updates = &mut self.told.updates;
        // No poll reads an update that a later one has superseded for a look-ahead.
        let is_past = |&(at, next): &(Time, Freed)| next.bank == freed.bank && at + takes <= due;
        while updates.get(1).is_some_and(is_past) && updates[0].1.bank == freed.bank {
            updates.pop_front();
        }
        updates.push_back((due + takes, freed));
    }
    /// The next update that takes effect before this time.
    pub(in crate::run) fn next_told(&mut self, before: Time) -> Option<Freed> {
        self.tell(before.saturating_sub(self.takes));
        let (at, freed) = *self.told.updates.front()?;
        if at >= before {
            return None;
        }
        self.told.updates.pop_front();
        Some(freed)
    }
    /// When the next update takes effect, as far as is known.
    pub(in crate::run) fn next_effect(&self) -> Time {
        let due = self.update.due();
        let then = if due == Time::NEVER { due } else { due + self.takes };
        self.told.updates.front().map_or(then, |&(at, _)| at)
    }
}
