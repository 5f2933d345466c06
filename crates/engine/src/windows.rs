//! Pending events, sorted by window.
//!
//! A window is a short stretch of simulated time. Near events lie in a ring of buckets, one per window; those further
//! away wait in a heap. A bucket is an unordered list: the run loop sorts it per node when its window begins. All lists
//! share one pool of slots, which reuses the last freed one first: an event takes the memory of the one that scheduled
//! it. Nothing is allocated once the pool has reached the maximum number of pending events.

use crate::Event;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use units::Time;

/// Buckets in the ring; a power of two.
const RING: usize = 16_384;
const WORDS: usize = RING / 64;
/// Windows that run between two scans of the heap beyond the ring.
const STRETCH: u64 = RING as u64 / 2;
/// Target number of windows per look-ahead. With so many windows, a node mostly has at most one event in each, which
/// needs no sorting.
const WINDOWS_A_LOOK_AHEAD: u64 = 512;
/// Minimum width of a window in picoseconds, chosen so that the ring covers most events.
const NARROW: u64 = 1 << 16;
/// With more places than this, most events are far away, and a window is as wide as the look-ahead allows.
const MANY_PLACES: usize = 1 << 15;
/// Number of slots from which on a list of events exceeds the processor's caches. Lower in tests, which have few
/// events.
const MANY_SLOTS: u32 = if cfg!(test) { 4 } else { 1 << 12 };
/// A window is crowded if it holds at least one in this many pending events.
const CROWD: u32 = 4;
/// No slot.
pub(crate) const NONE: u32 = u32::MAX;
/// No window.
pub(crate) const NEVER: u64 = u64::MAX;
/// Number of low bits of a key that order events at the same time; the others hold the time within a window.
pub(crate) const ORDER_BITS: u32 = 26;

/// The pending events.
pub struct Windows<E> {
    /// Minimum delay with which one node can affect another.
    look_ahead: Time,
    /// Binary logarithm of the width of a window in picoseconds, so that a shift maps a time to its window.
    shift: u32,
    /// Number of the running window, counted from time zero.
    current: u64,
    /// Events processed, including those done ahead of their time.
    events: u64,
    /// The last window with several events, and their number.
    crowd: (u64, u32),
    /// First slot of each bucket.
    ring: Box<[u32; RING]>,
    /// One bit per bucket, set if it is occupied.
    occupied: [u64; WORDS],
    pub(crate) slots: Slots<E>,
    /// Events beyond the ring: time in picoseconds, slot. Their order at equal times does not matter here, because the
    /// run loop sorts each window.
    late: BinaryHeap<Reverse<(u64, u32)>>,
    /// Events of the running node within the running window: key, slot.
    pub(crate) local: BinaryHeap<Reverse<(u64, u32)>>,
    /// Key of the running node's next event of this window outside `local`; the maximum if there is none.
    pub(crate) follows: u64,
    /// Events for nodes that other threads run; `None` if there are none.
    pub(crate) outbox: Option<Outbox<E>>,
}

/// Pool of the slots that hold events, linked in lists.
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

impl<E: Copy + Default> Slots<E> {
    /// Returns a slot that is in no list yet.
    #[inline(always)]
    fn vacant(&mut self) -> (u32, &mut Slot<E>) {
        if self.free as usize >= self.slots.len() {
            self.grow();
        }
        let at = self.free;
        let slot = &mut self.slots[at as usize];
        self.free = slot.next;
        (at, slot)
    }

