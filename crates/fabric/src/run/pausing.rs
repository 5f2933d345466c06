//! Link-level flow control at work: where its state machines (crate `flow_control`) meet ports and queues.

use crate::run::event::{Event, Kind, Queued};
use crate::run::link_control::LinkControl;
use crate::run::pause_sender::{PauseCause, PauseSender};
use crate::run::pool::{NIL, Waiting};
use crate::run::port::Hooks;
use crate::run::world::Fabric;
use flow_control::pause::PauseSignal;
use flow_control::pfc::Counted;
use flow_control::tpfc::Aim;
use frame::{CONTROL_FRAME_BYTES, Frame, Occupancy, PRIORITIES, TrafficClass};
use rand_xoshiro::rand_core::Rng;
use units::Time;

/// What has to be said again through a port: priorities, the note of the last of them, and when to look next.
pub(crate) struct RenewalsDue {
    pub bits: u8,
    pub note: u64,
    pub next: Time,
}

impl Fabric {
    /// A frame is about to wait: XOFF may be due. False: it does not fit the headroom of its ingress port.
    /// Pauses are decided on the queue as it is without the frame (Hagen 2012, Appendices A and B), or on what came in
    /// through the ingress port with it.
    #[must_use]
    #[inline(always)]
    pub fn before_enqueue(
        &mut self,
        egress: u32,
        class: TrafficClass,
        frame: &Frame,
        ingress: u32,
        now: Time,
        windows: &mut Queued,
    ) -> bool {
        let port = &self.links.ports[egress as usize];
        if port.hooks.has(Hooks::BY_QUEUE) {
            self.count_egress(egress, class, (ingress, frame.bytes), now, windows);
        } else {
            let queue = port.first_queue + u32::from(class.0);
            match self.count_in(frame, ingress, now) {
                Counted::Fits => {}
                Counted::AtXoff => self.send_xoff(frame, ingress, queue, now, windows),
                Counted::Full => return false,
            }
        }
        self.tell_root(egress, class, frame);
        true
    }

    /// A frame is about to wait, perhaps at a root of pauses.
    #[inline(always)]
    pub fn tell_root(&mut self, egress: u32, class: TrafficClass, frame: &Frame) {
        if self.links.ports[egress as usize].hooks.has(Hooks::BLAMED) {
            self.enters_root(egress, class, frame);
        }
    }

    /// A frame is about to wait where queues are counted at the egress: XOFF may be due.
    #[inline(never)]
    fn count_egress(
        &mut self,
        egress: u32,
        class: TrafficClass,
        (ingress, bytes): (u32, u16),
        now: Time,
        windows: &mut Queued,
    ) {
        let node = self.node_of[egress as usize];
        let Some(mut pause_sender) = self.nodes[node as usize].pause_sender.take() else { return };
        let local = pause_sender.local(egress);
        let queue_id = self.links.ports[egress as usize].first_queue + u32::from(class.0);
        let before = self.buffers.queues[queue_id as usize].occupancy;
        let first_port = pause_sender.first_port;
        let PauseSender { egress: counters, random, spec, levels, ports, .. } = &mut *pause_sender;
        let (xoff, port_count) = (levels[local].xoff, levels.len() as u32);
        let counter = &mut counters[local * PRIORITIES + class.at()];
        let buffers = &self.buffers;
        let aim = counter.aim(
            xoff,
            spec.target.as_ref(),
            before,
            now,
            |n| ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64,
            |nth| {
                let frame = buffers.frames(queue_id).nth(nth as usize)?;
                (frame.ingress != NIL).then(|| frame.ingress - first_port)
            },
        );
        ports.clear();
        match aim {
            Aim::None => {}
            Aim::Targets => ports.extend(counter.targets()),
            Aim::All => ports.extend((0..port_count).filter(|&port| port as usize != local)),
        }
        let rising_since = counter.rising_since(before, levels[local].xon, now);
        counter.add((ingress != NIL).then(|| ingress - first_port), bytes);
        let bits = self.nodes[node as usize].classes.priorities(class) & pause_sender.controlled();
        if bits == 0 || pause_sender.ports.is_empty() {
            self.nodes[node as usize].pause_sender = Some(pause_sender);
            return;
        }
        if aim == Aim::Targets {
            self.note_tied_pause(egress, class, ingress, now);
        }
        let cause = self.cause(aim == Aim::Targets, queue_id, rising_since, before.count(xoff));
        self.pause_ports(&mut pause_sender, (local, class), bits, cause, now, windows);
        self.nodes[node as usize].pause_sender = Some(pause_sender);
    }

