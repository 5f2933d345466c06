//! A part of a fabric with access to all of its nodes, for the run loop, the builder and the results.

use crate::Whole;
use crate::run::dispatch;
use crate::run::fetching;
use crate::run::state::crossbar::Crossbar;
use crate::run::state::event::{Event, EventQueue, Kind};
use crate::run::state::headers::Carried;
use crate::run::state::links::Crossings;
use crate::run::state::pause_sender::PauseSender;
use crate::run::state::port::PortFeatures;
use crate::run::state::view::NodeView;
use crate::run::steps::ahead::queues;
use crate::run::steps::{culprits, nic_places};
use engine::World;
use frame::{Frame, TrafficClass};
use std::ops::{Deref, DerefMut};
use transport::Protocol;
use units::Time;

/// All state of a simulation, or of the nodes that one thread runs. Steps do not receive it: they receive the
/// [`NodeView`] of their event.
#[derive(Debug)]
pub(crate) struct Fabric {
    view: NodeView,
    whole: Whole,
}

impl Fabric {
    /// Wraps the state of nodes.
    pub fn new(view: NodeView, whole: Whole) -> Fabric {
        Fabric { view, whole }
    }

    /// The token that grants access to all nodes.
    pub fn whole(&self) -> Whole {
        self.whole
    }

    /// Number of frames in this part that are not on a link, computed from counters.
    pub fn frames_kept(&self) -> u64 {
        let crossing: usize = self.crossbars().map(|bar| bar.frames_underway().count()).sum();
        self.buffers.pool.used() + self.hosts.frames_at_work() + crossing as u64
    }

    /// Frames that wait here: at ports, in crossbars, for the processing of hosts, and for retransmission by link-level
    /// retry.
    pub fn frames_at_rest(&self) -> impl Iterator<Item = &Frame> {
        let receiving = self.hosts.receiving.all(self.whole).iter().flatten();
        let crossing = self.crossbars().flat_map(|bar| {
            let waiting = bar.lists().iter().flat_map(|list| self.buffers.pool.iter(list));
            waiting.map(|waiting| &waiting.frame).chain(bar.frames_underway())
        });
        let received = receiving.flat_map(|it| it.all_frames(&self.buffers.pool));
        let retries = self.links.cold.all(self.whole).iter().flat_map(|cold| &cold.retry);
        let repeated = retries.flat_map(|retry| retry.held());
        self.buffers.all_frames().chain(crossing).chain(received).chain(repeated)
    }

    /// Checks invariants between events, after building and at the end of a run.
    pub fn check(&self) {
        self.links.check();
        let crossing: u64 = self.crossbars().map(Crossbar::frames_waiting).sum();
        self.buffers.check(self.hosts.frames_in_pool() + crossing);
        self.routes.check();
        self.hosts.check();
        self.check_nics();
        self.check_slots();
    }

    /// Restarts measurement at `now`: counts are reset, levels are kept. Pauses that have ended are kept too, as pauses
    /// still in force may be their consequences.
    pub fn restart(&mut self, now: Time) -> Crossings {
        let on_link_until: Vec<Time> =
            self.links.ports.keys(self.whole).map(|port| queues::on_link_until(self, port)).collect();
        let whole = self.whole;
        let NodeView { nodes, buffers, hosts, .. } = &mut **self;
        buffers.restart(now);
        let crossbars = nodes.all_mut(whole).iter_mut().filter_map(|node| node.architecture.crossbar_mut());
        crossbars.for_each(|bar| bar.restart(&buffers.pool, now));
        hosts.restart(&buffers.pool, now);
        culprits::restart_culprits(self);
        self.copies.restart();
        self.probes.restart(now);
        self.ledger.restart();
        self.links.restart(now, &on_link_until)
    }

    /// Releases the spare capacity of tables that have reached their final length.
    pub fn shrink(&mut self) {
        let whole = self.whole;
        self.node_of.0.all_mut(whole).shrink_to_fit();
        self.buffers.shrink();
        self.hosts.shrink();
    }

    /// Bytes of the tables that all parts of a fabric share.
    pub fn shared_bytes(&self) -> usize {
        self.routes.shared_bytes() + self.faults.shared_bytes() + self.copies.shared_bytes()
    }

    /// Bytes of all other tables, including series; excludes small allocations of their entries (names, watermarks).
    pub fn memory_bytes(&self) -> usize {
        let crossbars = self.crossbars().map(Crossbar::memory_bytes).sum::<usize>();
        crossbars
            + self.deferred.memory_bytes()
            + self.node_of.0.memory_bytes()
            + self.nodes.memory_bytes()
            + self.pause_senders.all(self.whole).iter().map(PauseSender::memory_bytes).sum::<usize>()
            + self.links.memory_bytes()
            + self.buffers.memory_bytes()
            + self.ingress.memory_bytes()
            + self.headers.memory_bytes()
            + self.telemetry.memory_bytes()
            + self.copies.memory_bytes()
            + self.routes.memory_bytes()
            + self.hosts.memory_bytes()
            + self.faults.memory_bytes()
            + self.probes.memory_bytes()
    }

    /// Schedules the first events of endpoints.
    pub fn start_endpoints(&mut self, events: &mut EventQueue) {
        for nth in self.hosts.endpoints.keys(self.whole) {
            let place = self.place_of_endpoint(nth);
            let state = &mut self.hosts.endpoints[nth];
            if let Some(at) = state.endpoint.poll_timeout() {
                state.wakes_at = at;
                events.push(Event::bare(Kind::Timeout, at, place));
            }
        }
    }