    /// Adds a free slot. It does not take the event, so that events are constructed in place.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.free = self.slots.len() as u32;
        // Grows by a quarter, so that the capacity stays close to what is needed.
        if self.slots.len() == self.slots.capacity() {
            let more = (self.slots.len() / 4).max(64);
            memory::make_room(&mut self.slots, more);
        }
        self.slots.push(Slot { event: E::default(), next: NONE });
    }

    /// Number of slots, including free ones.
    pub(crate) fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    #[inline]
    pub(crate) fn event(&self, slot: u32) -> &E {
        &self.slots[slot as usize].event
    }

    /// Prefetches a slot that will be read soon.
    #[inline(always)]
    pub(crate) fn fetch(&self, slot: u32) {
        memory::fetch_all_at(&self.slots, slot as usize);
    }

    #[inline]
    pub(crate) fn next(&self, slot: u32) -> u32 {
        self.slots[slot as usize].next
    }

    /// Links the slot to another one. Returns the slot to which it was linked before.
    #[inline(always)]
    pub(crate) fn relink(&mut self, slot: u32, to: u32) -> u32 {
        std::mem::replace(&mut self.slots[slot as usize].next, to)
    }

    /// Frees the slot. Its event remains there until the next one is written.
    #[inline(always)]
    pub(crate) fn free(&mut self, at: u32) {
        self.slots[at as usize].next = self.free;
        self.free = at;
    }

    /// Returns the events of the list that begins with this slot.
    fn list(&self, first: u32) -> impl Iterator<Item = &E> {
        let next = |&slot: &u32| Some(self.next(slot)).filter(|&slot| slot != NONE);
        std::iter::successors(Some(first).filter(|&slot| slot != NONE), next).map(|slot| self.event(slot))
    }
}

/// Outgoing mail of one thread.
pub(crate) struct Outbox<E> {
    /// The thread that owns these windows, and the thread of each node.
    pub(crate) home: u8,
    pub(crate) owner_of: std::sync::Arc<[u8]>,
    /// Mail by receiver.
    pub(crate) boxes: Vec<Vec<E>>,
}

impl<E: Event> Windows<E> {
    /// Creates an empty queue. `look_ahead` is the minimum delay with which one node can affect another, 2 ps or more.
    /// `places` (see [`crate::World::places`]) are divided among `parts` parts.
    pub fn new(look_ahead: Time, places: usize, parts: usize) -> Windows<E> {
        assert!(look_ahead.ps() >= 2, "the look-ahead must be at least 2 ps");
        let widest = look_ahead.ps().min(1 << (u64::BITS - ORDER_BITS));
        // Each of several parts has fewer events in the same time.
        let narrow = (widest / WINDOWS_A_LOOK_AHEAD).max(NARROW) << parts.max(1).ilog2();
        let width = if places <= MANY_PLACES { narrow.min(widest) } else { widest };
        Windows {
            look_ahead,
            shift: width.ilog2(),
            current: 0,
            events: 0,
            crowd: (0, 0),
            ring: Box::new([NONE; RING]),
            occupied: [0; WORDS],
            slots: Slots { slots: Vec::new(), free: NONE },
            late: BinaryHeap::new(),
            local: BinaryHeap::new(),
            follows: u64::MAX,
            outbox: None,
        }
    }

    /// Returns the minimum delay with which one node can affect another.
    pub fn look_ahead(&self) -> Time {
        self.look_ahead
    }

    /// Adds to the number of processed events. Callers count events that run, and those that they process ahead of
    /// their time without pushing them.
    #[inline(always)]
    pub fn count(&mut self, events: u32) {
        self.events += u64::from(events);
    }

    /// Events processed, including those done ahead of their time.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Returns the window that contains a time.
    #[inline]
    pub(crate) fn window_of(&self, time: Time) -> u64 {
        time.ps() >> self.shift
    }

    /// Start of the running window.
    pub fn start(&self) -> Time {
        self.start_of(self.current)
    }

    /// Start of a window.
    pub(crate) fn start_of(&self, window: u64) -> Time {
        Time::from_ps(window.saturating_mul(1 << self.shift))
    }

    /// Returns the window that contains the last picosecond before `limit`; `None` if the limit is zero.
    pub(crate) fn last_before(&self, limit: Time) -> Option<u64> {
        limit.ps().checked_sub(1).map(|ps| self.window_of(Time::from_ps(ps)))
    }

    /// Number of windows in a round: those that one look-ahead spans. Time is divided into rounds from zero on. Events
    /// of a round affect other nodes in a later round at the earliest, so that nodes run a round without communication.
    pub(crate) fn round(&self) -> u64 {
        (self.look_ahead.ps() >> self.shift).min(STRETCH)
    }

    /// Returns the number of rounds from that window to the running one.
    pub(crate) fn rounds_since(&self, window: u64) -> u64 {
        self.current.saturating_sub(window) / self.round() + 1
    }

