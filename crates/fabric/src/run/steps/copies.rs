//! Multicast at work: switches copy frames where the paths to their receivers part.

use crate::run::state::crossbar::Crossbar;
use crate::run::state::event::{Event, Kind, Queued};
use crate::run::state::index::PortIx;
use crate::run::state::port::HEAD_BYTES;
use crate::run::state::world::Fabric;
use frame::{Frame, Heading, Route};
use units::Time;

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
