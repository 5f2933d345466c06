//! Pending events, sorted by window.
//!
//! Near events lie in a ring of buckets, one a window; what is further away waits in a heap. A bucket is an
//! unordered list: the run loop sorts per node when the window's time has come. All lists share one pool of
//! slots, of which the last freed is used first: an event takes the memory of the one that made it, and nothing
//! is allocated once the pool holds the most events that ever wait at once.

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
/// No slot.
pub(crate) const NONE: u32 = u32::MAX;
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
    /// First slot of each bucket.
    ring: Vec<u32>,
    /// One bit a bucket that holds anything.
    occupied: [u64; WORDS],
    pub(crate) slots: Slots<E>,
    /// Beyond the ring.
    late: BinaryHeap<Late<E>>,
    /// Events of the running node within the running window.
    pub(crate) local: BinaryHeap<Keyed<E>>,
    /// Events for nodes that other threads run; `None` if there are none.
    pub(crate) outbox: Option<Outbox<E>>,
}

/// Events in lists.
pub(crate) struct Slots<E> {
    slots: Vec<Slot<E>>,
    /// The slot that was freed last.
    free: u32,
}

#[derive(Clone, Copy)]
struct Slot<E> {
    event: E,
    /// The next slot of the same list.
    next: u32,
}

impl<E: Copy> Slots<E> {
    /// Puts an event before the slot `next`; returns its slot.
    #[inline(always)]
    fn insert(&mut self, event: E, next: u32) -> u32 {
        let at = self.free;
        if let Some(slot) = self.slots.get_mut(at as usize) {
            self.free = slot.next;
            *slot = Slot { event, next };
            return at;
        }
        self.grow(Slot { event, next })
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, slot: Slot<E>) -> u32 {
        self.slots.push(slot);
        (self.slots.len() - 1) as u32
    }

    #[inline]
    pub(crate) fn event(&self, slot: u32) -> &E {
        &self.slots[slot as usize].event
    }

    #[inline]
    pub(crate) fn next(&self, slot: u32) -> u32 {
        self.slots[slot as usize].next
    }

    /// Links the slot to another one, which may depend on its event; returns the one that it was linked to.
    #[inline]
    pub(crate) fn relink(&mut self, slot: u32, to: impl FnOnce(&E) -> u32) -> u32 {
        let slot = &mut self.slots[slot as usize];
        std::mem::replace(&mut slot.next, to(&slot.event))
    }

    /// Takes the event out and frees the slot.
    #[inline(always)]
    pub(crate) fn take(&mut self, at: u32) -> E {
        let slot = &mut self.slots[at as usize];
        slot.next = self.free;
        self.free = at;
        slot.event
    }

    /// The events of the list that begins with this slot.
    fn list(&self, first: u32) -> impl Iterator<Item = &E> {
        let next = |&slot: &u32| Some(self.next(slot)).filter(|&slot| slot != NONE);
        std::iter::successors(Some(first).filter(|&slot| slot != NONE), next).map(|slot| self.event(slot))
    }
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
            ring: vec![NONE; RING],
            occupied: [0; WORDS],
            slots: Slots { slots: Vec::new(), free: NONE },
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
    #[inline(always)]
    pub fn push(&mut self, event: E) {
        debug_assert!(event.time().ps() >= self.start, "an event in the past");
        let ahead = event.time().ps() - self.start;
        if ahead < self.width {
            return self.push_local(event);
        }
        // Exact for ahead < 2^64 / width; larger ones are beyond the ring anyway and are caught by the
        // comparison with its span.
        if ahead < self.span {
            let windows = ((u128::from(ahead) * u128::from(self.reciprocal)) >> 64) as usize;
            self.put(self.cursor + windows, event);
        } else {
            self.push_late(event);
        }
    }

    // The heaps apart, so that the way into the ring stays short.
    #[inline(never)]
    fn push_local(&mut self, event: E) {
        let key = self.key(&event);
        self.local.push(Keyed { key, event });
    }

    #[inline(never)]
    fn push_late(&mut self, event: E) {
        self.late.push(Late(event));
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

    #[inline(always)]
    fn put(&mut self, slot: usize, event: E) {
        let slot = slot % RING;
        self.ring[slot] = self.slots.insert(event, self.ring[slot]);
        self.occupied[slot / 64] |= 1 << (slot % 64);
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

    /// Moves on by this many windows and takes the list of the one that is reached: its first slot.
    /// Nothing may lie between.
    pub(crate) fn advance(&mut self, windows: u64) -> u32 {
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
        std::mem::replace(&mut self.ring[self.cursor], NONE)
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

    /// Puts an event of the running window back, for a later run.
    pub(crate) fn put_back(&mut self, event: E) {
        self.put(self.cursor, event);
    }

    /// Bytes of the buckets and heaps.
    pub(crate) fn memory_bytes(&self) -> usize {
        let heaps = self.late.capacity() + self.local.capacity();
        self.slots.slots.capacity() * size_of::<Slot<E>>() + heaps * size_of::<E>() + RING * size_of::<u32>()
    }

    /// All pending events, those on their way to another thread included, in no particular order.
    pub fn pending(&self) -> impl Iterator<Item = &E> {
        let letters = self.outbox.iter().flat_map(|outbox| outbox.boxes.iter().flatten());
        let near = self.ring.iter().flat_map(|&first| self.slots.list(first));
        near.chain(self.late.iter().map(|late| &late.0)).chain(letters)
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
