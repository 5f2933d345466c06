//! Recycled entropies (REPS): entropy values of acknowledgements without a mark are reused.
//!
//! A circular buffer of 8 entries (`buffer`) holds the values of the latest acknowledgements without a mark. A packet
//! uses the oldest value in the buffer that has not been reused since it was stored. If there is none, it uses a
//! random value of the set. Values of good paths are therefore recycled at the rate at which these paths deliver, and
//! values of bad paths disappear.
//!
//! If switches trim, the loss of a packet that was not trimmed indicates a failed path. A timeout then freezes the
//! selection for 10 ms (`freeze`), during which the values in the buffer are reused cyclically, because other values
//! may use the failed path. Afterwards the buffer is cleared, and the next 16 packets (`explore`) have random values,
//! to find repaired paths. Another timeout does not freeze the selection again while it is frozen or before those
//! packets have been sent, because it may concern a packet with a stale value. If switches drop, a timeout may be due
//! to congestion, and the selection is never frozen. A connection that is not configured for trimming assumes from its
//! first trimmed packet on that its switches trim.
//!
//! Source: T. Bonato et al., "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and Failure
//! Mitigation", EuroSys 2025; uet-htsim, `buffer_reps.cpp`, `uec_mp.cpp` (`UecMpReps`: 8 values, 10 ms, 16 packets).
//!
//! Not modelled: a limited rate of reuse for each value; freezing for some of the paths only.

use super::{Draws, PathFeedback, PathSelection, PathSignal, PathsFacts, USUAL_ENTROPIES, check_entropies};
use keys::Remark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

/// Maximum number of values in the buffer.
const LARGEST_BUFFER: u64 = 64;
/// Maximum of the key for the number of packets with random values after a freeze.
const MOST_EXPLORED: u64 = 65_536;

/// Keys of REPS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RepsKeys {
    /// Number of entropy values of a connection. A number, 1 to 1024. Default: 64.
    #[schemars(range(min = 1, max = 1024))]
    pub entropies: u64,
    /// Number of values in the buffer for reuse. A number, 1 to 64. Default: 8.
    #[schemars(range(min = 1, max = 64))]
    pub buffer: u64,
    /// Time after a timeout for which the buffered entropy values are reused, if switches trim. A time with unit. Default: "10 ms".
    pub freeze: Time,
    /// Number of packets with random values after `freeze`. A number, 0 to 65536. Default: 16.
    #[schemars(range(max = 65536))]
    pub explore: u64,
}

impl Default for RepsKeys {
    fn default() -> RepsKeys {
        RepsKeys { entropies: USUAL_ENTROPIES, buffer: 8, freeze: Time::from_ms(10), explore: 16 }
    }
}

impl RepsKeys {
    /// Validates the keys; returns one remark per invalid value.
    pub fn check(&self) -> Vec<Remark> {
        let mut wrong = check_entropies(self.entropies, false);
        if !(1..=LARGEST_BUFFER).contains(&self.buffer) {
            let message = format!("a buffer of {} values", self.buffer);
            wrong.push(Remark::about("buffer", message, format!("expected 1 to {LARGEST_BUFFER}")));
        }
        if self.explore > MOST_EXPLORED {
            let message = format!("{} packets with random values", self.explore);
            wrong.push(Remark::about("explore", message, format!("expected at most {MOST_EXPLORED}")));
        }
        wrong
    }
}

/// The state of REPS: the values of the last unmarked acknowledgements.
#[derive(Clone, Debug)]
pub struct Reps {
    entropies: u16,
    freeze: Time,
    explore: u16,
    /// Circular buffer of values; the flag is true until the value is used.
    values: Box<[(u16, bool)]>,
    /// Index at which the next value is written, number of values in the buffer, and number of unused values.
    head: usize,
    held: usize,
    fresh: usize,
    /// Index of the value to use next while the selection is frozen.
    turn: usize,
    frozen_until: Option<Time>,
    /// True if switches trim packets.
    trimming: bool,
    explored: u16,
    draws: Draws,
}

impl Reps {
    /// Creates the selection.
    pub fn new(keys: &RepsKeys, facts: &PathsFacts) -> Reps {
        Reps {
            entropies: keys.entropies as u16,
            freeze: keys.freeze,
            explore: keys.explore.min(u64::from(u16::MAX)) as u16,
            values: vec![(0, false); keys.buffer as usize].into(),
            head: 0,
            held: 0,
            fresh: 0,
            turn: 0,
            frozen_until: None,
            trimming: facts.trimming,
            explored: 0,
            draws: Draws::new(facts.seed),
        }
    }

