//! Matching of messages with receives.
//!
//! A message and a receive match if their sender and label are equal, or the receive accepts any. A message is taken by
//! the oldest pending receive that matches. A receive takes the matching unclaimed message that arrived first.
//!
//! Source: Hoefler, Schneider and Lumsdaine, LogGOPSim (2010), section 3.2; the MPI standard, section 3.5.

use crate::rank::Blocked;
use recurrence::{Recurs, Walk};
use std::collections::{BTreeMap, VecDeque};
use units::Time;

/// Unclaimed messages and pending receives.
#[derive(Clone, Debug, Default, Recurs)]
pub(crate) struct Matching {
    /// Pending receives by sender and label, in order.
    #[recurs(with = Matching::walk_orders)]
    exact: BTreeMap<(u32, u32), VecDeque<(u64, Blocked)>>,
    /// Pending receives that accept any sender or label, in order.
    #[recurs(scratch)]
    wild: VecDeque<(u64, Blocked)>,
    /// Arrival times of unclaimed messages by sender and label, in order of arrival.
    #[recurs(scratch)]
    arrived: BTreeMap<(u32, u32), VecDeque<(u64, Time)>>,
    #[recurs(scratch)]
    order: u64,
}

impl Blocked {
    fn accepts(&self, from: u32, tag: u32) -> bool {
        self.from.is_none_or(|own| own == from) && self.tag.is_none_or(|own| own == tag)
    }
}

impl Matching {
    /// Visits receives and messages. Only the order of their numbers matters, not the numbers.
    fn walk_orders(&self, walk: &mut Walk) {
        let mut numbered = |queue: &VecDeque<(u64, Blocked)>| {
            walk.word(queue.len() as u64);
            for (number, blocked) in queue {
                walk.word(self.order - number);
                blocked.walk(walk);
            }
        };
        numbered(&self.wild);
        self.exact.values().for_each(numbered);
        walk.word(self.exact.len() as u64);
        for ((from, tag), queue) in &self.arrived {
            from.walk(walk);
            walk.label(*tag);
            walk.word(queue.len() as u64);
            for (number, arrived) in queue {
                walk.word(self.order - number);
                walk.instant(*arrived);
            }
        }
    }

    /// Processes the delivery of a message. Returns the receive that takes it; otherwise stores the message.
    pub fn deliver(&mut self, from: u32, tag: u32, now: Time) -> Option<Blocked> {
        self.order += 1;
        let first = self.exact.get(&(from, tag)).and_then(VecDeque::front).map(|one| one.0);
        let any = self.wild.iter().position(|(_, one)| one.accepts(from, tag));
        if let Some(place) = any.filter(|&place| first.is_none_or(|first| self.wild[place].0 < first)) {
            return self.wild.remove(place).map(|one| one.1);
        }
        if first.is_none() {
            self.arrived.entry((from, tag)).or_default().push_back((self.order, now));
            return None;
        }
        let waiting = self.exact.get_mut(&(from, tag))?;
        let found = waiting.pop_front();
        if waiting.is_empty() {
            self.exact.remove(&(from, tag));
        }
        found.map(|one| one.1)
    }

    /// Starts a receive. Returns sender, label and arrival time of the message that it takes. If there is none, stores
    /// the receive and returns `None`.
    pub fn receive(&mut self, blocked: Blocked) -> Option<((u32, u32), Time)> {
        self.order += 1;
        let key = match (blocked.from, blocked.tag) {
            (Some(from), Some(tag)) => self.arrived.contains_key(&(from, tag)).then_some((from, tag)),
            _ => {
                let fit = self.arrived.iter().filter(|((from, tag), _)| blocked.accepts(*from, *tag));
                fit.min_by_key(|(_, order)| order.front().map(|own| own.0)).map(|(&key, _)| key)
            }
        };
        let Some(key) = key else {
            match (blocked.from, blocked.tag) {
                (Some(from), Some(tag)) => {
                    self.exact.entry((from, tag)).or_default().push_back((self.order, blocked));
                }
                _ => self.wild.push_back((self.order, blocked)),
            }
            return None;
        };
        let arrived = self.arrived.get_mut(&key)?;
        let taken = arrived.pop_front();
        if arrived.is_empty() {
            self.arrived.remove(&key);
        }
        taken.map(|own| (key, own.1))
    }

    /// Returns the pending receives.
    pub fn blocked(&self) -> impl Iterator<Item = Blocked> + '_ {
        self.exact.values().flatten().chain(&self.wild).map(|one| one.1)
    }
    /// Returns the unclaimed messages by sender and label, with their number.
    pub fn unclaimed(&self) -> impl Iterator<Item = ((u32, u32), usize)> + '_ {
        self.arrived.iter().map(|(&key, own)| (key, own.len()))
    }
    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.exact.len() * size_of::<((u32, u32), VecDeque<(u64, Blocked)>)>()
            + self.wild.capacity() * size_of::<(u64, Blocked)>()
            + self.arrived.len() * size_of::<((u32, u32), VecDeque<(u64, Time)>)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(lane: u32, from: Option<u32>, tag: Option<u32>) -> Blocked {
        Blocked { lane, from, tag, bytes: 8, since: Time::ZERO, step: 0 }
    }

    #[test]
    fn the_earliest_receive_that_fits_takes_a_message() {
        let mut own = Matching::default();
        for (lane, from, tag) in
            [(0, Some(1), Some(7)), (1, None, Some(7)), (2, Some(1), Some(7)), (3, None, None)]
        {
            assert_eq!(own.receive(receive(lane, from, tag)), None);
        }
        let taken: Vec<_> = [(1, 7), (1, 7), (1, 9), (1, 7), (2, 7)]
            .into_iter()
            .map(|(from, tag)| own.deliver(from, tag, Time::ZERO).map(|one| one.lane))
            .collect();
        assert_eq!(taken, [Some(0), Some(1), Some(3), Some(2), None]);
        assert_eq!(own.unclaimed().collect::<Vec<_>>(), [((2, 7), 1)]);
    }

    #[test]
    fn a_receive_takes_what_arrived_first() {
        let mut own = Matching::default();
        let at = |us: u64| Time::from_us(us);
        for (from, tag, arrived) in [(5, 1, 1), (2, 1, 2), (2, 3, 3)] {
            assert_eq!(own.deliver(from, tag, at(arrived)), None);
        }
        assert_eq!(own.receive(receive(0, None, Some(1))), Some(((5, 1), at(1))));
        assert_eq!(own.unclaimed().map(|one| one.0).collect::<Vec<_>>(), [(2, 1), (2, 3)]);
        assert_eq!(own.receive(receive(1, Some(2), None)), Some(((2, 1), at(2))));
        assert_eq!(own.receive(receive(2, Some(2), Some(3))), Some(((2, 3), at(3))));
        assert_eq!(own.receive(receive(3, None, None)), None);
        assert_eq!(own.blocked().map(|one| one.lane).collect::<Vec<_>>(), [3]);
    }
}
