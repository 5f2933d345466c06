//! What an event needs is fetched before it runs, in large fabrics.
//!
//! What a frame or a decision touches lies in a chain: the event names a port, the port a queue, the queue its first frame, and
//! that tells the bin of the histogram that its wait belongs to. Each step here looks at what the step before has fetched, and
//! fetches what that leads to; the engine takes it some events later (`engine::World::fetch`). Nothing changes by it, and a
//! guess may be wrong: until the event runs, others come to the same port.

use crate::run::state::event::{Event, Kind};
use crate::run::state::hosts::{Hosts, Receiver};
use crate::run::state::index::{EndpointIx, PlaceIx, PortIx};
use crate::run::state::nic::InLine;
use crate::run::state::port::{Port, PortFeatures};
use crate::run::state::world::Fabric;
use frame::{Frame, Heading, PathId, Priority};
use memory::{fetch, fetch_all, fetch_all_at, fetch_at};
use units::Time;

/// A fabric is large if its tables take more bytes than caches have: then memory is far, and fetched ahead.
/// Tests have small ones.
const LARGE: usize = if cfg!(debug_assertions) { 1 << 16 } else { 24 << 20 };

/// In place of an egress port: the frame has come to its end.
const END: u32 = u32::MAX;

impl Fabric {
    /// Whether it is worth it: by the tables that grow with ports, flows and connections.
    pub fn is_large(&self) -> bool {
        let ports = size_of_val(&*self.links.ports) + size_of_val(&*self.links.cold);
        let hosts = size_of_val(&*self.hosts.sources) + size_of_val(&*self.hosts.endpoints);
        let receivers = size_of_val(&*self.hosts.receivers);
        ports + size_of_val(&*self.buffers.queues) + hosts + receivers > LARGE
    }

    /// A step of what is fetched for an event.
    #[inline(always)]
    pub fn fetch_for(&self, step: usize, event: &Event, found: u32) -> u32 {
        if event.is(Kind::Frame) || event.is(Kind::Head) {
            self.fetch_for_frame(step, event, found)
        } else if event.is_decision() {
            self.fetch_for_decision(step, event.port(), event.time);
            0
        } else if event.is(Kind::Source) {
            self.fetch_for_source(step, event.place(), event.time);
            0
        } else if event.is(Kind::Timeout) {
            let first = self.links.len() + self.hosts.sources.len();
            if let Some(state) = self.hosts.endpoints.raw.get(event.place().at().wrapping_sub(first)) {
                match step {
                    0 => fetch(&state.wakes_at),
                    // Not if another call has overtaken this one.
                    2 if state.wakes_at == { event.time } => fetch_all(state),
                    _ => {}
                }
            }
            0
        } else {
            0
        }
    }

    /// Where it goes; the port there, or its receiver; what waits at that port.
    #[inline(always)]
    fn fetch_for_frame(&self, step: usize, event: &Event, found: u32) -> u32 {
        let frame = event.frame();
        match (step, found) {
            (0, _) => {
                let hop = match frame.route.heading() {
                    Heading::Forward(hop) => hop,
                    Heading::Backward(hops) => hops.wrapping_sub(1),
                    Heading::Destination(_) | Heading::Tree(_) => return 0,
                };
                fetch_at(&self.routes.hops, hop as usize);
                if let Some(ingress) = self.ingress.get(event.port()) {
                    fetch(&ingress.levels);
                    fetch_at(&ingress.counters, frame.priority().at());
                }
                0
            }
            (1, _) => {
                let egress = self.leaves_through(&frame);
                if egress == END {
                    fetch_at(&self.hosts.receiver_of_path, frame.path.at());
                    fetch_at(&self.hosts.endpoints_of_path, frame.path.at());
                } else {
                    fetch_at(&self.links.ports.raw, egress as usize);
                }
                egress
            }
            (2, END) => {
                self.fetch_receiver(frame.path);
                if let Some(ends) = self.hosts.endpoints_of_path.get(frame.path.at()) {
                    fetch_endpoint(&self.hosts, ends[usize::from(self.goes_to_far_end(&frame))]);
                }
                END
            }
            (3, END) => {
                self.fetch_latency(&frame, event.time);
                END
            }
            (2, egress) => {
                self.fetch_queue_for(PortIx::new(egress), frame.priority(), event.time);
                if self.leads_to_receiver(PortIx::new(egress)) {
                    fetch_at(&self.hosts.receiver_of_path, frame.path.at());
                }
                egress
            }
            (3, egress) => {
                self.fetch_waiting(PortIx::new(egress), &frame);
                egress
            }
            (4, egress) if egress != END => {
                self.fetch_waits(PortIx::new(egress), &frame, event.time);
                egress
            }
            (_, found) => found,
        }
    }

