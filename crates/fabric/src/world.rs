//! The fabric at work: what happens to a frame between its source and its destination.
//!
//! The way of a frame, in order: [`Fabric::forward`] at each port on its way: straight to the link if the port is
//! free and nothing waits, else [`Fabric::enqueue`] in `egress`; [`Fabric::decide`] in `selection` when the
//! port is free again; [`Fabric::transmit`] onto the link; and [`Fabric::deliver`] at the end. Sources are in
//! `sources`, pauses in `pausing`.
//!
//! One event a frame-hop: a free port sends at once and needs no event for the end of the transmission; a
//! decision is scheduled only while something waits.
//!
//! A frame waits from its entry into an egress queue to the start of its transmission, and only as long
//! does it occupy memory. Line overhead goes ahead of the frame: the last bit of the frame is the last
//! that the link carries of it.

use crate::endpoints::EndpointState;
use crate::event::{Event, Kind, Queued};
use crate::faults::Faults;
use crate::losses::Drops;
use crate::outcome::Failure;
use crate::pool::{List, Pool};
use crate::port::{Hooks, Line, Port, Queue, Sent};
use crate::receive::Receiving;
use crate::sharing::Sharing;
use crate::sources::SourceState;
use crate::spec::OnLosslessDrop;
use crate::spreading::Spreading;
use crate::station::Station;
use engine::World;
use frame::{ClassMap, Frame, FrameKind, Occupancy, PRIORITIES, PathId, Route};
use measure::{BinnedMax, BinnedSum, Latency};
use queueing::BufferSpec;
use units::Time;

/// In the table of hops: the frame has arrived.
pub(crate) const DELIVER: u32 = u32::MAX;
/// With one of these a frame does not go past its queue before somebody was asked.
const NOT_AT_ONCE: Hooks = Hooks::PAUSE_WAITING.or(Hooks::SCHEDULER).or(Hooks::MANAGED);
/// Bytes after which a cut-through switch knows where a frame goes.
pub(crate) const HEAD_BYTES: u16 = 64;

/// A host or a switch.
#[derive(Debug)]
pub(crate) struct Node {
    /// Hash over all that this node saw.
    pub fingerprint: u64,
    pub first_port: u32,
    pub classes: ClassMap,
    pub is_host: bool,
    /// Priorities in which a loss breaks a promise.
    pub lossless: u8,
    pub buffer: BufferSpec,
    /// Whether `buffer` sets any limit.
    pub limited: bool,
    /// When a frame began to wait last. Kept only where there are limits, as is all occupancy but that of queues.
    pub last_entry: Time,
    pub total: Occupancy,
    pub by_class: [Occupancy; PRIORITIES],
    /// Length of the pauses it sends.
    pub pause_quanta: u16,
    /// The memory that its queues share by dynamic thresholds.
    pub sharing: Option<Box<Sharing>>,
    /// The part that sends pauses.
    pub station: Option<Box<Station>>,
}

/// What one destination has received of one flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receiver {
    pub frames: u64,
    pub bytes: u64,
    pub latency: Latency,
    /// Of the frame that was made last among those that have arrived.
    pub last_created: Time,
    pub reordered: u64,
}

/// Time series; empty where they are not recorded.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub delivered: Vec<BinnedSum>,
    pub received: Vec<BinnedSum>,
    pub sent: Vec<BinnedSum>,
    /// Bytes and frames of each queue.
    pub queues: Vec<(BinnedMax, BinnedMax)>,
    /// Bytes and frames of each ingress counter: port times 8 plus group.
    pub meters: Vec<(BinnedMax, BinnedMax)>,
    /// Pauses that have ended: port, priority, start, end, cause.
    pub pauses: Option<Vec<PauseRecord>>,
}

impl Recorded {
    /// Whether levels or transmissions are recorded, which have to be in the order of time.
    pub fn any_levels(&self) -> bool {
        !(self.sent.is_empty() && self.queues.is_empty() && self.meters.is_empty())
    }
}

/// A pause, as the paused port saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PauseRecord {
    pub port: u32,
    pub priority: u8,
    pub start: Time,
    pub end: Time,
    pub cause: u64,
}

/// Frames made, delivered and lost since time zero: whatever else is reset, these must add up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ledger {
    pub made: u64,
    pub delivered: u64,
    pub lost: u64,
}

/// Notes a new level in a series, if it is recorded.
#[inline(always)]
pub(crate) fn record(series: &mut [(BinnedMax, BinnedMax)], of: usize, now: Time, level: Occupancy) {
    if let Some((bytes, frames)) = series.get_mut(of) {
        bytes.set(now, level.bytes);
        frames.set(now, level.frames);
    }
}

