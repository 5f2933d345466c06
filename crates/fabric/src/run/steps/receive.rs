//! Hosts that need time for each frame that arrives. They send pauses when their receive buffers fill.

use crate::run::state::event::EventQueue;
use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::receive::is_sent;
use crate::run::state::world::Fabric;
use crate::spec::CoreChange;
use flow_control::pfc::Counted;
use frame::Frame;
use units::{Amount, Time};

impl Fabric {
    /// A frame has arrived at a host, some of which take their time.
    #[inline(never)]
    pub fn receive(&mut self, ingress: PortIx, frame: Frame, now: Time, events: &mut EventQueue) {
        let Some(receiving) = self.hosts.receiving[ingress].as_deref_mut() else {
            self.deliver(&frame, now, events);
            self.credits_arrived(ingress, &frame, None, now);
            return self.credits_free(ingress, &frame, now, events);
        };
        let group = receiving.group(frame.priority());
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
            self.notify_receiver(ingress, group, &frame);
            let counted = self.count_in(&frame, Some(ingress), now);
            if counted == Counted::AtXoff {
                self.send_xoff(&frame, ingress, None, now, events);
            }
            assert!(
                counted != Counted::Full,
                "a receive buffer and its counter differ: this is a fault of the simulator"
            );
        } else {
            self.notify_receiver(ingress, group, &frame);
            self.probes.counter_holds(ingress, group, now, || level);
        }
        self.take_in(ingress, at, now, events);
    }

    /// Cores of a port are done with a frame, or woken.
    #[inline(never)]
    pub fn served(&mut self, port: PortIx, now: Time, events: &mut EventQueue) {
        let cores = self.hosts.receiving[port].as_deref().map_or(0, |all| all.cores.len());
        for at in 0..cores {
            self.finish(port, at, now, events);
            self.take_in(port, at, now, events);
        }
    }

    /// A core is done with its frame, if it is.
    fn finish(&mut self, port: PortIx, at: usize, now: Time, events: &mut EventQueue) {
        let Some(receiving) = self.hosts.receiving[port].as_deref_mut() else { return };
        let core = &mut receiving.cores[at];
        let took = core.takes;
        let Some(waiting) = core.serving.take_if(|_| core.busy_until <= now) else { return };
        if core.waiting.is_empty() {
            core.sleeps_until = Some(Time::NEVER);
        }
        let frame = waiting.frame;
        if is_sent(&waiting) {
            let class = self.links.ports[port].classes.class(frame.priority());
            receiving.prepared[class.at()].remove(frame.bytes);
            return self.forward(port, frame, None, now, events);
        }
        let group = receiving.group(frame.priority());
        receiving.occupancy[group].remove(frame.bytes);
        let level = receiving.occupancy[group];
        if !self.probes.read.is_empty() {
            self.record_read(&frame, now, took);
        }
        self.deliver(&frame, now, events);
        let node = self.node_of[port];
        if self.nodes[node].pause_sender.is_some() {
            self.count_out(&waiting, now, events);
        } else {
            self.probes.counter_holds(port, group, now, || level);
        }
        self.credits_free_last(port, &frame, now, events);
    }

    /// The script changes the cores.
    pub fn change_receiving(&mut self, port: PortIx, change: CoreChange, now: Time, events: &mut EventQueue) {
        let Some(receiving) = self.hosts.receiving.get_mut(port).and_then(Option::as_deref_mut) else {
            return;
        };
        receiving.change(change);
        let cores = receiving.cores.len();
        for at in 0..cores {
            self.take_in(port, at, now, events);
        }
    }

    #[cold]
    fn lose_received(&mut self, ingress: PortIx, frame: &Frame, now: Time) {
        let node = &self.nodes[self.node_of[ingress]];
        let class = node.classes.class(frame.priority());
        let promised = node.pause_sender.is_some() && self.is_promised(node, frame, Some(ingress));
        self.log_drop(ingress, true, frame, Cause::ReceiveBuffer, now);
        self.count_loss(ingress, class, frame, Cause::ReceiveBuffer);
        if promised {
            self.violate(ingress, class, frame, Some(ingress), Cause::ReceiveBuffer, now);
        }
    }
}