    /// The port that a frame leaves through, or [`END`].
    #[inline(always)]
    fn leaves_through(&self, frame: &Frame) -> u32 {
        match frame.route.heading() {
            Heading::Forward(hop) => self.routes.egress(hop).map_or(END, PortIx::number),
            Heading::Backward(hops) => self.routes.step_back(hops).map_or(END, |(egress, _)| egress.number()),
            Heading::Destination(_) | Heading::Tree(_) => END,
        }
    }

    /// Who counts the frames of a path, if it ends in this part.
    #[inline(always)]
    fn receiver_at(&self, path: PathId) -> Option<&Receiver> {
        let receiver = self.hosts.receiver_of_path.get(path.at()).copied().flatten()?;
        self.hosts.receivers.get(receiver)
    }
    #[inline(always)]
    fn fetch_receiver(&self, path: PathId) {
        if let Some(receiver) = self.receiver_at(path) {
            fetch_all(receiver);
        }
    }

    /// The bin of a frame that arrives then.
    #[inline(always)]
    fn fetch_latency(&self, frame: &Frame, arrives: Time) {
        if let Some(receiver) = self.receiver_at(frame.path) {
            receiver.latency.fetch(arrives.saturating_sub(frame.created));
        }
    }

    /// The queue of a frame at a port, and what counts what passes there.
    #[inline(always)]
    fn fetch_queue_for(&self, egress: PortIx, priority: Priority, now: Time) {
        let Some(port) = self.links.ports.get(egress) else { return };
        fetch(self.links.passed.of(egress, priority.at()));
        let queue = port.queue(port.classes.class(priority));
        if port.waiting != 0 || port.busy_until > now {
            fetch_all_at(&self.buffers.queues.raw, queue.at());
        }
    }

    /// Whether what leaves through a port is counted at once where it will come to.
    #[inline(always)]
    fn leads_to_receiver(&self, egress: PortIx) -> bool {
        self.links.ports.get(egress).is_some_and(|port| port.features.has(PortFeatures::COUNTED_AHEAD))
    }

    /// What waits in that queue: the last frame, behind which this one comes, and, where frames are sent ahead, the first one, which
    /// may have left.
    #[inline(always)]
    fn fetch_waiting(&self, egress: PortIx, frame: &Frame) {
        let Some(port) = self.links.ports.get(egress) else { return };
        let queue = port.queue(port.classes.class(frame.priority()));
        if port.waiting != 0
            && let Some(queue) = self.buffers.queues.get(queue)
        {
            self.buffers.pool.fetch_last(&queue.list);
            if port.features.has(PortFeatures::AHEAD) {
                self.buffers.pool.fetch_first(&queue.list);
            }
        }
        if port.features.has(PortFeatures::COUNTED_AHEAD) {
            self.fetch_receiver(frame.path);
        }
    }

    /// The bin of the first frame that waits there, and that of the frame at its receiver.
    #[inline(always)]
    fn fetch_waits(&self, egress: PortIx, frame: &Frame, now: Time) {
        let Some(port) = self.links.ports.get(egress) else { return };
        if port.waiting != 0 && port.features.has(PortFeatures::AHEAD) {
            self.fetch_first_wait(port, now);
        }
        if port.features.has(PortFeatures::COUNTED_AHEAD) {
            let bytes = u64::from(frame.bytes) + u64::from(port.timing.overhead());
            let takes = port.clock.span_floor(bytes) + port.timing.arrives_after();
            let arrives = now.max(port.busy_until).saturating_add(takes);
            self.fetch_latency(frame, arrives);
        }
    }

