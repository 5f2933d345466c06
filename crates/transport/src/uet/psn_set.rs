//! The set of packet sequence numbers that have arrived: all before the expected one, and a bitmap from there on.

use std::collections::VecDeque;
use std::ops::Range;

const BITS: u64 = 64;

/// A set of packet sequence numbers.
#[derive(Clone, Debug)]
pub struct PsnSet {
    /// First missing number, which is expected next.
    expected: u64,
    /// PSN of bit 0 of the first word: a multiple of 64 that is at most `expected`.
    base: u64,
    words: VecDeque<u64>,
    /// Number of bits set from `expected` on.
    held: u64,
}

impl PsnSet {
    /// Creates a set of all numbers before `expected`.
    pub fn new(expected: u64) -> PsnSet {
        PsnSet { expected, base: expected / BITS * BITS, words: VecDeque::new(), held: 0 }
    }
    /// Returns the first missing number.
    #[inline]
    pub fn expected(&self) -> u64 {
        self.expected
    }
    /// Returns the number of packets after the first missing one that have arrived.
    #[inline]
    pub fn held(&self) -> u64 {
        self.held
    }
    /// Returns true if the number has arrived.
    pub fn contains(&self, psn: u64) -> bool {
        psn < self.expected || self.word((psn - self.base) / BITS) >> (psn % BITS) & 1 == 1
    }
    /// Adds a number that is not in the set.
    pub fn insert(&mut self, psn: u64) {
        if psn == self.expected && self.held == 0 {
            self.expected += 1;
            return;
        }
        if self.held == 0 {
            self.words.clear();
            self.base = self.expected / BITS * BITS;
        }
        let place = ((psn - self.base) / BITS) as usize;
        if place >= self.words.len() {
            self.words.resize(place + 1, 0);
        }
        self.words[place] |= 1 << (psn % BITS);
        self.held += 1;
        if psn == self.expected {
            self.advance();
        }
    }
    /// Moves the first missing number past all that have arrived.
    fn advance(&mut self) {
        while self.held > 0 {
            let run = u64::from((self.word(0) >> (self.expected - self.base)).trailing_ones());
            self.expected += run;
            self.held -= run;
            if self.expected - self.base < BITS {
                return;
            }
            self.words.pop_front();
            self.base += BITS;
        }
    }
    /// Returns the 64 numbers from `first` on as a bitmap of those that have arrived; bit 0 is `first`.
    pub fn bits(&self, first: u64) -> u64 {
        debug_assert!(first >= self.expected);
        let place = first - self.base;
        let (word, shift) = (place / BITS, place % BITS);
        let low = self.word(word) >> shift;
        if shift == 0 { low } else { low | self.word(word + 1) << (BITS - shift) }
    }
    /// Returns the number of packets of a range that have arrived.
    pub fn count(&self, range: Range<u64>) -> u64 {
        let before = range.end.min(self.expected).saturating_sub(range.start);
        let mut at = range.start.max(self.expected);
        let mut all = before;
        while at < range.end {
            let left = (range.end - at).min(BITS);
            let mask = if left == BITS { u64::MAX } else { (1 << left) - 1 };
            all += u64::from((self.bits(at) & mask).count_ones());
            at += BITS;
        }
        all
    }
    fn word(&self, place: u64) -> u64 {
        if self.held == 0 { 0 } else { self.words.get(place as usize).copied().unwrap_or(0) }
    }
    /// Returns the heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set(first in 0u64..200, steps in prop::collection::vec(0u64..400, 1..300)) {
            let mut set = PsnSet::new(first);
            let mut model: BTreeSet<u64> = (0..first).collect();
            for step in steps {
                let psn = set.expected() + step;
                prop_assert_eq!(set.contains(psn), model.contains(&psn));
                if !model.contains(&psn) {
                    set.insert(psn);
                    model.insert(psn);
                }
                let expected = (0..).find(|psn| !model.contains(psn)).unwrap();
                prop_assert_eq!(set.expected(), expected);
                prop_assert_eq!(set.held(), model.range(expected..).count() as u64);
                for from in [expected, expected + 1, expected + step] {
                    let bits = (0..64).fold(0, |all, bit| all | u64::from(model.contains(&(from + bit))) << bit);
                    prop_assert_eq!(set.bits(from), bits);
                }
                let range = expected.saturating_sub(step)..expected + step;
                prop_assert_eq!(set.count(range.clone()), model.range(range).count() as u64);
            }
        }
    }
}
