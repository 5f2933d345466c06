//! Pending events, sorted by window.
//!
//! Near events lie in a ring of buckets, one a window; what is further away waits in a heap. A bucket is
//! an unordered vector: the run loop sorts per node when the window's time has come. Buckets' vectors are
//! recycled, so that only the memory of live windows is touched.

use crate::Event;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use units::Time;

/// The widest window: its times must fit the key of an event, and the division by multiplication below
/// must be exact.
pub const MAX_WINDOW: Time = Time::from_ps(1 << 26);
/// Buckets in the ring; a power of two.
const RING: usize = 4096;
const WORDS: usize = RING / 64;
/// Bits of a key that order events at one time.
pub(crate) const ORDER_BITS: u32 = 26;

/// Events that wait for their time.
pub struct Windows<E> {
    /// Width of a window in picoseconds.
    width: u64,
    /// Width of the whole ring.
    span: u64,
    /// 2^64 / width, rounded up: multiplying by it divides.
    reciprocal: u64,
    /// Start of the window that is running.
    start: u64,
    /// Bucket of that window.
    cursor: usize,
    ring: Vec<Vec<E>>,
    /// One bit a bucket that holds anything.
    occupied: [u64; WORDS],
    /// Empty vectors with room, the last used on top.
    spare: Vec<Vec<E>>,
    /// Beyond the ring.
    late: BinaryHeap<Late<E>>,
    /// Events of the running node within the running window.
    pub(crate) local: BinaryHeap<Keyed<E>>,
    /// Events for nodes that other threads run; `None` if there are none.
    pub(crate) outbox: Option<Outbox<E>>,
}

/// What one thread has for the others.
pub(crate) struct Outbox<E> {
    /// The thread that owns these windows, and the thread of each node.
    pub(crate) home: u8,
    pub(crate) owner_of: std::sync::Arc<[u8]>,
    /// One letter box a thread.
    pub(crate) boxes: Vec<Vec<E>>,
}

impl<E: Event> Windows<E> {
    /// No events. `look_ahead` is the least time after which one node can affect another; it must be
    /// 2 ps or more. The window is that wide, at most [`MAX_WINDOW`].
    pub fn new(look_ahead: Time) -> Windows<E> {
        assert!(look_ahead.ps() >= 2, "without look-ahead there is no order between nodes");
        let width = look_ahead.min(MAX_WINDOW).ps();
        Windows {
            width,
            span: width * RING as u64,
            reciprocal: (u64::MAX / width).saturating_add(1),
            start: 0,
            cursor: 0,
            ring: (0..RING).map(|_| Vec::new()).collect(),
            occupied: [0; WORDS],
            spare: Vec::new(),
            late: BinaryHeap::new(),
            local: BinaryHeap::new(),
            outbox: None,
        }
    }

    /// Width of a window.
    pub fn width(&self) -> Time {
        Time::from_ps(self.width)
    }

    /// End of the running window.
    pub(crate) fn end(&self) -> Time {
        Time::from_ps(self.start + self.width)
    }

    /// The event, as part of the running window: its key.
    #[inline]
    pub(crate) fn key(&self, event: &E) -> u64 {
        ((event.time().ps() - self.start) << ORDER_BITS) | u64::from(event.order())
    }

    /// Takes an event. It must not lie before the running event, and if it is for another node, not
    /// within the running window.
    #[inline]
    pub fn push(&mut self, event: E) {
        debug_assert!(event.time().ps() >= self.start, "an event in the past");
        let ahead = event.time().ps() - self.start;
        if ahead < self.width {
            let key = self.key(&event);
            self.local.push(Keyed { key, event });
            return;
        }
        // Exact for ahead < 2^64 / width; larger ones are beyond the ring anyway and are caught by the
        // comparison with its span.
        if ahead < self.span {
            let windows = ((u128::from(ahead) * u128::from(self.reciprocal)) >> 64) as usize;
            self.put(self.cursor + windows, event);
        } else {
            self.late.push(Late(event));
        }
    }

    /// Takes an event for another node, which `node` names. It must lie a look-ahead away.
    #[inline]
    pub fn send(&mut self, event: E, node: impl FnOnce() -> u32) {
        if let Some(outbox) = &mut self.outbox {
            let owner = outbox.owner_of[node() as usize];
            if owner != outbox.home {
                outbox.boxes[usize::from(owner)].push(event);
                return;
            }
        }
        self.push(event);
    }

