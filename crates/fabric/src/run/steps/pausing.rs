//! Link-level flow control at work: where its state machines (crate `flow_control`) meet ports and queues.

use crate::run::state::event::{Event, Kind, PauseFrame, Queued};
use crate::run::state::index::{PauseSenderIx, PortIx, QueueIx};
use crate::run::state::link_control::LinkControl;
use crate::run::state::pause_sender::{Parts, PauseCause, PauseSender, Quanta, Search, cause_of};
use crate::run::state::pausing::{NO_QUANTA, RenewalsDue};
use crate::run::state::pool::Waiting;
use crate::run::state::port::Hooks;
use crate::run::state::world::Fabric;
use flow_control::Drain;
use flow_control::pause::PauseSignal;
use flow_control::pfc::Counted;
use flow_control::tpfc::Aim;
use frame::{CONTROL_FRAME_BYTES, Frame, Occupancy, PRIORITIES, TrafficClass, members};
use rand_xoshiro::rand_core::Rng;
use units::Time;

impl Fabric {
    /// A frame is about to wait: XOFF may be due. False: it does not fit the headroom of its ingress port.
    /// Pauses are decided on the queue as it is without the frame (Hagen 2012, Appendices A and B), or on what came in
    /// through the ingress port with it.
    #[must_use]
    #[inline(always)]
    pub fn before_enqueue(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        ingress: Option<PortIx>,
        now: Time,
        windows: &mut Queued,
    ) -> bool {
        let port = &self.links.ports[egress];
        if port.hooks.has(Hooks::BY_QUEUE) {
            self.count_egress(egress, class, (ingress, frame.bytes), now, windows);
        } else {
            let queue = port.queue(class);
            match self.count_in(frame, ingress, now) {
                Counted::Fits => {}
                Counted::AtXoff => self.send_xoff_to(frame, ingress, queue, now, windows),
                Counted::Full => return false,
            }
        }
        true
    }

    /// A frame is about to wait, perhaps at a root of pauses.
    #[inline(always)]
    pub fn tell_root(&mut self, egress: PortIx, class: TrafficClass, frame: &Frame) {
        if self.links.ports[egress].hooks.has(Hooks::BLAMED) {
            self.enters_root(egress, class, frame);
        }
    }

    /// A frame is about to wait where queues are counted at the egress: XOFF may be due.
    #[inline(never)]
    fn count_egress(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        (ingress, bytes): (Option<PortIx>, u16),
        now: Time,
        windows: &mut Queued,
    ) {
        let node = &self.nodes[self.node_of[egress]];
        let Some(at) = node.pause_sender else { return };
        let sender = &mut self.pause_senders[at];
        let (local, bits) = (sender.local(egress), node.classes.priorities(class) & sender.controlled());
        let queue_id = self.links.ports[egress].queue(class);
        let before = self.buffers.queues[queue_id].occupancy;
        let first_port = sender.first_port;
        let PauseSender { egress: counters, random, target, levels, ports, searches, .. } = sender;
        let (xoff, port_count) = (levels[local].xoff, levels.len() as u32);
        let counter = &mut counters[local * PRIORITIES + class.at()];
        let buffers = &self.buffers;
        // While a search is under way, only the high watermark counts.
        let searched = searches.iter().any(|search| search.queue == (local, class));
        let aim = counter.aim(
            xoff,
            target.as_ref().filter(|_| !searched),
            before,
            now,
            |n| ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64,
            |nth| {
                let frame = buffers.frames(queue_id).nth(nth as usize)?;
                frame.across.map(|ingress| ingress.since(first_port))
            },
        );
        ports.clear();
        match aim {
            Aim::None => {}
            Aim::Targets => ports.extend(counter.targets()),
            Aim::All => ports.extend((0..port_count).filter(|&port| port as usize != local)),
        }
        let rising_since = counter.rising_since(before, levels[local].xon, now);
        counter.add(ingress.map(|ingress| ingress.since(first_port)), bytes);
        if bits == 0 || ports.is_empty() {
            return;
        }
        let takes = target.filter(|_| aim == Aim::Targets).map(|it| it.search(before.frames));
        if aim == Aim::Targets {
            self.note_tied_pause(egress, class, ingress, now);
        }
        let cause = self.cause(aim == Aim::Targets, Some(queue_id), rising_since, before.count(xoff));
        if let Some(takes) = takes.filter(|&takes| takes > Time::ZERO) {
            let sender = &mut self.pause_senders[at];
            let targets = sender.ports.clone();
            let search =
                Search { ends: now + takes, queue: (local, class), priorities: bits, cause, targets };
            sender.schedule(local, search.ends, windows);
            sender.searches.push(search);
            return;
        }
        let drain = self.egress_drain(at, (local, class), bytes);
        self.pause_ports(at, (local, class), (bits, drain), cause, now, windows);
    }

