//! Hosts whose work on frames takes time: those that arrive, and those that they send. They send pauses because of it.

use crate::run::state::event::{Event, Kind, Queued};
use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::receive::is_sent;
use crate::run::state::world::Fabric;
use crate::spec::CoreChange;
use flow_control::pfc::Counted;
use frame::{Frame, Occupancy, Priority, TrafficClass};
use queueing::Refusal;
use units::{Amount, Time};

impl Fabric {
    /// A frame has arrived at a host, some of which take their time.
    #[inline(never)]
    pub fn receive(&mut self, ingress: PortIx, frame: Frame, now: Time, windows: &mut Queued) {
        let Some(receiving) = self.hosts.receiving[ingress].as_deref_mut() else {
            self.deliver(&frame, now, windows);
            self.credits_arrived(ingress, &frame, None, now);
            return self.credits_free(ingress, &frame, now, windows);
        };
        let group = receiving.group(frame.priority);
        let occupancy = &mut receiving.occupancy[group];
        if receiving.buffer.is_some_and(|buffer| !occupancy.has_room(Amount::Bytes(buffer), frame.bytes)) {
            self.lose_received(ingress, &frame, now);
            return;
        }
        occupancy.add(frame.bytes);
        let level = *occupancy;
        self.credits_arrived(ingress, &frame, None, now);
        let Some(receiving) = self.hosts.receiving[ingress].as_deref_mut() else { return };
        let at = receiving.core_of(frame.path);
        let core = &mut receiving.cores[at];
        self.buffers.pool.push(&mut core.waiting, &frame, now, Some(ingress));
        core.count += 1;
        let node = self.node_of[ingress];
        if self.nodes[node].pause_sender.is_some() {
            // A pause that begins with this frame counts it with all that waits.
            self.tell_receiver(ingress, group, &frame);
            let counted = self.count_in(&frame, Some(ingress), now);
            if counted == Counted::AtXoff {
                self.send_xoff(&frame, ingress, None, now, windows);
            }
            assert!(
                counted != Counted::Full,
                "a receive buffer and its counter differ: this is a fault of the simulator"
            );
        } else {
            self.tell_receiver(ingress, group, &frame);
            self.probes.counter_holds(ingress, group, now, || level);
        }
        self.take_in(ingress, at, now, windows);
    }

    /// Begins with the next frame of a core, if it is free, awake and at work.
    fn take_in(&mut self, port: PortIx, at: usize, now: Time, windows: &mut Queued) {
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
            windows.push(Event::bare(Kind::Served, next, port));
        }
    }

    /// Cores of a port are done with a frame, or woken.
    #[inline(never)]
    pub fn served(&mut self, port: PortIx, now: Time, windows: &mut Queued) {
        let cores = self.hosts.receiving[port].as_deref().map_or(0, |all| all.cores.len());
        for at in 0..cores {
            self.finish(port, at, now, windows);
            self.take_in(port, at, now, windows);
        }
    }

    /// A core is done with its frame, if it is.
    fn finish(&mut self, port: PortIx, at: usize, now: Time, windows: &mut Queued) {
        let Some(receiving) = self.hosts.receiving[port].as_deref_mut() else { return };
        let core = &mut receiving.cores[at];
        let took = core.takes;
        let Some(waiting) = core.serving.take_if(|_| core.busy_until <= now) else { return };
        if core.waiting.is_empty() {
            core.sleeps_until = Some(Time::NEVER);
        }
        let frame = waiting.frame;
        if is_sent(&waiting) {
            let class = self.links.ports[port].classes.class(frame.priority);
            receiving.prepared[class.at()].remove(frame.bytes);
            return self.forward(port, frame, None, now, windows);
        }
        let group = receiving.group(frame.priority);
        receiving.occupancy[group].remove(frame.bytes);
        let level = receiving.occupancy[group];
        if !self.probes.read.is_empty() {
            self.record_read(&frame, now, took);
        }
        self.deliver(&frame, now, windows);
        let node = self.node_of[port];
        if self.nodes[node].pause_sender.is_some() {
            self.count_out(&waiting, now, windows);
        } else {
            self.probes.counter_holds(port, group, now, || level);
        }
        self.credits_free_last(port, &frame, now, windows);
    }

    /// A frame leaves a host through a port. A core works on it first, if sending costs anything there.
    #[inline(never)]
    pub fn depart(&mut self, egress: PortIx, frame: Frame, now: Time, windows: &mut Queued) {
        let receiving = self.hosts.receiving.get(egress).and_then(Option::as_deref);
        if receiving.is_none_or(|receiving| receiving.time_per_sent.is_none()) {
            return self.forward(egress, frame, None, now, windows);
        }
        let class = self.links.ports[egress].classes.class(frame.priority);
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
        self.take_in(egress, at, now, windows);
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

    /// The script changes the cores.
    pub fn change_receiving(&mut self, port: PortIx, change: CoreChange, now: Time, windows: &mut Queued) {
        let Some(receiving) = self.hosts.receiving.get_mut(port).and_then(Option::as_deref_mut) else {
            return;
        };
        receiving.change(change);
        let cores = receiving.cores.len();
        for at in 0..cores {
            self.take_in(port, at, now, windows);
        }
    }

    #[cold]
    fn lose_received(&mut self, ingress: PortIx, frame: &Frame, now: Time) {
        let node = &self.nodes[self.node_of[ingress]];
        let class = node.classes.class(frame.priority);
        let promised = node.pause_sender.is_some() && self.is_promised(node, frame, Some(ingress));
        self.log_drop(ingress, true, frame, Cause::ReceiveBuffer, now);
        self.count_loss(ingress, class, frame, Cause::ReceiveBuffer);
        if promised {
            self.violate(ingress, class, frame, Some(ingress), Cause::ReceiveBuffer, now);
        }
    }

    /// What a receive buffer holds of a priority, and its limit.
    pub fn received_so_far(&self, port: PortIx, priority: Priority) -> (Occupancy, Option<Amount>) {
        let receiving = self.hosts.receiving.get(port).and_then(Option::as_deref);
        receiving.map_or_else(Default::default, |receiving| {
            (receiving.occupancy[receiving.group(priority)], receiving.buffer.map(Amount::Bytes))
        })
    }
}
