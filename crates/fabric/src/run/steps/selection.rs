//! Transmission selection: when a port chooses what to send, what it tells its scheduler, and what it asks.
//!
//! FIFO and strict priority need nothing but the set of classes that may send; the port keeps it as bits. The
//! other schedulers are told of every arrival, of every class that may send from now on or no longer, and
//! of every frame sent. A class may send exactly if it has frames and its bit in `stopped` is clear; that bit may outlive a
//! pause, until the port looks again (see `stops`). When the scheduler hears of it is the matter of `scheduling::Selector`.

use crate::run::state::deferred::Deferred;
use crate::run::state::event::{Event, Kind, Queued};
use crate::run::state::index::PortIx;
use crate::run::state::pool::Waiting;
use crate::run::state::port::Hooks;
use crate::run::state::stages::{When, asked};
use crate::run::state::world::Fabric;
use frame::{Occupancy, TrafficClass, members};
use scheduling::SchedulerSpec;
use units::Time;

/// Whether a scheduler has to be told what happens.
pub(crate) fn asks_scheduler(spec: &SchedulerSpec) -> bool {
    !matches!(spec, SchedulerSpec::Fifo | SchedulerSpec::StrictPriority)
}

/// Who is asked before a frame is sent.
const WHEN_CHOOSING: Hooks = asked(When::CHOOSES);

/// Who hears of each look that finds nothing to send.
const WHEN_STALLING: Hooks = asked(When::STALLS);

impl Fabric {
    /// The port has something to send: now if it is free, else when it will be.
    #[inline(always)]
    pub fn try_transmit(&mut self, egress: PortIx, now: Time, windows: &mut Queued) {
        let busy_until = self.links.ports[egress].busy_until;
        if busy_until <= now {
            self.deferred.push(Deferred::Decide(egress));
        } else {
            self.arm(egress, busy_until, windows);
        }
    }

    /// A frame waits at a port: the port looks when it is free, or, if all that waits is stopped for some time and more of this class
    /// waited before, when it would have looked without this frame.
    #[inline(always)]
    pub fn decide_when_free(&mut self, egress: PortIx, class: TrafficClass, now: Time, windows: &mut Queued) {
        let port = &self.links.ports[egress];
        let is_stuck = port.busy_until <= now
            && port.waiting & !port.stopped == 0
            && !port.hooks.has(WHEN_STALLING)
            && now < self.links.cold[egress].stops_until
            && self.buffers.queues[port.queue(class)].occupancy.frames > 1;
        if !is_stuck {
            self.try_transmit(egress, now, windows);
        }
    }

    /// The port decides then.
    #[inline(always)]
    pub fn arm(&mut self, egress: PortIx, at: Time, windows: &mut Queued) {
        if self.links.ports[egress].decision.arm(at) {
            windows.push(Event::bare(Kind::Decide, at, egress));
        }
    }

    /// The port chooses what to send next.
    pub fn decide(&mut self, egress: PortIx, now: Time, windows: &mut Queued) {
        let port = &self.links.ports[egress];
        let may_go = || port.busy_until <= now && port.waiting != 0 && port.waiting & port.stopped == 0;
        if !port.hooks.has(WHEN_CHOOSING) && may_go() {
            if port.hooks.has(Hooks::FEEDS)
                && let Some(&lone) = self.links.cold[egress].lone_source.as_deref()
            {
                return self.decide_lone_ahead(egress, lone, now, windows);
            }
            self.send_next(egress, now, windows);
        } else {
            self.decide_asking(egress, now, windows);
        }
    }