    /// Sends XOFF through the ports that a queue wants paused, except where it is in force.
    fn pause_ports(
        &mut self,
        at: PauseSenderIx,
        (local, class): (usize, TrafficClass),
        (xoff, drain): (u8, Option<Drain>),
        cause: PauseCause,
        now: Time,
        windows: &mut Queued,
    ) {
        for nth in 0..self.pause_senders[at].ports.len() {
            let sender = &mut self.pause_senders[at];
            let local_port = sender.ports[nth] as usize;
            let (quanta, after) = sender.timing.of(local_port, xoff, drain.as_ref());
            let pause = sender.egress[local * PRIORITIES + class.at()].pause_mut(local_port as u32);
            if !pause.is_due(now) {
                continue;
            }
            let fresh = !pause.in_force();
            pause.set(now + after);
            sender.pause_counts[local_port * PRIORITIES + class.at()] += u32::from(fresh);
            sender.schedule_renewal(local_port, now + after, windows);
            let port = sender.first_port.plus(local_port as u32);
            if fresh && !cause.inherited {
                let queue = cause.queue.map(|queue| self.numbering.queue_here(queue));
                self.root_begins(port, class.0, queue);
            }
            self.signal(port, PauseSignal { xoff, xon: 0 }, &quanta, cause.pack(), now, windows);
        }
    }

    /// What has to leave a queue before its pauses may end, if that decides how long they are, with a frame of so many
    /// bytes that comes to it, or none.
    fn egress_drain(
        &self,
        at: PauseSenderIx,
        (local, class): (usize, TrafficClass),
        bytes: u16,
    ) -> Option<Drain> {
        let sender = &self.pause_senders[at];
        sender.timing.is_computed().then(|| {
            let egress = sender.first_port.plus(local as u32);
            let queue = self.links.ports[egress].queue(class);
            let mut held = self.buffers.queues[queue].occupancy;
            if bytes > 0 {
                held.add(bytes);
            }
            let levels = sender.levels[local];
            self.what_drains(egress, held, (levels.xoff, levels.xon), held.bytes)
        })
    }

    /// Searches for targets in the queues of a port that have come to an end.
    #[inline(never)]
    fn end_searches(&mut self, at: PauseSenderIx, local: usize, now: Time, windows: &mut Queued) {
        let over = |search: &mut Search| search.ends <= now && search.queue.0 == local;
        let ended: Vec<Search> = self.pause_senders[at].searches.extract_if(.., over).collect();
        for Search { queue: (local, class), priorities, cause, targets, .. } in ended {
            let sender = &mut self.pause_senders[at];
            let egress = sender.first_port.plus(local as u32);
            let queue = self.links.ports[egress].queue(class);
            // Nothing would end the pauses.
            if self.buffers.queues[queue].occupancy.within(sender.levels[local].xon) {
                continue;
            }
            sender.ports = targets;
            let drain = self.egress_drain(at, (local, class), 0);
            self.pause_ports(at, (local, class), (priorities, drain), cause, now, windows);
        }
    }

    /// A frame has left its queue, which held `before` with it: XON may be due.
    #[inline(always)]
    pub fn after_dequeue(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        waiting: &Waiting,
        before: Occupancy,
        now: Time,
        windows: &mut Queued,
    ) {
        if self.links.ports[egress].hooks.has(Hooks::BY_QUEUE) {
            self.release_egress((egress, class), waiting, before, now, windows);
        } else {
            self.count_out(waiting, now, windows);
        }
    }