    /// Sends XOFF through the ports that a queue wants paused, except where it is in force.
    fn pause_ports(
        &mut self,
        pause_sender: &mut PauseSender,
        (local, class): (usize, TrafficClass),
        xoff: u8,
        cause: PauseCause,
        now: Time,
        windows: &mut Queued,
    ) {
        let ports = std::mem::take(&mut pause_sender.ports);
        for &port in &ports {
            let pause = pause_sender.egress[local * PRIORITIES + class.at()].pause_mut(port);
            if !pause.is_due(now) {
                continue;
            }
            let fresh = !pause.in_force();
            pause.set(now + pause_sender.timing[port as usize].renew_after);
            pause_sender.pause_counts[port as usize * PRIORITIES + class.at()] += u32::from(fresh);
            if fresh && !cause.inherited {
                let queue = cause.queue - self.numbering.first_queue;
                self.root_begins(pause_sender.first_port + port, class.0, queue);
            }
            self.schedule_renewal(pause_sender, port as usize, now, windows);
            let signal = PauseSignal { xoff, xon: 0 };
            self.signal(pause_sender.first_port + port, signal, cause.pack(), now, windows);
        }
        pause_sender.ports = ports;
    }

    /// A frame has left its queue, which held `before` with it: XON may be due.
    #[inline(always)]
    pub fn after_dequeue(
        &mut self,
        egress: u32,
        class: TrafficClass,
        waiting: &Waiting,
        before: Occupancy,
        now: Time,
        windows: &mut Queued,
    ) {
        if self.links.ports[egress as usize].hooks.has(Hooks::BY_QUEUE) {
            self.release_egress((egress, class), waiting, before, now, windows);
        } else {
            self.count_out(waiting, now, windows);
        }
    }

    /// The same where queues are counted at the egress.
    #[inline(never)]
    fn release_egress(
        &mut self,
        (egress, class): (u32, TrafficClass),
        waiting: &Waiting,
        before: Occupancy,
        now: Time,
        windows: &mut Queued,
    ) {
        let node = self.node_of[egress as usize];
        let Some(mut pause_sender) = self.nodes[node as usize].pause_sender.take() else { return };
        let local = pause_sender.local(egress);
        let levels = pause_sender.levels[local];
        let after = self.buffers.queues[self.links.ports[egress as usize].first_queue as usize + class.at()]
            .occupancy;
        let first_port = pause_sender.first_port;
        let PauseSender { egress: counters, ports, pause_counts, spec, .. } = &mut *pause_sender;
        let counter = &mut counters[local * PRIORITIES + class.at()];
        let from = (waiting.ingress != NIL).then(|| waiting.ingress - first_port);
        counter.remove(from, waiting.frame.bytes, spec.target.as_ref(), after);
        ports.clear();
        counter.release(&levels, spec.target.as_ref(), before, after, |port| ports.push(port));
        let queue = self.links.ports[egress as usize].first_queue + u32::from(class.0);
        for &port in ports.iter() {
            self.root_ends(first_port + port, class.0, Some(queue), now);
        }
        ports.retain(|&port| {
            let pause_counts = &mut pause_counts[port as usize * PRIORITIES + class.at()];
            *pause_counts -= 1;
            *pause_counts == 0
        });
        let bits = self.nodes[node as usize].classes.priorities(class) & pause_sender.controlled();
        let ports = std::mem::take(&mut pause_sender.ports);
        for &port in ports.iter().filter(|_| pause_sender.spec.resume) {
            let signal = PauseSignal { xoff: 0, xon: bits };
            self.signal(pause_sender.first_port + port, signal, 0, now, windows);
        }
        pause_sender.ports = ports;
        self.nodes[node as usize].pause_sender = Some(pause_sender);
    }