    /// The rest of [`Fabric::decide`] where somebody has to be asked. Pause frames go first; they wait for the frame on the
    /// link only.
    #[inline(never)]
    fn decide_asking(&mut self, egress: PortIx, now: Time, windows: &mut Queued) {
        let port = &self.links.ports[egress];
        let busy_until = port.busy_until;
        if port.hooks.has(Hooks::AHEAD) {
            return self.decide_ahead(egress, now, windows);
        }
        if busy_until > now {
            return self.arm(egress, busy_until, windows);
        }
        if port.hooks.has(Hooks::PAUSE_WAITING) {
            self.transmit_pause(egress, now, windows);
        } else if let Some(class) = self.pick(egress, now) {
            self.serve(egress, class, now, windows);
        } else {
            return self.arm_next_eligible(egress, now, windows);
        }
        let port = &self.links.ports[egress];
        if port.waiting != 0 || port.hooks.has(Hooks::PAUSE_WAITING) {
            let at = port.busy_until;
            self.arm(egress, at, windows);
        }
    }

    /// Sends the first frame of the highest class that has any: by strict priority, and FIFO, which has but one class.
    #[inline(always)]
    pub fn send_next(&mut self, egress: PortIx, now: Time, windows: &mut Queued) {
        let port = &mut self.links.ports[egress];
        let class = TrafficClass((u32::BITS - 1 - port.waiting.leading_zeros()) as u8);
        let queue_id = port.queue(class);
        let mut waiting = self.buffers.leave(queue_id, now, true);
        self.probes.queue_holds(queue_id, now, || self.buffers.queues[queue_id].occupancy);
        if self.buffers.queues[queue_id].occupancy.frames == 0 {
            port.waiting &= !(1 << class.0);
        }
        let hooks = port.hooks;
        if hooks.has(Hooks::BOUNDED.or(Hooks::MANAGED)) {
            if hooks.has(Hooks::BOUNDED) {
                self.count_leaving(egress, class, &waiting, now);
            }
            if hooks.has(Hooks::MANAGED) {
                waiting.frame = self.manager_on_dequeue(egress, class, waiting.frame, now);
            }
        }
        self.put_on_link(egress, waiting.frame, now, windows);
        let port = &mut self.links.ports[egress];
        let at = port.busy_until;
        if port.waiting != 0 && port.decision.arm(at) {
            windows.push(Event::bare(Kind::Decide, at, egress));
        }
        self.count_sent(egress, &waiting.frame, hooks, now);
        // After the transmission has begun: what follows may want to send a pause through this very port.
        if hooks.has(Hooks::COUNTED) {
            self.count_out(&waiting, now, windows);
        }
    }

    /// Nothing may go now.
    #[inline(never)]
    fn arm_next_eligible(&mut self, egress: PortIx, now: Time, windows: &mut Queued) {
        let at = self.next_eligible(egress, now);
        if at != Time::NEVER {
            self.arm(egress, at, windows);
        }
    }

    /// Takes the next frame of a class and transmits it.
    #[inline(always)]
    fn serve(&mut self, egress: PortIx, class: TrafficClass, now: Time, windows: &mut Queued) {
        let hooks = self.links.ports[egress].hooks;
        let (mut waiting, before) = self.take_out(true, egress, class, now);
        if hooks.has(Hooks::MANAGED) {
            waiting.frame = self.manager_on_dequeue(egress, class, waiting.frame, now);
        }
        if hooks.has(Hooks::SCHEDULER) {
            self.on_sent(egress, class, waiting.frame.bytes, now);
        }
        self.transmit(egress, waiting.frame, now, windows);
        // After the transmission has begun: what follows may want to send a pause through this very port.
        if hooks.has(Hooks::COUNTED.or(Hooks::CREDITS).or(Hooks::CROSSBAR)) {
            self.after_serving(egress, class, &waiting, before, now, windows);
        }
    }

    /// Credits, limits and pauses hear that a frame has left.
    #[inline(always)]
    fn after_serving(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        waiting: &Waiting,
        before: Occupancy,
        now: Time,
        windows: &mut Queued,
    ) {
        let hooks = self.links.ports[egress].hooks;
        if hooks.has(Hooks::COUNTED) {
            self.after_dequeue(egress, class, waiting, before, now, windows);
        }
        if hooks.has(Hooks::CREDITS) {
            self.credits_used(egress, &waiting.frame, waiting.across, now, windows);
        }
        if hooks.has(Hooks::CROSSBAR) {
            self.output_left(egress, class, &waiting.frame, now, windows);
        }
    }

