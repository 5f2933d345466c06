//! Multicast at work: switches copy frames where the paths to their receivers part.
//!
//! A frame for several receivers follows the first of the paths of its flow (`Heading::Tree`). Where others leave it
//! switches copy it: each copy follows the first path of those that go on together, and is a frame like any other from there on,
//! with the credits of its own output to take. The frame lies in one slot of the port that it came in through,
//! however many copies wait, and the slot is given back when the last of them has begun to leave; at a crossbar when the
//! last has left the input, which sends one at a time. The word of a copy says which slot that is.
//!
//! A switch that cuts through copies a frame as soon as its head is there, unless one of the ways out is faster than the
//! way in: then all copies wait for the whole frame.
//!
//! Not modelled: a crossbar that sends a frame to several outputs at once.

use crate::run::crossbar::Crossbar;
use crate::run::event::{Event, Kind, Queued};
use crate::run::index::PortIx;
use crate::run::port::HEAD_BYTES;
use crate::run::world::Fabric;
use frame::{Frame, Heading, PathId, Route};
use std::collections::VecDeque;
use std::sync::Arc;
use typed_index_collections::TiVec;
use units::Time;

/// A way that copies take: its first path, and where it goes on in the table of hops.
pub(crate) type Branch = (PathId, u32);

/// Where paths of a flow part. The same for all parts of the fabric.
#[derive(Debug, Default)]
pub(crate) struct Forks {
    /// Places in the table of hops, sorted, with the end of their branches in `branches`: each begins where the one before
    /// ends.
    pub at: Vec<(u32, u32)>,
    pub branches: Vec<Branch>,
}

/// A frame that lies in a slot of an input.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Copies that have not begun to leave.
    left: u32,
    /// It has taken its credits.
    counted: bool,
}

/// The slots of an input, in the order in which the frames came. Those before a frame that is still there are empty.
#[derive(Debug, Default)]
struct Slots {
    /// The number of the first; numbers go around.
    first: u32,
    slots: VecDeque<Slot>,
}

/// What is known of copies: nothing where no flow has several receivers.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    pub forks: Arc<Forks>,
    /// By port.
    inputs: TiVec<PortIx, Slots>,
    /// By path, how many copies were made of its frames since measuring began.
    made: Vec<u64>,
}

impl Forks {
    /// The branches of a place, as a range of all; `None`: the paths go on together.
    fn of(&self, hop: u32) -> Option<std::ops::Range<usize>> {
        let at = self.at.binary_search_by_key(&hop, |fork| fork.0).ok()?;
        let begin = at.checked_sub(1).map_or(0, |before| self.at[before].1);
        Some(begin as usize..self.at[at].1 as usize)
    }
}

impl Slots {
    /// A frame comes, of which so many copies will be made.
    fn enter(&mut self, copies: u32) -> u32 {
        self.slots.push_back(Slot { left: copies, counted: false });
        self.first.wrapping_add(self.slots.len() as u32 - 1)
    }
    fn slot(&mut self, number: u32) -> &mut Slot {
        &mut self.slots[number.wrapping_sub(self.first) as usize]
    }
    /// One of its copies leaves. Whether it was the last.
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
    /// Nothing was copied yet in a part with so many ports; so many paths there are in the whole.
    pub fn new(forks: Arc<Forks>, ports: usize, paths: usize) -> Copies {
        let mut inputs = TiVec::new();
        inputs.resize_with(ports, Slots::default);
        Copies { forks, inputs, made: vec![0; paths] }
    }
    /// Copies made of the frames of a path.
    pub fn made(&self, path: usize) -> u64 {
        self.made.get(path).copied().unwrap_or_default()
    }
    /// Begins measuring.
    pub fn restart(&mut self) {
        self.made.fill(0);
    }
    /// A copy takes the room of its frame, unless another has. Whether it does.
    pub fn takes_room(&mut self, ingress: PortIx, number: u32) -> bool {
        !std::mem::replace(&mut self.inputs[ingress].slot(number).counted, true)
    }
    /// A copy leaves the room of its frame. Whether it was the last.
    pub fn leaves_room(&mut self, ingress: PortIx, number: u32) -> bool {
        self.inputs[ingress].leave(number)
    }
    /// Bytes of its tables.
    pub fn memory_bytes(&self) -> usize {
        let slots: usize = self.inputs.iter().map(|own| own.slots.capacity() * size_of::<Slot>()).sum();
        slots + self.inputs.capacity() * size_of::<Slots>() + self.made.capacity() * size_of::<u64>()
    }
    /// Bytes of the tables that all parts have together.
    pub fn shared_bytes(&self) -> usize {
        self.forks.at.capacity() * size_of::<(u32, u32)>()
            + self.forks.branches.capacity() * size_of::<Branch>()
    }
}

