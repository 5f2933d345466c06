//! Where a rate limiter stands in line at the NIC of its host: at the port and class where its next frame leaves.
//!
//! Frames from the near end of a path leave where it begins, those from its far end where the last frame from the near end
//! has come in.

use crate::run::state::event::Queued;
use crate::run::state::index::{LimiterIx, PortIx};
use crate::run::state::limiter_line::Next;
use crate::run::state::limiter_places::NextFrame;
use crate::run::state::nic::InLine;
use crate::run::state::port::Hooks;
use crate::run::state::world::Fabric;
use frame::{Heading, PathId, Route, TrafficClass};
use units::Time;

impl Fabric {
    /// Puts a limiter that may send at the end of the line of its class, at the port where its next frame leaves.
    #[inline(always)]
    pub fn limiter_in_line(&mut self, nth: LimiterIx, now: Time) -> Option<(PortIx, TrafficClass)> {
        let is_held = self.hosts.limiters[nth].is_held(now);
        if is_held { None } else { self.open_limiter_in_line(nth, now) }
    }

    #[inline(never)]
    fn open_limiter_in_line(&mut self, nth: LimiterIx, now: Time) -> Option<(PortIx, TrafficClass)> {
        let (_, place) = self.next_to_leave(nth, now)?;
        self.join_line_of(nth, place, now);
        Some(place)
    }

    /// The next frame of a limiter that may send, and the port and class where it leaves; `None` if the limiter stands in
    /// line there. One that stands elsewhere, as its next frame is another one now, leaves that line.
    #[inline(always)]
    pub fn next_to_leave(
        &mut self,
        nth: LimiterIx,
        now: Time,
    ) -> Option<(NextFrame, (PortIx, TrafficClass))> {
        let limiter = &mut self.hosts.limiters[nth];
        limiter.gate.pacer.handle_timeout(now);
        if limiter.is_held(now) {
            return None;
        }
        let stands = limiter.stands;
        let next = self.next_of_limiter(nth)?;
        if stands.is_some_and(|place| self.leaves_at(&next, place)) {
            return None;
        }
        let egress = self.egress_of_next(&next)?;
        let class = self.links.ports[egress].classes.class(next.priority);
        if let Some((old, _)) = stands {
            self.take_out_of_lines(nth, old);
            self.limiter_left_line(nth);
        }
        Some((next, (egress, class)))
    }

    /// A limiter stands at the end of a line.
    pub fn join_line_of(&mut self, nth: LimiterIx, (egress, class): (PortIx, TrafficClass), now: Time) {
        let limiter = &mut self.hosts.limiters[nth];
        (limiter.stands, limiter.in_line_since) = (Some((egress, class)), now);
        if let Some(nic) = &mut self.links.nics[egress] {
            nic.join(class, InLine::Limiter(nth));
        }
    }

    /// The frame that leaves a limiter next.
    #[inline]
    pub fn next_of_limiter(&self, nth: LimiterIx) -> Option<NextFrame> {
        let line = &self.hosts.limiters[nth].line;
        let next = line.next()?;
        let priority = next.priority();
        let (path, far) = match next {
            Next::Endpoint(_, endpoint) => {
                let state = &self.hosts.endpoints[endpoint];
                (PathId(state.path), state.behind.and(Some(endpoint)))
            }
            Next::Frame(priority) => (self.buffers.pool.iter(line.list(priority)).next()?.frame.path, None),
        };
        Some(NextFrame { path, priority, far })
    }

    /// The port of the next frame of a limiter, and its way from there, unless a link is down.
    pub fn way_of_next(&self, next: &NextFrame) -> Option<(PortIx, Route)> {
        let behind = next.far.and_then(|far| self.hosts.endpoints[far].behind);
        self.way_from(next.path.0, behind)
    }

    /// The port that the next frame of a limiter leaves through.
    #[inline]
    fn egress_of_next(&mut self, next: &NextFrame) -> Option<PortIx> {
        let Some(far) = next.far else { return Some(self.routes.first_port(next.path.0)) };
        self.egress_of(far).or_else(|| Some(self.way_of_next(next)?.0))
    }

    /// Whether the next frame of a limiter can leave through a port and class.
    #[inline]
    pub fn leaves_at(&self, next: &NextFrame, (egress, class): (PortIx, TrafficClass)) -> bool {
        self.links.ports[egress].classes.class(next.priority) == class
            && if next.far.is_none() {
                self.routes.first_port(next.path.0) == egress
            } else {
                self.answer_leaves_at(next, egress)
            }
    }

    /// As `leaves_at`, of a frame from a far end. What switches choose a path for takes any port that is up if its own is down.
    fn answer_leaves_at(&self, next: &NextFrame, egress: PortIx) -> bool {
        let Some((planned, route)) = self.way_of_next(next) else { return false };
        let is_down = |port: PortIx| self.links.ports[port].hooks.has(Hooks::DOWN);
        let is_chosen = matches!(route.heading(), Heading::Destination(_));
        planned == egress || is_chosen && is_down(planned) && !is_down(egress)
    }

    /// A limiter stands in line no more.
    pub fn limiter_left_line(&mut self, nth: LimiterIx) {
        self.hosts.limiters[nth].stands = None;
    }

    /// A path that passes a limiter begins at another port than `old` now: the limiter stands in line where its next frame
    /// leaves.
    pub fn move_limiter(&mut self, nth: LimiterIx, old: PortIx, now: Time, windows: &mut Queued) {
        self.take_out_of_lines(nth, old);
        self.limiter_left_line(nth);
        self.update_limiter(nth, now, windows);
    }

    /// Takes a limiter out of all lines at the host of a port.
    fn take_out_of_lines(&mut self, nth: LimiterIx, port: PortIx) {
        for port in self.ports_beside(port) {
            if let Some(nic) = &mut self.links.nics[port] {
                nic.leave(InLine::Limiter(nth));
            }
        }
    }
}