    /// The bin of the first frame that waits at a port, the frame behind it, and where that one came in.
    #[inline(always)]
    fn fetch_first_wait(&self, port: &Port, now: Time) -> Option<Frame> {
        let queue = self.buffers.queues.raw.get(first_queue(port))?;
        let first = self.buffers.pool.get(queue.list.head()?);
        let leaves = if first.leaves == Time::NEVER { now } else { first.leaves };
        queue.waits.fetch(leaves.saturating_sub(first.since));
        self.buffers.pool.fetch_second(first);
        if let Some(ingress) = first.across {
            fetch_at(&self.ingress.raw, ingress.at());
        }
        Some(first.frame)
    }

    /// The port that decides; its queue; the frame that leaves; where its wait and the frame itself are counted. At a NIC also who
    /// is next in line.
    #[inline(always)]
    fn fetch_for_decision(&self, step: usize, egress: PortIx, now: Time) {
        let Some(port) = self.links.ports.get(egress) else { return };
        if step == 0 {
            return fetch(port);
        }
        if port.waiting == 0 {
            return;
        }
        if port.features.has(PortFeatures::FEEDS) {
            self.fetch_line(step, egress, first_class(port));
        }
        match step {
            1 => fetch_all_at(&self.buffers.queues.raw, first_queue(port)),
            2 => {
                if let Some(queue) = self.buffers.queues.raw.get(first_queue(port)) {
                    self.buffers.pool.fetch_first(&queue.list);
                }
            }
            3 => {
                if let Some(frame) = self.fetch_first_wait(port, now) {
                    fetch(self.links.passed.of(egress, frame.priority().at()));
                    fetch_at(&self.hosts.receiver_of_path, frame.path.at());
                    if let Some(hop) = frame.route.next_hop() {
                        fetch_at(&self.routes.hops, hop as usize);
                    }
                }
            }
            _ if port.features.has(PortFeatures::COUNTED_AHEAD) => {
                let queue = self.buffers.queues.raw.get(first_queue(port));
                if let Some(first) = queue.and_then(|queue| queue.list.head()) {
                    self.fetch_receiver(self.buffers.pool.get(first).frame.path);
                }
            }
            _ => {}
        }
    }

    /// The NIC; what it knows of a class; the number of the first endpoint in line; the endpoint.
    #[inline(never)]
    fn fetch_line(&self, step: usize, egress: PortIx, class: usize) {
        if step == 1 {
            fetch(&self.links.cold[egress].sole_source);
            return fetch_at(&self.links.nics.raw, egress.at());
        }
        let Some(Some(nic)) = self.links.nics.get(egress) else { return };
        match step {
            2 => nic.fetch_class(class),
            3 => nic.fetch_line(class),
            _ => fetch_endpoint(&self.hosts, nic.first_in_line(class).and_then(InLine::endpoint)),
        }
    }

    /// The source; where its path begins, and who receives; the port there, and what waits at it. Of several paths it is the
    /// first.
    #[inline(always)]
    fn fetch_for_source(&self, step: usize, place: PlaceIx, now: Time) {
        let source = place.at().wrapping_sub(self.links.len());
        let Some(state) = self.hosts.sources.raw.get(source) else { return };
        let path = PathId(state.first_path);
        match step {
            0 => fetch_all(state),
            1 => {
                fetch_at(&self.routes.path_start, path.at());
                fetch_at(&self.hosts.receiver_of_path, path.at());
            }
            2 => {
                fetch_at(&self.routes.hops, self.routes.path_start[path.at()] as usize);
                self.fetch_receiver(path);
            }
            3 => {
                fetch_at(&self.links.ports.raw, self.routes.first_port(path.0).at());
                if let Some(receiver) = self.receiver_at(path) {
                    receiver.latency.fetch_min();
                }
            }
            _ => {
                self.fetch_queue_for(self.routes.first_port(path.0), state.priority, now);
            }
        }
    }
}

/// The highest class of a port with frames waiting, which goes first where nobody is asked.
#[inline(always)]
fn first_class(port: &Port) -> usize {
    (u32::BITS - 1).wrapping_sub(port.waiting.leading_zeros()) as usize
}

#[inline(always)]
fn first_queue(port: &Port) -> usize {
    port.first_queue.at().wrapping_add(first_class(port))
}

#[inline(always)]
fn fetch_endpoint(hosts: &Hosts, nth: Option<EndpointIx>) {
    if let Some(nth) = nth {
        fetch_all_at(&hosts.endpoints.raw, nth.at());
    }
}