    /// As `after_dequeue`, where queues are counted at the egress.
    #[inline(never)]
    fn release_egress(
        &mut self,
        (egress, class): (PortIx, TrafficClass),
        waiting: &Waiting,
        before: Occupancy,
        now: Time,
        windows: &mut Queued,
    ) {
        let node = &self.nodes[self.node_of[egress]];
        let Some(at) = node.pause_sender else { return };
        let sender = &mut self.pause_senders[at];
        let local = sender.local(egress);
        let signal = PauseSignal { xoff: 0, xon: node.classes.priorities(class) & sender.controlled() };
        let levels = sender.levels[local];
        let queue = self.links.ports[egress].queue(class);
        let after = self.buffers.queues[queue].occupancy;
        let first_port = sender.first_port;
        let PauseSender { egress: counters, ports, target, .. } = sender;
        let counter = &mut counters[local * PRIORITIES + class.at()];
        let from = waiting.across.map(|ingress| ingress.since(first_port));
        counter.remove(from, waiting.frame.bytes, target.as_ref(), after);
        ports.clear();
        counter.release(&levels, target.as_ref(), before, after, |port| ports.push(port));
        for nth in 0..self.pause_senders[at].ports.len() {
            let sender = &mut self.pause_senders[at];
            let local_port = sender.ports[nth];
            // Another queue may keep it paused.
            let pause_count = &mut sender.pause_counts[local_port as usize * PRIORITIES + class.at()];
            *pause_count -= 1;
            let is_last = *pause_count == 0 && sender.spec.resume;
            let port = first_port.plus(local_port);
            self.root_ends(port, class.0, Some(queue), now);
            if is_last {
                self.signal(port, signal, &NO_QUANTA, 0, now, windows);
            }
        }
    }

    /// Says again what is about to run out and still needed.
    #[inline(never)]
    pub fn renew_pauses(&mut self, port: PortIx, now: Time, windows: &mut Queued) {
        let Some(at) = self.nodes[self.node_of[port]].pause_sender else { return };
        let sender = &mut self.pause_senders[at];
        let local = sender.local(port);
        if sender.renewals[local].fires(now) {
            self.end_searches(at, local, now, windows);
            self.renew_due(at, port, now, windows);
        }
    }

    fn renew_due(&mut self, at: PauseSenderIx, port: PortIx, now: Time, windows: &mut Queued) {
        let sender = &self.pause_senders[at];
        let local = sender.local(port);
        let searched = sender.searches.iter().filter(|search| search.queue.0 == local);
        let next = searched.map(|search| search.ends).min().unwrap_or(Time::NEVER);
        let mut due = RenewalsDue { bits: 0, quanta: NO_QUANTA, note: 0, next };
        if !sender.spec.refresh {
            // Only searches wait.
        } else if sender.by_ingress() {
            self.renew_by_ingress(at, port, now, &mut due);
        } else {
            self.renew_by_egress(at, port, now, &mut due);
        }
        let RenewalsDue { bits, quanta, note, next } = due;
        if next > now && next != Time::NEVER && self.pause_senders[at].renewals[local].arm(next) {
            windows.push(Event::bare(Kind::Renew, next, port));
        }
        if bits != 0 {
            self.signal(port, PauseSignal { xoff: bits, xon: 0 }, &quanta, note, now, windows);
        }
    }