    /// Takes the oldest unused value, if there is one.
    fn oldest_fresh(&mut self) -> Option<u16> {
        if self.fresh == 0 {
            return None;
        }
        let size = self.values.len();
        let at = (self.head + size - self.fresh) % size;
        self.fresh -= 1;
        self.values[at].1 = false;
        Some(self.values[at].0)
    }

    /// Takes the next value in turn, used or not.
    fn recycled(&mut self) -> Option<u16> {
        if self.held == 0 {
            return None;
        }
        let size = self.values.len();
        let oldest = (self.head + size - self.held) % size;
        let at = (oldest + self.turn) % size;
        self.turn = (self.turn + 1) % self.held;
        Some(self.values[at].0)
    }

    fn keep(&mut self, entropy: u16) {
        let size = self.values.len();
        self.values[self.head] = (entropy, true);
        self.head = (self.head + 1) % size;
        self.held = (self.held + 1).min(size);
        self.fresh = (self.fresh + 1).min(size);
    }

    /// Ends the freeze if its time is over.
    fn thaw(&mut self, now: Time) {
        if self.frozen_until.is_some_and(|until| until <= now) {
            self.frozen_until = None;
            (self.head, self.held, self.fresh, self.turn) = (0, 0, 0, 0);
            self.explored = self.explore;
        }
    }
}

impl PathSelection for Reps {
    fn next(&mut self, now: Time) -> u16 {
        self.thaw(now);
        if self.explored > 0 {
            self.explored -= 1;
            return self.draws.below(self.entropies);
        }
        let known = if self.frozen_until.is_some() { self.recycled() } else { self.oldest_fresh() };
        known.unwrap_or_else(|| self.draws.below(self.entropies))
    }

