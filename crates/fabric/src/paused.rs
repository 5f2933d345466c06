//! The other side of a pause: the port that has to stop.

use crate::event::{Event, Queued};
use crate::world::{Fabric, PauseRecord};
use flow_control::pause::pause_time;
use frame::{PRIORITIES, TrafficClass};

impl Fabric {
    /// A pause frame takes effect at a transmitter.
    #[inline(never)]
    pub fn receive_pause(&mut self, event: &Event, windows: &mut Queued) {
        let (signal, quanta, cause) = event.signal();
        let (port_id, now) = (event.place, event.time);
        let line = &mut self.lines[port_id as usize];
        line.counts.pauses_received += u64::from(signal.xoff != 0);
        let until = (now - line.response) + pause_time(quanta, line.rate);
        line.settle_paused(now);
        let classes = self.nodes[self.node_of[port_id as usize] as usize].classes;
        let mut ran_out = 0;
        if line.watch.is_some() {
            for class in (0..classes.classes() as u8).map(TrafficClass) {
                ran_out |= u8::from(line.timers.until(classes.priorities(class)) < now) << class.0;
            }
        }
        for priority in 0..PRIORITIES {
            let bit = 1u8 << priority & line.obeys;
            if (signal.xoff | signal.xon) & bit == 0 {
                continue;
            }
            let ran_out_at = line.timers.until(bit);
            if let Some((start, cause)) = line.paused[priority]
                && (signal.xoff & bit == 0 || ran_out_at <= now)
            {
                line.paused[priority] = None;
                if let Some(pauses) = &mut self.recorded.pauses {
                    let end = ran_out_at.min(now);
                    pauses.push(PauseRecord { port: port_id, priority: priority as u8, start, end, cause });
                }
            }
            if signal.xoff & bit != 0 && until > now && line.paused[priority].is_none() {
                line.paused[priority] = Some((now, cause));
            }
        }
        line.timers.apply(signal, line.obeys, until, now);
        line.extend_paused(now);
        let mut stopped = 0;
        for class in (0..classes.classes() as u8).map(TrafficClass) {
            if line.timers.until(classes.priorities(class)) > now {
                stopped |= 1 << class.0;
            }
        }
        if let Some(watch) = &mut line.watch {
            // A pause that had run out leaves a gap even if the next one follows at once.
            watch.free(!stopped | ran_out);
            stopped = watch.stopped(stopped, self.ports[port_id as usize].waiting);
        }
        let stopped = stopped | self.ports[port_id as usize].all_if_dead();
        if self.ports[port_id as usize].asks_scheduler {
            self.tell_stopped(port_id, stopped, now);
        }
        let port = &mut self.ports[port_id as usize];
        port.stopped = stopped;
        let stuck = stopped & port.waiting;
        // An XON for one of several priorities of a queue may bring forward the end of its pause.
        if port.waiting & !stopped != 0 || signal.xon != 0 && port.waiting != 0 {
            self.attend(port_id, now, windows);
        }
        if self.ports[port_id as usize].watched {
            self.note_change(port_id, windows);
        }
        if stuck != 0 {
            self.note_stuck(port_id, stuck, now, windows);
        }
    }
}