    /// A pause has been sent through a port: arms the timer for its renewal.
    pub fn schedule_renewal(
        &mut self,
        pause_sender: &mut PauseSender,
        local: usize,
        now: Time,
        windows: &mut Queued,
    ) {
        if !pause_sender.spec.refresh {
            return;
        }
        let at = now + pause_sender.timing[local].renew_after;
        if at < pause_sender.renewals[local].due() && pause_sender.renewals[local].arm(at) {
            windows.push(Event::bare(Kind::Renew, at, pause_sender.first_port + local as u32));
        }
    }

    /// Says again what is about to run out and still needed.
    #[inline(never)]
    pub fn renew_pauses(&mut self, port: u32, now: Time, windows: &mut Queued) {
        let node = self.node_of[port as usize] as usize;
        let Some(mut pause_sender) = self.nodes[node].pause_sender.take() else { return };
        let local = pause_sender.local(port);
        if pause_sender.renewals[local].fires(now) {
            self.renew_due(&mut pause_sender, port, local, now, windows);
        }
        self.nodes[node].pause_sender = Some(pause_sender);
    }

    fn renew_due(
        &mut self,
        pause_sender: &mut PauseSender,
        port: u32,
        local: usize,
        now: Time,
        windows: &mut Queued,
    ) {
        let mut due = RenewalsDue { bits: 0, note: 0, next: Time::NEVER };
        if pause_sender.by_ingress() {
            self.renew_by_ingress(pause_sender, port, now, &mut due);
        }
        if !pause_sender.by_ingress() {
            self.renew_by_egress(pause_sender, port, now, &mut due);
        }
        let RenewalsDue { bits, note, next } = due;
        if next > now && next != Time::NEVER && pause_sender.renewals[local].arm(next) {
            windows.push(Event::bare(Kind::Renew, next, port));
        }
        if bits != 0 {
            self.signal(port, PauseSignal { xoff: bits, xon: 0 }, note, now, windows);
        }
    }

    fn renew_by_egress(&self, pause_sender: &mut PauseSender, port: u32, now: Time, due: &mut RenewalsDue) {
        let local = pause_sender.local(port);
        let classes = self.links.ports[port as usize].classes;
        let renew_at = now + pause_sender.timing[local].renew_after;
        for (queue_port, class) in (0..pause_sender.egress.len()).map(|at| (at / PRIORITIES, at % PRIORITIES))
        {
            if class >= classes.classes() {
                continue;
            }
            let first_queue = self.links.ports[pause_sender.first_port as usize + queue_port].first_queue;
            let queue_id = first_queue + class as u32;
            let occupancy = self.buffers.queues[queue_id as usize].occupancy;
            let levels = pause_sender.levels[queue_port];
            let controlled = pause_sender.controlled();
            let counter = &mut pause_sender.egress[queue_port * PRIORITIES + class];
            if counter.renew(local as u32, levels.xon, occupancy, now) {
                counter.pause_mut(local as u32).set(renew_at);
                due.bits |= classes.priorities(TrafficClass(class as u8)) & controlled;
                let occupancy = occupancy.count(levels.xoff);
                due.note = self.cause(false, queue_id, now, occupancy).pack();
            }
            // A queue that stays at its low watermark needs no renewal, and must not hide those that do.
            let pause = counter.pause(local as u32);
            if pause.in_force() && !pause.is_due(now) {
                due.next = due.next.min(pause.renew_at());
            }
        }
    }

