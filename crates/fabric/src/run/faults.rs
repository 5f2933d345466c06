//! Faults at work: links that go down, switches that restart, wrong bits, lost frames, lost pause frames.
//!
//! All faults are known before the run, random ones too: they follow from the description and the seed. The
//! sender of a frame therefore knows what will happen to it on its way, and says so in the event for the other
//! end: no node ever looks at another. A frame is lost if its link is down at any moment while a bit of it is
//! on the link, or if a switch at one end restarts while it sends or takes in a part of it.
//!
//! What stations do when a link goes down: pauses that came or went through it are forgotten, and frames that
//! wait for it are lost at once, or kept. A new rate holds from the next frame on; the one on the wire
//! completes at the old rate. A new scheduler hears of all that waits as if it came just then; what the old one knew of the
//! past is forgotten. A switch that restarts loses all it holds, forgets all pauses and neither hears
//! nor sends anything for a while; its neighbours do not notice.
//!
//! Scope: single links and switches. Losses by faults are counted by their cause and stop no run, also in
//! lossless classes.
//!
//! A link that loses frames loses each on its own, with the same probability whatever its length, in each direction
//! by a stream of its own. It loses frames of flows: pause frames have a probability of their own.
//!
//! Not modelled: losses in bursts; errors in the line overhead, or several of one error on the wire by the line code; a damaged or cut frame that a cut-through switch has already
//! begun to forward (it ends at the switch here); a transmitter that notices the cut before its frame has
//! ended; negotiation when a link comes back; headroom and response times that follow a change of rate (they
//! are those of the fastest rate, and of the first); bounds
//! of the table of guarantees that follow a new scheduler.

use crate::run::domains::PortDomain;
use crate::run::event::{Event, Kind, LossCause, Queued};
use crate::run::index::PortIx;
use crate::run::losses::Cause;
use crate::run::port::{ColdPort, Hooks, LINK_DOWN, Port, SWITCH_OFF};
use crate::run::world::Fabric;
use crate::spec::CoreChange;
use engine::Stream;
use flow_control::pause::PauseSignal;
use frame::{CONTROL_FRAME_BYTES, Frame, NodeId, PRIORITIES, TrafficClass, members};
use scheduling::{Scheduler, Selector};
use std::ops::Range;
use std::sync::Arc;
use transport::Protocol;
use units::{BitRate, Time};

/// From, until.
pub(crate) type Span = (Time, Time);

/// The faults that frames leaving through a port may meet.
#[derive(Debug)]
pub(crate) struct FaultSchedule {
    /// When the link is down; these and the next two in order and apart.
    pub outages: Vec<Span>,
    /// When the own switch restarts, and that at the other end.
    pub here: Vec<Span>,
    pub there: Vec<Span>,
    /// When the link changes its rate.
    pub rates: Vec<Time>,
    /// Probability of a wrong bit.
    pub bit_errors: Vec<(Span, f64)>,
    /// Probability that a pause frame is lost.
    pub pause_losses: Vec<(Span, f64)>,
    /// Probability that a frame of a flow is lost.
    pub frame_losses: Vec<(Span, f64)>,
    /// The scheduler as it was at the beginning, if it has a memory of what waits.
    pub fresh: Option<Scheduler>,
    pub bits: Stream,
    pub pauses: Stream,
    pub losses: Stream,
}

/// What happens at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    Down {
        keep: bool,
    },
    Up,
    Rate(BitRate),
    /// The switch of this port goes off, and on again.
    Off,
    On,
    Receive(CoreChange),
    /// From now on this path begins there in the table of hops.
    Path {
        path: u32,
        start: u32,
    },
    /// A pause frame comes in through this port.
    Pause {
        signal: PauseSignal,
        quanta: u16,
    },
    /// The port gets one of the schedulers of the table.
    Scheduler {
        nth: u32,
    },
    /// A congestion message comes in for the source of this path.
    Congestion {
        path: u32,
        feedback: u8,
    },
    /// The port does another thing of the table at the edge of a congestion notification domain.
    Domain {
        nth: u32,
    },
}

