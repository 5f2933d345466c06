//! Link-level flow control at work: where its state machines (crate `flow_control`) meet ports and queues.

use crate::event::{Event, Kind, Queued};
use crate::pool::{NIL, Waiting};
use crate::port::Hooks;
use crate::station::{PauseCause, Station};
use crate::world::{Fabric, Node, record};
use flow_control::Accounting;
use flow_control::pause::PauseSignal;
use flow_control::tpfc::Aim;
use frame::{CONTROL_FRAME_BYTES, Frame, Occupancy, PRIORITIES, TrafficClass};
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
        egress: u32,
        class: TrafficClass,
        frame: &Frame,
        ingress: u32,
        now: Time,
        windows: &mut Queued,
    ) -> bool {
        let node = self.node_of[egress as usize];
        let Some(station) = &self.nodes[node as usize].station else { return true };
        match station.spec.accounting {
            Accounting::Ingress => {
                let queue = self.ports[egress as usize].first_queue + u32::from(class.0);
                self.count_in(node, frame, ingress, queue, now, windows)
            }
            Accounting::Egress => {
                self.meter_egress(node, egress, class, (ingress, frame.bytes), now, windows);
                true
            }
        }
    }

    /// A frame that came in through a port begins to wait, unless the port's headroom is full (false): XOFF may be
    /// due there.
    #[must_use]
    #[inline(always)]
    pub fn count_in(
        &mut self,
        node: u32,
        frame: &Frame,
        ingress: u32,
        queue: u32,
        now: Time,
        windows: &mut Queued,
    ) -> bool {
        let Node { station, sharing, .. } = &mut self.nodes[node as usize];
        let Some(station) = station.as_deref_mut() else { return true };
        let Some((local, group)) = station.counter(frame.priority.0, ingress) else { return true };
        let shared = sharing.as_ref().map(|sharing| sharing.levels(local, group));
        let levels = shared.as_ref().unwrap_or(&station.levels[local]);
        let meter = &mut station.ingress[local * PRIORITIES + group];
        if !meter.occupancy.has_room(levels.capacity, frame.bytes) {
            return false;
        }
        let xoff_due = meter.add(frame.bytes, levels, now);
        record(&mut self.recorded.meters, ingress as usize * PRIORITIES + group, now, meter.occupancy);
        if xoff_due {
            self.send_xoff(node, (ingress, group), queue, now, windows);
        }
        true
    }

    /// An ingress counter has reached its high watermark, by a frame for `queue`.
    #[inline(never)]
    fn send_xoff(
        &mut self,
        node: u32,
        (ingress, group): (u32, usize),
        queue: u32,
        now: Time,
        windows: &mut Queued,
    ) {
        let Some(mut station) = self.nodes[node as usize].station.take() else { return };
        let local = station.local(ingress);
        let renew_at = now + station.timing[local].renew_after;
        let meter = &mut station.ingress[local * PRIORITIES + group];
        meter.hold.set(renew_at);
        let (counted, since) = (meter.occupancy, meter.rising_since);
        let occupancy = counted.count(station.levels[local].xoff);
        let queue = self.to_blame(&station, queue, (ingress, group), counted);
        let inherited = queue != NIL && self.has_been_paused(queue, since);
        let cause = PauseCause { targeted: false, inherited, queue, occupancy };
        self.schedule_renewal(&mut station, local, now, windows);
        let signal = PauseSignal { xoff: station.bits(group), xon: 0 };
        self.signal(ingress, signal, cause.pack(), now, windows);
        self.nodes[node as usize].station = Some(station);
    }

    /// A frame is about to wait where queues are counted at the egress: XOFF may be due.
    #[inline(never)]
    fn meter_egress(
        &mut self,
        node: u32,
        egress: u32,
        class: TrafficClass,
        (ingress, bytes): (u32, u16),
        now: Time,
        windows: &mut Queued,
    ) {
        let Some(mut station) = self.nodes[node as usize].station.take() else { return };
        let local = station.local(egress);
        let queue_id = self.ports[egress as usize].first_queue + u32::from(class.0);
        let queue = &self.queues[queue_id as usize];
        let before = queue.occupancy;
        let first_port = station.first_port;
        let Station { egress: meters, random, spec, levels, ports, .. } = &mut *station;
        let (xoff, port_count) = (levels[local].xoff, levels.len() as u32);
        let meter = &mut meters[local * PRIORITIES + class.at()];
        let (lanes, pool) = (&self.lanes, &self.pool);
        let aim = meter.aim(
            xoff,
            spec.target.as_ref(),
            before,
            now,
            |n| ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64,
            |nth| {
                let own = queue.lists();
                let frame = lanes[own].iter().flat_map(|lane| pool.iter(lane)).nth(nth as usize)?;
                (frame.ingress != NIL).then(|| frame.ingress - first_port)
            },
        );
        ports.clear();
        match aim {
            Aim::None => {}
            Aim::Targets => ports.extend(meter.targets()),
            Aim::All => ports.extend((0..port_count).filter(|&port| port as usize != local)),
        }
        let rising_since = meter.rising_since(before, levels[local].xon, now);
        meter.add((ingress != NIL).then(|| ingress - first_port), bytes);
        let bits = self.nodes[node as usize].classes.priorities(class) & station.controlled();
        if bits == 0 || station.ports.is_empty() {
            self.nodes[node as usize].station = Some(station);
            return;
        }
        if aim == Aim::Targets {
            self.note_tied_pause(egress, class, ingress, now);
        }
        let cause = PauseCause {
            targeted: aim == Aim::Targets,
            inherited: self.has_been_paused(queue_id, rising_since),
            queue: queue_id,
            occupancy: before.count(xoff),
        };
        let ports = std::mem::take(&mut station.ports);
        for &port in &ports {
            let hold = station.egress[local * PRIORITIES + class.at()].hold(port);
            if !hold.is_due(now) {
                continue;
            }
            let fresh = !hold.in_force();
            hold.set(now + station.timing[port as usize].renew_after);
            station.holders[port as usize * PRIORITIES + class.at()] += u32::from(fresh);
            self.schedule_renewal(&mut station, port as usize, now, windows);
            let signal = PauseSignal { xoff: bits, xon: 0 };
            self.signal(station.first_port + port, signal, cause.pack(), now, windows);
        }
        station.ports = ports;
        self.nodes[node as usize].station = Some(station);
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
        let node = self.node_of[egress as usize];
        match self.nodes[node as usize].station.as_ref().map(|station| station.spec.accounting) {
            Some(Accounting::Ingress) => self.count_out(node, waiting, now, windows),
            Some(Accounting::Egress) => {
                self.release_egress(node, egress, class, waiting, before, now, windows)
            }
            None => {}
        }
    }

    /// A frame that came in through a port has left its queue.
    #[inline(always)]
    pub fn count_out(&mut self, node: u32, waiting: &Waiting, now: Time, windows: &mut Queued) {
        let Node { station, sharing, .. } = &mut self.nodes[node as usize];
        let Some(station) = station.as_deref_mut() else { return };
        let Some((local, group)) = station.counter(waiting.frame.priority.0, waiting.ingress) else { return };
        let shared = sharing.as_ref().map(|sharing| sharing.levels(local, group));
        let levels = shared.as_ref().unwrap_or(&station.levels[local]);
        let meter = &mut station.ingress[local * PRIORITIES + group];
        let xon_due = meter.remove(waiting.frame.bytes, levels);
        let counter = waiting.ingress as usize * PRIORITIES + group;
        record(&mut self.recorded.meters, counter, now, meter.occupancy);
        if xon_due && station.spec.resume {
            let signal = PauseSignal { xoff: 0, xon: station.bits(group) };
            self.signal(waiting.ingress, signal, 0, now, windows);
        }
    }

    #[inline(never)]
    #[allow(clippy::too_many_arguments)] // the frame, its place and the time
    fn release_egress(
        &mut self,
        node: u32,
        egress: u32,
        class: TrafficClass,
        waiting: &Waiting,
        before: Occupancy,
        now: Time,
        windows: &mut Queued,
    ) {
        let Some(mut station) = self.nodes[node as usize].station.take() else { return };
        let local = station.local(egress);
        let levels = station.levels[local];
        let after = self.queues[self.ports[egress as usize].first_queue as usize + class.at()].occupancy;
        let first_port = station.first_port;
        let Station { egress: meters, ports, holders, spec, .. } = &mut *station;
        let meter = &mut meters[local * PRIORITIES + class.at()];
        let from = (waiting.ingress != NIL).then(|| waiting.ingress - first_port);
        meter.remove(from, waiting.frame.bytes, spec.target.as_ref(), after);
        ports.clear();
        meter.release(&levels, spec.target.as_ref(), before, after, |port| {
            let holders = &mut holders[port as usize * PRIORITIES + class.at()];
            *holders -= 1;
            if *holders == 0 {
                ports.push(port);
            }
        });
        let bits = self.nodes[node as usize].classes.priorities(class) & station.controlled();
        let ports = std::mem::take(&mut station.ports);
        for &port in ports.iter().filter(|_| station.spec.resume) {
            let signal = PauseSignal { xoff: 0, xon: bits };
            self.signal(station.first_port + port, signal, 0, now, windows);
        }
        station.ports = ports;
        self.nodes[node as usize].station = Some(station);
    }

    /// A pause has been sent through a port: arms the timer for its renewal.
    fn schedule_renewal(&mut self, station: &mut Station, local: usize, now: Time, windows: &mut Queued) {
        if !station.spec.refresh {
            return;
        }
        let at = now + station.timing[local].renew_after;
        if at < station.renewals[local].due() && station.renewals[local].arm(at) {
            windows.push(Event::bare(Kind::Renew, at, station.first_port + local as u32));
        }
    }

    /// Says again what is about to run out and still needed.
    #[inline(never)]
    pub fn renew_pauses(&mut self, port: u32, now: Time, windows: &mut Queued) {
        let node = self.node_of[port as usize] as usize;
        let Some(mut station) = self.nodes[node].station.take() else { return };
        let local = station.local(port);
        if station.renewals[local].fires(now) {
            self.renew_due(&mut station, port, local, now, windows);
        }
        self.nodes[node].station = Some(station);
    }

    fn renew_due(&mut self, station: &mut Station, port: u32, local: usize, now: Time, windows: &mut Queued) {
        let renew_at = now + station.timing[local].renew_after;
        let (mut bits, mut note, mut next) = (0, 0, Time::NEVER);
        if !station.ingress.is_empty() {
            let sharing = &self.nodes[self.node_of[port as usize] as usize].sharing;
            let levels_of = |group| sharing.as_ref().map(|sharing| sharing.levels(local, group));
            let shared: [_; PRIORITIES] = std::array::from_fn(levels_of);
            for (group, shared) in shared.iter().enumerate() {
                let levels = shared.unwrap_or(station.levels[local]);
                let group_bits = station.bits(group);
                let meter = &mut station.ingress[local * PRIORITIES + group];
                let (renew, counted) = (meter.renew(&levels, now), meter.occupancy);
                if renew {
                    meter.hold.set(renew_at);
                }
                if meter.hold.in_force() {
                    next = next.min(meter.hold.renew_at());
                }
                if renew {
                    bits |= group_bits;
                    let occupancy = counted.count(levels.xoff);
                    let queue = self.to_blame(station, NIL, (port, group), counted);
                    let inherited = queue != NIL && self.has_been_paused(queue, now);
                    note = PauseCause { targeted: false, inherited, queue, occupancy }.pack();
                }
            }
        }
        for meter_id in 0..station.egress.len() {
            let (queue_port, class) = (meter_id / PRIORITIES, meter_id % PRIORITIES);
            let classes = self.nodes[self.node_of[port as usize] as usize].classes;
            if class >= classes.classes() {
                continue;
            }
            let queue_id = self.ports[station.first_port as usize + queue_port].first_queue + class as u32;
            let occupancy = self.queues[queue_id as usize].occupancy;
            let levels = station.levels[queue_port];
            let controlled = station.controlled();
            let meter = &mut station.egress[meter_id];
            if meter.renew(local as u32, levels.xon, occupancy, now) {
                meter.hold(local as u32).set(renew_at);
                bits |= classes.priorities(TrafficClass(class as u8)) & controlled;
                let occupancy = occupancy.count(levels.xoff);
                let inherited = self.has_been_paused(queue_id, now);
                note = PauseCause { targeted: false, inherited, queue: queue_id, occupancy }.pack();
            }
            // A queue that stays at its low watermark needs no renewal, and must not hide those that do.
            let hold = meter.held(local as u32);
            if hold.in_force() && !hold.is_due(now) {
                next = next.min(hold.renew_at());
            }
        }
        if next > now && next != Time::NEVER && station.renewals[local].arm(next) {
            windows.push(Event::bare(Kind::Renew, next, port));
        }
        if bits != 0 {
            self.signal(port, PauseSignal { xoff: bits, xon: 0 }, note, now, windows);
        }
    }

    /// Sends a pause frame through `port` as soon as the frame on the link allows; one that waits already
    /// says both.
    #[inline(never)]
    fn signal(&mut self, port: u32, signal: PauseSignal, cause: u64, now: Time, windows: &mut Queued) {
        // Nobody hears it. What was asked for is forgotten when the port comes back.
        if self.ports[port as usize].hooks.has(Hooks::DEAD) {
            return;
        }
        let line = &mut self.lines[port as usize];
        line.signal = line.signal.then(signal);
        for (priority, noted) in line.causes.iter_mut().enumerate() {
            if signal.xoff >> priority & 1 != 0 {
                *noted = cause;
            }
        }
        self.ports[port as usize].hooks.set(Hooks::PAUSE_WAITING, true);
        self.attend(port, now, windows);
    }

    /// Puts the waiting pause frame on the link; the transmitter is free.
    #[inline(never)]
    pub fn transmit_pause(&mut self, egress: u32, now: Time, windows: &mut Queued) {
        let node = self.node_of[egress as usize];
        let line = &mut self.lines[egress as usize];
        let signal = std::mem::take(&mut line.signal);
        line.counts.pause_frames += 1;
        line.counts.pauses_sent += u64::from(signal.xoff != 0);
        line.counts.resumes_sent += u64::from(signal.xon != 0);
        // The frame carries one cause; where it stops several priorities for different ones, the others are
        // kept here, to be found by time.
        let causes = line.causes;
        let cause = causes[signal.xoff.trailing_zeros() as usize % PRIORITIES];
        let delay = line.delay;
        let port = &mut self.ports[egress as usize];
        port.hooks.set(Hooks::PAUSE_WAITING, false);
        if port.busy_until < now {
            port.clock.restart();
        }
        port.busy_until = now + port.clock.advance(u64::from(CONTROL_FRAME_BYTES) + u64::from(port.overhead));
        let (ends_at, peer) = (port.busy_until + delay, port.peer);
        let at = ends_at + self.lines[peer as usize].response;
        for (priority, &other) in (0u8..).zip(&causes) {
            if signal.xoff >> priority & 1 != 0 && other != cause && self.recorded.pauses.is_some() {
                self.lines[egress as usize].other_causes.push((at, priority, other));
            }
        }
        let quanta = self.quanta_of(node);
        if self.ports[egress as usize].hooks.has(Hooks::EXPOSED) && self.pause_is_lost(egress, now, at) {
            self.lines[egress as usize].counts.pauses_lost += 1;
            return;
        }
        windows.send(Event::pause(at, peer, signal, quanta, cause), || self.node_of[peer as usize]);
    }

    /// Whether the port of a queue has been paused for it at any time since then.
    fn has_been_paused(&self, queue: u32, since: Time) -> bool {
        let (port, class) = self.place_of_queue(queue);
        let classes = self.nodes[self.node_of[port as usize] as usize].classes;
        self.lines[port as usize].timers.until(classes.priorities(TrafficClass(class))) > since
    }

    /// Port and class of a queue.
    pub fn place_of_queue(&self, queue: u32) -> (u32, u8) {
        let port = self.ports.partition_point(|port| port.first_queue <= queue) - 1;
        (port as u32, (queue - self.ports[port].first_queue) as u8)
    }

    /// Port and number of every queue.
    pub fn places_of_queues(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.queues.len() as u32).map(|queue| (self.place_of_queue(queue).0, queue))
    }

    fn quanta_of(&self, node: u32) -> u16 {
        // The station is out of its place while it reacts to a frame; its quanta are then with the node.
        self.nodes[node as usize].pause_quanta
    }
}
