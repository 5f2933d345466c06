//! Ranges of bytes that have arrived beyond the in-order data: disjoint and sorted. Receiver and sender each keep a set
//! of ranges.

/// SACK blocks of an acknowledgement; unused ones are empty.
pub type Blocks = [(u64, u64); 3];

/// A set of byte ranges. A range extends from its first byte to the byte after its last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    sorted: Vec<(u64, u64)>,
}

impl Ranges {
    /// Returns all ranges, the lowest first.
    pub fn all(&self) -> &[(u64, u64)] {
        &self.sorted
    }
    /// Adds the bytes from `from` up to `to`. Returns the number of bytes that are new.
    pub fn add(&mut self, from: u64, to: u64) -> u64 {
        if from >= to {
            return 0;
        }
        // Adjacent and overlapping ranges are merged with the new one.
        let first = self.sorted.partition_point(|&(_, end)| end < from);
        let behind = self.sorted.partition_point(|&(start, _)| start <= to);
        let joined = &self.sorted[first..behind];
        let known: u64 = joined.iter().map(|&(a, b)| b.min(to).saturating_sub(a.max(from))).sum();
        let whole = joined.iter().fold((from, to), |(a, b), &(start, end)| (a.min(start), b.max(end)));
        if first < behind {
            self.sorted[first] = whole;
            self.sorted.drain(first + 1..behind);
        } else {
            self.sorted.insert(first, whole);
        }
        to - from - known
    }
    /// Removes the bytes before this one.
    pub fn forget_before(&mut self, start: u64) {
        let gone = self.sorted.partition_point(|&(_, end)| end <= start);
        self.sorted.drain(..gone);
        if let Some(first) = self.sorted.first_mut() {
            first.0 = first.0.max(start);
        }
    }
    /// Removes the range that begins at or before this byte, and returns its end.
    pub fn take_from(&mut self, start: u64) -> Option<u64> {
        let &(from, to) = self.sorted.first()?;
        (from <= start).then(|| {
            self.sorted.remove(0);
            to.max(start)
        })
    }
    /// Returns the heap memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.sorted.capacity() * size_of::<(u64, u64)>()
    }
    /// Removes all ranges.
    pub fn clear(&mut self) {
        self.sorted.clear();
    }
    /// Returns the range that contains this byte.
    pub fn around(&self, byte: u64) -> Option<(u64, u64)> {
        let at = self.sorted.partition_point(|&(_, end)| end <= byte);
        self.sorted.get(at).copied().filter(|&(start, _)| start <= byte)
    }
    /// Returns the first byte at or after this one that is in no range.
    pub fn skip(&self, from: u64) -> u64 {
        self.around(from).map_or(from, |(_, end)| end)
    }
    /// Returns the first byte after this one that is in a range.
    pub fn next_after(&self, from: u64) -> Option<u64> {
        let at = self.sorted.partition_point(|&(start, _)| start <= from);
        self.sorted.get(at).map(|&(start, _)| start)
    }
    /// Returns the number after the highest byte.
    pub fn end(&self) -> Option<u64> {
        self.sorted.last().map(|&(_, end)| end)
    }
    /// Returns the number of bytes in the ranges from `from` up to `to`.
    pub fn within(&self, from: u64, to: u64) -> u64 {
        let first = self.sorted.partition_point(|&(_, end)| end <= from);
        let overlap = |&(start, end): &(u64, u64)| end.min(to).saturating_sub(start.max(from));
        self.sorted[first..].iter().take_while(|range| range.0 < to).map(overlap).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Compares the ranges with a set of single bytes.
        #[test]
        fn ranges_are_sets_of_bytes(steps in prop::collection::vec((0u8..4, 0u64..40, 0u64..12), 1..40)) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for (step, from, length) in steps {
                let to = from + length;
                match step {
                    0 | 1 => {
                        let before = set.len();
                        set.extend(from..to);
                        prop_assert_eq!(ranges.add(from, to), (set.len() - before) as u64);
                    }
                    2 => {
                        set.retain(|&byte| byte >= from);
                        ranges.forget_before(from);
                    }
                    _ => {
                        let lowest = set.first().copied().filter(|&lowest| lowest <= from);
                        let end = lowest.map(|lowest| (lowest..).find(|byte| !set.contains(byte)).unwrap_or(0));
                        prop_assert_eq!(ranges.take_from(from), end.map(|end| end.max(from)));
                        if let Some(end) = end {
                            set.retain(|&byte| byte >= end);
                        }
                    }
                }
                prop_assert!(ranges.all().windows(2).all(|pair| pair[0].1 < pair[1].0));
                prop_assert!(ranges.all().iter().all(|range| range.0 < range.1));
                let bytes: BTreeSet<u64> = ranges.all().iter().flat_map(|&(a, b)| a..b).collect();
                prop_assert_eq!(&bytes, &set);
                prop_assert_eq!(ranges.within(from, to), set.range(from..to).count() as u64);
                prop_assert_eq!(ranges.skip(from), (from..).find(|byte| !set.contains(byte)).unwrap_or(0));
                prop_assert_eq!(ranges.end(), set.last().map(|last| last + 1));
            }
        }
    }
}