    fn on_feedback(&mut self, now: Time, feedback: PathFeedback) {
        self.thaw(now);
        match feedback.signal {
            PathSignal::Acknowledged if self.frozen_until.is_none() => self.keep(feedback.entropy),
            PathSignal::TimedOut if self.frozen_until.is_none() && self.explored == 0 && self.trimming => {
                (self.frozen_until, self.turn) = (Some(now.saturating_add(self.freeze)), 0);
            }
            PathSignal::Trimmed | PathSignal::TrimmedAtLastHop => self.trimming = true,
            _ => {}
        }
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn reps() -> Reps {
        Reps::new(
            &RepsKeys::default(),
            &PathsFacts { base_rtt: Time::ZERO, seed: 3, planes: 1, trimming: false },
        )
    }
    fn good(it: &mut Reps, entropy: u16) {
        it.on_feedback(Time::ZERO, PathFeedback { entropy, signal: PathSignal::Acknowledged });
    }

    #[test]
    fn unmarked_values_are_used_once_each_oldest_first() {
        let mut it = reps();
        [40, 41, 42].into_iter().for_each(|entropy| good(&mut it, entropy));
        let signals =
            [PathSignal::Marked, PathSignal::Trimmed, PathSignal::TrimmedAtLastHop, PathSignal::Lost];
        for signal in signals {
            it.on_feedback(Time::ZERO, PathFeedback { entropy: 63, signal });
        }
        assert_eq!((0..3).map(|_| it.next(Time::ZERO)).collect::<Vec<_>>(), [40, 41, 42]);
        // Of ten values, the last eight are kept.
        (0..10).for_each(|entropy| good(&mut it, entropy));
        assert_eq!((0..8).map(|_| it.next(Time::ZERO)).collect::<Vec<_>>(), (2..10).collect::<Vec<_>>());
    }

    #[test]
    fn a_timeout_freezes_nothing_where_switches_drop() {
        let mut it = reps();
        [7, 8].into_iter().for_each(|entropy| good(&mut it, entropy));
        it.on_feedback(Time::ZERO, PathFeedback { entropy: 1, signal: PathSignal::TimedOut });
        good(&mut it, 9);
        assert_eq!((0..3).map(|_| it.next(Time::ZERO)).collect::<Vec<_>>(), [7, 8, 9]);
        assert_eq!((it.fresh, it.frozen_until), (0, None));
    }

    #[test]
    fn a_timeout_freezes_for_ten_milliseconds_then_sixteen_packets_explore() {
        let mut it = reps();
        it.on_feedback(Time::ZERO, PathFeedback { entropy: 1, signal: PathSignal::TrimmedAtLastHop });
        [7, 8, 9].into_iter().for_each(|entropy| good(&mut it, entropy));
        assert_eq!(it.next(Time::ZERO), 7);
        it.on_feedback(Time::from_ms(1), PathFeedback { entropy: 1, signal: PathSignal::TimedOut });
        let at = Time::from_us(10_999);
        assert_eq!((0..7).map(|_| it.next(at)).collect::<Vec<_>>(), [7, 8, 9, 7, 8, 9, 7]);
        // While the selection is frozen, no value is stored, and another timeout does not prolong the freeze.
        it.on_feedback(at, PathFeedback { entropy: 50, signal: PathSignal::Acknowledged });
        it.on_feedback(at, PathFeedback { entropy: 1, signal: PathSignal::TimedOut });
        assert_eq!(it.next(at), 8);
        let over = Time::from_ms(11);
        let random: Vec<u16> = (0..16).map(|_| it.next(over)).collect();
        it.on_feedback(over, PathFeedback { entropy: 33, signal: PathSignal::Acknowledged });
        assert_eq!(it.next(over), 33);
        assert!(random.iter().any(|value| ![7, 8, 9].contains(value)), "{random:?}");
        assert_eq!(it.explored, 0);
    }

    /// Returns a frozen selection with the values 7, 8 and 9. Its freeze ends at 11 ms.
    fn frozen() -> Reps {
        let mut it = reps();
        it.on_feedback(Time::ZERO, PathFeedback { entropy: 1, signal: PathSignal::Trimmed });
        [7, 8, 9].into_iter().for_each(|entropy| good(&mut it, entropy));
        it.on_feedback(Time::from_ms(1), PathFeedback { entropy: 1, signal: PathSignal::TimedOut });
        it
    }

    #[test]
    fn a_timeout_before_the_exploration_is_over_freezes_nothing() {
        let mut it = frozen();
        let over = Time::from_ms(11);
        let timed_out = PathFeedback { entropy: 8, signal: PathSignal::TimedOut };
        // The freeze ends with this timeout, which is of a packet sent before the freeze.
        it.on_feedback(over, timed_out);
        assert_eq!((it.frozen_until, it.explored, it.held), (None, 16, 0));
        for left in (0..16).rev() {
            it.next(over);
            it.on_feedback(over, timed_out);
            assert_eq!((it.explored, it.frozen_until.is_some()), (left, left == 0), "{left} packets left");
        }
        // Another fault after the freeze freezes the values found since then. There are none, so values are random
        // until 21 ms.
        assert_eq!(it.frozen_until, Some(Time::from_ms(21)));
        good(&mut it, 5);
        let random: Vec<u16> = (0..16).map(|_| it.next(Time::from_us(20_999))).collect();
        assert!(random.iter().any(|&value| value != random[0]) && it.held == 0, "{random:?}");
    }

    #[test]
    fn a_path_that_works_again_is_used_after_the_exploration() {
        let mut it = frozen();
        // The fault ended long before, but an acknowledgement alone does not end the freeze.
        good(&mut it, 1);
        assert_eq!((it.held, it.next(Time::from_us(10_999))), (3, 7));
        let over = Time::from_ms(11);
        for _ in 0..16 {
            let entropy = it.next(over);
            it.on_feedback(over, PathFeedback { entropy, signal: PathSignal::Acknowledged });
        }
        it.on_feedback(over, PathFeedback { entropy: 1, signal: PathSignal::Acknowledged });
        let kept: Vec<u16> = (0..8).map(|_| it.next(over)).collect();
        assert_eq!((kept[7], it.frozen_until), (1, None));
    }

    proptest! {
        /// Compares the buffer with a plain list of its values.
        #[test]
        fn the_buffer_is_a_list_of_the_last_values(
            steps in prop::collection::vec((any::<bool>(), 0u16..64), 1..200),
            buffer in 1u64..12,
        ) {
            let keys = RepsKeys { buffer, ..RepsKeys::default() };
            let facts = PathsFacts { base_rtt: Time::ZERO, seed: 11, planes: 1, trimming: false };
            let (mut it, mut draws) = (Reps::new(&keys, &facts), Draws::new(11));
            let mut fresh: VecDeque<u16> = VecDeque::new();
            for (sends, entropy) in steps {
                if sends {
                    let expected = fresh.pop_front().unwrap_or_else(|| draws.below(64));
                    prop_assert_eq!(it.next(Time::ZERO), expected);
                } else {
                    good(&mut it, entropy);
                    fresh.push_back(entropy);
                    if fresh.len() > buffer as usize {
                        fresh.pop_front();
                    }
                }
            }
        }
    }
}
