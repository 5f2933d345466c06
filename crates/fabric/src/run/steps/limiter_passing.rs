//! How frames leave a rate limiter: at once, if nothing waits there and nothing holds them back, or when its time has come.
//!
//! Where the link is free and nobody stands in line, a frame goes from its limiter straight to the link, and where the control
//! is quiet it hears nothing of that: such a frame costs a few comparisons more than one without a limiter.

use crate::run::state::deferred::Deferred;
use crate::run::state::event::Queued;
use crate::run::state::index::{EndpointIx, LimiterIx, PortIx};
use crate::run::state::limiter_line::Next;
use crate::run::state::limiter_places::NextFrame;
use crate::run::state::straight::WayOut;
use crate::run::state::world::Fabric;
use frame::{Frame, PathId, Priority, TrafficClass};
use transport::Protocol;
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
        windows: &mut Queued,
    ) {
        let egress = self.routes.port_at(start);
        let limiter = &mut self.hosts.limiters[nth];
        if limiter.gate.is_open(now) {
            debug_assert!(limiter.is_idle() && !limiter.is_held(now), "it has to be looked at");
            if self.hosts.receiving.is_empty()
                && let Some(straight) = self.links.straight(egress, frame.priority, now)
                && limiter.gate.passes(frame.bytes, straight.overhead(), now)
            {
                // No call of the limiter: it wants none that it has not asked for when its control last spoke.
                debug_assert!(limiter.wakes_at <= limiter.next_call(now), "a call that nobody has asked for");
                if straight.transmit(frame, now, windows) || counted {
                    let class = self.links.ports[egress].classes.class(frame.priority);
                    self.deferred.push(Deferred::RefillSources(egress, class, frame));
                }
                return;
            }
        } else if limiter.is_held(now) && limiter.is_held_by_rate(now) {
            return self.hold(nth, &frame, now, windows);
        } else if limiter.has_before(frame.priority, now) {
            return limiter.push(&mut self.buffers.pool, &frame, now);
        }
        self.limit_otherwise(nth, egress, &frame, now, windows);
    }

    /// A frame waits until the rate of its limiter allows it to leave.
    #[inline(always)]
    fn hold(&mut self, nth: LimiterIx, frame: &Frame, now: Time, windows: &mut Queued) {
        let limiter = &mut self.hosts.limiters[nth];
        limiter.gate.close();
        limiter.push(&mut self.buffers.pool, frame, now);
        let at = limiter.next_call_unless_stopped();
        debug_assert_eq!(at, limiter.next_call(now), "nothing else holds it");
        if at < limiter.wakes_at || !self.probes.limiter_rates.is_empty() {
            self.call_limiter(nth, at.max(now), now, windows);
        }
    }

    /// As `hold`, where the frame waits for something else, or somebody has to hear of it.
    #[inline(never)]
    fn limit_otherwise(
        &mut self,
        nth: LimiterIx,
        egress: PortIx,
        frame: &Frame,
        now: Time,
        windows: &mut Queued,
    ) {
        let limiter = &self.hosts.limiters[nth];
        let is_held = limiter.is_held(now);
        if !is_held && limiter.is_idle() {
            let class = self.links.ports[egress].classes.class(frame.priority);
            if self.passes_otherwise(nth, (egress, class), *frame, now, windows) {
                return;
            }
        }
        let limiter = &mut self.hosts.limiters[nth];
        limiter.holds_from(now);
        limiter.push(&mut self.buffers.pool, frame, now);
        if is_held && limiter.is_held(now) && limiter.rate_limit.next_probe > now {
            self.wake_limiter(nth, now, windows);
        } else {
            self.update_limiter(nth, now, windows);
        }
    }

    /// A frame passes a limiter in which nothing waits, and goes to a link or a NIC that takes it: what would come of it if it
    /// entered, stood in line and was pulled, without these steps. False: nothing is done.
    fn passes_otherwise(
        &mut self,
        nth: LimiterIx,
        (egress, class): (PortIx, TrafficClass),
        mut frame: Frame,
        now: Time,
        windows: &mut Queued,
    ) -> bool {
        let straight = self.goes_straight(egress, class, now);
        if !straight && !self.takes_at_once(egress, class) {
            return false;
        }
        let overhead = self.links.ports[egress].overhead;
        let limiter = &mut self.hosts.limiters[nth];
        limiter.enters_empty(frame.bytes, now);
        if let Some((tag, bytes)) = limiter.leaves(frame.priority, frame.bytes, overhead, now) {
            self.headers.tag(&mut frame, tag, bytes);
        }
        self.hosts.limiters[nth].look();
        self.wake_limiter(nth, now, windows);
        self.frame_departs((egress, class), straight, frame, now, windows);
        true
    }

    /// The next of the frames that sources have pushed leaves a limiter whose time has come, straight to the link or to a NIC that
    /// takes it: if nobody stands in line there, and nobody has to be asked or to hear of it. False: nothing is done.
    #[inline(always)]
    pub fn sends_next(&mut self, nth: LimiterIx, now: Time, windows: &mut Queued) -> bool {
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
                straight.transmit(frame, now, windows);
                self.deferred.push(Deferred::RefillSources(egress, class, frame));
            }
            WayOut::Nic(nic, ..) => {
                nic.count_pulled(class);
                self.forward(egress, frame, None, now, windows);
            }
        }
        let limiter = &self.hosts.limiters[nth];
        let at = limiter.next_call_unless_stopped();
        debug_assert_eq!(at, limiter.next_call(now), "nothing else holds it");
        self.call_limiter(nth, at.max(now), now, windows);
        self.pull_on((egress, class), None, now, windows);
        true
    }

    /// Whether a frame of a source goes from its limiter straight to the link: it is free, and nobody waits in line there.
    #[inline(always)]
    pub fn goes_straight(&self, egress: PortIx, class: TrafficClass, now: Time) -> bool {
        self.hosts.receiving.is_empty()
            && self.links.ports[egress].is_free(now)
            && self.links.nics[egress].as_ref().is_some_and(|nic| !nic.has_line(class))
    }

    /// A frame of a source that has left its limiter departs, `straight` to the link or through the NIC.
    #[inline(always)]
    fn frame_departs(
        &mut self,
        (egress, class): (PortIx, TrafficClass),
        straight: bool,
        frame: Frame,
        now: Time,
        windows: &mut Queued,
    ) {
        if straight {
            self.transmit_untold(egress, frame, now, windows);
            self.deferred.push(Deferred::RefillSources(egress, class, frame));
        } else {
            self.count_pulled(egress, class);
            self.depart(egress, frame, now, windows);
        }
    }

    /// Takes the next frame out of a limiter that stood in line for a class of a port, as long as that is the one that leaves
    /// there now, and nothing has stopped the limiter. Where it stands in line again, if it may.
    #[inline(never)]
    pub fn pull_limited(
        &mut self,
        nth: LimiterIx,
        place: (PortIx, TrafficClass),
        now: Time,
        windows: &mut Queued,
    ) -> Option<(PortIx, TrafficClass)> {
        self.limiter_left_line(nth);
        let is_held = self.hosts.limiters[nth].is_held(now);
        match self.next_of_limiter(nth).filter(|next| !is_held && self.leaves_at(next, place)) {
            Some(next) => self.leave_limiter(nth, next, place, false, now, windows),
            None => self.limiter_in_line(nth, now),
        }
    }

    /// The next frame leaves a limiter that is in no line, through a class of a port, `straight` to the link if that takes
    /// it. Where the limiter stands in line again, if it may: it does before the frame goes, as that may pull the next one.
    pub fn leave_limiter(
        &mut self,
        nth: LimiterIx,
        next: NextFrame,
        (egress, class): (PortIx, TrafficClass),
        straight: bool,
        now: Time,
        windows: &mut Queued,
    ) -> Option<(PortIx, TrafficClass)> {
        let place = match self.hosts.limiters[nth].line.next() {
            Some(Next::Endpoint(_, from)) => self.segment_leaves(nth, from, (egress, class), now, windows),
            _ => {
                let frame = self.frame_leaves(nth, next.priority, egress, now);
                let place = self.limiter_in_line(nth, now);
                self.frame_departs((egress, class), straight && place.is_none(), frame, now, windows);
                place
            }
        };
        self.wake_limiter(nth, now, windows);
        place
    }

    /// As `leave_limiter`, if it is an endpoint's.
    fn segment_leaves(
        &mut self,
        nth: LimiterIx,
        from: EndpointIx,
        (egress, class): (PortIx, TrafficClass),
        now: Time,
        windows: &mut Queued,
    ) -> Option<(PortIx, TrafficClass)> {
        let overhead = self.links.ports[egress].overhead;
        let limiter = &mut self.hosts.limiters[nth];
        limiter.line.take_endpoint();
        let state = &mut self.hosts.endpoints[from];
        state.in_line = false;
        let marked = limiter.marks(now);
        let (segment, requests) = state.endpoint.transmit(now);
        let priority = state.priority;
        let tag = segment.as_ref().and_then(|segment| {
            limiter.measured.marks += u64::from(marked && segment.ecn_capable);
            limiter.leaves(priority, segment.bytes, overhead, now)
        });
        let place = self.endpoint_was_pulled(from, requests, now, windows);
        let place = place.or_else(|| self.limiter_in_line(nth, now));
        if let Some(segment) = &segment {
            self.count_pulled(egress, class);
            self.send_segment(egress, from, segment, (tag, marked), now, windows);
        }
        place
    }

    /// The first frame of a priority that waits in a limiter leaves it, with what it gets there.
    fn frame_leaves(&mut self, nth: LimiterIx, priority: Priority, egress: PortIx, now: Time) -> Frame {
        let overhead = self.links.ports[egress].overhead;
        let limiter = &mut self.hosts.limiters[nth];
        let path = self.buffers.pool.head(limiter.line.list(priority)).path;
        let start = self.routes.path_start[path.at()];
        let mut frame = limiter.pop(&mut self.buffers.pool, priority, start, now);
        limiter.marks_if_late(&mut frame, now);
        if let Some((tag, bytes)) = limiter.leaves(priority, frame.bytes, overhead, now) {
            self.headers.tag(&mut frame, tag, bytes);
        }
        frame
    }
}

/// Compiled apart, so that where the path is known otherwise nothing waits for the frame.
#[cold]
#[inline(never)]
fn path_of(frame: &Frame) -> PathId {
    frame.path
}