/// All faults of a run.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// By port; empty without faults.
    pub schedules: Vec<Option<Box<FaultSchedule>>>,
    /// Events of the beginning, each with its actions.
    pub events: Vec<Event>,
    /// Of the whole fabric.
    pub actions: Arc<[Action]>,
    /// Those that ports get while the simulation runs, with nothing served yet.
    pub schedulers: Arc<[Scheduler]>,
    /// What ports do at the edge of a congestion notification domain after they have heard of it.
    pub domains: Arc<[PortDomain]>,
}

impl Faults {
    /// Bytes of the table that all parts of a fabric have together.
    pub fn shared_bytes(&self) -> usize {
        size_of_val(&*self.actions) + size_of_val(&*self.schedulers) + size_of_val(&*self.domains)
    }

    /// Bytes of the tables of this part; the spans of a port among them.
    pub fn memory_bytes(&self) -> usize {
        let spans = self.schedules.iter().flatten().map(|schedule| {
            let spans = schedule.outages.capacity() + schedule.here.capacity() + schedule.there.capacity();
            let chances = schedule.bit_errors.capacity()
                + schedule.pause_losses.capacity()
                + schedule.frame_losses.capacity();
            size_of::<FaultSchedule>()
                + spans * size_of::<Span>()
                + chances * size_of::<(Span, f64)>()
                + schedule.rates.capacity() * size_of::<Time>()
        });
        self.schedules.capacity() * size_of::<Option<Box<FaultSchedule>>>()
            + spans.sum::<usize>()
            + self.events.capacity() * size_of::<Event>()
    }
}

/// Whether some span has a moment in common with `from` to `until`.
fn meets(spans: &[Span], from: Time, until: Time) -> bool {
    let next = spans.partition_point(|span| span.1 <= from);
    spans.get(next).is_some_and(|span| span.0 < until)
}

/// The probability that at least one of `bits` bits is wrong: 1 - (1 - p)^bits, without the cancellation
/// that a small `p` would meet there, and by operations that every machine rounds alike.
fn any_of(bits: u64, p: f64) -> f64 {
    let mut any = 0.0;
    for bit in (0..64 - bits.leading_zeros()).rev() {
        any *= 2.0 - any;
        if bits >> bit & 1 != 0 {
            any += p * (1.0 - any);
        }
    }
    any
}

/// Draws with the probability that the spans around `now` give together; draws nothing outside of them.
fn strikes(spans: &[(Span, f64)], now: Time, bits: u64, stream: &mut Stream) -> bool {
    let mut safe = 1.0;
    for &((from, until), p) in spans {
        if from <= now && now < until {
            safe *= 1.0 - any_of(bits, p);
        }
    }
    safe < 1.0 && workload::unit(stream) <= 1.0 - safe
}

impl FaultSchedule {
    /// What happens to something that is sent from `began` to `ended` and acts at the other end at `acts`.
    fn loss_cause(&self, began: Time, ended: Time, delay: Time, acts: Time) -> Option<LossCause> {
        if meets(&self.outages, began, ended + delay) {
            return Some(LossCause::LinkDown);
        }
        let restarts = meets(&self.here, began, ended) || meets(&self.there, began + delay, acts);
        restarts.then_some(LossCause::Restart)
    }
}

impl Faults {
    /// A frame has been put on a link that faults can hit: decides what becomes of it. It may be on its way `back`
    /// along its path.
    pub fn outcome_on_link(
        &mut self,
        egress: PortIx,
        port: &Port,
        cold: &ColdPort,
        (arrival, back): (Event, bool),
        began: Time,
    ) -> Event {
        let schedule = self.schedules.get_mut(egress.at()).and_then(Option::as_deref_mut);
        let Some(schedule) = schedule else { return arrival };
        let acts = port.busy_until + port.arrives_after;
        let bits = u64::from(arrival.frame().bytes) * 8;
        let mut loss_cause = schedule.loss_cause(began, port.busy_until, cold.delay, acts);
        if loss_cause.is_none() && strikes(&schedule.frame_losses, began, 1, &mut schedule.losses) {
            loss_cause = Some(LossCause::Loss);
        }
        if loss_cause.is_none() && strikes(&schedule.bit_errors, began, bits, &mut schedule.bits) {
            loss_cause = Some(LossCause::BitError);
        }
        if let Some(loss_cause) = loss_cause {
            return Event::broken(acts, port.arrives_as.peer(), arrival.frame(), loss_cause, back);
        }
        if arrival.kind() == Kind::Head && schedule.rates.iter().any(|&at| began < at && at < acts) {
            // The switch would compare rates that this frame did not travel at: it takes in all of it first.
            return Event::arrival(Kind::Frame, acts, port.arrives_as.peer(), arrival.frame());
        }
        arrival
    }
}

