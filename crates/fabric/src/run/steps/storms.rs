//! The watchdog at work: where its state machine (`flow_control::watchdog`) meets the queues of a port.

use crate::run::state::event::{Event, Kind, Queued};
use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::port::{ColdPort, Hooks};
use crate::run::state::storms::Storm;
use crate::run::state::world::Fabric;
use flow_control::watchdog::{StormAction, Verdict};
use frame::{PRIORITIES, TrafficClass, members};
use units::Time;

impl Fabric {
    /// These classes of a port have frames and are stopped: are they stuck?
    #[cold]
    pub fn note_stuck(&mut self, port: PortIx, classes: u32, now: Time, windows: &mut Queued) {
        let cold = &mut self.links.cold[port];
        let Some(watch) = &mut cold.watch else { return };
        let map = self.links.ports[port].classes;
        for class in (0..PRIORITIES as u8).filter(|class| classes >> class & 1 != 0) {
            if cold.control.until(map.priorities(TrafficClass(class))) <= now {
                continue;
            }
            let look_at = watch.queues[usize::from(class)].stuck(&watch.spec, now);
            if look_at.is_some_and(|at| watch.arm(at)) {
                windows.push(Event::bare(Kind::Watchdog, watch.look.due(), port));
            }
        }
    }

    /// As `note_stuck`, for those of these classes that are still stopped.
    #[cold]
    pub fn note_still_stuck(&mut self, port: PortIx, classes: u32, now: Time, windows: &mut Queued) {
        let stuck = classes & self.links.ports[port].stopped;
        if stuck != 0 {
            self.note_stuck(port, stuck, now, windows);
        }
    }

    /// A pause frame has changed until when classes are paused: a storm may be over earlier than it seemed.
    #[cold]
    pub fn note_change(&mut self, port: PortIx, now: Time, windows: &mut Queued) {
        let cold = &mut self.links.cold[port];
        let Some(watch) = &mut cold.watch else { return };
        let map = self.links.ports[port].classes;
        for class in (0..map.classes() as u8).map(TrafficClass) {
            // A pause that a failed link has ended may have been over for long.
            let at = (cold.control.until(map.priorities(class)) + watch.spec.restoration).max(now);
            if watch.queues[class.at()].is_storming() && watch.arm(at) {
                windows.push(Event::bare(Kind::Watchdog, at, port));
            }
        }
    }

    /// Whether a frame of this class is dropped because of a storm; if so it is counted there.
    #[cold]
    pub fn dropped_in_storm(&mut self, port: PortIx, class: TrafficClass, bytes: u16) -> bool {
        let Some(watch) = self.links.cold[port].watch.as_mut().filter(|watch| watch.drops(class)) else {
            return false;
        };
        watch.count(class, bytes);
        true
    }

    /// The time to look at the queues of a port has come.
    #[inline(never)]
    pub fn watch_due(&mut self, port: PortIx, now: Time, windows: &mut Queued) {
        let ColdPort { watch, control, .. } = &mut self.links.cold[port];
        let Some(watch) = watch else { return };
        if !watch.look.fires(now) {
            return;
        }
        let map = self.links.ports[port].classes;
        let mut drops = 0u32;
        for class in 0..map.classes() as u8 {
            let paused_until = control.until(map.priorities(TrafficClass(class)));
            let spec = watch.spec;
            match watch.queues[usize::from(class)].look(&spec, now, paused_until) {
                Verdict::Quiet => {}
                Verdict::LookAt(at) => {
                    if watch.arm(at) {
                        windows.push(Event::bare(Kind::Watchdog, at, port));
                    }
                }
                Verdict::Storm(began) => {
                    let storm = Storm {
                        class,
                        began,
                        detected: now,
                        over: None,
                        frames_dropped: 0,
                        bytes_dropped: 0,
                    };
                    watch.storms.push(storm);
                    match spec.action {
                        StormAction::Report => {}
                        StormAction::Drop => drops |= 1 << class,
                        StormAction::Forward => watch.forwarding |= 1 << class,
                    }
                    let at = paused_until + spec.restoration;
                    if watch.arm(at) {
                        windows.push(Event::bare(Kind::Watchdog, at, port));
                    }
                }
                Verdict::Over => {
                    watch.dropping &= !(1 << class);
                    watch.forwarding &= !(1 << class);
                    if let Some(storm) = watch.storms.iter_mut().rev().find(|storm| storm.class == class) {
                        storm.over = Some(now);
                    }
                }
            }
        }
        watch.dropping |= drops;
        self.update_stopped(port, now);
        members(drops).for_each(|class| self.drain(port, TrafficClass(class as u8), now, windows));
        if self.links.ports[port].waiting != 0 {
            self.try_transmit(port, now, windows);
        }
    }

    /// Drops what waits in a class. The scheduler hears of a queue that is empty, not of service.
    #[inline(never)]
    fn drain(&mut self, egress: PortIx, class: TrafficClass, now: Time, windows: &mut Queued) {
        while self.links.ports[egress].waiting >> class.0 & 1 != 0 {
            let (waiting, before) = self.take(egress, class, now);
            if let Some(watch) = &mut self.links.cold[egress].watch {
                watch.count(class, waiting.frame.bytes);
            }
            if self.links.ports[egress].waiting >> class.0 & 1 == 0
                && self.links.ports[egress].hooks.has(Hooks::SCHEDULER)
            {
                self.links.cold[egress].scheduler.discard(u32::from(class.0), now);
            }
            self.lose(egress, class, &waiting.frame, waiting.across, Cause::Watchdog, now);
            self.after_dequeue(egress, class, &waiting, before, now, windows);
            self.output_left(egress, class, &waiting.frame, now, windows);
        }
    }
}
