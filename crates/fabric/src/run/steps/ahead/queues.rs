//! Frames that wait and are sent ahead of their time.
//!
//! At many ports it is certain when a waiting frame will leave: nothing can pause the port, no other class can go first,
//! nobody is asked. Such a frame goes on its way when it begins to wait, and no decision of its own is needed, which is
//! one of two events of a frame that waits. Its arrival at the peer is scheduled for the time at which it would have come
//! anyway. It stays in its queue, *committed*, until its transmission begins; that it leaves then is made up for, as of
//! that time, before anybody looks: [`Fabric::settle`].
//!
//! Which ports these are is known when the fabric is built (`build/ahead.rs`). A port of a node that sends pauses is
//! none of them: an XON is due at a departure, and cannot be made up for. Nor is one that pauses are sent to, obeyed or
//! not: each makes the port look at what waits.
//!
//! A queue may have a limit: what is committed counts until it leaves.
//!
//! A queue manager may look at what comes to such a port, and hears of departures late if it only notes them. What it
//! writes into the tag of a frame that leaves is not known before: such a frame waits for a decision.

use crate::run::state::admitted::AtEgress;
use crate::run::state::ahead::MOST;
use crate::run::state::event::EventQueue;
use crate::run::state::index::{PortIx, QueueIx};
use crate::run::state::losses::Cause;
use crate::run::state::pool::Waiting;
use crate::run::state::port::{Port, PortFeatures};
use crate::run::state::world::Fabric;
use crate::run::steps::stages::Verdict;
use frame::{Frame, TrafficClass};
use units::Time;

impl Fabric {
    /// Makes up for the departures of a port up to `now`.
    #[inline(always)]
    fn settle(&mut self, egress: PortIx, now: Time) {
        let port = &self.links.ports[egress];
        if port.waiting == 0 {
            return;
        }
        let class = TrafficClass(port.waiting.trailing_zeros() as u8);
        if port.features.has(PortFeatures::MANAGED) && self.hears_of_departures(egress, class, now) {
            self.settle_noting(egress, now);
        } else {
            self.settle_unheard(egress, now);
        }
    }

    /// Whether the queue manager of a class may have to hear of departures up to `now`: seldom, but if it is never quiet.
    #[inline(always)]
    fn hears_of_departures(&self, egress: PortIx, class: TrafficClass, now: Time) -> bool {
        self.links.passed.of(egress, class.at()).heard_from() <= now
            && self.links.cold[egress].notes_departures
    }

    /// As `hears_of_departures`, where no queue manager has to hear of these departures.
    #[inline(always)]
    fn settle_unheard(&mut self, egress: PortIx, now: Time) {
        let port = &mut self.links.ports[egress];
        if port.waiting == 0 {
            return;
        }
        // One class at most is in use here.
        let queue = &mut self.buffers.queues[port.waiting_queue()];
        while queue.committed > 0
            && let Some(waiting) = self.buffers.pool.pop_left(&mut queue.list, now)
        {
            queue.committed -= 1;
            queue.leave(waiting.frame.bytes, waiting.leaves - waiting.since, true);
            self.links.passed.count(egress, &waiting.frame);
        }
        if queue.occupancy.frames == 0 {
            port.waiting = 0;
        }
    }

    /// As `settle_unheard`, where one notes departures, and may have to hear of these.
    #[inline(never)]
    fn settle_noting(&mut self, egress: PortIx, now: Time) {
        loop {
            let port = &mut self.links.ports[egress];
            let class = TrafficClass(port.waiting.trailing_zeros() as u8);
            let queue = &mut self.buffers.queues[port.queue(class)];
            if queue.committed == 0 {
                return;
            }
            let Some(&Waiting { frame, since, leaves, .. }) =
                self.buffers.pool.pop_left(&mut queue.list, now)
            else {
                return;
            };
            queue.committed -= 1;
            queue.leave(frame.bytes, leaves - since, true);
            self.links.passed.count(egress, &frame);
            let empty = queue.occupancy.frames == 0;
            if empty {
                port.waiting = 0;
            }
            self.manager_on_departure(egress, class, frame, leaves);
            if empty {
                return;
            }
        }
    }

