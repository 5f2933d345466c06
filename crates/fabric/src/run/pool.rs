//! Waiting frames: linked lists in one pool of slots.
//!
//! Queues come and go by the thousand and most are empty; a pool keeps what waits close together and
//! allocates nothing once it has grown to the largest number that ever waited at once.

use frame::Frame;
use units::Time;

/// No slot.
pub(crate) const NIL: u32 = u32::MAX;

/// A frame that waits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    pub frame: Frame,
    /// Since when.
    pub since: Time,
    /// When its transmission begins, once that is certain.
    pub leaves: Time,
    /// The port it came in through; [`NIL`] if it began its way here.
    pub ingress: u32,
    next: u32,
}

/// A list of waiting frames, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

impl List {
    pub const EMPTY: List = List { head: NIL, tail: NIL };

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }
    /// The first slot; [`NIL`] if there is none.
    #[inline]
    pub fn head(&self) -> u32 {
        self.head
    }
}

/// The slots of all lists.
#[derive(Debug)]
pub(crate) struct Pool {
    slots: Vec<Waiting>,
    free: u32,
}

impl Pool {
    pub fn new() -> Pool {
        Pool { slots: Vec::new(), free: NIL }
    }

    #[inline]
    pub fn push(&mut self, list: &mut List, frame: &Frame, since: Time, ingress: u32) {
        self.push_leaving(list, frame, since, Time::NEVER, ingress);
    }
    /// A frame whose transmission begins at a known time.
    #[inline(always)]
    pub fn push_leaving(&mut self, list: &mut List, frame: &Frame, since: Time, leaves: Time, ingress: u32) {
        if self.free == NIL {
            self.grow();
        }
        let slot = self.free;
        let place = &mut self.slots[slot as usize];
        self.free = place.next;
        *place = Waiting { frame: *frame, since, leaves, ingress, next: NIL };
        if list.head == NIL {
            list.head = slot;
        } else {
            self.slots[list.tail as usize].next = slot;
        }
        list.tail = slot;
    }

    /// One free slot more. By a quarter at a time, so that what is held is near what is needed.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.free = self.slots.len() as u32;
        if self.slots.len() == self.slots.capacity() {
            let more = (self.slots.len() / 4).max(64);
            memory::make_room(&mut self.slots, more);
        }
        self.slots.push(Waiting { next: NIL, ..Waiting::default() });
    }

    /// The first of a list that is not empty.
    #[inline(always)]
    pub fn pop(&mut self, list: &mut List) -> Waiting {
        let slot = list.head;
        let place = &mut self.slots[slot as usize];
        let waiting = *place;
        list.head = waiting.next;
        place.next = self.free;
        self.free = slot;
        waiting
    }

    /// Moves the first frame of a list that is not empty to the end of another, as it is.
    pub fn move_first(&mut self, from: &mut List, to: &mut List) {
        let slot = from.head;
        from.head = std::mem::replace(&mut self.slots[slot as usize].next, NIL);
        if to.head == NIL {
            to.head = slot;
        } else {
            self.slots[to.tail as usize].next = slot;
        }
        to.tail = slot;
    }

    /// Fetches the first of a list.
    #[inline(always)]
    pub fn fetch_first(&self, list: &List) {
        memory::fetch_all_at(&self.slots, list.head as usize);
    }
    /// Fetches the last of a list.
    #[inline(always)]
    pub fn fetch_last(&self, list: &List) {
        memory::fetch_all_at(&self.slots, list.tail as usize);
    }
    /// Fetches what is behind one that is the first of a list.
    #[inline(always)]
    pub fn fetch_second(&self, first: &Waiting) {
        memory::fetch_all_at(&self.slots, first.next as usize);
    }
    /// What lies in a slot; nothing in [`NIL`].
    #[inline(always)]
    pub fn get(&self, slot: u32) -> Option<&Waiting> {
        self.slots.get(slot as usize)
    }

    /// The last of a list.
    pub fn last(&self, list: &List) -> Option<&Waiting> {
        self.slots.get(list.tail as usize).filter(|_| !list.is_empty())
    }

    /// The transmission of a waiting frame will begin then. The frame, and the slot behind its own.
    #[inline]
    pub fn commit(&mut self, slot: u32, leaves: Time) -> (Frame, u32) {
        let waiting = &mut self.slots[slot as usize];
        waiting.leaves = leaves;
        (waiting.frame, waiting.next)
    }
    /// Whether the frame in a slot has a tag.
    #[inline]
    pub fn is_tagged(&self, slot: u32) -> bool {
        self.slots[slot as usize].frame.flags.is_tagged()
    }
    /// The first of a list that is not empty, taken out if its transmission has begun by `now`.
    #[inline(always)]
    pub fn pop_left(&mut self, list: &mut List, now: Time) -> Option<&Waiting> {
        let slot = list.head;
        let waiting = &mut self.slots[slot as usize];
        if waiting.leaves > now {
            return None;
        }
        list.head = waiting.next;
        waiting.next = self.free;
        self.free = slot;
        Some(waiting)
    }

    /// The first of a list that is not empty.
    pub fn first(&self, list: &List) -> &Waiting {
        &self.slots[list.head as usize]
    }

    /// The first frame of a list that is not empty.
    #[inline]
    pub fn head(&self, list: &List) -> &Frame {
        &self.slots[list.head as usize].frame
    }

    /// Frames that wait in all lists.
    pub fn used(&self) -> u64 {
        let next = |&slot: &u32| Some(self.slots[slot as usize].next).filter(|&slot| slot != NIL);
        let free = std::iter::successors(Some(self.free).filter(|&slot| slot != NIL), next).count();
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
    /// The frames of a list from a slot of it on, each with its slot; none from [`NIL`].
    pub fn from(&self, slot: u32) -> impl Iterator<Item = (u32, &Waiting)> {
        let mut next = slot;
        std::iter::from_fn(move || {
            let (slot, waiting) = (next, self.slots.get(next as usize)?);
            next = waiting.next;
            Some((slot, waiting))
        })
    }
    /// The slot behind one in its list.
    pub fn behind(&self, slot: u32) -> u32 {
        self.slots[slot as usize].next
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
                    NIL,
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
