//! Hosts whose work on frames takes time: those that arrive, and those that they send. They send pauses because of it.
//!
//! A port of such a host has a buffer for each priority, or one for all where PAUSE stops them together: what shares a
//! pause shares the memory that the pause protects. Cores take the frames out, each those of its flows in order of
//! arrival, whatever their priority, and `time_per_frame + bytes / rate` for each; a hash of the flow says which core. A
//! frame holds its place in the buffer until it is taken in, and its latency counts to there. With PAUSE or PFC the NIC
//! sends XOFF and XON by the ingress counters of a switch: XOFF at the buffer less the headroom of the link, XON at
//! half of XOFF. Without, a frame that finds no room is lost.
//!
//! A host can spend time on what it sends, too (`send`): before a frame comes to its NIC, the core of its flow works on it,
//! in turn with what that core takes in. Of endpoints as many frames of a class are with cores and NIC as there are cores.
//! A source that blocks counts what is with the cores as waiting in the NIC. Cores that a script stops send nothing either.
//! A script of `send` changes what frames cost that are begun from then on.
//!
//! A core that has nothing to do sleeps. An interrupt wakes it when the first frame has waited for `interrupt_delay`, or
//! when `interrupt_frames` wait; it takes `interrupt_time`, and then frames until none is left.
//! A frame to be sent wakes it at once, without an interrupt.
//!
//! Source: Hagen 2012 §5.3 to 5.5 (a slow receiver, and pauses of its NIC); J. C. Mogul and K. K. Ramakrishnan,
//! "Eliminating Receive Livelock in an Interrupt-Driven Kernel", ACM TOCS 15(3), 1997 (interrupts that only begin to
//! poll); the hash is in place of that of receive-side scaling.
//!
//! Not modelled: copies through several buffers, what the cores do beside, a core that several ports have together; a
//! budget of frames after which a core that polls does something else; a flow that changes its core because another one
//! is idle. An ideal time of a transfer knows no interrupts, and one core for each direction.

use crate::run::event::{Event, Kind, Queued};
use crate::run::index::PortIx;
use crate::run::losses::Cause;
use crate::run::pool::{List, Pool, Waiting};
use crate::run::world::Fabric;
use crate::spec::routing::{mix_in, scale};
use crate::spec::{CoreChange, InterruptSpec, ReceiveSpec, SendSpec};
use flow_control::pfc::{Counted, Levels};
use frame::{CHANNELS, ClassMap, Frame, NodeId, Occupancy, PathId, Priority, TrafficClass};
use queueing::Refusal;
use units::{Amount, BitRate, Time, WireClock};

/// What has arrived at a port of a host and is not taken in yet, and what is not yet sent there.
#[derive(Debug)]
pub(crate) struct Receiving {
    time_per_frame: Time,
    /// What a frame costs that is sent; `None`: sending is free.
    time_per_sent: Option<Time>,
    interrupt: InterruptSpec,
    buffer: Option<u64>,
    reading: bool,
    cores: Box<[Core]>,
    /// By group of priorities that have a buffer together.
    occupancy: [Occupancy; CHANNELS],
    /// By traffic class, what is on its way to the NIC.
    prepared: [Occupancy; CHANNELS],
    /// Which priorities have one: all with PAUSE, those of a channel with credits.
    groups: ClassMap,
}

/// Who works on frames. Those that are sent came in through no port.
#[derive(Debug)]
struct Core {
    clock: Option<WireClock>,
    sends_at: Option<WireClock>,
    busy_until: Time,
    /// How long the frame at work takes.
    takes: Time,
    /// The frame at work.
    serving: Option<Waiting>,
    waiting: List,
    /// Frames in that list.
    count: u32,
    /// It sleeps, until an interrupt at this time; [`Time::NEVER`]: none is due.
    sleeps_until: Option<Time>,
}

impl Core {
    fn new(rate: Option<BitRate>, sends_at: Option<BitRate>) -> Core {
        Core {
            clock: rate.map(WireClock::new),
            sends_at: sends_at.map(WireClock::new),
            busy_until: Time::ZERO,
            takes: Time::ZERO,
            serving: None,
            waiting: List::EMPTY,
            count: 0,
            sleeps_until: Some(Time::NEVER),
        }
    }

    /// What the interrupt takes that wakes this core now, or nothing if it is awake. Or else when it will wake, if that was not
    /// known before.
    fn wake(&mut self, now: Time, interrupt: &InterruptSpec) -> Result<Time, Option<Time>> {
        let Some(until) = self.sleeps_until else { return Ok(Time::ZERO) };
        let enough = interrupt.frames.is_some_and(|frames| self.count >= frames);
        let due = if until == Time::NEVER { now.saturating_add(interrupt.delay) } else { until };
        if enough || due <= now {
            self.sleeps_until = None;
            return Ok(interrupt.time);
        }
        self.sleeps_until = Some(due);
        Err((until == Time::NEVER).then_some(due))
    }

