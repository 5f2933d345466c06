//! Hosts that take in what arrives at a limited speed, and send pauses because of it.
//!
//! A port of such a host has a buffer for each priority, or one for all where PAUSE stops them together: what shares a
//! pause shares the memory that the pause protects. A server takes the frames out in order of arrival,
//! whatever their priority, and takes `time_per_frame + bytes / rate` for each; a frame holds its place in
//! the buffer until it is taken in, and its latency counts to there. With PAUSE or PFC the NIC sends
//! XOFF and XON by the ingress counters of a switch: XOFF at the buffer less the headroom of the link, XON at
//! half of XOFF. Without, a frame that finds no room is lost.
//!
//! Source: Hagen 2012 §5.3 to 5.5.
//!
//! Not modelled: interrupts and their coalescing, copies through several buffers, what the server does beside.

use crate::run::event::{Event, Kind, Queued};
use crate::run::losses::Cause;
use crate::run::pool::{List, NIL, Pool, Waiting};
use crate::run::world::Fabric;
use crate::spec::{ReceiveChange, ReceiveSpec};
use flow_control::pfc::{Counted, Levels};
use frame::{Frame, Occupancy, PRIORITIES, Priority};
use units::{Amount, Time, WireClock};

/// What has arrived at a port of a host and is not taken in yet.
#[derive(Debug)]
pub(crate) struct Receiving {
    time_per_frame: Time,
    clock: Option<WireClock>,
    buffer: Option<u64>,
    reading: bool,
    busy_until: Time,
    /// How long the frame being taken in takes.
    takes: Time,
    /// The frame being taken in.
    serving: Option<Waiting>,
    waiting: List,
    /// By group of priorities that have a buffer together.
    occupancy: [Occupancy; PRIORITIES],
    /// Whether that is one for all: PAUSE.
    shared: bool,
}

/// Where a NIC with this buffer sends XOFF and XON, if its link needs `headroom`.
pub(crate) fn levels(buffer: u64, headroom: u64) -> Levels {
    let xoff = buffer.saturating_sub(headroom).max(1);
    Levels { xoff: Amount::Bytes(xoff), xon: Amount::Bytes(xoff / 2), capacity: Amount::Bytes(buffer) }
}

impl Receiving {
    /// `shared`: all priorities share one buffer.
    pub fn new(spec: &ReceiveSpec, shared: bool) -> Receiving {
        Receiving {
            time_per_frame: spec.time_per_frame,
            clock: spec.rate.map(WireClock::new),
            buffer: spec.buffer,
            reading: true,
            busy_until: Time::ZERO,
            takes: Time::ZERO,
            serving: None,
            waiting: List::EMPTY,
            occupancy: [Occupancy::default(); PRIORITIES],
            shared,
        }
    }

    /// The buffer of a priority.
    pub fn group(&self, priority: Priority) -> usize {
        if self.shared { 0 } else { priority.at() }
    }

    /// Its frames, the one being taken in included.
    pub fn all<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Waiting> {
        self.serving.iter().chain(pool.iter(&self.waiting))
    }

    /// Frames in the buffer, the one being taken in included.
    pub fn frames(&self) -> u64 {
        self.occupancy.iter().map(|occupancy| occupancy.frames).sum()
    }

    /// The same, one by one.
    pub fn all_frames<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Frame> {
        pool.iter(&self.waiting).chain(&self.serving).map(|waiting| &waiting.frame)
    }

    /// Those of them that lie in the pool.
    pub fn frames_in_pool(&self) -> u64 {
        self.frames() - u64::from(self.serving.is_some())
    }

    fn change(&mut self, change: ReceiveChange) {
        match change {
            ReceiveChange::Stop => self.reading = false,
            ReceiveChange::Start { time_per_frame, rate } => {
                self.reading = true;
                self.time_per_frame = time_per_frame.unwrap_or(self.time_per_frame);
                self.clock = rate.map(WireClock::new).or(self.clock);
            }
        }
    }
}

