//! Queued frames: linked lists in one pool of slots.
//!
//! Thousands of queues are used over a run, and most are empty. A pool keeps queued frames close together and allocates
//! nothing once it has grown to the maximum number of queued frames.

use crate::run::state::index::{PortIx, SlotIx};
use frame::Frame;
use typed_index_collections::TiVec;
use units::Time;

/// A queued frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    pub frame: Frame,
    /// Start of its wait.
    pub since: Time,
    /// Start of its transmission, once known.
    pub leaves: Time,
    /// The port at the other side of the node. For a frame queued for egress: its ingress port, `None` if it originates
    /// at this node. For a frame at an input of a crossbar: its egress port.
    pub across: Option<PortIx>,
    next: Option<SlotIx>,
}

/// A list of queued frames, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: Option<SlotIx>,
    /// The last slot; meaningless if the list is empty.
    tail: Option<SlotIx>,
}

impl List {
    pub const EMPTY: List = List { head: None, tail: None };

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.is_none()
    }
    /// Returns the first slot.
    #[inline]
    pub fn head(&self) -> Option<SlotIx> {
        self.head
    }
    /// Returns the first slot of a non-empty list.
    #[inline(always)]
    fn first(&self) -> SlotIx {
        self.head.expect("nothing waits in an empty list: this is a bug in the simulator")
    }
}

/// The slots of all lists.
#[derive(Debug)]
pub(crate) struct Pool {
    slots: TiVec<SlotIx, Waiting>,
    /// The first free slot; free slots are linked.
    free: Option<SlotIx>,
}

impl Pool {
    pub fn new() -> Pool {
        Pool { slots: TiVec::new(), free: None }
    }

    #[inline]
    pub fn push(&mut self, list: &mut List, frame: &Frame, since: Time, across: Option<PortIx>) {
        self.push_leaving(list, frame, since, Time::NEVER, across);
    }
    /// Appends a frame whose transmission starts at a known time.
    #[inline(always)]
    pub fn push_leaving(
        &mut self,
        list: &mut List,
        frame: &Frame,
        since: Time,
        leaves: Time,
        across: Option<PortIx>,
    ) {
        let slot = self.free.unwrap_or_else(|| self.grow());
        let place = &mut self.slots[slot];
        self.free = place.next;
        *place = Waiting { frame: *frame, since, leaves, across, next: None };
        self.append(list, slot);
    }

    /// Appends a slot to a list.
    #[inline(always)]
    fn append(&mut self, list: &mut List, slot: SlotIx) {
        match list.tail {
            Some(tail) if !list.is_empty() => self.slots[tail].next = Some(slot),
            _ => list.head = Some(slot),
        }
        list.tail = Some(slot);
    }

