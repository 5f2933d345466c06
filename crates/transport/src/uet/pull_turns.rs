//! Order of the grants of a NIC: contexts that wait for one, first come, first served.

use crate::room::Append;
use std::collections::VecDeque;
use units::Time;

/// Turn of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It has come, and the entry has left the queue.
    Now,
    /// Earliest time at which it may come.
    At(Time),
    /// The entry was removed, since its context had not come at its time.
    Missed,
}

/// A context that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Least time that its grant takes.
    least: Time,
    /// Latest time at which it polls the queue again.
    due: Time,
}

/// Contexts that wait for a grant. A grant takes its time from the moment at which it leaves, so that the turn of
/// each context depends on the requests of those before it at that time.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// When the last grant has taken its time.
    free: Time,
    /// Number of the first entry.
    first: u64,
    /// Entries in order; `None`: it has left.
    waiting: VecDeque<Option<Waiting>>,
    /// Sum of their least times.
    total: Time,
}

impl Turns {
    /// Returns true if a grant may leave for a context that does not wait here.
    pub fn is_free(&self, now: Time) -> bool {
        self.free <= now && self.waiting.is_empty()
    }
    /// Earliest time at which all that wait have been granted.
    pub fn end(&self, now: Time) -> Time {
        self.free.max(now).saturating_add(self.total)
    }
    /// Enters the queue with a grant that takes at least this time; returns the number of its entry, and its earliest turn.
    pub fn enter(&mut self, now: Time, least: Time) -> (u64, Time) {
        let due = self.end(now);
        self.waiting.append_one(Some(Waiting { least, due }));
        self.total = self.total.saturating_add(least);
        (self.first + self.waiting.len() as u64 - 1, due)
    }
    /// Enters the queue before all others; see `enter`.
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
    /// The grant of an entry takes at least this time.
    pub fn change(&mut self, entry: u64, least: Time) {
        if let Some(Some(waiting)) = self.place(entry).and_then(|place| self.waiting.get_mut(place)) {
            self.total = self.total.saturating_sub(waiting.least).saturating_add(least);
            waiting.least = least;
        }
    }
    /// An entry leaves without a grant.
    pub fn leave(&mut self, entry: u64) {
        if let Some(place) = self.place(entry) {
            self.remove(place);
        }
    }
    /// Checks whether it is the turn of an entry.
    pub fn take(&mut self, now: Time, entry: u64) -> Turn {
        // A context that no longer exists does not come at its time.
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
    /// A grant leaves, which takes this time.
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
        // It takes 10 us instead of 2.
        it.grant(US(1), US(10));
        assert_eq!(it.take(US(3), 1), Turn::At(US(11)));
        assert_eq!(it.take(US(5), 2), Turn::At(US(13)));
        // Those that enter later come behind all of them.
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