impl Fabric {
    /// Whether a pause frame that is sent from `began` on, to act at `acts`, gets lost.
    #[cold]
    pub fn pause_is_lost(&mut self, egress: PortIx, began: Time, acts: Time) -> bool {
        let schedule = self.faults.schedules.get_mut(egress.at()).and_then(Option::as_deref_mut);
        let Some(schedule) = schedule else { return false };
        let (ended, delay) = (self.links.ports[egress].busy_until, self.links.cold[egress].delay);
        // A pause that is on its way to its effect when the link goes down is forgotten like one in force.
        schedule.loss_cause(began, ended, delay, acts).is_some()
            || meets(&schedule.outages, began, acts)
            || strikes(&schedule.pause_losses, began, 1, &mut schedule.pauses)
            || strikes(&schedule.bit_errors, began, u64::from(CONTROL_FRAME_BYTES) * 8, &mut schedule.bits)
    }

    /// A frame that should have arrived does not, or arrives with a wrong checksum.
    #[cold]
    #[inline(never)]
    pub fn broken(&mut self, port: PortIx, frame: &Frame, cause: LossCause, now: Time) {
        let cause = match cause {
            LossCause::LinkDown => Cause::LinkDown,
            LossCause::Restart => Cause::Restart,
            LossCause::BitError => Cause::BitError,
            LossCause::Loss => Cause::LinkLoss,
        };
        let class = self.nodes[self.node_of[port]].classes.class(frame.priority);
        self.log_drop(port, true, frame, cause, now);
        self.count_loss(port, class, frame, cause);
        self.credits_lost(port, frame, now);
        let counts = &mut self.links.cold[port].counts;
        counts.broken.0 += 1;
        counts.broken.1 += u64::from(frame.bytes);
        counts.bit_errors += u64::from(cause == Cause::BitError);
    }

    /// The time of a fault has come, or of its end.
    #[cold]
    #[inline(never)]
    pub fn fault(&mut self, port: PortIx, actions: Range<usize>, now: Time, windows: &mut Queued) {
        for at in actions {
            match self.faults.actions[at] {
                Action::Down { keep } => self.link_down(port, keep, now, windows),
                Action::Up => self.revive(port, LINK_DOWN, now, windows),
                Action::Rate(rate) => self.change_rate(port, rate, now, windows),
                Action::Off => self.switch_off(port, now, windows),
                Action::On => {
                    for port in self.ports_beside(port) {
                        self.revive(port, SWITCH_OFF, now, windows);
                    }
                }
                Action::Receive(change) => self.change_receiving(port, change, now, windows),
                Action::Path { path, start } => self.change_path(path, start, now, windows),
                Action::Pause { signal, quanta } => self.hear_pause(port, signal, quanta, now, windows),
                Action::Scheduler { nth } => self.change_scheduler(port, nth, now, windows),
                Action::Domain { nth } => {
                    let new = self.faults.domains[nth as usize];
                    self.links.cold[port].domain.iter_mut().for_each(|own| **own = new);
                }
                Action::Congestion { path, feedback } => self.hear_congestion(path, feedback, now, windows),
            }
        }
    }

    /// The ports of the node that this is a port of.
    pub fn ports_beside(&self, port: PortIx) -> impl Iterator<Item = PortIx> + Clone + use<> {
        let node = self.node_of[port];
        let first = self.nodes[node].first_port;
        let behind = (first.number()..self.links.len() as u32).map(PortIx::new);
        let own = behind.take_while(|&port| self.node_of[port] == node).count() as u32;
        (0..own).map(move |nth| first.plus(nth))
    }