    fn renew_by_egress(&mut self, at: PauseSenderIx, port: PortIx, now: Time, due: &mut RenewalsDue) {
        let local = self.pause_senders[at].local(port);
        let classes = self.links.ports[port].classes;
        for nth in 0..self.pause_senders[at].egress.len() {
            let (queue_port, class) = (nth / PRIORITIES, TrafficClass((nth % PRIORITIES) as u8));
            if class.at() >= classes.classes() {
                continue;
            }
            let sender = &self.pause_senders[at];
            let queue = self.links.ports[sender.first_port.plus(queue_port as u32)].queue(class);
            let occupancy = self.buffers.queues[queue].occupancy;
            let levels = sender.levels[queue_port];
            let bits = classes.priorities(class) & sender.controlled();
            if sender.egress[nth].renew(local as u32, levels.xon, occupancy, now) {
                let drain = self.egress_drain(at, (queue_port, class), 0);
                if drain.is_none_or(|drain| !drain.may_end(sender.timing.link(local))) {
                    let (quanta, after) = sender.timing.of(local, bits, drain.as_ref());
                    let cause = self.cause(false, Some(queue), now, occupancy.count(levels.xoff));
                    due.add(bits, &quanta, cause.pack());
                    self.pause_senders[at].egress[nth].pause_mut(local as u32).set(now + after);
                }
            }
            let counter = &self.pause_senders[at].egress[nth];
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
    pub fn signal(
        &mut self,
        port: PortIx,
        signal: PauseSignal,
        quanta: &Quanta,
        cause: u64,
        now: Time,
        windows: &mut Queued,
    ) {
        // Nobody hears it. What was asked for is forgotten when the port comes back.
        if self.links.ports[port].hooks.has(Hooks::DOWN) {
            return;
        }
        let LinkControl::Pause(pauses) = &mut self.links.cold[port].control else { return };
        // A port pauses what it obeys pauses of: its node may have PFC for more, at other ports.
        let signal = PauseSignal { xoff: signal.xoff & pauses.obeys, xon: signal.xon & pauses.obeys };
        if signal.is_empty() {
            return;
        }
        pauses.say(signal, quanta, cause);
        self.links.ports[port].hooks.set(Hooks::PAUSE_WAITING, true);
        self.try_transmit(port, now, windows);
    }

    /// Puts the waiting pause frame on the link; the transmitter is free.
    #[inline(never)]
    pub fn transmit_pause(&mut self, egress: PortIx, now: Time, windows: &mut Queued) {
        let cold = &mut self.links.cold[egress];
        let LinkControl::Pause(pauses) = &mut cold.control else {
            return self.transmit_update(egress, now, windows);
        };
        let (signal, causes, times) = pauses.take_signal();
        cold.counts.pause_frames += 1;
        cold.counts.pauses_sent += u64::from(signal.xoff != 0);
        cold.counts.resumes_sent += u64::from(signal.xon != 0);
        // Each time in the frame is an event, which carries one cause; where it stops several priorities for different
        // ones, the others are kept here, to be found by time.
        let parts = Parts::of(signal, &times);
        let (delay, peer_response) = (cold.delay, pauses.peer_response);
        let port = &mut self.links.ports[egress];
        port.hooks.set(Hooks::PAUSE_WAITING, false);
        if port.busy_until < now {
            port.clock.restart();
        }
        port.busy_until = now + port.clock.advance(u64::from(CONTROL_FRAME_BYTES) + u64::from(port.overhead));
        let (ends_at, peer) = (port.busy_until + delay, port.arrives_as.peer());
        let at = ends_at + peer_response;
        for priority in members(signal.xoff).filter(|_| self.probes.pauses.is_some()) {
            let carried = parts.iter().find(|(part, _)| part.xoff >> priority & 1 != 0);
            if carried.is_some_and(|(part, _)| cause_of(part, &causes) != causes[priority]) {
                pauses.other_causes.push((at, priority as u8, causes[priority]));
            }
        }
        let faulted = self.links.ports[egress].hooks.has(Hooks::FAULTED);
        let lost = faulted && self.pause_is_lost(egress, now, at);
        if self.probes.frames.is_some() {
            for (part, quanta) in parts.iter() {
                self.log_pause(egress, part, quanta, now, lost);
            }
        }
        if lost {
            self.links.cold[egress].counts.pauses_lost += 1;
            return;
        }
        if signal.xoff != 0 {
            self.tell_of_pause(egress, at);
        }
        for (number, (part, quanta)) in parts.iter().enumerate() {
            let pause = PauseFrame { signal: part, quanta, note: cause_of(part, &causes), more: number != 0 };
            windows.send(Event::pause(at, peer, pause), || self.links.neighbours[egress]);
        }
    }

    /// Why a pause is sent: a queue fills a counter, that has risen since then.
    pub fn cause(&self, targeted: bool, queue: Option<QueueIx>, since: Time, occupancy: u64) -> PauseCause {
        let inherited = queue.is_some_and(|queue| self.has_been_paused(queue, since));
        let down = queue.is_some_and(|queue| {
            let port = self.links.place_of_queue(queue).0;
            self.links.ports[port].hooks.has(Hooks::DOWN)
        });
        let queue = queue.map(|queue| self.numbering.queue(queue));
        PauseCause { targeted, inherited, down, queue, occupancy }
    }

    /// Whether the port of a queue has been paused for it at any time since then.
    fn has_been_paused(&self, queue: QueueIx, since: Time) -> bool {
        let (port, class) = self.links.place_of_queue(queue);
        let classes = self.links.ports[port].classes;
        self.links.cold[port].control.until(classes.priorities(TrafficClass(class))) > since
    }
}
