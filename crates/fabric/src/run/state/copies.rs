//! Multicast: switches copy frames where the paths to their receivers diverge.
//!
//! A frame for several receivers follows the first path of its flow (`Heading::Tree`). Switches copy it where other
//! paths diverge. Each copy follows the first of the paths that continue together. From there it is an ordinary frame,
//! which takes credits of its own output. The frame occupies one slot of its ingress port, however many copies wait.
//! The slot is freed when the last copy starts to leave, or, at a crossbar, when the last copy has left the input,
//! which sends one at a time. The word of a copy holds the number of the slot.
//!
//! A cut-through switch copies a frame as soon as its head has arrived, unless an egress link is faster than the
//! ingress link: then all copies wait for the whole frame.
//!
//! Not modelled: a crossbar that sends a frame to several outputs at once.

use crate::run::state::index::PortIx;
use crate::run::state::own::NodeLocal;
use frame::PathId;
use std::collections::VecDeque;
use std::sync::Arc;

/// A branch of copies: its first path, and the place in the table of hops where it continues.
pub(crate) type Branch = (PathId, u32);

/// Forks of the paths of flows. Equal in all parts of the fabric.
#[derive(Debug, Default)]
pub(crate) struct Forks {
    /// Places in the table of hops, sorted, each with the end of its branches in `branches`; they begin at the end of
    /// the previous entry.
    pub at: Vec<(u32, u32)>,
    pub branches: Vec<Branch>,
}

/// A frame that occupies a slot of an input.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) struct Slot {
    /// Number of copies that have not started to leave.
    pub(in crate::run) left: u32,
    /// True if the frame has taken its credits.
    counted: bool,
}

/// The slots of an input, in order of arrival. Slots before the oldest frame that is still present are freed.
#[derive(Debug, Default)]
pub(in crate::run) struct Slots {
    /// Number of the first slot; numbers wrap around.
    first: u32,
    pub(in crate::run) slots: VecDeque<Slot>,
}

/// State of copies; empty if no flow has several receivers.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    pub forks: Arc<Forks>,
    /// Slots of each input port.
    pub(in crate::run) inputs: NodeLocal<PortIx, Slots>,
    /// By path, number of copies made of its frames since measurement started.
    pub(in crate::run) made: Vec<u64>,
}

impl Forks {
    /// Returns the range of branches of a place in the table of hops; `None` if the paths do not diverge there.
    pub(in crate::run) fn of(&self, hop: u32) -> Option<std::ops::Range<usize>> {
        let at = self.at.binary_search_by_key(&hop, |fork| fork.0).ok()?;
        let begin = at.checked_sub(1).map_or(0, |before| self.at[before].1);
        Some(begin as usize..self.at[at].1 as usize)
    }
}

impl Slots {
    /// Stores a frame of which this many copies will be made.
    pub(in crate::run) fn enter(&mut self, copies: u32) -> u32 {
        self.slots.push_back(Slot { left: copies, counted: false });
        self.first.wrapping_add(self.slots.len() as u32 - 1)
    }
    pub(in crate::run) fn slot(&mut self, number: u32) -> &mut Slot {
        &mut self.slots[number.wrapping_sub(self.first) as usize]
    }
    /// Counts a copy that leaves. Returns true if it was the last.
    fn leave(&mut self, number: u32) -> bool {
        let slot = self.slot(number);
        slot.left -= 1;
        let last = slot.left == 0;
        while self.slots.front().is_some_and(|slot| slot.left == 0) {
            self.slots.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        last
    }
}

impl Copies {
    /// Returns true if switches copy frames.
    pub fn is_used(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// Creates the state of a part with this many ports, without copies; `paths` is the number of paths in the whole
    /// fabric.
    pub fn new(forks: Arc<Forks>, ports: usize, paths: usize) -> Copies {
        let inputs = (0..ports).map(|_| Slots::default()).collect();
        Copies { forks, inputs, made: vec![0; paths] }
    }
    /// Number of copies made of the frames of a path.
    pub fn made(&self, path: usize) -> u64 {
        self.made.get(path).copied().unwrap_or_default()
    }
    /// Restarts measurement.
    pub fn restart(&mut self) {
        self.made.fill(0);
    }
    /// Takes the buffer space of the frame, for its first copy only. Returns true if this copy took it.
    pub fn takes_room(&mut self, ingress: PortIx, number: u32) -> bool {
        !std::mem::replace(&mut self.inputs[ingress].slot(number).counted, true)
    }
    /// Counts a copy that leaves the buffer space of its frame. Returns true if it was the last.
    pub fn leaves_room(&mut self, ingress: PortIx, number: u32) -> bool {
        self.inputs[ingress].leave(number)
    }
    /// Bytes of its tables.
    pub fn memory_bytes(&self) -> usize {
        let slots: usize =
            self.inputs.each().iter().map(|own| own.slots.capacity() * size_of::<Slot>()).sum();
        slots + self.inputs.memory_bytes() + self.made.capacity() * size_of::<u64>()
    }
    /// Bytes of the tables that all parts share.
    pub fn shared_bytes(&self) -> usize {
        self.forks.at.capacity() * size_of::<(u32, u32)>()
            + self.forks.branches.capacity() * size_of::<Branch>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_when_the_last_copy_has_left_whoever_leaves_first() {
        let mut slots = Slots { first: u32::MAX, ..Slots::default() };
        let (one, two) = (slots.enter(2), slots.enter(1));
        assert_eq!((one, two), (u32::MAX, 0));
        assert_eq!([slots.leave(one), slots.leave(two), slots.leave(one)], [false, true, true]);
        assert_eq!((slots.first, slots.slots.len()), (1, 0));
        let mut copies = Copies::new(Arc::default(), 1, 1);
        let number = copies.inputs[PortIx::new(0)].enter(2);
        assert_eq!([(); 2].map(|()| copies.takes_room(PortIx::new(0), number)), [true, false]);
    }

    #[test]
    fn forks_are_found_by_their_place() {
        let branches: Vec<Branch> = (0..5).map(|path| (PathId(path), path * 10)).collect();
        let forks = Forks { at: vec![(4, 2), (9, 5)], branches };
        assert_eq!([4, 9, 5].map(|hop| forks.of(hop)), [Some(0..2), Some(2..5), None]);
    }
}