    fn link_down(&mut self, port: PortIx, keep: bool, now: Time, windows: &mut Queued) {
        self.links.set_down(port, |down| down | LINK_DOWN);
        self.links.cold[port].keeps = keep;
        self.forget_pauses(port, now);
        if !keep {
            self.flush(port, Cause::LinkDown, now, windows);
            // Sources that waited for room have it now. A greedy one has lost its frame and waits for the link.
            self.unblock_all(port, false, now, windows);
        }
        self.change_lines(port, now, windows);
    }

    fn switch_off(&mut self, place: PortIx, now: Time, windows: &mut Queued) {
        for port in self.ports_beside(place) {
            self.links.set_down(port, |down| down | SWITCH_OFF);
            self.forget_pauses(port, now);
        }
        for port in self.ports_beside(place) {
            self.flush(port, Cause::Restart, now, windows);
        }
    }

    /// A port gets another scheduler, which hears of all that waits as if it came now.
    fn change_scheduler(&mut self, port: PortIx, nth: u32, now: Time, windows: &mut Queued) {
        let scheduler = self.faults.schedulers[nth as usize].clone();
        if let Some(Some(schedule)) = self.faults.schedules.get_mut(port.at()) {
            schedule.fresh = schedule.fresh.is_some().then(|| scheduler.clone());
        }
        self.begin_scheduler(port, scheduler, now);
        let state = &self.links.ports[port];
        for class in members(state.waiting as u8) {
            let queue = state.first_queue.plus(class as u32);
            let scheduler = &mut self.links.cold[port].scheduler;
            for waiting in self.buffers.frames(queue) {
                scheduler.arrive(class as u32, u32::from(waiting.frame.bytes), false, now);
            }
            if let Some(head) = self.buffers.head_bytes(queue)
                && state.stopped >> class & 1 == 0
            {
                scheduler.go(class as u32, head, now);
            }
        }
        if state.waiting & !state.stopped != 0 {
            self.try_transmit(port, now, windows);
        }
    }

    /// A port gets a scheduler that was made for the rate at the beginning, and has served nothing yet.
    fn begin_scheduler(&mut self, port: PortIx, scheduler: Scheduler, now: Time) {
        let cold = &mut self.links.cold[port];
        cold.scheduler = Selector::new(scheduler);
        cold.scheduler.on_link_rate(cold.rate, now);
    }

    /// A link has another rate from the next frame on. All that was derived from the old one hears of it here: of the port its
    /// clock, scheduler and queue managers, then the crossbar of its switch, then limiters, sources and endpoints of its host.
    fn change_rate(&mut self, port: PortIx, rate: BitRate, now: Time, windows: &mut Queued) {
        self.links.change_rate(port, rate, now);
        let (node, beside) = (self.node_of[port], self.ports_beside(port));
        let first = self.nodes[node].first_port;
        if let Some(crossbar) = self.nodes[node].architecture.crossbar_mut() {
            let rates = beside.map(|port| self.links.cold[port].rate);
            crossbar.on_link_rate(rates.max().unwrap_or(rate));
        }
        let host = NodeId(self.numbering.first_node + node.number());
        for nth in self.hosts.limiters.keys() {
            // Limiters are made for the first link of their host.
            if port == first && self.hosts.limiters[nth].host == host {
                self.hosts.limiters[nth].on_link_rate(rate, now);
                self.update_limiter(nth, now, windows);
            }
        }
        let whole = self.numbering.port(port);
        for source in &mut self.hosts.sources {
            let start = self.routes.path_start[source.first_path as usize];
            if self.routes.path(start).first() == Some(&whole) {
                source.source.on_link_rate(rate);
            }
        }
        for nth in self.hosts.endpoints.keys() {
            let state = &mut self.hosts.endpoints[nth];
            let start = self.routes.path_start[state.path as usize];
            let leaves = state.behind.is_none() && self.routes.path(start).first() == Some(&whole);
            if leaves && state.endpoint.on_link_rate(rate, now) {
                self.update_endpoint(nth, now, windows);
            }
        }
        // What a shaper holds may go at another time than it said.
        let state = &self.links.ports[port];
        if state.hooks.has(Hooks::SCHEDULER) && state.waiting != 0 {
            self.try_transmit(port, now, windows);
        }
    }