    /// Adds free slots, increasing the pool by a quarter, so that memory use stays near the need.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> SlotIx {
        let slots = &mut self.slots.raw;
        if slots.len() == slots.capacity() {
            let more = (slots.len() / 4).max(64);
            memory::make_room(slots, more);
        }
        self.slots.push_and_get_key(Waiting::default())
    }

    /// Removes the first frame of a non-empty list.
    #[inline(always)]
    pub fn pop(&mut self, list: &mut List) -> Waiting {
        let slot = list.first();
        let place = &mut self.slots[slot];
        let waiting = *place;
        list.head = waiting.next;
        place.next = self.free;
        self.free = Some(slot);
        waiting
    }

    /// Moves the first frame of a non-empty list to the end of another, unchanged.
    pub fn move_first(&mut self, from: &mut List, to: &mut List) {
        let slot = from.first();
        from.head = self.slots[slot].next.take();
        self.append(to, slot);
    }

    /// Prefetches the first frame of a list.
    #[inline(always)]
    pub fn fetch_first(&self, list: &List) {
        self.fetch_slot(list.head);
    }
    /// Prefetches the last frame of a list.
    #[inline(always)]
    pub fn fetch_last(&self, list: &List) {
        self.fetch_slot(list.tail);
    }
    /// Prefetches the second frame of a list.
    #[inline(always)]
    pub fn fetch_second(&self, first: &Waiting) {
        self.fetch_slot(first.next);
    }
    #[inline(always)]
    fn fetch_slot(&self, slot: Option<SlotIx>) {
        if let Some(slot) = slot {
            memory::fetch_all_at(&self.slots.raw, slot.at());
        }
    }
    /// Returns the frame in a slot.
    #[inline(always)]
    pub fn get(&self, slot: SlotIx) -> &Waiting {
        &self.slots[slot]
    }

    /// The last frame of a list.
    pub fn last(&self, list: &List) -> Option<&Waiting> {
        list.tail.filter(|_| !list.is_empty()).map(|tail| &self.slots[tail])
    }

    /// The last frame of a list, mutably.
    pub fn last_mut(&mut self, list: &List) -> Option<&mut Waiting> {
        let tail = list.tail.filter(|_| !list.is_empty())?;
        Some(&mut self.slots[tail])
    }

    /// Sets the start of a queued frame's transmission. Returns the frame, and the next slot in its list.
    #[inline]
    pub fn commit(&mut self, slot: SlotIx, leaves: Time) -> (Frame, Option<SlotIx>) {
        let waiting = &mut self.slots[slot];
        waiting.leaves = leaves;
        (waiting.frame, waiting.next)
    }
    /// Returns true if the frame in a slot has a tag.
    #[inline]
    pub fn is_tagged(&self, slot: SlotIx) -> bool {
        self.slots[slot].frame.flags.is_tagged()
    }
    /// The first frame of a non-empty list; it is removed if its transmission has started by `now`.
    #[inline(always)]
    pub fn pop_left(&mut self, list: &mut List, now: Time) -> Option<&Waiting> {
        let slot = list.first();
        let waiting = &mut self.slots[slot];
        if waiting.leaves > now {
            return None;
        }
        list.head = waiting.next;
        waiting.next = self.free;
        self.free = Some(slot);
        Some(waiting)
    }

    /// The first entry of a non-empty list.
    pub fn first(&self, list: &List) -> &Waiting {
        &self.slots[list.first()]
    }

    /// The first frame of a non-empty list.
    #[inline]
    pub fn head(&self, list: &List) -> &Frame {
        &self.slots[list.first()].frame
    }

    /// Number of frames in all lists.
    pub fn used(&self) -> u64 {
        let free = std::iter::successors(self.free, |&slot| self.slots[slot].next).count();
        (self.slots.len() - free) as u64
    }

    /// Bytes of all slots.
    pub fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Waiting>()
    }

    /// The frames of a list, from the first.
    pub fn iter(&self, list: &List) -> impl Iterator<Item = &Waiting> {
        self.from(list.head).map(|(_, waiting)| waiting)
    }
    /// The frames of a list from this slot on, each with its slot.
    pub fn from(&self, slot: Option<SlotIx>) -> impl Iterator<Item = (SlotIx, &Waiting)> {
        let mut next = slot;
        std::iter::from_fn(move || {
            let slot = next?;
            let waiting = &self.slots[slot];
            next = waiting.next;
            Some((slot, waiting))
        })
    }
    /// The next slot in a list.
    pub fn behind(&self, slot: SlotIx) -> Option<SlotIx> {
        self.slots[slot].next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_order_and_slots_are_used_again() {
        let frame = |bytes| Frame { bytes, ..Frame::default() };
        let mut pool = Pool::new();
        let (mut a, mut b) = (List::EMPTY, List::EMPTY);
        for round in 0..10 {
            for bytes in 0..5 {
                pool.push(
                    if bytes % 2 == 0 { &mut a } else { &mut b },
                    &frame(round * 10 + bytes),
                    Time::ZERO,
                    None,
                );
            }
            assert_eq!(pool.iter(&a).map(|w| w.frame.bytes % 10).collect::<Vec<_>>(), [0, 2, 4]);
            for bytes in [0, 2, 4] {
                assert_eq!(pool.pop(&mut a).frame.bytes, round * 10 + bytes);
            }
            assert!(a.is_empty());
            assert_eq!(pool.pop(&mut b).frame.bytes, round * 10 + 1);
            assert_eq!(pool.pop(&mut b).frame.bytes, round * 10 + 3);
        }
        assert_eq!(pool.slots.len(), 5);
    }
}
