//! The queues of an egress port: a frame enters one if there is room for it, and leaves it again.

use crate::event::Queued;
use crate::losses::Cause;
use crate::pool::{NIL, Waiting};
use crate::port::Hooks;
use crate::world::{Fabric, record};
use frame::{Frame, Occupancy, TrafficClass};
use queueing::Refusal;
use units::Time;

impl Fabric {
    /// Lets a frame wait, if there is room.
    pub fn enqueue(&mut self, egress: u32, mut frame: Frame, ingress: u32, now: Time, windows: &mut Queued) {
        let node_id = self.node_of[egress as usize];
        let node = &self.nodes[node_id as usize];
        let class = node.classes.class(frame.priority);
        let (limited, has_station, shares) = (node.limited, node.station.is_some(), node.sharing.is_some());
        if self.ports[egress as usize].hooks.has(Hooks::MANAGED)
            && !self.admitted_by_manager(egress, class, &mut frame, ingress, now, windows)
        {
            return;
        }
        if self.ports[egress as usize].busy_until <= now && self.goes_at_once(egress, class, &frame, now) {
            self.tell_manager(egress, class, &mut frame, now, windows);
            self.transmit(egress, frame, now, windows);
            return;
        }
        let port = &self.ports[egress as usize];
        let queue_id = port.first_queue as usize + class.at();
        if (limited || port.hooks.has(Hooks::WATCHED.or(Hooks::DEAD)))
            && let Some(cause) = self.refusal(egress, class, &frame)
        {
            self.note_tied_loss(egress, class, &frame, cause, now);
            self.lose(egress, class, &frame, ingress, cause, now);
            return;
        }
        if shares && !self.share_in(node_id, egress, class, &frame, ingress) {
            self.lose(egress, class, &frame, ingress, Cause::SharedMemory, now);
            return;
        }
        // Pauses are decided on the queue as it is without the frame (Hagen 2012, Appendices A and B), or
        // on what came in through the ingress port with it.
        if has_station && !self.before_enqueue(node_id, egress, class, &frame, ingress, now, windows) {
            self.lose(egress, class, &frame, ingress, Cause::Headroom, now);
            return;
        }
        let node = &mut self.nodes[node_id as usize];
        if node.limited {
            node.last_entry = now;
            node.total.add(frame.bytes);
            node.by_class[class.at()].add(frame.bytes);
            self.lines[egress as usize].occupancy.add(frame.bytes);
        }
        let queue = &mut self.queues[queue_id];
        queue.occupancy.add(frame.bytes);
        queue.sojourns.enter(queue.occupancy.both());
        let local = (ingress != NIL).then(|| ingress - node.first_port);
        let lane = queue.lane(local);
        queue.enter(lane);
        self.pool.push(&mut self.lanes[lane], frame, now, ingress);
        record(&mut self.recorded.queues, queue_id, now, queue.occupancy);
        if self.ports[egress as usize].hooks.has(Hooks::SCHEDULER) {
            self.tell_arrival(egress, class, frame.bytes, now);
        }
        self.ports[egress as usize].waiting |= 1 << class.0;
        self.attend(egress, now, windows);
        if self.ports[egress as usize].stopped >> class.0 & 1 != 0 {
            self.note_stuck(egress, 1 << class.0, now, windows);
        }
    }

    /// Whether a frame at a port with a free transmitter need not wait: no pause frame goes first, its class is not
    /// stopped, and what waits in others is. It then takes no memory, and no limit of what waits speaks of it.
    #[inline(never)]
    fn goes_at_once(&mut self, egress: u32, class: TrafficClass, frame: &Frame, now: Time) -> bool {
        let port = &self.ports[egress as usize];
        if port.hooks.has(Hooks::PAUSE_WAITING.or(Hooks::DEAD)) {
            return false;
        }
        if port.stopped != 0 {
            self.update_stopped(egress, now);
        }
        let port = &self.ports[egress as usize];
        let first = port.waiting & !port.stopped == 0 && port.stopped >> class.0 & 1 == 0;
        first && (!port.hooks.has(Hooks::SCHEDULER) || self.may_pass(egress, class, frame.bytes, now))
    }

    /// Why a frame may not wait, if a limit, a watchdog or a fault speaks against it.
    #[inline(never)]
    fn refusal(&mut self, egress: u32, class: TrafficClass, frame: &Frame) -> Option<Cause> {
        let port = &self.ports[egress as usize];
        if let Some(cause) = self.lines[egress as usize].refuses() {
            return Some(cause);
        }
        if port.hooks.has(Hooks::WATCHED) && self.dropped_in_storm(egress, class, frame.bytes) {
            return Some(Cause::Watchdog);
        }
        let node = &self.nodes[self.node_of[egress as usize] as usize];
        if node.limited { self.admit(egress, class, frame.bytes).err() } else { None }
    }

    /// What waits where a frame of this class and port would.
    pub fn waiting(&self, egress: u32, class: TrafficClass) -> queueing::Waiting {
        let node = &self.nodes[self.node_of[egress as usize] as usize];
        queueing::Waiting {
            total: node.total,
            port: self.lines[egress as usize].occupancy,
            class: node.by_class[class.at()],
            queue: self.queues[self.ports[egress as usize].first_queue as usize + class.at()].occupancy,
        }
    }

    /// Whether the limits leave room for a frame.
    fn admit(&self, egress: u32, class: TrafficClass, bytes: u16) -> Result<(), Cause> {
        let node = &self.nodes[self.node_of[egress as usize] as usize];
        node.buffer.admit(&self.waiting(egress, class), bytes).map_err(|refusal| match refusal {
            Refusal::Queue if node.is_host => Cause::NicFull,
            Refusal::Queue => Cause::Queue,
            Refusal::Port => Cause::Port,
            Refusal::Class => Cause::Class,
            Refusal::Total => Cause::Total,
        })
    }

    /// Takes the next frame of a class out of its queue, which held the returned occupancy with it.
    #[inline(always)]
    pub fn take(&mut self, egress: u32, class: TrafficClass, now: Time) -> (Waiting, Occupancy) {
        let port = &mut self.ports[egress as usize];
        let queue_id = port.first_queue as usize + class.at();
        let queue = &mut self.queues[queue_id];
        let waiting = self.pool.pop(&mut self.lanes[queue.head_lane()]);
        let bytes = waiting.frame.bytes;
        let before = queue.occupancy;
        queue.occupancy.remove(bytes);
        queue.next_turn(&self.lanes);
        queue.sojourns.leave(bytes, now - waiting.since);
        record(&mut self.recorded.queues, queue_id, now, queue.occupancy);
        if queue.occupancy.frames == 0 {
            port.waiting &= !(1 << class.0);
        }
        if port.hooks.has(Hooks::METERED) {
            let node_id = self.node_of[egress as usize];
            if self.nodes[node_id as usize].sharing.is_some() {
                self.share_out(node_id, egress, class, &waiting.frame, waiting.ingress);
            }
            let node = &mut self.nodes[node_id as usize];
            if node.limited {
                node.total.remove(bytes);
                node.by_class[class.at()].remove(bytes);
                self.lines[egress as usize].occupancy.remove(bytes);
            }
        }
        (waiting, before)
    }
}