    /// Sends a pause frame through `port` as soon as the frame on the link allows; one that waits already
    /// says both.
    #[inline(never)]
    pub fn signal(&mut self, port: u32, signal: PauseSignal, cause: u64, now: Time, windows: &mut Queued) {
        // Nobody hears it. What was asked for is forgotten when the port comes back.
        if self.links.ports[port as usize].hooks.has(Hooks::DOWN) {
            return;
        }
        let LinkControl::Pause(pauses) = &mut self.links.cold[port as usize].control else { return };
        // A port pauses what it obeys pauses of: its node may have PFC for more, at other ports.
        let signal = PauseSignal { xoff: signal.xoff & pauses.obeys, xon: signal.xon & pauses.obeys };
        if signal.is_empty() {
            return;
        }
        pauses.say(signal, cause);
        self.links.ports[port as usize].hooks.set(Hooks::PAUSE_WAITING, true);
        self.try_transmit(port, now, windows);
    }

    /// Puts the waiting pause frame on the link; the transmitter is free.
    #[inline(never)]
    pub fn transmit_pause(&mut self, egress: u32, now: Time, windows: &mut Queued) {
        let node = self.node_of[egress as usize];
        let cold = &mut self.links.cold[egress as usize];
        let LinkControl::Pause(pauses) = &mut cold.control else {
            return self.transmit_update(egress, now, windows);
        };
        let (signal, causes) = pauses.take_signal();
        cold.counts.pause_frames += 1;
        cold.counts.pauses_sent += u64::from(signal.xoff != 0);
        cold.counts.resumes_sent += u64::from(signal.xon != 0);
        // The frame carries one cause; where it stops several priorities for different ones, the others are
        // kept here, to be found by time.
        let cause = causes[signal.xoff.trailing_zeros() as usize % PRIORITIES];
        let (delay, peer_response) = (cold.delay, pauses.peer_response);
        let port = &mut self.links.ports[egress as usize];
        port.hooks.set(Hooks::PAUSE_WAITING, false);
        if port.busy_until < now {
            port.clock.restart();
        }
        port.busy_until = now + port.clock.advance(u64::from(CONTROL_FRAME_BYTES) + u64::from(port.overhead));
        let (ends_at, peer) = (port.busy_until + delay, port.arrives_as.number());
        let at = ends_at + peer_response;
        for (priority, &other) in (0u8..).zip(&causes) {
            if signal.xoff >> priority & 1 != 0 && other != cause && self.probes.pauses.is_some() {
                pauses.other_causes.push((at, priority, other));
            }
        }
        let quanta = self.quanta_of(node);
        let faulted = self.links.ports[egress as usize].hooks.has(Hooks::FAULTED);
        let lost = faulted && self.pause_is_lost(egress, now, at);
        if self.probes.frames.is_some() {
            self.log_pause(egress, signal, quanta, now, lost);
        }
        if lost {
            self.links.cold[egress as usize].counts.pauses_lost += 1;
            return;
        }
        if signal.xoff != 0 {
            self.tell_of_pause(egress, at);
        }
        windows
            .send(Event::pause(at, peer, signal, quanta, cause), || self.links.neighbours[egress as usize]);
    }

    /// Why a pause is sent: a queue fills a counter, that has risen since then.
    pub fn cause(&self, targeted: bool, queue: u32, since: Time, occupancy: u64) -> PauseCause {
        let known = queue != NIL;
        let inherited = known && self.has_been_paused(queue, since);
        let down = known && {
            let port = self.links.place_of_queue(queue).0;
            self.links.ports[port as usize].hooks.has(Hooks::DOWN)
        };
        PauseCause { targeted, inherited, down, queue: self.numbering.queue(queue), occupancy }
    }

    /// Whether the port of a queue has been paused for it at any time since then.
    fn has_been_paused(&self, queue: u32, since: Time) -> bool {
        let (port, class) = self.links.place_of_queue(queue);
        let classes = self.links.ports[port as usize].classes;
        self.links.cold[port as usize].control.until(classes.priorities(TrafficClass(class))) > since
    }

    fn quanta_of(&self, node: u32) -> u16 {
        // The pause sender is out of its place while it reacts to a frame; its quanta are then with the node.
        self.nodes[node as usize].pause_quanta
    }
}
