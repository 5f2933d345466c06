//! Common parts of the schedulers that sort by tags: the heap of tags and the arithmetic of a weight.
//!
//! Tags are integers: bytes per unit of weight, times 2^20. The remainder of the division by the weight is carried
//! to the queue's next frame, so that tags do not drift and frames that end together in theory tie exactly.

use std::marker::PhantomData;
use units::Time;

/// Number of fraction bits of a tag, which is in bytes per unit of weight.
pub(crate) const FRACTION_BITS: u32 = 20;
/// Tag beyond which all tags are reduced. A single increment stays far below the range that is left.
pub(crate) const LIMIT: u64 = 1 << 62;
/// Distance below the virtual time at which tags survive a reduction: a terabyte.
const MEMORY: u64 = 1 << 60;

/// Returns the amount by which tags are reduced when the virtual time is `at`.
pub(crate) fn excess(at: u64) -> u64 {
    at.saturating_sub(MEMORY)
}

/// The weight of a queue, with the carry of its divisions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weight {
    weight: u32,
    carry: u32,
    /// 2^64 / weight, rounded down; for a weight of one, 2^64 - 1.
    reciprocal: u64,
}

impl Weight {
    pub fn new(weight: u32) -> Weight {
        let weight = weight.max(1);
        Weight { weight, carry: 0, reciprocal: u64::MAX / u64::from(weight) }
    }
    /// Returns the increment of the tag for `accounted` bytes, and the weight with the carry after them.
    #[inline]
    pub fn span(self, accounted: u32) -> (u64, Weight) {
        let exact = (u64::from(accounted) << FRACTION_BITS) + u64::from(self.carry);
        let (span, carry) = self.divide(exact);
        (span, Weight { carry, ..self })
    }
    /// Returns the increment with twice the fraction bits, for virtual time that follows real time. `accounted` is
    /// below 2^23.
    #[inline]
    pub fn fine_span(self, accounted: u32) -> (u64, Weight) {
        let exact = (u64::from(accounted) << (2 * FRACTION_BITS)) + u64::from(self.carry);
        let (span, carry) = self.divide(exact);
        (span, Weight { carry, ..self })
    }
    #[inline]
    fn divide(self, exact: u64) -> (u64, u32) {
        let divisor = u64::from(self.weight);
        // Multiplies by the reciprocal, which is several times as fast as a division. The reciprocal is too small by
        // less than 1, so the quotient is exact or one too small.
        let quotient = ((u128::from(exact) * u128::from(self.reciprocal)) >> 64) as u64;
        let rest = exact - quotient * divisor;
        if rest < divisor { (quotient, rest as u32) } else { (quotient + 1, (rest - divisor) as u32) }
    }
}

const OUT: u32 = u32::MAX;

/// A sort key of a heap: at most 96 bits.
pub(crate) trait Key: Copy {
    fn pack(self) -> u128;
    fn unpack(packed: u128) -> Self;
}
impl Key for u64 {
    #[inline]
    fn pack(self) -> u128 {
        u128::from(self)
    }
    #[inline]
    fn unpack(packed: u128) -> u64 {
        packed as u64
    }
}
impl Key for u128 {
    #[inline]
    fn pack(self) -> u128 {
        debug_assert!(self >> 96 == 0);
        self
    }
    #[inline]
    fn unpack(packed: u128) -> u128 {
        packed
    }
}
impl Key for Time {
    #[inline]
    fn pack(self) -> u128 {
        u128::from(self.ps())
    }
    #[inline]
    fn unpack(packed: u128) -> Time {
        Time::from_ps(packed as u64)
    }
}

/// A min-heap of queues with one key each. Equal keys are ordered by queue number. Any queue can be removed or moved.
/// Key and queue form one integer, so that a comparison needs no branch.
#[derive(Clone, Debug)]
pub(crate) struct TagHeap<K> {
    heap: Vec<u128>,
    /// By queue: its position in `heap`.
    place: Vec<u32>,
    key: PhantomData<K>,
}

const QUEUE_BITS: u32 = 32;

