//! Transmission selection: what a port tells its scheduler, and what it asks.
//!
//! FIFO and strict priority need nothing but the set of classes that may send; the port keeps it as bits. The
//! other schedulers are told of every arrival, of every class that comes to be able to send or ceases to be, and
//! of every frame sent. A class is *active* for its scheduler exactly if it has frames and its bit in `stopped`
//! is clear; that bit may outlive a pause, until the port looks again.

use crate::world::Fabric;
use frame::{Frame, TrafficClass};
use scheduling::{Discipline, SchedulerSpec};
use units::Time;

/// Whether a scheduler has to be told what happens.
pub(crate) fn asks_scheduler(spec: &SchedulerSpec) -> bool {
    !matches!(spec, SchedulerSpec::Fifo | SchedulerSpec::StrictPriority)
}

impl Fabric {
    /// A frame finds its port free and nothing waiting: whether its scheduler lets it go at once.
    #[inline(never)]
    pub fn may_pass(&mut self, egress: u32, frame: &Frame, now: Time) -> bool {
        let class = self.nodes[self.node_of[egress as usize] as usize].classes.class(frame.priority);
        let scheduler = &mut self.lines[egress as usize].scheduler;
        scheduler.idle(now);
        scheduler.pass(u32::from(class.0), u32::from(frame.bytes), now)
    }

    /// A frame has entered the queue of its class; `waiting` does not show it yet.
    #[inline(never)]
    pub fn tell_arrival(&mut self, egress: u32, class: TrafficClass, bytes: u16, now: Time) {
        let port = &self.ports[egress as usize];
        let scheduler = &mut self.lines[egress as usize].scheduler;
        if port.waiting == 0 && port.busy_until <= now {
            scheduler.idle(now);
        }
        scheduler.arrive(u32::from(class.0), u32::from(bytes), now);
        if (port.waiting | port.stopped) >> class.0 & 1 == 0 {
            scheduler.activate(u32::from(class.0), u32::from(bytes), now);
        }
    }

    /// The head of a class, which has left its queue, begins its transmission.
    #[inline(never)]
    pub fn tell_sent(&mut self, egress: u32, class: TrafficClass, bytes: u16, now: Time) {
        let next = self.head_bytes(egress, class);
        self.lines[egress as usize].scheduler.sent(u32::from(class.0), u32::from(bytes), next, now);
    }

    /// The set of stopped classes is about to become `stopped`.
    pub fn tell_stopped(&mut self, egress: u32, stopped: u8, now: Time) {
        let port = &self.ports[egress as usize];
        let (before, waiting) = (port.stopped, port.waiting);
        for class in (0..8).map(TrafficClass).filter(|class| waiting & (before ^ stopped) & 1 << class.0 != 0)
        {
            let head = self.head_bytes(egress, class);
            let scheduler = &mut self.lines[egress as usize].scheduler;
            match head {
                Some(head) if stopped >> class.0 & 1 == 0 => {
                    scheduler.activate(u32::from(class.0), head, now)
                }
                _ => scheduler.deactivate(u32::from(class.0), now),
            }
        }
    }

    /// The class to serve; `None` if no class may send now.
    #[inline(always)]
    pub fn pick(&mut self, egress: u32, now: Time) -> Option<TrafficClass> {
        let port = &self.ports[egress as usize];
        let asks = port.asks_scheduler;
        let mut eligible = port.waiting & !port.stopped;
        if eligible != port.waiting {
            self.end_pauses(egress, now);
            let port = &self.ports[egress as usize];
            eligible = port.waiting & !port.stopped;
        }
        if eligible == 0 {
            return None;
        }
        if asks {
            let queue = self.lines[egress as usize].scheduler.pick(now)?;
            debug_assert!(eligible >> queue & 1 != 0, "the scheduler picked a class that may not send");
            return Some(TrafficClass(queue as u8));
        }
        // Strict priority: the highest class; FIFO has but one.
        Some(TrafficClass(7 - eligible.leading_zeros() as u8))
    }

    /// Lets go the classes whose pause has run out.
    #[inline(never)]
    fn end_pauses(&mut self, egress: u32, now: Time) {
        if self.ports[egress as usize].dead != 0 {
            return;
        }
        let classes = self.nodes[self.node_of[egress as usize] as usize].classes;
        let line = &mut self.lines[egress as usize];
        let mut stopped = self.ports[egress as usize].stopped;
        for class in (0..classes.classes() as u8).map(TrafficClass) {
            if line.timers.until(classes.priorities(class)) <= now {
                stopped &= !(1 << class.0);
            }
        }
        if let Some(watch) = &mut line.watch {
            watch.free(!stopped);
            stopped = watch.stopped(stopped, self.ports[egress as usize].waiting);
        }
        if self.ports[egress as usize].asks_scheduler {
            self.tell_stopped(egress, stopped, now);
        }
        self.ports[egress as usize].stopped = stopped;
    }

    /// When a port with frames that may not send now should look again, if nothing happens before: when the
    /// first pause ends, or when its scheduler lets something go.
    pub fn next_chance(&mut self, egress: u32, now: Time) -> Time {
        let port = &self.ports[egress as usize];
        if port.dead != 0 {
            return Time::NEVER;
        }
        let (held, asks, waiting) = (port.waiting & port.stopped, port.asks_scheduler, port.waiting != 0);
        let classes = self.nodes[self.node_of[egress as usize] as usize].classes;
        let line = &mut self.lines[egress as usize];
        let held = (0..8).map(TrafficClass).filter(|class| held >> class.0 & 1 != 0);
        let pause_end = held.map(|class| line.timers.until(classes.priorities(class))).min();
        let allowed = if asks && waiting { line.scheduler.wake(now) } else { None };
        pause_end.into_iter().chain(allowed).min().unwrap_or(Time::NEVER)
    }

    fn head_bytes(&self, egress: u32, class: TrafficClass) -> Option<u32> {
        let queue = &self.queues[self.ports[egress as usize].first_queue as usize + class.at()];
        (queue.occupancy.frames > 0).then(|| u32::from(self.pool.head_bytes(&self.lanes[queue.head_lane()])))
    }
}