impl Fabric {
    /// A frame has arrived at a host, some of which take their time.
    #[inline(never)]
    pub fn receive(&mut self, ingress: u32, frame: Frame, now: Time, windows: &mut Queued) {
        let Some(receiving) = self.hosts.receiving[ingress as usize].as_deref_mut() else {
            self.deliver(&frame, now, windows);
            self.credits_arrived(ingress, &frame, now);
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
        self.credits_arrived(ingress, &frame, now);
        let Some(receiving) = self.hosts.receiving[ingress as usize].as_deref_mut() else { return };
        self.buffers.pool.push(&mut receiving.waiting, &frame, now, ingress);
        let node = self.node_of[ingress as usize];
        if self.nodes[node as usize].pause_sender.is_some() {
            // A pause that begins with this frame counts it with all that waits.
            if self.is_root(ingress, group) {
                self.enters_receiver(ingress, group, &frame);
            }
            let counted = self.count_in(&frame, ingress, now);
            if counted == Counted::AtXoff {
                self.send_xoff(&frame, ingress, NIL, now, windows);
            }
            assert!(
                counted != Counted::Full,
                "a receive buffer and its counter differ: this is a fault of the simulator"
            );
        } else {
            self.probes.counter_holds(ingress as usize * PRIORITIES + group, now, || level);
        }
        self.take_in(ingress, now, windows);
    }

    /// Begins with the next frame, if the server is free and at work.
    fn take_in(&mut self, port: u32, now: Time, windows: &mut Queued) {
        let Some(receiving) = self.hosts.receiving[port as usize].as_deref_mut() else { return };
        if receiving.serving.is_some() || !receiving.reading || receiving.waiting.is_empty() {
            return;
        }
        let waiting = self.buffers.pool.pop(&mut receiving.waiting);
        let for_bytes = receiving.clock.as_mut().map_or(Time::ZERO, |clock| {
            if receiving.busy_until < now {
                clock.restart();
            }
            clock.advance(u64::from(waiting.frame.bytes))
        });
        receiving.takes = receiving.time_per_frame + for_bytes;
        receiving.busy_until = now + receiving.takes;
        receiving.serving = Some(waiting);
        windows.push(Event::bare(Kind::Served, receiving.busy_until, port));
    }

    /// The server is done with a frame.
    #[inline(never)]
    pub fn served(&mut self, port: u32, now: Time, windows: &mut Queued) {
        let Some(receiving) = self.hosts.receiving[port as usize].as_deref_mut() else { return };
        let Some(waiting) = receiving.serving.take() else { return };
        let frame = waiting.frame;
        let group = receiving.group(frame.priority);
        receiving.occupancy[group].remove(frame.bytes);
        let (level, took) = (receiving.occupancy[group], receiving.takes);
        if !self.probes.read.is_empty() {
            self.record_read(&frame, now, took);
        }
        self.deliver(&frame, now, windows);
        let node = self.node_of[port as usize];
        if self.nodes[node as usize].pause_sender.is_some() {
            self.count_out(&waiting, now, windows);
        } else {
            self.probes.counter_holds(port as usize * PRIORITIES + group, now, || level);
        }
        self.credits_free(port, &frame, now, windows);
        self.take_in(port, now, windows);
    }

    /// The script changes the server.
    pub fn change_receiving(&mut self, port: u32, change: ReceiveChange, now: Time, windows: &mut Queued) {
        if let Some(receiving) = self.hosts.receiving.get_mut(port as usize).and_then(Option::as_deref_mut) {
            receiving.change(change);
            self.take_in(port, now, windows);
        }
    }

    #[cold]
    fn lose_received(&mut self, ingress: u32, frame: &Frame, now: Time) {
        let node = &self.nodes[self.node_of[ingress as usize] as usize];
        let class = node.classes.class(frame.priority);
        let promised = node.pause_sender.is_some() && node.lossless >> frame.priority.0 & 1 != 0;
        self.log_drop(ingress, true, frame, Cause::ReceiveBuffer, now);
        self.count_loss(ingress, class, frame, Cause::ReceiveBuffer);
        if promised {
            self.violate(ingress, class, frame, ingress, Cause::ReceiveBuffer, now);
        }
    }

    /// What a receive buffer holds of a priority, and its limit.
    pub fn received_so_far(&self, port: u32, priority: Priority) -> (Occupancy, Option<Amount>) {
        let receiving = self.hosts.receiving.get(port as usize).and_then(Option::as_deref);
        receiving.map_or_else(Default::default, |receiving| {
            (receiving.occupancy[receiving.group(priority)], receiving.buffer.map(Amount::Bytes))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xoff_leaves_the_headroom_and_xon_is_half_of_it() {
        let levels = levels(256 * 1024, 10_000);
        assert_eq!(levels.xoff, Amount::Bytes(252_144));
        assert_eq!(levels.xon, Amount::Bytes(126_072));
        assert_eq!(levels.capacity, Amount::Bytes(262_144));
    }
}
