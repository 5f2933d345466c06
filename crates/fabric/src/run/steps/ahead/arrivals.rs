//! Arrivals at hosts that only count what comes to them.
//!
//! Where no endpoint answers and nothing takes time, a frame is only counted at its destination, and in the series of its
//! flow. It needs no event for that: it is counted as of its arrival when its transmission begins, if the run will not
//! come back before ([`Fabric::horizon`]). Nobody looks at the host before then. The frames of a receiver come through
//! one link, and are counted in their order: while one of them is on its way as an event, the others are as well.
//!
//! Which ports lead to such hosts is known when the fabric is built (`build/ahead/arrivals.rs`).

use crate::run::state::index::PortIx;
use crate::run::state::world::Fabric;
use frame::{Flags, Frame, PathId};
use measure::Passage;
use units::Time;

impl Fabric {
    /// A frame goes to a host that only counts what comes, if it means nothing to it. Whether it is counted. Not told of the
    /// frame as a whole, so that it need not lie in memory.
    #[inline(never)]
    pub fn count_ahead(
        &mut self,
        egress: PortIx,
        path: PathId,
        created: Time,
        arrives: Time,
        (bytes, flags): (u16, Flags),
    ) -> bool {
        let (is_plain, in_time) = (flags.is_plain(), arrives < self.horizon);
        let receiver = self.hosts.receiver(path);
        if is_plain && in_time && receiver.expected == 0 {
            let frame = Frame { created, path, bytes, flags, ..Frame::default() };
            receiver.note(&frame, arrives);
            receiver.count(&frame, arrives);
            self.ledger.delivered += 1;
            if !self.probes.arrived.is_empty() {
                let took = self.links.ports[egress].clock.span_ceil(u64::from(bytes));
                let receiver = self.hosts.receiver_of(path);
                self.probes.arrives(receiver, Passage { end: arrives, took, bits: u64::from(bytes) * 8 });
            }
            return true;
        }
        // Others of its receiver must not overtake it.
        receiver.expected += u32::from(is_plain || flags.is_tagged());
        false
    }

    /// A frame that is only counted has arrived: the hash of its receiver shows it, whoever counts it when.
    #[inline(always)]
    pub fn note_received(&mut self, frame: &Frame, now: Time) {
        self.is_here(frame);
        self.hosts.receiver(frame.path).note(frame, now);
    }

    /// A frame has arrived that others of its receiver may have waited for.
    #[inline(always)]
    pub fn is_here(&mut self, frame: &Frame) {
        let receiver = self.hosts.receiver(frame.path);
        receiver.expected = receiver.expected.saturating_sub(1);
    }
}