    /// Makes up for all departures up to `now`, before somebody looks at the whole.
    pub fn settle_all(&mut self, now: Time) {
        for port in self.links.ports.keys() {
            if self.links.ports[port].features.has(PortFeatures::AHEAD) {
                self.settle(port, now);
            }
        }
    }

    /// The frames of a port that have been sent ahead and have not left.
    pub fn committed(&self, port: PortIx) -> impl Iterator<Item = &Waiting> {
        let state = &self.links.ports[port];
        let waiting = state.features.has(PortFeatures::AHEAD) && state.waiting != 0;
        let queue = waiting.then(|| state.waiting_queue());
        let committed =
            |queue: QueueIx| self.buffers.frames(queue).take(self.buffers.queues[queue].committed as usize);
        queue.into_iter().flat_map(committed)
    }
    /// How many there are at all ports.
    pub fn frames_committed(&self) -> u64 {
        let ports = self
            .links
            .ports
            .iter()
            .filter(|port| port.features.has(PortFeatures::AHEAD) && port.waiting != 0);
        ports.map(|port| u64::from(self.buffers.queues[port.waiting_queue()].committed)).sum()
    }
    /// Until when the frame takes that is on the link of a port: those sent ahead follow it without a gap.
    pub fn on_link_until(&self, port: PortIx) -> Time {
        let next = self.committed(port).next().map(|waiting| waiting.leaves);
        next.unwrap_or(self.links.ports[port].busy_until)
    }

    /// A frame comes to a port that sends ahead, and something waits there, or seems to.
    #[inline(never)]
    pub fn enqueue_ahead(
        &mut self,
        egress: PortIx,
        frame: Frame,
        ingress: Option<PortIx>,
        now: Time,
        events: &mut EventQueue,
    ) {
        self.settle_unheard(egress, now);
        let class = self.links.ports[egress].classes.class(frame.priority());
        self.go_ahead((egress, class), frame, ingress, now, events);
    }

    /// As `enqueue_ahead`, at a port with a queue manager.
    #[inline(never)]
    pub fn enqueue_managed_ahead(
        &mut self,
        egress: PortIx,
        frame: Frame,
        ingress: Option<PortIx>,
        now: Time,
        events: &mut EventQueue,
    ) {
        // The one that waits, if any does: no other is in use here.
        let class = self.links.ports[egress].classes.class(frame.priority());
        if self.hears_of_departures(egress, class, now) {
            self.settle(egress, now);
        } else {
            self.settle_unheard(egress, now);
        }
        if self.needs_no_update(egress, class, &frame, now) {
            self.go_ahead((egress, class), frame, ingress, now, events);
        } else {
            self.enqueue_heard_ahead(egress, frame, ingress, now, events);
        }
    }

    /// A frame goes at once, or waits until a known time.
    #[inline(always)]
    fn go_ahead(
        &mut self,
        (egress, class): (PortIx, TrafficClass),
        frame: Frame,
        ingress: Option<PortIx>,
        now: Time,
        events: &mut EventQueue,
    ) {
        let port = &self.links.ports[egress];
        if port.waiting == 0 && port.busy_until <= now {
            self.transmit(egress, frame, now, events);
        } else {
            self.stand_ahead((egress, class), frame, ingress, true, now, events);
        }
    }

    /// As `go_ahead`, where the queue manager has to hear of the frame.
    #[inline(never)]
    fn enqueue_heard_ahead(
        &mut self,
        egress: PortIx,
        frame: Frame,
        ingress: Option<PortIx>,
        now: Time,
        events: &mut EventQueue,
    ) {
        let class = self.links.ports[egress].classes.class(frame.priority());
        let mut at = AtEgress { frame, egress, class, ingress };
        match self.enter_manager(&mut at, now) {
            Verdict::Pass | Verdict::Wait => self.enqueue_admitted_ahead(at, now, events),
            Verdict::Drop(cause) => self.lose(egress, class, &at.frame, ingress, cause, now),
            Verdict::Notify => self.defer_behind(PortFeatures::MANAGED, &at),
        }
    }

