//! The queues of an egress port: a frame enters one if there is room for it, and leaves it again.

use crate::run::architecture::Architecture;
use crate::run::event::{Event, Kind, Queued};
use crate::run::index::PortIx;
use crate::run::losses::Cause;
use crate::run::pool::Waiting;
use crate::run::port::{Hooks, Port};
use crate::run::world::Fabric;
use flow_control::pfc::Counted;
use frame::{Frame, Occupancy, TrafficClass};
use queueing::Refusal;
use units::Time;

/// At a port with one of these, somebody is asked before a frame waits.
const ASKS: Hooks = Hooks::WATCHED.or(Hooks::DOWN).or(Hooks::BOUNDED).or(Hooks::CREDITS).or(Hooks::CROSSBAR);

/// At a port with one of these, somebody hears of each frame that waits, beside the counter of where it came in.
const TELLS: Hooks = Hooks::SCHEDULER.or(Hooks::BY_QUEUE).or(Hooks::BLAMED);

/// With one of these, before it is known whether it will wait, and when it leaves.
const ADMITS: Hooks = Hooks::MANAGED.or(Hooks::CREDITS).or(Hooks::CROSSBAR);

impl Fabric {
    /// Lets a frame wait, if there is room.
    pub fn enqueue(
        &mut self,
        egress: PortIx,
        frame: Frame,
        ingress: Option<PortIx>,
        now: Time,
        windows: &mut Queued,
    ) {
        let port = &self.links.ports[egress];
        let class = port.classes.class(frame.priority);
        if port.busy_until <= now || port.hooks.has(ASKS) {
            if port.busy_until <= now && port.waiting | port.stopped == 0 && !port.hooks.has(Hooks::ASKED) {
                return self.pass_manager(egress, class, frame, ingress, now, windows);
            }
            if self.is_stuck(egress, class, now)
                && (!port.hooks.has(Hooks::MANAGED) || self.comes_unheard(egress, class, &frame, now))
            {
                return self.enqueue_stuck(egress, class, &frame, ingress, now, windows);
            }
            return self.enqueue_asking(egress, class, frame, ingress, now, windows);
        }
        let hooks = port.hooks;
        if hooks.has(TELLS.or(Hooks::MANAGED)) {
            if hooks.has(Hooks::MANAGED) && !self.comes_unheard(egress, class, &frame, now) {
                return self.enqueue_asking(egress, class, frame, ingress, now, windows);
            }
            if hooks.has(TELLS) {
                return self.enqueue_telling(egress, class, &frame, ingress, now, windows);
            }
        }
        if hooks.has(Hooks::COUNTED) {
            match self.count_in(&frame, ingress, now) {
                Counted::Fits => {}
                Counted::Full => return self.lose(egress, class, &frame, ingress, Cause::Headroom, now),
                Counted::AtXoff => return self.wait_after_xoff(egress, class, &frame, ingress, now, windows),
            }
        }
        self.wait_for_link(egress, class, &frame, ingress, now, windows);
    }

    /// Whether all that waits at a port, some of this class among it, is stopped by pauses that have not run out, and nobody but a
    /// queue manager is asked about one frame more.
    #[inline(always)]
    fn is_stuck(&self, egress: PortIx, class: TrafficClass, now: Time) -> bool {
        let port = &self.links.ports[egress];
        port.waiting >> class.0 & 1 != 0
            && port.waiting & !port.stopped == 0
            && port.busy_until <= now
            && !port.hooks.has(ASKS.or(TELLS).or(Hooks::PAUSE_WAITING))
            && now < self.links.cold[egress].stops_until
    }

    /// A frame comes to such a port: it waits, and the port looks when it would have looked without it.
    #[inline(never)]
    fn enqueue_stuck(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        ingress: Option<PortIx>,
        now: Time,
        windows: &mut Queued,
    ) {
        let port = &self.links.ports[egress];
        debug_assert!(port.decision.due() != Time::NEVER, "nobody looks at what waits");
        if port.hooks.has(Hooks::COUNTED) && !self.before_enqueue(egress, class, frame, ingress, now, windows)
        {
            return self.lose(egress, class, frame, ingress, Cause::Headroom, now);
        }
        self.wait(egress, class, frame, ingress, now);
    }

    /// As `enqueue_stuck`, where somebody hears of each frame that begins to wait.
    #[inline(never)]
    fn enqueue_telling(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        ingress: Option<PortIx>,
        now: Time,
        windows: &mut Queued,
    ) {
        if !self.before_enqueue(egress, class, frame, ingress, now, windows) {
            self.lose(egress, class, frame, ingress, Cause::Headroom, now);
            return;
        }
        self.tell_scheduler(egress, class, frame.bytes, now);
        self.wait_for_link(egress, class, frame, ingress, now, windows);
    }

