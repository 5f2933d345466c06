//! Bypass of the NIC queue: frames that go from their endpoint directly to the link, if the port is idle and has no
//! wait queue.

use crate::run::state::event::EventQueue;
use crate::run::state::index::PortIx;
use crate::run::state::links::Links;
use crate::run::state::nic::Nic;
use crate::run::state::own::NodeLocal;
use crate::run::state::passed::PassedPorts;
use crate::run::state::port::{Port, PortFeatures};
use crate::run::state::stages::{When, called_at};
use frame::{Frame, Priority, TrafficClass};
use units::Time;

/// Stages consulted or notified before a frame of a host goes directly to the link.
const FROM_HOST: PortFeatures = called_at(When::FROM_HOST);

/// Port state that a bypassing frame touches, looked up once.
pub(crate) struct Straight<'a> {
    sources_wait: bool,
    at: PortIx,
    port: &'a mut Port,
    passed: &'a mut PassedPorts,
    neighbours: &'a NodeLocal<PortIx, u32>,
}

/// A bypass for a frame of a host.
pub(crate) enum WayOut<'a> {
    /// Directly to the link, in this class.
    Link(Straight<'a>, TrafficClass),
    /// Into the NIC, which accepts the frame, in this class and with this line overhead in bytes.
    Nic(&'a mut Nic, TrafficClass, u16),
}

impl Port {
    /// Returns true if a frame can go to the link immediately. The only stage that may be consulted is that of the
    /// sources which the NIC serves.
    #[inline(always)]
    pub fn is_free(&self, now: Time) -> bool {
        let nothing_waits = self.busy_until <= now && self.waiting | self.stopped == 0;
        nothing_waits && !self.features.has(FROM_HOST)
    }

    /// Number of additional frames in its NIC. A scheduler that counts every frame must not observe an empty queue
    /// between two frames.
    #[inline(always)]
    pub fn more_in_nic(&self) -> u32 {
        self.features.has(PortFeatures::SCHEDULER).into()
    }
}

impl Links {
    /// Returns true if a frame of an endpoint bypasses the NIC: the link is idle, and no frame waits for it.
    #[inline(always)]
    pub fn takes_past_nic(&self, port: PortIx, priority: Priority, now: Time) -> bool {
        let Some(state) = self.ports.get(port) else { return false };
        let nic = self.nics[port].as_ref();
        let is_idle = |nic: &Nic| {
            let class = state.classes.class(priority);
            nic.is_idle() || !nic.has_line(class) && !nic.has_blocked(class)
        };
        state.is_free(now) && nic.is_some_and(is_idle)
    }

    /// Returns the bypass of a frame of this priority to the link of a host's port. `None` unless the link is idle, the
    /// wait queue is empty, and no stage except the sources that the NIC serves has to observe the frame.
    #[inline(always)]
    pub fn straight(&mut self, egress: PortIx, priority: Priority, now: Time) -> Option<Straight<'_>> {
        let at = egress;
        let port = &mut self.ports[at];
        if !port.is_free(now) {
            return None;
        }
        let nic = self.nics[at].as_ref()?;
        let mut sources_wait = false;
        if !nic.is_idle() {
            let class = port.classes.class(priority);
            if nic.has_line(class) {
                return None;
            }
            sources_wait = nic.has_blocked(class);
        }
        let (passed, neighbours) = (&mut self.passed, &self.neighbours);
        Some(Straight { sources_wait, at, port, passed, neighbours })
    }

    /// Returns the bypass of a frame of this priority to the link or into the NIC of a host's port. `None` unless the
    /// wait queue is empty and the NIC accepts the frame without a check of its capacity.
    #[inline(always)]
    pub fn way_out(&mut self, egress: PortIx, priority: Priority, now: Time) -> Option<WayOut<'_>> {
        let at = egress;
        let port = &mut self.ports[at];
        let nic = self.nics[at].as_mut()?;
        let class = port.classes.class(priority);
        if nic.has_line(class) {
            return None;
        }
        if port.is_free(now) {
            let sources_wait = nic.has_blocked(class);
            let (passed, neighbours) = (&mut self.passed, &self.neighbours);
            return Some(WayOut::Link(Straight { sources_wait, at, port, passed, neighbours }, class));
        }
        let takes = nic.has_a_turn(class, port.more_in_nic())
            && !port.features.has(PortFeatures::DOWN.or(PortFeatures::BOUNDED));
        if takes { Some(WayOut::Nic(nic, class, port.timing.overhead())) } else { None }
    }
}

impl WayOut<'_> {
    /// The class of the frame at the port.
    #[inline(always)]
    pub fn class(&self) -> TrafficClass {
        match self {
            WayOut::Link(_, class) | WayOut::Nic(_, class, _) => *class,
        }
    }

    /// Line overhead of a frame, in bytes.
    #[inline(always)]
    pub fn overhead(&self) -> u16 {
        match self {
            WayOut::Link(straight, _) => straight.overhead(),
            WayOut::Nic(.., overhead) => *overhead,
        }
    }
}

impl Straight<'_> {
    /// Line overhead of a frame, in bytes.
    #[inline(always)]
    pub fn overhead(&self) -> u16 {
        self.port.timing.overhead()
    }

    /// Sends a frame on the link. Returns true if sources wait for space in its class.
    #[inline(always)]
    pub fn transmit(self, frame: Frame, now: Time, events: &mut EventQueue) -> bool {
        let arrival = self.port.transmit(frame, now);
        events.send(arrival, || self.neighbours[self.at]);
        self.passed.count(self.at, &frame);
        self.sources_wait
    }
}