    /// One reason less not to send.
    fn revive(&mut self, port: PortIx, reason: u8, now: Time, windows: &mut Queued) {
        self.links.set_down(port, |down| down & !reason);
        self.forget_pauses(port, now);
        if self.links.cold[port].down != 0 {
            return;
        }
        if self.links.ports[port].waiting != 0 {
            self.try_transmit(port, now, windows);
        }
        self.unblock_all(port, true, now, windows);
        self.pull_all(port, now, windows);
    }

    /// Loses what waits at a port. Its scheduler begins anew: schedulers do not expect a head to leave unsent.
    fn flush(&mut self, port: PortIx, cause: Cause, now: Time, windows: &mut Queued) {
        while self.links.ports[port].waiting != 0 {
            let class = TrafficClass(self.links.ports[port].waiting.trailing_zeros() as u8);
            let (waiting, before) = self.take(port, class, now);
            self.lose(port, class, &waiting.frame, waiting.across, cause, now);
            if self.links.ports[port].waiting == 0
                && let Some(schedule) = self.faults.schedules[port.at()].as_deref()
                && let Some(fresh) = schedule.fresh.clone()
            {
                self.begin_scheduler(port, fresh, now);
            }
            self.after_dequeue(port, class, &waiting, before, now, windows);
            self.output_left(port, class, &waiting.frame, now, windows);
        }
    }

    /// Ends the pauses that a port obeys, and forgets those that were sent through it.
    fn forget_pauses(&mut self, port: PortIx, now: Time) {
        let before = self.probes.pauses_ended();
        let cold = &mut self.links.cold[port];
        cold.control.clear(now, |ended| self.probes.pause_ended(port, ended));
        self.note_held(port, before, now);
        let cold = &mut self.links.cold[port];
        cold.watch.iter_mut().for_each(|watch| watch.free(u32::MAX));
        self.links.ports[port].hooks.set(Hooks::PAUSE_WAITING, false);
        self.update_stopped(port, now);
        let node = self.node_of[port];
        let Some(at) = self.nodes[node].pause_sender else { return };
        let pause_sender = &mut self.pause_senders[at];
        let local = pause_sender.local(port);
        for counter in self.ingress.get_mut(port).iter_mut().flat_map(|port| &mut port.counters) {
            counter.pause.release();
        }
        for counter in pause_sender.egress.iter_mut().filter(|counter| counter.pause(local as u32).in_force())
        {
            counter.pause_mut(local as u32).release();
        }
        pause_sender.pause_counts[local * PRIORITIES..(local + 1) * PRIORITIES].fill(0);
        pause_sender.renewals[local].cancel();
        for group in 0..PRIORITIES as u8 {
            self.root_ends(port, group, None, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(ns: &[(u64, u64)]) -> Vec<Span> {
        ns.iter().map(|&(from, until)| (Time::from_ns(from), Time::from_ns(until))).collect()
    }

    #[test]
    fn a_frame_meets_an_outage_with_any_of_its_bits() {
        let down = spans(&[(10, 20), (50, 51)]);
        let meets = |from, until| meets(&down, Time::from_ns(from), Time::from_ns(until));
        assert!(!meets(0, 10) && meets(0, 11) && meets(12, 13) && meets(19, 40) && !meets(20, 50));
        assert!(meets(20, 51) && meets(0, 100) && !meets(51, 100));
    }

    #[test]
    fn many_bits_are_wrong_more_often_than_one() {
        assert_eq!(any_of(0, 0.5), 0.0);
        assert_eq!(any_of(1, 0.125), 0.125);
        assert_eq!(any_of(3, 0.5), 0.875);
        assert_eq!(any_of(12_000, 1.0), 1.0);
        // 1 - (1 - 1e-15)^12000 is 12000e-15 to twelve digits; computed as written it would be 1 % off.
        assert!((any_of(12_000, 1e-15) / 12e-12 - 1.0).abs() < 1e-11);
        assert!((any_of(8_000, 1e-4) - (1.0 - 0.9999f64.powi(8_000))).abs() < 1e-12);
    }
}