    /// A frame begins to wait, and because of it its ingress port has to be paused.
    #[inline(never)]
    fn wait_after_xoff(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        ingress: Option<PortIx>,
        now: Time,
        windows: &mut Queued,
    ) {
        let queue = self.links.ports[egress].queue(class);
        self.send_xoff_to(frame, ingress, queue, now, windows);
        // The pause may begin at this very queue.
        self.tell_root(egress, class, frame);
        self.wait_for_link(egress, class, frame, ingress, now, windows);
    }

    /// A frame begins to wait while the transmitter is busy: nothing can be decided before it is free.
    #[inline(always)]
    fn wait_for_link(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &Frame,
        ingress: Option<PortIx>,
        now: Time,
        windows: &mut Queued,
    ) {
        self.wait(egress, class, frame, ingress, now);
        let port = &mut self.links.ports[egress];
        let (at, stopped) = (port.busy_until, port.stopped);
        if port.decision.arm(at) {
            windows.push(Event::bare(Kind::Decide, at, egress));
        }
        if stopped >> class.0 & 1 != 0 {
            self.note_stuck(egress, 1 << class.0, now, windows);
        }
    }

    /// The rest of [`Fabric::enqueue`] where somebody has to be asked: what then happens is the architecture's.
    #[inline(always)]
    fn enqueue_asking(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: Frame,
        ingress: Option<PortIx>,
        now: Time,
        windows: &mut Queued,
    ) {
        match self.nodes[self.node_of[egress]].architecture {
            Architecture::OutputQueued(_) => {
                self.enqueue_at_output(egress, class, frame, ingress, now, windows)
            }
            Architecture::Crossbar(_) => self.enter_crossbar(egress, class, frame, ingress, now, windows),
        }
    }

    /// A frame comes to the queue of its egress port. It may be refused, or may go at once.
    #[inline(never)]
    pub fn enqueue_at_output(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        mut frame: Frame,
        ingress: Option<PortIx>,
        now: Time,
        windows: &mut Queued,
    ) {
        let hooks = self.links.ports[egress].hooks;
        if hooks.has(Hooks::MANAGED) {
            if !self.admitted(egress, class, &mut frame, ingress, now, windows) {
                return;
            }
        } else if hooks.has(Hooks::CREDITS) {
            self.meets_credits(egress, class, &frame, ingress, now, windows);
        }
        if self.links.ports[egress].busy_until <= now && self.goes_at_once(egress, class, &frame, now) {
            if hooks.has(ADMITS) {
                return self.transmit_admitted(egress, class, frame, ingress, now, windows);
            }
            self.transmit(egress, frame, now, windows);
            return;
        }
        if hooks.has(Hooks::BOUNDED.or(Hooks::WATCHED).or(Hooks::DOWN))
            && let Some(cause) = self.refusal(egress, class, &frame)
        {
            self.note_tied_loss(egress, class, &frame, cause, now);
            self.lose(egress, class, &frame, ingress, cause, now);
            return self.output_left(egress, class, &frame, now, windows);
        }
        let node = self.node_of[egress];
        let bounded = hooks.has(Hooks::BOUNDED);
        let shares = bounded && self.nodes[node].memory().sharing.is_some();
        if shares && let Err(cause) = self.share_in(node, egress, class, &frame, ingress, now) {
            self.lose(egress, class, &frame, ingress, cause, now);
            return;
        }
        // A crossbar has counted it at its input.
        let comes_in = !hooks.has(Hooks::CROSSBAR);
        if hooks.has(Hooks::COUNTED)
            && comes_in
            && !self.before_enqueue(egress, class, &frame, ingress, now, windows)
        {
            self.lose(egress, class, &frame, ingress, Cause::Headroom, now);
            return;
        }
        if hooks.has(Hooks::CREDITS) && comes_in {
            self.tell_root(egress, class, &frame);
        }
        if bounded && self.nodes[node].memory().limited {
            self.nodes[node].memory_mut().add(class.at(), frame.bytes, now);
            self.links.cold[egress].occupancy.add(frame.bytes);
        }
        self.begin_to_wait(egress, class, &frame, ingress, now, windows);
        self.try_transmit(egress, now, windows);
        if self.links.ports[egress].stopped >> class.0 & 1 != 0 {
            self.note_stuck(egress, 1 << class.0, now, windows);
        }
    }