    #[inline]
    fn put(&mut self, slot: usize, event: E) {
        let slot = slot % RING;
        let bucket = &mut self.ring[slot];
        if bucket.is_empty() {
            if bucket.capacity() == 0
                && let Some(spare) = self.spare.pop()
            {
                *bucket = spare;
            }
            self.occupied[slot / 64] |= 1 << (slot % 64);
        }
        bucket.push(event);
    }

    /// Windows from the running one to the next that holds anything (0: the running one).
    #[inline]
    pub(crate) fn next(&self) -> Option<u64> {
        let ring = self.next_occupied().map(|windows| windows as u64);
        let late = self.late.peek().map(|Late(event)| (event.time().ps() - self.start) / self.width);
        match (ring, late) {
            (Some(ring), Some(late)) => Some(ring.min(late)),
            (ring, late) => ring.or(late),
        }
    }

    /// Start of a window, counted from the running one.
    #[inline]
    pub(crate) fn start_of(&self, windows: u64) -> Time {
        Time::from_ps(self.start + windows * self.width)
    }

    /// How far a window is from the running one, by its start.
    pub(crate) fn count_to(&self, start: Time) -> u64 {
        (start.ps() - self.start) / self.width
    }

    /// Start of the window that a time lies in.
    pub(crate) fn window_of(&self, time: Time) -> Time {
        Time::from_ps(time.ps() / self.width * self.width)
    }

    /// Moves on by this many windows and takes the events of the one that is reached. Nothing may lie between.
    pub(crate) fn advance(&mut self, windows: u64) -> Vec<E> {
        self.cursor = (self.cursor + (windows % RING as u64) as usize) % RING;
        self.start += windows * self.width;
        // What has come within reach of the ring moves there.
        let horizon = self.start + self.span;
        while let Some(Late(event)) = self.late.peek()
            && event.time().ps() < horizon
        {
            let event = *event;
            self.late.pop();
            let windows = (event.time().ps() - self.start) / self.width;
            self.put(self.cursor + windows as usize, event);
        }
        self.occupied[self.cursor / 64] &= !(1 << (self.cursor % 64));
        std::mem::take(&mut self.ring[self.cursor])
    }

    /// Windows from the running one to the next bucket that holds anything (0: the running one).
    fn next_occupied(&self) -> Option<usize> {
        let (word, bit) = (self.cursor / 64, self.cursor % 64);
        let first = self.occupied[word] >> bit;
        if first != 0 {
            return Some(first.trailing_zeros() as usize);
        }
        for step in 1..=WORDS {
            let bits = self.occupied[(word + step) % WORDS];
            if bits != 0 {
                let slot = (word + step) % WORDS * 64 + bits.trailing_zeros() as usize;
                return Some((slot + RING - self.cursor) % RING);
            }
        }
        None
    }

    /// Gives a vector taken by [`Windows::advance`] back.
    pub(crate) fn recycle(&mut self, mut bucket: Vec<E>) {
        bucket.clear();
        self.spare.push(bucket);
    }

    /// Puts an event of the running window back, for a later run.
    pub(crate) fn put_back(&mut self, event: E) {
        self.put(self.cursor, event);
    }

    /// Bytes of the buckets and heaps.
    pub(crate) fn memory_bytes(&self) -> usize {
        let buckets = self.ring.iter().chain(&self.spare).map(Vec::capacity).sum::<usize>();
        let heaps = self.late.capacity() + self.local.capacity();
        (buckets + heaps) * size_of::<E>() + RING * size_of::<Vec<E>>()
    }

    /// All pending events, those on their way to another thread included, in no particular order.
    pub fn pending(&self) -> impl Iterator<Item = &E> {
        let letters = self.outbox.iter().flat_map(|outbox| outbox.boxes.iter().flatten());
        self.ring.iter().flatten().chain(self.late.iter().map(|late| &late.0)).chain(letters)
    }
}

/// An event of the running window under its key; the heap's greatest is the earliest.
pub(crate) struct Keyed<E> {
    pub(crate) key: u64,
    pub(crate) event: E,
}

impl<E> PartialEq for Keyed<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl<E> Eq for Keyed<E> {}
impl<E> PartialOrd for Keyed<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Keyed<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

/// An event beyond the ring; the heap's greatest is the earliest. Order at equal times does not matter
/// here: the window sorts.
struct Late<E>(E);

impl<E: Event> PartialEq for Late<E> {
    fn eq(&self, other: &Self) -> bool {
        self.0.time() == other.0.time()
    }
}
impl<E: Event> Eq for Late<E> {}
impl<E: Event> PartialOrd for Late<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<E: Event> Ord for Late<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.time().cmp(&self.0.time())
    }
}
