//! How frames leave a rate limiter: at once, if nothing waits there and nothing holds them back, or when its time has come.
//!
//! Where the link is free and nobody stands in line, a frame goes from its limiter straight to the link, and where the control
//! is quiet it hears nothing of that: such a frame costs a few comparisons more than one without a limiter.

use crate::run::state::event::EventQueue;
use crate::run::state::index::{LimiterIx, PortIx};
use crate::run::state::straight::WayOut;
use crate::run::state::world::Fabric;
use frame::{Frame, PathId, TrafficClass};
use units::Time;

impl Fabric {
    /// A source hands a frame to a limiter; its way begins at this hop unless its path changes meanwhile. `counted`: the source
    /// counts the frames that it has in the NIC.
    #[inline(always)]
    pub fn limit(
        &mut self,
        nth: LimiterIx,
        (start, counted): (u32, bool),
        frame: Frame,
        now: Time,
        events: &mut EventQueue,
    ) {
        let egress = self.routes.port_at(start);
        let limiter = &mut self.hosts.limiters[nth];
        if limiter.gate.is_open(now) {
            debug_assert!(limiter.is_idle() && !limiter.is_held(now), "it has to be looked at");
            if self.hosts.receiving.is_empty()
                && let Some(straight) = self.links.straight(egress, frame.priority(), now)
                && limiter.gate.passes(frame.bytes, straight.overhead(), now)
            {
                // No call of the limiter: it wants none that it has not asked for when its control last spoke.
                debug_assert!(limiter.wakes_at <= limiter.next_call(now), "a call that nobody has asked for");
                if straight.transmit(frame, now, events) || counted {
                    let class = self.links.ports[egress].classes.class(frame.priority());
                    self.refill_from_sources(egress, class, &frame);
                }
                return;
            }
        } else if limiter.is_held(now) && limiter.is_held_by_rate(now) {
            return self.hold(nth, &frame, now, events);
        } else if limiter.has_before(frame.priority(), now) {
            return limiter.push(&mut self.buffers.pool, &frame, now);
        }
        self.limit_slow(nth, egress, &frame, now, events);
    }

    /// A frame waits until the rate of its limiter allows it to leave.
    #[inline(always)]
    fn hold(&mut self, nth: LimiterIx, frame: &Frame, now: Time, events: &mut EventQueue) {
        let limiter = &mut self.hosts.limiters[nth];
        limiter.gate.close();
        limiter.push(&mut self.buffers.pool, frame, now);
        let at = limiter.next_call_unless_stopped();
        debug_assert_eq!(at, limiter.next_call(now), "nothing else holds it");
        if at < limiter.wakes_at || !self.probes.limiter_rates.is_empty() {
            self.call_limiter(nth, at.max(now), now, events);
        }
    }

    /// As `hold`, where the frame waits for something else, or somebody has to hear of it.
    #[inline(never)]
    fn limit_slow(
        &mut self,
        nth: LimiterIx,
        egress: PortIx,
        frame: &Frame,
        now: Time,
        events: &mut EventQueue,
    ) {
        let limiter = &self.hosts.limiters[nth];
        let is_held = limiter.is_held(now);
        if !is_held && limiter.is_idle() {
            let class = self.links.ports[egress].classes.class(frame.priority());
            if self.passes_slow(nth, (egress, class), *frame, now, events) {
                return;
            }
        }
        let limiter = &mut self.hosts.limiters[nth];
        limiter.holds_from(now);
        limiter.push(&mut self.buffers.pool, frame, now);
        if is_held && limiter.is_held(now) && limiter.rate_limit.next_probe > now {
            self.wake_limiter(nth, now, events);
        } else {
            self.update_limiter(nth, now, events);
        }
    }

    /// A frame passes a limiter in which nothing waits, and goes to a link or a NIC that takes it: what would come of it if it
    /// entered, stood in line and was pulled, without these steps. False: nothing is done.
    fn passes_slow(
        &mut self,
        nth: LimiterIx,
        (egress, class): (PortIx, TrafficClass),
        mut frame: Frame,
        now: Time,
        events: &mut EventQueue,
    ) -> bool {
        let straight = self.goes_straight(egress, class, now);
        if !straight && !self.takes_at_once(egress, class) {
            return false;
        }
        let overhead = self.links.ports[egress].timing.overhead();
        let limiter = &mut self.hosts.limiters[nth];
        limiter.enters_empty(frame.bytes, now);
        if let Some((tag, bytes)) = limiter.leaves(frame.priority(), frame.bytes, overhead, now) {
            self.headers.tag(&mut frame, tag, bytes);
        }
        self.hosts.limiters[nth].look();
        self.wake_limiter(nth, now, events);
        self.frame_departs((egress, class), straight, frame, now, events);
        true
    }

    /// The next of the frames that sources have pushed leaves a limiter whose time has come, straight to the link or to a NIC that
    /// takes it: if nobody stands in line there, and nobody has to be asked or to hear of it. False: nothing is done.
    #[inline(always)]
    pub fn sends_next(&mut self, nth: LimiterIx, now: Time, events: &mut EventQueue) -> bool {
        let limiter = &mut self.hosts.limiters[nth];
        // Behind it another one may leave ahead of the rate.
        if limiter.has_burst() || !self.hosts.receiving.is_empty() {
            return false;
        }
        let Some(priority) = limiter.next_pushed(now) else { return false };
        let head = self.buffers.pool.head(limiter.line.list(priority));
        let path = match limiter.line.only_path() {
            Some(path) => path,
            None => path_of(head),
        };
        debug_assert_eq!(path, head.path, "sources push frames of other paths");
        let start = self.routes.path_start[path.at()];
        let egress = self.routes.port_at(start);
        let Some(way) = self.links.way_out(egress, priority, now) else { return false };
        if !limiter.leaves_unheard(head.bytes, way.overhead(), now) {
            return false;
        }
        let mut frame = limiter.pop(&mut self.buffers.pool, priority, start, now);
        limiter.marks_if_late(&mut frame, now);
        limiter.look();
        let class = way.class();
        match way {
            WayOut::Link(straight, _) => {
                straight.transmit(frame, now, events);
                self.refill_from_sources(egress, class, &frame);
            }
            WayOut::Nic(nic, ..) => {
                nic.count_pulled(class);
                self.forward(egress, frame, None, now, events);
            }
        }
        let limiter = &self.hosts.limiters[nth];
        let at = limiter.next_call_unless_stopped();
        debug_assert_eq!(at, limiter.next_call(now), "nothing else holds it");
        self.call_limiter(nth, at.max(now), now, events);
        self.pull_on((egress, class), None, now, events);
        true
    }
}

/// Compiled apart, so that where the path is known otherwise nothing waits for the frame.
#[cold]
#[inline(never)]
fn path_of(frame: &Frame) -> PathId {
    frame.path
}