    /// Records all departures up to `now`, before results are read.
    pub fn settle_all(&mut self, now: Time) {
        for port in self.links.ports.keys(self.whole) {
            if self.links.ports[port].features.has(PortFeatures::AHEAD) {
                queues::settle(self, port, now);
            }
        }
    }

    /// Number of committed frames at all ports.
    pub fn frames_committed(&self) -> u64 {
        let ports = self
            .links
            .ports
            .all(self.whole)
            .iter()
            .filter(|port| port.features.has(PortFeatures::AHEAD) && port.waiting != 0);
        ports.map(|port| u64::from(self.buffers.queues[port.waiting_queue()].committed)).sum()
    }

    /// The crossbars of its switches.
    pub fn crossbars(&self) -> impl Iterator<Item = &Crossbar> {
        self.nodes.all(self.whole).iter().filter_map(|node| node.architecture.crossbar())
    }

    /// Checks that each NIC counts the pulled frames queued there, and that no class holds more of them than its limit.
    ///
    /// # Panics
    /// If a count is wrong: a bug in the simulator.
    fn check_nics(&self) {
        for (egress, nic) in self.links.nics.enumerated(self.whole) {
            let Some(nic) = nic else { continue };
            let port = &self.links.ports[egress];
            let receiving = self.hosts.receiving.get(egress).and_then(Option::as_deref);
            let preparing = || receiving.into_iter().flat_map(|own| own.preparing(&self.buffers.pool));
            for class in (0..port.classes.classes() as u8).map(TrafficClass) {
                let queued = self.buffers.frames(port.queue(class)).map(|waiting| &waiting.frame);
                let prepared = preparing().filter(|frame| port.classes.class(frame.priority()) == class);
                let waiting = queued.chain(prepared);
                let waiting = waiting
                    .filter(|frame| nic_places::was_pulled(self, frame, frame.flags.is_pushed()))
                    .count();
                let (pulled, most) = nic.pulled(class, port.more_in_nic());
                assert!(
                    waiting as u32 == pulled && pulled <= most,
                    "a NIC holds {waiting} frames of endpoints and limiters, counts {pulled} and may hold {most}: this is a fault of the \
                     simulator"
                );
            }
        }
    }

    /// Checks between events that every slot of a multicast frame is in use: exactly the copies that wait at a switch,
    /// and those at the input of a crossbar, hold a share of a slot.
    fn check_slots(&self) {
        if self.copies.inputs.is_empty() {
            return;
        }
        let at_output = self.links.ports.keys(self.whole).filter(|&port| {
            let node = &self.nodes[self.node_of[port]];
            !node.is_host && node.architecture.crossbar().is_none()
        });
        let queues = at_output.flat_map(|port| self.links.ports[port].queues());
        let waiting = queues.flat_map(|queue| self.buffers.frames(queue));
        let lists = self.crossbars().flat_map(Crossbar::lists);
        let inside = lists.flat_map(|list| self.buffers.pool.iter(list));
        let copies = waiting.chain(inside).filter(|waiting| waiting.frame.route.is_tree()).count();
        let slots = self.copies.inputs.all(self.whole).iter().flat_map(|own| &own.slots);
        let left: u64 = slots.map(|slot| u64::from(slot.left)).sum();
        assert!(
            copies as u64 == left,
            "{copies} copies wait, and slots are held for {left}: this is a bug in the simulator"
        );
    }
}

impl Deref for Fabric {
    type Target = NodeView;
    #[inline(always)]
    fn deref(&self) -> &NodeView {
        &self.view
    }
}

impl DerefMut for Fabric {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut NodeView {
        &mut self.view
    }
}

impl World for Fabric {
    type Event = Event;
    type Cargo = Carried;

    fn nodes(&self) -> usize {
        self.nodes.len()
    }
    fn places(&self) -> usize {
        // Event windows have the same number of places in all parts.
        self.numbering.all_places as usize
    }
    #[inline]
    fn node_of(&self, event: &Event) -> u32 {
        self.node_of[event.place(self.whole)].number()
    }
    #[inline(always)]
    fn is_common(&self, event: &Event) -> bool {
        event.is_plain()
    }
    fn is_far(&self) -> bool {
        fetching::is_large(self)
    }
    #[inline(always)]
    fn fetch<const STEP: usize>(&self, event: &Event, found: u32) -> u32 {
        fetching::fetch_for(self, STEP, event, found)
    }
    fn stopped(&self) -> bool {
        self.ledger.failure.is_some()
    }
    fn pauses(&self) -> bool {
        !self.hosts.ranks.notices.is_empty()
    }
    fn pack(&mut self, mail: &mut [Event], cargo: &mut Vec<Carried>) {
        if self.headers.in_use() == 0 {
            return;
        }
        for header in mail.iter_mut().filter_map(Event::header_mut) {
            self.headers.pack(*header, cargo);
        }
    }
    fn unpack(&mut self, mail: &mut [Event], cargo: &mut Vec<Carried>) {
        if cargo.is_empty() {
            return;
        }
        let mut cargo = cargo.drain(..).peekable();
        for header in mail.iter_mut().filter_map(Event::header_mut) {
            if let Some(slot) = self.headers.unpack(&mut cargo) {
                *header = slot;
            }
        }
    }

    #[inline(always)]
    fn handle(&mut self, event: Event, events: &mut EventQueue) {
        let here = &mut self.view;
        dispatch::dispatch(here, event, self.whole, events);
        if !here.deferred.is_empty() {
            dispatch::run_deferred(here, event.time, events);
        }
        here.deciding = false;
    }
}