    /// A frame finds its port free and nothing waiting that may go: whether its scheduler lets it go at once.
    pub fn may_pass(&mut self, egress: PortIx, class: TrafficClass, bytes: u16, now: Time) -> bool {
        let scheduler = &mut self.links.cold[egress].scheduler;
        if self.links.ports[egress].waiting == 0 {
            scheduler.idle(now);
        }
        scheduler.pass(u32::from(class.0), u32::from(bytes), now)
    }

    /// A frame has entered the queue of its class; `waiting` does not show it yet.
    #[inline(always)]
    pub fn on_arrival(&mut self, egress: PortIx, class: TrafficClass, bytes: u16, now: Time) {
        let port = &self.links.ports[egress];
        let scheduler = &mut self.links.cold[egress].scheduler;
        if port.waiting == 0 && port.busy_until <= now {
            scheduler.idle(now);
        }
        let may_send = (port.waiting | port.stopped) >> class.0 & 1 == 0;
        scheduler.arrive(u32::from(class.0), u32::from(bytes), may_send, now);
    }

    /// The head of a class, which has left its queue, begins its transmission.
    #[inline(always)]
    pub fn on_sent(&mut self, egress: PortIx, class: TrafficClass, bytes: u16, now: Time) {
        let port = &self.links.ports[egress];
        let could = port.waiting & !port.stopped | 1 << class.0;
        let cold = &mut self.links.cold[egress];
        cold.scheduler.sent(u32::from(class.0), u32::from(bytes), now);
        if let Some(contention) = &mut cold.contention {
            contention.add(could, class, bytes);
        }
    }

    /// The set of stopped classes is about to become `stopped`.
    pub fn on_stopped(&mut self, egress: PortIx, stopped: u32, now: Time) {
        let port = &self.links.ports[egress];
        let mut free = port.waiting & port.stopped & !stopped;
        while free != 0 {
            let class = TrafficClass(free.trailing_zeros() as u8);
            free &= free - 1;
            if let Some(head) = self.head_bytes(egress, class) {
                self.links.cold[egress].scheduler.go(u32::from(class.0), head, now);
            }
        }
    }

    /// Other frames than before are the heads of these classes, which go on being active.
    pub fn tell_heads(&mut self, egress: PortIx, mut classes: u32, now: Time) {
        if !self.links.ports[egress].hooks.has(Hooks::SCHEDULER) {
            return;
        }
        while classes != 0 {
            let class = TrafficClass(classes.trailing_zeros() as u8);
            classes &= classes - 1;
            let Some(head) = self.head_bytes(egress, class) else { continue };
            self.links.cold[egress].scheduler.replace_head(u32::from(class.0), head, now);
        }
    }

    /// The class to serve; `None` if no class may send now.
    #[inline(always)]
    pub fn pick(&mut self, egress: PortIx, now: Time) -> Option<TrafficClass> {
        let port = &self.links.ports[egress];
        let asks = port.hooks.has(Hooks::SCHEDULER);
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
        if port.hooks.has(Hooks::DOWN) {
            return Time::NEVER;
        }
        // While all that waits is stopped, its scheduler has not been told and has no say.
        let (held, eligible) = (port.waiting & port.stopped, port.waiting & !port.stopped != 0);
        let asks = port.hooks.has(Hooks::SCHEDULER);
        let classes = self.nodes[self.node_of[egress]].classes;
        let cold = &mut self.links.cold[egress];
        let held = members(held).map(|class| TrafficClass(class as u8));
        let pause_end = held.map(|class| cold.control.until(classes.priorities(class))).min();
        let allowed = if asks && eligible { cold.scheduler.wake(now) } else { None };
        pause_end.into_iter().chain(allowed).min().unwrap_or(Time::NEVER)
    }

    #[inline]
    fn head_bytes(&self, egress: PortIx, class: TrafficClass) -> Option<u32> {
        self.buffers.head_bytes(self.links.ports[egress].queue(class))
    }
}