/// All state of a simulation.
#[derive(Debug)]
pub(crate) struct Fabric {
    /// Node of each place: ports, then sources, then endpoints.
    pub node_of: Vec<u32>,
    pub nodes: Vec<Node>,
    pub ports: Vec<Port>,
    pub sent: Vec<Sent>,
    pub lines: Vec<Line>,
    pub queues: Vec<Queue>,
    pub lanes: Vec<List>,
    pub pool: Pool,
    /// Where switches choose the path of each frame; `None`: they all hash, and paths are those of `hops`.
    pub spreading: Option<Box<Spreading>>,
    /// Egress ports of all paths, one path after the other, each closed by [`DELIVER`].
    pub hops: Vec<u32>,
    /// Where each path begins in `hops`.
    pub path_start: Vec<u32>,
    /// The source of each path.
    pub path_source: Vec<u32>,
    pub sources: Vec<SourceState>,
    /// Near and far end of each connection.
    pub endpoints: Vec<EndpointState>,
    /// By path, its near endpoint; [`RAW`](crate::endpoints::RAW) if it has none. Empty without connections.
    pub endpoint_of_path: Vec<u32>,
    pub receivers: Vec<Receiver>,
    pub drops: Drops,
    pub recorded: Recorded,
    pub ledger: Ledger,
    pub on_lossless_drop: OnLosslessDrop,
    pub failure: Option<Failure>,
    pub faults: Faults,
    /// By port, what arrives there and is not taken in yet; empty if every host takes in at any speed.
    pub receiving: Vec<Option<Box<Receiving>>>,
}

impl World for Fabric {
    type Event = Event;

    fn nodes(&self) -> usize {
        self.nodes.len()
    }
    fn places(&self) -> usize {
        self.node_of.len()
    }
    #[inline]
    fn node_of(&self, event: &Event) -> u32 {
        self.node_of[event.place() as usize]
    }
    fn stopped(&self) -> bool {
        self.failure.is_some()
    }

    #[inline(always)]
    fn handle(&mut self, event: Event, windows: &mut Queued) {
        if event.is(Kind::Frame) {
            self.note(&event, Kind::Frame);
            self.arrive(event.place(), event.frame, event.time, windows);
        } else if event.is_decision() {
            // Decisions and looks are no part of the fingerprint: a lazy port omits some, and looking changes
            // nothing. Arrivals and timers cover all that can be seen.
            if self.ports[event.place() as usize].decision.fires(event.time) {
                self.decide(event.place(), event.time, windows);
            }
        } else if event.is(Kind::Source) {
            self.note(&event, Kind::Source);
            self.source_due(event.place() - self.ports.len() as u32, event.time, windows);
        } else {
            self.handle_others(event, windows);
        }
    }
}

impl Fabric {
    /// The other kinds, compiled apart from those that every frame needs.
    #[inline(never)]
    fn handle_others(&mut self, event: Event, windows: &mut Queued) {
        let (kind, place, now) = (event.kind(), event.place(), event.time);
        if kind == Kind::Watch {
            return self.watch_due(place, now, windows);
        }
        self.note(&event, kind);
        match kind {
            Kind::Head => self.head_arrives(place, event.frame, now, windows),
            Kind::Pause => self.receive_pause(&event, windows),
            Kind::Renew => self.renew_pauses(place, now, windows),
            Kind::Broken => self.broken(&event),
            Kind::Served => self.served(place, now, windows),
            Kind::Fault => self.fault(&event, windows),
            Kind::Timeout => {
                let first = self.ports.len() + self.sources.len();
                self.endpoint_due(place - first as u32, now, windows);
            }
            Kind::Decide | Kind::Frame | Kind::Source | Kind::Watch => {}
        }
    }

