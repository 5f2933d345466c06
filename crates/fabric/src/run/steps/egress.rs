//! The queues of an egress port: a frame enters one if there is room for it, and leaves it again.

use crate::run::state::admitted::AtEgress;
use crate::run::state::deferred::Deferred;
use crate::run::state::event::EventQueue;
use crate::run::state::index::PortIx;
use crate::run::state::losses::Cause;
use crate::run::state::pool::Waiting;
use crate::run::state::port::{Port, PortFeatures};
use crate::run::state::world::Fabric;
use crate::run::steps::stages::Verdict;
use frame::{Frame, Occupancy, TrafficClass};
use queueing::Refusal;
use units::Time;

impl Fabric {
    /// A frame of which a queue manager hears finds its port free, and nobody else is asked: it goes, unless it is lost. Apart, as
    /// it is worth a tenth of the instructions of the workload `red`.
    #[inline(never)]
    pub fn pass_manager(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: Frame,
        ingress: Option<PortIx>,
        now: Time,
        events: &mut EventQueue,
    ) {
        let mut at = AtEgress { frame, egress, class, ingress };
        match self.enter_manager(&mut at, now) {
            Verdict::Pass | Verdict::Wait => {
                let frame = self.manager_on_dequeue(egress, class, at.frame, now);
                self.transmit(egress, frame, now, events);
            }
            Verdict::Drop(cause) => self.lose(egress, class, &at.frame, ingress, cause, now),
            Verdict::Notify => self.defer_behind(PortFeatures::MANAGED, &at),
        }
    }

    /// A frame comes to a busy port that has no stage but the counter of where the frame came in: apart, as most of a fabric with PFC
    /// is this. Worth 5 % of the CPU time of the workloads `incast-8 pfc` and `star pfc`.
    #[inline(always)]
    pub fn wait_for_link(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        ingress: Option<PortIx>,
        now: Time,
        events: &mut EventQueue,
    ) {
        let counts = self.links.ports[egress].features.has(PortFeatures::INGRESS_ACCOUNTING);
        if counts && !self.before_enqueue(egress, class, frame, ingress, now, events) {
            return self.lose(egress, class, frame, ingress, Cause::Headroom, now);
        }
        // The pause may begin at this very queue.
        self.note_at_root(egress, class, frame);
        self.wait(egress, class, frame, ingress, now);
        let at = self.links.ports[egress].busy_until;
        self.arm(egress, at, events);
    }

    /// A frame comes to the queue of its egress port: the stages in their order. It may be refused, or may go at once.
    #[inline(never)]
    pub fn enqueue_at_output(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: Frame,
        ingress: Option<PortIx>,
        now: Time,
        events: &mut EventQueue,
    ) {
        self.enter_behind(PortFeatures::NONE, AtEgress { frame, egress, class, ingress }, now, events);
    }

    /// A frame goes on behind a stage, after the message that the stage has sent because of it.
    #[cold]
    pub fn goes_on_behind(&mut self, stage: PortFeatures, at: AtEgress, now: Time, events: &mut EventQueue) {
        if self.links.ports[at.egress].features.has(PortFeatures::AHEAD) {
            self.enqueue_admitted_ahead(at, now, events);
        } else {
            self.enter_behind(stage, at, now, events);
        }
    }

    /// The stages behind one of them, and what follows: the frame leaves at once, waits or is lost.
    #[inline(always)]
    fn enter_behind(&mut self, stage: PortFeatures, mut at: AtEgress, now: Time, events: &mut EventQueue) {
        let waits = match self.enter_stages(&mut at, stage, now, events) {
            (Verdict::Pass, _) => false,
            (Verdict::Wait, _) => true,
            (Verdict::Drop(cause), _) => return self.dropped_by_stage(&at, cause, now, events),
            (Verdict::Notify, stage) => return self.defer_behind(stage, &at),
        };
        let AtEgress { egress, class, ingress, .. } = at;
        let is_free = self.links.ports[egress].busy_until <= now;
        if is_free && !waits && self.goes_at_once(egress, class, &at.frame, now) {
            self.leave_stages(&mut at, false, now);
            self.transmit(egress, at.frame, now, events);
            return self.has_left_stages(&at, None, now, events);
        }
        if let Err(cause) = self.take_room(&at, now, events) {
            return self.dropped_by_stage(&at, cause, now, events);
        }
        self.begin_to_wait(egress, class, &at.frame, ingress, now, events);
        self.decide_when_free(egress, class, now, events);
        if self.links.ports[egress].stopped >> class.0 & 1 != 0 {
            self.deferred.push(Deferred::Stuck(egress, 1 << class.0));
        }
    }

    /// A frame is about to wait.
    #[inline(always)]
    fn notify_scheduler(&mut self, egress: PortIx, class: TrafficClass, bytes: u16, now: Time) {
        if self.links.ports[egress].features.has(PortFeatures::SCHEDULER) {
            self.on_arrival(egress, class, bytes, now);
        }
    }

