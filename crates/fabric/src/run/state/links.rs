//! Links and ports: what each end of a link sends and has sent.
//!
//! The state of a port is split so that every frame touches only one cache line of it: [`Port`], hot; [`ColdPort`],
//! rarely used; [`Passed`](crate::run::state::passed::Passed), counters; and [`Nic`], at hosts.

use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::managed::Managed;
use crate::run::state::managers::Managers;
use crate::run::state::nic::Nic;
use crate::run::state::own::NodeLocal;
use crate::run::state::passed::PassedPorts;
use crate::run::state::port::{ColdPort, FormerRate, Port, PortCounts, PortFeatures};
use frame::CONTROL_FRAME_BYTES;
use units::{BitRate, Time};

/// All ports, in the order of their nodes.
#[derive(Debug, Default)]
pub(crate) struct Links {
    pub ports: NodeLocal<PortIx, Port>,
    pub cold: NodeLocal<PortIx, ColdPort>,
    /// The NICs of hosts' ports.
    pub nics: NodeLocal<PortIx, Option<Nic>>,
    pub passed: PassedPorts,
    pub managers: Managers,
    /// True if any queue manager writes into returned tags.
    pub stamps_returned: bool,
    /// The node at the other end of each link, by its number in the whole fabric.
    pub neighbours: NodeLocal<PortIx, u32>,
}

/// Number of frames sent through ports, and number of frames to ports that were lost or damaged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Crossings {
    pub sent: u64,
    pub broken: u64,
}

impl Links {
    /// Creates the state of this number of ports, with this number of priorities or channels.
    pub fn with_capacity(ports: usize, numbers: usize) -> Links {
        Links {
            ports: memory::with_room(ports).into(),
            cold: memory::with_room(ports).into(),
            nics: Vec::with_capacity(ports).into(),
            passed: PassedPorts::new(ports, numbers),
            managers: Managers::default(),
            stamps_returned: false,
            neighbours: Vec::with_capacity(ports).into(),
        }
    }

    /// Adds a port, with its NIC if it belongs to a host, and the node at the other end.
    pub fn push(&mut self, port: Port, nic: Option<Nic>, cold: ColdPort, neighbour: u32) {
        self.neighbours.add(neighbour);
        self.ports.add(port);
        self.nics.add(nic);
        self.cold.add(cold);
    }

    /// Bytes and frames sent through a port with these priorities or channels (bit n for number n).
    pub fn sent_of(&self, port: PortIx, numbers: u32) -> (u64, u64) {
        self.passed.sent(port, numbers)
    }

    /// Number of ports.
    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// Port and class of a queue.
    pub fn place_of_queue(&self, queue: QueueIx) -> (PortIx, u8) {
        let behind = self.ports.each().partition_point(|port| port.first_queue <= queue);
        let port = PortIx::new(behind as u32 - 1);
        (port, (queue.number() - self.ports[port].first_queue.number()) as u8)
    }

    /// Changes the reasons for which a port cannot send.
    pub fn set_down(&mut self, port: PortIx, change: impl FnOnce(u8) -> u8) {
        let cold = &mut self.cold[port];
        (cold.down, cold.stops_until) = (change(cold.down), Time::ZERO);
        self.ports[port].features.set(PortFeatures::DOWN, cold.down != 0);
    }

    /// Changes the rates at which a port sends and receives, from the next frame on; `None`: that rate does not change.
    /// `change_rate` in `steps::faults` updates other state that depends on the rate.
    pub fn change_rate(
        &mut self,
        port: PortIx,
        (sends, arrives): (Option<BitRate>, Option<BitRate>),
        now: Time,
    ) {
        let bits = self.bits_on_wire(port);
        let cold = &mut self.cold[port];
        let sent_by = self.ports[port].clock;
        cold.former.push(FormerRate { until: now, sent_by, arrived_by: cold.arrives_by });
        if let Some(rate) = arrives {
            cold.arrival_rate = rate;
            cold.arrives_by = units::WireClock::with_offset(rate, cold.peer_clock);
        }
        let Some(rate) = sends else { return };
        if let Some(credits) = cold.control.credits_mut() {
            credits.on_link_rate(rate);
        }
        cold.counts.settled.0 += bits.saturating_sub(cold.counts.settled.1) as f64 / cold.rate.bps_f64();
        cold.counts.settled.1 = bits;
        cold.rate = rate;
        cold.scheduler.on_link_rate(rate, now);
        let number = port;
        let port = &mut self.ports[port];
        port.clock = units::WireClock::with_offset(rate, cold.clock);
        cold.trimming.iter_mut().for_each(|trimming| trimming.on_link_rate(rate));
        for (class, queue) in port.queues().enumerate() {
            let Some(managed) = self.managers.of_mut(queue) else { continue };
            let passed = self.passed.of_mut(number, class);
            managed.on_link_rate(rate, passed);
        }
    }

