//! Transmission selection: what a port sends next.
//!
//! A class may send exactly if it has frames and its bit in `stopped` is clear. That bit may outlive a pause, until the port examines it
//! again (see `stops`). `decision` schedules decisions and passes to the scheduler what it has to observe.

use crate::run::state::admitted::AtEgress;
use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::index::PortIx;
use crate::run::state::port::PortFeatures;
use crate::run::state::stages::{When, asked};
use crate::run::state::world::Fabric;
use frame::{TrafficClass, members};
use scheduling::SchedulerSpec;
use units::Time;

/// Whether a scheduler has to be told what happens.
pub(crate) fn asks_scheduler(spec: &SchedulerSpec) -> bool {
    !matches!(spec, SchedulerSpec::Fifo | SchedulerSpec::StrictPriority)
}

/// Who is asked before a frame is sent.
const WHEN_CHOOSING: PortFeatures = asked(When::CHOOSES);

impl Fabric {
    /// The port chooses what to send next.
    pub fn decide(&mut self, egress: PortIx, now: Time, events: &mut EventQueue) {
        let port = &self.links.ports[egress];
        let may_go = || port.busy_until <= now && port.waiting != 0 && port.waiting & port.stopped == 0;
        if !port.features.has(WHEN_CHOOSING) && may_go() {
            if port.features.has(PortFeatures::FEEDS)
                && let Some(&lone) = self.links.cold[egress].sole_source.as_deref()
            {
                return self.decide_lone_ahead(egress, lone, now, events);
            }
            self.send_next(egress, now, events);
        } else {
            self.decide_asking(egress, now, events);
        }
    }

    /// The rest of [`Fabric::decide`] where somebody has to be asked. Pause frames go first; they wait for the frame on the
    /// link only.
    #[inline(never)]
    fn decide_asking(&mut self, egress: PortIx, now: Time, events: &mut EventQueue) {
        let port = &self.links.ports[egress];
        let busy_until = port.busy_until;
        if port.features.has(PortFeatures::AHEAD) {
            return self.decide_ahead(egress, now, events);
        }
        if busy_until > now {
            return self.arm(egress, busy_until, events);
        }
        if port.features.has(PortFeatures::PAUSE_WAITING) {
            self.transmit_pause(egress, now, events);
        } else if let Some(class) = self.pick(egress, now) {
            self.serve(egress, class, now, events);
        } else {
            return self.arm_next_eligible(egress, now, events);
        }
        let port = &self.links.ports[egress];
        if port.waiting != 0 || port.features.has(PortFeatures::PAUSE_WAITING) {
            let at = port.busy_until;
            self.arm(egress, at, events);
        }
    }

    /// Sends the first frame of the highest class that has any: by strict priority, and FIFO, which has but one class.
    #[inline(always)]
    pub fn send_next(&mut self, egress: PortIx, now: Time, events: &mut EventQueue) {
        let port = &mut self.links.ports[egress];
        let class = TrafficClass((u32::BITS - 1 - port.waiting.leading_zeros()) as u8);
        let queue_id = port.queue(class);
        let mut waiting = self.buffers.leave(queue_id, now, true);
        self.probes.queue_holds(queue_id, now, || self.buffers.queues[queue_id].occupancy);
        if self.buffers.queues[queue_id].occupancy.frames == 0 {
            port.waiting &= !(1 << class.0);
        }
        let features = port.features;
        if features.has(PortFeatures::BOUNDED.or(PortFeatures::MANAGED)) {
            if features.has(PortFeatures::BOUNDED) {
                self.count_leaving(egress, class, &waiting, now);
            }
            if features.has(PortFeatures::MANAGED) {
                waiting.frame = self.manager_on_dequeue(egress, class, waiting.frame, now);
            }
        }
        self.put_on_link(egress, waiting.frame, now, events);
        let port = &mut self.links.ports[egress];
        let at = port.busy_until;
        if port.waiting != 0 && port.decision.arm(at) {
            events.push(Event::bare(Kind::Decide, at, egress));
        }
        self.count_sent(egress, &waiting.frame, features, now);
        // After the transmission has begun: what follows may want to send a pause through this very port.
        if features.has(PortFeatures::INGRESS_ACCOUNTING) {
            self.count_out(&waiting, now, events);
        }
    }

    /// Nothing may go now.
    #[inline(never)]
    fn arm_next_eligible(&mut self, egress: PortIx, now: Time, events: &mut EventQueue) {
        let at = self.next_eligible(egress, now);
        if at != Time::NEVER {
            self.arm(egress, at, events);
        }
    }

    /// Takes the next frame of a class and transmits it.
    #[inline(always)]
    fn serve(&mut self, egress: PortIx, class: TrafficClass, now: Time, events: &mut EventQueue) {
        let (waiting, before) = self.take_out(true, egress, class, now);
        let mut at = AtEgress { frame: waiting.frame, egress, class, ingress: waiting.across };
        self.leave_stages(&mut at, true, now);
        self.transmit(egress, at.frame, now, events);
        // After the transmission has begun: what follows may want to send a pause through this very port.
        self.has_left_stages(&at, Some((&waiting, before)), now, events);
    }

    /// The class to serve; `None` if no class may send now.
    #[inline(always)]
    pub fn pick(&mut self, egress: PortIx, now: Time) -> Option<TrafficClass> {
        let port = &self.links.ports[egress];
        let asks = port.features.has(PortFeatures::SCHEDULER);
        if port.waiting & port.stopped != 0 {
            self.look_at_stops(egress, now);
        }
        let port = &self.links.ports[egress];
        let eligible = port.waiting & !port.stopped;
        if asks {
            let (waiting, first_queue) = (port.waiting, port.first_queue);
            let cold = &mut self.links.cold[egress];
            if eligible == 0 {
                cold.scheduler.stall(waiting, cold.control.credits().is_some(), now);
                return None;
            }
            let head = |class| self.buffers.head_bytes(first_queue.plus(class)).unwrap_or_default();
            let queue = cold.scheduler.pick(eligible, head, now)?;
            debug_assert!(eligible >> queue & 1 != 0, "the scheduler picked a class that may not send");
            return Some(TrafficClass(queue as u8));
        }
        if eligible == 0 {
            return None;
        }
        // Strict priority: the highest class; FIFO has but one.
        Some(TrafficClass(31 - eligible.leading_zeros() as u8))
    }

    /// When a port with frames that may not send now should look again, if nothing happens before: when the
    /// first pause ends, or when its scheduler lets something go.
    pub fn next_eligible(&mut self, egress: PortIx, now: Time) -> Time {
        let port = &self.links.ports[egress];
        if port.features.has(PortFeatures::DOWN) {
            return Time::NEVER;
        }
        // While all that waits is stopped, its scheduler has not been told and has no say.
        let (held, eligible) = (port.waiting & port.stopped, port.waiting & !port.stopped != 0);
        let asks = port.features.has(PortFeatures::SCHEDULER);
        let classes = self.nodes[self.node_of[egress]].classes;
        let cold = &mut self.links.cold[egress];
        let held = members(held).map(|class| TrafficClass(class as u8));
        let pause_end = held.map(|class| cold.control.until(classes.priorities(class))).min();
        let allowed = if asks && eligible { cold.scheduler.wake(now) } else { None };
        pause_end.into_iter().chain(allowed).min().unwrap_or(Time::NEVER)
    }
}