    /// A frame begins to wait where somebody may hear of that.
    #[inline(always)]
    pub fn begin_to_wait(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        ingress: Option<PortIx>,
        now: Time,
        events: &mut EventQueue,
    ) {
        self.notify_scheduler(egress, class, frame.bytes, now);
        self.wait(egress, class, frame, ingress, now);
        let Port { features, stopped, .. } = self.links.ports[egress];
        if features.has(PortFeatures::CREDITS) && stopped >> class.0 & 1 != 0 {
            self.may_be_passed(egress, class, now, events);
        }
    }

    /// A frame begins to wait.
    #[inline(always)]
    fn wait(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        ingress: Option<PortIx>,
        now: Time,
    ) {
        let port = &mut self.links.ports[egress];
        port.waiting |= 1 << class.0;
        let queue_id = port.queue(class);
        let first_port = || self.nodes[self.node_of[egress]].first_port;
        self.buffers.enter(queue_id, frame, now, ingress, first_port);
        self.probes.queue_holds(queue_id, now, || self.buffers.queues[queue_id].occupancy);
    }

    /// Whether a frame at a port with a free transmitter need not wait: no pause frame goes first, its class is not
    /// stopped, and what waits in others is. It then takes no memory, and no limit of what waits speaks of it.
    #[inline(always)]
    fn goes_at_once(&mut self, egress: PortIx, class: TrafficClass, frame: &Frame, now: Time) -> bool {
        let port = &self.links.ports[egress];
        if port.features.has(PortFeatures::PAUSE_WAITING) {
            return false;
        }
        if port.stopped != 0 {
            self.look_at_stops(egress, now);
        }
        let port = &self.links.ports[egress];
        let first = port.waiting & !port.stopped == 0 && port.stopped >> class.0 & 1 == 0;
        first
            && (!port.features.has(PortFeatures::SCHEDULER) || self.may_pass(egress, class, frame.bytes, now))
    }

    /// The limit that a frame may not wait within, if any.
    #[inline(never)]
    pub fn refusal(&mut self, egress: PortIx, class: TrafficClass, frame: &Frame) -> Option<Cause> {
        let node = &self.nodes[self.node_of[egress]];
        if node.memory().limited { self.admit(egress, class, frame.bytes).err() } else { None }
    }

    /// What waits within a limit, where a frame of this class and port would; counted where that limit is set.
    #[inline]
    pub fn waits_within(&self, limit: Refusal, egress: PortIx, class: TrafficClass) -> Occupancy {
        let memory = || self.nodes[self.node_of[egress]].memory();
        match limit {
            Refusal::Queue => self.buffers.queues[self.links.ports[egress].queue(class)].occupancy,
            Refusal::Port => self.links.cold[egress].occupancy,
            Refusal::Class => memory().by_class[class.at()],
            Refusal::Total => memory().total,
        }
    }

    /// Whether the limits leave room for a frame.
    #[inline(always)]
    fn admit(&self, egress: PortIx, class: TrafficClass, bytes: u16) -> Result<(), Cause> {
        let node = &self.nodes[self.node_of[egress]];
        let waits = |limit| self.waits_within(limit, egress, class);
        node.memory().buffer.admit(bytes, waits).map_err(|refusal| match refusal {
            Refusal::Queue if node.is_host => Cause::NicFull,
            Refusal::Queue => Cause::Queue,
            Refusal::Port => Cause::Port,
            Refusal::Class => Cause::Class,
            Refusal::Total => Cause::Total,
        })
    }

    /// Takes the next frame of a class out of its queue, which held the returned occupancy with it.
    pub fn take(&mut self, egress: PortIx, class: TrafficClass, now: Time) -> (Waiting, Occupancy) {
        self.take_out(false, egress, class, now)
    }

    /// As `take`; `send`: it goes to the link, so that its waiting time counts.
    #[inline(always)]
    pub fn take_out(
        &mut self,
        send: bool,
        egress: PortIx,
        class: TrafficClass,
        now: Time,
    ) -> (Waiting, Occupancy) {
        let port = &mut self.links.ports[egress];
        let queue_id = port.queue(class);
        let before = self.buffers.queues[queue_id].occupancy;
        let waiting = self.buffers.leave(queue_id, now, send);
        self.probes.queue_holds(queue_id, now, || self.buffers.queues[queue_id].occupancy);
        if before.frames == 1 {
            port.waiting &= !(1 << class.0);
        }
        if port.features.has(PortFeatures::BOUNDED) {
            self.count_leaving(egress, class, &waiting, now);
        }
        (waiting, before)
    }

    /// A frame has left its queue where limits or a shared memory count it.
    #[inline(never)]
    pub fn count_leaving(&mut self, egress: PortIx, class: TrafficClass, waiting: &Waiting, now: Time) {
        let node_id = self.node_of[egress];
        let bytes = waiting.frame.bytes;
        if self.nodes[node_id].memory().sharing.is_some() {
            self.share_out(node_id, egress, class, &waiting.frame, waiting.across, now);
        }
        let memory = self.nodes[node_id].memory_mut();
        if memory.limited {
            memory.remove(class.at(), bytes);
            if memory.buffer.port.is_some() {
                self.links.cold[egress].occupancy.remove(bytes);
            }
        }
    }
}