    /// A frame goes on that its queue manager has admitted.
    #[inline(always)]
    pub fn enqueue_admitted_ahead(&mut self, at: AtEgress, now: Time, events: &mut EventQueue) {
        let AtEgress { frame, egress, class, ingress } = at;
        let port = &self.links.ports[egress];
        if port.waiting == 0 && port.busy_until <= now {
            if self.links.cold[egress].notes_departures {
                self.manager_on_departure(egress, class, frame, now);
            }
            self.transmit(egress, frame, now, events);
            return;
        }
        self.stand_ahead((egress, class), frame, ingress, !frame.flags.is_tagged(), now, events);
    }

    /// A frame waits at a port that sends ahead: until a known time, or, unless `known`, for a decision.
    #[inline(always)]
    fn stand_ahead(
        &mut self,
        (egress, class): (PortIx, TrafficClass),
        frame: Frame,
        ingress: Option<PortIx>,
        known: bool,
        now: Time,
        events: &mut EventQueue,
    ) {
        let port = &mut self.links.ports[egress];
        let queue = &mut self.buffers.queues[port.queue(class)];
        if port.features.has(PortFeatures::BOUNDED) {
            // Nothing but queues has a limit here.
            let limit = self.nodes[self.node_of[egress]].memory().buffer.queue;
            if limit.is_some_and(|limit| !queue.occupancy.has_room(limit, frame.bytes)) {
                return self.refuse_ahead(egress, class, &frame, ingress, now);
            }
        }
        let commit = known && queue.committed < MOST && u64::from(queue.committed) == queue.occupancy.frames;
        let leaves = if commit { port.busy_until } else { Time::NEVER };
        queue.add(frame.bytes);
        port.waiting = 1 << class.0;
        self.buffers.pool.push_leaving(&mut queue.list, &frame, now, leaves, ingress);
        if commit {
            queue.committed += 1;
            self.put_on_link(egress, frame, leaves, events);
        } else {
            let at = port.busy_until;
            self.arm(egress, at, events);
        }
    }

    /// A frame is lost because its queue is full.
    #[inline(never)]
    fn refuse_ahead(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        ingress: Option<PortIx>,
        now: Time,
    ) {
        self.note_tied_loss(egress, class, frame, Cause::Queue, now);
        self.lose(egress, class, frame, ingress, Cause::Queue, now);
    }

    /// All that was committed has left, and more waits: the port commits the next frames.
    #[inline(never)]
    pub fn decide_ahead(&mut self, egress: PortIx, now: Time, events: &mut EventQueue) {
        self.settle(egress, now);
        let port = &mut self.links.ports[egress];
        if port.waiting == 0 {
            return;
        }
        assert!(port.busy_until == now, "what waits is committed, or the port decides when it is free");
        let queue = port.waiting_queue();
        let mut slot = self.buffers.queues[queue].list.head();
        while let Some(next) = slot
            && self.buffers.queues[queue].committed < MOST
        {
            // The tag of the first is known now, as it leaves now.
            let Port { features, busy_until, .. } = self.links.ports[egress];
            let stamped = features.has(PortFeatures::MANAGED) && self.buffers.pool.is_tagged(next);
            if stamped && busy_until > now {
                break;
            }
            let frame;
            (frame, slot) = self.buffers.pool.commit(next, busy_until);
            self.buffers.queues[queue].committed += 1;
            self.put_on_link(egress, frame, busy_until, events);
        }
        let at = self.links.ports[egress].busy_until;
        if slot.is_some() {
            self.arm(egress, at, events);
        }
        // The first leaves at once, perhaps with a tag.
        if self.links.cold[egress].notes_departures {
            self.settle_noting(egress, now);
        } else {
            self.settle(egress, now);
        }
    }
}