    /// Begins with the next frame; returns when it is done.
    fn begin(&mut self, waiting: Waiting, after: Time, per_frame: Time, now: Time) -> Time {
        self.count -= 1;
        let clock = if is_sent(&waiting) { &mut self.sends_at } else { &mut self.clock };
        let for_bytes = clock.as_mut().map_or(Time::ZERO, |clock| {
            if self.busy_until < now {
                clock.restart();
            }
            clock.advance(u64::from(waiting.frame.bytes))
        });
        self.takes = after + per_frame + for_bytes;
        self.busy_until = now + self.takes;
        self.serving = Some(waiting);
        self.busy_until
    }
}

fn is_sent(waiting: &Waiting) -> bool {
    waiting.across.is_none()
}

/// Where a NIC with this buffer sends XOFF and XON, if its link needs `headroom`.
pub(crate) fn levels(buffer: u64, headroom: u64) -> Levels {
    let xoff = buffer.saturating_sub(headroom).max(1);
    Levels { xoff: Amount::Bytes(xoff), xon: Amount::Bytes(xoff / 2), capacity: Amount::Bytes(buffer) }
}

impl Receiving {
    /// `groups`: the buffer of each priority.
    pub fn new(spec: &ReceiveSpec, send: Option<&SendSpec>, groups: ClassMap) -> Receiving {
        let sends_at = send.and_then(|send| send.rate);
        Receiving {
            time_per_frame: spec.time_per_frame,
            time_per_sent: send.map(|send| send.time_per_frame),
            interrupt: spec.interrupt,
            buffer: spec.buffer,
            reading: true,
            cores: (0..spec.cores).map(|_| Core::new(spec.rate, sends_at)).collect(),
            occupancy: [Occupancy::default(); CHANNELS],
            prepared: [Occupancy::default(); CHANNELS],
            groups,
        }
    }

    /// The buffer of a priority.
    pub fn group(&self, priority: Priority) -> usize {
        self.groups.class(priority).at()
    }

    /// The core of the flow on this path.
    fn core_of(&self, path: PathId) -> usize {
        scale(mix_in(u64::from(path.0), NodeId(0)), self.cores.len())
    }

    /// What a frame costs beside its bytes.
    fn time_for(&self, waiting: &Waiting) -> Time {
        if is_sent(waiting) { self.time_per_sent.unwrap_or_default() } else { self.time_per_frame }
    }

    fn all<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Waiting> {
        self.cores.iter().flat_map(|core| core.serving.iter().chain(pool.iter(&core.waiting)))
    }

    /// The frames with the cores on their way to the NIC.
    pub fn preparing<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Frame> {
        self.all(pool).filter(|waiting| is_sent(waiting)).map(|waiting| &waiting.frame)
    }

    /// The frames in the buffer, those being taken in included.
    pub fn arrived<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Waiting> {
        self.all(pool).filter(|waiting| !is_sent(waiting))
    }

    /// What is with the cores on its way to a class of the NIC.
    pub fn prepared(&self, class: TrafficClass) -> Occupancy {
        self.prepared[class.at()]
    }

    /// Frames with the cores, in either direction.
    pub fn frames(&self) -> u64 {
        self.occupancy.iter().chain(&self.prepared).map(|occupancy| occupancy.frames).sum()
    }

    /// As `frames`, one by one.
    pub fn all_frames<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Frame> {
        self.all(pool).map(|waiting| &waiting.frame)
    }

    /// Those of them that lie in the pool.
    pub fn frames_in_pool(&self) -> u64 {
        self.cores.iter().map(|core| u64::from(core.count)).sum()
    }

    /// Memory beside itself.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.cores)
    }

    fn change(&mut self, change: CoreChange) {
        match change {
            CoreChange::Stop => self.reading = false,
            CoreChange::Start { time_per_frame, rate } => {
                self.reading = true;
                self.time_per_frame = time_per_frame.unwrap_or(self.time_per_frame);
                for core in &mut self.cores {
                    core.clock = rate.map(WireClock::new).or(core.clock);
                }
            }
            CoreChange::Send { time_per_frame, rate } => {
                self.time_per_sent = time_per_frame.or(self.time_per_sent);
                for core in &mut self.cores {
                    core.sends_at = rate.map(WireClock::new).or(core.sends_at);
                }
            }
        }
    }
}

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
