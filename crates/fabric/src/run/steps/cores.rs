//! Work of a host's cores on frames: those that it receives, and those that it sends.

use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::world::Fabric;
use frame::{Frame, Occupancy, Priority, TrafficClass};
use queueing::Refusal;
use units::{Amount, Time};

impl Fabric {
    /// Begins with the next frame of a core, if it is free, awake and at work.
    pub fn take_in(&mut self, port: PortIx, at: usize, now: Time, events: &mut EventQueue) {
        let Some(receiving) = self.hosts.receiving[port].as_deref_mut() else { return };
        let core = &mut receiving.cores[at];
        if core.serving.is_some() || !receiving.reading || core.waiting.is_empty() {
            return;
        }
        let next = match core.wake(now, &receiving.interrupt) {
            Ok(interrupt) => {
                let waiting = self.buffers.pool.pop(&mut core.waiting);
                let per_frame = receiving.time_for(&waiting);
                Some(receiving.cores[at].begin(waiting, interrupt, per_frame, now))
            }
            Err(wakes) => wakes,
        };
        if let Some(next) = next {
            events.push(Event::bare(Kind::Served, next, port));
        }
    }

    /// A frame leaves a host through a port. A core works on it first, if sending costs anything there.
    #[inline(never)]
    pub fn depart(&mut self, egress: PortIx, frame: Frame, now: Time, events: &mut EventQueue) {
        let receiving = self.hosts.receiving.get(egress).and_then(Option::as_deref);
        if receiving.is_none_or(|receiving| receiving.time_per_sent.is_none()) {
            return self.forward(egress, frame, None, now, events);
        }
        let class = self.links.ports[egress].classes.class(frame.priority());
        let memory = self.nodes[self.node_of[egress]].memory();
        let waits = |limit| self.waits_before_nic(limit, egress, class);
        if memory.limited && memory.buffer.admit(frame.bytes, waits).is_err() {
            return self.lose(egress, class, &frame, None, Cause::NicFull, now);
        }
        let Some(receiving) = self.hosts.receiving[egress].as_deref_mut() else { return };
        receiving.prepared[class.at()].add(frame.bytes);
        let at = receiving.core_of(frame.path);
        let core = &mut receiving.cores[at];
        core.sleeps_until = None;
        core.count += 1;
        self.buffers.pool.push(&mut core.waiting, &frame, now, None);
        self.take_in(egress, at, now, events);
    }

    /// What waits within a limit where a frame of this class would leave a host, in its queue that with its cores included.
    pub fn waits_before_nic(&self, limit: Refusal, egress: PortIx, class: TrafficClass) -> Occupancy {
        let mut waits = self.waits_within(limit, egress, class);
        if limit == Refusal::Queue
            && let Some(receiving) = self.hosts.receiving.get(egress).and_then(Option::as_deref)
        {
            waits.join(receiving.prepared(class));
        }
        waits
    }

    /// What a receive buffer holds of a priority, and its limit.
    pub fn received_so_far(&self, port: PortIx, priority: Priority) -> (Occupancy, Option<Amount>) {
        let receiving = self.hosts.receiving.get(port).and_then(Option::as_deref);
        receiving.map_or_else(Default::default, |receiving| {
            (receiving.occupancy[receiving.group(priority)], receiving.buffer.map(Amount::Bytes))
        })
    }
}
