//! Updates of credits: how one end of a link learns what has come free at the other.

use crate::run::state::credits::CreditState;
use engine::Timer;
use flow_control::credit::Freed;
use std::collections::VecDeque;
use units::Time;

pub(in crate::run) const NEXT: Time = Time::from_ps(1);

/// What an end keeps of updates that are read.
#[derive(Debug)]
pub(in crate::run) struct UpdatesRead {
    /// Whether this end's updates are read, and whether those of the other end are.
    pub(in crate::run) is_read: bool,
    reads: bool,
    /// By when each takes effect; those that a later one has made good may lack.
    updates: VecDeque<(Time, Freed)>,
    /// A frame at the other end lacks credits: it has to look when the next takes effect.
    pub(in crate::run) awaited: bool,
    /// When this end looks at the other.
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

    /// Bytes of what is kept.
    pub fn memory_bytes(&self) -> usize {
        self.updates.capacity() * size_of::<(Time, Freed)>()
    }
}

impl CreditState {
    /// Whether updates take no time on the link.
    pub fn updates_cost_nothing(&self) -> bool {
        self.spec.update_bytes == 0 && self.spec.piggyback.is_none()
    }
    /// Updates of this end are read, and those of the other one, or not.
    pub fn read(&mut self, own: bool, other: bool) {
        (self.told.is_read, self.told.reads) = (own, other);
    }
    /// This end looks then, if it does not look before: whether that is new.
    pub(in crate::run) fn looks_at(&mut self, at: Time) -> bool {
        at < self.told.look.due() && self.told.look.arm(at)
    }
    /// Whether what the other end has told has to be read.
    #[inline(always)]
    pub(in crate::run) fn reads(&self) -> bool {
        self.told.reads
    }
    /// Updates that were due before this time are told.
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
        // Nobody asks any more for a time a look-ahead ago.
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