    /// Returns true if scanning all slots probably pays off for the running window: the last window held enough of all
    /// events. False if the window has been opened before, because free slots may then hold its times.
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowd.0 != self.current && self.was_crowded()
    }

    /// Returns true if the last window was crowded.
    pub(crate) fn was_crowded(&self) -> bool {
        let slots = self.slots.len();
        slots >= MANY_SLOTS && slots / CROWD <= self.crowd.1
    }

    /// Records the number of events in the running window.
    pub(crate) fn note_crowd(&mut self, events: u32) {
        self.crowd = (self.current, events);
    }

    /// Number of events of the last window with several.
    pub(crate) fn last_crowd(&self) -> u32 {
        self.crowd.1
    }

    /// Returns the number of the running window.
    pub(crate) fn current(&self) -> u64 {
        self.current
    }

    /// Returns the first slot of the next occupied window after `window`, and sets `window` to it; [`NONE`] if it is not
    /// among the next `reach` ones.
    #[inline(always)]
    pub(crate) fn first_after(&self, window: &mut u64, reach: u64) -> u32 {
        let next = *window + 1;
        let last = self.current + reach;
        if next > last {
            return NONE;
        }
        let bits = self.occupied[next as usize / 64 % WORDS] & u64::MAX << (next % 64);
        let found = next / 64 * 64 + u64::from(bits.trailing_zeros());
        *window = found.min(last + 1) - 1;
        if bits == 0 || found > last {
            return NONE;
        }
        *window = found;
        self.ring[found as usize % RING]
    }

    /// Returns true if the event in a slot lies in the running window, which is opened for the first time. Stale events
    /// in free slots are earlier.
    #[inline(always)]
    pub(crate) fn is_current(&self, slot: u32) -> bool {
        self.window_of(self.slots.event(slot).time()) == self.current
    }

    /// Returns true if a list contains exactly those events in the slots that lie in the running window.
    pub(crate) fn holds_what_is_in_slots(&self, first: u32) -> bool {
        let current = (0..self.slots.len()).filter(|&slot| self.is_current(slot)).count();
        self.slots.list(first).all(|event| self.window_of(event.time()) == self.current)
            && self.slots.list(first).count() == current
    }

    /// Returns the key of a slot's event within the running window.
    #[inline]
    pub(crate) fn key(&self, slot: u32) -> u64 {
        let event = self.slots.event(slot);
        let within = event.time().ps() & ((1 << self.shift) - 1);
        within << ORDER_BITS | u64::from(event.order())
    }

    /// Inserts an event. Its time must not be before that of the running event and, if it is for another node, must be
    /// at least a look-ahead later.
    #[inline(always)]
    pub fn push(&mut self, event: E) {
        let window = self.window_of(event.time());
        debug_assert!(window >= self.current, "an event in the past");
        let (at, slot) = self.slots.vacant();
        slot.event = event;
        // True if the event is neither in the running window nor beyond the ring.
        if (window - self.current).wrapping_sub(1) < RING as u64 - 1 {
            let bucket = window as usize % RING;
            slot.next = std::mem::replace(&mut self.ring[bucket], at);
            self.occupied[bucket / 64] |= 1 << (bucket % 64);
        } else {
            self.push_apart(window, at);
        }
    }

    // Slow path of `push`, for the two heaps: a separate function keeps the path into the ring short.
    #[inline(never)]
    fn push_apart(&mut self, window: u64, slot: u32) {
        if window == self.current {
            self.local.push(Reverse((self.key(slot), slot)));
        } else {
            self.late.push(Reverse((self.slots.event(slot).time().ps(), slot)));
        }
    }

    /// Returns true if the node that handles the current event has no other event at this time. An event for this time
    /// can then be handled at once instead of being pushed.
    #[inline]
    pub fn is_last_of(&self, now: Time) -> bool {
        let within = now.ps() & ((1 << self.shift) - 1);
        let later = |key: u64| key >> ORDER_BITS != within;
        later(self.follows) && self.local.peek().is_none_or(|&Reverse((key, _))| later(key))
    }

    /// Inserts an event for another node, which `node` returns. Its time must be at least a look-ahead away.
    #[inline(always)]
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
    fn put(&mut self, window: u64, slot: u32) {
        let bucket = window as usize % RING;
        let first = std::mem::replace(&mut self.ring[bucket], slot);
        self.slots.relink(slot, first);
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
    }

    /// Returns the next occupied window, including the running one; [`NEVER`] if there is none.
    #[inline(always)]
    pub(crate) fn first(&mut self) -> u64 {
        // Events beyond the ring are later than this word, because at most half of the ring runs between two scans.
        let bits = self.occupied[self.word()] & self.not_before();
        if bits != 0 { self.in_word(bits) } else { self.first_far() }
    }

    #[inline(never)]
    fn first_far(&mut self) -> u64 {
        self.draw_near();
        let bits = self.occupied[self.word()] & self.not_before();
        if bits != 0 {
            return self.in_word(bits);
        }
        // Wraps around once: the last word is the first one again, for its bits before the running window.
        for step in 1..=WORDS {
            let bits = self.occupied[(self.word() + step) % WORDS];
            if bits != 0 {
                return self.in_word(bits) + step as u64 * 64;
            }
        }
        // Events beyond the ring are later than all events in it.
        self.late.peek().map_or(NEVER, |Reverse((time, _))| time >> self.shift)
    }

    /// Advances to a window before which no event is pending. Returns the limit of the next advance, which may go up to
    /// that window. All windows before the limit lie within the ring, and events beyond the ring are later.
    pub(crate) fn begin(&mut self, window: u64) -> u64 {
        self.current = window;
        self.draw_near();
        window.saturating_add(STRETCH)
    }

    /// Advances to the next occupied window before `end`, and takes its list. Returns the first slot of the list;
    /// `None` if there is no such window.
    #[inline(always)]
    pub(crate) fn open_next(&mut self, end: u64) -> Option<u32> {
        let mut window = self.current;
        loop {
            let word = &mut self.occupied[window as usize / 64 % WORDS];
            let bits = *word >> (window % 64);
            if bits != 0 {
                window += u64::from(bits.trailing_zeros());
                if window >= end {
                    return None;
                }
                *word ^= 1 << (window % 64);
                self.current = window;
                return Some(std::mem::replace(&mut self.ring[window as usize % RING], NONE));
            }
            window = (window | 63) + 1;
            if window >= end {
                return None;
            }
        }
    }

    /// Returns the index of the word with the running window's bit.
    #[inline(always)]
    fn word(&self) -> usize {
        self.current as usize / 64 % WORDS
    }
    /// Returns the bits of the running window and of later ones in that word.
    #[inline(always)]
    fn not_before(&self) -> u64 {
        u64::MAX << (self.current % 64)
    }
    /// Returns the window of the lowest of these bits of that word.
    #[inline(always)]
    fn in_word(&self, bits: u64) -> u64 {
        self.current / 64 * 64 + u64::from(bits.trailing_zeros())
    }

    /// Moves events within the reach of the ring from the heap into it.
    fn draw_near(&mut self) {
        while let Some(&Reverse((time, slot))) = self.late.peek()
            && (time >> self.shift) - self.current < RING as u64
        {
            self.late.pop();
            self.put(time >> self.shift, slot);
        }
    }

    /// Puts an event of the running window back, for a later run.
    pub(crate) fn put_back(&mut self, slot: u32) {
        self.put(self.current, slot);
    }

    /// Puts all events of the running window back, before any of them runs.
    pub(crate) fn settle(&mut self) {
        while let Some(Reverse((_, slot))) = self.local.pop() {
            self.put(self.current, slot);
        }
    }

    /// Memory of the buckets and heaps, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let heaps = self.late.capacity() + self.local.capacity();
        self.slots.slots.capacity() * size_of::<Slot<E>>()
            + heaps * size_of::<Reverse<(u64, u32)>>()
            + size_of_val(&*self.ring)
            + size_of_val(&self.occupied)
    }

    /// Returns all pending events, including those in transit to another thread, in no particular order.
    pub fn pending(&self) -> impl Iterator<Item = &E> {
        let mail = self.outbox.iter().flat_map(|outbox| outbox.boxes.iter().flatten());
        let near = self.ring.iter().flat_map(|&first| self.slots.list(first));
        let beside = self.late.iter().chain(&self.local).map(|&Reverse((_, slot))| self.slots.event(slot));
        near.chain(beside).chain(mail)
    }
}