    /// Adds an event to the fingerprint of its node.
    #[inline(always)]
    fn note(&mut self, event: &Event, kind: Kind) {
        let node = &mut self.nodes[self.node_of[event.place() as usize] as usize];
        node.fingerprint =
            (node.fingerprint.rotate_left(5) ^ event.digest(kind)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    }

    /// A frame is there as a whole.
    #[inline(always)]
    fn arrive(&mut self, ingress: u32, mut frame: Frame, now: Time, windows: &mut Queued) {
        if let Some(series) = self.recorded.received.get_mut(ingress as usize) {
            series.add(now, u64::from(frame.bytes));
        }
        let egress;
        (egress, frame.route) = self.next_egress(ingress, frame.path, frame.route, now);
        let Some(egress) = egress else {
            self.arrived(ingress, frame, now, windows);
            return;
        };
        self.forward(egress, frame, ingress, now, windows);
    }

    /// The head of a frame is there. It may go on at once unless the way out is faster than the way in:
    /// then the link would run dry in the middle of the frame.
    #[inline(never)]
    fn head_arrives(&mut self, ingress: u32, mut frame: Frame, now: Time, windows: &mut Queued) {
        let (egress, rest_of_way) = self.next_egress(ingress, frame.path, frame.route, now);
        let Some(egress) = egress else { return };
        if self.lines[egress as usize].rate > self.lines[ingress as usize].rate {
            let rest = u64::from(frame.bytes - frame.bytes.min(HEAD_BYTES));
            let at = now + self.ports[ingress as usize].clock.span_floor(rest);
            windows.push(Event::arrival(Kind::Frame, at, ingress, frame));
            return;
        }
        frame.route = rest_of_way;
        if let Some(series) = self.recorded.received.get_mut(ingress as usize) {
            series.add(now, u64::from(frame.bytes));
        }
        self.forward(egress, frame, ingress, now, windows);
    }

    /// The port that a frame leaves through, `None` if it has come to its end, and the rest of its way. Not told of the
    /// frame as a whole, so that it need not lie in memory.
    #[inline(always)]
    fn next_egress(&mut self, ingress: u32, path: PathId, route: Route, now: Time) -> (Option<u32>, Route) {
        let Some(hop) = route.next_hop() else { return self.routed_otherwise(ingress, path, route, now) };
        let egress = self.hops[hop as usize];
        ((egress != DELIVER).then_some(egress), Route::forward(hop + 1))
    }

    /// A frame has come to its end: a host takes it in.
    #[inline(always)]
    fn arrived(&mut self, ingress: u32, frame: Frame, now: Time, windows: &mut Queued) {
        if self.receiving.is_empty() {
            self.deliver(&frame, now, windows);
        } else {
            self.receive(ingress, frame, now, windows);
        }
    }

    #[inline(always)]
    pub fn deliver(&mut self, frame: &Frame, now: Time, windows: &mut Queued) {
        if frame.flags.kind() != FrameKind::Raw {
            // A copy: whose address is told has to lie in memory.
            let frame = *frame;
            return self.deliver_to_endpoint(&frame, now, windows);
        }
        self.receivers[frame.path.at()].count(frame, now);
        self.ledger.delivered += 1;
        if let Some(series) = self.recorded.delivered.get_mut(frame.path.at()) {
            series.add(now, u64::from(frame.bytes));
        }
    }

    /// A frame wants to leave through `egress`; `ingress` is the port it came in through, [`NIL`](crate::pool::NIL) if it
    /// begins its way here.
    #[inline(always)]
    pub fn forward(&mut self, egress: u32, frame: Frame, ingress: u32, now: Time, windows: &mut Queued) {
        let port = &self.ports[egress as usize];
        let nothing_waits = port.busy_until <= now && port.waiting | port.stopped == 0;
        if nothing_waits && !port.hooks.has(NOT_AT_ONCE) {
            self.transmit(egress, frame, now, windows);
        } else {
            self.enqueue(egress, frame, ingress, now, windows);
        }
    }

    /// Puts a frame on the link; the transmitter is free.
    #[inline(always)]
    pub fn transmit(&mut self, egress: u32, frame: Frame, now: Time, windows: &mut Queued) {
        let port = &mut self.ports[egress as usize];
        if port.busy_until < now {
            port.clock.restart();
        }
        port.busy_until = now + port.clock.advance(u64::from(frame.bytes) + u64::from(port.overhead));
        let (kind, left_at) = if port.hooks.has(Hooks::HEADS.or(Hooks::EXPOSED)) {
            if port.hooks.has(Hooks::EXPOSED) {
                return self.transmit_exposed(egress, frame, now, windows);
            }
            port.head_leaves(&frame, now)
        } else {
            (Kind::Frame, port.busy_until)
        };
        let arrival = Event::arrival(kind, left_at + port.arrives_after, port.peer, frame);
        windows.send(arrival, || self.node_of[arrival.place() as usize]);
        let feeds = port.hooks.has(Hooks::FEEDS);
        self.count_sent(egress, &frame, feeds, now, windows);
    }

    /// The rest of [`Fabric::transmit`] at a port that faults may hit.
    #[cold]
    #[inline(never)]
    fn transmit_exposed(&mut self, egress: u32, frame: Frame, now: Time, windows: &mut Queued) {
        let port = &self.ports[egress as usize];
        let (kind, left_at) = if port.hooks.has(Hooks::HEADS) {
            port.head_leaves(&frame, now)
        } else {
            (Kind::Frame, port.busy_until)
        };
        let arrival = Event::arrival(kind, left_at + port.arrives_after, port.peer, frame);
        let arrival = self.faults.fate(egress, port, &self.lines[egress as usize], arrival, now);
        let feeds = port.hooks.has(Hooks::FEEDS);
        windows.send(arrival, || self.node_of[arrival.place() as usize]);
        self.count_sent(egress, &frame, feeds, now, windows);
    }

    /// A transmission has begun: counts it, and tells the sources that wait for it.
    #[inline(always)]
    fn count_sent(&mut self, egress: u32, frame: &Frame, feeds: bool, now: Time, windows: &mut Queued) {
        let sent = &mut self.sent[egress as usize];
        sent.bytes += u64::from(frame.bytes);
        sent.frames[frame.priority.at()] += 1;
        if let Some(series) = self.recorded.sent.get_mut(egress as usize) {
            series.add(now, u64::from(frame.bytes));
        }
        if feeds {
            self.feed(egress, frame, now, windows);
        }
    }
}