    /// Returns true if a port sends faster than frames arrive at another port of its node, by their nominal rates.
    /// Clocks are compared first, since they are usually equal.
    #[inline(always)]
    pub fn is_faster(&self, egress: PortIx, ingress: PortIx) -> bool {
        !self.ports[egress].clock.is_as_fast_as(&self.cold[ingress].arrives_by)
            && self.cold[egress].rate > self.cold[ingress].arrival_rate
    }

    /// Transmission time of a frame whose last bit has arrived now, at the rate at which the peer sent it.
    pub fn took_to_arrive(&self, port: PortIx, bytes: u16, now: Time) -> Time {
        let (state, cold) = (&self.ports[port], &self.cold[port]);
        let around = u64::from(bytes) + u64::from(state.timing.overhead());
        let mut clock = cold.arrives_by;
        for former in cold.former.iter().rev() {
            if now.saturating_sub(cold.delay + clock.span_floor(around)) >= former.until {
                break;
            }
            clock = former.arrived_by;
        }
        clock.span_ceil(u64::from(bytes))
    }

    /// Bits that a port has sent on its link since measurement started, including line overhead and pause frames.
    fn bits_on_wire(&self, port: PortIx) -> u64 {
        let overhead = u64::from(self.ports[port].timing.overhead());
        let (bytes, frames) = self.sent_of(port, u32::MAX);
        let pauses = self.cold[port].counts.pause_frames * (u64::from(CONTROL_FRAME_BYTES) + overhead);
        let counts = &self.cold[port].counts;
        (bytes + frames * overhead + pauses + counts.update_bytes + counts.retry_bytes) * 8
    }

    /// Time in seconds for which a port's transmitter was busy since measurement started; the whole frame in
    /// transmission counts.
    pub fn time_on_wire(&self, port: PortIx) -> f64 {
        let cold = &self.cold[port];
        let (seconds, bits) = cold.counts.settled;
        seconds + self.bits_on_wire(port).saturating_sub(bits) as f64 / cold.rate.bps_f64()
    }

    /// Restarts measurement at `now`, with counts at zero. Returns the previous counts.
    pub fn restart(&mut self, now: Time, on_link_until: &[Time]) -> Crossings {
        let sent = self.ports.indices().map(|port| self.sent_of(port, u32::MAX).1).sum();
        let mut before = Crossings { sent, ..Crossings::default() };
        self.passed.restart();
        self.managers.iter_mut().for_each(Managed::restart);
        for (cold, on_link_until) in self.cold.each_mut().iter_mut().zip(on_link_until) {
            before.broken += cold.counts.broken.0;
            cold.control.restart(now);
            cold.contention.iter_mut().for_each(|contention| contention.clear());
            cold.retry.iter_mut().for_each(|retry| retry.restart(now));
            let begun_before = on_link_until.saturating_sub(now);
            cold.counts = PortCounts { begun_before, ..PortCounts::default() };
        }
        before
    }

    /// Checks invariants between events, after building and at the end of a run.
    pub fn check(&self) {
        assert!(
            self.ports.len() == self.cold.len() && self.ports.len() == self.passed.len(),
            "a port lacks a part: this is a bug in the simulator"
        );
        for (port, cold) in self.ports.each().iter().zip(self.cold.each()) {
            assert!(
                port.features.has(PortFeatures::DOWN) == (cold.down != 0),
                "a failed link does not stop its port: this is a bug in the simulator"
            );
        }
    }

    /// Bytes of the tables.
    pub fn memory_bytes(&self) -> usize {
        self.ports.memory_bytes()
            + self.cold.memory_bytes()
            + self.cold.each().iter().map(|cold| cold.control.memory_bytes()).sum::<usize>()
            + self
                .cold
                .each()
                .iter()
                .flat_map(|cold| &cold.retry)
                .map(|own| own.memory_bytes())
                .sum::<usize>()
            + self
                .cold
                .each()
                .iter()
                .flat_map(|cold| &cold.contention)
                .map(|own| own.memory_bytes())
                .sum::<usize>()
            + self.nics.memory_bytes()
            + self.nics.each().iter().flatten().map(Nic::memory_bytes).sum::<usize>()
            + self.passed.memory_bytes()
            + self.managers.memory_bytes()
            + self.neighbours.memory_bytes()
    }
}
