//! How frames leave a rate limiter: at once, if nothing waits there and nothing holds them back, or when its time has come.
//!
//! Where the link is free and nobody stands in line, a frame goes from its limiter straight to the link, and where the control
//! is quiet it hears nothing of that: such a frame costs a few comparisons more than one without a limiter.

use crate::run::event::Queued;
use crate::run::limiter_line::Next;
use crate::run::limiter_places::NextFrame;
use crate::run::pool::NIL;
use crate::run::world::Fabric;
use frame::{Ecn, Frame, Priority, Route, TrafficClass};
use transport::Protocol;
use units::Time;

impl Fabric {
    /// A source hands a frame to a limiter, which will leave through a class of a port unless its path changes.
    #[inline(always)]
    pub fn limit(
        &mut self,
        nth: u32,
        (egress, class): (u32, TrafficClass),
        frame: Frame,
        now: Time,
        windows: &mut Queued,
    ) {
        let limiter = &self.hosts.limiters[nth as usize];
        let is_held = limiter.is_held(now);
        if limiter.is_idle(now) {
            let straight = self.goes_straight(egress, class, now);
            if straight || self.takes_at_once(egress, class) {
                return self.pass_limiter(nth, (egress, class), straight, frame, now, windows);
            }
        }
        let limiter = &mut self.hosts.limiters[nth as usize];
        limiter.holds_from(now);
        limiter.occupancy.add(frame.bytes);
        limiter.sojourns.enter(limiter.occupancy.both());
        self.buffers.pool.push(limiter.line.push_to(frame.priority), &frame, now, NIL);
        if is_held && limiter.orders.next_probe > now {
            self.wake_limiter(nth, now, windows);
        } else {
            self.update_limiter(nth, now, windows);
        }
    }

    /// A frame passes a limiter in which nothing waits, and goes to a NIC that takes it: what would come of it if it entered,
    /// stood in line and was pulled, without these steps.
    #[inline(always)]
    fn pass_limiter(
        &mut self,
        nth: u32,
        (egress, class): (u32, TrafficClass),
        straight: bool,
        mut frame: Frame,
        now: Time,
        windows: &mut Queued,
    ) {
        let overhead = self.links.ports[egress as usize].overhead;
        let limiter = &mut self.hosts.limiters[nth as usize];
        limiter.busy_since = now;
        limiter.pacer.handle_timeout(now);
        limiter.sojourns.enter([frame.bytes.into(), 1]);
        if let Some((tag, bytes)) = limiter.leaves(frame.priority, frame.bytes, overhead, now) {
            self.headers.tag(&mut frame, tag, bytes);
        }
        self.wake_limiter(nth, now, windows);
        self.frame_departs((egress, class), straight, frame, now, windows);
    }

    /// Whether a frame of a source goes from its limiter straight to the link: it is free, and nobody waits in line there.
    #[inline(always)]
    pub fn goes_straight(&self, egress: u32, class: TrafficClass, now: Time) -> bool {
        self.hosts.receiving.is_empty()
            && self.is_free(egress, now)
            && self.links.cold[egress as usize]
                .nic
                .as_ref()
                .is_some_and(|nic| nic.classes[class.at()].ready.is_empty())
    }

    /// A frame of a source that has left its limiter departs, `straight` to the link or through the NIC.
    #[inline(always)]
    fn frame_departs(
        &mut self,
        (egress, class): (u32, TrafficClass),
        straight: bool,
        frame: Frame,
        now: Time,
        windows: &mut Queued,
    ) {
        if straight {
            self.transmit_untold(egress, frame, now, windows);
            self.feed_sources((egress, class), &frame, now, windows);
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
        nth: u32,
        place: (u32, TrafficClass),
        now: Time,
        windows: &mut Queued,
    ) -> Option<(u32, TrafficClass)> {
        self.limiter_left_line(nth);
        let is_stopped = self.hosts.limiters[nth as usize].is_stopped(now);
        match self.next_of_limiter(nth).filter(|next| !is_stopped && self.leaves_at(next, place)) {
            Some(next) => self.leave_limiter(nth, next, place, false, now, windows),
            None => self.limiter_in_line(nth, now),
        }
    }

    /// The next frame leaves a limiter that is in no line, through a class of a port, `straight` to the link if that takes
    /// it. Where the limiter stands in line again, if it may: it does before the frame goes, as that may pull the next one.
    pub fn leave_limiter(
        &mut self,
        nth: u32,
        next: NextFrame,
        (egress, class): (u32, TrafficClass),
        straight: bool,
        now: Time,
        windows: &mut Queued,
    ) -> Option<(u32, TrafficClass)> {
        let place = match self.hosts.limiters[nth as usize].line.next() {
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

    /// The same if it is an endpoint's.
    fn segment_leaves(
        &mut self,
        nth: u32,
        from: u32,
        (egress, class): (u32, TrafficClass),
        now: Time,
        windows: &mut Queued,
    ) -> Option<(u32, TrafficClass)> {
        let overhead = self.links.ports[egress as usize].overhead;
        let limiter = &mut self.hosts.limiters[nth as usize];
        limiter.line.take_endpoint();
        let state = &mut self.hosts.endpoints[from as usize];
        state.in_line = false;
        let marked = limiter.marks(now);
        let (segment, wishes) = state.endpoint.transmit(now);
        let priority = state.priority;
        let tag = segment.as_ref().and_then(|segment| {
            limiter.measured.marks += u64::from(marked && segment.ecn_capable);
            limiter.leaves(priority, segment.bytes, overhead, now)
        });
        let place = self.endpoint_was_pulled(from, wishes, now, windows);
        let place = place.or_else(|| self.limiter_in_line(nth, now));
        if let Some(segment) = &segment {
            self.count_pulled(egress, class);
            self.send_segment(egress, from, segment, (tag, marked), now, windows);
        }
        place
    }

    /// The first frame of a priority that waits in a limiter leaves it, with what it gets there.
    fn frame_leaves(&mut self, nth: u32, priority: Priority, egress: u32, now: Time) -> Frame {
        let overhead = self.links.ports[egress as usize].overhead;
        let mut frame = self.pop_limited(nth, priority, now);
        let limiter = &mut self.hosts.limiters[nth as usize];
        if limiter.marks(now) {
            let _ = frame.flags.mark();
        }
        limiter.measured.marks += u64::from(frame.flags.ecn() == Ecn::Experienced);
        if let Some((tag, bytes)) = limiter.leaves(priority, frame.bytes, overhead, now) {
            self.headers.tag(&mut frame, tag, bytes);
        }
        frame
    }

    /// The first frame of a priority that waits in a limiter, on the way that its path takes now.
    fn pop_limited(&mut self, nth: u32, priority: Priority, now: Time) -> Frame {
        let limiter = &mut self.hosts.limiters[nth as usize];
        let waiting = limiter.line.take(priority, |list| self.buffers.pool.pop(list));
        let mut frame = waiting.frame;
        limiter.occupancy.remove(frame.bytes);
        limiter.sojourns.leave(frame.bytes, now - waiting.since);
        let start = self.routes.path_start[frame.path.at()];
        // What goes by destination keeps it.
        if frame.route.next_hop().is_some() {
            frame.route = Route::forward(start + 1);
        }
        frame
    }
}
