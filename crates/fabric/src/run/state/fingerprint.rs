//! Fingerprint of a node: a hash over the events that it processes, in order. Skipped periods can be added to it.
//!
//! An event at time t with contents x changes the hash h to A h + B t + x, modulo 2^64. Both constants are odd and have
//! no structure. Everything but the contents is linear: the hashes of equal events one period later differ by a sum
//! that does not depend on the hash. Numbers that grow from period to period, such as packet numbers, are not part of
//! the contents.

use units::Time;

/// Multiplier of the hash (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", figure 19); 5
/// modulo 8, so that its powers repeat after 2^62 events.
const OF_HASH: u64 = 0xff51_afd7_ed55_8ccd;
/// Multiplier of the time.
const OF_TIME: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hash over the events of a node, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub hash: u64,
    events: u64,
}

/// Maps the hash h of the n-th time to `hash` h + `nth` n + `constant`, and n to n + `times`.
#[derive(Clone, Copy)]
struct Map {
    hash: u64,
    nth: u64,
    constant: u64,
    times: u64,
}

impl Fingerprint {
    /// Creates the fingerprint of no events.
    pub fn new(start: u64) -> Fingerprint {
        Fingerprint { hash: start, events: 0 }
    }

    /// Adds an event.
    #[inline(always)]
    pub fn note(&mut self, time: Time, contents: u64) {
        let event = time.ps().wrapping_mul(OF_TIME).wrapping_add(contents);
        self.hash = self.hash.wrapping_mul(OF_HASH).wrapping_add(event);
        self.events += 1;
    }

    /// Adds the events since `begin` again, once for each of `periods` periods, each a `period` later.
    pub fn repeat(&mut self, begin: Fingerprint, periods: u64, period: Time) {
        let each = self.events - begin.events;
        // A^n, and the sum of A^k for k below n.
        let Map { hash: power, constant: sum, .. } =
            Map { hash: OF_HASH, nth: 0, constant: 1, times: 0 }.repeated(each);
        let later = sum.wrapping_mul(OF_TIME).wrapping_mul(period.ps());
        let own = self.hash.wrapping_sub(power.wrapping_mul(begin.hash));
        let once = Map { hash: power, nth: later, constant: own.wrapping_add(later), times: 1 };
        let Map { hash, constant, .. } = once.repeated(periods);
        self.hash = hash.wrapping_mul(self.hash).wrapping_add(constant);
        self.events += each * periods;
    }
}

impl Map {
    const NONE: Map = Map { hash: 1, nth: 0, constant: 0, times: 0 };

    /// Composes the map with itself this many times, by squaring.
    fn repeated(mut self, mut times: u64) -> Map {
        let mut all = Map::NONE;
        while times > 0 {
            if times % 2 == 1 {
                all = all.then(self);
            }
            self = self.then(self);
            times /= 2;
        }
        all
    }

    fn then(self, next: Map) -> Map {
        let with = |own: u64, more: u64| next.hash.wrapping_mul(own).wrapping_add(more);
        Map {
            hash: with(self.hash, 0),
            nth: with(self.nth, next.nth),
            constant: with(self.constant, next.constant.wrapping_add(next.nth.wrapping_mul(self.times))),
            times: self.times.wrapping_add(next.times),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Repeating a period gives the hash of adding its events one by one.
        #[test]
        fn repeated_periods_are_those_of_all_events(
            before in proptest::collection::vec(any::<(u32, u64)>(), 0..5),
            events in proptest::collection::vec(any::<(u32, u64)>(), 0..8),
            after in proptest::collection::vec(any::<(u32, u64)>(), 0..5),
            (periods, period) in (0u64..40, any::<u32>()),
        ) {
            let at = |ps: u32, periods: u64| Time::from_ps(u64::from(ps) + periods * u64::from(period));
            let mut skipped = Fingerprint::new(7);
            before.iter().for_each(|&(time, contents)| skipped.note(at(time, 0), contents));
            let begin = skipped;
            events.iter().for_each(|&(time, contents)| skipped.note(at(time, 0), contents));
            let mut whole = skipped;
            for nth in 1..=periods {
                events.iter().for_each(|&(time, contents)| whole.note(at(time, nth), contents));
            }
            skipped.repeat(begin, periods, Time::from_ps(period.into()));
            prop_assert_eq!(skipped, whole);
            for &(time, contents) in &after {
                skipped.note(at(time, periods), contents);
                whole.note(at(time, periods), contents);
            }
            prop_assert_eq!(skipped, whole);
        }

        /// Changing the time or the contents of an event, or the order of two events, changes the hash.
        #[test]
        fn every_event_counts(
            events in proptest::collection::vec(any::<(u32, u64)>(), 2..20),
            (nth, time, contents) in (any::<usize>(), any::<u32>(), any::<u64>()),
        ) {
            let hash = |events: &[(u32, u64)]| {
                let mut all = Fingerprint::new(1);
                events.iter().for_each(|&(time, contents)| all.note(Time::from_ps(time.into()), contents));
                all.hash
            };
            let mut other = events.clone();
            other[nth % events.len()] = (time, contents);
            prop_assert_eq!(hash(&other) == hash(&events), other == events);
            let mut swapped = events.clone();
            swapped.swap(0, nth % events.len());
            prop_assert_eq!(hash(&swapped) == hash(&events), swapped == events);
        }
    }
}
