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

use crate::run::state::event::{EventQueue, LossCause};
use crate::run::state::faults::Action;
use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::port::{LINK_DOWN, PortFeatures, SWITCH_OFF};
use crate::run::state::world::Fabric;
use frame::{Frame, NodeId, PRIORITIES, TrafficClass, members};
use scheduling::{Scheduler, Selector};
use std::ops::Range;
use transport::Protocol;
use units::{BitRate, Time};

impl Fabric {
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
        let class = self.nodes[self.node_of[port]].classes.class(frame.priority());
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
    pub fn fault(&mut self, port: PortIx, actions: Range<usize>, now: Time, events: &mut EventQueue) {
        for at in actions {
            match self.faults.actions[at] {
                Action::Down { keep } => self.link_down(port, keep, now, events),
                Action::Up => self.revive(port, LINK_DOWN, now, events),
                Action::Rate(rate) => self.change_rate(port, rate, now, events),
                Action::Off => self.switch_off(port, now, events),
                Action::On => {
                    for port in self.ports_beside(port) {
                        self.revive(port, SWITCH_OFF, now, events);
                    }
                }
                Action::Receive(change) => self.change_receiving(port, change, now, events),
                Action::Path { path, start } => self.change_path(path, start, now, events),
                Action::Pause { signal, quanta } => self.hear_pause(port, signal, quanta, now, events),
                Action::Scheduler { nth } => self.change_scheduler(port, nth, now, events),
                Action::Domain { nth } => {
                    let new = self.faults.domains[nth as usize];
                    self.links.cold[port].domain.iter_mut().for_each(|own| **own = new);
                }
                Action::Congestion { path, feedback } => self.hear_congestion(path, feedback, now, events),
            }
        }
    }

    fn link_down(&mut self, port: PortIx, keep: bool, now: Time, events: &mut EventQueue) {
        self.links.set_down(port, |down| down | LINK_DOWN);
        self.links.cold[port].keeps = keep;
        self.forget_pauses(port, now);
        if !keep {
            self.flush(port, Cause::LinkDown, now, events);
            // Sources that waited for room have it now. A greedy one has lost its frame and waits for the link.
            self.unblock_all(port, false, now, events);
        }
        self.change_lines(port, now, events);
    }

    fn switch_off(&mut self, place: PortIx, now: Time, events: &mut EventQueue) {
        for port in self.ports_beside(place) {
            self.links.set_down(port, |down| down | SWITCH_OFF);
            self.forget_pauses(port, now);
        }
        for port in self.ports_beside(place) {
            self.flush(port, Cause::Restart, now, events);
        }
    }

    /// A port gets another scheduler, which hears of all that waits as if it came now.
    fn change_scheduler(&mut self, port: PortIx, nth: u32, now: Time, events: &mut EventQueue) {
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
            self.try_transmit(port, now, events);
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
    fn change_rate(&mut self, port: PortIx, rate: BitRate, now: Time, events: &mut EventQueue) {
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
                self.update_limiter(nth, now, events);
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
                self.update_endpoint(nth, now, events);
            }
        }
        // What a shaper holds may go at another time than it said.
        let state = &self.links.ports[port];
        if state.features.has(PortFeatures::SCHEDULER) && state.waiting != 0 {
            self.try_transmit(port, now, events);
        }
    }

    /// One reason less not to send.
    fn revive(&mut self, port: PortIx, reason: u8, now: Time, events: &mut EventQueue) {
        self.links.set_down(port, |down| down & !reason);
        self.forget_pauses(port, now);
        if self.links.cold[port].down != 0 {
            return;
        }
        if self.links.ports[port].waiting != 0 {
            self.try_transmit(port, now, events);
        }
        self.unblock_all(port, true, now, events);
        self.pull_all(port, now, events);
    }

    /// Loses what waits at a port. Its scheduler begins anew: schedulers do not expect a head to leave unsent.
    fn flush(&mut self, port: PortIx, cause: Cause, now: Time, events: &mut EventQueue) {
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
            self.after_dequeue(port, class, &waiting, before, now, events);
            self.output_left(port, class, &waiting.frame, now, events);
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
        self.links.ports[port].features.set(PortFeatures::PAUSE_WAITING, false);
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