    /// A frame comes to a port where a queue manager may refuse it.
    #[inline(never)]
    fn admitted(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        frame: &mut Frame,
        ingress: Option<PortIx>,
        now: Time,
        windows: &mut Queued,
    ) -> bool {
        let hooks = self.links.ports[egress].hooks;
        if hooks.has(Hooks::CREDITS) {
            self.meets_credits(egress, class, frame, ingress, now, windows);
        }
        if self.comes_unheard(egress, class, frame, now)
            || self.admitted_by_manager(egress, class, frame, ingress, now, windows)
        {
            return true;
        }
        if hooks.has(Hooks::CREDITS)
            && let Some(ingress) = ingress
        {
            self.credits_free(ingress, frame, now, windows);
        }
        self.output_left(egress, class, frame, now, windows);
        false
    }

    /// As `admitted`, when it goes at once.
    #[inline(never)]
    fn transmit_admitted(
        &mut self,
        egress: PortIx,
        class: TrafficClass,
        mut frame: Frame,
        ingress: Option<PortIx>,
        now: Time,
        windows: &mut Queued,
    ) {
        let hooks = self.links.ports[egress].hooks;
        if hooks.has(Hooks::MANAGED) {
            frame = self.manager_on_dequeue(egress, class, frame, now, windows);
        }
        self.transmit(egress, frame, now, windows);
        if hooks.has(Hooks::CREDITS) {
            self.credits_used(egress, &frame, ingress, now, windows);
        }
        if hooks.has(Hooks::CROSSBAR) {
            self.output_left(egress, class, &frame, now, windows);
        }
    }

    /// A frame is about to wait.
    #[inline(always)]
    fn tell_scheduler(&mut self, egress: PortIx, class: TrafficClass, bytes: u16, now: Time) {
        if self.links.ports[egress].hooks.has(Hooks::SCHEDULER) {
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
        windows: &mut Queued,
    ) {
        self.tell_scheduler(egress, class, frame.bytes, now);
        self.wait(egress, class, frame, ingress, now);
        let Port { hooks, stopped, .. } = self.links.ports[egress];
        if hooks.has(Hooks::CREDITS) && stopped >> class.0 & 1 != 0 {
            self.may_be_passed(egress, class, now, windows);
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
    #[inline(never)]
    fn goes_at_once(&mut self, egress: PortIx, class: TrafficClass, frame: &Frame, now: Time) -> bool {
        let port = &self.links.ports[egress];
        if port.hooks.has(Hooks::PAUSE_WAITING.or(Hooks::DOWN)) {
            return false;
        }
        if port.stopped != 0 {
            self.look_at_stops(egress, now);
        }
        let port = &self.links.ports[egress];
        let first = port.waiting & !port.stopped == 0 && port.stopped >> class.0 & 1 == 0;
        first && (!port.hooks.has(Hooks::SCHEDULER) || self.may_pass(egress, class, frame.bytes, now))
    }

    /// Why a frame may not wait, if a limit, a watchdog or a fault speaks against it.
    #[inline(never)]
    fn refusal(&mut self, egress: PortIx, class: TrafficClass, frame: &Frame) -> Option<Cause> {
        let port = &self.links.ports[egress];
        if let Some(cause) = self.links.cold[egress].refuses() {
            return Some(cause);
        }
        if port.hooks.has(Hooks::WATCHED) && self.dropped_in_storm(egress, class, frame.bytes) {
            return Some(Cause::Watchdog);
        }
        let node = &self.nodes[self.node_of[egress]];
        if node.memory().limited { self.admit(egress, class, frame.bytes).err() } else { None }
    }

    /// What waits where a frame of this class and port would.
    pub fn waiting(&self, egress: PortIx, class: TrafficClass) -> queueing::Backlog {
        let node = &self.nodes[self.node_of[egress]];
        queueing::Backlog {
            total: node.memory().total,
            port: self.links.cold[egress].occupancy,
            class: node.memory().by_class[class.at()],
            queue: self.buffers.queues[self.links.ports[egress].queue(class)].occupancy,
        }
    }

    /// Whether the limits leave room for a frame.
    #[inline(always)]
    fn admit(&self, egress: PortIx, class: TrafficClass, bytes: u16) -> Result<(), Cause> {
        let node = &self.nodes[self.node_of[egress]];
        node.memory().buffer.admit(&self.waiting(egress, class), bytes).map_err(|refusal| match refusal {
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
        if port.hooks.has(Hooks::BOUNDED) {
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
            self.links.cold[egress].occupancy.remove(bytes);
        }
    }
}