impl Fabric {
    /// A frame that switches may copy is at a switch, as a whole: it goes on to all of its receivers.
    #[inline(never)]
    pub fn copy_on(&mut self, ingress: PortIx, frame: Frame, now: Time, windows: &mut Queued) {
        let Heading::Tree(hop) = frame.route.heading() else { return };
        let fork = self.copies.forks.of(hop);
        let ways = fork.as_ref().map_or(1, ExactSizeIterator::len);
        let word = self.copies.inputs[ingress].enter(ways as u32);
        self.ledger.copied += ways as u64 - 1;
        self.copies.made[frame.path.at()] += ways as u64 - 1;
        for way in 0..ways {
            let (path, hop) = match &fork {
                Some(fork) => self.copies.forks.branches[fork.start + way],
                None => (frame.path, hop),
            };
            let copy = Frame { path, route: Route::tree(hop + 1), word, ..frame };
            self.forward(self.routes.port_at(hop), copy, Some(ingress), now, windows);
        }
    }

    /// As `copy_on`, when its head is there.
    #[inline(never)]
    pub fn copy_head(&mut self, ingress: PortIx, frame: Frame, now: Time, windows: &mut Queued) {
        if !self.is_outrun(ingress, frame.route) {
            return self.copy_on(ingress, frame, now, windows);
        }
        let rest = u64::from(frame.bytes - frame.bytes.min(HEAD_BYTES));
        let at = now + self.links.ports[ingress].clock.span_floor(rest);
        windows.push(Event::arrival(Kind::Frame, at, ingress, frame));
    }

    /// Whether a link that a frame goes on to is faster than the one that it comes over.
    fn is_outrun(&self, ingress: PortIx, route: Route) -> bool {
        let Heading::Tree(hop) = route.heading() else { return false };
        let rate = |port: PortIx| self.links.cold[port].rate;
        let outruns = |hop: u32| rate(self.routes.port_at(hop)) > rate(ingress);
        match self.copies.forks.of(hop) {
            Some(fork) => self.copies.forks.branches[fork].iter().any(|&(_, hop)| outruns(hop)),
            None => outruns(hop),
        }
    }
}

impl Fabric {
    /// What must hold whenever nothing is running: every copy at a switch that has not begun to leave, or at the input of a
    /// crossbar, has its part of a slot, and no slot is held for any other.
    pub fn check_slots(&self) {
        if self.copies.inputs.is_empty() {
            return;
        }
        let at_output = self.links.ports.keys().filter(|&port| {
            let node = &self.nodes[self.node_of[port]];
            !node.is_host && node.architecture.crossbar().is_none()
        });
        let queues = at_output.flat_map(|port| self.links.ports[port].queues());
        let waiting = queues.flat_map(|queue| self.buffers.frames(queue));
        let lists = self.crossbars().flat_map(Crossbar::lists);
        let inside = lists.flat_map(|list| self.buffers.pool.iter(list));
        let copies = waiting.chain(inside).filter(|waiting| waiting.frame.route.is_tree()).count();
        let slots = self.copies.inputs.iter().flat_map(|own| &own.slots);
        let left: u64 = slots.map(|slot| u64::from(slot.left)).sum();
        assert!(
            copies as u64 == left,
            "{copies} copies wait, and slots are held for {left}: this is a fault of the simulator"
        );
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
