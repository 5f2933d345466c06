//! A set of small integers with constant-time search, stored as a two-level bitmap.

use recurrence::Recurs;

/// A set of integers from 0 to `capacity` - 1.
#[derive(Clone, Debug, Recurs)]
pub(crate) struct ReadySet {
    words: Vec<u64>,
    /// Bit n is set if word n is not zero.
    summary: Vec<u64>,
}

impl ReadySet {
    pub fn new(capacity: u32) -> ReadySet {
        let words = (capacity as usize).div_ceil(64).max(1);
        ReadySet { words: vec![0; words], summary: vec![0; words.div_ceil(64)] }
    }
    #[inline]
    pub fn insert(&mut self, member: u32) {
        self.insert_word(member as usize / 64, 1 << (member % 64));
    }
    #[inline]
    pub fn remove(&mut self, member: u32) {
        self.remove_word(member as usize / 64, 1 << (member % 64));
    }
    /// Inserts all members of `mask`, which lie in one word.
    #[inline]
    pub fn insert_word(&mut self, word: usize, mask: u64) {
        self.words[word] |= mask;
        self.summary[word / 64] |= 1 << (word % 64);
    }
    #[inline]
    pub fn remove_word(&mut self, word: usize, mask: u64) {
        self.words[word] &= !mask;
        if self.words[word] == 0 {
            self.summary[word / 64] &= !(1 << (word % 64));
        }
    }
    #[inline]
    pub fn highest(&self) -> Option<u32> {
        let at = self.summary.iter().rposition(|&word| word != 0)?;
        let word = at * 64 + self.summary[at].ilog2() as usize;
        Some(word as u32 * 64 + self.words[word].ilog2())
    }
    /// Returns the first member at or after `from`, wrapping around at the end.
    #[inline]
    pub fn next_from(&self, from: u32) -> Option<u32> {
        let word = from as usize / 64;
        let here = self.words[word] >> (from % 64) << (from % 64);
        if here != 0 {
            return Some(word as u32 * 64 + here.trailing_zeros());
        }
        self.word_after(word)
            .or_else(|| self.word_from(0))
            .map(|word| word as u32 * 64 + self.words[word].trailing_zeros())
    }
    fn word_after(&self, word: usize) -> Option<usize> {
        let (at, bit) = (word / 64, word % 64);
        let here = if bit == 63 { 0 } else { self.summary[at] >> (bit + 1) << (bit + 1) };
        if here != 0 { Some(at * 64 + here.trailing_zeros() as usize) } else { self.word_from(at + 1) }
    }
    fn word_from(&self, at: usize) -> Option<usize> {
        let found = at + self.summary[at..].iter().position(|&word| word != 0)?;
        Some(found * 64 + self.summary[found].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    proptest::proptest! {
        #[test]
        fn agrees_with_a_set(
            capacity in 1u32..9_000,
            steps in proptest::collection::vec((0u32..9_000, proptest::bool::ANY, 0u32..9_000), 0..200),
        ) {
            let (mut ready, mut set) = (ReadySet::new(capacity), BTreeSet::new());
            for (member, add, from) in steps {
                let (member, from) = (member % capacity, from % capacity);
                if add {
                    ready.insert(member);
                    set.insert(member);
                } else {
                    ready.remove(member);
                    set.remove(&member);
                }
                proptest::prop_assert_eq!(ready.highest(), set.last().copied());
                let next = set.range(from..).next().or_else(|| set.first());
                proptest::prop_assert_eq!(ready.next_from(from), next.copied());
            }
        }
    }
}
