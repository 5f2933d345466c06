//! What stops the classes of a port, and the pauses that it receives.
//!
//! Each reason is kept where it belongs: pauses in the control of the link, a failed link or switch with the port, a
//! storm with its watchdog. [`Fabric::update_stopped`] makes their union, tells the scheduler, and is the only one
//! to write it: what has ended is gone, whether or not a frame waits.

use crate::run::state::event::{PauseFrame, Queued};
use crate::run::state::index::PortIx;
use crate::run::state::link_control::LinkControl;
use crate::run::state::port::Hooks;
use crate::run::state::world::Fabric;
use flow_control::pause::pause_time;
use frame::{ClassMap, TrafficClass};
use units::Time;

impl Fabric {
    /// A pause frame takes effect at a transmitter.
    #[inline(never)]
    pub fn receive_pause(&mut self, port_id: PortIx, pause: PauseFrame, now: Time, windows: &mut Queued) {
        let PauseFrame { signal, quanta, note: cause, more } = pause;
        let cold = &mut self.links.cold[port_id];
        if signal.xoff != 0
            && let Some(lone) = &mut cold.lone_source
        {
            lone.pause_acts(now);
        }
        let LinkControl::Pause(pauses) = &mut cold.control else { return };
        cold.counts.pauses_received += u64::from(signal.xoff != 0 && !more);
        // A time that is over before it acts ends what runs when it acts.
        let until = ((now - pauses.response) + pause_time(quanta, cold.rate)).max(now);
        let shortens = until < pauses.timers.until(signal.xoff);
        if let Some(watch) = &mut cold.watch {
            // A pause that had run out leaves a gap even if the next one follows at once.
            let classes = self.nodes[self.node_of[port_id]].classes;
            watch.free(classes_where(classes, |priorities| pauses.timers.until(priorities) < now));
        }
        let before = self.probes.pauses_ended();
        pauses.receive(signal, until, cause, now, |ended| self.probes.pause_ended(port_id, ended));
        self.note_held(port_id, before, now);
        self.update_stopped(port_id, now);
        let port = &self.links.ports[port_id];
        let (stopped, watched) = (port.stopped, port.hooks.has(Hooks::WATCHED));
        let stuck = stopped & port.waiting;
        // An XON for one of several priorities of a queue, or a shorter time, may bring forward the end of its pause.
        if port.waiting & !stopped != 0 || (signal.xon != 0 || shortens) && port.waiting != 0 {
            self.try_transmit(port_id, now, windows);
        }
        if watched {
            self.note_change(port_id, now, windows);
        }
        if stuck != 0 {
            self.note_stuck(port_id, stuck, now, windows);
        }
    }

    /// Writes anew which classes of a port may not send.
    #[inline(never)]
    pub fn update_stopped(&mut self, port_id: PortIx, now: Time) {
        let classes = self.nodes[self.node_of[port_id]].classes;
        let cold = &mut self.links.cold[port_id];
        let port = &self.links.ports[port_id];
        let mut stopped = cold.control.stopped(classes, now);
        if let Some(watch) = &mut cold.watch {
            watch.free(!stopped);
            stopped = watch.stopped(stopped);
        }
        if cold.down != 0 {
            stopped = u32::MAX;
        }
        // A watch looks at what waits, too.
        let changes = cold.watch.is_some() || cold.down != 0;
        cold.stops_until = if changes { Time::ZERO } else { cold.control.unchanged_until(now) };
        let free = port.stopped & !stopped != 0;
        if port.hooks.has(Hooks::SCHEDULER) {
            self.on_stopped(port_id, stopped, now);
        }
        if free {
            // Before a frame leaves: who stands there has been held back.
            let before = self.probes.pauses_ended();
            let cold = &mut self.links.cold[port_id];
            cold.control.run_out(now, |ended| self.probes.pause_ended(port_id, ended));
            self.note_held(port_id, before, now);
        }
        self.links.ports[port_id].stopped = stopped;
        if let Some(nic) = &mut self.links.nics[port_id] {
            nic.note_stopped(stopped, now);
        }
    }

    /// As `update_stopped`, if a pause may have run out meanwhile.
    #[inline(always)]
    pub fn look_at_stops(&mut self, port_id: PortIx, now: Time) {
        if self.links.cold[port_id].stops_until <= now {
            return self.update_stopped(port_id, now);
        }
        debug_assert_eq!(
            self.links.cold[port_id].control.stopped(self.nodes[self.node_of[port_id]].classes, now),
            self.links.ports[port_id].stopped,
            "what is stopped has changed unheard"
        );
    }
}

/// The classes for whose priorities this holds, as a bit set.
fn classes_where(classes: ClassMap, holds: impl Fn(u8) -> bool) -> u32 {
    let all = (0..classes.classes() as u8).map(TrafficClass);
    all.filter(|&class| holds(classes.priorities(class))).fold(0, |set, class| set | 1 << class.0)
}
