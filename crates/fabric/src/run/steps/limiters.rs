//! Rate limiters at work: where the controls of `queueing` meet the NICs of hosts.

use crate::run::state::event::{Event, Queued};
use crate::run::state::index::{EndpointIx, LimiterIx, PortIx};
use crate::run::state::world::Fabric;
use frame::{PathId, Priority, Tag, TrafficClass};
use queueing::{Feedback, RateControl};
use rand_xoshiro::rand_core::Rng;
use units::{BitRate, Time};

impl Fabric {
    /// The limiter that the frames from the near end of a path pass.
    #[inline]
    pub fn limiter_of(&self, path: PathId) -> Option<LimiterIx> {
        self.limiter_at(path, false)
    }

    /// The limiter that the frames from one end of a path pass.
    #[inline]
    pub fn limiter_at(&self, path: PathId, far: bool) -> Option<LimiterIx> {
        self.hosts.limiters_of_path.get(path.at())?[usize::from(far)]
    }

    /// An endpoint whose frames pass a limiter has something to send: the port and class where that now stands in line.
    #[inline(never)]
    pub fn stand_at_limiter(
        &mut self,
        nth: LimiterIx,
        endpoint: EndpointIx,
        now: Time,
        windows: &mut Queued,
    ) -> Option<(PortIx, TrafficClass)> {
        let state = &mut self.hosts.endpoints[endpoint];
        state.in_line = true;
        let priority = state.priority;
        let limiter = &mut self.hosts.limiters[nth];
        limiter.holds_from(now);
        limiter.line.come(priority, endpoint);
        self.wake_limiter(nth, now, windows);
        self.limiter_in_line(nth, now)
    }

    /// A congestion message that was sent then, or a tag, has come for the source of a path.
    pub fn on_limiter_message(
        &mut self,
        nth: LimiterIx,
        feedback: Feedback,
        sent: Time,
        now: Time,
        windows: &mut Queued,
    ) {
        let limiter = &mut self.hosts.limiters[nth];
        let point = match feedback {
            Feedback::Message(notice) => Some((notice.point, false)),
            Feedback::Returned(Tag::Rate(written)) => written.map(|(_, point)| (point, false)),
            Feedback::Returned(Tag::Path(news)) => news.at.map(|(point, _)| (point, true)),
            Feedback::Returned(Tag::Limited(_) | Tag::Flow(_)) => None,
        };
        let before = limiter.rate();
        match feedback {
            Feedback::Message(_) => limiter.measured.messages.record(now - sent),
            Feedback::Returned(_) => limiter.measured.tags_returned += 1,
        }
        let after = self.tell_limiter(nth, feedback, now);
        if let Some(point) = point {
            self.hosts.limiters[nth].measured.note_change(point, before, after);
        }
        self.update_limiter(nth, now, windows);
    }

    /// The control of a limiter is told something: the rate that it then has.
    pub fn tell_limiter(&mut self, nth: LimiterIx, feedback: Feedback, now: Time) -> BitRate {
        let limiter = &mut self.hosts.limiters[nth];
        limiter.call(|control, random| control.on_feedback(now, feedback, &mut || random.next_u64()));
        limiter.measured.lowest = limiter.measured.lowest.into_iter().chain(limiter.rate_limit.rate).min();
        limiter.rate()
    }

    /// A limiter asked to be called now, unless a later wish has overtaken that. Like a decision, its call is no part of a
    /// fingerprint: what it leads to is.
    #[inline(never)]
    pub fn limiter_called(&mut self, nth: LimiterIx, now: Time, windows: &mut Queued) {
        let limiter = &mut self.hosts.limiters[nth];
        if limiter.wakes_at != now {
            return;
        }
        limiter.wakes_at = Time::NEVER;
        if limiter.rate_limit.call_at <= now {
            limiter.call(|control, random| control.handle_timeout(now, &mut || random.next_u64()));
        }
        if !self.sends_next(nth, now, windows) {
            self.update_limiter(nth, now, windows);
        }
    }

    /// Something has happened to a limiter: sets its timer, and lets it stand in line if it may send.
    pub fn update_limiter(&mut self, nth: LimiterIx, now: Time, windows: &mut Queued) {
        if self.hosts.limiters[nth].rate_limit.next_probe <= now {
            self.ask_path(nth, now, windows);
        }
        match self.next_to_leave(nth, now) {
            Some((next, (egress, class))) => {
                let straight = self.goes_straight(egress, class, now);
                if straight || self.takes_at_once(egress, class) {
                    let place = self.leave_limiter(nth, next, (egress, class), straight, now, windows);
                    self.pull_on((egress, class), place, now, windows);
                } else {
                    self.join_line_of(nth, (egress, class), now);
                    self.wake_limiter(nth, now, windows);
                    self.pull(egress, class, now, windows);
                }
            }
            None => self.wake_limiter(nth, now, windows),
        }
    }

    /// A limiter that is due to asks about the path of its next frame, if it holds one.
    #[inline(never)]
    fn ask_path(&mut self, nth: LimiterIx, now: Time, windows: &mut Queued) {
        let Some(next) = self.next_of_limiter(nth) else { return };
        let Some(way) = self.way_of_next(&next) else { return };
        let limiter = &mut self.hosts.limiters[nth];
        let Some(probe) = limiter.call(|control, _| control.probe(now)) else { return };
        limiter.measured.tags_sent += 1;
        let lowest = limiter.lowest_sent.take().unwrap_or(next.priority);
        let priority = probe.priority.map_or(lowest, Priority);
        self.send_probe(next.path, way, priority, probe.news, now, windows);
    }

    /// Schedules the next call of a limiter, unless one is pending that is not later: then it is looked at anew.
    #[inline(always)]
    pub fn wake_limiter(&mut self, nth: LimiterIx, now: Time, windows: &mut Queued) {
        let limiter = &self.hosts.limiters[nth];
        let at = limiter.next_call(now);
        if at < limiter.wakes_at || !self.probes.limiter_rates.is_empty() {
            self.call_limiter_later(nth, at.max(now), now, windows);
        }
    }

    #[inline(never)]
    fn call_limiter_later(&mut self, nth: LimiterIx, at: Time, now: Time, windows: &mut Queued) {
        self.call_limiter(nth, at, now, windows);
    }

    /// Schedules a call of a limiter, unless one is pending that is not later.
    #[inline(always)]
    pub fn call_limiter(&mut self, nth: LimiterIx, at: Time, now: Time, windows: &mut Queued) {
        let limiter = &mut self.hosts.limiters[nth];
        if let Some(rates) = self.probes.limiter_rates.get_mut(nth.at()) {
            rates.set(now, limiter.rate().bps());
        }
        if at >= limiter.wakes_at {
            return;
        }
        limiter.wakes_at = at;
        if at > now && at == limiter.control_calls_at {
            return;
        }
        if at == limiter.rate_limit.call_at {
            limiter.control_calls_at = at;
        }
        windows.push(Event::limiter(at, limiter.place, nth));
    }
}
