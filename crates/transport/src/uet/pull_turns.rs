//! The order of a NIC's grants: contexts wait in a first come, first served queue.

use crate::room::Append;
use std::collections::VecDeque;
use units::Time;

/// The result of polling an entry's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The turn has come, and the entry has been removed from the queue.
    Now,
    /// The turn comes at this time at the earliest.
    At(Time),
    /// The entry was removed because its context did not poll in time.
    Missed,
}

/// A waiting context.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Minimum time that the grant takes.
    least: Time,
    /// Latest time at which the context polls the queue again.
    due: Time,
}

/// The contexts that wait for a grant. The time that a grant takes counts from its transmission, so the turn of each
/// context depends on what the contexts before it request by then.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Time at which the last grant has elapsed.
    free: Time,
    /// Number of the first entry.
    first: u64,
    /// Entries in order; `None` for an entry that has left.
    waiting: VecDeque<Option<Waiting>>,
    /// Sum of the minimum times of all entries.
    total: Time,
}

impl Turns {
    /// Returns true if a grant may be sent to a context that does not wait in this queue.
    pub fn is_free(&self, now: Time) -> bool {
        self.free <= now && self.waiting.is_empty()
    }
    /// Returns the earliest time at which all waiting contexts have been served.
    pub fn end(&self, now: Time) -> Time {
        self.free.max(now).saturating_add(self.total)
    }
    /// Appends an entry whose grant takes at least the time `least`. Returns the number of the entry, and its earliest
    /// turn.
    pub fn enter(&mut self, now: Time, least: Time) -> (u64, Time) {
        let due = self.end(now);
        self.waiting.append_one(Some(Waiting { least, due }));
        self.total = self.total.saturating_add(least);
        (self.first + self.waiting.len() as u64 - 1, due)
    }
    /// Variant of `enter` that inserts the entry before all others.
    pub fn enter_first(&mut self, now: Time, least: Time) -> (u64, Time) {
        if self.first == 0 {
            return self.enter(now, least);
        }
        let due = self.free.max(now);
        self.waiting.push_front(Some(Waiting { least, due }));
        self.total = self.total.saturating_add(least);
        self.first -= 1;
        (self.first, due)
    }
    /// Changes the minimum time of an entry's grant.
    pub fn change(&mut self, entry: u64, least: Time) {
        if let Some(Some(waiting)) = self.place(entry).and_then(|place| self.waiting.get_mut(place)) {
            self.total = self.total.saturating_sub(waiting.least).saturating_add(least);
            waiting.least = least;
        }
    }
    /// Removes an entry without a grant.
    pub fn leave(&mut self, entry: u64) {
        if let Some(place) = self.place(entry) {
            self.remove(place);
        }
    }
    /// Polls the turn of an entry.
    pub fn take(&mut self, now: Time, entry: u64) -> Turn {
        // Contexts that no longer exist do not poll; their entries are removed.
        while self.first < entry && self.waiting.front().is_some_and(|it| it.is_some_and(|it| it.due < now)) {
            self.remove(0);
        }
        let Some(place) = self.place(entry) else { return Turn::Missed };
        let ahead = self.waiting.iter().take(place).flatten().map(|it| it.least.ps()).sum();
        let due = self.free.max(now).saturating_add(Time::from_ps(ahead));
        if due <= now {
            self.remove(place);
            return Turn::Now;
        }
        if let Some(Some(waiting)) = self.waiting.get_mut(place) {
            waiting.due = due;
        }
        Turn::At(due)
    }
    /// Records that a grant is sent, which takes the time `gap`.
    pub fn grant(&mut self, now: Time, gap: Time) {
        self.free = now.saturating_add(gap);
    }

    fn place(&self, entry: u64) -> Option<usize> {
        entry.checked_sub(self.first).map(|place| place as usize)
    }
    fn remove(&mut self, place: usize) {
        if let Some(waiting) = self.waiting.get_mut(place).and_then(Option::take) {
            self.total = self.total.saturating_sub(waiting.least);
        }
        while self.waiting.front().is_some_and(Option::is_none) {
            self.waiting.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Time = Time::from_us;

    #[test]
    fn those_behind_a_longer_grant_wait_for_it() {
        let mut it = Turns::default();
        assert_eq!(it.enter(US(1), US(2)), (0, US(1)));
        assert_eq!(it.enter(US(1), US(2)), (1, US(3)));
        assert_eq!(it.enter(US(1), US(2)), (2, US(5)));
        assert_eq!(it.take(US(1), 0), Turn::Now);
        // The grant takes 10 us instead of 2 us.
        it.grant(US(1), US(10));
        assert_eq!(it.take(US(3), 1), Turn::At(US(11)));
        assert_eq!(it.take(US(5), 2), Turn::At(US(13)));
        // Later entries are behind all of these.
        assert_eq!(it.enter(US(6), US(2)), (3, US(15)));
        it.change(1, US(4));
        assert_eq!((it.end(US(6)), it.is_free(US(6))), (US(19), false));
        assert_eq!(it.take(US(11), 1), Turn::Now);
        it.grant(US(11), US(4));
        assert_eq!(it.take(US(13), 2), Turn::At(US(15)));
        it.leave(2);
        assert_eq!(it.take(US(15), 3), Turn::Now);
        it.grant(US(15), US(2));
        assert!(!it.is_free(US(16)) && it.is_free(US(17)));
    }

    #[test]
    fn a_context_that_does_not_come_delays_no_other() {
        let mut it = Turns::default();
        it.enter(US(0), US(2));
        it.enter(US(0), US(2));
        assert_eq!(it.take(US(2), 1), Turn::Now);
        assert_eq!((it.take(US(3), 0), it.end(US(3))), (Turn::Missed, US(3)));
    }
}