impl<K: Key> TagHeap<K> {
    pub fn new(queues: u32) -> TagHeap<K> {
        TagHeap {
            heap: Vec::with_capacity(queues as usize),
            place: vec![OUT; queues as usize],
            key: PhantomData,
        }
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
    #[inline]
    pub fn peek(&self) -> Option<(K, u32)> {
        self.heap.first().map(|&item| (K::unpack(item >> QUEUE_BITS), item as u32))
    }
    #[inline]
    pub fn contains(&self, queue: u32) -> bool {
        self.place[queue as usize] != OUT
    }
    #[inline]
    pub fn key(&self, queue: u32) -> Option<K> {
        self.heap.get(self.place[queue as usize] as usize).map(|&item| K::unpack(item >> QUEUE_BITS))
    }
    /// Inserts a queue, or changes its key.
    #[inline]
    pub fn set(&mut self, queue: u32, key: K) {
        let item = key.pack() << QUEUE_BITS | u128::from(queue);
        match self.place[queue as usize] {
            OUT => {
                self.heap.push(item);
                self.rise(self.heap.len() - 1, item);
            }
            at => self.settle(at as usize, item),
        }
    }
    /// Replaces a queue in the heap by one that is not in it, at half the cost of a removal and an insertion.
    #[inline]
    pub fn exchange(&mut self, out: u32, queue: u32, key: K) {
        debug_assert!(self.contains(out) && !self.contains(queue));
        let at = std::mem::replace(&mut self.place[out as usize], OUT);
        self.settle(at as usize, key.pack() << QUEUE_BITS | u128::from(queue));
    }
    /// Removes a queue. Returns true if it was present.
    #[inline]
    pub fn remove(&mut self, queue: u32) -> bool {
        let at = self.place[queue as usize];
        if at == OUT {
            return false;
        }
        self.place[queue as usize] = OUT;
        if let Some(last) = self.heap.pop()
            && last as u32 != queue
        {
            self.settle(at as usize, last);
        }
        true
    }
    pub fn clear(&mut self) {
        for item in self.heap.drain(..) {
            self.place[item as u32 as usize] = OUT;
        }
    }
    /// Changes all keys by a monotonic function.
    pub fn map(&mut self, change: impl Fn(K) -> K) {
        for item in &mut self.heap {
            *item = change(K::unpack(*item >> QUEUE_BITS)).pack() << QUEUE_BITS | u128::from(*item as u32);
        }
        // Keys that became equal are now ordered by queue.
        self.heap.sort_unstable();
        for (at, &item) in self.heap.iter().enumerate() {
            self.place[item as u32 as usize] = at as u32;
        }
    }

    /// Finds the position of `item`; position `at` is free.
    #[inline]
    fn settle(&mut self, at: usize, item: u128) {
        if at > 0 && item < self.heap[(at - 1) / 2] { self.rise(at, item) } else { self.sink(at, item) }
    }
    #[inline]
    fn rise(&mut self, mut at: usize, item: u128) {
        while at > 0 && item < self.heap[(at - 1) / 2] {
            self.put(at, self.heap[(at - 1) / 2]);
            at = (at - 1) / 2;
        }
        self.put(at, item);
    }
    #[inline]
    fn sink(&mut self, mut at: usize, item: u128) {
        loop {
            let left = 2 * at + 1;
            let child = match self.heap.get(left..left + 2) {
                Some(pair) => left + usize::from(pair[1] < pair[0]),
                None if left < self.heap.len() => left,
                None => break,
            };
            if item < self.heap[child] {
                break;
            }
            self.put(at, self.heap[child]);
            at = child;
        }
        self.put(at, item);
    }
    #[inline]
    fn put(&mut self, at: usize, item: u128) {
        self.heap[at] = item;
        self.place[item as u32 as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carried_remainders_make_exact_ties() {
        let mut third = Weight::new(3);
        let mut sum = 0;
        for _ in 0..3_000_000 {
            let (span, next) = third.span(100);
            sum += span;
            third = next;
        }
        assert_eq!(sum, 100_000_000 << FRACTION_BITS);
    }

    proptest::proptest! {
        #[test]
        fn the_reciprocal_divides(weight in 1u32.., exact in 0u64.., small in 1u32..100) {
            for (weight, exact) in [(weight, exact), (small, exact), (small, u64::MAX), (weight, u64::from(weight) - 1)] {
                let divisor = u64::from(weight);
                proptest::prop_assert_eq!(Weight::new(weight).divide(exact), (exact / divisor, (exact % divisor) as u32));
            }
        }

        #[test]
        fn the_heap_agrees_with_a_sorted_list(steps in proptest::collection::vec((0u32..20, 0u8..5, 0u64..30), 0..200)) {
            let (mut heap, mut list) = (TagHeap::new(20), Vec::<(u64, u32)>::new());
            for (queue, step, key) in steps {
                let was_in = list.iter().any(|item| item.1 == queue);
                list.retain(|item| item.1 != queue);
                if step == 0 {
                    proptest::prop_assert_eq!(heap.remove(queue), was_in);
                } else if step == 4 && !was_in && !list.is_empty() {
                    let out = (key % list.len() as u64) as usize;
                    heap.exchange(list[out].1, queue, key);
                    list[out] = (key, queue);
                } else {
                    heap.set(queue, key);
                    list.push((key, queue));
                }
                if step == 3 {
                    heap.map(|key| key.saturating_sub(7));
                    list.iter_mut().for_each(|item| item.0 = item.0.saturating_sub(7));
                }
                list.sort_unstable();
                proptest::prop_assert_eq!(heap.peek(), list.first().copied());
                for queue in 0..20 {
                    let key = list.iter().find(|item| item.1 == queue).map(|item| item.0);
                    proptest::prop_assert_eq!(heap.key(queue), key);
                }
            }
        }
    }
}
